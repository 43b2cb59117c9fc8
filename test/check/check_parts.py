#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that each part of the library can be left out: that the objects and
public headers of a part use only the core, the part itself and parts that its
option needs. Reads the objects of a build, as far as it has the parts.
Usage: check_parts.py SOURCE_DIR ARCHIVE | --self-test
"""

import pathlib
import re
import subprocess
import sys

import check_cmake
import report


def option_needs(meson):
    """Pairs of an option and another, without which meson.build refuses it."""
    return re.findall(r"^if get_option\('(\w+)'\) and not "
                      r"get_option\('(\w+)'\)\n  error\(", meson, re.M)


def may_use(part, other, needs):
    """Whether each build that has a part has the other one, too."""
    there = set(part.split("_and_"))
    while more := {need for option, need in needs if option in there} - there:
        there |= more
    return not other or set(other.split("_and_")) <= there


def header_problems(headers, includes, needs):
    """`headers`: lists of headers by part; `includes`: header to headers."""
    owner = {name: part for part, names in headers.items() for name in names}
    return [f"{name} includes {included}, which is installed with "
            f"{owner[included]} only"
            for name, part in owner.items() for included in includes[name]
            if included in owner and not may_use(part, owner[included], needs)]


def symbol_problems(owner, defined, used, needs):
    """`owner`: part by object; `defined`, `used`: symbols by object."""
    place = {symbol: name for name in defined for symbol in defined[name]}
    return [f"{name} uses {symbol} of {place[symbol]}, which is built with "
            f"{owner[place[symbol]]} only"
            for name in sorted(used) for symbol in sorted(used[name])
            if symbol in place and
            not may_use(owner[name], owner[place[symbol]], needs)]


def symbols_of(text):
    """Defined and used symbols by object, from the output of nm -A."""
    defined, used = {}, {}
    for name, kind, symbol in re.findall(
            r"^\S*?([\w.]+\.o):(?:[0-9a-f]+| +) (\w) (\w+)$", text, re.M):
        if kind == "U":
            used.setdefault(name, set()).add(symbol)
        elif kind.isupper() and symbol.startswith("kin_"):
            defined.setdefault(name, set()).add(symbol)
    return defined, used


def object_name(source):
    """lib/toolkit/wait.c is toolkit_wait.c.o."""
    return source.removeprefix("lib/").replace("/", "_") + ".o"


def without_stand_ins(defined, stand_ins):
    """The symbols that one build has and another has not; `stand_ins`: texts of
    files that are built instead of others and define the same symbols."""
    both = {word for text in stand_ins for word in re.findall(r"\w+", text)}
    return {name: symbols - both for name, symbols in defined.items()}


def problems_of(root, archive):
    needs = option_needs((root / "meson.build").read_text())
    folder = root / "include/kin"
    headers = check_cmake.files_of((folder / "meson.build").read_text(),
                                   "public_headers")
    includes = {name: re.findall(r"#include <kin/([\w.]+)>",
                                 (folder / name).read_text())
                for names in headers.values() for name in names}
    problems = header_problems(headers, includes, needs)
    sources = check_cmake.library_sources(root)
    owner = {object_name(source): part
             for part in sources for source in sources[part]}
    defined, used = symbols_of(subprocess.run(
        ["nm", "-A", archive], check=True, capture_output=True, text=True).stdout)
    stand_ins = [(root / source).read_text() for part in sources
                 if part.startswith("no_") for source in sources[part]]
    unknown = sorted(set(defined) - set(owner))
    problems += [f"{name} is of no part" for name in unknown]
    if len(defined) < 100:
        problems.append(f"only {len(defined)} objects with symbols")
    if not unknown:
        problems += symbol_problems(
            owner, without_stand_ins(defined, stand_ins), used, needs)
    problems += [f"no {what} is found" for what, found in (
        ("need of an option", needs), ("stand-in", stand_ins)) if not found]
    return problems


def self_test():
    headers = {"": ["a.h"], "toolkit": ["t.h"], "cache": ["c.h"],
               "controllers": ["w.h"]}
    includes = {"a.h": [], "t.h": ["a.h", "x.h"], "c.h": [], "w.h": ["t.h"]}
    owner = {"a.c.o": "", "t.c.o": "toolkit", "z.c.o": "zlib"}
    defined, used = symbols_of(
        "lib.a:a.c.o:0000 T kin_a\nlib.a:t.c.o:0000 T kin_t\n"
        "lib.a:t.c.o:         U kin_a\nlib.a:a.c.o:         U malloc\n"
        "lib.a:a.c.o:         U kin_z\nlib.a:z.c.o:0000 T kin_z\n"
        "lib.a:a.c.o:0010 t kin_hidden\n")
    needs = option_needs("if get_option('w') and not get_option('t')\n"
                         "  error('x')\nendif\n"
                         "if get_option('t') and not get_option('s')\n"
                         "  error('x')\nendif\n")
    checks = [
        (needs, [("w", "t"), ("t", "s")]),
        (may_use("w", "s", needs), True),
        (may_use("s", "w", needs), False),
        (may_use("w_and_r", "t", needs), True),
        (may_use("w", "w_and_r", needs), False),
        (may_use("", "t", needs), False),
        (may_use("t", "", needs), True),
        (defined, {"a.c.o": {"kin_a"}, "t.c.o": {"kin_t"},
                   "z.c.o": {"kin_z"}}),
        (used, {"t.c.o": {"kin_a"}, "a.c.o": {"malloc", "kin_z"}}),
        (header_problems(headers, includes, [("controllers", "toolkit")]), []),
        (len(header_problems(headers, includes, [])), 1),
        (len(header_problems(headers, dict(includes, **{
            "a.h": ["t.h"], "w.h": []}), [])), 1),
        (len(header_problems(headers, dict(includes, **{
            "t.h": ["c.h"], "w.h": []}), [])), 1),
        (symbol_problems(owner, without_stand_ins(
            defined, ["int kin_z(void) {}"]), used, []), []),
        (len(symbol_problems(owner, without_stand_ins(
            defined, ["int kin_zz(void) {}"]), used, [])), 1),
        (len(symbol_problems(owner, defined, {"a.c.o": {"kin_t"}}, [])), 1),
        (object_name("lib/toolkit/wait.c"), "toolkit_wait.c.o"),
    ]
    return report.end([f"{have}, not {want}" for have, want in checks
                       if have != want], len(checks))


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    return report.end(problems_of(pathlib.Path(sys.argv[1]), sys.argv[2]))


if __name__ == "__main__":
    sys.exit(main())
