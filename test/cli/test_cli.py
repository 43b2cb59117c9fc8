#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the kinformer program and the examples, as a user runs them.

usage: test_cli.py KINFORMER KIN_APISIM [--examples DIR] [--ask PROGRAM]
                   [--no-kubeconfig] [--no-cpp] [--only NAME...]

Runs every test, or those whose name contains one of the NAMEs, and ends with a
line `N passed, N failed`. DIR has the examples' programs; without it, their
tests are left out.
"""

import argparse
import os
import pathlib
import sys
import traceback

import agents
import asking
import controllers
import ending
import endpoints
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
           faults, asking, examples, endpoints, agents, controllers)
EXAMPLES = (examples, endpoints, agents, controllers)


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("kinformer")
    parser.add_argument("apisim")
    parser.add_argument("--examples")
    parser.add_argument("--no-kubeconfig", action="store_true")
    parser.add_argument("--no-cpp", action="store_true")
    parser.add_argument("--ask")
    parser.add_argument("--only", nargs="+", default=[""])
    programs = parser.parse_args()
    if programs.examples:
        for path in pathlib.Path(programs.examples).iterdir():
            if path.is_file() and os.access(path, os.X_OK):
                setattr(programs, path.name, str(path))
    return programs


def main():
    programs = parse_arguments()
    passed = failed = 0
    for module in MODULES:
        if module is kubeconfig and programs.no_kubeconfig:
            continue
        if module in EXAMPLES and not programs.examples:
            continue
        if module is asking and not programs.ask:
            continue
        for name, test in list(vars(module).items()):
            full = f"{module.__name__}.{name}"
            if not name.startswith("test_") or not any(
                    part in full for part in programs.only):
                continue
            if programs.no_cpp and "node_agent" in name:
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
