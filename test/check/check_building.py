#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what doc/building.md repeats of the build: the tests that need a
linker with --wrap, and the options that cannot be off alone.
Usage: check_building.py SOURCE_DIR | --self-test
"""

import pathlib
import re
import sys

import check_cmake
import check_parts
import report


def wrapping(tests):
    """The tests in `test_link_args` of test/meson.build."""
    table = re.search(r"^test_link_args = \{$(.*?)^\}$", tests, re.M | re.S)
    return set(re.findall(r"^  '(\w+)': \['-Wl,--wrap=", table.group(1), re.M))


def needs_text(option, need):
    """How the page says that `option` cannot be without `need`."""
    cmake = check_cmake.OPTIONS
    return (f"`-D{need}=false` needs `-D{option}=false`",
            f"`{cmake[need]}=OFF` needs `{cmake[option]}=OFF`")


def problems_of(page, tests, meson):
    named = re.search(r"The tests \(([^)]*)\) need a linker with `--wrap`", page)
    found = set(re.findall(r"`(\w+)`", named.group(1))) if named else set()
    problems = [f"{name}: in one of the lists of tests with --wrap only"
                for name in sorted(found ^ wrapping(tests))]
    pairs = check_parts.option_needs(meson)
    problems += [f"the page does not say: {text}" for pair in pairs
                 for text in needs_text(*pair) if text not in page]
    return problems + ([] if pairs else ["no need of an option is found"])


def self_test():
    page = ("`-Dtoolkit=false` needs `-Dcontrollers=false`; "
            "`KINFORMER_TOOLKIT=OFF` needs `KINFORMER_CONTROLLERS=OFF`. "
            "The tests (`a`, `b`) need a linker with `--wrap`.")
    tests = ("test_link_args = {\n  'a': ['-Wl,--wrap=x'],\n"
             "  'b': ['-Wl,--wrap=y',\n    '-Wl,--wrap=z'],\n}\n")
    meson = ("if get_option('controllers') and not get_option('toolkit')\n"
             "  error('x')\nendif\n")
    cases = [((page, tests, meson), 0),
             ((page.replace("`a`, ", ""), tests, meson), 1),
             ((page.replace("`a`", "`a`, `c`"), tests, meson), 1),
             ((page.replace("The tests", "Tests"), tests, meson), 2),
             ((page, tests.replace("'b'", "'c'"), meson), 2),
             ((page.replace("=false", "=true"), tests, meson), 1),
             ((page.replace("=OFF", "=ON"), tests, meson), 1),
             ((page, tests, ""), 1)]
    return report.end_cases(problems_of, cases)


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    root = pathlib.Path(sys.argv[1])
    return report.end(problems_of(*((root / name).read_text() for name in (
        "doc/building.md", "test/meson.build", "meson.build"))))


if __name__ == "__main__":
    sys.exit(main())
