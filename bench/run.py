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
import contextlib
import datetime
import json
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
from typing import NamedTuple

import simulator
from simulator import Simulator

MB = 1e6


class Variant(NamedTuple):
    name: str
    meaning: str
    kin: list
    limit: list
    has_tls: bool = False


VARIANTS = [
    Variant("kept", "everything", ["--keep-all"], []),
    Variant("alone", "everything, memory taken by the loop's thread",
            ["--keep-all", "--no-memory-helper"], []),
    Variant("bounded", "everything, with a bound that is never reached",
            ["--keep-all", "--max-bytes", str(64 << 30)], []),
    Variant("default", "without managedFields", [], []),
    Variant("metadata", "metadata only", ["--metadata-only"],
            ["--metadata-only"]),
    Variant("tls-kept", "everything, over TLS", ["--keep-all"], [], True),
    Variant("tls-default", "without managedFields, over TLS", [], [], True),
]

# Of receive_only.
LIMITS = [("sync_s", "s"), ("sync_cpu_s", "s"), ("cpu_us_per_event", "us"),
          ("events_per_s", "1/s")]

# Column title, unit of the output line, and how to get it from a round: `k` is
# kin_bench's result and `r` the receive_only's before it.
FIGURES = [
    ("sync_s", "s", lambda k, r: k["sync_s"]),
    ("sync_cpu_s", "s", lambda k, r: k["sync_cpu_s"]),
    ("sync_thread_cpu_s", "s", lambda k, r: k["sync_thread_cpu_s"]),
    ("sync_thread_faults", "faults", lambda k, r: k["sync_thread_faults"]),
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

# The same of --more, whose first part has no limit to compare with.
MORE_FIGURES = [
    ("relist_s", "s", lambda k, r: k["relist_s"]),
    ("relist_cpu_s", "s", lambda k, r: k["relist_cpu_s"]),
    ("relist_peak_ratio", "x",
     lambda k, r: k["relist_peak_rss"] / k["steady_rss"]),
    ("relist_steady_ratio", "x",
     lambda k, r: k["relist_steady_rss"] / k["steady_rss"]),
    ("iteration_worst_relist", "us", lambda k, r: k["iteration_worst_relist_us"]),
    ("late_s", "s", lambda k, r: k["late_s"]),
    ("late_cpu_s", "s", lambda k, r: k["late_cpu_s"]),
    ("iteration_worst_late", "us", lambda k, r: k["iteration_worst_late_us"]),
    ("index_s", "s", lambda k, r: k["index_s"]),
    ("index_cpu_s", "s", lambda k, r: k["index_cpu_s"]),
    ("iteration_worst_index", "us", lambda k, r: k["iteration_worst_index_us"]),
]
RATE_FIGURES = [
    ("limit.event_cpu", "us", lambda k, r: r["cpu_us_per_event"]),
    ("limit.cpu_share", "%",
     lambda k, r: r["cpu_us_per_event"] * r["events_per_s"] / 1e4),
    ("events_per_s", "1/s", lambda k, r: k["events_per_s"]),
    ("event_cpu", "us", lambda k, r: k["cpu_us_per_event"]),
    ("cpu_share", "%",
     lambda k, r: k["cpu_us_per_event"] * k["events_per_s"] / 1e4),
    ("latency_p50", "us", lambda k, r: k["latency_p50_us"]),
    ("latency_p99", "us", lambda k, r: k["latency_p99_us"]),
    ("latency_worst", "us", lambda k, r: k["latency_worst_us"]),
]
RATES = [10000, 50000]  # events a second
DELAYS = [0, 1]  # ms, of kin_client_options.watch_read_delay_ms


def is_worst(name):
    """For these the worst round counts, not the median."""
    return name.startswith("iteration_worst") or name in (
        "client_longest", "latency_worst")


# ---- measuring


def measure(argv, on_settled=None):
    """Runs a program that prints one JSON object, and before it a line for each
    thing it wants done."""
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as process:
        line = process.stdout.readline()
        if line == b"settled\n" and on_settled:
            on_settled()
            line = process.stdout.readline()
    if process.returncode != 0:
        raise SystemExit(f"run.py: exit status {process.returncode} of "
                         f"{' '.join(argv)}")
    return json.loads(line)


def kin_bench(build, server, o, events, arguments, on_settled=None):
    return measure([str(build / "bench/kin_bench"), "--server", server.url,
                    "--objects", str(o.pods), "--events", str(events),
                    "--settle-ms", str(o.settle_ms), *arguments], on_settled)


def receive_only(build, server, o, arguments):
    return measure([str(build / "bench/receive_only"), "--port", server.port,
                    "--events", str(o.events), *arguments])


def say(text):
    print(text, file=sys.stderr, flush=True)


def run_rounds(build, servers, certificate, o):
    """Returns variant name -> list of (kin_bench, receive_only) results."""
    rounds = {variant.name: [] for variant in o.variants}
    for number in range(o.rounds):
        for v in o.variants:
            say(f"round {number + 1} of {o.rounds}: {v.name}")
            server = servers[v.has_tls]
            tls = ["--ca", certificate.certificate] if v.has_tls else []
            limit = receive_only(build, server, o,
                                 [*v.limit, *(["--tls"] if tls else []), *tls])
            kin = kin_bench(build, server, o, o.events, [*v.kin, *tls])
            rounds[v.name].append((kin, limit))
    return rounds


def run_variants(build, o):
    with contextlib.ExitStack() as stack:
        servers = {}
        certificate = None
        for has_tls in {variant.has_tls for variant in o.variants}:
            if has_tls:
                certificate = stack.enter_context(
                    contextlib.closing(simulator.Certificate()))
            options = ["--replay-events", str(o.events)]
            if not has_tls and any(v.name == "metadata" for v in o.variants):
                options.append("--replay-metadata")
            servers[has_tls] = stack.enter_context(Simulator(
                build, o, *options,
                certificate=certificate if has_tls else None))
        return run_rounds(build, servers, certificate, o)


def run_more(build, o):
    """Returns name -> (figures, list of (kin_bench, receive_only) results)."""
    more = []
    with Simulator(build, o, "--replay-events", "1", "--replay-changed",
                   "1") as server:
        for number in range(o.rounds):
            say(f"round {number + 1} of {o.rounds}: more")
            server.control("replay-reset")
            more.append((kin_bench(
                build, server, o, 1, ["--more"],
                lambda: server.control("expire-watches")), None))
    found = {"more": (MORE_FIGURES, more)}
    for rate in RATES:
        results = {delay: [] for delay in DELAYS}
        with Simulator(build, o, "--replay-events", str(o.events),
                       "--replay-rate", str(rate)) as server:
            for number in range(o.rounds):
                say(f"round {number + 1} of {o.rounds}: {rate} events/s")
                limit = receive_only(build, server, o, [])
                for delay, rounds in results.items():
                    rounds.append((kin_bench(
                        build, server, o, o.events,
                        ["--latency", "--read-delay-ms", str(delay)]), limit))
        for delay, rounds in results.items():
            name = f"rate-{rate}" + (f"-delay-{delay}ms" if delay else "")
            found[name] = (RATE_FIGURES, rounds)
    return found


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


def describe(build, rounds, o):
    options = build_options(build)
    cpus = subprocess.run(["nproc"], stdout=subprocess.PIPE, check=False)
    ciphers = {limit["cipher"] for results in rounds.values()
               for _, limit in results} - {"plain"}
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
    if ciphers:
        lines.append(f"tls         {', '.join(sorted(ciphers))}")
    if options.get("b_sanitize", "none") != "none":
        lines.append("WARNING     built with sanitizers: the figures mean nothing")
    return lines


# ---- the result


def figure(name, get, results):
    values = [get(kin, limit) for kin, limit in results]
    return max(values) if is_worst(name) else statistics.median(values)


def format_number(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


def print_table(rounds, o):
    names = [v.name for v in o.variants]
    width = max(len(f[0]) + len(f[1]) for f in FIGURES) + 2
    print(f"\n{'':{width}}" + "".join(f"{name:>12}" for name in names))
    for title, _ in LIMITS:
        cells = [statistics.median(limit[title] for _, limit in rounds[name])
                 for name in names]
        print(f"{'limit ' + title:{width}}"
              + "".join(f"{format_number(c):>12}" for c in cells))
    for title, unit, get in FIGURES:
        cells = [figure(title, get, rounds[name]) for name in names]
        print(f"{title + ' ' + unit:{width}}"
              + "".join(f"{format_number(c):>12}" for c in cells))
    for v in o.variants:
        print(f"\n{v.name}: {v.meaning}", end="")
    print("\nlimit: receive_only, on the same bytes\n")


def print_lines(rounds, o):
    for v in o.variants:
        for title, unit in LIMITS:
            value = statistics.median(l[title] for _, l in rounds[v.name])
            print(f"{v.name}.limit.{title} {value:.6g} {unit}")
        for title, unit, get in FIGURES:
            value = figure(title, get, rounds[v.name])
            print(f"{v.name}.{title} {value:.6g} {unit}")


def print_more(more):
    for name, (figures, results) in more.items():
        for title, unit, get in figures:
            value = figure(title, get, results)
            print(f"{name}.{title} {value:.6g} {unit}")


# ---- the command line


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
    parser.add_argument("--variants", default=",".join(v.name for v in VARIANTS),
                        help="default: %(default)s; empty: none")
    parser.add_argument("--more", action="store_true",
                        help="also a relist, a late handler, a new index, and "
                             "latency at given rates")
    parser.add_argument("--iterations", action="store_true",
                        help="also the longest iterations of the host's loop, "
                             "over sizes and numbers of everything")
    parser.add_argument("--smoke", action="store_true",
                        help="everything, small and quick: does it run at all")
    o = parser.parse_args()
    wanted = o.variants.split(",") if o.variants else []
    unknown = set(wanted) - {v.name for v in VARIANTS}
    if unknown:
        parser.error(f"no such variant: {', '.join(sorted(unknown))}")
    o.variants = [v for v in VARIANTS if v.name in wanted]
    if o.smoke:
        o.pods, o.events, o.rounds, o.settle_ms = 1000, 1000, 1, 50
        o.more = True
    if o.pods < 1 or o.events < 1 or o.rounds < 1:
        parser.error("--pods, --events and --rounds must be above 0")
    return o


def leave_out_tls(build, o):
    """Drops variants that cannot be measured here, with a word."""
    why = (None if not any(v.has_tls for v in o.variants)
           else "this kin-apisim has no TLS" if not simulator.has_tls(build)
           else None if shutil.which("openssl")
           else "there is no openssl command to make a certificate with")
    if why:
        left_out = [v.name for v in o.variants if v.has_tls]
        print(f"left out: {', '.join(left_out)}, because {why}")
        o.variants = [v for v in o.variants if not v.has_tls]


def run_iterations(build, o):
    """The table of bench_iteration: the host's own measure, least of five.
    Then the events of informers beside a large one."""
    small = ["2000", "50", "2", "3", "2"] if o.smoke else ["5"]
    subprocess.run([build / "bench" / "bench_iteration", *small], check=True)
    small = ["2000", "540", "3", "2000"] if o.smoke else []
    subprocess.run([build / "bench" / "bench_fairness", *small], check=True)


def main():
    o = parse_arguments()
    build = o.build.resolve()
    leave_out_tls(build, o)
    rounds = run_variants(build, o) if o.variants else {}
    more = run_more(build, o) if o.more else {}
    print("\n".join(describe(build, rounds, o)))
    if rounds:
        print_table(rounds, o)
    print_lines(rounds, o)
    print_more(more)
    if o.iterations or o.smoke:
        sys.stdout.flush()
        run_iterations(build, o)


if __name__ == "__main__":
    main()
