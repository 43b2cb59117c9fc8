# SPDX-License-Identifier: MIT
"""Servers that say nothing: paused, cut off one way or both, deaf to whoever is
new. No socket tells of it; it has to be noticed, and nothing may be lost.

They mostly wait, so they run side by side. What stops is a relay of each
scenario's own, or the spare API server; the harness writes through the first
one meanwhile.
"""

import contextlib
import time

from api import CONFIG_MAPS, key_of
from bounds import (PAUSE_S, RECOVERY_S, SILENCE_S, judge_notice,
                    judge_recovery, judge_unreached)
from objects import config_map
from scenario import scenario
from ways import STREAMS

COUNT = 20
# Far below the 30 s after which silence is suspicious.
SHORT_S = 8
# A question that has moved no byte for so long has its answer.
ANSWERED_S = 2
# In a row. An attempt lasts up to 30 s in silence, no time when it is refused.
LONG_SILENCE_ERRORS = 3
LONG_REFUSAL_ERRORS = 12


class Watched:
    """A kinformer that is in sync and has seen its watch deliver."""

    def __init__(self, context, kin, space, label=""):
        self.context = context
        self.kin = kin
        self._space = space
        self._collection = CONFIG_MAPS.format(space)
        self._label = label
        self._rounds = 0
        self._sentinels = 0
        self._last = ""
        self._changed_at = 0.0

    def change(self):
        """All kinds of changes; an object of each is changed once a round."""
        api, first = self.context.api, self._rounds * 3
        self._rounds += 1
        for i in range(first, first + 3):
            api.patch(f"{self._collection}/m-{i}", {"data": {"value": "new"}})
            api.delete(f"{self._collection}/m-{COUNT - 1 - i}")
            api.create(self._collection, config_map(f"n-{i}"))
        self._last = key_of(self.context.write_sentinel(self._space))
        self._sentinels += 1
        self._changed_at = time.monotonic()

    def expect_seen(self):
        """What change() did last."""
        self.kin.wait_line(self._last, self._is_last)

    def _is_last(self, line):
        return line.get("key") == self._last

    def expect_noticed(self, cause_at, what="noticed"):
        """Returns the first error since the cause."""
        [error] = self.kin.wait_errors(1, cause_at)
        self.context.measure(self._label + what, error.at - cause_at, SILENCE_S)
        self.context.expect_none(judge_notice(error, cause_at))
        return error

    def wait_another(self, error, predicate=lambda line: True):
        """Returns the next error of which predicate(line) holds."""
        return self.kin.wait_errors(
            1, error.at, lambda line: line is not error.line
            and predicate(line))[0]

    def expect_recovered(self, ended_at, cause_at):
        seen = self.context.wait_recovered(self.kin, ended_at, self._last,
                                           self._is_last)
        self.context.measure(
            f"{self._label}recovered after {ended_at - cause_at:.0f} s of it",
            max(seen.at - ended_at, 0), RECOVERY_S + PAUSE_S)
        errors = self.kin.errors(cause_at)
        self.context.expect_none(judge_unreached(errors) + judge_recovery(
            errors, ended_at, seen.earliest, RECOVERY_S, self._changed_at))

    def finish(self):
        """Nothing lost, nothing twice, and no list in place of a watch, unless
        the server has forgotten its history meanwhile."""
        context, n = self.context, 3 * self._rounds
        context.finish(self.kin, self._collection)
        context.expect_changes(self.kin, add=n + self._sentinels, update=n,
                               delete=n)
        forgotten = [e for e in self.kin.fold.errors if e["status"] == 410]
        context.expect(len(self.kin.fold.relists) <= len(forgotten),
                       f"{self.kin.fold.relists}")
        # A request that is not answered is of class protocol.
        others = [e for e in self.kin.fold.errors
                  if e["class"] not in ("connect", "protocol", "server")]
        context.expect(not others, f"{others}")


@contextlib.contextmanager
def watched(context, access, label=""):
    space = context.namespace()
    for i in range(COUNT):
        context.api.create(CONFIG_MAPS.format(space), config_map(f"m-{i}"))
    with context.informer("configmaps", "-n", space, at=access) as kin:
        w = Watched(context, kin, space, label)
        kin.wait_synced()
        w.change()
        w.expect_seen()
        yield w


@contextlib.contextmanager
def watched_through_relay(context):
    with context.relayed() as (relay, access), watched(context, access) as w:
        yield relay, w


def silent(context, stop):
    """stop(relay); it ends right after the second error line, when the next
    try has just been put off."""
    with watched_through_relay(context) as (relay, w):
        cause_at = time.monotonic()
        stop(relay)
        w.change()
        w.wait_another(w.expect_noticed(cause_at))
        ended_at = time.monotonic()
        relay.release()
        w.change()
        w.expect_recovered(ended_at, cause_at)
        w.finish()


