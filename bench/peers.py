#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures kinformer, client-go, kube-rs and the JavaScript client.

usage: peers.py BUILDDIR [options]

Starts `kin-apisim --replay` and runs one program after the other against it,
several rounds in one run: the same objects, the same minutes, the same machine.
Prints a table of medians and of ratios; a ratio is taken within a round, and
the median is over those. README.md says what each figure means.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import resource
import subprocess
import sys
import time
from typing import NamedTuple

import peer_programs
import peer_report
import run
import simulator

WIDGETS = "widgets.v1.example.com"


class Row(NamedTuple):
    name: str       # in the output, and of the row that others refer to
    text: str       # in tables and charts
    program: str    # kin, or a key of peer_programs
    arguments: list
    reference: str = "kinformer"  # the row that its ratios are to
    is_protobuf: bool = False


class DataSet(NamedTuple):
    name: str
    text: str
    rows: list
    share: float = 1  # of --pods and --events
    options: list = []  # of kin-apisim
    path: str = "/api/v1/pods"


KIN = Row("kinformer", "kinformer, all kept", "kin", ["--keep-all"])
GO_PROTOBUF = Row("go-typed-protobuf", "client-go typed, protobuf", "go",
                  ["--mode", "typed-protobuf"], is_protobuf=True)
GO_JSON = Row("go-typed-json", "client-go typed, JSON", "go",
              ["--mode", "typed-json"])
RUST = Row("rust-typed", "kube-rs typed", "rust", ["--mode", "typed"])

DATA_SETS = [
    DataSet("pods", "pods", [
        KIN,
        Row("kinformer-default", "kinformer, no managedFields", "kin", []),
        GO_PROTOBUF,
        GO_JSON,
        Row("go-dynamic", "client-go dynamic", "go", ["--mode", "dynamic"]),
        RUST,
        Row("rust-typed-jemalloc", "kube-rs typed, jemalloc", "rust-jemalloc",
            ["--mode", "typed"]),
        Row("rust-dynamic", "kube-rs dynamic", "rust", ["--mode", "dynamic"]),
        Row("kinformer-metadata", "kinformer, metadata only", "kin",
            ["--keep-all", "--metadata-only"], "kinformer-metadata"),
        Row("go-metadata-protobuf", "client-go metadata, protobuf", "go",
            ["--mode", "metadata-protobuf"], "kinformer-metadata", True),
        Row("go-metadata-json", "client-go metadata, JSON", "go",
            ["--mode", "metadata-json"], "kinformer-metadata"),
        Row("rust-metadata", "kube-rs metadata", "rust", ["--mode", "metadata"],
            "kinformer-metadata"),
    ], options=["--replay-metadata"]),
    DataSet("custom", "custom resources", [
        KIN,
        Row("go-dynamic", "client-go dynamic", "go", ["--mode", "dynamic"]),
        Row("rust-dynamic", "kube-rs dynamic", "rust",
            ["--mode", "dynamic", "--kind", "Widget"]),
    ], options=["--resource", WIDGETS, "--replay-resource", "widgets"],
        path="/apis/example.com/v1/widgets"),
    # The JavaScript client holds a list as one string, which V8 ends at 512 MiB.
    DataSet("fewer", "pods", [
        KIN,
        GO_PROTOBUF,
        GO_JSON,
        RUST,
        Row("js-typed", "JavaScript client", "js", ["--mode", "typed"]),
    ], share=0.2),
]


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---- one run


class Failure(Exception):
    pass


