#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures kinformer against the limit of its machine.

usage: run.py BUILDDIR [options]

Starts `kin-apisim --replay` and runs receive_only and kin_bench against it in
turn, several rounds in one run, because only figures of the same minutes on the
same machine compare. Prints the medians as a table, then as lines
`name value unit`. README.md says what each figure means and what it leaves out.
"""

import argparse
import datetime
import json
import pathlib
import platform
import re
import statistics
import subprocess
import sys

MB = 1e6

# Name, what the informer keeps, options of kin_bench, options of receive_only.
VARIANTS = [
    ("kept", "everything", ["--keep-all"], []),
    ("default", "without managedFields", [], []),
    ("metadata", "metadata only", ["--metadata-only"], ["--metadata-only"]),
]

# Column title, unit of the output line, and how to get it from a round: `k` is
# kin_bench's result and `r` the receive_only's before it.
FIGURES = [
    ("sync_s", "s", lambda k, r: k["sync_s"]),
    ("sync_cpu_s", "s", lambda k, r: k["sync_cpu_s"]),
    ("sync_ratio", "x", lambda k, r: k["sync_s"] / r["sync_s"]),
    ("sync_cpu_ratio", "x", lambda k, r: k["sync_cpu_s"] / r["sync_cpu_s"]),
    ("event_cpu", "us", lambda k, r: k["cpu_us_per_event"]),
    ("event_cpu_ratio", "x",
     lambda k, r: k["cpu_us_per_event"] / r["cpu_us_per_event"]),
    ("events_per_s", "1/s", lambda k, r: k["events_per_s"]),
    ("base_rss", "MB", lambda k, r: k["base_rss"] / MB),
    ("sync_peak_rss", "MB", lambda k, r: k["sync_peak_rss"] / MB),
    ("peak_rss", "MB", lambda k, r: k["peak_rss"] / MB),
    ("steady_rss", "MB", lambda k, r: k["steady_rss"] / MB),
    ("peak_ratio", "x", lambda k, r: k["peak_rss"] / k["steady_rss"]),
    ("memory_per_object", "B", lambda k, r: k["bytes_per_object"]),
    ("stored_per_object", "B", lambda k, r: k["stored_per_object"]),
    ("iterations", "turns", lambda k, r: k["iterations"]),
    ("iterations_over_1ms", "turns", lambda k, r: k["iterations_over_1ms"]),
    ("iterations_over_2ms", "turns", lambda k, r: k["iterations_over_2ms"]),
    ("iteration_p99", "us", lambda k, r: k["iteration_p99_us"]),
    ("iteration_worst", "us", lambda k, r: k["iteration_worst_us"]),
    ("iteration_worst_sync", "us", lambda k, r: k["iteration_worst_sync_us"]),
    ("iteration_worst_events", "us",
     lambda k, r: k["iteration_worst_events_us"]),
    ("iteration_worst_close", "us", lambda k, r: k["iteration_worst_close_us"]),
    ("client_longest", "us", lambda k, r: k["longest_us"]),
]

# For these the worst round counts, not the median.
WORST = {"iteration_worst", "iteration_worst_sync", "iteration_worst_events",
         "iteration_worst_close", "client_longest"}


class Simulator:
    def __init__(self, build, o):
        argv = [str(build / "tools/apisim/kin-apisim"), "--port", "0",
                "--replay", "--pods", str(o.pods), "--object-bytes",
                str(o.object_bytes), "--replay-events", str(o.events)]
        if any(v[0] == "metadata" for v in o.variants):
            argv.append("--replay-metadata")
        self._argv = argv

    def __enter__(self):
        self._process = subprocess.Popen(self._argv, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE)
        line = self._process.stdout.readline().decode()
        found = re.search(r"listening on (http://\S+:(\d+))", line)
        if not found:
            self.__exit__()
            raise SystemExit(f"run.py: kin-apisim did not start: {line!r}")
        self.url, self.port = found.group(1), found.group(2)
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()


def measure(argv):
    result = subprocess.run(argv, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, check=False)
    if result.returncode != 0:
        raise SystemExit(f"run.py: exit status {result.returncode} of "
                         f"{' '.join(argv)}")
    return json.loads(result.stdout)


def run_rounds(build, server, o):
    """Returns variant name -> list of (kin_bench, receive_only) results."""
    rounds = {variant[0]: [] for variant in o.variants}
    for number in range(o.rounds):
        for name, _, kin_options, limit_options in o.variants:
            print(f"round {number + 1} of {o.rounds}: {name}", file=sys.stderr)
            limit = measure([str(build / "bench/receive_only"), "--port",
                             server.port, "--events", str(o.events),
                             *limit_options])
            kin = measure([str(build / "bench/kin_bench"), "--server",
                           server.url, "--objects", str(o.pods), "--events",
                           str(o.events), "--settle-ms", str(o.settle_ms),
                           *kin_options])
            rounds[name].append((kin, limit))
    return rounds


# ---- what it was measured on


def first_match(path, pattern):
    try:
        found = re.search(pattern, pathlib.Path(path).read_text(), re.M)
    except OSError:
        return "unknown"
    return found.group(1).strip() if found else "unknown"


def build_options(build):
    try:
        text = (build / "meson-info/intro-buildoptions.json").read_text()
    except OSError:
        return {}
    return {option["name"]: option["value"] for option in json.loads(text)}


def describe(build, o):
    options = build_options(build)
    cpus = subprocess.run(["nproc"], stdout=subprocess.PIPE, check=False)
    lines = [
        f"date        {datetime.date.today()}",
        f"cpu         {first_match('/proc/cpuinfo', r'^model name.*?: (.*)$')}, "
        f"{cpus.stdout.decode().strip()} usable",
        f"memory      {first_match('/proc/meminfo', r'^MemTotal: *(.*)$')}",
        f"system      {platform.system()} {platform.release()}, "
        f"libc {' '.join(platform.libc_ver())}",
        f"build       {options.get('buildtype', 'unknown')}, sanitizers "
        f"{options.get('b_sanitize', 'unknown')}",
        f"data        {o.pods} pods of {o.object_bytes} bytes, then {o.events} "
        f"MODIFIED events at full speed",
        f"rounds      {o.rounds}; medians, worst round for worst iterations",
    ]
    if options.get("b_sanitize", "none") != "none":
        lines.append("WARNING     built with sanitizers: the figures mean nothing")
    return lines


# ---- the result


def figure(name, get, results):
    values = [get(kin, limit) for kin, limit in results]
    return max(values) if name in WORST else statistics.median(values)


def format_number(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


def print_table(rounds, o):
    names = [v[0] for v in o.variants]
    width = max(len(f[0]) + len(f[1]) for f in FIGURES) + 2
    print(f"\n{'':{width}}" + "".join(f"{name:>12}" for name in names))
    for title in ("sync_s", "sync_cpu_s", "cpu_us_per_event", "events_per_s"):
        cells = [statistics.median(limit[title] for _, limit in rounds[name])
                 for name in names]
        print(f"{'limit ' + title:{width}}"
              + "".join(f"{format_number(c):>12}" for c in cells))
    for title, unit, get in FIGURES:
        cells = [figure(title, get, rounds[name]) for name in names]
        print(f"{title + ' ' + unit:{width}}"
              + "".join(f"{format_number(c):>12}" for c in cells))
    for name, meaning, *_ in o.variants:
        print(f"\n{name}: {meaning}", end="")
    print("\nlimit: receive_only, on the same bytes\n")


def print_lines(rounds, o):
    for name, *_ in o.variants:
        for title, unit in (("sync_s", "s"), ("sync_cpu_s", "s"),
                            ("cpu_us_per_event", "us"), ("events_per_s", "1/s")):
            value = statistics.median(limit[title] for _, limit in rounds[name])
            print(f"{name}.limit.{title} {value:.6g} {unit}")
        for title, unit, get in FIGURES:
            print(f"{name}.{title} {figure(title, get, rounds[name]):.6g} {unit}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--pods", type=int, default=100000)
    parser.add_argument("--object-bytes", type=int, default=5400)
    parser.add_argument("--events", type=int, default=100000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--settle-ms", type=int, default=5000,
                        help="steady memory is read this long after the last "
                             "event; the definition says 5000")
    parser.add_argument("--variants", default=",".join(v[0] for v in VARIANTS))
    parser.add_argument("--smoke", action="store_true",
                        help="small and quick: does it run at all")
    o = parser.parse_args()
    wanted = o.variants.split(",")
    unknown = set(wanted) - {v[0] for v in VARIANTS}
    if unknown:
        parser.error(f"no such variant: {', '.join(sorted(unknown))}")
    o.variants = [v for v in VARIANTS if v[0] in wanted]
    if o.smoke:
        o.pods, o.events, o.rounds, o.settle_ms = 1000, 1000, 1, 50
    if o.pods < 1 or o.events < 1 or o.rounds < 1:
        parser.error("--pods, --events and --rounds must be above 0")
    return o


def main():
    o = parse_arguments()
    build = o.build.resolve()
    with Simulator(build, o) as server:
        rounds = run_rounds(build, server, o)
    print("\n".join(describe(build, o)))
    print_table(rounds, o)
    print_lines(rounds, o)


if __name__ == "__main__":
    main()
