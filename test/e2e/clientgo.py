# SPDX-License-Identifier: MIT
"""Holds the library against client-go: random scripts are carried out on both,
in virtual time, and what comes of each operation has to be equal, but for what
clientgo-differences.txt lists.

Environment: CLIENT_GO_SCRIPTS, how many (SCRIPTS); CLIENT_GO_SEED, of which
run (1). A script is made of these two numbers and nothing else.
"""

import os
import pathlib
import subprocess
import time

import clientgo_differences
import clientgo_scripts
from clientgo_compare import Comparer, Executor, ExecutorError

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = 7000  # half a minute
AT_ONCE = 700
MOST_SHOWN = 10


def build_executor(cache):
    """Builds the executor of client-go; nothing is done if nothing changed."""
    program = cache / "clientgo-executor"
    cache.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "test", "-c", "-o", str(program), "."],
                   cwd=HERE / "clientgo", check=True,
                   stdin=subprocess.DEVNULL,
                   env={**os.environ, "CGO_ENABLED": "0"})
    return Executor("client-go", (str(program), "-test.run", "TestExecute",
                                  "-test.timeout", "0"), writes_to_3=True)


class Run:
    """The scripts of one seed, compared."""

    def __init__(self, theirs, ours, seed, count):
        self._seed = seed
        self._count = count
        self._comparer = Comparer(theirs, ours, clientgo_differences.listed,
                                  clientgo_differences.ENDS)
        self._different = 0
        self._told = {}  # (kind, operation): how often

    def all(self):
        """Returns the problems, as texts."""
        problems = []
        for first in range(0, self._count, AT_ONCE):
            numbers = range(first, min(first + AT_ONCE, self._count))
            scripts = [clientgo_scripts.make(self._seed, n) for n in numbers]
            for i, found in self._comparer.compare(scripts):
                self._different += 1
                problems += self._tell(numbers[i], found)
        print(f"       {self._count} scripts of seed {self._seed}, "
              f"{self._comparer.compared} operations, {self._different} "
              "scripts with a difference that is not listed")
        return problems + self._check_list()

    def _tell(self, number, found):
        """One of each kind and operation is told, and made short."""
        what = (found.script[0].split(" ")[1],
                found.script[found.at].split(" ")[0])
        self._told[what] = self._told.get(what, 0) + 1
        if self._told[what] > 1 or len(self._told) > MOST_SHOWN:
            return []
        seen = dict(self._comparer.seen)
        short = self._comparer.shrink(found)
        self._comparer.seen = seen
        return [f"seed {self._seed}, script {number}, shortened:\n{short}"]

    def _check_list(self):
        reasons = clientgo_differences.read_reasons()
        seen = self._comparer.seen
        for name in sorted(seen):
            print(f"       {seen[name]:6} times: {name}")
        problems = [f"{name}: it has no reason in the list"
                    for name in seen if name not in reasons]
        if self._count >= SCRIPTS:
            problems += [f"{name}: it is listed and was not met"
                         for name in reasons if name not in seen]
        return problems


def compare(build_dir, cache):
    """Runs the part; returns (passed, failed, skipped)."""
    started = time.monotonic()
    ours = Executor("kinformer", (str(build_dir / "test/e2e/kin-executor"),))
    seed = int(os.environ.get("CLIENT_GO_SEED", "1"))
    count = int(os.environ.get("CLIENT_GO_SCRIPTS", str(SCRIPTS)))
    try:
        problems = Run(build_executor(cache), ours, seed, count).all()
    except (ExecutorError, subprocess.CalledProcessError) as error:
        problems = [str(error)]
    state = "FAILED" if problems else "ok    "
    print(f"{state} against-client-go ({time.monotonic() - started:.1f} s)",
          flush=True)
    for problem in problems:
        print("       " + problem.replace("\n", "\n       "))
    return (0, 1, 0) if problems else (1, 0, 0)
