#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the kinformer program and the examples, as a user runs them.

usage: test_cli.py KINFORMER KIN_APISIM [--watch-pods PROGRAM] [--embed PROGRAM]
                   [--directory PROGRAM] [--factory PROGRAM] [--wait-for-pod PROGRAM]
                   [--controller PROGRAM] [--transform PROGRAM]
                   [--read-your-writes PROGRAM] [--patch-label PROGRAM]
                   [--follow-word PROGRAM]
                   [--ask PROGRAM]
                   [--only NAME...]

Runs every test, or those whose name contains one of the NAMEs, and ends with a
line `N passed, N failed`. Without the examples' programs, their tests are left
out.
"""

import argparse
import sys
import traceback

import asking
import ending
import examples
import faults
import kubeconfig
import lines
import security
import simulated
import tables
import usage
import words

MODULES = (usage, words, lines, ending, tables, security, kubeconfig, simulated,
           faults, asking, examples)


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("kinformer")
    parser.add_argument("apisim")
    parser.add_argument("--watch-pods")
    parser.add_argument("--directory")
    parser.add_argument("--embed")
    parser.add_argument("--factory")
    parser.add_argument("--list-pages")
    parser.add_argument("--wait-for-pod")
    parser.add_argument("--controller")
    parser.add_argument("--transform")
    parser.add_argument("--read-your-writes")
    parser.add_argument("--no-kubeconfig", action="store_true")
    parser.add_argument("--patch-label")
    parser.add_argument("--follow-word")
    parser.add_argument("--ask")
    parser.add_argument("--only", nargs="+", default=[""])
    return parser.parse_args()


def main():
    programs = parse_arguments()
    passed = failed = 0
    for module in MODULES:
        if module is kubeconfig and programs.no_kubeconfig:
            continue
        if module is examples and not (programs.watch_pods and
                                       programs.directory and
                                       programs.embed and programs.factory and
                                       programs.wait_for_pod and
                                       programs.controller and
                                       programs.list_pages and
                                       programs.transform and
                                       programs.read_your_writes and
                                       programs.patch_label and
                                       programs.follow_word):
            continue
        if module is asking and not programs.ask:
            continue
        for name, test in list(vars(module).items()):
            full = f"{module.__name__}.{name}"
            if not name.startswith("test_") or not any(
                    part in full for part in programs.only):
                continue
            try:
                test(programs)
                passed += 1
                print(f"ok {full}", flush=True)
            except Exception as error:
                failed += 1
                print(f"FAILED {full}")
                if not isinstance(error, AssertionError):
                    traceback.print_exc(file=sys.stdout)
                frames = traceback.extract_tb(error.__traceback__)
                where = [f"{f.filename}:{f.lineno}" for f in frames[1:]]
                print(f"  at {', '.join(where)}\n  {error}", flush=True)
    print(f"{passed} passed, {failed} failed")
    security.finish()
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
