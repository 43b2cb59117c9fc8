#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks doc/limits.md: each row names constants that the file beside them
defines, and a test function that the file beside it has; and each constant of
lib/ with MAX or HIGH in its name is named somewhere in it. Usage:
check_limits.py SOURCE_DIR, or --self-test; the last line counts the rules.
"""

import pathlib
import re
import sys
import tempfile

COLUMNS = 6
DEFINITION = re.compile(
    r"^\s*(?:#\s*define\s+|(?:enum\s*\{\s*)?)"
    r"([A-Z][A-Z0-9_]*(?:MAX|HIGH)[A-Z0-9_]*)(?:\s*=|\s+\(?[0-9])", re.M)
TEST = re.compile(r"^static void (test_\w+)\(", re.M)
QUOTED = re.compile(r"`([^`]+)`")


def strip_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def rows(text):
    """Yields (line, cells) of each row that is no head and no rule."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("|") and not line.startswith(("|---", "| Limit |")):
            yield number, [c.strip() for c in line.strip("|").split("|")]


def read(root, path):
    return (root / path).read_text() if (root / path).is_file() else None


def check_constants(root, text, problems):
    for number, cells in rows(text):
        names = QUOTED.findall(cells[4]) if len(cells) == COLUMNS else []
        if len(names) < 2:
            problems.append(f"line {number}: not a path and its constants")
            continue
        source = strip_comments(read(root, names[0]) or "")
        for name in names[1:]:
            if not re.search(rf"(?:#\s*define\s+{name}\b|\b{name}\s*=)",
                             source):
                problems.append(f"line {number}: no {name} in {names[0]}")


def check_tests(root, text, problems):
    for number, cells in rows(text):
        names = QUOTED.findall(cells[5]) if len(cells) == COLUMNS else []
        if len(names) != 2:
            problems.append(f"line {number}: not a path and a test")
            continue
        source = read(root, names[0])
        if source is None or names[1] not in TEST.findall(source):
            problems.append(f"line {number}: no {names[1]} in {names[0]}")


def check_complete(root, text, problems):
    known = set(QUOTED.findall(text))
    for path in sorted((root / "lib").rglob("*.[ch]")):
        for name in DEFINITION.findall(strip_comments(path.read_text())):
            if name not in known:
                problems.append(f"{path}: {name} is not in doc/limits.md")


RULES = [check_constants, check_tests, check_complete]


def run(root, show):
    text = (root / "doc/limits.md").read_text()
    failed = []
    for rule in RULES:
        problems = []
        if rule is not check_complete and not list(rows(text)):
            problems.append("doc/limits.md has no rows")
        rule(root, text, problems)
        show(f"{'FAIL' if problems else 'ok'}: {rule.__name__}")
        for problem in problems:
            show(f"  {problem}")
        failed += [rule] if problems else []
    return failed


def self_test():
    """Each rule fails at what it is for, and at nothing else."""
    row = "| a | 1 | - | b | `lib/a.c` `A_MAX` | `test/t.c` `test_a` |\n"
    cases = [(row, "#define A_MAX 1\n", "test_a", []),
             (row, "#define B 1\n", "test_a", [check_constants]),
             (row, "#define A_MAX 1\n", "test_b", [check_tests]),
             (row, "enum { A_MAX = 1 };\nenum { B_HIGH = 2 };\n", "test_a",
              [check_complete]),
             ("", "", "test_a", [check_constants, check_tests])]
    for doc, code, test, expected in cases:
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            for folder in ("doc", "lib", "test"):
                (root / folder).mkdir()
            (root / "doc/limits.md").write_text(doc)
            (root / "lib/a.c").write_text(code)
            (root / "test/t.c").write_text(f"static void {test}(void) {{\n")
            if run(root, lambda line: None) != expected:
                print(f"FAIL: {doc!r} {code!r} {test}")
                return 1
    print(f"{len(cases)} passed, 0 failed")
    return 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    failed = run(pathlib.Path(sys.argv[1]), print)
    print(f"{len(RULES) - len(failed)} passed, {len(failed)} failed")
    return len(failed) != 0


if __name__ == "__main__":
    sys.exit(main())
