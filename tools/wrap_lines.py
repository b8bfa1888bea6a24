#!/usr/bin/env python3
"""Wraps lines longer than the column limit, comments included, and touches no other line (needs clang-format).

    tools/wrap_lines.py FILE...

.clang-format leaves comments alone (ReflowComments: false), because tables and formulas in comments are laid out by hand;
this tool lets it reflow only what tools/check_source.py would refuse.
"""
import os
import re
import subprocess
import sys

COLUMNS = 120
ROUNDS = 60  # a wrapped line may push the next one over the limit


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n")


def wrap(path, style):
    for _ in range(ROUNDS):
        lines = read_lines(path)
        too_long = [number for number, line in enumerate(lines, 1) if len(line) > COLUMNS]
        if not too_long:
            return True
        ranges = [f"--lines={number}:{number}" for number in too_long]
        subprocess.run(["clang-format", "-i", f"--style={style}", *ranges, path], check=True)
        if read_lines(path) == lines:
            break
    print(f"{path}: lines {too_long} could not be wrapped")
    return False


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    settings = [line for line in read_lines(os.path.join(root, ".clang-format")) if re.match(r"\w+:", line)]
    settings = [line for line in settings if not line.startswith("ReflowComments")] + ["ReflowComments: true"]
    style = "{" + ", ".join(settings) + "}"
    return 0 if all([wrap(path, style) for path in sys.argv[1:]]) else 1


if __name__ == "__main__":
    sys.exit(main())
