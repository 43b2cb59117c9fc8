#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that each member of kin_informer_metrics is in the text for
Prometheus: lib/toolkit/metrics_text.c must name it.
Usage: check_metrics.py SOURCE_DIR | --self-test
"""

import pathlib
import re
import sys

import report

STRUCT = re.compile(
    r"typedef struct kin_informer_metrics \{(.*?)\} kin_informer_metrics;", re.S)
MEMBER = re.compile(r"^\s*\w+ (\w+)(?:\[\w+\])?;", re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def find_problems(header, source):
    struct = STRUCT.search(header)
    members = MEMBER.findall(COMMENT.sub("", struct[1])) if struct else []
    if len(members) < 10:
        return [f"{len(members)} members were read: the check is blind"]
    code = COMMENT.sub("", source)
    return [f"metrics_text.c has no {member}" for member in members
            if member != "size"
            and not re.search(rf"(AT\(|\.|->){member}\b", code)]


def self_test():
    names = [f"m{i}" for i in range(10)]
    header = ("typedef struct kin_informer_metrics {\n  size_t size; /**< x */\n"
              + "".join(f"  uint64_t {n}; /**< y */\n" for n in names)
              + "  uint64_t failures[N];\n} kin_informer_metrics;")
    source = "AT(" + ") AT(".join(names) + ") m->failures[0]"
    cases = [((header, source), 0),
             ((header, source.replace("AT(m3)", "/* AT(m3) */")), 1),
             ((header, source.replace("m->failures", "m")), 1),
             ((header, source.replace("AT(m1)", "AT(m12)")), 1),
             (("", source), 1)]
    return report.end_cases(find_problems, cases)


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = pathlib.Path(sys.argv[1])
    return report.end(find_problems(
        (root / "include/kin/metrics.h").read_text(),
        (root / "lib/toolkit/metrics_text.c").read_text()))


if __name__ == "__main__":
    sys.exit(main())
