# SPDX-License-Identifier: MIT
"""What is asked for: selectors, namespaces, ends."""

import signal

from api import CONFIG_MAPS, PODS
from objects import config_map, pod
from scenario import scenario


@scenario
def label_selector(context):
    """Objects enter and leave the selection by a change of their labels."""
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    selector = "app in (a, b),!hidden"
    for i in range(10):
        api.create(collection, config_map(f"in-{i}", labels={"app": "a"}))
        api.create(collection, config_map(f"out-{i}", labels={"app": "c"}))
    with context.informer("configmaps", "-n", space, "-l", selector) as kin:
        kin.wait_synced()
        context.expect(kin.fold.synced["objects"] == 10, f"{kin.fold.synced}")
        for i in range(5):
            relabel(api, f"{collection}/in-{i}", {"app": "c"})      # leaves
            relabel(api, f"{collection}/out-{i}", {"app": "b"})     # enters
            relabel(api, f"{collection}/out-{i + 5}", {"x": "y"})   # stays out
            relabel(api, f"{collection}/in-{i + 5}", {"app": "b"})  # stays in
        relabel(api, f"{collection}/in-0", {"app": "a"})            # comes back
        relabel(api, f"{collection}/in-9", {"hidden": "yes"})
        api.delete(f"{collection}/in-8")
        api.delete(f"{collection}/out-9")                           # unseen
        context.sentinel(kin, space, labels={"app": "b"})
        context.finish(kin, collection, label_selector=selector)
        context.expect_changes(kin, add=5 + 1 + 1, update=5, delete=5 + 2)


def relabel(api, path, labels):
    api.patch(path, {"metadata": {"labels": labels}})


@scenario
def field_selector(context):
    """Pods enter and leave by their phase."""
    api, space = context.api, context.namespace()
    collection = PODS.format(space)
    selector = "status.phase=Running"
    for i in range(6):
        api.create(collection, pod(f"p-{i}"))
    for i in range(3):
        set_phase(api, f"{collection}/p-{i}", "Running")
    with context.informer("pods", "-n", space,
                          "--field-selector", selector) as kin:
        kin.wait_synced()
        context.expect(kin.fold.synced["objects"] == 3, f"{kin.fold.synced}")
        set_phase(api, f"{collection}/p-0", "Failed")
        set_phase(api, f"{collection}/p-3", "Running")
        relabel(api, f"{collection}/p-1", {"x": "y"})
        relabel(api, f"{collection}/p-4", {"x": "y"})
        api.delete(f"{collection}/p-2")
        api.create(collection, pod("last"))
        last = set_phase(api, f"{collection}/last", "Running")
        kin.wait_object(f"{space}/last", last)
        context.finish(kin, collection, field_selector=selector)
        # Both labels and phases change; a pod's deletion is an update first.
        context.expect_changes(kin, add=2, update=2, delete=2)


def set_phase(api, path, phase):
    return api.patch(f"{path}/status", {"status": {"phase": phase}})


@scenario
def one_object_by_name(context):
    """The selector of a watch on a single object, absent at first."""
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    selector = "metadata.name=wanted"
    api.create(collection, config_map("other"))
    with context.informer("configmaps", "-n", space,
                          "--field-selector", selector) as kin:
        kin.wait_synced()
        api.create(collection, config_map("wanted"))
        api.delete(f"{collection}/wanted")
        api.patch(f"{collection}/other", {"data": {"value": "1"}})
        last = api.create(collection, config_map("wanted"))
        kin.wait_object(f"{space}/wanted", last)
        context.finish(kin, collection, field_selector=selector)
        context.expect_changes(kin, add=2, delete=1)


@scenario
def empty_namespace(context):
    """Nothing there: synced with nothing, then the first object."""
    space = context.namespace()
    with context.informer("configmaps", "-n", space) as kin:
        kin.wait_synced()
        context.expect(kin.fold.synced["objects"] == 0, f"{kin.fold.synced}")
        context.expect(not kin.fold.changes, f"{kin.fold.changes}")
        context.sentinel(kin, space)
        context.finish(kin, CONFIG_MAPS.format(space))


