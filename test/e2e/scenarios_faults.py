# SPDX-License-Identifier: MIT
"""What goes wrong: servers die, connections break, history is lost."""

from api import CONFIG_MAPS, key_of
from asked import STREAM
from objects import config_map
from scenario import scenario
from ways import STREAMS

# A cut that nobody is told of does not exist here: a killed process's sockets
# are closed by its kernel. For silence see scenarios_silence.py.


@scenario(ways=STREAMS, severed=True)
def cut_off_and_connected_again(context):
    """A cut: the watch goes on from where it was, without a list."""
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    for i in range(50):
        api.create(collection, config_map(f"m-{i}"))
    with context.informer("configmaps", "-n", space) as kin:
        kin.wait_synced()
        api.patch(f"{collection}/m-0", {"data": {"value": "before"}})
        context.sentinel(kin, space)
        context.way.sever()
        kin.wait_error()
        for i in range(10):
            api.patch(f"{collection}/m-{i}", {"data": {"value": "meanwhile"}})
            api.delete(f"{collection}/m-{i + 10}")
            api.create(collection, config_map(f"n-{i}"))
        context.way.restore()
        context.sentinel(kin, space)
        context.finish(kin, collection)
        context.expect(not kin.fold.relists, f"{kin.fold.relists}")
        # m-0 to m-9 once more, ten gone, ten new, and the sentinels.
        context.expect_changes(kin, add=10 + 2, update=1 + 10, delete=10)


@scenario(ways=STREAMS)
def apiserver_killed_and_restarted(context):
    """SIGKILL while watching, twice, with changes before and after."""
    cluster, space = context.cluster, context.namespace()
    collection = CONFIG_MAPS.format(space)
    for i in range(200):
        context.api.create(collection, config_map(f"m-{i}"))
    with context.informer("configmaps", "-n", space) as kin:
        kin.wait_synced()
        for round_ in range(2):
            for i in range(20):
                write_all_kinds(context.api, collection, round_, i)
            failures = len(kin.fold.errors)
            cluster.apiserver.kill()
            kin.wait_error(failures + 1)
            cluster.apiserver.start()
            for i in range(20, 40):
                write_all_kinds(context.api, collection, round_, i)
            context.sentinel(kin, space)
        context.finish(kin, collection)
        # Exactly what was written, by watch or by list: no two writes are of
        # one object while kinformer is cut off.
        context.expect_changes(kin, add=2 * 40 + 2, update=2 * 40,
                               delete=2 * 40)


def write_all_kinds(api, collection, round_, i):
    api.patch(f"{collection}/m-{i}", {"data": {"value": f"round {round_}"}})
    api.delete(f"{collection}/m-{100 + round_ * 40 + i}")
    api.create(collection, config_map(f"n-{round_}-{i}"))


def lose_history(context, kin, change):
    """Cuts kinformer off, changes, compacts, forgets: a watch then gets 410.

    Its way to the server is down meanwhile, so that it sees nothing of the
    changes; a compacted etcd and a restarted API server remember nothing of
    them.
    """
    failures = len(kin.fold.errors)
    context.way.sever()
    kin.wait_error(failures + 1)
    change(context.api)
    context.cluster.compact()
    context.cluster.restart_apiserver()
    context.way.restore()


@scenario(severed=True)
def history_compacted(context):
    """410: one list, every missed change exactly once, by the right reason."""
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    for i in range(300):
        api.create(collection, config_map(f"m-{i}"))
    with context.informer("configmaps", "-n", space) as kin:
        kin.wait_synced()
        before = len(kin.fold.changes)

        def change(direct):
            for i in range(5):
                direct.patch(f"{collection}/m-{i}", {"data": {"value": "new"}})
                direct.delete(f"{collection}/m-{i + 10}")
                direct.delete(f"{collection}/m-{i + 20}")
                direct.create(collection, config_map(f"m-{i + 20}"))
                direct.create(collection, config_map(f"n-{i}"))
                # Came and went unseen.
                direct.create(collection, config_map(f"brief-{i}"))
                direct.delete(f"{collection}/brief-{i}")

        lose_history(context, kin, change)
        kin.wait_for("relisted line", lambda fold: fold.relists)
        context.sentinel(kin, space)
        context.finish(kin, collection)
        context.expect(len(kin.fold.relists) == 1, f"{kin.fold.relists}")
        seen = {}
        for line in kin.fold.changes[before:]:
            kind = line["event"], line.get("reason")
            seen[kind] = seen.get(kind, 0) + 1
        context.expect(seen == {("update", None): 5, ("delete", "relist"): 5,
                                ("delete", "recreated"): 5,
                                ("add", None): 5 + 5 + 1}, f"{seen}")


