# SPDX-License-Identifier: MIT
"""A list that comes as a watch (WatchList): what is asked for, what happens
while it comes, and servers that cannot.

Until it is complete nothing of it may be seen. So that things can happen in the
middle of it, the objects are large, and a relay lets only a part of them
through.
"""

import contextlib
import time

from api import CONFIG_MAPS, key_of
from asked import LIST, STREAM, WATCH
from bounds import ATTEMPT_S, PAUSE_S, REFUSAL_S
from kin import WAIT_S
from objects import LONG_STRING, ODD_STRINGS, config_map
from ready import await_true
from relay import Relay
from scenario import in_parallel, scenario
from ways import STREAMS

# Some 0.3 MB each, together more than fits in the buffers on the way.
COUNT = 40
PART = 1 << 20
# Whether a stream has said anything is looked at as often as this.
PROGRESS_S = 10


@contextlib.contextmanager
def large_objects(context, count=COUNT):
    """m-0, ... in a namespace, of which it yields the name."""
    space = context.namespace()
    collection = CONFIG_MAPS.format(space)
    in_parallel(lambda i: context.api.create(collection, config_map(
        f"m-{i}", {"data": LONG_STRING})), range(count))
    try:
        yield space
    finally:
        # The servers that are started later need not read them.
        if context.cluster.apiserver.is_running():
            context.api.delete(collection)


@contextlib.contextmanager
def in_the_initial_stream(context, space, **options):
    """Within it kinformer has got the first objects and no more, until the
    relay is told."""
    with context.relayed() as (relay, access):
        relay.hold_after(PART)
        with context.informer("configmaps", "-n", space, at=access,
                              **options) as kin:
            context.expect(relay.wait_held(WAIT_S), "no objects came")
            yield relay, kin


def finish(context, kin, space, **changes):
    """As ever, and with a sentinel."""
    context.sentinel(kin, space)
    context.finish(kin, CONFIG_MAPS.format(space))
    changes["add"] = changes.get("add", 0) + 1
    context.expect_changes(kin, **changes)


def keys_of(changes):
    return [line["key"] for line in changes]


# ---------------------------------------------------------------- as it should

@scenario(ways=STREAMS)
def one_request(context):
    """It brings what there is, says where that ends, and goes on."""
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    for name, text in ODD_STRINGS.items():
        api.create(collection, config_map(name, {"data": text}))
    with context.informer("configmaps", "-n", space, show_object=True) as kin:
        kin.wait_synced()
        context.expect(kin.fold.synced["objects"] == len(ODD_STRINGS),
                       f"{kin.fold.synced}")
        names = list(ODD_STRINGS)
        for name in names[:5]:
            api.patch(f"{collection}/{name}", {"data": {"value": "new"}})
            api.create(collection, config_map(f"new-{name}"))
        for name in names[5:10]:
            api.delete(f"{collection}/{name}")
        finish(context, kin, space, add=5, update=5, delete=5)
        context.expect(not kin.fold.errors, f"{kin.fold.errors}")
    [asked] = context.expect_asked(space, STREAM)
    timeout_s = int(asked.query.pop("timeoutSeconds"))
    context.expect(300 <= timeout_s <= 600, f"timeoutSeconds={timeout_s}")
    context.expect(asked.query == {
        "watch": "true", "allowWatchBookmarks": "true",
        "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan",
    }, f"{asked}")


@scenario(ways=STREAMS)
def changes_in_the_initial_stream(context):
    """Whether they come before its end or after it, each is seen once at most,
    and none is missing."""
    api = context.api
    with large_objects(context) as space:
        collection = CONFIG_MAPS.format(space)
        with in_the_initial_stream(context, space,
                                   show_object=True) as (relay, kin):
            # The first of them have come, the last have not.
            for name in ("m-0", f"m-{COUNT - 1}"):
                api.patch(f"{collection}/{name}", {"data": {"value": "new"}})
            for name in ("m-1", "m-8", "m-9"):
                api.delete(f"{collection}/{name}")
            api.create(collection, config_map("m-8"))
            api.create(collection, config_map("n"))
            api.create(collection, config_map("brief"))
            api.delete(f"{collection}/brief")
            context.expect(not kin.seen, f"before the end: {kin.seen[:3]}")
            relay.release()
            kin.wait_synced()
            context.sentinel(kin, space)
            context.finish(kin, collection)
            context.expect(not kin.fold.errors, f"{kin.fold.errors}")
    context.expect_asked(space, STREAM)


