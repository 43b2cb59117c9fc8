# SPDX-License-Identifier: MIT
"""Faults, each seen from the client's side."""

import gzip
import json
import subprocess
import time
import zlib

from sim import Closed, Reader, one_of, request_bytes

PODS = "/api/v1/pods"
WATCH = "/api/v1/pods?watch=1"


def answer_to(sim, path):
    """Status and body as far as it came, and how it ended."""
    with sim.connect() as sock:
        sock.sendall(request_bytes("GET", path))
        reader = Reader(sock)
        status, headers = reader.head()
        try:
            while True:
                reader.fill()
        except Closed as closed:
            return status, reader.buffer, str(closed)


def test_cut_by_reset_after_bytes(start):
    sim = start("--pods", "10", "--fault", "cut,after-bytes=1000,count=1")
    status, body, end = answer_to(sim, PODS)
    assert status == 200 and end == "ConnectionResetError"
    assert len(body) <= 1000
    assert sim.get(PODS).ended


def test_faults_end_with_their_answer(start):
    """A cut behind the end of an answer does not strike the next request."""
    sim = start()
    maps = "/api/v1/namespaces/default/configmaps"
    body = b'{"metadata":{"name":"m"}}'
    for kind in ("cut", "stall", "half-close"):
        sim.control("fault", {"kind": kind, "after-bytes": 20, "count": 1,
                              "verb": "get"})
        with sim.connect() as sock:
            reader = Reader(sock)
            sock.sendall(request_bytes("GET", "/healthz"))
            assert reader.response().body == b"ok"
            whole = request_bytes("POST", f"{maps}?dryRun=All", body,
                                  {"Expect": "100-continue"})
            sock.sendall(whole[:-len(body)])
            assert reader.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue"
            sock.sendall(body)
            assert reader.response().status == 201
    assert [x["applied"] for x in sim.control("fault", method="GET")] == [1] * 3


def test_cut_by_fin_after_bytes(start):
    sim = start("--pods", "10", "--fault", "cut,how=fin,after-bytes=1000")
    for _ in range(3):
        status, body, end = answer_to(sim, PODS)
        assert (status, len(body), end) == (200, 1000, "EOF")


def test_cut_after_events(start):
    sim = start("--pods", "10")
    sim.control("fault", {"kind": "cut", "how": "fin", "verb": "watch",
                          "plural": "pods", "after-events": 3,
                          "after-bytes": 100})
    stream = sim.watch(WATCH)
    assert [x["type"] for x in stream.events(3)] == ["ADDED"] * 3
    try:
        stream.event()
        raise AssertionError("not cut")
    except Closed as closed:
        assert str(closed) == "EOF"
    assert len(stream.reader.buffer) == 94  # 100 less the chunk's size
    assert sim.get(PODS).ended
    assert sim.control("fault", method="GET")[0]["applied"] == 1


def test_cut_after_no_byte(start):
    sim = start("--fault", "cut,how=fin,verb=watch")
    assert answer_to(sim, WATCH) == (200, b"", "EOF")


def test_stall(start):
    sim = start("--pods", "10")
    sim.control("fault", {"kind": "stall", "verb": "watch",
                          "after-events": 2})
    stream = sim.watch(WATCH)
    stream.events(2)
    assert stream.quiet(0.3)
    sim.control("events", {"count": 5, "kind": "modify"})
    assert stream.quiet(0.3)
    stream.close()


def test_stall_for_a_time(start):
    sim = start("--pods", "10", "--fault", "stall,after-bytes=500,ms=300")
    began = time.monotonic()
    assert len(sim.get(PODS).json()["items"]) == 10
    assert time.monotonic() - began > 0.28


