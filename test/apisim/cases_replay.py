# SPDX-License-Identifier: MIT
"""Benchmark mode."""

import json
import time

from sim import PARTIAL, PARTIAL_LIST, Closed, wait_until

PODS = "/api/v1/pods"
WATCH = "/api/v1/pods?watch=1"
INITIAL = ("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
           "&allowWatchBookmarks=true")


def replay(start, *options, pods=200, events=300):
    return start("--replay", "--pods", str(pods), "--replay-events",
                 str(events), *options)


def version(item):
    return int(item["metadata"]["resourceVersion"])


def by_uid(items):
    return {x["metadata"]["uid"]: version(x) for x in items}


def test_list_is_whole_and_valid(start):
    sim = replay(start)
    answer = sim.get(PODS)
    items = answer.json()["items"]
    assert len(items) == 200 and list(items[0]) == ["metadata", "spec",
                                                    "status"]
    assert abs(len(answer.body) / 200 - 5400) < 100
    assert len({x["metadata"]["uid"] for x in items}) == 200
    assert version(answer.json()) >= max(version(x) for x in items)
    for query in ("?limit=10", "?resourceVersion=0", "?limit=500"):
        assert sim.get(PODS + query).body == answer.body


def test_list_of_nothing(start):
    assert replay(start, pods=0).get(PODS).json()["items"] == []


def test_events_have_a_chunk_each(start):
    sim = replay(start)
    first = sim.get(PODS).json()
    stream = sim.watch(f"{WATCH}&resourceVersion={version(first)}")
    seen = by_uid(first["items"])
    last = version(first)
    for _ in range(300):
        chunk = stream.chunk()
        event = json.loads(chunk)
        assert chunk.endswith(b"}\n") and event["type"] == "MODIFIED"
        assert event["object"]["kind"] == "Pod"
        assert event["object"]["metadata"]["uid"] in seen
        assert version(event["object"]) == last + 1
        last += 1
    assert stream.quiet()
    assert sim.stats()["eventsSent"] == 300


def shape_of(value):
    """Which members there are. The length of env is left out: that is how pods
    of one shape differ in size."""
    if isinstance(value, dict):
        return tuple((name, shape_of(member) if name != "env" else 0)
                     for name, member in value.items() if name != "env")
    if isinstance(value, list):
        return tuple(shape_of(member) for member in value)
    return type(value).__name__


def size_of(value):
    return len(json.dumps(value, separators=(",", ":")))


def test_shapes_differ(start):
    sim = replay(start, "--shapes", "200", pods=2000, events=20)
    items = sim.get(PODS).json()["items"]
    assert len({shape_of(item) for item in items}) == 200
    assert {len(item["spec"]["containers"]) for item in items} == set(range(1, 7))
    assert len({item["metadata"]["uid"] for item in items}) == 2000
    sizes = sorted(size_of(item) for item in items)
    assert 0.9 < sum(sizes) / len(sizes) / 5400 < 1.1
    assert 1800 < sizes[0] < 2600 and 11000 < sizes[-1] < 13000
    stream = sim.watch(f"{WATCH}&resourceVersion=2001")
    shapes = {item["metadata"]["uid"]: shape_of(item) for item in items}
    for event in stream.events(20):
        pod = {k: v for k, v in event["object"].items()
               if k not in ("kind", "apiVersion")}
        assert shape_of(pod) == shapes[pod["metadata"]["uid"]]


def test_shapes_without_replay_and_in_number(start):
    sim = start("--pods", "100", "--shapes", "3", "--seed", "7")
    assert len({shape_of(i) for i in sim.get(PODS).json()["items"]}) == 3
    sim = replay(start, "--shapes", "500", pods=1000)
    items = sim.get(PODS).json()["items"]
    assert len({shape_of(item) for item in items}) == 500


