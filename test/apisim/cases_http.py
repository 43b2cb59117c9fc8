# SPDX-License-Identifier: MIT
"""HTTP itself: connections, bounds, authentication, discovery."""

import random
import signal
import socket

from sim import Closed, Reader, request_bytes, same_shape, wait_until, wire

MAPS = "/api/v1/namespaces/default/configmaps"
AGGREGATED = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;"
                        "as=APIGroupDiscoveryList,application/json"}


def test_keep_alive_and_pipelining(start):
    sim = start()
    with sim.connect() as sock:
        sock.sendall(b"".join(request_bytes("GET", path) for path in (
            "/healthz", MAPS, "/version", "/none")))
        reader = Reader(sock)
        assert [reader.response().status for _ in range(4)] == [
            200, 200, 200, 404]
        sock.sendall(request_bytes("GET", "/healthz", headers={
            "Connection": "close"}))
        answer = reader.response()
        assert answer.headers["connection"] == "close"
        try:
            reader.fill()
            raise AssertionError("still open")
        except Closed as closed:
            assert str(closed) == "EOF"


def test_requests_in_single_bytes(start):
    sim = start()
    with sim.connect() as sock:
        body = b'{"metadata":{"name":"m"}}'
        for byte in request_bytes("POST", MAPS, body):
            sock.send(bytes([byte]))
        assert Reader(sock).response().status == 201


def test_chunked_request_body(start):
    sim = start()
    answer = sim.raw(
        b"POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: "
        b"application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        b'A\r\n{"metadata\r\n10\r\n":{"name":"mm"}}\r\n0\r\n\r\n'
        % MAPS.encode())
    assert answer.startswith(b"HTTP/1.1 201 Created\r\n"), answer


def test_expect_continue(start):
    sim = start()
    with sim.connect() as sock:
        body = b'{"metadata":{"name":"m"}}'
        whole = request_bytes("POST", MAPS, body, {"Expect": "100-continue"})
        sock.sendall(whole[:-len(body)])
        reader = Reader(sock)
        assert reader.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue"
        sock.sendall(body)
        assert reader.response().status == 201


def test_an_offered_upgrade_is_not_taken(start):
    sim = start()
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c",
             "HTTP2-Settings": "AAMAAABkAAQAoAAAAAIAAAAA"}
    with sim.connect() as sock:
        reader = Reader(sock)
        for method, body, status in (("GET", None, 200), ("GET", None, 200),
                                     ("POST", {"metadata": {"name": "m"}}, 201),
                                     ("GET", None, 200)):
            sock.sendall(request_bytes(method, MAPS, body, offer))
            assert reader.response().status == status
    answer = sim.raw(b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n"
                     b"Connection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 4"), answer


def test_http_1_0(start):
    sim = start("--pods", "20")
    small = sim.raw(b"GET /healthz HTTP/1.0\r\n\r\n")
    assert small.endswith(b"Content-Length: 2\r\nConnection: close\r\n\r\nok")
    large = sim.raw(b"GET /api/v1/pods HTTP/1.0\r\n\r\n")
    assert b"Transfer-Encoding" not in large and large.endswith(b"]}\n")


def test_head_and_other_methods(start):
    sim = start()
    for method in ("HEAD", "OPTIONS", "TRACE"):
        assert sim.ask(method, MAPS).status == 405, method
    assert sim.raw(b"CONNECT x:1 HTTP/1.1\r\nConnection: close\r\n\r\n"
                   ).startswith(b"HTTP/1.1 4")


def test_bad_requests(start):
    sim = start()
    for data in (b"\r\n\r\nx", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                 b"GET / HTTP/1.1\r\nbad header\r\n\r\n", b"\x16\x03\x01\x02\0",
                 b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
                 b"POST / HTTP/1.1\r\nContent-Length: 1\r\n"
                 b"Transfer-Encoding: chunked\r\n\r\n"):
        answer = sim.raw(data)
        assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n"), answer
        assert b"Connection: close" in answer


