# SPDX-License-Identifier: MIT
"""Faults of what lists and watches say, each seen from the client's side."""

import json
import time
import zlib

from sim import Closed, Reader, request_bytes

PODS = "/api/v1/pods"
WATCH = "/api/v1/pods?watch=1"
WATCH_LIST = (f"{WATCH}&allowWatchBookmarks=1&sendInitialEvents=1"
              "&resourceVersionMatch=NotOlderThan")


def events_until_end(stream):
    """The rest of a watch that ends in good order."""
    return [json.loads(line) for line in stream.body.splitlines()]


def test_errors_of_all_kinds(start):
    sim = start("--pods", "3")
    for code, reason in ((410, "Expired"), (410, "Gone"),
                         (500, "InternalError"), (500, "StorageReadError"),
                         (429, "TooManyRequests"), (504, "Timeout"),
                         (503, "ServiceUnavailable")):
        sim.control("fault", {"kind": "error", "code": code, "reason": reason,
                              "retry-after": 7, "after-events": 2, "count": 1})
        got = events_until_end(sim.get(WATCH))
        assert [x["type"] for x in got] == ["ADDED", "ADDED", "ERROR"]
        status = got[2]["object"]
        assert (status["kind"], status["code"], status["reason"]) == \
            ("Status", code, reason)
        assert status["details"] == {"retryAfterSeconds": 7}
    sim.control("fault", {"kind": "error", "count": 1})
    got = events_until_end(sim.get(WATCH))
    assert len(got) == 1 and got[0]["object"]["reason"] == "Expired"
    assert "details" not in got[0]["object"]
    assert sim.stats()["watches"]["open"] == 0


def test_errors_without_a_status(start):
    sim = start()
    for body, check in (("object", {"kind": "Pod", "apiVersion": "v1",
                                    "metadata": {"name": "odd"}}),
                        ("null", None), ("none", "nothing")):
        sim.control("fault", {"kind": "error", "body": body, "count": 1})
        got = events_until_end(sim.get(WATCH))
        assert len(got) == 1 and got[0]["type"] == "ERROR"
        assert got[0].get("object", "nothing") == check


def test_very_short_watch(start):
    sim = start("--pods", "3", "--fault", "end,verb=watch,count=1")
    answer = sim.get(WATCH)
    assert (answer.status, answer.body, answer.ended) == (200, b"", True)
    sim.control("fault", {"kind": "end", "after-events": 2, "count": 1})
    assert len(events_until_end(sim.get(WATCH))) == 2
    assert len(sim.watch(WATCH).events(3)) == 3


def test_deaf_watch(start):
    sim = start("--pods", "3", "--bookmark-interval-ms", "50")
    sim.control("fault", {"kind": "deaf", "verb": "watch", "after-events": 3,
                          "count": 1})
    stream = sim.watch(f"{WATCH}&allowWatchBookmarks=1")
    stream.events(3)
    sim.control("events", {"count": 5, "kind": "modify"})
    assert stream.quiet(0.3)
    assert sim.stats()["watches"]["open"] == 1
    # It ends when its time is up, and what it kept is there for the next.
    sim.control("fault", {"kind": "deaf", "count": 1})
    assert events_until_end(sim.get(f"{WATCH}&timeoutSeconds=1")) == []
    stream.close()


def test_duplicate_events(start):
    sim = start("--pods", "2", "--fault", "duplicate-events")
    stream = sim.watch(WATCH)
    got = stream.events(4)
    assert got[0] == got[1] != got[2] == got[3]
    sim.control("events", {"count": 1, "kind": "modify"})
    assert stream.event() == stream.event()
    assert stream.quiet()
    stream.close()


def test_late_bookmarks(start):
    sim = start("--pods", "2", "--fault", "late-bookmarks,ms=2500")
    began = time.monotonic()
    stream = sim.watch(WATCH_LIST)
    assert [x["type"] for x in stream.events(2)] == ["ADDED", "ADDED"]
    version = sim.get(PODS).json()["metadata"]["resourceVersion"]
    sim.control("events", {"count": 1, "kind": "modify"})
    assert stream.event()["type"] == "MODIFIED"
    mark = stream.event()
    assert time.monotonic() - began > 2.4
    assert mark["type"] == "BOOKMARK"
    assert mark["object"]["metadata"]["resourceVersion"] == version
    assert "k8s.io/initial-events-end" in \
        mark["object"]["metadata"]["annotations"]
    stream.close()


def test_objects_without_a_name(start):
    sim = start("--pods", "2")
    sim.control("fault", {"kind": "odd-object", "count": 1})
    items = sim.get(PODS).json()["items"]
    assert len(items) == 3 and "name" not in items[0]["metadata"]
    assert all(x["metadata"]["name"] for x in items[1:])
    sim.control("fault", {"kind": "odd-object", "after-events": 1,
                          "count": 1})
    stream = sim.watch(WATCH)
    names = [x["object"]["metadata"].get("name") for x in stream.events(3)]
    assert names[0] and names[1] is None and names[2]
    stream.close()


