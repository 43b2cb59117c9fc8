# SPDX-License-Identifier: MIT
"""What a program tells an informer while it runs, and asks it: namespaces,
whether it is up to date; and resources that come and go."""

import time

from api import CONFIG_MAPS
from asked import LIST, STREAM, VERIFY, WATCH
from objects import GROUP, config_map, widget, widget_definition
from ready import await_true
from scenario import in_parallel, scenario
from scenarios_objects import DEFINITIONS, define

# For what takes a few requests and a short watch.
VERIFY_MS = 60000


def fill(context, space, count):
    in_parallel(lambda i: context.api.create(
        CONFIG_MAPS.format(space), config_map(f"m-{i}")), range(count))


@scenario
def namespaces_added_and_removed(context):
    """Each brings its objects and takes them away; the others see nothing of
    it, and one that is added again starts anew."""
    api = context.api
    first, second = context.namespace(), context.namespace()
    fill(context, first, 10)
    fill(context, second, 20)
    with context.actor("configmaps", "-n", first) as actor:
        actor.wait_synced()
        actor.add_namespace(second)
        actor.wait_for("first list of the second namespace",
                       lambda fold: fold.relists)
        context.expect(actor.fold.relists[0]["objects"] == 30,
                       f"{actor.fold.relists}")
        for space in (first, second):
            api.patch(f"{CONFIG_MAPS.format(space)}/m-0",
                      {"data": {"value": "new"}})
            context.sentinel(actor, space)
        actor.remove_namespace(first)
        actor.wait_for("deletes of the first namespace",
                       lambda fold: len(fold.entries) == 21)
        # Unseen, and no longer there when the namespace is added again.
        api.delete(f"{CONFIG_MAPS.format(first)}/m-5")
        context.sentinel(actor, second)
        actor.expect_done("state", first, code="KIN_ENOENT")
        actor.add_namespace(first)
        actor.wait_for("second list of the first namespace",
                       lambda fold: len(fold.relists) == 2)
        context.sentinel(actor, first)
        context.finish(actor, *map(CONFIG_MAPS.format, (first, second)))
        context.expect(not actor.fold.errors, f"{actor.fold.errors}")
        context.expect_changes(actor, add=20 + 3 + 10 + 1, update=2, delete=11)


@scenario
def verify_quiet(context):
    """Nothing happens in the namespace, much in others: the newest version is
    a later one, and a short watch says that it brings nothing new."""
    space, other = context.namespace(), context.namespace()
    fill(context, space, 5)
    with context.actor("configmaps", "-n", space) as actor:
        actor.wait_synced()
        fill(context, other, 5)
        began = time.monotonic()
        line = actor.expect_done("verify", space, VERIFY_MS)
        context.measure("verify of a quiet namespace",
                        time.monotonic() - began, 15)
        newest = int(context.api.get(CONFIG_MAPS.format(other))["metadata"]
                     ["resourceVersion"])
        context.expect(int(line["resourceVersion"]) <= newest, f"{line}")
        context.expect(actor.expect_done("state", space)["resourceVersion"]
                       == "live", "not live after a verify")
        context.sentinel(actor, space)
        context.finish(actor, CONFIG_MAPS.format(space))
        context.expect(not actor.fold.relists, f"{actor.fold.relists}")
        kinds = [a.kind for a in context.asked(space)]
        context.expect(VERIFY in kinds and kinds.count(LIST) <= 1
                       and kinds.count(STREAM) <= 1 and WATCH in kinds,
                       f"asked {kinds}")


@scenario(severed=True)
def verify_deaf_watch(context):
    """A watch whose connection is dead and does not say so, changes that it does
    not bring: they have come when a verify has ended."""
    space = context.namespace()
    fill(context, space, 5)
    with context.relayed() as (relay, access):
        with context.actor("configmaps", "-n", space, at=access) as actor:
            actor.wait_synced()
            context.sentinel(actor, space)
            relay.forget()
            obj = context.write_sentinel(space)
            began = time.monotonic()
            actor.expect_done("verify", space, VERIFY_MS)
            context.measure("verify of a watch that is deaf",
                            time.monotonic() - began, 15)
            actor.expect_done("get", f"{space}/{obj['metadata']['name']}")
            context.finish(actor, CONFIG_MAPS.format(space))


