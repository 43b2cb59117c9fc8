# SPDX-License-Identifier: MIT
"""Lists and single reads."""

import base64
import gzip
import json

from sim import PARTIAL, PARTIAL_LIST, Reader, names, same_shape, wire

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"


def pod(sim, name, **labels):
    return sim.create(PODS, name, metadata={"labels": labels},
                      spec={"containers": [{"name": "c", "image": "i:1"}]})


def five_pods(start):
    sim = start()
    for i in range(1, 6):
        pod(sim, f"p{i}", app=f"a{i % 2}")
    return sim


def without_managed(value):
    """What a real server adds to objects and the simulated one does not."""
    if isinstance(value, dict):
        return {k: without_managed(v) for k, v in value.items()
                if k != "managedFields"}
    if isinstance(value, list):
        return [without_managed(v) for v in value]
    return value


def list_versions(answer):
    return int(answer.json()["metadata"]["resourceVersion"])


def test_list_has_the_shape_of_the_wire(start):
    sim = five_pods(start)
    mine, real = sim.get("/api/v1/pods"), wire("list-pods")
    assert mine.status == 200
    assert mine.header_names() == real.header_names()
    assert mine.headers["content-type"] == real.headers["content-type"]
    assert mine.headers["cache-control"] == real.headers["cache-control"]
    same_shape(mine.json(), without_managed(real.json()))
    assert mine.body.endswith(b"]}\n")
    assert all(len(x) == 2048 for x in mine.chunks[:-1])


def test_defaults_of_a_pod_are_those_of_the_wire(start):
    sim = five_pods(start)
    mine = sim.get("/api/v1/pods").json()["items"][0]
    real = wire("list-pods").json()["items"][0]
    assert mine["spec"] == real["spec"]
    assert mine["status"] == real["status"]
    assert mine["metadata"]["generation"] == 1


def test_empty_list(start):
    mine, real = start().get(MAPS.replace("default", "none")), wire("list-empty")
    assert mine.header_names() == real.header_names()
    assert "content-length" in mine.headers
    same_shape(mine.json(), real.json())
    assert mine.json()["items"] == []


def test_pages(start):
    sim = five_pods(start)
    first = sim.get("/api/v1/pods?limit=2")
    real = wire("list-page-1")
    same_shape(first.json(), without_managed(real.json()))
    meta = first.json()["metadata"]
    assert meta["remainingItemCount"] == 3
    token = json.loads(base64.urlsafe_b64decode(meta["continue"] + "=="))
    assert token == {"v": "meta.k8s.io/v1", "rv": int(meta["resourceVersion"]),
                     "start": "/default/p2\0"}
    # What happens in between is not seen by later pages.
    pod(sim, "p3a")
    sim.delete(f"{PODS}/p4")
    sim.merge(f"{PODS}/p3", {"metadata": {"labels": {"x": "y"}}})
    second = sim.get(f"/api/v1/pods?limit=2&continue={meta['continue']}").json()
    assert names(second["items"]) == ["p3", "p4"]
    assert "x" not in second["items"][0]["metadata"]["labels"]
    assert second["metadata"]["resourceVersion"] == meta["resourceVersion"]
    assert second["metadata"]["remainingItemCount"] == 1
    third = sim.get("/api/v1/pods?limit=2&continue="
                    + second["metadata"]["continue"]).json()
    assert names(third["items"]) == ["p5"]
    assert "continue" not in third["metadata"]
    assert "remainingItemCount" not in third["metadata"]


def test_page_of_exactly_the_rest_has_no_token(start):
    sim = five_pods(start)
    meta = sim.get("/api/v1/pods?limit=5").json()["metadata"]
    assert "continue" not in meta and "remainingItemCount" not in meta


def test_pages_by_selector_do_not_count(start):
    sim = five_pods(start)
    page = sim.get("/api/v1/pods?limit=1&labelSelector=app%3Da1").json()
    assert names(page["items"]) == ["p1"]
    assert "remainingItemCount" not in page["metadata"]
    rest = sim.get("/api/v1/pods?labelSelector=app%3Da1&continue="
                   + page["metadata"]["continue"]).json()
    assert names(rest["items"]) == ["p3", "p5"]


