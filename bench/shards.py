#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a shard costs, with an API server that selects the shard's objects and
with one that does not.

usage: shards.py BUILD_DIR [--pods N] [--bytes B] [--changes N]

Starts kin-apisim with so many pods, follows one shard of 1, 4 and 16 with
kinformer, first with --sharded-lists and then without, and measures the bytes
that come, the memory of kinformer (against the same program on an empty server)
and the CPU time of both, for the list and then for so many changes. Prints a
row for each. Ends with 1 if a row is further than TOLERANCE from the model of
doc/scale.md:

  bytes of a list     objects x bytes        / shards if the server selects
  memory of a shard   objects x kept         / shards, either way
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.request

TOLERANCE = 0.10
COUNTS = (1, 4, 16)
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Server:
    def __init__(self, build, *options):
        self.process = subprocess.Popen(
            [build / "tools/apisim/kin-apisim", *options],
            stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def cpu_s(self):
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK_S

    def change(self, count):
        request = urllib.request.Request(
            f"{self.url}/sim/events", method="POST",
            data=json.dumps({"count": count, "kind": "modify"}).encode())
        urllib.request.urlopen(request).read()


def follow(build, server, shard, changes=0):
    """Follows until it is in sync, and then until it is told of the end of the
    changes. Returns (stats, CPU seconds of the server)."""
    began = server.cpu_s()
    process = subprocess.Popen(
        [build / "tools/kinformer/kinformer", "pods", "-A", "--server",
         server.url, "--shard", shard, "--stats"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stdout:
        if '"event":"synced"' in line:
            break
    if changes:
        began = server.cpu_s()
        server.change(changes)
        time.sleep(3)
    used = server.cpu_s() - began
    process.send_signal(signal.SIGINT)
    _, report = process.communicate()
    return json.loads(report.splitlines()[-1]), used


def is_near(measured, expected):
    return abs(measured - expected) <= TOLERANCE * expected


def measure(build, arguments, selects, idle):
    options = ["--pods", str(arguments.pods), "--object-bytes",
               str(arguments.bytes), "--history",
               str(max(20000, 2 * arguments.changes))]
    rows = []
    with Server(build, *options, *selects) as server:
        for count in COUNTS:
            stats, server_s = follow(build, server, f"0/{count}")
            after, change_s = follow(build, server, f"0/{count}",
                                     arguments.changes)
            rows.append({
                "shards": count, "objects": stats["objects"],
                "received": stats["client"]["receivedBytes"],
                "memory": stats["rssBytes"] - idle["rssBytes"],
                "cpu_s": stats["cpuUs"] / 1e6, "server_s": server_s,
                "changes_received": after["client"]["receivedBytes"]
                - stats["client"]["receivedBytes"],
                "changes_cpu_s": (after["cpuUs"] - stats["cpuUs"]) / 1e6,
                "changes_server_s": change_s})
    return rows


def problems_of(rows, selects):
    """Where the model is wrong."""
    whole = rows[0]
    for row in rows[1:]:
        share = 1 / row["shards"]
        sent = share if selects else 1
        for name, expected in (("received", whole["received"] * sent),
                               ("memory", whole["memory"] * share)):
            if not is_near(row[name], expected):
                yield (f"{row['shards']} shards: {name} is {row[name]:,.0f}, "
                       f"the model says {expected:,.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--pods", type=int, default=1000000)
    parser.add_argument("--bytes", type=int, default=1200)
    parser.add_argument("--changes", type=int, default=100000)
    arguments = parser.parse_args()
    with Server(arguments.build) as server:
        idle, _ = follow(arguments.build, server, "0/1")
    problems = []
    for selects in (["--sharded-lists"], []):
        rows = measure(arguments.build, arguments, selects, idle)
        print("server selects" if selects else "client selects")
        for row in rows:
            print(" ".join(f"{name} {value:,.2f}" if isinstance(value, float)
                           else f"{name} {value:,}"
                           for name, value in row.items()), flush=True)
        problems += problems_of(rows, bool(selects))
    print("\n".join(problems) or "the model holds")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
