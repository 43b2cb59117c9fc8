# SPDX-License-Identifier: MIT
"""Shards of a resource: with a server that selects their objects (feature gate
ShardedListAndWatch, KEP-5866), and with one that ignores the selector.
"""

import contextlib
import json

from api import CONFIG_MAPS
from objects import config_map
from scenario import in_parallel, scenario
from scenarios_lists import access_to

COUNT = 300
SHARDS = 3
GATE = "--feature-gates=ShardedListAndWatch=true"


@contextlib.contextmanager
def shards(context, server, space, *arguments):
    """Yields an informer for each shard, in sync."""
    access = access_to(context, server.port)
    with contextlib.ExitStack() as stack:
        kins = [stack.enter_context(context.informer(
            "configmaps", "-n", space, "--shard", f"{i}/{SHARDS}", "--stats",
            *arguments, at=access)) for i in range(SHARDS)]
        for kin in kins:
            kin.wait_synced()
        yield kins


def received_bytes(kin):
    """Of all answers, from the object that --stats prints."""
    kin.stop()
    last = kin.standard_error().decode().strip().splitlines()[-1]
    return json.loads(last)["client"]["receivedBytes"]


def follow(context, server, space, *arguments):
    """All shards together are the namespace, and no two have one object. Returns
    how many bytes they have received on average."""
    collection = CONFIG_MAPS.format(space)
    with shards(context, server, space, *arguments) as kins:
        found = [set(kin.fold.entries) for kin in kins]
        union = set().union(*found)
        context.expect(sum(map(len, found)) == len(union),
                       "two shards have one object")
        context.expect(len(union) >= COUNT, f"{len(union)} objects")
        context.expect(min(map(len, found)) > COUNT / SHARDS / 2,
                       f"shards of {[len(f) for f in found]} objects")
        # A new object comes to one of them, and an old one leaves one.
        new = context.unused_name()
        gone = min(union)
        owner = next(kin for kin, f in zip(kins, found) if gone in f)
        created = context.api.create(collection, config_map(new))
        context.api.delete(f"{collection}/{gone.split('/')[1]}")
        owner.wait_for("delete", lambda fold: gone not in fold.entries)
        place = fnv(created["metadata"]["uid"]) // (2 ** 64 // SHARDS)
        kins[place].wait_for(
            "add", lambda fold: f"{space}/{new}" in fold.entries)
        for i, kin in enumerate(kins):
            context.expect(i == place or f"{space}/{new}" not in
                           kin.fold.entries, f"shard {i} has it, too")
            context.expect(not kin.fold.errors, f"{kin.fold.errors}")
            context.expect_legal(kin)
        return sum(map(received_bytes, kins)) / SHARDS


def fnv(text):
    """FNV-1a, 64 bits."""
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001b3 & 2 ** 64 - 1
    return value


@scenario(ways=())
def sharded(context):
    """As lists and as streams. A server with the gate sends less."""
    space = context.namespace()
    in_parallel(lambda i: context.api.create(
        CONFIG_MAPS.format(space), config_map(
            f"m-{i:03}", {"data": "x" * 2000})), range(COUNT))
    name = context.unused_name()
    with context.cluster.special_apiserver(f"all-{name}") as server:
        all_listed = follow(context, server, space, "--no-watch-list")
        all_streamed = follow(context, server, space)
    with context.cluster.special_apiserver(f"shards-{name}", GATE) as server:
        own_listed = follow(context, server, space, "--no-watch-list")
        own_streamed = follow(context, server, space)
    context.expect(own_listed < all_listed / 2,
                   f"{own_listed} bytes a shard, {all_listed} without the gate")
    context.expect(own_streamed < all_streamed / 2,
                   f"{own_streamed} and {all_streamed} streamed")
