#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs fuzz targets that are linked with libFuzzer, one on each processor.

usage: run.py BUILD_DIR [TARGET...] [--seconds N] [--seed S] [--list]
              [--minimise] [--jobs N]

Growing corpora and finds are kept in .cache/fuzz; the committed corpora are
read only, but for --minimise, which writes them anew. Ends with one line
`N passed, N failed`.
"""

import argparse
import base64
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = ROOT / "test/fuzz"
CACHE = ROOT / ".cache/fuzz"
RSS_MB = 2048
INPUT_SECONDS = 20  # one input may take
CORPUS_BYTES = 32 * 1024  # of one target, committed
CORPUS_FILES = 150
SUMMARY_BYTES = 2000  # of the lines before a fault
INPUT_LINE = 280  # characters: .ci/run keeps 30 lines of 300
OPTIONS = (
    "-entropic=0",  # more than half of the time, with inputs as quick as ours
    "-max_len=3000",
    f"-rss_limit_mb={RSS_MB}",
    f"-timeout={INPUT_SECONDS}",
)


def targets_of(build):
    found = sorted(p.name.removeprefix("fuzz_")
                   for p in (build / "test/fuzz").glob("fuzz_*")
                   if p.is_file() and os.access(p, os.X_OK))
    if not found:
        sys.exit(f"run.py: no fuzz targets in {build}")
    return found


def environment():
    env = dict(os.environ)
    env["ASAN_OPTIONS"] = ("detect_leaks=1:allocator_may_return_null=1"
                           ":detect_stack_use_after_return=1")
    env["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1"
    return env


def folders(target):
    """The growing corpus, and the committed one if there is any."""
    growing = CACHE / "corpus" / target
    growing.mkdir(parents=True, exist_ok=True)
    committed = SOURCES / "corpus" / target
    return [growing] + ([committed] if committed.is_dir() else [])


def dictionary(target):
    own = SOURCES / "dict" / f"{target}.dict"
    return own if own.exists() else SOURCES / "dict/json.dict"


def number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def summary(program, output):
    """The last lines of a failure. A log that keeps only its end has all that
    it takes to see the find again on another machine."""
    lines = []
    before_fault = re.search(r"((?:^[^#\n].*\n){0,3})^==\d+== ?ERROR.*", output,
                             re.MULTILINE)
    if before_fault:
        lines += before_fault.group(0)[-SUMMARY_BYTES:].splitlines()
    lines += re.findall(r"^ +#\d+ .* \S+/(?:test|lib|tools)/\S+$", output,
                        re.MULTILINE)[:6]
    find = re.search(r"written to (\S+)", output)
    if find:
        lines.append("the input, as base64:")
        text = base64.b64encode(pathlib.Path(find.group(1)).read_bytes())
        lines += textwrap.wrap(text.decode(), INPUT_LINE)
        lines.append(f"once more: {program} {find.group(1)}")
    return lines


def run(build, target, seconds, seed):
    """Whether nothing was found, and the lines to end with if not."""
    finds = CACHE / "finds"
    finds.mkdir(parents=True, exist_ok=True)
    command = [build / "test/fuzz" / f"fuzz_{target}", *OPTIONS,
               f"-max_total_time={seconds}", f"-seed={seed}",
               "-print_final_stats=1",
               f"-artifact_prefix={finds}/{target}-",
               f"-dict={dictionary(target)}", *folders(target)]
    result = subprocess.run(command, env=environment(), text=True,
                            errors="replace", stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    runs = number(r"number_of_executed_units: (\d+)", result.stdout)
    edges = number(r"cov: (\d+)", result.stdout)
    is_good = result.returncode == 0 and runs > 0
    lines = [f"{target:10} {runs:9} executions {edges:6} edges "
             f"{'ok' if is_good else 'FAILED'}"]
    last_lines = []
    if not is_good:
        lines += result.stdout.splitlines()[-80:]
        last_lines = [f"{target}:", *summary(command[0], result.stdout)]
    print("\n".join(lines), flush=True)
    return is_good, last_lines


def keep_small(folder):
    """Drops inputs of all sizes until the rest is within the bounds."""
    inputs = sorted(folder.iterdir(), key=lambda p: (p.stat().st_size, p.name))
    total = sum(p.stat().st_size for p in inputs)
    excess = max(total / CORPUS_BYTES, len(inputs) / CORPUS_FILES)
    kept = {int(i * excess) for i in range(len(inputs))} if excess > 1 else None
    for i, path in enumerate(inputs):
        if kept is not None and i not in kept:
            path.unlink()


def minimise(build, target):
    """The committed corpus becomes the fewest inputs that reach as much."""
    committed = SOURCES / "corpus" / target
    with tempfile.TemporaryDirectory() as scratch:
        merged = pathlib.Path(scratch) / "merged"
        merged.mkdir()
        command = [build / "test/fuzz" / f"fuzz_{target}", *OPTIONS,
                   "-merge=1", merged, *folders(target)]
        subprocess.run(command, env=environment(), check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        keep_small(merged)
        committed.mkdir(parents=True, exist_ok=True)
        for path in committed.iterdir():
            if not path.name.startswith("find-"):  # those stay
                path.unlink()
        for path in merged.iterdir():
            shutil.copyfile(path, committed / path.name)
    total = sum(p.stat().st_size for p in committed.iterdir())
    print(f"{target:10} {len(list(committed.iterdir())):5} inputs "
          f"{total:7} bytes", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="./dev fuzz")
    parser.add_argument("build", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=5,
                        help="for each target (5)")
    parser.add_argument("--seed", type=int, default=0,
                        help="of what is tried; 0: another one each time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1,
                        help="targets that run at a time (one a processor)")
    parser.add_argument("--list", action="store_true", help="name the targets")
    parser.add_argument("--minimise", action="store_true",
                        help="write the committed corpora anew")
    options = parser.parse_args()
    build = options.build.resolve()
    known = targets_of(build)
    unknown = [t for t in options.targets if t not in known]
    if unknown:
        parser.error(f"no target {unknown[0]}; there are {', '.join(known)}")
    targets = options.targets or known
    if options.list:
        print("\n".join(known))
        return 0
    if options.minimise:
        for target in targets:
            minimise(build, target)
        return 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(
            lambda t: run(build, t, options.seconds, options.seed), targets))
    failed = 0
    for is_good, last_lines in results:
        failed += not is_good
        print("".join(line + "\n" for line in last_lines), end="")
    print(f"{len(targets) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
