# SPDX-License-Identifier: MIT
"""Informers of every kind, side by side, which have to survive a round."""

import contextlib
import dataclasses
import time

from actor import Actor, ActorFold
from api import CONFIG_MAPS, identity_of
from fold import Fold
from kin import Failure, Kinformer
from objects import WIDGETS, widgets


class ControllerFold(ActorFold):
    """A controller tells what a list brings as an update, changed or not."""

    def _update(self, line):
        entry = self.entries.get(line["key"])
        is_listed_again = entry and (
            entry.uid, entry.version, entry.version) == (
            line["uid"], line["resourceVersion"], line["oldResourceVersion"])
        # There is no list but after an error.
        if is_listed_again and self.errors:
            return
        # What was deleted and made again meanwhile is one update, as with
        # client-go's controllers.
        if entry and self.errors and entry.uid != line["uid"]:
            self.entries[line["key"]] = dataclasses.replace(
                entry, uid=line["uid"])
        super()._update(line)


@dataclasses.dataclass
class Member:
    name: str
    informer: Kinformer
    collections: tuple
    list_options: dict


class Fleet:
    """A context manager; its informers run from its beginning to its end."""

    def __init__(self, world, build_dir):
        self._world = world
        self._build_dir = build_dir
        self._stack = contextlib.ExitStack()
        self._members = []

    def __enter__(self):
        world = self._world
        relayed, proxied = world.relayed(), world.proxied()
        busy, other, quiet = world.busy, world.other, world.quiet
        one = (CONFIG_MAPS.format(busy),)
        two = (*one, CONFIG_MAPS.format(other))
        try:
            self._program("streams", relayed, one, "configmaps", "-n", busy)
            self._program("streams of a proxy", proxied, one, "configmaps",
                          "-n", busy, "--show-object")
            self._program("lists", proxied, one, "configmaps", "-n", busy,
                          "--no-watch-list")
            self._program("everything", relayed, ("/api/v1/configmaps",),
                          "configmaps", "-A")
            self._program("quiet", relayed, (CONFIG_MAPS.format(quiet),),
                          "configmaps", "-n", quiet)
            self._program("selected", relayed, one, "configmaps", "-n", busy,
                          "-l", "chaos=in",
                          list_options={"label_selector": "chaos=in"})
            self._program("metadata", proxied, one, "configmaps", "-n", busy,
                          "--metadata-only")
            self._program("namespaces", relayed, two, "configmaps",
                          "-n", busy, "-n", other, namespaces=[busy, other])
            self._program("custom resource", relayed, (widgets(busy),),
                          WIDGETS, "-n", busy)
            self._actor("small pages", relayed, one, "configmaps", "-n", busy,
                        "--no-watch-list", "--page-size", "7")
            self._actor("small pages of a quiet namespace", relayed,
                        (CONFIG_MAPS.format(quiet),), "configmaps", "-n",
                        quiet, "--no-watch-list", "--page-size", "1")
            self._actor("small pages of all namespaces", relayed,
                        ("/api/v1/configmaps",), "configmaps",
                        "--no-watch-list", "--page-size", "20")
            self._actor("controller", relayed, one, "configmaps", "-n", busy,
                        "--controller", fold=ControllerFold())
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _program(self, name, access, collections, *arguments, namespaces=None,
                 list_options=None):
        fold = Fold(namespaces=namespaces,
                    show_object="--show-object" in arguments)
        informer = Kinformer(
            self._build_dir / "tools/kinformer/kinformer", access, arguments,
            self._world.cluster.directory, fold, self._world.cluster.secrets,
            None, self._log(name))
        self._enter(name, informer, collections, list_options)

    def _actor(self, name, access, collections, *arguments, fold=None):
        namespaces = [arguments[i + 1] for i, a in enumerate(arguments)
                      if a == "-n"]
        informer = Actor(
            self._build_dir / "test/e2e/kin-actor", access, arguments,
            self._world.cluster.directory,
            fold or ActorFold(namespaces=namespaces or None),
            self._world.cluster.secrets, None, self._log(name))
        self._enter(name, informer, collections, None)

    def _log(self, name):
        return f"chaos-{self._world.busy}-{name.replace(' ', '-')}"

    def _enter(self, name, informer, collections, list_options):
        self._stack.enter_context(informer)
        self._members.append(Member(name, informer, collections,
                                    list_options or {}))

    # ---- what has to hold

    def wait_equal(self, since, within_s):
        """Waits until each equals the truth; returns (seconds, who was last).

        Nobody may be writing.
        """
        truths = {}
        slowest = (0.0, "nobody")
        for member in self._members:
            key = (member.collections, *member.list_options.items())
            if key not in truths:
                truths[key] = self._truth(member)
            seconds = self._wait_member(member, truths[key], since, within_s)
            slowest = max(slowest, (seconds, member.name))
        return slowest

    def _truth(self, member):
        truth = {}
        for collection in member.collections:
            truth.update(self._world.cluster.api.list(
                collection, **member.list_options))
        return truth

    @staticmethod
    def _wait_member(member, truth, since, within_s):
        """Returns how long after `since` it became so."""
        wanted = {key: identity_of(obj) for key, obj in truth.items()}
        fold = member.informer.fold

        def is_equal(_):
            return fold.synced and wanted == {
                key: (entry.uid, entry.version)
                for key, entry in fold.entries.items()}

        left = max(0.5, since + within_s - time.monotonic())
        try:
            member.informer.wait_for("equality with the server's list",
                                     is_equal, left)
        except Failure as failure:
            fold.compare(truth)
            raise Failure(f"{member.name}: not right within {within_s} s of "
                          f"the server's being ready: {failure}") from failure
        # Objects that are shown are compared, too.
        fold.compare(truth)
        # It may have been so long before it was asked for.
        seen = member.informer.seen
        return max(0.0, seen[-1].at - since) if seen else 0.0

    def expect_legal(self):
        for member in self._members:
            found = member.informer.fold.violations + member.informer.leaks
            if found:
                raise Failure("\n".join(
                    [f"{member.name}: {len(found)} violations, the first:",
                     *found[:8]]))