def test_many_pages_give_everything_once(start):
    sim = start("--pods", "1000", "--object-bytes", "1100")
    got, token, left = [], "", 1000
    while True:
        page = sim.get(f"/api/v1/pods?limit=97&continue={token}").json()
        got += [(x["metadata"]["namespace"], x["metadata"]["name"])
                for x in page["items"]]
        left -= len(page["items"])
        assert page["metadata"].get("remainingItemCount", 0) == left
        token = page["metadata"].get("continue")
        sim.control("events", {"count": 20})
        if not token:
            break
    assert len(got) == len(set(got)) == 1000
    assert got == sorted(got, key="/".join)


def test_version_0_ignores_the_limit(start):
    sim = five_pods(start)
    page = sim.get("/api/v1/pods?limit=2&resourceVersion=0").json()
    assert len(page["items"]) == 5 and "continue" not in page["metadata"]
    same_shape(page, without_managed(wire("list-rv0-limit").json()))


def test_expired_token(start):
    sim = five_pods(start)
    token = sim.get("/api/v1/pods?limit=2").json()["metadata"]["continue"]
    sim.merge(f"{PODS}/p5", {"metadata": {"labels": {"new": "1"}}})
    sim.control("compact", {"keep": 0})
    mine = sim.get(f"/api/v1/pods?limit=2&continue={token}")
    real = wire("list-continue-expired")
    assert mine.status == 410
    assert mine.header_names() == real.header_names()
    a, b = mine.json(), real.json()
    rest = a["metadata"].pop("continue")
    b["metadata"].pop("continue")
    assert a == b
    again = sim.get(f"/api/v1/pods?limit=2&continue={rest}").json()
    assert names(again["items"]) == ["p3", "p4"]
    assert list_versions(sim.get("/api/v1/pods")) == int(
        again["metadata"]["resourceVersion"])
    last = sim.get("/api/v1/pods?continue="
                   + again["metadata"]["continue"]).json()
    assert last["items"][0]["metadata"]["labels"]["new"] == "1"


def test_bad_tokens(start):
    sim = five_pods(start)

    def encode(**members):
        text = json.dumps(members).encode()
        return base64.urlsafe_b64encode(text).decode().rstrip("=")
    for token, text in (
            ("%21%21", "illegal base64 data at input byte 0"),
            ("abc", "invalid character 'i' looking for beginning of value"),
            (encode(v="v2", rv=1, start="a"), "does not recognize"),
            (encode(v="meta.k8s.io/v1", rv=0, start="a"), "resourceVersion"),
            (encode(v="meta.k8s.io/v1", rv=1, start=""), "start key empty"),
            (encode(v="meta.k8s.io/v1", rv=1, start="../x"), "not valid"),
            (encode(v="meta.k8s.io/v1", rv=1, start="a\0b"), "not valid")):
        answer = sim.get(f"/api/v1/pods?continue={token}")
        assert answer.status == 400, (token, answer.body)
        assert answer.json()["reason"] == "BadRequest"
        assert text in answer.json()["message"], (text, answer.body)
    future = encode(v="meta.k8s.io/v1", rv=10**9, start="default/p2\0")
    assert sim.get(f"/api/v1/pods?continue={future}").status == 504


def test_version_too_large(start):
    sim = five_pods(start)
    mine = sim.get("/api/v1/pods?resourceVersion=99999999")
    real = wire("list-rv-too-large")
    assert mine.status == 504 and mine.headers["retry-after"] == "1"
    assert mine.header_names() == real.header_names()
    a, b = mine.json(), real.json()
    assert a["message"] == (f"Timeout: Too large resource version: 99999999, "
                            f"current: {sim.revision()}")
    a["message"] = b["message"]
    assert a == b


