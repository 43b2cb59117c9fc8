#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs kinformer against a real kube-apiserver and etcd.

usage: run.py --build-dir DIR [--list] [NAME...]

Prints a line per scenario and at the end `N passed, N failed[, N skipped]`.
"""

import argparse
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import traceback

import conformance
import servers
from cluster import Cluster, StartError
from kin import Failure
from scenario import SCENARIOS, Context
# Imported for what they register, in the order of running.
import scenarios_objects  # noqa: F401
import scenarios_scopes  # noqa: F401
import scenarios_faults  # noqa: F401

CONFORMANCE = "conformance"


def main():
    arguments = parse_arguments()
    if arguments.list:
        print("\n".join([*SCENARIOS, CONFORMANCE]))
        return 0
    # An interrupt unwinds, so that every child is ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        passed, failed, skipped = run_all(arguments)
    except (subprocess.CalledProcessError, StartError) as error:
        print(f"FAILED {error}")
        passed, failed, skipped = 0, 1, 0
    print(f"{passed} passed, {failed} failed"
          + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


def run_all(arguments):
    """Returns (passed, failed, skipped) of what the arguments select."""
    started = time.monotonic()
    programs = servers.build()
    build_dir = arguments.build_dir.resolve()
    tools = build_dir / "tools"
    names = arguments.names or [*SCENARIOS, CONFORMANCE]
    total = [0, 0, 0]
    with Cluster(programs) as cluster:
        print(f"cluster up after {time.monotonic() - started:.1f} s")
        for name in names:
            if name == CONFORMANCE:
                counts = conformance.compare(cluster,
                                             tools / "apisim" / "kin-apisim",
                                             arguments.record_conformance)
            else:
                counts = run_one(name, cluster,
                                 tools / "kinformer" / "kinformer")
            total = [a + b for a, b in zip(total, counts)]
        if total[1]:
            kept = keep_logs(cluster, build_dir)
            print(f"logs of the servers are in {kept}")
    return total


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True,
                        help="where kinformer and kin-apisim are built")
    parser.add_argument("--list", action="store_true",
                        help="print the names of the scenarios and end")
    parser.add_argument("--record-conformance", action="store_true",
                        help="record the real server's answers anew")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="scenarios to run; all if none is named")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(SCENARIOS) - {CONFORMANCE}
    if unknown:
        parser.error(f"no scenario {', '.join(sorted(unknown))}; try --list")
    return arguments


def run_one(name, cluster, program):
    """Returns (passed, failed, skipped) of one scenario."""
    started = time.monotonic()
    try:
        SCENARIOS[name](Context(cluster, program, name))
        problem = None
    except Failure as failure:
        problem = str(failure)
    except Exception:  # pylint: disable=broad-exception-caught
        problem = traceback.format_exc()
    print(f"{'FAILED' if problem else 'ok':6} {name} "
          f"({time.monotonic() - started:.1f} s)", flush=True)
    if problem:
        print("       " + problem.replace("\n", "\n       "), flush=True)
        repair(cluster)
    return (0, 1, 0) if problem else (1, 0, 0)


def repair(cluster):
    """One scenario's failure must not be the next one's reason."""
    if not cluster.etcd.is_running():
        cluster.start_etcd()
    if not cluster.apiserver.is_running():
        cluster.start_apiserver()
    if not cluster.proxy.is_running():
        cluster.start_proxy()


def keep_logs(cluster, build_dir):
    kept = build_dir / "e2e-logs"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for log in cluster.directory.glob("*.log"):
        shutil.copy(log, kept)
    return kept


if __name__ == "__main__":
    sys.exit(main())