def test_bounds(start):
    sim = start()
    long = b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"
    assert sim.raw(long).startswith(b"HTTP/1.1 431 ")
    header = (b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 70000 + b"\r\n\r\n")
    assert sim.raw(header).startswith(b"HTTP/1.1 431 ")
    many = b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n"
    assert sim.raw(many).startswith(b"HTTP/1.1 431 ")
    endless = b"GET / HTTP/1.1\r\n" + b"A" * 100000
    assert sim.raw(endless).startswith(b"HTTP/1.1 431 ")
    huge = (b"POST %s HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"
            % MAPS.encode())
    assert sim.raw(huge).startswith(b"HTTP/1.1 413 ")
    chunks = (b"POST %s HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
              % MAPS.encode() + (b"80000\r\n" + b" " * 0x80000 + b"\r\n") * 7)
    with sim.connect() as sock:
        try:
            sock.sendall(chunks)
        except ConnectionError:
            pass
        try:
            assert Reader(sock).head()[0] == 413
        except Closed:
            pass  # reset by what was not read any more
    almost = b'{"metadata":{"name":"big"},"data":{"x":"%s"}}' % (b"x" * 3000000)
    assert sim.ask("POST", MAPS, almost).status == 201


def test_random_bytes_do_no_harm(start):
    sim = start("--pods", "5")
    rng = random.Random(4)
    seeds = [request_bytes("GET", "/api/v1/pods?watch=1&timeoutSeconds=1"
                           "&labelSelector=a%20in%20(b)&resourceVersion=0"),
             request_bytes("POST", MAPS, {"metadata": {"name": "x"}}),
             request_bytes("PATCH", f"{MAPS}/x", {"a": [1, {}]}),
             request_bytes("GET", "/api/v1/pods?limit=1&continue=eyJ2IjoibWV0"),
             request_bytes("POST", "/sim/fault", {"kind": "split", "count": 1}),
             request_bytes("POST", "/sim/events", {"count": 3})]
    for i in range(600):
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.randrange(1, 8)):
            at = rng.randrange(len(data))
            action = rng.randrange(3)
            if action == 0:
                data[at] = rng.randrange(256)
            elif action == 1:
                del data[at:at + rng.randrange(1, 9)]
            else:
                data[at:at] = rng.randbytes(rng.randrange(1, 9))
            if not data:
                break
        with sim.connect() as sock:
            sock.sendall(data)
            if i % 3 == 0:
                sock.shutdown(socket.SHUT_WR)
    sim.control("fault", method="DELETE")
    assert sim.get("/healthz").body == b"ok"


def test_answers_are_utf8_whatever_was_sent(start):
    sim = start()
    for escaped in ("%ff", "%c3", "%ed%a0%80", "%f4%90%80%80", "%e0%80%80"):
        absent = sim.get(f"{MAPS}/{escaped}").json()
        assert "\ufffd" in absent["message"], absent
    assert "\u00e9\U0001f600" in sim.get(
        f"{MAPS}/%c3%a9%f0%9f%98%80").json()["message"]
    for body in (b'{"\xff', b'{"' + 600 * "\u20ac".encode()):
        assert sim.ask("POST", MAPS, body).json()["code"] == 400
    # A name that becomes part of an object.
    path = f"{MAPS}/a?fieldManager=%ff"
    for method, at, media in (
            ("POST", f"{MAPS}?fieldManager=%ff", "json"),
            ("PATCH", path, "merge-patch+json"),
            ("PATCH", path, "apply-patch+yaml")):
        answer = sim.ask(method, at,
                         {"apiVersion": "v1", "kind": "ConfigMap",
                          "metadata": {"name": "a"}, "data": {media: "x"}},
                         {"Content-Type": f"application/{media}"})
        assert answer.status in (200, 201), answer.body
        managers = answer.json()["metadata"]["managedFields"]
        assert {x["manager"] for x in managers} == {"\ufffd"}, managers
    assert sim.ask("DELETE", f"{MAPS}/a").status == 200