def test_exact_versions(start):
    sim = five_pods(start)
    at = list_versions(sim.get("/api/v1/pods"))
    sim.merge(f"{PODS}/p1", {"metadata": {"labels": {"later": "1"}}})
    sim.delete(f"{PODS}/p2")
    pod(sim, "p9")
    exact = f"/api/v1/pods?resourceVersion={at}&resourceVersionMatch=Exact"
    old = sim.get(exact).json()
    assert names(old["items"]) == ["p1", "p2", "p3", "p4", "p5"]
    assert "later" not in old["items"][0]["metadata"]["labels"]
    assert old["metadata"]["resourceVersion"] == str(at)
    newer = sim.get(f"/api/v1/pods?resourceVersion={at}"
                    "&resourceVersionMatch=NotOlderThan").json()
    assert names(newer["items"]) == ["p1", "p3", "p4", "p5", "p9"]
    # With a limit and no match, a version means exactly that version.
    page = sim.get(f"/api/v1/pods?resourceVersion={at}&limit=3").json()
    assert names(page["items"]) == ["p1", "p2", "p3"]
    sim.control("compact", {"keep": 1})
    gone = sim.get(exact)
    assert gone.status == 410 and gone.json()["reason"] == "Expired"
    assert sim.get(f"/api/v1/pods?resourceVersion={at}").status == 200


def test_automatic_compaction(start):
    sim = start("--history", "5")
    for i in range(20):
        sim.create(MAPS, f"m{i}")
    now = sim.revision()
    assert int(sim.stats()["compactedRevision"]) == now - 5

    def exactly(version):
        return sim.get(f"{MAPS}?resourceVersion={version}"
                       "&resourceVersionMatch=Exact")
    assert exactly(now - 6).status == 410
    assert len(exactly(now - 5).json()["items"]) == 15


def test_validation_of_version_match(start):
    sim = start()
    for query, text in (
            ("resourceVersionMatch=Exact", "unless resourceVersion is provided"),
            ("resourceVersionMatch=Exact&resourceVersion=0", "forbidden for"),
            ("resourceVersionMatch=X&resourceVersion=1",
             'Unsupported value: "X": supported values: "Exact", '
             '"NotOlderThan", ""'),
            ("sendInitialEvents=true", "sendInitialEvents is forbidden for")):
        answer = sim.get(f"{MAPS}?{query}")
        status = answer.json()
        assert answer.status == 422 and status["reason"] == "Invalid", query
        assert status["message"].startswith(
            'ListOptions.meta.k8s.io "" is invalid: '), status
        assert text in status["message"], status
        assert status["details"]["causes"][0]["field"], status
    assert sim.get(f"{MAPS}?resourceVersion=abc").status == 400
    assert sim.get(f"{MAPS}?limit=abc").status == 400
    assert sim.get(f"{MAPS}?continue=abc&resourceVersion=3").json()[
        "message"].startswith("specifying resource version is not allowed")


def test_label_selectors(start):
    sim = start()
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2", "y": ""}),
                         ("c", {"example.com/z": "3"}), ("d", {})):
        sim.create(MAPS, name, metadata={"labels": labels})
    for selector, want in (
            ("", "abcd"), ("x=1", "a"), ("x==1", "a"), ("x!=1", "bcd"),
            ("x in (1, 2)", "ab"), ("x notin (1)", "bcd"), ("x", "ab"),
            ("!x", "cd"), ("y=", "b"), ("x,y", "b"), ("x,!y", "a"),
            ("x>1", "b"), ("x<2", "a"), ("example.com/z=3", "c"),
            ("x in (1),x in (2)", ""), ("x in (1),y notin (a)", "a")):
        query = "".join(f"%{b:02x}" for b in selector.encode())
        answer = sim.get(f"{MAPS}?labelSelector={query}")
        assert "".join(names(answer.json()["items"])) == want, selector
    for selector in ("=", "x in", "x in (1", "x y", "x=1,", "!!x", "x=-", "(",
                     "a/b/c=1", "x>z", "/x", "x in (-)", "A.b/x", "a..b/x",
                     "-a/x", "x\v"):
        query = "".join(f"%{b:02x}" for b in selector.encode())
        answer = sim.get(f"{MAPS}?labelSelector={query}")
        assert answer.status == 400, (selector, answer.body)
        assert answer.json()["reason"] == "BadRequest"


