#!/usr/bin/env python3
"""Checks the rules of halka's source that a program can check; prints file:line: message and exits with 1 on a fault.

    tools/check_source.py [ROOT]

Rules: include order of the layers (src/LAYERS), length of files, functions and lines, banned calls, unique file names,
header guards, doc comments on public functions, trailing blanks, empty TODOs. The list of each rule is a constant below.
"""
import os
import re
import sys

FILE_LINES = 1000
FUNCTION_WARNING, FUNCTION_LINES = 60, 100
LINE_COLUMNS = 120
FOLDERS = ("include", "src", "tests", "examples", "bench", "tools")
SOURCE_SUFFIXES = (".c", ".h", ".inl", ".cpp")
TEXT_SUFFIXES = SOURCE_SUFFIXES + (".py", ".sh", ".cmake", "CMakeLists.txt")
KERNEL_MAY_INCLUDE = {"base/attributes.h", "base/system.h"}  # the latter for the names of instruction sets
SYSTEM_IN_KERNELS = {"stdint.h", "stddef.h", "stdbool.h", "string.h", "math.h", "float.h", "limits.h", "immintrin.h",
                     "x86intrin.h", "arm_neon.h", "stdalign.h"}

# name of the rule's calls -> (where they are allowed, what to use instead)
BANNED = {
    ("malloc", "calloc", "realloc", "free", "strdup", "strndup", "aligned_alloc", "posix_memalign", "alloca"):
        (lambda path: path == "src/base/memory.c" or path.startswith("src/cli/"), "use base/memory.h"),
    ("sprintf", "vsprintf", "strcpy", "strcat", "gets", "atoi", "atol", "atof"):
        (lambda path: False, "it cannot report overflow or bad input"),
    ("printf", "puts", "putchar", "exit", "_exit", "abort"):
        (lambda path: path.startswith("src/cli/"), "return a status, or use base/log.h"),
    ("assert",):
        (lambda path: path == "src/base/status.h", "use HK_ASSERT, or a status for what comes from outside"),
}