def test_a_client_that_goes_away(start):
    sim = start("--pods", "2000")
    for _ in range(20):
        sock = sim.connect()
        sock.sendall(request_bytes("GET", "/api/v1/pods"))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                        b"\1\0\0\0\0\0\0\0")  # reset instead of FIN
        sock.recv(10)
        sock.close()
        stream = sim.watch("/api/v1/pods?watch=1")
        stream.close()
    wait_until(lambda: sim.stats()["connections"]["open"] == 1, "all closed")
    assert sim.stats()["watches"]["open"] == 0


def test_many_connections(start):
    sim = start("--pods", "10")
    streams = [sim.watch("/api/v1/pods?watch=1") for _ in range(300)]
    assert sim.stats()["connections"]["open"] == 301
    sim.control("events", {"count": 1, "kind": "modify"})
    for stream in streams:
        assert len(stream.events(11)) == 11


def test_ends_well_in_the_middle_of_everything(start):
    sim = start("--pods", "3000", "--churn", "2000")
    streams = [sim.watch("/api/v1/pods?watch=1") for _ in range(5)]
    idle = sim.connect()
    half = sim.connect()
    half.sendall(b"GET /api/v1/pods HT")
    busy = sim.connect()
    busy.sendall(request_bytes("GET", "/api/v1/pods"))
    waiting = sim.connect()
    waiting.sendall(request_bytes("POST", "/sim/events", {"count": 1000000}))
    for stream in streams:
        stream.event()
    sim.stop(signal.SIGINT)
    for sock in (idle, half, busy, waiting):
        sock.close()


def test_run_for(start):
    sim = start("--run-for", "0.2")
    assert sim.process.wait(20) == 0


def test_absolute_form(start):
    sim = start()
    maps = "/api/v1/namespaces/default/configmaps"
    sim.create(maps, "m")
    for before in ("http://sim", "HTTP://127.0.0.1:1", "https://sim"):
        found = sim.get(f"{before}{maps}?limit=1&fieldSelector=metadata.name=m")
        assert [x["metadata"]["name"] for x in found.json()["items"]] == ["m"]
        assert sim.get(f"{before}?a=/b").status == 404
    assert sim.get("ftp://sim/api").status == 404


def test_token(start):
    sim = start("--token", "s3cret")
    mine, real = sim.get("/api/v1/pods"), wire("list-unauthorized")
    assert mine.status == 401
    assert mine.header_names() == real.header_names()
    assert mine.body == real.body
    for value in ("Bearer s3cre", "Bearer s3crets", "s3cret", "bearer"):
        assert sim.get("/api/v1/pods",
                       {"Authorization": value}).status == 401
    for scheme in ("Bearer", "bearer", "BEARER"):
        assert sim.get("/api/v1/pods", {
            "Authorization": f"{scheme} s3cret"}).status == 200
    assert sim.get("/apis").status == 401
    assert sim.get("/healthz").status == 200


def test_forbidden(start):
    sim = start("--forbid", "secrets", "--forbid", "deployments")
    one = sim.get("/api/v1/namespaces/default/secrets")
    assert one.status == 403 and one.headers[
        "x-content-type-options"] == "nosniff"
    assert one.json()["message"] == (
        'secrets is forbidden: User "system:anonymous" cannot list resource '
        '"secrets" in API group "" in the namespace "default"')
    assert one.json()["details"] == {"kind": "secrets"}
    two = sim.get("/apis/apps/v1/deployments?watch=1").json()
    assert two["message"] == (
        'deployments.apps is forbidden: User "system:anonymous" cannot watch '
        'resource "deployments" in API group "apps" at the cluster scope')
    assert sim.get(MAPS).status == 200


def test_forbidden_in_all_groups(start):
    sim = start("--forbid", "events", "--forbid", "things",
                "--resource", "events.v1.events.k8s.io:Event",
                "--resource", "things.v1.example.com")
    events = "/apis/events.k8s.io/v1/events"
    for path in ("/api/v1/events", events, f"{events}?watch=1"):
        assert sim.get(path).status == 403, path
    sim.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
               "things.example.org", spec={
                   "group": "example.org", "scope": "Namespaced",
                   "names": {"plural": "things", "kind": "Thing"},
                   "versions": [{"name": "v1"}]})
    for group in ("example.com", "example.org"):
        assert sim.get(f"/apis/{group}/v1/things").status == 403, group


