# SPDX-License-Identifier: MIT
"""What every scenario uses: its registration and its context."""

import collections
import concurrent.futures
import itertools

from api import CONFIG_MAPS, PODS, key_of
from fold import Fold
from kin import Failure, Kinformer
import objects

SCENARIOS = {}  # name -> function, in the order of definition

WRITERS = 4


def scenario(function):
    """Registers a function of one argument, the Context, under its name."""
    SCENARIOS[function.__name__] = function
    return function


class Context:
    _serial = itertools.count(1)

    def __init__(self, cluster, program, name):
        self.cluster = cluster
        self._program = program
        self._name = name.replace("_", "-")

    @property
    def api(self):
        return self.cluster.api

    def namespace(self):
        """A new namespace of this scenario's own."""
        name = f"{self._name}-{next(self._serial)}"[-60:].lstrip("-")
        self.api.create_namespace(name)
        return name

    def informer(self, resource, *arguments, **fold_options):
        """A Kinformer to be entered by `with`."""
        options = list(arguments)
        if fold_options.get("show_object"):
            options.append("--show-object")
        return Kinformer(self._program, self.cluster.url,
                         [resource, *options], self.cluster.directory,
                         Fold(**fold_options))

    def sentinel(self, kin, namespace, resource="configmaps", **options):
        """Writes an object last and waits until it is seen.

        Events of one resource come in the order of their writing, so all that
        was written before has been seen then too.
        """
        make, collection = {
            "configmaps": (objects.config_map, CONFIG_MAPS),
            "pods": (objects.pod, PODS),
        }[resource]
        name = f"zz-sentinel-{next(self._serial)}"
        obj = self.api.create(collection.format(namespace),
                              make(name, **options))
        kin.wait_object(key_of(obj), obj)
        return obj

    def finish(self, kin, *collections, **list_options):
        """Ends the program and holds it to the truth and to all the rules."""
        truth = {}
        for collection in collections:
            truth.update(self.api.list(collection, **list_options))
        problems = []
        try:
            kin.stop()
        except Failure as failure:
            problems.append(str(failure))
        if kin.fold.synced is None:
            problems.append("no synced line")
        kin.fold.compare(truth)
        if kin.fold.violations:
            problems.append(self._violations(kin))
        if problems:
            raise Failure("\n".join(problems))

    def expect_legal(self, kin):
        if kin.fold.violations:
            raise Failure(self._violations(kin))

    @staticmethod
    def _violations(kin):
        found = kin.fold.violations
        return "\n".join(
            [f"{len(found)} violations, the first of them:", *found[:8]])

    @staticmethod
    def expect_changes(kin, **expected):
        """Expects so many add=, update= and delete= after the first sync."""
        seen = collections.Counter(line["event"] for line in kin.fold.changes
                                   if not line["initial"])
        if seen != collections.Counter(expected):
            raise Failure(f"changes {dict(seen)}, expected {expected}")

    @staticmethod
    def expect(condition, text):
        if not condition:
            raise Failure(text)


def in_parallel(function, arguments):
    """Runs function(argument) for each, on a few threads."""
    with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(function, arguments))