@scenario(ways=STREAMS, group="waiting")
def slow_initial_stream(context):
    """As long as something comes, it may take its time."""
    with large_objects(context) as space, \
            context.relayed() as (relay, access):
        relay.slow_down(COUNT * len(LONG_STRING) // (2 * PROGRESS_S))
        with context.informer("configmaps", "-n", space, at=access) as kin:
            kin.wait_synced()
            took_s = time.monotonic() - kin.started_at
            context.expect(took_s > 2 * PROGRESS_S, f"took only {took_s} s")
            finish(context, kin, space)
            context.expect(not kin.fold.errors, f"{kin.fold.errors}")
    context.expect_asked(space, STREAM)


@scenario(ways=STREAMS)
def many_namespaces(context):
    """Each is a stream of its own, four at a time; those that are cut off begin
    again, the others do not notice."""
    count, at_a_time = 6, 4
    with contextlib.ExitStack() as stack:
        spaces = [stack.enter_context(large_objects(context, 4))
                  for _ in range(count)]

        def asked():
            return [a for space in spaces for a in context.asked(space)]

        relay, access = stack.enter_context(context.relayed())
        relay.slow_down(PART // 5)
        arguments = [word for space in spaces for word in ("-n", space)]
        with context.informer("configmaps", *arguments, at=access,
                              namespaces=spaces) as kin:
            await_true("streams", lambda: len(asked()) >= at_a_time)
            context.expect(len(asked()) == at_a_time, f"{asked()}")
            relay.cut()
            relay.slow_down(None)
            kin.wait_synced()
            context.expect(kin.fold.synced["objects"] == 4 * count,
                           f"{kin.fold.synced}")
            for space in spaces:
                collection = CONFIG_MAPS.format(space)
                context.api.patch(f"{collection}/m-0",
                                  {"data": {"value": "new"}})
                context.api.delete(f"{collection}/m-1")
                context.sentinel(kin, space)
            context.finish(kin, *map(CONFIG_MAPS.format, spaces))
            later = [line["event"] for line in kin.fold.changes
                     if not line["key"].endswith(("m-2", "m-3"))]
            context.expect(later.count("update") == count
                           and later.count("delete") == count, f"{later}")
            context.expect(len(kin.fold.errors) == at_a_time,
                           f"{kin.fold.errors}")
    context.expect({a.kind for a in asked()} == {STREAM}, f"{asked()}")
    context.expect(sorted(len(context.asked(space)) for space in spaces)
                   == [1] * (count - at_a_time) + [2] * at_a_time, f"{asked()}")


# ---------------------------------------------------------------- what fails

def expect_unseen_until_synced(context, kin):
    """Nothing of what was cut off has been shown."""
    events = [seen.line["event"] for seen in kin.seen]
    errors = len(kin.fold.errors)
    context.expect("add" not in events[:errors], f"{events[:errors + 3]}")


@scenario(ways=STREAMS)
def cut_in_the_initial_stream(context):
    """It begins again; what has come by then counts for nothing."""
    with large_objects(context) as space:
        with in_the_initial_stream(context, space) as (relay, kin):
            context.api.delete(f"{CONFIG_MAPS.format(space)}/m-0")
            relay.cut()
            relay.release()
            kin.wait_synced()
            finish(context, kin, space)
            context.expect(f"{space}/m-0" not in keys_of(kin.fold.changes),
                           "m-0 was shown")
            expect_unseen_until_synced(context, kin)
            context.expect([e["class"] for e in kin.fold.errors] == ["connect"],
                           f"{kin.fold.errors}")
    context.expect_asked(space, STREAM, STREAM)


@scenario(ways=STREAMS)
def cut_again_in_the_initial_stream(context):
    """After the second time a list is asked for."""
    with large_objects(context) as space:
        with in_the_initial_stream(context, space) as (relay, kin):
            relay.cut()
            relay.release()
            relay.hold_after(PART)
            context.expect(relay.wait_held(WAIT_S), "no objects came again")
            context.api.delete(f"{CONFIG_MAPS.format(space)}/m-0")
            relay.cut()
            relay.release()
            kin.wait_synced()
            finish(context, kin, space)
            context.expect(f"{space}/m-0" not in keys_of(kin.fold.changes),
                           "m-0 was shown")
            expect_unseen_until_synced(context, kin)
            context.expect([e["class"] for e in kin.fold.errors]
                           == ["connect"] * 2, f"{kin.fold.errors}")
    context.expect_asked(space, STREAM, STREAM, LIST, WATCH)


@scenario(ways=STREAMS, group="waiting")
def silent_in_the_initial_stream(context):
    """Nothing more comes, and nothing ends: after a while a list is asked for,
    which is no failure."""
    with large_objects(context) as space:
        with in_the_initial_stream(context, space) as (relay, kin):
            cause_at = time.monotonic()
            relay.forget()
            relay.release()
            kin.wait_synced()
            took_s = time.monotonic() - cause_at
            bound_s = 2 * PROGRESS_S + ATTEMPT_S + PAUSE_S
            context.measure("in sync after the stream fell silent", took_s,
                            bound_s)
            context.expect(took_s <= bound_s, f"in sync after {took_s:.1f} s")
            finish(context, kin, space)
            context.expect(not kin.fold.errors, f"{kin.fold.errors}")
    context.expect_asked(space, STREAM, LIST, WATCH)


@scenario(ways=STREAMS)
def apiserver_killed_in_the_initial_stream(context):
    """SIGKILL; the next one is asked for a stream, too, or for a list if the
    proxy has failed to bring one meanwhile."""
    cluster = context.cluster
    with large_objects(context) as space:
        with in_the_initial_stream(context, space) as (relay, kin):
            cluster.apiserver.kill()
            relay.release()
            kin.wait_error()
            cluster.apiserver.start()
            kin.wait_synced()
            finish(context, kin, space)
            expect_unseen_until_synced(context, kin)
    kinds = [a.kind for a in context.asked(space)]
    context.expect(kinds[0] == STREAM and kinds[1] in (STREAM, LIST)
                   and kinds[-1] in (STREAM, WATCH), f"{kinds}")


@scenario(ways=STREAMS)
def history_lost_and_streamed_again(context):
    """410, and changes while the stream comes that follows: what has not
    changed is not told of, the rest once."""
    api, cluster = context.api, context.cluster
    with large_objects(context) as space, \
            context.relayed() as (relay, access), \
            context.informer("configmaps", "-n", space, at=access) as kin:
        collection = CONFIG_MAPS.format(space)
        kin.wait_synced()
        relay.refuse()
        kin.wait_error()
        change(api, collection, 0)
        cluster.compact()
        cluster.restart_apiserver()
        relay.hold_after(PART)
        relay.accept()
        context.expect(relay.wait_held(WAIT_S), "no objects came again")
        change(api, collection, 3)
        context.expect_changes(kin)
        relay.release()
        kin.wait_for("relisted line", lambda fold: fold.relists)
        finish(context, kin, space, add=2 * 2, update=2, delete=2 * 2)
        context.expect(len(kin.fold.relists) == 1, f"{kin.fold.relists}")
    asked = context.asked(space)
    kinds = [a.kind for a in asked]
    context.expect(kinds[0] == kinds[-1] == STREAM and WATCH in kinds
                   and LIST not in kinds, f"{kinds}")
    context.expect(asked[-1].version == kin.fold.synced["resourceVersion"],
                   f"asked {asked[-1]}, was at {kin.fold.synced}")


def change(api, collection, i):
    """Two adds, an update, two deletes: one object is made anew."""
    api.patch(f"{collection}/m-{i}", {"data": {"value": "new"}})
    api.delete(f"{collection}/m-{i + 1}")
    api.delete(f"{collection}/m-{i + 2}")
    api.create(collection, config_map(f"m-{i + 2}"))
    api.create(collection, config_map(f"n-{i}"))


# ---------------------------------------------------------------- who cannot

@scenario(ways=(), group="refusals")
def server_without_watch_list(context):
    """It refuses, and is asked for a list at once, without an error, and for
    no other stream ever after."""
    cluster = context.cluster
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(cluster.special_apiserver(
            "without-WatchList", "--feature-gates=WatchList=false"))
        proxy = cluster.make_proxy("proxy-without-WatchList", server)
        stack.callback(proxy.kill)
        proxy.start()
        relay = stack.enter_context(Relay(server.port))
        follow_by_list(context, server, None, context.direct_access(
            proxy.port, scheme="http"))
        follow_by_list(context, server, relay, context.direct_access(
            relay.port, "--token-file", cluster.token_file))


def follow_by_list(context, server, relay, access):
    """relay: if given, what is between, for one more list."""
    api = context.api
    spaces = [context.namespace(), context.namespace()]
    collections = [CONFIG_MAPS.format(space) for space in spaces]
    for collection in collections:
        for i in range(5):
            api.create(collection, config_map(f"m-{i}"))
    with context.informer("configmaps", "-n", spaces[0], "-n", spaces[1],
                          at=access, namespaces=spaces) as kin:
        kin.wait_synced()
        context.expect(not kin.fold.errors, f"{kin.fold.errors}")
        before = [expect_list_at_once(context, space, server)
                  for space in spaces]
        context.expect(any(before), "no stream was asked for")
        if relay:
            relay.refuse()
            kin.wait_error()
            for collection in collections:
                api.delete(f"{collection}/m-4")
            context.cluster.compact()
            server.restart()
            relay.accept()
            kin.wait_for("relisted lines",
                         lambda fold: len(fold.relists) == len(spaces))
        for space, collection in zip(spaces, collections):
            api.patch(f"{collection}/m-0", {"data": {"value": "new"}})
            context.sentinel(kin, space)
        context.finish(kin, *collections)
        context.expect_changes(kin, add=2, update=2,
                               **({"delete": 2} if relay else {}))
    for space, had_streams in zip(spaces, before):
        kinds = [a.kind for a in context.asked(space, server)]
        context.expect(kinds.count(STREAM) == had_streams
                       and kinds.count(LIST) == (2 if relay else 1),
                       f"asked {kinds}")


def expect_list_at_once(context, space, server):
    """Returns how many streams were asked for before it: the first refusal
    counts for all namespaces."""
    asked = [a for a in context.asked(space, server) if a.kind != WATCH]
    kinds = [a.kind for a in asked]
    context.expect(kinds in ([STREAM, LIST], [LIST]), f"asked {kinds}")
    if kinds[0] == STREAM:
        context.measure("asked for a list after the stream",
                        asked[1].at - asked[0].at, REFUSAL_S + PAUSE_S)
        # Less than the tick after which a silent stream gives way to a list.
        context.expect(asked[1].at - asked[0].at <= REFUSAL_S + PAUSE_S,
                       f"{asked}")
    return kinds.count(STREAM)
