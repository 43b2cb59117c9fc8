#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs kinformer against a real kube-apiserver and etcd.

usage: run.py --build-dir DIR [--list] [NAME...]

Prints a line per scenario and at the end `N passed, N failed[, N skipped]`.
Times that scenarios have measured follow their lines, and are kept in
.cache/e2e/times.txt.
"""

import argparse
import contextlib
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback

import clientgo
import conformance
import servers
from cluster import Cluster
from kin import Failure
from ready import StartError
from scenario import SCENARIOS, Context
# Imported for what they register, in the order of running.
import scenarios_objects  # noqa: F401
import scenarios_scopes  # noqa: F401
import scenarios_lists  # noqa: F401
import scenarios_shards  # noqa: F401
import scenarios_watch_list  # noqa: F401
import scenarios_faults  # noqa: F401
import scenarios_tls  # noqa: F401
import scenarios_refusals  # noqa: F401
import scenarios_silence  # noqa: F401
import scenarios_running  # noqa: F401
import scenarios_asking  # noqa: F401
import scenarios_credentials  # noqa: F401
import scenarios_examples  # noqa: F401
import scenarios_programs  # noqa: F401

CONFORMANCE = "conformance"
CLIENT_GO = "against-client-go"  # needs no server
TIMES = servers.CACHE / "times.txt"


def main():
    arguments = parse_arguments()
    if arguments.list:
        print("\n".join([*SCENARIOS, CONFORMANCE, CLIENT_GO]))
        return 0
    # An interrupt unwinds, so that every child is ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        passed, failed, skipped = Run(arguments).all()
    except (subprocess.CalledProcessError, StartError) as error:
        print(f"FAILED {error}")
        passed, failed, skipped = 0, 1, 0
    print(f"{passed} passed, {failed} failed"
          + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True,
                        help="where kinformer and kin-apisim are built")
    parser.add_argument("--list", action="store_true",
                        help="print the names of the scenarios and end")
    parser.add_argument("--record-conformance", action="store_true",
                        help="record the real server's answers anew")
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="scenarios to run; what stands after a slash may "
                        "be left out; all if none is named")
    arguments = parser.parse_args()
    known = {*SCENARIOS, *(n.split("/")[0] for n in SCENARIOS), CONFORMANCE,
             CLIENT_GO}
    unknown = set(arguments.names) - known
    if unknown:
        parser.error(f"no scenario {', '.join(sorted(unknown))}; try --list")
    return arguments


class Run:
    """One run of what the arguments select."""

    def __init__(self, arguments):
        self._record = arguments.record_conformance
        self._build_dir = arguments.build_dir.resolve()
        names = arguments.names
        self._scenarios = [
            s for s in SCENARIOS.values()
            if not names or s.name in names or s.name.split("/")[0] in names]
        self._has_conformance = not names or CONFORMANCE in names
        self._has_client_go = not names or CLIENT_GO in names
        self._cluster = None
        self._lock = threading.Lock()  # of all that follow
        self._total = [0, 0, 0]
        self._measured = []

    def all(self):
        """Returns (passed, failed, skipped)."""
        started = time.monotonic()
        if self._has_client_go:
            self._add(*clientgo.compare(self._build_dir, servers.CACHE))
        if self._scenarios or self._has_conformance:
            self._all_with_servers()
        print(f"all in {time.monotonic() - started:.0f} s")
        return self._total

    def _all_with_servers(self):
        started = time.monotonic()
        programs = servers.build()
        with Cluster(programs) as self._cluster:
            print(f"cluster up after {time.monotonic() - started:.1f} s",
                  flush=True)
            for each in self._scenarios:
                if not each.group and self._run(each):
                    self._cluster.repair()
            if self._has_conformance:
                self._add(*conformance.compare(
                    self._cluster, self._tool("apisim/kin-apisim"),
                    self._record))
            for group in dict.fromkeys(s.group for s in self._scenarios):
                if group:
                    self._side_by_side(group)
            if self._total[1]:
                print(f"logs of the servers are in {self._keep_logs()}")
        self._write_times()

    def _tool(self, name):
        return self._build_dir / "tools" / name

    def _side_by_side(self, group):
        # Daemons: an interrupt does not wait for them, and what they have
        # started ends with them.
        threads = [threading.Thread(target=self._run, args=(each,), daemon=True)
                   for each in self._scenarios if each.group == group]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _run(self, scenario):
        """Returns whether it has failed."""
        started = time.monotonic()
        context = problem = None
        try:
            context = Context(self._cluster, self._tool("kinformer/kinformer"),
                              self._build_dir / "test/e2e/kin-actor", scenario)
            with (context.way.severable() if scenario.is_severed
                  else contextlib.nullcontext()):
                scenario.run(context)
        except Failure as failure:
            problem = str(failure)
        except Exception:  # pylint: disable=broad-exception-caught
            problem = traceback.format_exc()
        self._report(scenario.name, time.monotonic() - started, problem,
                     context.measured if context else [])
        return problem is not None

    def _report(self, name, seconds, problem, measured):
        lines = [f"{'FAILED' if problem else 'ok':6} {name} ({seconds:.1f} s)"]
        lines += [f"       {m.seconds:6.2f} s ({m.bound}) {m.what}"
                  for m in measured]
        if problem:
            lines.append("       " + problem.replace("\n", "\n       "))
        with self._lock:
            self._measured += measured
            print("\n".join(lines), flush=True)
        self._add(*((0, 1, 0) if problem else (1, 0, 0)))

    def _add(self, *counts):
        with self._lock:
            self._total = [a + b for a, b in zip(self._total, counts)]

    def _write_times(self):
        if self._measured:
            TIMES.write_text("".join(
                f"{m.seconds:8.2f} s  {m.bound:24}  {m.scenario}: {m.what}\n"
                for m in self._measured), encoding="utf-8")
            print(f"times are in {TIMES}")

    def _keep_logs(self):
        kept = self._build_dir / "e2e-logs"
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        for log in self._cluster.directory.glob("*.log"):
            shutil.copy(log, kept)
        return kept


if __name__ == "__main__":
    sys.exit(main())