@scenario
def wait_for_what_was_written(context):
    """The cache holds a write when a wait for its version has ended; one in
    another namespace takes a bookmark; one that is yet to come a time-out."""
    api = context.api
    space, other = context.namespace(), context.namespace()
    collection = CONFIG_MAPS.format(space)
    with context.actor("configmaps", "-n", space) as actor:
        actor.wait_synced()
        for i in range(20):
            written = api.create(collection, config_map(f"w-{i}"))
            version = written["metadata"]["resourceVersion"]
            actor.expect_done("wait", space, version, VERIFY_MS)
            line = actor.expect_done("get", f"{space}/w-{i}")
            context.expect(line["resourceVersion"] == version, f"{line}")
        foreign = api.create(CONFIG_MAPS.format(other), config_map("m"))
        began = time.monotonic()
        actor.expect_done("wait", space, foreign["metadata"]["resourceVersion"],
                          VERIFY_MS)
        context.measure("wait for a version of another namespace",
                        time.monotonic() - began, 15)
        actor.expect_done("wait", space, 10 ** 12, 8000, code="KIN_ETIMEDOUT")
        context.sentinel(actor, space)
        context.finish(actor, collection)
        context.expect(not actor.fold.relists, f"{actor.fold.relists}")


def gadget_definition():
    definition = widget_definition()
    definition["metadata"]["name"] = f"gadgets.{GROUP}"
    definition["spec"]["names"] = {"plural": "gadgets", "singular": "gadget",
                                   "kind": "Gadget", "listKind": "GadgetList"}
    return definition


def gadget(name):
    return {**widget(name, {"value": 1}), "kind": "Gadget"}


@scenario
def resource_comes_and_goes(context):
    """404 says so at once. A resource that comes, or comes back, is taken up
    within seconds; when it goes, its objects go."""
    api, space = context.api, context.namespace()
    collection = f"/apis/{GROUP}/v1/namespaces/{space}/gadgets"
    with context.actor(f"gadgets.v1.{GROUP}", "-n", space,
                       "--clear-when-absent") as actor:
        actor.wait_error()
        context.expect(actor.fold.errors[0]["class"] == "absent",
                       f"{actor.fold.errors[0]}")
        define(api, gadget_definition())
        began = time.monotonic()
        actor.wait_synced()
        context.measure("sync of a new resource", time.monotonic() - began, 15)
        for i in range(10):
            actor.wait_object(f"{space}/g-{i}",
                              api.create(collection, gadget(f"g-{i}")))
        failures = len(actor.fold.errors)
        actor.fold.is_clearing = True
        api.delete(f"{DEFINITIONS}/gadgets.{GROUP}")
        actor.wait_for("error of class absent", lambda fold: any(
            e["class"] == "absent" for e in fold.errors[failures:]))
        actor.wait_for("the last object's end", lambda fold: not fold.entries)
        actor.fold.relist_expected(space)
        # Its end takes a while, in which it can still be Established.
        definition = f"{DEFINITIONS}/gadgets.{GROUP}"
        await_true("end of the definition",
                   lambda: api.request("GET", definition)[0] == 404)
        define(api, gadget_definition())
        began = time.monotonic()
        actor.wait_object(f"{space}/again",
                          api.create(collection, gadget("again")))
        context.measure("first object of a resource that came back",
                        time.monotonic() - began, 15)
        context.finish(actor, collection)
    # The next one begins without it; its end takes a while.
    api.delete(f"{DEFINITIONS}/gadgets.{GROUP}")
    await_true("end of the gadgets",
               lambda: api.request("GET", collection)[0] == 404)
