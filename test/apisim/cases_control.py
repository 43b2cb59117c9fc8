# SPDX-License-Identifier: MIT
"""The control API and the generated load."""

import re
import subprocess
import time

from sim import Closed, wait_until

PODS = "/api/v1/pods"
WATCH = "/api/v1/pods?watch=1"


def test_stats_tell_what_was_asked(start):
    sim = start()
    sim.get(f"{PODS}?limit=5", {"User-Agent": "test/1", "Accept": "*/*"})
    sim.get(f"{WATCH}&timeoutSeconds=1")
    sim.get("/nowhere")
    sim.post("/api/v1/namespaces/default/configmaps", {})
    stats = sim.stats()
    assert stats["requests"]["total"] == 4
    assert stats["requests"]["byVerb"] == {
        "list": 1, "list pods": 1, "watch": 1, "watch pods": 1, "get": 1,
        "create": 1, "create configmaps": 1}
    assert stats["requests"]["byClass"]["4xx"] == 2
    assert stats["lastRequests"][0] == {
        "method": "GET", "verb": "list", "status": 200,
        "url": f"{PODS}?limit=5", "accept": "*/*", "userAgent": "test/1"}
    assert [x["status"] for x in stats["lastRequests"]] == [200, 200, 404, 422]
    assert stats["watches"] == {"open": 0, "started": 1}
    sim.control("stats", method="DELETE")
    again = sim.stats()
    assert again["requests"]["total"] == 0 and again["lastRequests"] == []


def test_last_requests_are_bounded(start):
    sim = start()
    for i in range(300):
        sim.get(f"/x{i}\xff".encode("latin-1").decode("latin-1")
                if i == 299 else f"/x{i}")
    urls = [x["url"] for x in sim.stats()["lastRequests"]]
    assert len(urls) <= 256 and "/x298" in urls and "/x0" not in urls


def test_drop_watches(start):
    sim = start("--pods", "2")
    for how, want in (("end", None), ("fin", "EOF"),
                      ("rst", "ConnectionResetError")):
        stream = sim.watch(WATCH)
        stream.events(2)
        assert sim.control("drop-watches", {"how": how}) == {"watches": 1}
        try:
            assert stream.event() is None and want is None
        except Closed as closed:
            assert str(closed) == want
    maps = sim.watch("/api/v1/configmaps?watch=1")
    assert sim.control("drop-watches", {"plural": "pods"}) == {"watches": 0}
    assert maps.quiet()
    assert sim.post("/sim/drop-watches", {"how": "x"}).status == 400
    assert sim.post("/sim/drop-watches", {"plural": "x"}).status == 400


def test_drop_watches_of_a_plural_in_all_groups(start):
    sim = start("--resource", "events.v1.events.k8s.io:Event")
    streams = [sim.watch(f"{path}/events?watch=1") for path in
               ("/api/v1", "/apis/events.k8s.io/v1")]
    others = sim.watch(WATCH)
    assert sim.control("drop-watches", {"plural": "events"}) == {"watches": 2}
    assert [x.event() for x in streams] == [None, None]
    assert others.quiet()


def test_expire_watches(start):
    sim = start("--pods", "2")
    stream = sim.watch(WATCH)
    stream.events(2)
    assert sim.control("expire-watches") == {"watches": 1}
    event = stream.event()
    assert event["type"] == "ERROR" and event["object"]["code"] == 410
    assert event["object"]["reason"] == "Expired"
    assert stream.event() is None


def test_events_of_one_kind(start):
    sim = start("--pods", "50")
    for kind, want in (("modify", "MODIFIED"), ("create", "ADDED"),
                       ("delete", "DELETED")):
        at = sim.revision()
        end = sim.control("events", {"count": 20, "kind": kind})
        assert int(end["resourceVersion"]) == at + 20
        events = sim.watch(f"{WATCH}&resourceVersion={at}").events(20)
        assert {x["type"] for x in events} == {want}
    assert len(sim.get(PODS).json()["items"]) == 50
    assert sim.post("/sim/events", {"kind": "x"}).status == 400


