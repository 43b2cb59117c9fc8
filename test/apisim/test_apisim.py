#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of kin-apisim.

usage: test_apisim.py KIN-APISIM [NAME...]

Runs every test_* function of the cases_*.py files, or those whose name contains
one of NAME. Each starts its own servers with start(options...); afterwards
every server has to end with status 0 on SIGTERM and to have written nothing to
standard error, where sanitizers report.
"""

import importlib
import inspect
import pathlib
import sys

import sim as simulation
from outcomes import run_all


def find(patterns):
    for path in sorted(pathlib.Path(__file__).parent.glob("cases_*.py")):
        module = importlib.import_module(path.stem)
        for name, test in inspect.getmembers(module, inspect.isfunction):
            mine = name.startswith("test_") and test.__module__ == path.stem
            if mine and (not patterns or any(p in name for p in patterns)):
                yield f"{path.stem[6:]}: {name[5:].replace('_', ' ')}", test


def run(program, test):
    started = []

    def start(*arguments):
        started.append(simulation.Sim(program, *arguments))
        return started[-1]
    try:
        test(start)
    except BaseException:
        for one in started:
            one.process.kill()
            one.process.wait()
            sys.stderr.write(one.errors())
        raise
    for one in started:
        one.stop()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    run_all(find(sys.argv[2:]), lambda test: run(sys.argv[1], test))


if __name__ == "__main__":
    main()