def test_refuse(start):
    sim = start("--pods", "3")
    stream = sim.watch(WATCH)
    stream.events(3)
    began = time.monotonic()
    # Long enough for a try, although this process may stand still.
    sim.control("fault", {"kind": "refuse", "ms": 2500})
    refused = 0
    while True:
        try:
            sim.connect().close()
            break
        except ConnectionRefusedError:
            refused += 1
            time.sleep(0.02)  # the listener's return is no event we can wait on
    assert refused > 0 and time.monotonic() - began > 2.4
    # Connections that were open stay so, unless asked otherwise.
    sim.control("events", {"count": 1, "kind": "modify"})
    assert stream.event()["type"] == "MODIFIED"
    try:
        sim.control("fault", {"kind": "refuse", "ms": 50, "drop": 1})
    except Closed:
        pass
    try:
        stream.event()
        raise AssertionError("not dropped")
    except Closed as closed:
        assert str(closed) == "ConnectionResetError"


def test_split_writes(start):
    sim = start("--pods", "2")
    plain = sim.get(PODS)
    for size in (1, 3, 1000):
        sim.control("fault", {"kind": "split", "bytes": size, "count": 1})
        answer = sim.get(PODS)
        assert answer.json() == plain.json()
        assert answer.chunks == plain.chunks


def test_split_writes_with_pauses(start):
    sim = start("--pods", "1", "--object-bytes", "1100", "--fault",
                "split,bytes=300,ms=20")

    def reads():
        began, count = time.monotonic(), 0
        with sim.connect() as sock:
            sock.sendall(request_bytes("GET", PODS))
            reader = Reader(sock)
            while b"]}\n" not in reader.buffer:
                reader.fill()
                count += 1
        assert time.monotonic() - began > 0.06
        return count

    assert one_of(reads, lambda count: count >= 4) >= 4


def test_split_chunks(start):
    sim = start("--pods", "2", "--fault", "split,mode=chunks,bytes=7")
    answer = sim.get(PODS)
    assert {len(x) for x in answer.chunks} <= set(range(1, 8))
    assert len(answer.chunks) > 700
    assert len(answer.json()["items"]) == 2
    stream = sim.watch(WATCH)
    assert len(stream.chunk()) == 7
    small = start("--fault", "split,mode=chunks,bytes=1").get(PODS)
    assert small.json()["items"] == []


def test_a_status_that_has_no_body_gets_none(start):
    sim = start()
    for code in (204, 304):
        sim.control("fault", {"kind": "status", "code": code, "count": 1})
        with sim.connect() as sock:
            reader = Reader(sock)
            sock.sendall(request_bytes("GET", PODS))
            assert reader.response(head_only=True).status == code
            sock.sendall(request_bytes("GET", PODS))
            assert reader.response().status == 200


def test_status_with_and_without_body(start):
    sim = start()
    sim.control("fault", {"kind": "status", "code": 429, "retry-after": 3,
                          "count": 1})
    busy = sim.get(PODS)
    assert (busy.status, busy.headers["retry-after"]) == (429, "3")
    assert busy.json()["reason"] == "TooManyRequests"
    assert busy.json()["details"] == {"retryAfterSeconds": 3}
    sim.control("fault", {"kind": "status", "code": 503, "body": "none",
                          "count": 1})
    down = sim.get(PODS)
    assert (down.status, down.body) == (503, b"")
    sim.control("fault", {"kind": "status", "code": 429, "body": "text",
                          "count": 1})
    text = sim.get(PODS)
    assert text.body == b"Too many requests, please try again later.\n"
    sim.control("fault", {"kind": "status", "count": 1})
    assert sim.get(PODS).json()["code"] == 500
    sim.control("fault", {"kind": "status", "code": 299, "count": 1})
    assert sim.get(PODS).status == 299
    assert sim.get(PODS).status == 200
    by_class = sim.stats()["requests"]["byClass"]
    assert (by_class["2xx"], by_class["4xx"], by_class["5xx"]) == (2, 2, 2)