def test_events_without_pods_make_some(start):
    sim = start()
    sim.control("events", {"count": 30})
    assert sim.get(PODS).json()["items"]
    spaces = [x["metadata"]["name"] for x in
              sim.get("/api/v1/namespaces").json()["items"]]
    assert "ns-0" in spaces and "default" in spaces


def test_churn_is_a_mix_at_a_rate(start):
    began = time.monotonic()
    sim = start("--pods", "300", "--churn", "500")
    stream = sim.watch(f"{WATCH}&resourceVersion={sim.revision()}")
    events = stream.events(600)
    seconds = time.monotonic() - began
    count = {}
    for event in events:
        count[event["type"]] = count.get(event["type"], 0) + 1
    assert 420 < count["MODIFIED"] < 540
    assert 20 < count["ADDED"] < 120 and 20 < count["DELETED"] < 120
    assert 0.8 < seconds < 6, seconds
    sim.control("churn", {"rate": 0})
    now = sim.revision()
    assert sim.watch(f"{WATCH}&resourceVersion={now}").quiet(0.2)
    assert sim.post("/sim/churn", {"rate": "x"}).status == 400


def test_churn_above_what_is_possible_leaves_time_for_requests(start):
    """In one go, the changes of a second would take minutes."""
    sim = start("--pods", "3", "--object-bytes", "100000", "--history", "10",
                "--churn", "1000000")
    began = time.monotonic()
    at = sim.revision()
    for _ in range(10):
        assert sim.get("/readyz").status == 200
    wait_until(lambda: sim.revision() > at + 20, "churn goes on")
    assert time.monotonic() - began < 15


def test_churn_survives_what_clients_do_to_its_pods(start):
    sim = start("--pods", "30", "--churn", "1000")
    for space in range(10):
        sim.ask("DELETE", f"/api/v1/namespaces/ns-{space}/pods")
    at = sim.revision()
    wait_until(lambda: sim.revision() > at + 200, "churn goes on")


def test_pods_are_the_same_for_the_same_seed(start):
    def bodies(*options):
        return start("--pods", "50", *options).get(PODS).body
    assert bodies() == bodies() != bodies("--seed", "2")


def test_pods_have_the_size_asked_for(start):
    for size in (1200, 2500, 5400, 20000):
        sim = start("--pods", "40", "--object-bytes", str(size),
                    "--namespaces", "4")
        answer = sim.get(PODS)
        assert abs(len(answer.body) / 40 - size) < 120, size
        items = answer.json()["items"]
        assert {x["metadata"]["namespace"] for x in items} == {
            f"ns-{i}" for i in range(4)}
        assert len({x["metadata"]["name"] for x in items}) == 40
        assert len({x["metadata"]["labels"]["app"] for x in items}) > 5
        if size >= 5400:
            assert all(x["metadata"]["managedFields"] for x in items)


def test_compaction_counts_revisions(start):
    sim = start("--pods", "20")
    now = sim.revision()
    assert sim.control("compact", {"keep": 7}) == {
        "resourceVersion": str(now), "compactedRevision": str(now - 7)}
    assert sim.control("compact", {"keep": 500})[
        "compactedRevision"] == str(now - 7)


def test_compaction_forgets_deleted_objects(start):
    sim = start()
    maps = "/api/v1/namespaces/default/configmaps"
    before = sim.stats()["keys"]
    for i in range(20):
        sim.create(maps, f"m{i}")
        sim.delete(f"{maps}/m{i}")
    sim.create(maps, "m0")
    assert sim.stats()["keys"] == before + 20
    sim.control("compact", {"keep": 0})
    assert sim.stats()["keys"] == before + 1
    assert sim.get(f"{maps}/m0").status == 200


def test_restore_leaves_no_forgotten_key(start):
    """The deletion before the change that is undone may be compacted."""
    sim = start()
    maps = "/api/v1/namespaces/default/configmaps"
    before = sim.stats()["keys"]
    for name in "ab":
        sim.create(maps, name)
        sim.delete(f"{maps}/{name}")
    sim.create(maps, "a")
    sim.create(maps, "b")
    sim.control("compact", {"keep": 3})
    sim.control("restore", {"back": 2})
    assert sim.get(maps).json()["items"] == []
    # The deletion of b is still told, that of a no longer.
    assert sim.stats()["keys"] == before + 1
    sim.create(maps, "a")
    sim.control("compact", {"keep": 0})
    assert sim.stats()["keys"] == before + 1


