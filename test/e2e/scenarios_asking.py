# SPDX-License-Identifier: MIT
"""How a program may have an informer ask: as somebody else, with parameters of
its own, compressed, consistently; and what it is told besides objects."""

from api import CONFIG_MAPS
from asked import LIST, STREAM
from objects import config_map
from scenario import scenario
from scenarios_refusals import Role
from ways import STREAMS

DIRECT = ("tls",)


@scenario(ways=DIRECT)
def impersonation(context):
    """The server decides by the user that is named, not by the one who asks:
    refused first, then granted."""
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    role = Role(context, collection)
    api.create(collection, config_map("m"))
    with context.actor("configmaps", "-n", space, "--as", "nobody",
                       "--as-group", "somebodies") as actor:
        actor.wait_error()
        error = actor.fold.errors[0]
        context.expect(error["status"] == 403 and "nobody" in error["message"],
                       f"{error}")
        role.grant()
        actor.wait_synced()
        context.sentinel(actor, space)
        context.finish(actor, collection)


@scenario
def parameters(context):
    """Sent with every request, and obeyed: lists come indented."""
    space = context.namespace()
    collection = CONFIG_MAPS.format(space)
    context.api.create(collection, config_map("m"))
    with context.actor("configmaps", "-n", space, "--parameter", "pretty=true",
                       "--parameter", "x y=a&b=c") as actor:
        actor.wait_synced()
        context.sentinel(actor, space)
        context.finish(actor, collection)
        for asked in context.asked(space):
            context.expect(asked.query.get("pretty") == "true"
                           and asked.query.get("x y") == "a&b=c", f"{asked}")


@scenario
def compressed(context):
    """A list of over 128 KiB comes as gzip; what is stored is the same."""
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    for i in range(40):
        api.create(collection, config_map(f"m-{i}", {"data": "gzip " * 2000}))
    with context.actor("configmaps", "-n", space, "--gzip",
                       "--no-watch-list") as actor:
        actor.wait_synced()
        received = actor.expect_done("received")["items"]
        context.expect(received < 100000,
                       f"{received} bytes received for 400 KB")
        context.sentinel(actor, space)
        context.finish(actor, collection)


@scenario
def warnings(context):
    """What a server warns of is told once for each text."""
    space = context.namespace()
    with context.actor("endpoints", "-n", space) as actor:
        actor.wait_synced()
        actor.wait_for("a warning", lambda fold: fold.warnings)
        context.expect("deprecated" in actor.fold.warnings[0]["message"],
                       f"{actor.fold.warnings}")
        context.finish(actor, f"/api/v1/namespaces/{space}/endpoints")


@scenario
def consistency(context):
    """The newest there is, or not older than a version: what is asked for, and
    what comes."""
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    written = api.create(collection, config_map("m"))
    version = written["metadata"]["resourceVersion"]
    for options, query in (
            (("most-recent",), {}),
            (("at-least", "--start-version", version),
             {"resourceVersion": version,
              "resourceVersionMatch": "NotOlderThan"})):
        before = len(context.asked(space))
        with context.actor("configmaps", "-n", space, "--consistency",
                           *options) as actor:
            actor.wait_synced()
            context.expect(f"{space}/m" in actor.fold.entries, "m is missing")
            context.finish(actor, collection)
        first = context.asked(space)[before]
        context.expect(first.kind in (LIST, STREAM), f"{first}")
        for name in ("resourceVersion", "resourceVersionMatch"):
            wanted = query.get(name)
            if first.kind == STREAM and name == "resourceVersionMatch":
                wanted = "NotOlderThan"
            context.expect(first.query.get(name) == wanted,
                           f"{name}: {first}, expected {wanted}")


@scenario
def object_over_the_limit(context):
    """Its key and version are kept, it is told once, and nothing is listed
    again for it, however often it changes."""
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    large = {"data": "x" * 200000}
    api.create(collection, config_map("large", large))
    api.create(collection, config_map("small"))
    with context.actor("configmaps", "-n", space, "--max-object-bytes",
                       "100000") as actor:
        actor.wait_synced()
        for i in range(3):
            actor.wait_object(f"{space}/large", api.patch(
                f"{collection}/large", {"data": {"more": str(i)}}))
        actor.wait_object(f"{space}/large", api.patch(
            f"{collection}/large", {"data": {"data": "small now"}}))
        context.sentinel(actor, space)
        context.finish(actor, collection)
        context.expect(not actor.fold.relists, f"{actor.fold.relists}")
        # At most one event a second tells of such objects.
        classes = {e["class"] for e in actor.fold.errors}
        context.expect(classes == {"decode"}, f"{actor.fold.errors}")


@scenario(ways=STREAMS)
def checked_watch_list(context):
    """After a list that came as a watch, the same is listed at exactly that
    version, and is found to be equal."""
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    for i in range(50):
        api.create(collection, config_map(f"m-{i}"))
    with context.actor("configmaps", "-n", space,
                       "--check-watch-lists") as actor:
        actor.wait_synced()
        context.sentinel(actor, space)
        actor.wait_for("a list at exactly that version", lambda _: any(
            a.query.get("resourceVersionMatch") == "Exact"
            for a in context.asked(space)))
        context.finish(actor, collection)
        context.expect(not actor.fold.errors, f"{actor.fold.errors}")
        context.expect(context.asked(space)[0].kind == STREAM, "no stream")