def test_custom_resource(start):
    sim = replay(start, "--resource", "widgets.v1.example.com",
                 "--replay-resource", "widgets", "--shapes", "10", pods=30,
                 events=5)
    path = "/apis/example.com/v1/widgets"
    answer = sim.get(path).json()
    assert list(answer) == ["apiVersion", "items", "kind", "metadata"]
    assert answer["kind"] == "WidgetList" and version(answer) == 31
    for item in answer["items"]:
        assert list(item) == ["apiVersion", "kind", "metadata", "spec", "status"]
        assert item["apiVersion"] == "example.com/v1" and item["kind"] == "Widget"
    events = sim.watch(f"{path}?watch=1&resourceVersion=31").events(5)
    assert all(list(e["object"])[:2] == ["apiVersion", "kind"] for e in events)
    assert [version(e["object"]) for e in events] == list(range(32, 37))
    assert sim.get(PODS).json()["items"] == []
    metadata = sim.get(path, PARTIAL_LIST).json()
    assert metadata["kind"] == "PartialObjectMetadataList"
    assert all(set(x) == {"kind", "apiVersion", "metadata"}
               for x in metadata["items"]) and len(metadata["items"]) == 30


def test_watches_of_a_custom_resource_end_by_its_plural(start):
    sim = replay(start, "--resource", "widgets.v1.example.com",
                 "--replay-resource", "widgets", events=0)
    stream = sim.watch("/apis/example.com/v1/widgets?watch=1"
                       "&resourceVersion=0&allowWatchBookmarks=true")
    stream.event()
    for plural, count in (("pods", 0), ("widgets", 1)):
        assert sim.control("expire-watches", {"plural": plural}) == {
            "watches": count}


def test_custom_resource_of_nothing_and_after_a_change(start):
    options = ("--resource", "widgets.v1.example.com", "--replay-resource",
               "widgets", "--replay-changed", "50")
    path = "/apis/example.com/v1/widgets"
    assert replay(start, *options, pods=0).get(path).json()["items"] == []
    sim = replay(start, *options, pods=100, events=0)
    first, second = (sim.get(path).json() for _ in range(2))
    before, after = by_uid(first["items"]), by_uid(second["items"])
    assert before.keys() == after.keys()
    assert 20 < sum(before[uid] != after[uid] for uid in before) < 80
    assert all(x["kind"] == "Widget" for x in second["items"])
    assert version(second) >= max(after.values())


def test_each_client_gets_list_and_events(start):
    sim = replay(start)
    for _ in range(3):
        at = version(sim.get(PODS).json())
        events = sim.watch(f"{WATCH}&resourceVersion={at}").events(300)
        assert version(events[-1]["object"]) == at + 300


def test_watch_from_the_middle_of_the_events(start):
    sim = replay(start)
    at = version(sim.get(PODS).json())
    stream = sim.watch(f"{WATCH}&resourceVersion={at + 250}")
    assert version(stream.events(50)[0]["object"]) == at + 251
    assert stream.quiet()
    assert sim.watch(f"{WATCH}&resourceVersion={at + 300}").quiet()


def test_initial_events(start):
    sim = replay(start)
    listed = sim.get(PODS).json()
    stream = sim.watch(WATCH + INITIAL)
    events = stream.events(200)
    assert {x["type"] for x in events} == {"ADDED"}
    assert by_uid(x["object"] for x in events) == by_uid(listed["items"])
    end = stream.event()
    assert end["type"] == "BOOKMARK" and version(end["object"]) == version(
        listed)
    assert end["object"]["metadata"]["annotations"] == {
        "k8s.io/initial-events-end": "true"}
    assert {x["type"] for x in stream.events(300)} == {"MODIFIED"}
    assert stream.quiet()


def test_rate(start):
    sim = replay(start, "--replay-rate", "400", pods=20, events=200)
    began = time.monotonic()
    stream = sim.watch(f"{WATCH}&resourceVersion=21")
    stream.events(200)
    assert 0.4 < time.monotonic() - began < 4


def test_changed_share_of_later_lists(start):
    sim = replay(start, "--replay-changed", "10", pods=1000, events=0)
    lists = [sim.get(PODS).json() for _ in range(4)]
    for before, after in zip(lists, lists[1:]):
        a, b = by_uid(before["items"]), by_uid(after["items"])
        assert a.keys() == b.keys()
        changed = [uid for uid in a if a[uid] != b[uid]]
        assert 60 < len(changed) < 140
        assert all(b[uid] > version(before) for uid in changed)
        assert max(b.values()) <= version(after)
    again = sim.control("replay-reset") and sim.get(PODS).json()
    assert again == lists[0]


