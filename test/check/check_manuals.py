#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that a manual page has the options of its program's --help, with the
same arguments, and no others.
Usage: check_manuals.py PAGE PROGRAM [PAGE PROGRAM...] | --self-test
"""

import pathlib
import re
import subprocess
import sys

import report


def options_in(words):
    """Name and argument ("" if there is none) of each --option in a heading."""
    return {name: argument.rstrip(",") for name, argument in
            re.findall(r"--([a-z][a-z-]*)(?: ([A-Z]\S*))?", words)}


def options_of_help(text):
    """A heading begins a line and ends before two blanks."""
    found = {}
    for line in text.split("\n"):
        match = re.match(r" +(?:-\w, )?(--.*?)(?:  |$)", line)
        if match:
            found.update(options_in(match.group(1)))
    return found


def options_of_page(text):
    """A heading is the line after .TP."""
    found = {}
    for line in re.findall(r"^\.TP\n\.\w+ (.*)$", text, re.M):
        line = re.sub(r"\\f.", "", line).replace('"', "").replace("\\-", "-")
        found.update(options_in(re.sub(" +", " ", line)))
    return found


def problems_of(page, program):
    help_text = subprocess.run([program, "--help"], capture_output=True,
                               text=True, timeout=60, check=True).stdout
    wanted = dict(options_of_help(help_text), help="")
    has = options_of_page(pathlib.Path(page).read_text())
    problems = [f"{page}: --{name} {wanted.get(name, 'is no option')}, not "
                f"{has.get(name, 'there')}"
                for name in sorted(wanted.keys() | has.keys())
                if wanted.get(name) != has.get(name)]
    return problems if len(wanted) > 1 else [f"{program}: no options found"]


def self_test():
    help_text = ("usage: p --none\n  -n, --name NS    a --word\n"
                 "      --once    x\n      --cert FILE, --key FILE\n    text\n")
    page = ('.TP\n.BI \\-n "\\fR, \\fP" \\-\\-name " NS"\ntext --other\n'
            '.TP\n.B \\-\\-once\n.TP\n'
            '.BI \\-\\-cert " FILE\\fR, \\fP" \\-\\-key " FILE"\n')
    want = {"name": "NS", "once": "", "cert": "FILE", "key": "FILE"}
    failed = 0
    for have in (options_of_help(help_text), options_of_page(page)):
        if have != want:
            failed += 1
            print(f"FAIL: {have}, not {want}")
    print(f"{2 - failed} passed, {failed} failed")
    return failed != 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    problems = []
    for page, program in zip(sys.argv[1::2], sys.argv[2::2]):
        problems += problems_of(page, program)
    return report.end(problems)


if __name__ == "__main__":
    sys.exit(main())
