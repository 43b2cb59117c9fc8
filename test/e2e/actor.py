# SPDX-License-Identifier: MIT
"""Runs actor.c: an informer that takes commands while it runs."""

import json

from fold import Fold
from kin import Failure, Kinformer

# In the place of the error line that is the reason of a list.
ASKED_FOR = {"asked": "for"}


class ActorFold(Fold):
    """Folds an actor's lines; keeps those that no Fold knows."""

    def __init__(self, **options):
        super().__init__(**options)
        self.done = []  # one for each command
        self.warnings = []
        self.is_clearing = False  # `cleared` deletes are legal
        self._removed = set()

    def feed(self, raw):
        line = self._of_actor(raw)
        if line:
            self._line += 1
            {"done": self.done, "warning": self.warnings}[
                line["event"]].append(line)
            return line
        return super().feed(raw)

    @staticmethod
    def _of_actor(raw):
        try:
            line = json.loads(raw)
        except ValueError:
            return None
        known = isinstance(line, dict) and line.get("event") in ("done",
                                                                 "warning")
        return line if known else None

    def scope_added(self, namespace):
        """Its first list is told as `relisted`, if the others have synced."""
        self._namespaces = sorted({*self._namespaces, namespace})
        self._lost[namespace] = ASKED_FOR

    def scope_removed(self, namespace):
        self._removed.add(namespace)

    def relist_expected(self, namespace=""):
        """Something else than an error line is a reason to list again."""
        self._lost[namespace] = ASKED_FOR

    def _delete(self, line):
        super()._delete(line)
        space = line["key"].split("/")[0]
        if line["reason"] == "scope_removed" and space not in self._removed:
            self._violation(f"{line['key']}: its namespace was not removed")
        if line["reason"] == "cleared" and not self.is_clearing:
            self._violation(f"{line['key']}: nothing was to be cleared")


class Actor(Kinformer):
    """A context manager around one run of the actor."""

    takes_commands = True

    def command(self, *words, wait=True):
        """Carries a command out; returns its `done` line, if it is to be
        waited for."""
        fold = self.fold
        with self._changed:
            number = len(fold.done)
        self._process.write(" ".join(map(str, words)) + "\n")
        if not wait:
            return None
        self.wait_for(f"end of {words}", lambda _: len(fold.done) > number)
        return fold.done[number]

    def expect_done(self, *words, code=""):
        """Carries a command out that has to end so."""
        line = self.command(*words)
        if line["code"] != code:
            raise Failure(f"{words} ended with {line}, expected {code!r}\n"
                          f"{self.describe()}")
        return line

    def add_namespace(self, namespace):
        self.fold.scope_added(namespace)
        self.expect_done("add", namespace)

    def remove_namespace(self, namespace):
        self.fold.scope_removed(namespace)
        self.expect_done("remove", namespace)
