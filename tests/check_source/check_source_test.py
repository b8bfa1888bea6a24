#!/usr/bin/env python3
"""Tests of tools/check_source.py: each rule on a small tree that breaks it once, and a clean tree that breaks none."""
import os
import subprocess
import sys
import tempfile

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/check_source.py")
HEADER = "#ifndef HKI_BASE_A_H\n#define HKI_BASE_A_H\nint f(void);\n#endif\n"
CLEAN = {
    "src/LAYERS": "# layers\nbase\nkernels\ntensor\nops formats\ncli\n",
    "src/base/a.h": HEADER,
    "src/base/memory.c": '#include "base/a.h"\nint f(void)\n{\n    free(0);\n    return 0;\n}\n',
    "src/ops/b.c": '#include "base/a.h"\n#include "halka/x.h"\n/* malloc( */ const char *s = "exit(1)"; int freed(void);\n',
    "src/cli/main.c": '#include "cli.h"\n#include "halka/x.h"\nint main(void)\n{\n    printf("x");\n    exit(1);\n}\n',
    "include/halka/x.h": "#ifndef HALKA_X_H\n#define HALKA_X_H\n/** Does. */\nHK_API int hk_x(void);\nHK_API int hk_y(void);\n#endif\n",
}
LONG_BODY = "    x();\n" * 101

# what is added to the clean tree -> what must be reported (None: nothing)
CASES = [
    ({}, None),
    ({"src/base/c.c": '#include "ops/d.h"\n'}, 'src/base/c.c:1: layer base may not include "ops/d.h"'),
    ({"src/ops/c.c": '#include "formats/d.h"\n'}, 'layer ops may not include "formats/d.h"'),
    ({"src/cli/c.c": '#include "base/a.h"\n'}, "cli may include only public headers"),
    ({"src/kernels/c.c": '#include "tensor/t.h"\n'}, 'kernels may not include "tensor/t.h"'),
    ({"src/kernels/c.c": "#include <stdio.h>\n"}, "kernels may not include <stdio.h>"),
    ({"src/new/c.c": "int x;\n"}, "folder new is not in src/LAYERS"),
    ({"src/ops/c.c": '#include "d.h"\n'}, "by its folder"),
    ({"src/ops/c.c": '#include "harness/test.h"\n'}, "only tests may include"),
    ({"src/ops/c_test.c": '#include "harness/test.h"\n'}, None),
    ({"src/ops/c.c": "int x;\n" * 1001}, "file has 1001 lines"),
    ({"src/ops/c.c": "int g(void)\n{\n" + LONG_BODY + "}\n"}, "src/ops/c.c:2: function g has 101 lines"),
    ({"src/ops/c.c": "int g(void)\n{\n" + LONG_BODY[:61 * 9] + "}\n"}, None),
    ({"src/ops/c.c": "int g(void)\n{\n    return malloc(3);\n}\n"}, "src/ops/c.c:3: call of malloc"),
    ({"src/ops/c.c": "int g(void)\n{\n    snprintf(0); x->free(1); my_free(2);\n}\n"}, None),
    ({"src/ops/c.c": "int g(void)\n{\n    sprintf(0);\n}\n"}, "call of sprintf"),
    ({"src/ops/c.c": "int g(void)\n{\n    abort();\n}\n"}, "call of abort"),
    ({"src/ops/c.c": "int g(void)\n{\n    assert(1);\n}\n"}, "call of assert"),
    ({"src/ops/memory.c": "int x;\n"}, "file name memory.c is taken by src/base/memory.c"),
    ({"src/ops/c.h": HEADER}, "expected the header guard HKI_OPS_C_H, found HKI_BASE_A_H"),
    ({"include/halka/z.h": "#ifndef HALKA_Z_H\n#define HALKA_Z_H\n\nHK_API int hk_z(void);\n#endif\n"},
     "include/halka/z.h:4: public function without a doc comment"),
    ({"src/ops/c.c": "/* " + 120 * "x" + " */\n"}, "line has 126 columns"),
    ({"src/ops/c.c": "int x; \n"}, "src/ops/c.c:1: trailing blank"),
    ({"src/ops/c.c": "int x;\t\n"}, "tab"),
    ({"src/ops/c.c": "/* TODO */\n"}, "TODO without text"),
    ({"src/ops/c.c": "/* TODO: say what */\n"}, None),
    ({"src/ops/c.c": "int x;"}, "no newline"),
]


def check(files, expected):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**CLEAN, **files}.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        result = subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True)
    good = result.returncode == (1 if expected else 0) and (expected or "") in result.stdout
    if not good:
        print(f"{list(files)}: expected {expected!r}, exit {result.returncode}, found:\n{result.stdout}{result.stderr}")
    return good


def main():
    bad = sum(not check(files, expected) for files, expected in CASES)
    print(f"{len(CASES)} cases, {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
