#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kubectl as it is, against kin-apisim.

usage: test_kubectl.py KIN-APISIM [NAME...]

Builds the kubectl that test/e2e/go.mod names, once; needs Go. Runs the cases of
cases.py, or those whose name contains one of NAME, each with a server of its
own, and holds the served schemas against those that Kubernetes publishes. Ends
with a line `N passed, N failed`.
"""

import inspect
import sys

import cases
import schemas
from kubectl import HERE, Kubectl

import servers
from outcomes import run_all


def test_schemas_are_those_of_kubernetes(kubectl):
    found, count = schemas.differences(kubectl.sim, HERE.parent / "e2e")
    assert not found, "\n".join(found)
    assert count > 200, count


def all_cases():
    for module in (cases, sys.modules[__name__]):
        for name, case in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("test_"):
                yield name[5:].replace("_", " "), case


def run(program, apisim, case):
    kubectl = Kubectl(program, apisim)
    try:
        case(kubectl)
    except BaseException:
        kubectl.sim.process.kill()
        kubectl.sim.process.wait()
        sys.stderr.write(kubectl.sim.errors())
        kubectl.home.cleanup()
        raise
    kubectl.close()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = servers.build_kubectl()
    chosen = [(name, case) for name, case in all_cases()
              if not sys.argv[2:] or any(x in name for x in sys.argv[2:])]
    run_all(chosen, lambda case: run(program, sys.argv[1], case))


if __name__ == "__main__":
    main()