def test_garbage(start):
    sim = start("--pods", "3")
    plain = sim.get(PODS).body
    sim.control("fault", {"kind": "garbage", "bytes": 40, "after-bytes": 500,
                          "count": 1})
    answer = sim.get(PODS)
    assert answer.ended and len(answer.body) == len(plain) + 40
    assert answer.body[:500] == plain[:500]
    assert answer.body[540:] == plain[500:]
    sim.control("fault", {"kind": "garbage", "verb": "watch",
                          "after-events": 1, "count": 1})
    stream = sim.watch(WATCH)
    stream.event()
    try:
        stream.events(2)
        raise AssertionError("no garbage")
    except ValueError:
        pass


def test_truncate(start):
    sim = start("--pods", "3")
    sim.control("fault", {"kind": "truncate", "after-bytes": 3000, "count": 1})
    answer = sim.get(PODS)
    assert answer.ended and len(answer.body) == 3000
    sim.control("fault", {"kind": "truncate", "verb": "watch",
                          "after-events": 2, "after-bytes": 30, "count": 1})
    answer = sim.get(WATCH)
    assert answer.ended
    lines = answer.body.split(b"\n")
    assert len(lines) == 3 and len(lines[2]) == 30
    empty = start("--fault", "truncate").get(PODS)
    assert empty.ended and len(empty.body) == 20
    assert empty.headers["content-length"] == "20"


def test_connection_is_kept_after_truncation(start):
    sim = start("--pods", "3", "--fault",
                "truncate,verb=watch,after-events=1,count=1")
    with sim.connect() as sock:
        reader = Reader(sock)
        sock.sendall(request_bytes("GET", WATCH))
        assert reader.response().ended
        sock.sendall(request_bytes("GET", PODS))
        assert len(reader.response().json()["items"]) == 3
    assert sim.stats()["watches"]["open"] == 0


def test_wrong_content_type(start):
    sim = start()
    sim.control("fault", {"kind": "wrong-content-type", "count": 1})
    assert sim.get(PODS).headers["content-type"].startswith("text/html")
    sim.control("fault", {"kind": "wrong-content-type", "count": 1,
                          "type": "application/vnd.kubernetes.protobuf"})
    assert sim.get(PODS).headers["content-type"].endswith("protobuf")
    assert sim.get(PODS).headers["content-type"] == "application/json"


def test_warning(start):
    sim = start("--pods", "3", "--fault",
                "warning,verb=list,text=pods are old",
                "--fault", "warning,verb=watch", "--fault",
                "status,verb=get,code=404", "--fault", "warning,verb=get")
    pods = sim.get(PODS)
    assert pods.headers["warning"] == '299 - "pods are old"'
    assert len(pods.json()["items"]) == 3
    stream = sim.watch(WATCH)
    assert ("Warning", '299 - "this version is deprecated"') in \
        stream.header_list
    assert len(stream.events(3)) == 3
    stream.close()
    absent = sim.get("/version")
    assert absent.status == 404 and "warning" in absent.headers
    sim.control("fault", method="DELETE")
    assert "warning" not in sim.get(PODS).headers
    assert sim.post("/sim/fault", {"kind": "warning",
                                   "text": 'a"b'}).status == 400


def test_redirect(start):
    sim = start("--fault", "redirect,verb=list,count=1")
    answer = sim.get(PODS)
    assert answer.status == 302
    assert answer.headers["location"] == "https://sso.example/login?token=secret"
    sim.control("fault", {"kind": "redirect", "code": 307, "to": "/x",
                          "count": 1})
    answer = sim.get(PODS)
    assert (answer.status, answer.headers["location"]) == (307, "/x")
    assert sim.get(PODS).status == 200


def until_close(sim, path):
    """The head and the body of an answer that ends with its connection."""
    with sim.connect() as sock:
        sock.sendall(request_bytes("GET", path))
        reader = Reader(sock)
        head = reader.until(b"\r\n\r\n")
        try:
            while True:
                reader.fill()
        except Closed as closed:
            assert str(closed) == "EOF"
        return head, reader.buffer


