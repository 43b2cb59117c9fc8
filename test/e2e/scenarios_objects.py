# SPDX-License-Identifier: MIT
"""What comes through: kinds of resources, odd contents, many changes."""

import json
import urllib.parse

from api import CONFIG_MAPS, PODS, ApiError, key_of
from objects import (LONG_STRING, ODD_SPEC, ODD_STRINGS, WIDGETS, config_map,
                     pod, widget, widget_definition, widgets)
from ready import await_true
from scenario import in_parallel, scenario

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@scenario
def pods(context):
    """Pods of all namespaces: there before, created, changed, deleted."""
    api = context.api
    spaces = [context.namespace(), context.namespace()]
    for space in spaces:
        for i in range(20):
            api.create(PODS.format(space), pod(f"old-{i}"))
    with context.informer("pods", "-A") as kin:
        kin.wait_synced()
        for space in spaces:
            collection = PODS.format(space)
            for i in range(10):
                api.create(collection, pod(f"new-{i}"))
                api.patch(f"{collection}/old-{i}",
                          {"metadata": {"labels": {"touched": "yes"}}})
            for name in ("old-0", "old-19", "new-0"):
                api.delete(f"{collection}/{name}")
            api.create(collection, pod("old-0"))
        context.sentinel(kin, spaces[1], "pods")
        context.finish(kin, "/api/v1/pods")
        # A pod that is deleted first gets its time of deletion, an update.
        context.expect_changes(kin, add=2 * (10 + 1) + 1, update=2 * (10 + 3),
                               delete=2 * 3)


@scenario
def pods_with_odd_strings(context):
    api, space = context.api, context.namespace()
    collection = PODS.format(space)
    # The server refuses NUL nowhere here, but the value of a variable must
    # be what a process can be given, so the controls stay in annotations.
    values = {f"V{i}": text for i, text in enumerate(ODD_STRINGS.values())}
    api.create(collection, pod("before", annotations=ODD_STRINGS,
                               environment=values))
    with context.informer("pods", "-n", space, show_object=True) as kin:
        kin.wait_synced()
        api.create(collection, pod("after", annotations=ODD_STRINGS,
                                   environment=values))
        for name, text in ODD_STRINGS.items():
            api.patch(f"{collection}/before",
                      {"metadata": {"annotations": {"latest": text + name}}})
        context.sentinel(kin, space, "pods")
        context.finish(kin, collection)


@scenario
def config_maps_with_odd_strings(context):
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    for name, text in ODD_STRINGS.items():
        api.create(collection, config_map(f"before-{name}", {"data": text}))
    api.create(collection, config_map("long", {"data": LONG_STRING}))
    with context.informer("configmaps", "-n", space, show_object=True) as kin:
        kin.wait_synced()
        for name, text in ODD_STRINGS.items():
            api.create(collection, config_map(
                f"after-{name}", ODD_STRINGS, annotations={"text": text}))
            api.patch(f"{collection}/before-{name}",
                      {"data": {"data": None, "other": text * 2}})
        api.patch(f"{collection}/long", {"data": {"more": LONG_STRING}})
        context.sentinel(kin, space)
        context.finish(kin, collection)


@scenario
def custom_resource_with_odd_strings(context):
    """A custom resource: odd names too, and lists with items first."""
    api, space = context.api, context.namespace()
    define(api, widget_definition())
    collection = widgets(space)
    api.create(collection, widget("before", ODD_SPEC))
    api.create(collection, widget("long", {"data": LONG_STRING, "also": ""}))
    with context.informer(WIDGETS, "-n", space, show_object=True) as kin:
        kin.wait_synced()
        api.create(collection, widget("after", ODD_SPEC, ODD_STRINGS))
        for name, text in ODD_STRINGS.items():
            api.create(collection, widget(f"a-{name}", {text: text}))
            api.patch(f"{collection}/before",
                      {"spec": {"latest": {text: name}}})
        api.patch(f"{collection}/long", {"spec": {"also": LONG_STRING}})
        last = api.create(collection, widget("zz-sentinel", {}))
        kin.wait_object(key_of(last), last)
        context.finish(kin, collection)