@scenario
def namespace_that_does_not_exist(context):
    """Its list is empty, no error; its objects come once it is there."""
    space = context.unused_name()
    with context.informer("configmaps", "-n", space) as kin:
        kin.wait_synced()
        context.expect(kin.fold.synced["objects"] == 0, f"{kin.fold.synced}")
        context.api.create_namespace(space)
        context.sentinel(kin, space)
        context.finish(kin, CONFIG_MAPS.format(space))
        context.expect(not kin.fold.errors, f"{kin.fold.errors}")


@scenario
def two_namespaces(context):
    """One informer, two scopes, the same names in both; a third unseen."""
    api = context.api
    spaces = [context.namespace(), context.namespace()]
    unseen = context.namespace()
    for space in (*spaces, unseen):
        for i in range(8):
            api.create(CONFIG_MAPS.format(space), config_map(f"m-{i}"))
    with context.informer("configmaps", "-n", spaces[0], "-n", spaces[1],
                          namespaces=spaces) as kin:
        kin.wait_synced()
        context.expect(kin.fold.synced["objects"] == 16, f"{kin.fold.synced}")
        for space in (*spaces, unseen):
            collection = CONFIG_MAPS.format(space)
            for i in range(4):
                api.patch(f"{collection}/m-{i}", {"data": {"value": space}})
                api.create(collection, config_map(f"n-{i}"))
            api.delete(f"{collection}/m-7")
        for space in spaces:
            context.sentinel(kin, space)
        context.finish(kin, *map(CONFIG_MAPS.format, spaces))
        context.expect_changes(kin, add=2 * (4 + 1), update=2 * 4, delete=2)
        changed = {line["key"].split("/")[0] for line in kin.fold.changes}
        context.expect(changed == set(spaces), f"{changed}")


@scenario
def resync(context):
    """--resync repeats what is held, marked as such, among real changes."""
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    for i in range(5):
        api.create(collection, config_map(f"m-{i}"))
    with context.informer("configmaps", "-n", space, "--resync", "1",
                          resync=True) as kin:
        kin.wait_synced()
        for round_ in (1, 2):
            kin.wait_for(f"{round_ * 5} resyncs", lambda fold: sum(
                1 for line in fold.changes if line.get("resync")) >= round_ * 5)
            api.patch(f"{collection}/m-0", {"data": {"value": f"{round_}"}})
        context.sentinel(kin, space)
        context.finish(kin, collection)
        real = [line["event"] for line in kin.fold.changes
                if not line.get("resync")]
        context.expect(real == ["add"] * 5 + ["update"] * 2 + ["add"],
                       f"{real}")


@scenario
def once(context):
    """--once prints the state and ends with 0."""
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    for i in range(12):
        api.create(collection, config_map(f"m-{i}"))
    with context.informer("configmaps", "-n", space, "--once") as kin:
        status = kin.wait_end()
        context.expect(status == 0, f"exit status {status}")
        kin.fold.compare(api.list(collection))
        context.expect(kin.fold.synced, "no synced line")
        context.expect(len(kin.fold.changes) == 12, f"{kin.fold.changes}")
        context.expect_legal(kin)


@scenario
def exit_after(context):
    """--exit-after N ends with 0 after N changes past the sync."""
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    api.create(collection, config_map("m"))
    with context.informer("configmaps", "-n", space,
                          "--exit-after", "3") as kin:
        kin.wait_synced()
        for i in range(3):
            api.patch(f"{collection}/m", {"data": {"value": f"change {i}"}})
        status = kin.wait_end()
        context.expect(status == 0, f"exit status {status}")
        kin.fold.compare(api.list(collection))
        context.expect_changes(kin, update=3)
        context.expect_legal(kin)


@scenario
def ends_on_sigterm(context):
    """SIGTERM in the middle of a burst: whole lines, exit status 0."""
    api, space = context.api, context.namespace()
    collection = CONFIG_MAPS.format(space)
    with context.informer("configmaps", "-n", space) as kin:
        kin.wait_synced()
        for i in range(50):
            api.create(collection, config_map(f"m-{i}"))
        kin.wait_for("first event", lambda fold: fold.changes)
        kin.stop(signal.SIGTERM)
        context.expect_legal(kin)
