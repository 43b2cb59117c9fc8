# SPDX-License-Identifier: MIT
"""What every scenario uses: its registration and its context."""

import collections
import concurrent.futures
import contextlib
import dataclasses
import itertools
import typing

from actor import Actor, ActorFold
from api import CONFIG_MAPS, PODS, key_of
from bounds import judge_recovery, recovery_due
from example import Example
from fold import Fold
from kin import Failure, Kinformer
import objects
from relay import Relay
from ways import WAYS, Access

WRITERS = 4


@dataclasses.dataclass(frozen=True)
class Scenario:
    """One function with one way to the API server, or with none given."""
    name: str
    run: typing.Callable
    way: str = ""
    # Its way is ended and begun again.
    is_severed: bool = False
    # Those of one group mostly wait and disturb no other: they run side by
    # side, after all that have none.
    group: str = ""


SCENARIOS = {}  # name -> Scenario, in the order of definition


def scenario(function=None, *, ways=tuple(WAYS), severed=False, group=""):
    """Registers a function of one argument, the Context, once for each way.

    Its name is the function's, with the way's after a slash.
    """
    def register(function):
        for way in ways or ("",):
            name = f"{function.__name__}/{way}".rstrip("/")
            SCENARIOS[name] = Scenario(name, function, way, severed, group)
        return function

    return register(function) if function else register


@dataclasses.dataclass(frozen=True)
class Measured:
    """A time that was measured, and the bound it is held to."""
    scenario: str
    what: str
    seconds: float
    bound: str


class Context:
    _serial = itertools.count(1)

    def __init__(self, cluster, program, actor, scenario_):
        self.cluster = cluster
        self.measured = []
        self.way = WAYS[scenario_.way](cluster) if scenario_.way else None
        self._program = program
        self._actor = actor
        self._name = scenario_.name
        # Those of this scenario's own follow, also while programs run.
        self._secrets = [*cluster.secrets]

    @property
    def api(self):
        return self.cluster.api

    def unused_name(self):
        name = self._name.replace("_", "-").replace("/", "-")
        return f"{name}-{next(self._serial)}"[-60:].lstrip("-")

    def namespace(self):
        """A new namespace of this scenario's own."""
        name = self.unused_name()
        self.api.create_namespace(name)
        return name

    def informer(self, resource, *arguments, at=None, environment=None,
                 **fold_options):
        """A Kinformer to be entered by `with`. at: an Access, else the way's.
        """
        options = list(arguments)
        if fold_options.get("show_object"):
            options.append("--show-object")
        return Kinformer(self._program, at or self.way.access,
                         [resource, *options], self.cluster.directory,
                         Fold(**fold_options),
                         self._secrets, environment,
                         f"kinformer-{self.unused_name()}")

    def actor(self, resource, *arguments, at=None):
        """An Actor to be entered by `with`: it takes commands."""
        namespaces = [value for name, value in itertools.pairwise(arguments)
                      if name == "-n"]
        return Actor(self._actor, at or self.way.access,
                     [resource, *arguments], self.cluster.directory,
                     ActorFold(namespaces=namespaces),
                     self._secrets, None,
                     f"actor-{self.unused_name()}")

    def example(self, name):
        """The program of an example, built where kinformer is."""
        return self._program.parents[2] / "examples" / name

    def run_example(self, name, *arguments, environment=None,
                    has_input=False, server=None):
        """An Example to be entered by `with`; its first argument is the
        server, that of the scenario's way if none is named."""
        url = server or self.way.access.url
        return Example(self.example(name), [url, *arguments],
                       self.cluster.directory, f"{name}-{self.unused_name()}",
                       environment, has_input)

    def secret(self, token):
        """No program of this scenario may show this token, or has shown it."""
        if token not in self._secrets:
            self._secrets.append(token)
        return token

    @contextlib.contextmanager
    def relayed(self):
        """A Relay on this scenario's way, and the Access to it."""
        with Relay(self.way.port) as relay:
            yield relay, self.way.access_at(relay.port)

    def direct_access(self, port, *arguments, host="127.0.0.1", scheme="https",
                      authority=None):
        """TLS to a port of loopback, trusting one authority, ours if none is
        named."""
        if scheme == "https" and authority != "":
            arguments = ("--certificate-authority", str(
                authority or self.cluster.authority.certificate), *arguments)
        return Access(f"{scheme}://{host}:{port}", tuple(map(str, arguments)))

    @contextlib.contextmanager
    def spare_apiserver(self):
        """The second API server, for what would disturb others if it were done
        to the first."""
        server = self.cluster.spare_apiserver()
        try:
            yield server
        except BaseException:
            self.cluster.drop_spare()
            raise
        if server.is_altered:
            self.cluster.drop_spare()

    def asked(self, namespace, server=None):
        """What kinformer has asked about the namespace, each an Asked."""
        return (server or self.cluster.apiserver).asked(namespace)

    def expect_asked(self, namespace, *kinds, server=None):
        """Returns it; it has to be of these kinds."""
        asked = self.asked(namespace, server)
        self.expect([a.kind for a in asked] == list(kinds),
                    f"asked {asked}, expected {kinds}")
        return asked

    def measure(self, what, seconds, bound):
        """Notes a time for the record. bound: in words, or in seconds."""
        if not isinstance(bound, str):
            bound = f"<= {bound:g} s"
        self.measured.append(Measured(self._name, what, seconds, bound))

    def sentinel(self, kin, namespace, resource="configmaps", **options):
        """Writes an object last and waits until it is seen.

        Events of one resource come in the order of their writing, so all that
        was written before has been seen then too.
        """
        obj = self.write_sentinel(namespace, resource, **options)
        kin.wait_object(key_of(obj), obj)
        return obj

    def write_sentinel(self, namespace, resource="configmaps", **options):
        make, collection = {
            "configmaps": (objects.config_map, CONFIG_MAPS),
            "pods": (objects.pod, PODS),
        }[resource]
        return self.api.create(
            collection.format(namespace),
            make(f"zz-sentinel-{next(self._serial)}", **options))

    @staticmethod
    def wait_recovered(kin, mended_at, what, predicate):
        """Returns the line that proves it, unless a whole attempt fails first.
        """
        def has_failed_again():
            return recovery_due(kin.errors(), mended_at)[1]

        seen = kin.wait_line(what, lambda line: predicate(line) or (
            line["event"] == "error" and has_failed_again()))
        if seen.line["event"] == "error":
            raise Failure("\n".join(judge_recovery(
                kin.errors(), mended_at, seen.earliest))
                + "\n" + kin.describe())
        return seen

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
        self.expect_none(problems + self._violations(kin))

    def expect_legal(self, kin):
        self.expect_none(self._violations(kin))

    @staticmethod
    def _violations(kin):
        found = kin.fold.violations + kin.leaks
        return [f"{len(found)} violations, the first of them:",
                *found[:8]] if found else []

    @staticmethod
    def expect_none(problems):
        if problems:
            raise Failure("\n".join(problems))

    @staticmethod
    def expect_changes(kin, **expected):
        """Expects so many add=, update= and delete= after the first sync."""
        seen = collections.Counter(line["event"] for line in kin.fold.changes
                                   if not line["initial"])
        if seen != collections.Counter(expected):
            raise Failure(f"changes {dict(seen)}, expected {expected}")

    @staticmethod
    def expect_equal(got, expected):
        if got != expected:
            raise Failure(f"{got!r}, expected {expected!r}")

    @staticmethod
    def expect(condition, text):
        if not condition:
            raise Failure(text)


def in_parallel(function, arguments):
    """Runs function(argument) for each, on a few threads."""
    with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(function, arguments))
