#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that each row of the table in doc/embedding.md names a test, and that
each test that it names is there and is run; and that each test of the files it
names is in the table. Usage: check_embedding.py SOURCE_DIR | --self-test
"""

import pathlib
import re
import sys

import report

NAME = re.compile(r"`(\w+):(test_\w+)`")
RUN = re.compile(r"cmocka_unit_test\((test_\w+)\)")


def problems_of(table, files, listed):
    """`files` maps the names of test files to their texts, `listed` is the
    text that says which are built."""
    problems = []
    named = set()
    table = table[table.find("| A program"):]
    rows = [line for line in table.split("\n")
            if line.startswith("| ") and not line.startswith("| A program")]
    if not rows:
        problems.append("there is no table")
    for row in rows:
        tests = NAME.findall(row.rsplit("|", 2)[1])
        if not tests:
            problems.append(f"no test: {row[:60]}")
        named.update(tests)
    for file, test in sorted(named):
        if file not in files or f"'{file}'" not in listed:
            problems.append(f"{file}:{test}: there is no such file")
        elif test not in RUN.findall(files[file]):
            problems.append(f"{file}:{test}: there is no such test")
    for file in sorted({file for file, _ in named} & set(files)):
        for test in RUN.findall(files[file]):
            if (file, test) not in named:
                problems.append(f"{file}:{test} is in no row")
    return problems


def self_test():
    table = "| A program | x | Test |\n|---|\n| a | b | `f:test_a` |\n"
    files = {"f": "cmocka_unit_test(test_a)"}
    cases = [
        ((table, files, "'f'"), 0),
        (("", files, "'f'"), 1),
        ((table + "| c | `f:test_a` | none |\n", files, "'f'"), 1),
        ((table, {"f": "cmocka_unit_test(test_b)"}, "'f'"), 2),
        ((table, {}, "'f'"), 1),
        ((table, files, "'g'"), 1),
        ((table, {"f": files["f"] + "cmocka_unit_test(test_b)"}, "'f'"), 1)]
    return report.end_cases(problems_of, cases)


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    root = pathlib.Path(sys.argv[1])
    files = {path.stem.removeprefix("test_"): path.read_text()
             for path in (root / "test/flow").glob("test_*.c")}
    problems = problems_of((root / "doc/embedding.md").read_text(), files,
                           (root / "test/meson.build").read_text())
    return report.end(problems)


if __name__ == "__main__":
    sys.exit(main())