def resource_of(definition):
    spec = definition["spec"]
    return "/apis/{}/{}/{}".format(
        spec["group"], spec["versions"][0]["name"], spec["names"]["plural"])


def define(api, definition):
    """Creates the definition unless an earlier scenario has done so; returns
    when its resource can be listed."""
    name = definition["metadata"]["name"]
    try:
        api.create(DEFINITIONS, definition)
    except ApiError as error:
        if error.status != 409:
            raise
    query = urllib.parse.urlencode({
        "watch": "1", "fieldSelector": f"metadata.name={name}",
        "timeoutSeconds": "30"})
    # Watches until the server says it serves the resource.
    for line in api.stream(f"{DEFINITIONS}?{query}"):
        status = json.loads(line)["object"].get("status") or {}
        if any(c["type"] == "Established" and c["status"] == "True"
               for c in status.get("conditions") or []):
            await_true(f"{name} in the API", lambda: api.request(
                "GET", resource_of(definition))[0] == 200)
            return
    raise AssertionError(f"{name} was not established")


@scenario
def metadata_only(context):
    """PartialObjectMetadata, in the list and in the watch."""
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    for name, text in ODD_STRINGS.items():
        api.create(collection, config_map(f"before-{name}", {"data": text},
                                          annotations={"text": text}))
    with context.informer("configmaps", "-n", space, "--metadata-only",
                          show_object=True) as kin:
        kin.wait_synced()
        for name, text in ODD_STRINGS.items():
            api.create(collection, config_map(f"after-{name}", {"data": text},
                                              annotations={"text": text}))
        context.sentinel(kin, space)
        context.finish(kin, collection, metadata_only=True)


@scenario
def many_objects(context):
    """A list of several pages of the default size, with changes meanwhile."""
    space = context.namespace()
    collection = CONFIG_MAPS.format(space)
    count = 1600
    in_parallel(lambda i: context.api.create(
        collection, config_map(f"m-{i}", {"data": f"{i} " * 500})),
        range(count))
    with context.informer("configmaps", "-n", space) as kin:
        for i in range(50):
            context.api.patch(f"{collection}/m-{i * 7}",
                              {"data": {"data": "changed"}})
        kin.wait_synced()
        context.expect(kin.fold.synced["objects"] == count,
                       f"{kin.fold.synced}")
        context.sentinel(kin, space)
        context.finish(kin, collection)


@scenario
def two_thousand_changes(context):
    """Creations, changes and deletions at full speed, several writers."""
    space = context.namespace()
    collection = CONFIG_MAPS.format(space)
    count = 250
    with context.informer("configmaps", "-n", space) as kin:
        kin.wait_synced()

        def life(i):
            path = f"{collection}/m-{i}"
            context.api.create(collection, config_map(f"m-{i}"))
            for value in range(6):
                context.api.patch(path, {"data": {"value": f"{value}-{i}"}})
            context.api.delete(path)
            if i % 2:
                context.api.create(collection, config_map(f"m-{i}"))

        in_parallel(life, range(count))
        context.sentinel(kin, space)
        context.finish(kin, collection)
        # All of them: changes may be merged only when a handler falls behind
        # by thousands.
        again = count // 2
        context.expect_changes(kin, add=count + again + 1, update=count * 6,
                               delete=count)


@scenario
def every_change_of_one_object(context):
    """A thousand versions of one object, none skipped while none is queued."""
    space = context.namespace()
    collection = CONFIG_MAPS.format(space)
    context.api.create(collection, config_map("one"))
    with context.informer("configmaps", "-n", space) as kin:
        kin.wait_synced()
        versions = [context.api.patch(f"{collection}/one",
                                      {"data": {"value": f"change {i}"}})
                    ["metadata"]["resourceVersion"] for i in range(1000)]
        context.sentinel(kin, space)
        context.finish(kin, collection)
        seen = [line["resourceVersion"] for line in kin.fold.changes
                if line["event"] == "update"]
        context.expect(seen == versions, "versions seen are not those written: "
                       f"{len(seen)} of {len(versions)}")