@scenario(ways=STREAMS, group="waiting")
def nothing_comes_from_the_server(context):
    silent(context, lambda relay: relay.hold(to_server=False))


@scenario(ways=STREAMS, group="waiting")
def nothing_goes_to_the_server(context):
    """What the watch brings still comes; questions are not answered."""
    silent(context, lambda relay: relay.hold(to_client=False))


@scenario(ways=STREAMS, group="waiting")
def nothing_goes_either_way(context):
    silent(context, lambda relay: relay.hold())


@scenario(ways=STREAMS, group="waiting")
def accepted_and_never_answered(context):
    """The connections end; new ones are accepted, and that is all."""
    with watched_through_relay(context) as (relay, w):
        cause_at = time.monotonic()
        relay.hold_new()
        relay.cut()
        w.change()
        first = w.expect_noticed(cause_at, "noticed the end of the watch")
        second = w.wait_another(first)
        context.measure("noticed that nobody answers", second.at - cause_at,
                        SILENCE_S)
        context.expect_none(judge_notice(second, cause_at))
        ended_at = time.monotonic()
        relay.release()
        w.expect_recovered(ended_at, cause_at)
        w.finish()


@scenario(ways=STREAMS, group="waiting")
def connections_forgotten(context):
    """All that is open stays open and dead, as behind a router that has lost
    its memory; new connections are answered.

    What is open are the watch's connection and that of the last question to
    the server, which has to have been asked and answered: as long as every
    question comes over a new connection, and so is answered, a dead watch is
    not seen.
    """
    with watched_through_relay(context) as (relay, w):
        context.expect(relay.wait_accepted(2, SILENCE_S),
                       f"no question: {relay.accepted}")
        context.expect(relay.wait_quiet(ANSWERED_S, SILENCE_S),
                       "the question has no end")
        w.change()
        w.expect_seen()
        cause_at = time.monotonic()
        relay.forget()
        w.change()
        error = w.expect_noticed(cause_at)
        w.expect_recovered(error.at, cause_at)
        w.finish()


@scenario(ways=STREAMS, group="waiting")
def short_silence(context):
    """Shorter than what is suspicious: not an error, not a word."""
    with watched_through_relay(context) as (relay, w):
        relay.hold()
        w.change()
        # Nothing may happen, so there is nothing to wait for but the time.
        time.sleep(SHORT_S)
        relay.release()
        w.expect_recovered(time.monotonic(), w.kin.started_at)
        context.expect(not w.kin.errors(), f"{w.kin.errors()}")
        w.finish()


@scenario(ways=STREAMS, group="waiting")
def long_silence(context):
    """It ends when three attempts have failed; the waits stay short."""
    with watched_through_relay(context) as (relay, w):
        cause_at = time.monotonic()
        relay.hold()
        w.change()
        w.expect_noticed(cause_at)
        w.kin.wait_errors(LONG_SILENCE_ERRORS, cause_at)
        ended_at = time.monotonic()
        relay.release()
        w.expect_recovered(ended_at, cause_at)
        w.finish()


@scenario(ways=STREAMS, group="waiting")
def long_refusal(context):
    """Nobody listens for longer than any wait; none is over 4 s."""
    with watched_through_relay(context) as (relay, w):
        cause_at = time.monotonic()
        relay.refuse()
        w.change()
        w.expect_noticed(cause_at)
        w.kin.wait_errors(LONG_REFUSAL_ERRORS, cause_at)
        ended_at = time.monotonic()
        relay.accept()
        w.expect_recovered(ended_at, cause_at)
        w.finish()


@scenario(ways=(), group="waiting")
def apiserver_paused(context):
    """SIGSTOP, and later SIGCONT; watched directly and through a kubectl proxy,
    which is not paused. The changes go through another API server."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(context.spare_apiserver())
        proxy = context.cluster.make_proxy("spare-proxy", server)
        stack.callback(proxy.kill)
        proxy.start()
        direct = stack.enter_context(watched(context, context.direct_access(
            server.port, "--token-file", context.cluster.token_file), "tls: "))
        proxied = stack.enter_context(watched(context, context.direct_access(
            proxy.port, scheme="http"), "proxy: "))
        both = direct, proxied
        cause_at = time.monotonic()
        server.pause()
        stack.callback(server.resume)
        for w in both:
            w.change()
        errors = [w.expect_noticed(cause_at) for w in both]
        direct.wait_another(errors[0])
        server.resume()
        ended_at = time.monotonic()
        for w in both:
            w.expect_recovered(ended_at, cause_at)
        for w in both:
            w.finish()