def test_until_close(start):
    sim = start("--pods", "3")
    plain = sim.get(PODS).body
    for mode, version in (("1.0", b"HTTP/1.0 200"), ("1.1", b"HTTP/1.1 200")):
        sim.control("fault", {"kind": "until-close", "mode": mode, "count": 1})
        head, body = until_close(sim, PODS)
        assert head.startswith(version) and b"\r\nConnection: close" in head
        assert b"Content-Length" not in head and b"chunked" not in head
        assert body == plain
        sim.control("fault", {"kind": "until-close", "mode": mode, "count": 1})
        head, body = until_close(sim, WATCH + "&timeoutSeconds=1")
        assert head.startswith(version) and b"chunked" not in head
        assert body.count(b'"ADDED"') == 3
    small = start("--fault", "until-close")
    head, body = until_close(small, PODS)
    assert b"Content-Length" not in head and json.loads(body)["items"] == []


def test_gzip_unasked(start):
    sim = start("--pods", "3", "--fault", "gzip")
    plain = start("--pods", "3").get(PODS).body
    answer = sim.get(PODS)
    assert answer.headers["content-encoding"] == "gzip"
    assert gzip.decompress(answer.body) == plain
    error = sim.get("/api/v1/nowhere")
    assert error.status == 404 and error.headers["content-encoding"] == "gzip"
    assert gzip.decompress(error.body)
    stream = sim.watch(WATCH)
    inflater = zlib.decompressobj(31)
    text = b""
    while text.count(b"\n") < 3:
        text += inflater.decompress(stream.chunk())
    sim.control("events", {"count": 1, "kind": "modify"})
    while text.count(b"\n") < 4:
        text += inflater.decompress(stream.chunk())
    assert b'"MODIFIED"' in text
    stream.close()


def test_gzip_bomb(start):
    sim = start("--pods", "3")
    plain = sim.get(PODS).body
    for count in (1, 257, 258, 259, 516, 10000000):
        sim.control("fault", {"kind": "gzip", "bytes": count, "count": 1})
        packed = sim.get(PODS).body
        assert gzip.decompress(packed) == b" " * count + plain
        assert len(packed) < len(plain) + count / 150 + 400


def test_no_response(start):
    sim = start("--fault", "no-response,verb=list")
    with sim.connect() as sock:
        sock.sendall(request_bytes("GET", PODS))
        sock.settimeout(0.3)
        try:
            sock.recv(1)
            raise AssertionError("answered")
        except TimeoutError:
            pass
    assert sim.get("/healthz").status == 200


def test_header_bomb(start):
    sim = start("--fault", "header-bomb,bytes=300000")
    with sim.connect() as sock:
        sock.sendall(request_bytes("GET", PODS))
        head = Reader(sock).until(b"\r\n\r\n")
        assert len(head) > 290000


def test_half_close(start):
    sim = start("--pods", "3", "--fault", "half-close,after-bytes=200")
    status, body, end = answer_to(sim, PODS)
    assert (status, len(body), end) == (200, 200, "EOF")


def test_half_open(start):
    sim = start("--pods", "3", "--fault",
                "half-open,verb=watch,after-events=3")
    stream = sim.watch(WATCH)
    stream.events(3)
    sim.control("events", {"count": 3, "kind": "modify"})
    assert stream.quiet(0.3)
    stream.close()
    # The server does not notice.
    assert sim.stats()["watches"]["open"] == 1


def test_delay(start):
    sim = start("--fault", "delay,ms=250,count=1")
    began = time.monotonic()
    assert sim.get(PODS).status == 200
    assert time.monotonic() - began > 0.24