def measure(argv, limit_s):
    try:
        result = subprocess.run(argv, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, check=False, timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise Failure(f"no result in {limit_s} s") from None
    if result.returncode != 0:
        why = peer_programs.last_line(result.stderr)
        raise Failure(f"exit status {result.returncode}: {why}")
    return json.loads(result.stdout)


class ProtobufServer:
    """The server of bench/peers/go: the same objects, as protobuf."""

    def __init__(self, program, url, events):
        self._argv = [*program.argv, "serve", "--from", url, "--events",
                      str(events)]

    def __enter__(self):
        self._process = subprocess.Popen(self._argv, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline()
        found = re.search(r"listening on (\S+)", line)
        if not found:
            self.__exit__()
            raise SystemExit(f"peers.py: no protobuf server: {line!r}")
        self.url = found.group(1)
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()


def argv_of(row, data, program, url, o):
    argv = [*program, *row.arguments, "--server", url, "--objects",
            str(o.objects), "--events", str(o.set_events), "--settle-ms",
            str(o.settle_ms)]
    if data.path != "/api/v1/pods":
        argv += ["--resource", WIDGETS]
    return argv


def run_round(data, rows, programs, servers, o):
    """Returns row name -> result, or -> {"failed": why}."""
    sim, protobuf = servers
    results = {}
    limit = [str(o.build / "bench/receive_only"), "--port", sim.port, "--path",
             data.path, "--events", str(o.set_events)]
    results["limit"] = measure(limit, o.limit_s)
    for row in rows:
        url = protobuf.url if row.is_protobuf else sim.url
        program = programs[row.program]
        try:
            results[row.name] = measure(
                argv_of(row, data, program.argv, url, o), o.limit_s)
        except Failure as why:
            say(f"  {row.name}: {why}")
            if row.program == "kin":
                raise SystemExit(f"peers.py: {row.name}: {why}") from None
            results[row.name] = {"failed": str(why)}
    return results


class Options:
    """What Simulator and the functions above read."""

    def __init__(self, o, data):
        self.__dict__.update(vars(o))
        self.objects = self.pods = max(1, int(o.pods * data.share))
        self.set_events = max(1, int(o.events * data.share))


def run_data_set(data, programs, all_options):
    o = Options(all_options, data)
    rows = [row for row in data.rows if row.program in programs]
    sim = simulator.Simulator(
        o.build, o, "--shapes", str(o.shapes), "--replay-events",
        str(o.set_events), *data.options)
    rounds = []
    with sim:
        needs_protobuf = any(row.is_protobuf for row in rows)
        if needs_protobuf:
            say(f"{data.name}: rendering protobuf")
            with ProtobufServer(programs["go"], sim.url, o.set_events) as server:
                for number in range(o.rounds):
                    say(f"{data.name}: round {number + 1} of {o.rounds}")
                    rounds.append(run_round(data, rows, programs, (sim, server),
                                            o))
        else:
            for number in range(o.rounds):
                say(f"{data.name}: round {number + 1} of {o.rounds}")
                rounds.append(run_round(data, rows, programs, (sim, None), o))
    return {
        "name": data.name,
        "text": data.text,
        "objects": o.objects,
        "events": o.set_events,
        "bytes_per_object": round(rounds[0]["limit"]["list_bytes"] / o.objects),
        "rows": [{"name": r.name, "text": r.text, "reference": r.reference}
                 for r in rows],
        "rounds": rounds,
    }


# ---- what it was measured on


def busy_s():
    """CPU time that the whole machine has spent, by all programs."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    user, nice, system, _, _, irq, softirq, steal = map(int, fields[1:9])
    ticks = user + nice + system + irq + softirq + steal
    return ticks / os.sysconf("SC_CLK_TCK")


def own_s():
    usages = [resource.getrusage(who) for who in
              (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usages)


def describe(programs, o):
    cpus = len(os.sched_getaffinity(0))
    model = run.first_match("/proc/cpuinfo", r"^model name.*?: (.*)$")
    return {
        "date": str(datetime.date.today()),
        "cpu": f"{model}, {cpus} usable",
        "memory": run.first_match("/proc/meminfo", r"^MemTotal: *(.*)$"),
        "system": f"{platform.system()} {platform.release()}, libc "
                  f"{' '.join(platform.libc_ver())}",
        "build": run.build_options(o.build).get("buildtype", "unknown"),
        "shapes": o.shapes,
        "versions": {name: version for program in programs.values()
                     for name, version in program.versions.items()},
    }


def run_all(programs, missing, o):
    result = {"about": describe(programs, o), "missing": missing, "sets": []}
    busy, own, began = busy_s(), own_s(), time.monotonic()
    for data in DATA_SETS:
        if data.name in o.sets:
            result["sets"].append(run_data_set(data, programs, o))
            # The servers have ended and count as own; time that a virtual
            # machine was not given counts as others'.
            others = busy_s() - busy - (own_s() - own)
            share = round(max(others, 0) / (time.monotonic() - began), 2)
            for measured in result["sets"]:
                measured["busy_others"] = share
            # A run of an hour may be ended before its end.
            (o.build / "peers/results.json").write_text(json.dumps(result))
    return result


# ---- the command line


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--pods", type=int, default=100000)
    parser.add_argument("--object-bytes", type=int, default=5100,
                        help="size aimed at; the mean is some more: 5.6 KB")
    parser.add_argument("--shapes", type=int, default=240,
                        help="0: all pods alike")
    parser.add_argument("--events", type=int, default=100000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--settle-ms", type=int, default=5000)
    parser.add_argument("--limit-s", type=int, default=900,
                        help="a program that needs longer has failed")
    parser.add_argument("--sets", default=",".join(d.name for d in DATA_SETS),
                        help="default: %(default)s")
    parser.add_argument("--only", default=",".join(peer_programs.BUILDERS),
                        help="the peers, by language; default: %(default)s")
    parser.add_argument("--write", action="store_true",
                        help="keep the results in bench/peers/results.json, and "
                             "show them in README.md and doc/performance.md")
    parser.add_argument("--smoke", action="store_true",
                        help="small and quick: does it run at all")
    o = parser.parse_args()
    o.build = o.build.resolve()
    o.sets, o.only = o.sets.split(","), o.only.split(",")
    if set(o.sets) - {d.name for d in DATA_SETS}:
        parser.error("no such data set")
    if set(o.only) - set(peer_programs.BUILDERS):
        parser.error("no such peer")
    if o.smoke:
        o.pods, o.events, o.rounds, o.settle_ms, o.limit_s = 1000, 500, 1, 50, 60
    if min(o.pods, o.events, o.rounds) < 1:
        parser.error("--pods, --events and --rounds must be above 0")
    return o


def summary(result, missing):
    """The last line of --smoke: a row of a data set is a case."""
    cases = [r for s in result["sets"] for r in s["rounds"][0].values()]
    failed = sum("failed" in case for case in cases)
    print(f"{len(cases) - failed} passed, {failed} failed, "
          f"{len(missing)} skipped")
    return 1 if failed else 0


def main():
    o = parse_arguments()
    programs, missing = peer_programs.build_all(o.build, o.only, say)
    for name, why in missing.items():
        print(f"left out: {name}, because {why}")
    programs["kin"] = peer_programs.Program([str(o.build / "bench/kin_bench")],
                                            {})
    try:
        result = run_all(programs, missing, o)
    except Failure as why:
        raise SystemExit(f"peers.py: the limit: {why}") from None
    print(peer_report.text_report(result))
    if o.write:
        peer_report.write_all(result)
    return summary(result, missing) if o.smoke else 0


if __name__ == "__main__":
    sys.exit(main())