def test_restore_goes_back(start):
    sim = start("--pods", "20", "--object-bytes", "1100")
    before = sim.get(PODS).body
    at = sim.revision()
    sim.control("events", {"count": 200})
    stream = sim.watch(f"{WATCH}&resourceVersion={sim.revision()}")
    assert sim.get(PODS).body != before
    assert sim.control("restore", {"back": 200})["resourceVersion"] == str(at)
    try:
        stream.event()
        raise AssertionError("still connected")
    except Closed:
        pass
    assert sim.get(PODS).body == before
    # A watch from the lost future is silent.
    ahead = sim.watch(f"{WATCH}&resourceVersion={at + 200}")
    sim.control("events", {"count": 10})
    assert ahead.quiet()
    sim.control("events", {"count": 195})
    ahead.events(5)
    sim.control("compact", {"keep": 10})
    assert sim.post("/sim/restore", {"back": 11}).status == 400
    assert sim.post("/sim/restore", {"back": 10**9}).status == 400


def test_events_without_pods(start):
    """Only a mix creates pods in place of what it was to change."""
    def events(**body):
        return sim.control("events", body)["changes"]
    sim = start("--pods", "3")
    assert events(kind="modify", count=4) == 4
    assert events(kind="delete", count=5) == 3
    assert events(kind="modify") == 0
    assert sim.get(PODS).json()["items"] == []
    assert events(count=1) == 1
    pods = sim.get(PODS).json()["items"]
    assert len(pods) == 1
    # The pod goes without the generator's knowledge.
    meta = pods[0]["metadata"]
    sim.delete(f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}")
    assert (events(kind="delete"), events(kind="mix")) == (0, 1)
    assert len(sim.get(PODS).json()["items"]) == 1


def test_restore_takes_definitions_along(start):
    sim = start("--resource", "widgets.v1.example.com")
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    things = "/apis/example.org/v1/namespaces/default/things"
    spec = {"group": "example.org", "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1"}]}
    sim.create(crds, "things.example.org", spec=spec)
    sim.create(things, "t", apiVersion="example.org/v1", kind="Thing")
    at = sim.revision()
    sim.delete(f"{crds}/things.example.org")
    assert sim.get(things).status == 404
    sim.control("restore", {"back": sim.revision() - at})
    assert [x["metadata"]["name"] for x in
            sim.get(things).json()["items"]] == ["t"]
    sim.control("restore", {"back": 2})
    assert sim.get(things).status == 404
    assert sim.get("/apis/example.com/v1/widgets").status == 200


def test_restore_forgets_what_remained_behind_pages(start):
    sim = start()
    maps, other = (f"/api/v1/namespaces/default/{x}"
                   for x in ("configmaps", "secrets"))

    def remaining(page):
        return page["metadata"].get("remainingItemCount")
    for i in range(10):
        sim.create(maps, f"m{i}")
    assert remaining(sim.get(f"{maps}?limit=2").json()) == 8
    sim.control("restore", {"back": 5})
    for i in range(5):
        sim.create(other, f"s{i}")
    page = sim.get(f"{maps}?limit=2").json()
    assert remaining(page) == 3
    token = page["metadata"]["continue"]
    assert remaining(sim.get(f"{maps}?limit=2&continue={token}").json()) == 1


def test_unknown_control_requests(start):
    sim = start()
    for method, path in (("GET", "/sim"), ("GET", "/sim/none"),
                         ("GET", "/sim/compact"), ("POST", "/sim/stats"),
                         ("POST", "/sim/compact/x")):
        assert sim.ask(method, path).status == 404, path
    assert sim.ask("POST", "/sim/compact", b"no").status == 400