def test_tables_and_large_objects(start):
    sim = start("--pods", "1")
    sim.control("fault", {"kind": "odd-object", "mode": "table", "count": 2})
    assert sim.get(PODS).json()["items"][0]["kind"] == "Table"
    stream = sim.watch(WATCH)
    assert stream.event()["object"]["kind"] == "Table"
    assert stream.event()["object"]["kind"] == "Pod"
    stream.close()
    sim.control("fault", {"kind": "odd-object", "mode": "large",
                          "bytes": 300000, "count": 2})
    answer = sim.get(PODS)
    large = answer.json()["items"][0]
    assert large["metadata"]["name"] == "odd" and len(answer.body) > 300000
    stream = sim.watch(WATCH)
    assert stream.event()["object"] == large
    stream.close()
    empty = start("--fault", "odd-object")
    assert len(empty.get(PODS).json()["items"]) == 1


def test_ignored_limit(start):
    sim = start("--pods", "9", "--fault", "ignore-limit,count=1")
    page = sim.get(f"{PODS}?limit=2").json()
    assert len(page["items"]) == 9 and "continue" not in page["metadata"]
    assert len(sim.get(f"{PODS}?limit=2").json()["items"]) == 2


def test_expired_token(start):
    sim = start("--pods", "9", "--fault", "status,verb=page,code=410,count=1")
    first = sim.get(f"{PODS}?limit=4").json()
    token = first["metadata"]["continue"]
    gone = sim.get(f"{PODS}?limit=4&continue={token}")
    assert (gone.status, gone.json()["reason"]) == (410, "Expired")
    assert sim.get(f"{PODS}?limit=4&continue={token}").status == 200


def test_too_large_version(start):
    sim = start("--fault", "too-large,verb=list,count=1")
    answer = sim.get(f"{PODS}?resourceVersion=1")
    assert answer.status == 504
    assert answer.headers["retry-after"] == "1"
    causes = answer.json()["details"]["causes"]
    assert causes[0]["reason"] == "ResourceVersionTooLarge"
    assert sim.get(PODS).status == 200


def test_watch_list_refused(start):
    sim = start("--pods", "1", "--fault", "status,verb=watchlist,code=422")
    answer = sim.get(WATCH_LIST)
    assert (answer.status, answer.json()["reason"]) == (422, "Invalid")
    assert sim.get(PODS).status == 200
    stream = sim.watch(WATCH)
    stream.event()
    stream.close()


def test_watch_list_without_its_end(start):
    sim = start("--pods", "2")
    # Silent; without its bookmark; cut.
    sim.control("fault", {"kind": "deaf", "verb": "watchlist", "count": 1})
    stream = sim.watch(WATCH_LIST)
    assert stream.quiet(0.3)
    stream.close()
    sim.control("fault", {"kind": "drop-bookmarks", "verb": "watchlist",
                          "count": 1})
    stream = sim.watch(WATCH_LIST)
    assert [x["type"] for x in stream.events(2)] == ["ADDED", "ADDED"]
    assert stream.quiet(0.3)
    stream.close()
    sim.control("fault", {"kind": "cut", "how": "fin", "verb": "watchlist",
                          "after-events": 1, "count": 1})
    stream = sim.watch(WATCH_LIST)
    stream.event()
    try:
        stream.event()
        raise AssertionError("not cut")
    except Closed as closed:
        assert str(closed) == "EOF"


def expect_close(reader):
    try:
        reader.fill()
        raise AssertionError("not closed")
    except Closed as closed:
        assert str(closed) == "EOF"


def test_idle_close(start):
    sim = start("--fault", "idle-close,ms=2500")
    with sim.connect() as sock:
        reader = Reader(sock)
        for _ in range(2):
            began = time.monotonic()
            sock.sendall(request_bytes("GET", PODS))
            answer = reader.response()
            assert answer.status == 200 and "connection" not in answer.headers
        expect_close(reader)
        assert time.monotonic() - began > 2.4


def test_idle_close_spares_a_request_that_has_begun(start):
    sim = start("--fault", "idle-close,ms=500,count=2")
    whole = request_bytes("GET", PODS)
    with sim.connect() as sock, sim.connect() as idle:
        reader = Reader(sock)
        sock.sendall(whole)
        assert reader.response().status == 200
        sock.sendall(whole[:20])
        # The other connection is answered later, so it is closed later.
        other = Reader(idle)
        idle.sendall(whole)
        assert other.response().status == 200
        expect_close(other)
        sock.sendall(whole[20:])
        assert reader.response().status == 200


def test_gzip_that_ends_early(start):
    sim = start("--pods", "3")
    plain = sim.get(PODS).body
    sim.control("fault", {"kind": "gzip", "count": 1})
    sim.control("fault", {"kind": "truncate", "after-bytes": 3000, "count": 1})
    answer = sim.get(PODS)
    assert answer.ended and answer.headers["content-encoding"] == "gzip"
    inflater = zlib.decompressobj(31)
    assert inflater.decompress(answer.body) == plain[:3000]
    assert not inflater.eof


def test_resource_that_vanishes(start):
    sim = start("--pods", "1", "--fault",
                "status,code=404,plural=pods,count=2")
    assert [sim.get(PODS).status for _ in range(3)] == [404, 404, 200]
    for code, reason in ((401, "Unauthorized"), (403, "Forbidden")):
        sim.control("fault", {"kind": "status", "code": code, "count": 1})
        answer = sim.get(PODS)
        assert (answer.status, answer.json()["reason"]) == (code, reason)
