#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that each part of the library can be left out: that the objects and
public headers of a part use only the core, the part itself and parts that its
option needs. Reads the objects of a build that has all parts.
Usage: check_parts.py SOURCE_DIR ARCHIVE NM | --self-test
"""

import pathlib
import re
import subprocess
import sys

import check_cmake
import report

# What meson.build refuses to leave out, by the part that would need it.
NEEDS = {"controllers": {"toolkit"}, "discovery": {"requests"},
         "controllers_and_requests": {"controllers", "requests", "toolkit"}}


def may_use(part, other):
    return other in ("", part) or other in NEEDS.get(part, ())


def header_problems(headers, includes):
    """`headers`: lists of headers by part; `includes`: header to headers."""
    owner = {name: part for part, names in headers.items() for name in names}
    return [f"{name} includes {included}, which is installed with "
            f"{owner[included]} only"
            for name, part in owner.items() for included in includes[name]
            if included in owner and not may_use(part, owner[included])]


def symbol_problems(owner, defined, used, stand_ins):
    """`owner`: part by object; `defined`, `used`: symbols by object;
    `stand_ins`: parts without which another file defines the symbols."""
    place = {symbol: name for name in defined for symbol in defined[name]}
    return [f"{name} uses {symbol} of {place[symbol]}, which is built with "
            f"{owner[place[symbol]]} only"
            for name in sorted(used) for symbol in sorted(used[name])
            if symbol in place and
            owner[place[symbol]] not in stand_ins and
            not may_use(owner[name], owner[place[symbol]])]


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


def problems_of(root, archive, nm):
    folder = root / "include/kin"
    headers = check_cmake.files_of((folder / "meson.build").read_text(),
                                   "public_headers")
    includes = {name: re.findall(r"#include <kin/([\w.]+)>",
                                 (folder / name).read_text())
                for names in headers.values() for name in names}
    problems = header_problems(headers, includes)
    owner = {object_name(source): part
             for part, sources in check_cmake.library_sources(root).items()
             for source in sources}
    defined, used = symbols_of(subprocess.run(
        [nm, "-A", archive], check=True, capture_output=True, text=True).stdout)
    stand_ins = {part.removeprefix("no_") for part in owner.values()
                 if part.startswith("no_")}
    unknown = sorted(set(defined) - set(owner))
    problems += [f"{name} is of no part" for name in unknown]
    if len(defined) < 100:
        problems.append(f"only {len(defined)} objects with symbols")
    if not unknown:
        problems += symbol_problems(owner, defined, used, stand_ins)
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
    checks = [
        (defined, {"a.c.o": {"kin_a"}, "t.c.o": {"kin_t"},
                   "z.c.o": {"kin_z"}}),
        (used, {"t.c.o": {"kin_a"}, "a.c.o": {"malloc", "kin_z"}}),
        (header_problems(headers, includes), []),
        (len(header_problems(headers, dict(includes, **{"a.h": ["t.h"]}))), 1),
        (len(header_problems(headers, dict(includes, **{"t.h": ["c.h"]}))), 1),
        (symbol_problems(owner, defined, used, {"zlib"}), []),
        (len(symbol_problems(owner, defined, used, set())), 1),
        (len(symbol_problems(owner, defined, {"a.c.o": {"kin_t"}}, set())), 1),
        (object_name("lib/toolkit/wait.c"), "toolkit_wait.c.o"),
    ]
    failed = [(have, want) for have, want in checks if have != want]
    for have, want in failed:
        print(f"FAIL: {have}, as {want}")
    print(f"{len(checks) - len(failed)} passed, {len(failed)} failed")
    return bool(failed)


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    return report.end(problems_of(pathlib.Path(sys.argv[1]), sys.argv[2],
                                  sys.argv[3]))


if __name__ == "__main__":
    sys.exit(main())
