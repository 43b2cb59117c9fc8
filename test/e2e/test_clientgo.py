#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether what compares the library with client-go bites. Nothing here needs
Go: both executors are the library's, and one of the two traces is spoiled.

usage: test_clientgo.py KIN_EXECUTOR
"""

import contextlib
import io
import random
import re
import sys
import unittest

import clientgo
import clientgo_differences
import clientgo_scripts
from clientgo_compare import Comparer, Executor, ExecutorError

SCRIPTS = 16  # of each kind
OURS = Executor("kinformer", (sys.argv.pop(1),))
SPOILED = "spoiled"


def scripts_of(kind, count=SCRIPTS):
    first = list(clientgo_scripts.KINDS).index(kind)
    return [clientgo_scripts.make(5, first + i * len(clientgo_scripts.KINDS))
            for i in range(count)]


def comparer(theirs, listed=clientgo_differences.listed):
    return Comparer(theirs, OURS, listed, clientgo_differences.ENDS)


class Spoiling:
    """An executor whose traces spoil(script, trace) changes."""

    def __init__(self, spoil):
        self._spoil = spoil

    def run(self, scripts):
        traces = OURS.run(scripts)
        for script, trace in zip(scripts, traces):
            self._spoil(script, trace)
        return traces


class Deaf:
    """An executor that ignores an operation, which ends the other one."""

    def __init__(self, operation):
        self._operation = operation

    def run(self, scripts):
        traces = OURS.run([[line for line in script if line != self._operation]
                           for script in scripts])
        for script, trace in zip(scripts, traces):
            for i, line in enumerate(script):
                if line == self._operation:
                    trace.insert(i, "ignored")
        return traces


def one_line(kind, operation, seed):
    """Spoils, of each script, one line that is compared, if there is one."""
    rng = random.Random(f"{kind} {operation} {seed}")

    def spoil(script, trace):
        lines = [i for i in range(1, len(script))
                 if script[i].split(" ")[0] == operation
                 and clientgo_scripts.is_settled(script, i)]
        if lines:
            trace[rng.choice(lines)] = SPOILED
            spoil.count += 1
    spoil.count = 0
    return spoil


def after(trigger, victim):
    """Spoils each line of the operation `victim` after one of `trigger`."""
    def spoil(script, trace):
        is_triggered = False
        for i, line in enumerate(script):
            operation = line.split(" ")[0]
            if operation == victim and is_triggered:
                trace[i] = SPOILED
            is_triggered = is_triggered or operation == trigger
    return spoil


class Bites(unittest.TestCase):
    def test_equal_traces_are_equal(self):
        for kind in clientgo_scripts.KINDS:
            tested = comparer(OURS)
            self.assertEqual(tested.compare(scripts_of(kind)), [], kind)
            self.assertGreater(tested.compared, 0)
            self.assertEqual(tested.seen, {})

    def test_each_operation_of_each_kind(self):
        """A wrong result of any operation is found, in most scripts also where
        differences are listed."""
        for kind in clientgo_scripts.KINDS:
            scripts = scripts_of(kind)
            operations = {line.split(" ")[0] for script in scripts
                          for line in script[1:]}
            for operation in sorted(operations):
                spoil = one_line(kind, operation, 1)
                found = comparer(Spoiling(spoil)).compare(scripts)
                self.assertGreater(spoil.count, 0, (kind, operation))
                self.assertGreaterEqual(
                    len(found), spoil.count * 0.3, (kind, operation))
                for _, difference in found:
                    self.assertEqual(difference.theirs, SPOILED)

    def test_shortest_script(self):
        """Of a difference that needs two operations, these two are left."""
        for kind, trigger, victim, least in [
                ("store", "transact", "indexkeys", 3),
                ("expiring", "advance", "get", 3),
                ("push", "replace", "list", 3),
                ("mutation", "ondelete", "put", 3),
                ("fifo", "resync", "synced", 3),
                ("delta", "tombstone", "pop", 3),
                ("inorder", "delete", "popbatch", 3),
                ("heap", "putall", "list", 3),
                ("track", "upstream", "start", 3),
                ("lazy", "fail", "notify", 3), ("keys", "make", "split", 3),
                ("selector", "nothing", "match", 3),
                ("object", "object", "object", 3),
                ("informer", "start", "log", 4)]:  # and a wait
            tested = comparer(Spoiling(after(trigger, victim)),
                              lambda *_: None)
            found = tested.compare(scripts_of(kind))
            self.assertTrue(found, kind)
            short = tested.shrink(found[0][1])
            self.assertEqual(len(short.script), least, (kind, short.script))
            operations = [line.split(" ")[0] for line in short.script]
            self.assertIn(trigger, operations)
            self.assertEqual(operations[-1], victim)

    def test_order_of_lines_matters(self):
        def swap(_, trace):
            trace[1], trace[2] = trace[2], trace[1]
        found = comparer(Spoiling(swap)).compare(scripts_of("delta"))
        self.assertGreater(len(found), 3)

    def test_executor_that_dies(self):
        tested = comparer(Executor("client-go", ("false",)))
        scripts = scripts_of("heap", 2)
        found = tested.compare(scripts)
        self.assertEqual(len(found), len(scripts))
        self.assertTrue(all(d.is_end() for _, d in found))

    def test_operation_that_ends_the_program(self):
        """The lines before it are kept, the scripts after it are run, and the
        shortest script is the one operation."""
        scripts = scripts_of("heap", 4)
        scripts[1].insert(5, "nonsense")
        scripts[2].append("nonsense")
        tested = comparer(Deaf("nonsense"))
        found = tested.compare(scripts)
        self.assertEqual([i for i, _ in found], [1, 2])
        self.assertEqual(found[0][1].at, 5)
        self.assertEqual(tested.shrink(found[0][1]).script,
                         ["script heap", "nonsense"])

    def test_program_that_fails_in_the_end(self):
        """As a leak is found."""
        failing = Executor("client-go",
                           ("bash", "-c", '"$0"; exit 7', *OURS.command))
        with self.assertRaisesRegex(ExecutorError, "7"):
            failing.run(scripts_of("heap", 2))


class Listed(unittest.TestCase):
    def run_part(self, theirs, count):
        with contextlib.redirect_stdout(io.StringIO()):
            return clientgo.Run(theirs, OURS, 5, count).all()

    def test_each_has_a_reason_and_a_recogniser(self):
        names = {name for kind in clientgo_differences.RECOGNISERS.values()
                 for name, _ in kind}
        reasons = clientgo_differences.read_reasons()
        self.assertEqual(names, set(reasons))
        self.assertTrue(all(reasons.values()))

    def test_what_does_not_exist_has_to_leave_the_list(self):
        saved, clientgo.SCRIPTS = clientgo.SCRIPTS, 14
        try:
            problems = self.run_part(OURS, 14)
        finally:
            clientgo.SCRIPTS = saved
        listed = clientgo_differences.read_reasons()
        self.assertEqual(len(problems), len(listed))
        self.assertTrue(all("not met" in p for p in problems))

    def test_a_difference_is_told_once_with_its_seed(self):
        """For each kind of script, however many have it."""
        problems = self.run_part(Spoiling(one_line("any", "get", 1)), 140)
        kinds = {re.search("script ([a-z]+)", p)[1] for p in problems}
        self.assertLessEqual({"store", "heap", "lazy"}, kinds)
        self.assertEqual(len(problems), len(kinds))
        for problem in problems:
            self.assertTrue(problem.startswith("seed 5, script "))
            self.assertIn(SPOILED, problem)

    def test_recognisers_tell_apart(self):
        """Something close to what is listed is not taken for it."""
        rows = [
            (["script heap", "putnew a 1"], "ok", "error"),
            (["script store", "deletekey a"], "error", "absent"),
            (["script expiring ttl=0", "put a@1@u1@", "version"], "1", "%"),
            (["script keys", "split a/b"], "a b", "error"),
            (["script keys", "split /a"], "error", "% a"),
            (["script object", "object %7B%22kind%22:%22A%22%7D a"], "error",
             "% a % 1"),
            (["script delta", "pop ok"], "ok true Deleted:(a:a@1@u1@)",
             "ok true Deleted:(a:-)"),
            (["script fifo", "add a@1@u1@", "pop ok"], "ok false a@1@u1@",
             "empty"),
            (["script informer", "start", "run 500000", "log 1"],
             "a|+a@11@u1@!", "a|+a@11@u1@"),
            (["script informer", "start", "drop", "run 500000", "log 1"],
             "a|~a@11@u1@>a@13@u1@", "a|~a@11@u1@>a@12@u1@"),
            (["script informer", "start", "drop", "run 500000", "log 1"],
             "a|-a@11@u1@?", ""),
            (["script mutation max=2", "mutation a@1@u1@", "get a"],
             "a@1@u1@", "none"),
        ]
        for script, theirs, ours in rows:
            at = len(script) - 1
            before = ["ok"] * at
            self.assertIsNone(clientgo_differences.listed(
                script, at, theirs, ours, before + [theirs], before + [ours]),
                (script, theirs, ours))


if __name__ == "__main__":
    unittest.main()
