# SPDX-License-Identifier: MIT
"""Lists in pages. An API server that caches what it has sends a first list in
one piece, whatever its limit, so these scenarios have one that does not cache.
"""

import contextlib

from api import CONFIG_MAPS
from asked import LIST, PAGE, STREAM, WATCH
from kin import WAIT_S
from objects import config_map
from relay import Relay
from scenario import in_parallel, scenario

COUNT = 95
PAGE_SIZE = 10
OBJECT_BYTES = 50000
# In the middle of the third page.
PART = 5 * PAGE_SIZE * OBJECT_BYTES // 2


@contextlib.contextmanager
def objects_without_cache(context):
    """Yields an ApiServer that has no cache, and a namespace with objects m-00,
    m-01, ..., which come in this order."""
    space = context.namespace()
    in_parallel(lambda i: context.api.create(
        CONFIG_MAPS.format(space),
        config_map(f"m-{i:02}", {"data": "x" * OBJECT_BYTES})), range(COUNT))
    with context.cluster.special_apiserver(
            f"without-cache-{context.unused_name()}",
            "--watch-cache=false") as server:
        yield server, space


@contextlib.contextmanager
def between_pages(context, server, space):
    """Within it, kinformer has got the first two pages but not the fourth."""
    with Relay(server.port) as relay:
        access = access_to(context, relay.port)
        relay.hold_after(PART)
        with context.informer("configmaps", "-n", space, "--no-watch-list",
                              "--page-size", str(PAGE_SIZE), at=access) as kin:
            context.expect(relay.wait_held(WAIT_S), "no pages came")
            yield relay, kin


def access_to(context, port):
    return context.direct_access(port, "--token-file",
                                 context.cluster.token_file)


@scenario(ways=())
def pages(context):
    """A list in many pages is one list, of one moment: what is changed
    meanwhile is seen by the watch. A stream of this server is no different."""
    api = context.api
    with objects_without_cache(context) as (server, space):
        collection = CONFIG_MAPS.format(space)
        with between_pages(context, server, space) as (relay, kin):
            for name in ("m-00", f"m-{COUNT - 1}"):
                api.patch(f"{collection}/{name}", {"data": {"value": "new"}})
            for name in ("m-01", f"m-{COUNT - 2}"):
                api.delete(f"{collection}/{name}")
            api.create(collection, config_map("m-00-new"))
            api.create(collection, config_map("n"))
            relay.release()
            kin.wait_synced()
            context.expect(kin.fold.synced["objects"] == COUNT,
                           f"{kin.fold.synced}")
            context.sentinel(kin, space)
            context.finish(kin, collection)
            context.expect_changes(kin, add=2 + 1, update=2, delete=2)
            context.expect(not kin.fold.errors, f"{kin.fold.errors}")
        listed = [LIST] + [PAGE] * (COUNT // PAGE_SIZE) + [WATCH]
        context.expect_asked(space, *listed, server=server)
        with context.informer("configmaps", "-n", space,
                              at=access_to(context, server.port)) as kin:
            kin.wait_synced()
            context.sentinel(kin, space)
            context.finish(kin, collection)
            context.expect_changes(kin, add=1)
        context.expect_asked(space, *listed, STREAM, server=server)


@scenario(ways=())
def history_lost_between_pages(context):
    """The pages that are left cannot be had any more; those that have come
    count for nothing, and all comes at once."""
    api = context.api
    with objects_without_cache(context) as (server, space):
        collection = CONFIG_MAPS.format(space)
        with between_pages(context, server, space) as (relay, kin):
            api.delete(f"{collection}/m-00")
            api.patch(f"{collection}/m-01", {"data": {"value": "new"}})
            context.cluster.compact()
            relay.release()
            kin.wait_synced()
            context.expect(kin.fold.synced["objects"] == COUNT - 1,
                           f"{kin.fold.synced}")
            context.sentinel(kin, space)
            context.finish(kin, collection)
            context.expect_changes(kin, add=1)
            context.expect([e["status"] for e in kin.fold.errors] == [410],
                           f"{kin.fold.errors}")
        asked = context.asked(space, server)
    kinds = [a.kind for a in asked if a.kind != PAGE]
    context.expect(kinds == [LIST, LIST, WATCH], f"asked {asked}")
    context.expect("limit" not in asked[-2].query, f"asked {asked[-2]}")