def test_expiry_moves_the_state_on(start):
    """After it, lists show the events, and watches continue from there."""
    sim = replay(start, pods=100, events=50)
    at = version(sim.get(PODS).json())
    stream = sim.watch(f"{WATCH}&resourceVersion={at}")
    newest = {}
    for event in stream.events(50):
        newest[event["object"]["metadata"]["uid"]] = event["object"]
    assert sim.control("expire-watches") == {"watches": 1}
    assert stream.event()["object"]["code"] == 410
    assert stream.event() is None
    gone = sim.watch(f"{WATCH}&resourceVersion={at + 50}")
    assert gone.event()["object"]["code"] == 410
    relisted = sim.get(PODS).json()
    assert version(relisted) > at + 50
    for item in relisted["items"]:
        want = newest.get(item["metadata"]["uid"])
        if want is not None:
            assert version(item) == version(want)
            assert item["status"] == want["status"]
        else:
            assert version(item) <= at
    assert sim.watch(f"{WATCH}&resourceVersion={version(relisted)}").quiet()


def test_metadata_only(start):
    for options in ((), ("--replay-metadata",)):
        sim = replay(start, *options, pods=50, events=20)
        full = sim.get(PODS).json()
        meta = sim.get(PODS, PARTIAL_LIST).json()
        assert meta["kind"] == "PartialObjectMetadataList"
        assert [x["metadata"] for x in meta["items"]] == [
            x["metadata"] for x in full["items"]]
        assert list(meta["items"][0]) == ["kind", "apiVersion", "metadata"]
        at = version(full)
        one = sim.watch(f"{WATCH}&resourceVersion={at}").events(20)
        two = sim.watch(f"{WATCH}&resourceVersion={at}", PARTIAL).events(20)
        assert [x["object"]["metadata"] for x in one] == [
            x["object"]["metadata"] for x in two]
        assert two[0]["object"]["kind"] == "PartialObjectMetadata"
    assert sim.get(PODS, PARTIAL).status == 406


def test_faults_and_drops(start):
    sim = replay(start, "--fault", "cut,how=fin,verb=watch,after-events=7,"
                 "count=1")
    stream = sim.watch(f"{WATCH}&resourceVersion=201")
    stream.events(7)
    try:
        stream.event()
        raise AssertionError("not cut")
    except Closed:
        pass
    stream = sim.watch(WATCH + INITIAL)
    stream.events(10)
    assert sim.control("drop-watches", {"how": "rst"}) == {"watches": 1}
    wait_until(lambda: sim.stats()["watches"]["open"] == 0, "watch ends")


def test_timeout_and_bookmarks(start):
    sim = replay(start, "--bookmark-interval-ms", "200", pods=5, events=3)
    answer = sim.get(f"{WATCH}&resourceVersion=6&timeoutSeconds=5"
                     "&allowWatchBookmarks=1")
    assert answer.ended
    types = [x["type"] for x in answer.lines()]
    assert types[:3] == ["MODIFIED"] * 3
    assert set(types[3:]) == {"BOOKMARK"} and len(types) > 4
    assert version(answer.lines()[-1]["object"]) == 9


def test_a_timeout_beyond_all_clocks(start):
    sim = start("--replay", "--pods", "1", "--replay-events", "2")
    stream = sim.watch(f"{PODS}?watch=1&resourceVersion=2&timeoutSeconds="
                       f"{2**63 - 1}")
    stream.events(2)
    assert stream.quiet()


def test_reader_that_is_behind_stalls_nobody(start):
    """More than the sockets hold is left to send when bookmarks are due."""
    sim = replay(start, "--bookmark-interval-ms", "50", events=3000)
    stream = sim.watch(f"{WATCH}&resourceVersion=201&allowWatchBookmarks=1")
    began = time.monotonic()
    while time.monotonic() - began < 0.3:
        assert sim.stats()["watches"]["open"] == 1
    types = [event["type"] for event in stream.events(3000)]
    assert set(types) == {"MODIFIED"}
    assert stream.event()["type"] == "BOOKMARK"


def test_everything_else_is_ordinary(start):
    sim = replay(start, pods=5)
    maps = "/api/v1/namespaces/default/configmaps"
    sim.create(maps, "m")
    assert len(sim.get(maps).json()["items"]) == 1
    assert sim.get("/api/v1/namespaces/ns-0/pods").json()["items"] == []