def test_bookmarks_lost_and_doubled(start):
    sim = start()
    path = (f"{WATCH}&allowWatchBookmarks=1&sendInitialEvents=1"
            "&resourceVersionMatch=NotOlderThan")
    sim.control("fault", {"kind": "duplicate-bookmarks", "count": 1})
    stream = sim.watch(path)
    assert stream.event() == stream.event()
    assert stream.quiet()
    sim.control("fault", {"kind": "drop-bookmarks", "count": 1})
    assert sim.watch(path).quiet()
    assert sim.watch(path).event()["type"] == "BOOKMARK"


def test_which_requests_are_struck(start):
    sim = start()
    maps = "/api/v1/configmaps"
    sim.control("fault", {"kind": "status", "code": 500, "verb": "list",
                          "plural": "pods", "skip": 1, "count": 2})
    got = [sim.get(path).status for path in (
        maps, PODS, f"{WATCH}&timeoutSeconds=1", PODS, "/version", PODS, PODS)]
    assert got == [200, 200, 200, 500, 200, 500, 200]
    assert sim.control("fault", method="GET")[0]["applied"] == 2
    sim.control("fault", method="DELETE")
    assert sim.control("fault", method="GET") == []


def test_chance_is_seeded(start):
    def pattern(seed):
        sim = start("--seed", seed, "--fault", "status,code=500,percent=30")
        return "".join(str(sim.get(PODS).status)[0] for _ in range(60))
    one = pattern("3")
    assert one == pattern("3") != pattern("4")
    assert 5 < one.count("5") < 30


def test_faults_combine(start):
    sim = start("--fault", "status,code=503", "--fault",
                "cut,how=fin,after-bytes=10")
    status, body, end = answer_to(sim, PODS)
    assert (status, len(body), end) == (503, 10, "EOF")


def test_rules_that_are_wrong(start):
    sim = start()
    for rule in ({}, {"kind": "none"}, {"kind": 1}, {"kind": "cut", "x": 1},
                 {"kind": "cut", "count": -1}, {"kind": "cut", "count": "x"},
                 {"kind": "cut", "how": "x" * 100}, {"kind": "cut", "how": {}},
                 {"kind": "status", "code": 1000}, {"kind": "cut", "how": 'a"'},
                 {"kind": "cut", "percent": 101}):
        answer = sim.post("/sim/fault", rule)
        ok = rule.get("how") == {}  # an empty text is fine
        assert answer.status == (200 if ok else 400), (rule, answer.body)
    for body in (b"[]", b"x", b"{", b'"'):
        assert sim.ask("POST", "/sim/fault", body).status == 400
    json.dumps(sim.control("fault", method="GET"))


def test_words_that_a_rule_does_not_know(start):
    sim = start()
    for kind, member, wrong, listed in (
            ("cut", "verb", "lists", "page watchlist"),
            ("cut", "verb", "", "any list"), ("cut", "how", "finn", "rst fin"),
            ("split", "mode", "chunk", "writes tcp chunks"),
            ("until-close", "mode", "1", "1.0 1.1"),
            ("odd-object", "mode", "big", "nameless table large"),
            ("error", "body", "nothing", "status object null none"),
            ("status", "body", "nul", "status text none"),
            ("stall", "how", "fin", "the kind stall has none"),
            ("status", "code", 99, "from 100 to 599")):
        answer = sim.post("/sim/fault", {"kind": kind, member: wrong})
        assert answer.status == 400, (kind, wrong, answer.body)
        assert listed in answer.json()["message"], answer.body
        if member in ("how", "mode", "body") and kind != "stall":
            for word in listed.split():
                sim.control("fault", {"kind": kind, member: word})
    refused = subprocess.run(
        [sim.process.args[0], "--fault", "split,count=1,mode=chunk"],
        capture_output=True, text=True, check=False, timeout=20)
    assert (refused.returncode, refused.stderr) == (
        2, "kin-apisim: --fault split,count=1,mode=chunk: mode must be one of "
           "writes tcp chunks\n"), refused


def test_control_is_never_struck(start):
    sim = start("--fault", "no-response", "--fault", "status")
    assert sim.stats()["requests"]["total"] == 0
