# SPDX-License-Identifier: MIT
"""Watches."""

import time

from cases_list import five_pods, pod, without_managed
from sim import PARTIAL, Reader, request_bytes, same_shape, wait_until, wire

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
WATCH = "/api/v1/pods?watch=1"
INITIAL = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"


def kinds(events):
    return [x["type"] for x in events]


def version_of(event):
    return int(event["object"]["metadata"]["resourceVersion"])


def name_of(event):
    return event["object"]["metadata"]["name"]


def test_changes_have_the_frames_of_the_wire(start):
    """Each event of a quiet watch is one chunk that ends in a newline."""
    sim = five_pods(start)
    stream = sim.watch(f"{WATCH}&allowWatchBookmarks=true&timeoutSeconds=30"
                       f"&resourceVersion={sim.revision()}")
    real = wire("watch-changes")
    assert stream.status == 200
    assert [n for n, _ in stream.header_list] == real.header_names()
    sim.merge(f"{PODS}/p1", {"metadata": {"labels": {"x": "y"}}})
    chunks = [stream.chunk()]
    sim.delete(f"{PODS}/p2")
    chunks.append(stream.chunk())
    if chunks[-1].count(b"\n") == 1:
        chunks.append(stream.chunk())
    pod(sim, "p6", app="a0")
    chunks.append(stream.chunk())
    assert sim.control("bookmark") == {"watches": 1}
    chunks.append(stream.chunk())
    assert all(x.endswith(b"}\n") for x in chunks)
    stream.rest = b"".join(chunks)
    mine = stream.events(5)
    theirs = without_managed(real.lines()[:5])
    assert kinds(mine) == kinds(theirs)
    for a, b in zip(mine, theirs):
        same_shape(a, b)
    # A deletion shows in two steps, with versions of their own.
    assert [version_of(x) - version_of(mine[0]) for x in mine] == [
        0, 1, 2, 3, 3]
    assert mine[1]["object"]["metadata"]["generation"] == 2
    assert mine[4] == {"type": "BOOKMARK", "object": {
        **theirs[4]["object"], "metadata": {
            "resourceVersion": str(sim.revision())}}}


def test_from_a_past_version(start):
    sim = five_pods(start)
    at = sim.revision()
    sim.merge(f"{PODS}/p1", {"metadata": {"labels": {"x": "y"}}})
    sim.delete(f"{PODS}/p2")
    stream = sim.watch(f"{WATCH}&resourceVersion={at}")
    events = stream.events(3)
    assert kinds(events) == ["MODIFIED", "MODIFIED", "DELETED"]
    assert version_of(events[0]) == at + 1
    assert stream.quiet()
    later = sim.watch(f"{WATCH}&resourceVersion={at + 1}").events(2)
    assert later == events[1:]


def test_from_0_and_unset_begin_with_the_state(start):
    sim = five_pods(start)
    for query in ("", "&resourceVersion=0"):
        stream = sim.watch(WATCH + query)
        events = stream.events(5)
        assert kinds(events) == ["ADDED"] * 5
        assert [name_of(x) for x in events] == ["p1", "p2", "p3", "p4", "p5"]
        assert stream.quiet()
        sim.merge(f"{PODS}/p1", {"metadata": {"labels": {"q": str(query)[-1:]
                                                        or "n"}}})
        assert stream.event()["type"] == "MODIFIED"


def test_too_old(start):
    sim = five_pods(start)
    for i in range(3):
        sim.create(MAPS, f"m{i}")
    sim.control("compact", {"keep": 0})
    mine = sim.get(f"{WATCH}&resourceVersion=1")
    real = wire("watch-gone")
    assert mine.status == 200 and mine.ended and len(mine.chunks) == 1
    assert mine.header_names() == real.header_names()
    a, b = mine.lines(), real.lines()
    assert len(a) == 1
    assert a[0]["object"]["message"] == (
        f"too old resource version: 1 ({sim.revision()})")
    a[0]["object"]["message"] = b[0]["object"]["message"]
    assert a == b


