#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants small mistakes in the library, one at a time, and counts how many of
them the unit, flow and model tests notice.

usage: mutants.py BUILD COVER [--sample N] [--seed S] [--jobs J]
                  [--tests NAME,...] [PATH...]

Each PATH is a file or folder of lib/; without one the core is taken. A mistake
that does not compile, or compiles to the same code, is none and is drawn again.
Survivors that survivors.txt explains are counted apart. Prints a line for each
mistake, then the survivors, and `N passed, N failed`: the mistakes that were
noticed or are explained, and the others.
"""

import argparse
import concurrent.futures
import itertools
import os
import pathlib
import random
import sys
import tempfile
import threading

import build as building
import cover
import points
import suite

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORE = ["lib/listwatch", "lib/feed", "lib/check", "lib/informer",
        "lib/dispatch", "lib/queue", "lib/cache", "lib/store", "lib/decode"]
EXPLAINED = pathlib.Path(__file__).with_name("survivors.txt")
# A mistake may make a test slower without breaking it: what takes this many
# times as long, and as many seconds more, counts as noticed.
SLOWER = 5
SLOWER_S = 10


def main():
    arguments = parse_arguments()
    hunt = Hunt(arguments)
    hunt.measure()
    noticed, survivors = hunt.run()
    reasons = explained()
    open_ones = [p for p in survivors if p.name() not in reasons]
    print(f"\n{noticed + len(survivors)} mistakes: {noticed} noticed, "
          f"{len(survivors) - len(open_ones)} explained, "
          f"{len(open_ones)} survive")
    for point in open_ones:
        print(f"survives: line {point.line}: {point.name()}")
    print(f"{noticed + len(survivors) - len(open_ones)} passed, "
          f"{len(open_ones)} failed")
    return 1 if open_ones else 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("cover", type=pathlib.Path)
    parser.add_argument("--sample", type=int, default=300, metavar="N",
                        help="how many mistakes to plant (300)")
    parser.add_argument("--seed", type=int, default=1, metavar="S",
                        help="which ones (1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="mistakes tried at the same time")
    parser.add_argument("--tests", type=lambda text: text.split(","),
                        default=[], metavar="NAME,...",
                        help="count only what these tests notice")
    parser.add_argument("paths", nargs="*", metavar="PATH")
    return parser.parse_intermixed_args()


def explained():
    """The names of mistakes that no test can notice, with their reasons."""
    reasons = {}
    for line in EXPLAINED.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, separator, reason = line.partition(" | ")
            if not separator or not reason.strip():
                raise SystemExit(f"survivors.txt: no reason: {line}")
            reasons[name.strip()] = reason.strip()
    return reasons


class Hunt:
    def __init__(self, arguments):
        self._arguments = arguments
        self._build = arguments.build.resolve()
        self._builder = building.Builder(self._build, ROOT)
        self._tests = {test.name: test for test in
                       suite.tests_of(self._build, arguments.tests)}
        self._seconds = {}
        self._print = threading.Lock()

    def measure(self):
        """Which tests reach which lines, and how long each takes unchanged."""
        print("cover: running every test once", flush=True)
        self._reached = cover.map_of(self._arguments.cover.resolve(), ROOT,
                                     self._arguments.jobs,
                                     self._arguments.tests)
        with concurrent.futures.ThreadPoolExecutor(self._arguments.jobs) as pool:
            results = pool.map(lambda test: (test.name, suite.run(
                test, self._build, cover.BASE_TIMEOUT_S)),
                self._tests.values())
            for name, (passed, seconds) in results:
                if passed:
                    self._seconds[name] = seconds
                else:
                    print(f"  {name}: fails without any mistake; left out",
                          flush=True)

    def run(self):
        wanted = self._arguments.sample
        noticed, survivors = 0, []
        with concurrent.futures.ThreadPoolExecutor(self._arguments.jobs) as pool:
            drawn = self._drawn()
            while noticed + len(survivors) < wanted:
                missing = wanted - noticed - len(survivors)
                batch = list(itertools.islice(drawn, missing))
                if not batch:
                    break
                for point, verdict in pool.map(self._try, batch):
                    noticed += verdict == "noticed"
                    if verdict == "survives":
                        survivors.append(point)
        return noticed, survivors

    def _drawn(self):
        """The points in an order that the seed determines, a kind in turn."""
        found = []
        for path in self._files():
            text = (ROOT / path).read_text(encoding="utf-8")
            found += points.find(path, text)
        rng = random.Random(self._arguments.seed)
        rng.shuffle(found)
        by_kind = [[p for p in found if p.kind == kind]
                   for kind in points.KINDS]
        for turn in itertools.zip_longest(*by_kind):
            yield from (point for point in turn if point is not None)

    def _files(self):
        for folder in self._arguments.paths or CORE:
            path = pathlib.Path(folder)
            files = sorted((ROOT / path).rglob("*.c")) \
                if (ROOT / path).is_dir() else [ROOT / path]
            for file in files:
                relative = str(file.relative_to(ROOT))
                if self._builder.has(relative):
                    yield relative

    def _try(self, point):
        verdict, by = self._verdict(point)
        with self._print:
            print(f"{verdict:9} {point.path}:{point.line} {point.kind}: "
                  f"{point.name().partition(': ')[2]}"
                  + (f" [{by}]" if by else ""), flush=True)
        return point, verdict

    def _verdict(self, point):
        text = (ROOT / point.path).read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            source = directory / pathlib.Path(point.path).name
            source.write_text(point.apply(text), encoding="utf-8")
            if not self._changes_code(point, source, directory):
                return "none", ""
            changed = directory / "changed.o"
            if not self._builder.compile(point.path, source, changed):
                return "none", ""
            library = self._builder.link(point.path, changed, directory)
            for test in self._tests_for(point):
                passed, _ = suite.run(
                    self._tests[test], self._build,
                    self._seconds[test] * SLOWER + SLOWER_S,
                    {"LD_PRELOAD": str(library)}.items())
                if not passed:
                    return "noticed", test
        return "survives", ""

    def _changes_code(self, point, source, directory):
        """Whether the mistake compiles, and to other code than without it."""
        objects = []
        for name, file in (("a.o", ROOT / point.path), ("b.o", source)):
            # From the same place, so that no path makes a difference.
            same = directory / "same" / source.name
            same.parent.mkdir(exist_ok=True)
            same.write_bytes(file.read_bytes())
            if not self._builder.compile(point.path, same, directory / name,
                                         ["-g0", "-DNDEBUG"]):
                return False
            objects.append((directory / name).read_bytes())
        return objects[0] != objects[1]

    def _tests_for(self, point):
        """Those that execute the line: first what bears the file's name."""
        stem = pathlib.Path(point.path).stem
        names = [name for name in self._reached.get(
            f"{point.path}:{point.line}", []) if name in self._seconds]
        return sorted(names, key=lambda name: (
            not name.startswith(stem), self._seconds[name]))


if __name__ == "__main__":
    sys.exit(main())