def test_control_bodies_are_checked(start):
    """What is misspelt, or of another type, is not taken for absent."""
    sim = start("--pods", "3")
    before = sim.stats()
    stream = sim.watch(WATCH)
    stream.events(3)
    for path, body in [
            *(("events", {"count": x}) for x in (-3, 1.5, "3", True, None, [])),
            ("events", {"count": 10000001}), ("events", {"kind": 5}),
            ("events", {"cuont": 1}), ("events", {"count": 1, "keep": 1}),
            ("compact", {"keap": 1}), ("compact", {"keep": -1}),
            ("compact", {"keep\0": 1}), ("compact", {"": 1}),
            ("restore", {"back": "1"}), ("restore", {"backs": 1}),
            ("churn", {"rate": -1}), ("churn", {"rate": 0, "rite": 1}),
            ("drop-watches", {"plural": 5}), ("drop-watches", {"how": None}),
            ("drop-watches", {"how plural": "end"}),
            ("expire-watches", {"plurals": "pods"}),
            ("bookmark", {"x": 1}), ("restart-cache", {"x": 1})]:
        answer = sim.post(f"/sim/{path}", body)
        assert answer.status == 400, (path, body, answer.body)
    assert "no such member: keap" in \
        sim.post("/sim/compact", {"keap": 1}).json()["message"]
    assert "not an unsigned integer: count" in \
        sim.post("/sim/events", {"count": -3}).json()["message"]
    assert stream.quiet()
    after = sim.stats()
    for name in ("resourceVersion", "compactedRevision"):
        assert after[name] == before[name], name
    sim.control("restore", {})
    sim.control("bookmark", {})


def test_command_line(start):
    program = start().process.args[0]

    def run(*arguments):
        return subprocess.run([program, *arguments], capture_output=True,
                              text=True, timeout=20)
    shown = run("--help")
    assert shown.returncode == 0 and "--replay-events M" in shown.stdout
    assert "--tls-client-ca FILE" in shown.stdout
    version = run("--version")
    assert version.returncode == 0, version
    assert re.fullmatch(r"kin-apisim \d+\.\d+\.\d+\n", version.stdout), version
    for arguments in (["--nope"], ["x"], ["--port"], ["--port", "x"],
                      ["--port", "70000"], ["--port", "1.5"],
                      ["--port", "0x10"], ["--pods", "-1"],
                      ["--replay=1"], ["--churn", "nan"], ["--seed", ""],
                      ["--seed", "1000000000000000001"],
                      ["--run-for", "0x1"], ["--run-for", " 1"],
                      ["--churn", "inf"], ["--churn", "1e7"],
                      ["--resource", "x"], ["--resource", "a.b.c:lower"],
                      ["--resource", "pods.v1.x", "--resource", "pods.v1.x"],
                      ["--forbid", "nothing"], ["--shapes", "501"],
                      ["--replay-resource", "nodes"],
                      ["--replay-resource", "widgets"],
                      ["--fault", "none"], ["--fault", "cut,x"],
                      ["--fault", "cut,x=1"]):
        refused = run(*arguments)
        assert refused.returncode == 2, (arguments, refused)
        assert refused.stderr.startswith("kin-apisim: "), refused
        assert refused.stdout == ""
    with open("/dev/full", "w", encoding="ascii") as full:
        for option in ("--help", "--version", "--run-for=60"):
            ended = subprocess.run([program, *option.split("=")], stdout=full,
                                   stderr=subprocess.PIPE, text=True,
                                   check=False, timeout=20)
            assert (ended.returncode, ended.stderr) == (
                1, "kin-apisim: standard output: no space left on device\n")
    port = start().port
    taken = run("--port", str(port))
    assert taken.returncode == 1, taken
    assert f"cannot listen on port {port}: " in taken.stderr, taken


def test_closed_standard_descriptors(start):
    program = start().process.args[0]
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        ended = subprocess.run(
            ["sh", "-c", f'exec "$0" --pods 1 --run-for 0.1 {closed}', program],
            capture_output=True, check=False, timeout=20)
        assert (ended.returncode, ended.stderr) == (0, b""), (closed, ended)