def test_preferred_version(start):
    """As a real server orders versions, not as they were declared."""
    order = ["v10", "v2", "v1", "v11beta2", "v2beta1", "v1beta10", "v1beta9",
             "v3alpha1", "v", "v1beta", "v1beta1x", "v1gamma1", "x1"]
    group = "example.org"
    sim = start()
    sim.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
               f"things.{group}", spec={
                   "group": group, "scope": "Namespaced",
                   "names": {"plural": "things", "kind": "Thing"},
                   "versions": [{"name": x} for x in
                                sorted(order, key=lambda x: x[::-1])]})
    groups = {x["name"]: x for x in sim.get("/apis").json()["groups"]}
    for found in (groups[group], sim.get(f"/apis/{group}").json()):
        assert [x["version"] for x in found["versions"]] == order, found
        assert found["preferredVersion"] == {
            "groupVersion": f"{group}/v10", "version": "v10"}
    items = {x["metadata"]["name"]: x for x in
             sim.get("/apis", AGGREGATED).json()["items"]}
    versions = items[group]["versions"]
    assert [x["version"] for x in versions] == order
    assert {len(x["resources"]) for x in versions} == {1}


def test_discovery(start):
    sim = start("--resource", "widgets.v1.example.com:Gadget:cluster")
    core, real = sim.get("/api/v1"), wire("discovery-core")
    # Fewer resources make a shorter body, which has a length instead of chunks.
    assert core.header_names()[:-1] == real.header_names()[:-1]
    same_shape(dict(core.json(), resources=[]), dict(real.json(), resources=[]))
    theirs = {x["name"]: x for x in real.json()["resources"]}
    for mine in core.json()["resources"]:
        same = theirs[mine["name"]]
        for key in ("singularName", "namespaced", "kind", "shortNames",
                    "categories"):
            assert mine.get(key) == same.get(key), (mine, same)
        assert list(mine) == list(same), (mine, same)
        assert mine["verbs"] == same["verbs"], (mine, same)
    apps = sim.get("/apis/apps/v1").json()
    assert apps["apiVersion"] == "v1" and apps["groupVersion"] == "apps/v1"
    groups = sim.get("/apis").json()["groups"]
    assert {"name": "example.com", "versions": [
        {"groupVersion": "example.com/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "example.com/v1",
                             "version": "v1"}} in groups
    assert sim.get("/apis/apps").json()["kind"] == "APIGroup"
    assert sim.get("/api").json()["versions"] == ["v1"]
    assert sim.get("/apis/none").status == 404


def test_aggregated_discovery(start):
    sim = start("--resource", "widgets.v1.example.com")
    mine, real = sim.get("/apis", AGGREGATED), wire("discovery-aggregated")
    assert mine.header_names() == real.header_names()
    assert mine.headers["content-type"] == real.headers["content-type"]
    assert mine.headers["cache-control"] == "public"
    assert len(mine.headers["etag"]) == len(real.headers["etag"])
    theirs = {x["metadata"]["name"]: x for x in real.json()["items"]}
    for group in mine.json()["items"]:
        there = theirs[group["metadata"]["name"]]
        assert list(group) == list(there)
        resources = {x["resource"]: x
                     for x in there["versions"][0]["resources"]}
        for item in group["versions"][0]["resources"]:
            other = resources.get(item["resource"])
            if other is not None:
                assert [x for x in item if x != "subresources"] == [
                    x for x in other if x != "subresources"
                    and x in item], (item, other)
                assert item["responseKind"] == other["responseKind"]
                assert item["scope"] == other["scope"]
                assert item["verbs"] == other["verbs"]
    again = sim.get("/apis", {**AGGREGATED,
                              "If-None-Match": mine.headers["etag"]})
    assert again.status == 304 and again.body == b""
    core = sim.get("/api", AGGREGATED).json()["items"]
    assert [x["metadata"] for x in core] == [{}]


def test_version_and_health(start):
    sim = start()
    assert sim.get("/version").json()["major"] == "1"
    for path in ("/healthz", "/readyz", "/livez"):
        answer = sim.get(path)
        assert (answer.status, answer.body) == (200, b"ok")
