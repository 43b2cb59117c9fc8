#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs bench_work_queue and its peer, client-go's work queue, one after the
other in each round, and prints the medians over the rounds, and the ratio of
client-go to kinformer, which is taken within a round. Builds the peer with the
`go` command. Usage: work_queue.py BUILDDIR [--keys N] [--rounds R]
"""

import argparse
import pathlib
import statistics
import subprocess

PEER = pathlib.Path(__file__).resolve().parent / "workqueue_go"


def figures(program, keys):
    """{name: (value, unit)} of the lines `name value unit` of a run."""
    out = subprocess.run([program, str(keys)], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    found = {}
    for line in out.splitlines():
        words = line.split()
        if words and words[0].startswith("work_queue."):
            found[words[0].split(".")[2]] = (float(words[1]), words[2])
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("builddir", type=pathlib.Path)
    parser.add_argument("--keys", type=int, default=1000000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    own = arguments.builddir.resolve() / "bench/bench_work_queue"
    peer = arguments.builddir.resolve() / "bench/workqueue_go"
    subprocess.run(["go", "build", "-o", peer, "."], check=True, cwd=PEER)
    rounds = [(figures(own, arguments.keys), figures(peer, arguments.keys))
              for _ in range(arguments.rounds)]
    print(f"{arguments.keys} keys, medians of {arguments.rounds} rounds")
    print(f"{'':14}{'kinformer':>12}{'client-go':>12}{'ratio':>8}")
    for name, (_, unit) in rounds[0][0].items():
        mine = statistics.median(r[0][name][0] for r in rounds)
        if name not in rounds[0][1]:
            print(f"{name:14}{mine:9.1f} {unit}")
            continue
        theirs = statistics.median(r[1][name][0] for r in rounds)
        ratio = statistics.median(r[1][name][0] / r[0][name][0]
                                  for r in rounds)
        print(f"{name:14}{mine:12.1f}{theirs:12.1f}{ratio:8.2f}  {unit}")


if __name__ == "__main__":
    main()