def test_the_oldest_version_that_can_be_watched(start):
    sim = start()
    for i in range(10):
        sim.create(MAPS, f"m{i}")
    sim.control("compact", {"keep": 4})
    oldest = int(sim.stats()["compactedRevision"])
    path = f"{MAPS}?watch=1&resourceVersion="
    assert kinds(sim.watch(f"{path}{oldest}").events(4)) == ["ADDED"] * 4
    assert sim.get(f"{path}{oldest - 1}").lines()[0]["type"] == "ERROR"


def test_cache_restart_loses_history_that_nobody_missed(start):
    sim = five_pods(start)
    at = sim.revision()
    sim.create(MAPS, "m")
    sim.control("restart-cache")
    gone = sim.get(f"{WATCH}&resourceVersion={at}").lines()
    assert gone[0]["object"]["code"] == 410
    now = sim.revision()
    assert sim.watch(f"{WATCH}&resourceVersion={now}").quiet()
    # Lists of that version still work: the store has it.
    exact = sim.get(f"/api/v1/pods?resourceVersion={at}"
                    "&resourceVersionMatch=Exact")
    assert exact.status == 200


def test_future_version_is_silent(start):
    sim = five_pods(start)
    mine = sim.get(f"{WATCH}&resourceVersion=99999999&timeoutSeconds=1")
    real = wire("watch-rv-too-large")
    assert mine.status == real.status and mine.body == real.body == b""
    assert mine.ended and mine.header_names() == real.header_names()
    ahead = sim.watch(f"{WATCH}&resourceVersion={sim.revision() + 2}")
    for i in range(3):
        sim.merge(f"{PODS}/p1", {"metadata": {"labels": {"n": str(i)}}})
    assert ahead.event()["object"]["metadata"]["labels"]["n"] == "2"


def test_invalid_version(start):
    mine = start().get(f"{WATCH}&resourceVersion=abc")
    real = wire("watch-rv-invalid")
    assert mine.status == 500
    assert mine.header_names() == real.header_names()
    assert mine.body == real.body


def test_timeout_ends_the_body(start):
    sim = five_pods(start)
    began = time.monotonic()
    answer = sim.get(f"{WATCH}&resourceVersion={sim.revision()}"
                     "&timeoutSeconds=1")
    assert answer.ended and answer.body == b""
    assert 0.9 < time.monotonic() - began < 5


def test_connection_serves_requests_after_a_watch(start):
    sim = five_pods(start)
    with sim.connect() as sock:

        reader = Reader(sock)
        sock.sendall(request_bytes("GET", f"{WATCH}&timeoutSeconds=1"))
        assert len(reader.response().lines()) == 5
        sock.sendall(request_bytes("GET", "/healthz"))
        assert reader.response().body == b"ok"


def test_selector_transitions(start):
    sim = five_pods(start)
    stream = sim.watch(f"{WATCH}&labelSelector=app%3Da1"
                       f"&resourceVersion={sim.revision()}")
    sim.merge(f"{PODS}/p1", {"metadata": {"labels": {"x": "y"}}})
    sim.merge(f"{PODS}/p3", {"metadata": {"labels": {"app": "zz"}}})
    sim.merge(f"{PODS}/p2", {"metadata": {"labels": {"app": "b"}}})
    sim.merge(f"{PODS}/p3", {"metadata": {"labels": {"app": "a1"}}})
    mine = stream.events(3)
    real = without_managed(wire("watch-selector-transition").lines())
    assert kinds(mine) == kinds(real) == ["MODIFIED", "DELETED", "ADDED"]
    for a, b in zip(mine, real):
        same_shape(a, b)
    # What leaves is shown as it was last seen, with the version of the change.
    assert mine[1]["object"]["metadata"]["labels"] == {"app": "a1"}
    assert version_of(mine[1]) == version_of(mine[0]) + 1
    assert stream.quiet()