def test_field_selectors(start):
    sim = five_pods(start)
    sim.create(PODS, "q", spec={"nodeName": "n1", "containers": []},
               status={"phase": "Running"})
    for selector, want in (
            ("metadata.name=p3", ["p3"]), ("metadata.name!=q", [
                "p1", "p2", "p3", "p4", "p5"]),
            ("spec.nodeName=n1", ["q"]), ("status.phase==Running", ["q"]),
            ("status.phase!=Pending,metadata.namespace=default", ["q"]),
            ("metadata.namespace=other", []),
            (r"metadata.name=x\,y", []), (r"metadata.name=p\=3", []),
            (r"metadata.name!=x\,y\\,spec.nodeName=n1", ["q"]),
            ("spec.nodeName=", ["p1", "p2", "p3", "p4", "p5"])):
        query = selector.replace("=", "%3D").replace("!", "%21")
        answer = sim.get(f"/api/v1/pods?fieldSelector={query}")
        assert names(answer.json()["items"]) == want, selector
    for value, problem in (("a%3Db", "unescaped character in value: 61"),
                           (r"a\b", r"invalid escape sequence: \b"),
                           ("a\\", "invalid escape sequence: \\")):
        answer = sim.get(f"{MAPS}?fieldSelector=metadata.name%3D{value}")
        assert answer.status == 400
        assert answer.json()["message"] == f"invalid field selector: {problem}"
    assert "field label not supported: spec.x" in sim.get(
        "/api/v1/pods?fieldSelector=spec.x%3D1").json()["message"]
    assert "is not a known field selector" in sim.get(
        f"{MAPS}?fieldSelector=spec.nodeName%3D1").json()["message"]


def test_namespaces_are_apart(start):
    sim = start()
    sim.create("/api/v1/namespaces", "default-2")
    sim.create(MAPS, "m")
    sim.create("/api/v1/namespaces/default-2/configmaps", "m")
    assert len(sim.get(MAPS).json()["items"]) == 1
    every = sim.get("/api/v1/configmaps").json()["items"]
    assert [x["metadata"]["namespace"] for x in every] == [
        "default-2", "default"]  # in the order of the bytes of "ns/name"


def test_metadata_only(start):
    sim = five_pods(start)
    mine = sim.get("/api/v1/pods", PARTIAL_LIST)
    real = wire("list-metadata-only")
    assert len(mine.chunks or [mine.body]) == 1
    same_shape(mine.json(), without_managed(real.json()))
    assert mine.json()["items"][0]["kind"] == "PartialObjectMetadata"
    assert sim.get(MAPS, PARTIAL_LIST).json()["items"] is None
    one = sim.get(f"{PODS}/p1", PARTIAL).json()
    assert list(one) == ["kind", "apiVersion", "metadata"]
    wrong = sim.get("/api/v1/pods", PARTIAL)
    assert wrong.status == 406 and "is a list" in wrong.json()["message"]


def test_custom_resource_list(start):
    sim = start("--resource", "widgets.v1.example.com")
    path = "/apis/example.com/v1/namespaces/default/widgets"
    for name in "w1", "w2":
        sim.create(path, name, apiVersion="example.com/v1", kind="Widget",
                   spec={"text": "tab\t <html> & \u2028", "n": 1,
                         "nested": [[], {}, [{"b": 1, "a": None}]]})
    mine = sim.get(path)
    real = wire("list-custom-resource")
    assert list(mine.json()) == list(real.json())
    assert list(mine.json()["metadata"]) == list(real.json()["metadata"])
    item = mine.json()["items"][0]
    assert list(item) == ["apiVersion", "kind", "metadata", "spec"]
    assert list(item["metadata"]) == sorted(item["metadata"])
    assert b"tab\\t \\u003chtml\\u003e \\u0026 \\u2028" in mine.body
    assert list(item["spec"]["nested"][2][0]) == ["a", "b"]
    partial = sim.get(path, PARTIAL_LIST).json()["items"][0]["metadata"]
    assert list(partial)[:4] == ["name", "namespace", "uid", "resourceVersion"]


