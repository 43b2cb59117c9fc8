#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Breaks a real API server, etcd and the way to them, at random, under churn.

usage: chaos.py --build-dir DIR [--rounds N] [--seed S] [--release R]

A round is three faults (chaos_faults.py), which a number determines, while
objects are written all the time. Then the writing stops, and every informer of
the fleet (chaos_fleet.py) has to equal an independent list within SETTLE_S of
the API server's being ready. Its events have to fold to that, and nothing may
be told twice. Rounds go on with the same informers; only after a round that
fails there are new ones.

Prints a line for each round, the slowest informer of all rounds, and
`N passed, N failed`.
"""

import argparse
import contextlib
import pathlib
import random
import shutil
import signal
import sys
import time

from bounds import ATTEMPT_S, PAUSE_S
from chaos_churn import Churn
from chaos_faults import FAULTS, World
from chaos_fleet import Fleet
import servers
from cluster import Cluster
from kin import Failure
from objects import widget_definition
from ready import StartError

# The longest wait of an informer that was complete once, which a server that just
# starts can cause: it refuses what it does not know yet. Then an attempt, twice as
# long as that of an informer alone, because all of them make theirs at once.
LONGEST_WAIT_S = 10
SETTLE_S = LONGEST_WAIT_S + 2 * ATTEMPT_S + PAUSE_S
FAULTS_A_ROUND = 3


def main():
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    passed = failed = 0
    for release in arguments.releases:
        print(f"API server {servers.RELEASES[release]}, seed {arguments.seed}",
              flush=True)
        with Cluster(servers.build(release)) as cluster:
            chaos = Chaos(cluster, arguments)
            ok = chaos.run(arguments.rounds)
            if ok < arguments.rounds:
                print(f"logs are in {keep_logs(cluster, arguments)}")
        passed += ok
        failed += arguments.rounds - ok
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True,
                        help="where kinformer and kin-actor are built")
    parser.add_argument("--rounds", type=int, default=10, metavar="N",
                        help="for each API server (10)")
    parser.add_argument("--seed", type=int, default=1, metavar="S",
                        help="which faults, and when (1)")
    names = {version: folder for folder, version in servers.RELEASES.items()}
    parser.add_argument("--release", choices=[*names, "all"], default="all",
                        help="which API server (all)")
    arguments = parser.parse_args()
    arguments.build_dir = arguments.build_dir.resolve()
    arguments.releases = ([names[arguments.release]] if arguments.release in
                          names else list(names.values()))
    return arguments


def keep_logs(cluster, arguments):
    kept = arguments.build_dir / "chaos-logs"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for log in cluster.directory.glob("*.log"):
        shutil.copy(log, kept)
    return kept


class Chaos:
    def __init__(self, cluster, arguments):
        self._cluster = cluster
        self._arguments = arguments
        self._slowest = (0.0, "", 0)  # seconds, informer, round
        cluster.api.create(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            widget_definition())

    def run(self, rounds):
        """Returns how many rounds held."""
        held = 0
        number = 0
        while number < rounds:
            with World(self._cluster) as world, \
                    Fleet(world, self._arguments.build_dir) as fleet:
                fleet.wait_equal(time.monotonic(), SETTLE_S * 6)
                while number < rounds:
                    number += 1
                    if not self._round(number, world, fleet):
                        break
                    held += 1
        seconds, name, number = self._slowest
        print(f"the slowest to be right again: {name}, {seconds:.1f} s, "
              f"in round {number}")
        return held

    def _round(self, number, world, fleet):
        rng = random.Random(f"{self._arguments.seed}/{number}")
        told = []
        problem = None
        try:
            with Churn(self._cluster.api, world.collections, rng.random()):
                for _ in range(FAULTS_A_ROUND):
                    fault = rng.choice(FAULTS)
                    told.append(fault.happen(world, rng))
            ready_at = world.await_ready()
            seconds, name = fleet.wait_equal(ready_at, SETTLE_S)
            self._slowest = max(self._slowest, (seconds, name, number))
            fleet.expect_legal()
        except (Failure, StartError) as failure:
            problem = str(failure)
        print(f"{'FAILED' if problem else 'ok':6} round {number}: "
              f"{'; '.join(told)}"
              + ("" if problem else f"; {name} after {seconds:.1f} s"),
              flush=True)
        if problem:
            print("       " + problem.replace("\n", "\n       "), flush=True)
            with contextlib.suppress(Failure):
                world.mend()
        return problem is None


if __name__ == "__main__":
    sys.exit(main())