def test_field_selector_and_namespace(start):
    sim = five_pods(start)
    sim.create("/api/v1/namespaces", "other")
    at = sim.revision()
    one = sim.watch(f"{PODS}?watch=1&resourceVersion={at}"
                    "&fieldSelector=metadata.name%3Dp2")
    bound = sim.watch(f"{WATCH}&resourceVersion={at}"
                      "&fieldSelector=spec.nodeName%3Dn1")
    space = sim.watch("/api/v1/namespaces/other/pods?watch=1"
                      f"&resourceVersion={at}")
    sim.merge(f"{PODS}/p1", {"spec": {"nodeName": "n1"}})
    sim.merge(f"{PODS}/p2", {"metadata": {"labels": {"x": "y"}}})
    sim.create("/api/v1/namespaces/other/pods", "p2")
    assert name_of(one.event()) == "p2" and one.quiet(0.1)
    event = bound.event()
    assert (event["type"], name_of(event)) == ("ADDED", "p1")
    assert space.event()["object"]["metadata"]["namespace"] == "other"
    assert bound.quiet(0.1) and space.quiet(0.1)


def test_initial_events(start):
    sim = five_pods(start)
    stream = sim.watch(f"{WATCH}&{INITIAL}&allowWatchBookmarks=true")
    events = stream.events(6)
    real = without_managed(wire("watchlist").lines())
    assert kinds(events) == ["ADDED"] * 5 + ["BOOKMARK"]
    same_shape(events[0], {"type": "", "object": {
        **real[1]["object"]}})
    same_shape(events[5], real[-1])
    assert events[5]["object"]["metadata"] == {
        "resourceVersion": str(sim.revision()),
        "annotations": {"k8s.io/initial-events-end": "true"}}
    assert stream.quiet()
    sim.delete(f"{PODS}/p5")
    assert kinds(stream.events(2)) == ["MODIFIED", "DELETED"]


def test_initial_events_of_nothing(start):
    sim = start()
    stream = sim.watch(f"{WATCH}&{INITIAL}&allowWatchBookmarks=true"
                       "&timeoutSeconds=1")
    same_shape(stream.event(), wire("watchlist-empty").lines()[0])


def test_initial_events_without_bookmarks(start):
    stream = five_pods(start).watch(f"{WATCH}&{INITIAL}")
    assert kinds(stream.events(5)) == ["ADDED"] * 5
    assert stream.quiet()


def test_no_initial_events(start):
    sim = five_pods(start)
    at = sim.revision()
    sim.merge(f"{PODS}/p1", {"metadata": {"labels": {"x": "y"}}})
    query = INITIAL.replace("true", "false")
    assert version_of(sim.watch(f"{WATCH}&{query}&resourceVersion={at}")
                      .event()) == at + 1
    assert sim.watch(f"{WATCH}&{query}").quiet()


def test_initial_events_of_a_version_too_large(start):
    events = start().get(f"{WATCH}&{INITIAL}&resourceVersion=99999999").lines()
    assert kinds(events) == ["ERROR"] and events[0]["object"]["code"] == 504


def test_validation(start):
    sim = start()
    mine = sim.get(f"{WATCH}&sendInitialEvents=true")
    real = wire("watch-initial-events-invalid")
    assert mine.status == 422
    assert mine.header_names() == real.header_names()
    assert mine.body == real.body
    for query in ("resourceVersionMatch=NotOlderThan",
                  "resourceVersionMatch=Exact&sendInitialEvents=true",
                  f"{INITIAL}&continue=abc"):
        assert sim.get(f"{WATCH}&{query}").status == 422, query


def test_bookmarks_come_in_time(start):
    sim = start("--bookmark-interval-ms", "100")
    stream = sim.watch(f"{MAPS}?watch=1&allowWatchBookmarks=1&resourceVersion="
                       f"{sim.revision()}")
    without = sim.watch(f"{MAPS}?watch=1&resourceVersion={sim.revision()}")
    first = stream.event()
    assert first == {"type": "BOOKMARK", "object": {
        "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": {"resourceVersion": str(sim.revision())}}}
    # The version moves on although nothing of the resource changes.
    sim.create("/api/v1/namespaces", "more")
    now = sim.revision()
    versions = [version_of(stream.event()) for _ in range(3)]
    while versions[-1] < now:  # sent before, and read late
        versions.append(version_of(stream.event()))
    assert versions == sorted(versions) and versions[-1] == now
    assert without.quiet(0.3)


