# SPDX-License-Identifier: MIT
"""Runs scripts on two executors, compares their traces, and makes the script of
a difference as short as it can be."""

import concurrent.futures
import dataclasses
import subprocess
import tempfile

import clientgo_scripts

ENDED = "the program has ended"
NOTHING = "(nothing)"


class ExecutorError(Exception):
    """An executor has failed, and no script of its own is to blame."""


@dataclasses.dataclass(frozen=True)
class Executor:
    """A program that reads scripts and writes traces, a line at a time."""
    name: str
    command: tuple
    writes_to_3: bool = False

    def run(self, scripts):
        """The traces of the scripts, each a list with a line for each line of
        the script. That of a script that ends the program says so in its last
        line; the program goes on with the next one."""
        traces = []
        while len(traces) < len(scripts):
            complete, begun, problem = self._run(scripts[len(traces):])
            traces += complete
            if problem is not None:
                if len(traces) == len(scripts):
                    raise ExecutorError(problem)
                traces.append([*begun, problem])
        return traces

    def _run(self, scripts):
        """(traces of whole scripts, what there is of the next, problem)"""
        text = "".join("\n".join(s) + "\nend\n" for s in scripts).encode()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
            command = (["bash", "-c", '"$@" 3>&1 >&2', "-", *self.command]
                       if self.writes_to_3 else list(self.command))
            done = subprocess.run(command, input=text, stdout=out, stderr=said,
                                  check=False)
            out.seek(0)
            traces, begun = _split(out.read().decode())
            if done.returncode == 0 and len(traces) == len(scripts):
                return traces, [], None
            said.seek(0)
            text = said.read().decode(errors="replace")
            return traces, begun, (
                f"{ENDED} ({self.name}, {done.returncode}): {text}")


def _split(text):
    traces = []
    current = []
    for line in text.split("\n")[:-1]:
        if line == "end":
            traces.append(current)
            current = []
        else:
            current.append(line)
    return traces, current


@dataclasses.dataclass(frozen=True)
class Difference:
    script: list
    at: int  # the number of the line
    theirs: str
    ours: str

    def is_end(self):
        """Whether a program has ended there."""
        return any(t.startswith(ENDED) for t in (self.theirs, self.ours))

    def __str__(self):
        return "\n".join([
            *(f"    {line}" for line in self.script[:self.at + 1]),
            f"client-go: {self.theirs}", f"kinformer: {self.ours}"])


class Comparer:
    """Compares two executors; what is in `listed` is no difference.

    listed(script, at, theirs, ours) names the listed difference that a line is,
    or None. Of those in `ends` the rest of the script is not compared, because
    the two have different contents from there on."""

    def __init__(self, theirs, ours, listed, ends=frozenset()):
        self._theirs = theirs
        self._ours = ours
        self._listed = listed
        self._ends = ends
        self.seen = {}  # by name, how often
        self.compared = 0  # operations

    def compare(self, scripts):
        """The differences, at most one a script, as (index, Difference)."""
        found = []
        with concurrent.futures.ThreadPoolExecutor() as threads:
            both = zip(*threads.map(lambda e: e.run(scripts),
                                    (self._theirs, self._ours)))
        for i, (theirs, ours) in enumerate(both):
            difference = self._first(scripts[i], theirs, ours)
            if difference is not None:
                found.append((i, difference))
        return found

    def _first(self, script, theirs, ours):
        for at in range(1, len(script)):
            mine = (ours[at:] or ours[-1:])[0]
            other = (theirs[at:] or theirs[-1:])[0]  # why there is no more
            self.compared += 1
            if mine == other or not clientgo_scripts.is_settled(script, at):
                continue
            name = self._listed(script, at, other, mine, theirs, ours)
            if name is None:
                return Difference(script[:at + 1], at, other, mine)
            self.seen[name] = self.seen.get(name, 0) + 1
            if name in self._ends:
                return None
        # What comes after the last line: that a program has ended in the end.
        if len(theirs) != len(ours):
            return Difference(script, len(script) - 1,
                              "".join(theirs[len(script):]) or NOTHING,
                              "".join(ours[len(script):]) or NOTHING)
        return None

    def shrink(self, difference):
        """The shortest script found that has a difference of the same kind of
        operation."""
        operation = difference.script[difference.at].split(" ")[0]
        count = 2
        while len(difference.script) > 2:
            size = max(1, (len(difference.script) - 1) // count)
            shorter = self._without_a_part(difference, size, operation)
            if shorter is not None:
                difference = shorter
                count = max(count - 1, 2)
            elif size == 1:
                break
            else:
                count *= 2
        return difference

    def _without_a_part(self, difference, size, operation):
        script = difference.script
        candidates = [script[:at] + script[at + size:]
                      for at in range(1, len(script), size)]
        for _, found in self.compare(candidates):
            if found.is_end() == difference.is_end() and (
                    found.is_end()
                    or found.script[found.at].split(" ")[0] == operation):
                return found
        return None