@scenario(ways=("tls",), severed=True)
def relist_with_nothing_changed(context):
    """410 again and again: not one event for objects that did not change."""
    api, space = context.api, context.namespace()
    elsewhere = CONFIG_MAPS.format(context.namespace())
    collection = CONFIG_MAPS.format(space)
    for i in range(200):
        api.create(collection, config_map(f"m-{i}"))
    with context.informer("configmaps", "-n", space) as kin:
        kin.wait_synced()
        for round_ in (1, 2):
            failures = len(kin.fold.errors)
            # History moves on, but not that of the objects watched.
            lose_history(context, kin, lambda direct: direct.create(
                elsewhere, config_map(f"m-{round_}")))
            kin.wait_for("another error",
                         lambda fold: len(fold.errors) > failures)
            kin.wait_for("relisted line",
                         lambda fold: len(fold.relists) == round_)
        last = context.sentinel(kin, space)
        context.finish(kin, collection)
        changes = [line["key"] for line in kin.fold.changes
                   if not line["initial"]]
        context.expect(changes == [key_of(last)], f"{changes}")


@scenario(ways=("tls", "lists"), severed=True)
def two_namespaces_lose_history(context):
    """Each scope lists again for itself; the informer stays one."""
    api = context.api
    spaces = [context.namespace(), context.namespace()]
    collections = [CONFIG_MAPS.format(space) for space in spaces]
    for collection in collections:
        for i in range(30):
            api.create(collection, config_map(f"m-{i}"))
    with context.informer("configmaps", "-n", spaces[0], "-n", spaces[1],
                          namespaces=spaces) as kin:
        kin.wait_synced()

        def change(direct):
            direct.patch(f"{collections[0]}/m-0", {"data": {"value": "new"}})
            direct.delete(f"{collections[1]}/m-0")

        lose_history(context, kin, change)
        kin.wait_for("relisted lines of both",
                     lambda fold: len(fold.relists) == 2)
        for space in spaces:
            context.sentinel(kin, space)
        context.finish(kin, *collections)
        context.expect_changes(kin, add=2, update=1, delete=1)


@scenario(ways=STREAMS)
def restored_from_a_backup(context):
    """The server does not have the version yet that it has given: what was lost
    is deleted, and what is written then comes, although its versions were given
    before.

    Had more been written since than was lost, nobody could tell. And had the
    watch brought something, or not yet been open, it would only be noticed at
    the end of the next watch, minutes later.
    """
    api, cluster, space = context.api, context.cluster, context.namespace()
    collection = CONFIG_MAPS.format(space)
    for i in range(20):
        api.create(collection, config_map(f"m-{i}"))
    backup = cluster.back_up()
    for i in range(10):
        api.create(collection, config_map(f"lost-{i}"))
    for i in range(300):
        api.patch(f"{collection}/lost-0", {"data": {"value": f"{i}"}})
    with context.informer("configmaps", "-n", space) as kin:
        kin.wait_synced()
        cluster.restore(backup)
        for i in range(5):
            api.create(collection, config_map(f"n-{i}"))
        kin.wait_for("relisted line", lambda fold: fold.relists)
        context.sentinel(kin, space)
        context.finish(kin, collection)
        context.expect_changes(kin, add=5 + 1, delete=10)
    again = context.asked(space)[-1]
    context.expect((again.kind, again.version) == (STREAM, ""), f"{again}")


@scenario(severed=True)
def starts_before_the_server(context):
    """No server yet: errors with the time of the next try, then all of it."""
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    for i in range(10):
        api.create(collection, config_map(f"m-{i}"))
    context.way.sever()
    with context.informer("configmaps", "-n", space) as kin:
        kin.wait_error(2)
        context.expect(all(e["class"] == "connect" and e["retryInMs"] > 0
                           for e in kin.fold.errors), f"{kin.fold.errors}")
        context.way.restore()
        kin.wait_synced()
        context.sentinel(kin, space)
        context.finish(kin, collection)