def test_a_bookmark_comes_before_the_timeout(start):
    sim = start()
    # Two seconds lie between them.
    answer = sim.get(f"{MAPS}?watch=1&allowWatchBookmarks=1&timeoutSeconds=4"
                     f"&resourceVersion={sim.revision()}")
    assert kinds(answer.lines()) == ["BOOKMARK"] and answer.ended


def test_metadata_only(start):
    sim = five_pods(start)
    stream = sim.watch(f"{WATCH}&allowWatchBookmarks=1", PARTIAL)
    real = without_managed(wire("watch-metadata-only").lines())
    same_shape(stream.event(), real[1])
    stream.events(4)
    sim.control("bookmark")
    assert stream.event()["object"] == {
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": str(sim.revision())}}


def test_custom_resource_frames(start):
    sim = start("--resource", "widgets.v1.example.com:Widget:cluster")
    path = "/apis/example.com/v1/widgets"
    body = {"apiVersion": "example.com/v1", "kind": "Widget"}
    stream = sim.watch(f"{path}?watch=1&allowWatchBookmarks=1&{INITIAL}")
    end = stream.event()
    assert list(end["object"]) == ["apiVersion", "kind", "metadata"]
    assert list(end["object"]["metadata"]) == ["annotations",
                                               "resourceVersion"]
    sim.create(path, "w", **body, spec={"b": 1, "a": 2})
    event = stream.event()
    assert list(event["object"]) == ["apiVersion", "kind", "metadata", "spec"]
    assert list(event["object"]["spec"]) == ["a", "b"]


def test_backlog_is_gathered_into_chunks_of_2048(start):
    """As the wire has it: small events share chunks, large ones have theirs."""
    sim = start("--pods", "50", "--object-bytes", "1100")
    answer = sim.get(f"{WATCH}&resourceVersion=0&timeoutSeconds=1")
    assert len(answer.lines()) == 50
    assert {len(x) for x in answer.chunks[:-1]} == {2048}
    large = start("--pods", "3", "--object-bytes", "9000")
    chunks = large.get(f"{WATCH}&timeoutSeconds=1").chunks
    assert len(chunks) == 3 and all(len(x) > 8900 for x in chunks)


def test_one_write_reaches_every_watch(start):
    sim = five_pods(start)
    at = sim.revision()
    streams = [sim.watch(f"{WATCH}&resourceVersion={at}") for _ in range(50)]
    assert sim.stats()["watches"] == {"open": 50, "started": 50}
    sim.merge(f"{PODS}/p1", {"metadata": {"labels": {"x": "y"}}})
    events = [x.event() for x in streams]
    assert all(x == events[0] for x in events)
    for stream in streams:
        stream.close()

    wait_until(lambda: sim.stats()["watches"]["open"] == 0, "watches end")


def test_events_of_a_burst_are_in_order_and_complete(start):
    sim = start("--pods", "100", "--object-bytes", "1100")
    stream = sim.watch(f"{WATCH}&resourceVersion={sim.revision()}")
    at = sim.revision()
    end = sim.control("events", {"count": 3000})
    last = int(end["resourceVersion"])
    versions = []
    while not versions or versions[-1] < last:
        versions.append(version_of(stream.event()))
    assert versions == sorted(set(versions))
    assert len(versions) == 3000 and versions[0] > at


def test_a_watch_that_falls_behind_is_ended(start):
    sim = start("--pods", "200", "--history", "1000")
    stream = sim.watch(f"{WATCH}&resourceVersion={sim.revision()}")
    sim.control("events", {"count": 30000, "kind": "modify"})
    last = 0
    count = 0
    while (event := stream.event()) is not None:
        assert version_of(event) > last
        last = version_of(event)
        count += 1
    assert 0 < count < 30000