def test_not_acceptable(start):
    mine = start().get("/api/v1/pods", {"Accept": "application/x-nothing"})
    real = wire("list-not-acceptable")
    assert mine.status == 406
    assert mine.header_names() == real.header_names()
    assert mine.body == real.body


def test_unknown_paths(start):
    sim = start()
    real = wire("list-not-found")
    for path in ("/apis/no.such/v1/things", "/x", "/apis/no.such/v1/a/b/c/d/e",
                 "//", "/api/v1//pods", "/%zz", "/" + "/".join("abcdefghijk" * 3)):
        mine = sim.get(path)
        assert mine.status == 404, path
        assert mine.header_names() == real.header_names()
        assert mine.headers["content-type"] == real.headers["content-type"]
        assert mine.body == real.body
    status = sim.get("/api/v1/nosuchthings")
    assert status.status == 404 and status.json()["reason"] == "NotFound"
    assert sim.get("/api/v1/namespaces/default/nodes").status == 404
    assert sim.get("/api/v1/pods/p1").status == 404


def test_get_one(start):
    sim = five_pods(start)
    one = sim.get(f"{PODS}/p1").json()
    assert list(one)[:3] == ["kind", "apiVersion", "metadata"]
    absent = sim.get(f"{PODS}/nobody")
    assert absent.status == 404
    assert absent.json() == {
        "kind": "Status", "apiVersion": "v1", "metadata": {},
        "status": "Failure", "message": 'pods "nobody" not found',
        "reason": "NotFound", "details": {"name": "nobody", "kind": "pods"},
        "code": 404}
    grouped = sim.get("/apis/apps/v1/namespaces/default/deployments/d").json()
    assert grouped["message"] == 'deployments.apps "d" not found'
    assert grouped["details"] == {"name": "d", "group": "apps",
                                  "kind": "deployments"}
    assert sim.get(f"{PODS}/p1?resourceVersion=9999").status == 504
    assert sim.get(f"{PODS}/p1?resourceVersion=x").status == 500


def test_indented_for_people(start):
    sim = five_pods(start)
    plain = sim.get("/api/v1/pods")
    for answer in (sim.get("/api/v1/pods?pretty=true"),
                   sim.get("/api/v1/pods", {"User-Agent": "curl/8.5.0"})):
        assert answer.json() == plain.json()
        assert answer.body.decode() == json.dumps(answer.json(), indent=2,
                                                  ensure_ascii=False)
    assert sim.get("/api/v1/pods?pretty=0",
                   {"User-Agent": "curl/8.5.0"}).body == plain.body


def test_a_slow_reader_gets_the_state_it_asked_for(start):
    sim = start("--pods", "3000")
    with sim.connect() as sock:
        sock.sendall(b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n")
        first = sock.recv(100)
        at = sim.revision()
        sim.control("events", {"count": 3000})
        sim.control("compact", {"keep": 0})
        reader = Reader(sock)
        reader.buffer = first
        answer = reader.response().json()
    assert answer["metadata"]["resourceVersion"] == str(at)
    assert len(answer["items"]) == 3000
    assert all(int(x["metadata"]["resourceVersion"]) <= at
               for x in answer["items"])


def test_gzip(start):
    sim = start("--gzip", "--pods", "100")
    asks = {"Accept-Encoding": "gzip"}
    plain = sim.get("/api/v1/pods")
    assert "content-encoding" not in plain.headers
    packed = sim.get("/api/v1/pods", asks)
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(packed.body) == plain.body
    meta = sim.get("/api/v1/pods", {**asks, **PARTIAL_LIST})
    assert json.loads(gzip.decompress(meta.body))["items"]
    small = sim.get("/api/v1/pods?limit=5", asks)
    assert "content-encoding" not in small.headers and small.json()
    sim.control("fault", {"kind": "truncate", "after-bytes": 200000})
    short = sim.get("/api/v1/pods", asks)
    assert short.ended
    try:
        gzip.decompress(short.body)
        raise AssertionError("whole")
    except EOFError:
        pass
    assert "content-encoding" not in start("--pods", "100").get(
        "/api/v1/pods", asks).headers