class Checker:
    def __init__(self, root):
        self.root = root
        self.faults = 0
        self.level = self.read_layers()

    def fault(self, path, line, message):
        print(f"{path}:{line}: {message}")
        self.faults += 1

    def warn(self, path, line, message):
        print(f"{path}:{line}: warning: {message}")

    def read_layers(self):
        """Maps a folder to the number of its line in src/LAYERS."""
        level = {}
        with open(os.path.join(self.root, "src/LAYERS"), encoding="utf-8") as file:
            lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
        for number, names in enumerate(lines):
            for name in names:
                level[name] = number
        return level

    def files(self):
        for folder in FOLDERS:
            for directory, folders, names in os.walk(os.path.join(self.root, folder)):
                folders[:] = sorted(f for f in folders if not f.startswith((".", "build", "__pycache__")))
                for name in sorted(names):
                    if name.endswith(TEXT_SUFFIXES):
                        yield os.path.relpath(os.path.join(directory, name), self.root)

    def run(self):
        seen = {}
        for path in self.files():
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                text = file.read()
            self.check_lines(path, text)
            if not path.endswith(SOURCE_SUFFIXES):
                continue
            # A public header and the inner header of the same noun may share a name: they are included by folder.
            name = os.path.basename(path)
            key = (name, path.startswith("include/"))
            if key in seen:
                self.fault(path, 1, f"file name {name} is taken by {seen[key]}")
            seen.setdefault(key, path)
            if path.endswith(".h"):
                self.check_guard(path, text)
            code = blank_comments_and_strings(text)
            if path.startswith("src/"):
                self.check_includes(path, text)
            if path.startswith(("src/", "examples/")):
                self.check_functions(path, code)
            if path.startswith("src/") and not path.endswith("_test.c"):
                self.check_calls(path, code)
            if path.startswith("include/"):
                self.check_docs(path, text)
        return self.faults

    def check_lines(self, path, text):
        lines = text.split("\n")
        if len(lines) - 1 > FILE_LINES:
            self.fault(path, FILE_LINES, f"file has {len(lines) - 1} lines, at most {FILE_LINES} are allowed")
        if text and not text.endswith("\n"):
            self.fault(path, len(lines), "no newline at the end of the file")
        for number, line in enumerate(lines, 1):
            if path.endswith(SOURCE_SUFFIXES) and len(line) > LINE_COLUMNS:
                self.fault(path, number, f"line has {len(line)} columns, at most {LINE_COLUMNS} are allowed")
            if line != line.rstrip():
                self.fault(path, number, "trailing blank")
            if "\t" in line:
                self.fault(path, number, "tab")
            if re.search(r"\b(TODO|FIXME|XXX)\b\W*$", line.replace("*/", "")):
                self.fault(path, number, "TODO without text")

    def check_guard(self, path, text):
        """src/base/file.h: HKI_BASE_FILE_H; include/halka/file.h: HALKA_FILE_H; tests/harness/x.h: TESTS_HARNESS_X_H."""
        parts = path[:-2].replace("-", "_").split("/")
        if parts[0] == "src":
            # kernels/x86/lanes_avx2.h may leave out the folders in the middle
            wanted = {"_".join(["hki"] + parts[1:]) + "_h", "_".join(["hki", parts[1], parts[-1]]) + "_h"}
            if parts[1] == "kernels":
                wanted.add("_".join(["hkk", parts[-1]]) + "_h")
        elif parts[0] == "include":
            wanted = {"_".join(parts[1:]) + "_h"}
            if parts[1:] == ["halka", "halka"]:
                wanted.add("halka_h")
        else:
            wanted = {"_".join(parts) + "_h"}
        found = re.search(r"^#ifndef (\w+)\n#define (\w+)$", text, re.M)
        if not found or found[1] != found[2] or found[1].lower() not in wanted:
            self.fault(path, 1, f"expected the header guard {' or '.join(sorted(w.upper() for w in wanted))}, found "
                       f"{found[1] if found else 'none'}")

    def check_includes(self, path, text):
        folder = path.split("/")[1]
        if folder not in self.level:
            self.fault(path, 1, f"folder {folder} is not in src/LAYERS")
            return
        test = path.endswith("_test.c")
        for number, line in enumerate(text.split("\n"), 1):
            match = re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line)
            if not match:
                continue
            quoted, name = match[1] == '"', match[2]
            if not quoted:
                if folder == "kernels" and not test and name not in SYSTEM_IN_KERNELS:
                    self.fault(path, number, f"kernels may not include <{name}>: they know no system")
                if name.startswith("halka/"):
                    self.fault(path, number, f'write "{name}", in quotes')
                continue
            fault = self.include_fault(folder, name, test)
            if fault:
                self.fault(path, number, fault)

    def include_fault(self, folder, name, test):
        """Says why a file of `folder` may not include "name"; None if it may."""
        other = name.split("/")[0]
        if other == "halka":
            return f'kernels may not include "{name}"' if folder == "kernels" and not test else None
        if other == "harness" or (test and other not in self.level):
            return None if test else f'only tests may include "{name}"'
        if "/" not in name and folder == "cli":
            return None
        if other not in self.level:
            return f'include "{name}" by its folder, as in "base/memory.h"'
        if other == folder:
            return None
        if folder == "cli":
            return f'cli may include only public headers and its own, found "{name}"'
        if folder == "kernels" and not test:
            return None if name in KERNEL_MAY_INCLUDE else f'kernels may not include "{name}"'
        if self.level[other] >= self.level[folder]:
            return f'layer {folder} may not include "{name}": {other} is not above it in src/LAYERS'
        return None

    def check_functions(self, path, code):
        """A function begins with a line that ends the head and is followed by '{' in column 1 (K&R), and ends with '}'."""
        lines = code.split("\n")
        begin = None
        for number, line in enumerate(lines, 1):
            if line == "{" and number > 1 and begin is None:
                begin = number
            elif line.startswith("}") and begin is not None:
                length = number - begin - 1
                name = function_name(lines, begin)
                if length > FUNCTION_LINES:
                    self.fault(path, begin, f"function {name} has {length} lines, at most {FUNCTION_LINES} are allowed")
                elif length > FUNCTION_WARNING:
                    self.warn(path, begin, f"function {name} has {length} lines, more than {FUNCTION_WARNING}")
                begin = None

    def check_calls(self, path, code):
        for names, (allowed, advice) in BANNED.items():
            if allowed(path):
                continue
            for match in re.finditer(r"(?<![\w.>])(" + "|".join(names) + r")\s*\(", code):
                line = code.count("\n", 0, match.start()) + 1
                self.fault(path, line, f"call of {match[1]}: {advice}")

    def check_docs(self, path, text):
        """Every function of a public header follows a doc comment, or stands in a group directly below one."""
        covered = False
        lines = text.split("\n")
        for number, line in enumerate(lines, 1):
            if line.strip().endswith("*/"):
                covered = True
            elif not line.strip():
                covered = False
            elif line.startswith("HK_API") and not covered and not re.search(r"/\*\*.*\*/", line):
                self.fault(path, number, "public function without a doc comment above it")


def function_name(lines, begin):
    head = ""
    for line in reversed(lines[max(0, begin - 6):begin - 1]):
        head = line + " " + head
        if line and not line[0].isspace():
            break
    match = re.search(r"(\w+)\s*\(", head)
    return match[1] if match else "?"


def blank_comments_and_strings(text):
    """Replaces comments and the contents of literals by blanks, keeping all line breaks."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''

    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    return re.sub(pattern, blank, text, flags=re.S)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    faults = Checker(root).run()
    if faults:
        print(f"{faults} fault{'s' if faults > 1 else ''}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
