# SPDX-License-Identifier: MIT
"""create, update, patch, delete; definitions of custom resources."""

import re

from cases_list import five_pods
from sim import MERGE, names

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JSON_PATCH = {"Content-Type": "application/json-patch+json"}


def check(answer, code, reason, text=""):
    status = answer.json()
    assert answer.status == code, (answer.status, answer.body)
    assert (status["kind"], status["code"]) == ("Status", code)
    assert status.get("reason") == reason, status
    assert text in status["message"], status
    return status


def test_create_settles_metadata(start):
    sim = start()
    before = sim.revision()
    made = sim.create(MAPS, "m", metadata={
        "uid": "x", "generation": 9, "creationTimestamp": "x", "selfLink": "/x",
        "labels": {"a": "b"}, "unknown": 1}, data={"k": "v"})
    meta = made["metadata"]
    assert list(made) == ["kind", "apiVersion", "metadata", "data"]
    assert list(meta) == ["name", "namespace", "uid", "resourceVersion",
                          "creationTimestamp", "labels"]
    assert meta["resourceVersion"] == str(before + 1)
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-"
                        r"[89ab][0-9a-f]{3}-[0-9a-f]{12}", meta["uid"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
                        meta["creationTimestamp"])
    assert sim.get(f"{MAPS}/m").json() == made


def test_uids_come_from_the_seed(start):
    def uid(*options):
        return start(*options).create(MAPS, "m")["metadata"]["uid"]
    assert uid("--seed", "7") == uid("--seed", "7") != uid("--seed", "8")


def test_create_refusals(start):
    sim = start()
    sim.create(MAPS, "m")
    exists = check(sim.post(MAPS, {"metadata": {"name": "m"}}), 409,
                   "AlreadyExists", 'configmaps "m" already exists')
    assert exists["details"] == {"name": "m", "kind": "configmaps"}
    required = check(sim.post(MAPS, {}), 422, "Invalid",
                     "name or generateName is required")
    assert required["details"]["causes"] == [{
        "reason": "FieldValueRequired",
        "message": "Required value: name or generateName is required",
        "field": "metadata.name"}]
    for name in ("Upper", "-a", "a-", "a..b", "a_b", "x" * 254, "a/b", "é"):
        check(sim.post(MAPS, {"metadata": {"name": name}}), 422, "Invalid")
    check(sim.post(MAPS, {"metadata": {"name": "n", "namespace": "other"}}),
          400, "BadRequest", "namespace of the provided object")
    check(sim.post(MAPS, {"metadata": {"name": "n", "resourceVersion": "1"}}),
          500, None, "should not be set")
    check(sim.post(MAPS, {"kind": "Secret", "metadata": {"name": "n"}}), 400,
          "BadRequest", "cannot be handled as a ConfigMap")
    absent = check(sim.post(MAPS.replace("default", "absent"),
                            {"metadata": {"name": "n"}}), 404, "NotFound")
    assert absent["details"] == {"name": "absent", "kind": "namespaces"}
    check(sim.post("/api/v1/configmaps", {}), 405, "MethodNotAllowed")
    check(sim.ask("POST", MAPS, b"x", {"Content-Type": "text/plain"}), 415,
          "UnsupportedMediaType")
    for body in (b"", b"{", b"[]", b"1", b'"x"', b"\xff", b"{}x",
                 b'{"a":' * 100000, b"[" * 200000):
        check(sim.ask("POST", MAPS, body), 400, "BadRequest")
    assert names(sim.get(MAPS).json()["items"]) == ["m"]


def test_generate_name(start):
    sim = start()
    made = {sim.post(MAPS, {"metadata": {"generateName": "g-"}})
            .json()["metadata"]["name"] for _ in range(20)}
    assert len(made) == 20
    assert all(re.fullmatch("g-[a-z0-9]{5}", x) for x in made)
    for count in (58, 59, 300):
        long = sim.post(MAPS, {"metadata": {"generateName": "g" * count}})
        assert re.fullmatch("g{58}[a-z0-9]{5}",
                            long.json()["metadata"]["name"]), long.body


def test_names_that_are_labels(start):
    sim = start()
    services = "/api/v1/namespaces/default/services"
    for path in ("/api/v1/namespaces", services):
        for name, problem in (
                ("a.b", '"a.b": must not contain dots'),
                ("1a.b", '"1a.b": must not contain dots'),
                ("a" * 64, "must be no more than 63 bytes"),
                ("a_b", "a lowercase RFC 1123 label must consist of"),
                ("a-", "a lowercase RFC 1123 label must consist of")):
            check(sim.post(path, {"metadata": {"name": name}}), 422, "Invalid",
                  problem)
        for name in ("a" * 63, "1a"):
            sim.create(path, name)
    sim.create(MAPS, "a.b")


def test_dry_run_stores_nothing(start):
    sim = start()
    answer = sim.post(f"{MAPS}?dryRun=All", {"metadata": {"name": "m"}})
    assert answer.status == 201 and answer.json()["metadata"]["uid"]
    assert sim.get(f"{MAPS}/m").status == 404


def test_options_of_writes_are_checked_first(start):
    sim = start()
    kept = sim.create(MAPS, "m", data={"k": "1"})
    body = {"metadata": {"name": "m"}, "data": {"k": "2"}}
    apply = {"Content-Type": "application/apply-patch+yaml"}
    unsupported = ("dryRun=Foo", "dryRun=all", "dryRun=", "dryRun=All&dryRun=x")
    for method, kind, headers, more in (
            ("PUT", "Update", {}, ""), ("PATCH", "Patch", MERGE, ""),
            ("PATCH", "Patch", apply, "&fieldManager=x"),
            ("DELETE", "Delete", {}, "")):
        for query in unsupported:
            sent = None if method == "DELETE" else body
            check(sim.ask(method, f"{MAPS}/m?{query}{more}", sent, headers),
                  422, "Invalid", f"{kind}Options.meta.k8s.io")
    check(sim.post(f"{MAPS}?dryRun=Foo", {"metadata": {"name": "n"}}), 422,
          "Invalid", 'CreateOptions.meta.k8s.io "" is invalid: dryRun: '
          'Unsupported value: ["Foo"]: supported values: "All"')
    check(sim.ask("DELETE", f"{MAPS}?dryRun=Foo"), 422, "Invalid",
          "DeleteOptions")
    check(sim.post(f"{MAPS}?dryRun=Foo&fieldValidation=x&fieldManager="
                   + "m" * 129, {"metadata": {"name": "n"}}), 422, "Invalid",
          "[fieldManager: Too long: may not be more than 128 bytes, dryRun: ")
    assert sim.get(MAPS).json()["items"] == [
        {key: kept[key] for key in ("metadata", "data")}]


def test_delete_options_are_checked_first(start):
    sim = start()
    sim.create(MAPS, "m")
    for body in (b"[1", b"not json", b"[]", b"1", b'{"kind":"Foo"}',
                 b'{"kind":"Status","apiVersion":"v1"}', b'{"kind":1}',
                 b'{"dryRun":"All"}', b'{"preconditions":"x"}',
                 b'{"propagationPolicy":1}', b'{"a":' * 100000):
        for path in (MAPS, f"{MAPS}/m", f"{MAPS}/absent"):
            check(sim.ask("DELETE", path, body), 400, "BadRequest")
    wrong = check(sim.ask("DELETE", f"{MAPS}/m",
                          {"kind": "Foo", "apiVersion": "v9"}), 400,
                  "BadRequest")
    assert wrong["message"].startswith(
        'no kind "Foo" is registered for version "v9"')
    for options in ({"dryRun": ["Foo"]}, {"dryRun": ["All", "Foo"]},
                    {"propagationPolicy": "Foo"}):
        for path in (MAPS, f"{MAPS}/m", f"{MAPS}/absent"):
            check(sim.ask("DELETE", path, options), 422, "Invalid",
                  "Unsupported value: ")
    check(sim.ask("DELETE", f"{MAPS}/m?propagationPolicy=Foo"), 422, "Invalid",
          'propagationPolicy: Unsupported value: "Foo": supported values: '
          '"Foreground", "Background", "Orphan", "nil"')
    assert names(sim.get(MAPS).json()["items"]) == ["m"]
    # Clients send those of the group; a body counts instead of the query.
    good = {"kind": "DeleteOptions", "apiVersion": "apps/v1",
            "propagationPolicy": "Background", "orphanDependents": None}
    assert sim.ask("DELETE", f"{MAPS}/m", {**good, "dryRun": ["All"]}
                   ).status == 200
    assert sim.get(f"{MAPS}/m").status == 200
    assert sim.ask("DELETE", f"{MAPS}/m?dryRun=All", good).status == 200
    assert sim.get(f"{MAPS}/m").status == 404


def test_update(start):
    sim = start()
    made = sim.create(MAPS, "m", data={"k": "1"})
    made["data"]["k"] = "2"
    changed = sim.ask("PUT", f"{MAPS}/m", made).json()
    for key in ("uid", "creationTimestamp"):
        assert changed["metadata"][key] == made["metadata"][key]
    assert int(changed["metadata"]["resourceVersion"]) == int(
        made["metadata"]["resourceVersion"]) + 1
    conflict = check(sim.ask("PUT", f"{MAPS}/m", made), 409, "Conflict",
                     "the object has been modified; please apply your changes")
    assert conflict["details"] == {"name": "m", "kind": "configmaps"}
    # The same content is no new version.
    same = sim.ask("PUT", f"{MAPS}/m", changed).json()
    assert same == changed and sim.revision() == int(
        changed["metadata"]["resourceVersion"])
    del changed["metadata"]["resourceVersion"]
    changed["data"]["k"] = "3"
    assert sim.ask("PUT", f"{MAPS}/m", changed).status == 200
    changed["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000"
    check(sim.ask("PUT", f"{MAPS}/m", changed), 409, "Conflict",
          "Precondition failed: UID in precondition")
    # Clients whose members have zero values send these.
    changed["metadata"].update({"uid": "", "resourceVersion": ""})
    assert sim.ask("PUT", f"{MAPS}/m", changed).status == 200
    sim.merge(f"{MAPS}/m", {"metadata": {"uid": ""}})
    check(sim.ask("PUT", f"{MAPS}/x", {"metadata": {"name": "x"}}), 404,
          "NotFound")
    check(sim.ask("PUT", f"{MAPS}/m", {"metadata": {"name": "y"}}), 400,
          "BadRequest", "does not match the name on the URL")
    for path in ("m", "absent"):
        check(sim.ask("PUT", f"{MAPS}/{path}", {"metadata": {"name": "y"}}),
              400, "BadRequest", "does not match the name on the URL")
        for body in ({}, {"metadata": {}}, {"metadata": {"name": ""}}):
            check(sim.ask("PUT", f"{MAPS}/{path}", body), 400, "BadRequest",
                  f"({path} based on URL) was undeterminable")
        check(sim.ask("PUT", f"{MAPS}/{path}", {
            "kind": "Secret", "metadata": {"name": path}}), 400, "BadRequest",
            "cannot be handled as a ConfigMap")
    check(sim.ask("PUT", MAPS, {}), 405, "MethodNotAllowed")


def test_another_order_of_members_is_no_change(start):
    sim = start()
    sim.create(MAPS, "m", metadata={"labels": {"a": "1", "b": "2"}},
               data={"k": "1", "l": "2"})
    before = sim.get(f"{MAPS}/m")
    ordered = b"""{"data":{"l":"2","k":"1"},"metadata":{"labels":
        {"b":"2","a":"1"},"name":"m"}}"""
    assert sim.ask("PUT", f"{MAPS}/m", ordered).body == before.body
    again = [{"op": "remove", "path": "/data/k"},
             {"op": "add", "path": "/data/k", "value": "1"}]
    assert sim.ask("PATCH", f"{MAPS}/m", again, JSON_PATCH).body == before.body
    swapped = ordered.replace(b'"2","k":"1"', b'"1","k":"2"')
    assert sim.ask("PUT", f"{MAPS}/m", swapped).json()["data"] == {
        "k": "2", "l": "1"}


def test_custom_resources_need_a_version_to_update(start):
    sim = start("--resource", "widgets.v1.example.com")
    path = "/apis/example.com/v1/namespaces/default/widgets"
    body = {"apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": {"name": "w"}, "spec": {"n": 1}}
    assert sim.post(path, body).status == 201
    body["spec"]["n"] = 2
    check(sim.ask("PUT", f"{path}/w", body), 422, "Invalid",
          "metadata.resourceVersion: Invalid value: 0: must be specified")
    check(sim.post(path, {"metadata": {"name": "v"}}), 400, "BadRequest")


def test_of_members_that_come_twice_the_last_counts(start):
    sim = start("--resource", "widgets.v1.example.com")
    widgets = "/apis/example.com/v1/namespaces/default/widgets"
    head = b'{"apiVersion":"example.com/v1","kind":"Widget",'
    for meta in (b'"metadata":5,"metadata":{"name":"w"}',
                 b'"metadata":{"name":"v"},"metadata":{"name":"w"}',
                 b'"metadata":{"name":"v","name":"w"}',
                 b'"metadata":{"name":"w"},"spec":[{"a":1,"a":2}]'):
        made = sim.ask("POST", widgets, head + meta + b"}")
        assert made.json()["metadata"]["name"] == "w", made.body
        assert made.body.count(b'"metadata"') == 1 == made.body.count(b'"name"')
        assert b'"a":1' not in made.body
        sim.delete(f"{widgets}/w")
    for body in (b'"metadata":{"name":"w"},"metadata":5',
                 b'"metadata":{"name":"w","name":5}'):
        check(sim.ask("POST", widgets, head + body + b"}"), 422, "Invalid")
    sim.create(MAPS, "m")
    changed = sim.ask("PATCH", f"{MAPS}/m",
                      b'{"data":{"k":"1","k":"2"},"data":{"l":"3","l":"4"}}',
                      {"Content-Type": "application/merge-patch+json"})
    assert changed.json()["data"]["l"] == "4"
    assert changed.body.count(b'"l"') == 1, changed.body
    assert sim.get(widgets).json()["items"] == []


def test_generation_counts_changes_of_the_spec(start):
    sim = five_pods(start)

    def generation(patch):
        return sim.merge(f"{PODS}/p1", patch)["metadata"]["generation"]
    assert generation({"metadata": {"labels": {"x": "y"}}}) == 1
    assert generation({"status": {"phase": "Running"}}) == 1
    assert generation({"spec": {"nodeName": "n"}}) == 2
    assert generation({"spec": {"nodeName": "n"}}) == 2
    assert "generation" not in sim.create(MAPS, "m")["metadata"]


def test_merge_patch(start):
    sim = start()
    sim.create(MAPS, "m", data={"a": "1", "b": "2"})
    patched = sim.merge(f"{MAPS}/m", {"data": {"a": None, "c": "3"}})
    assert patched["data"] == {"b": "2", "c": "3"}
    strategic = sim.ask("PATCH", f"{MAPS}/m", {"data": {"b": "9"}}, {
        "Content-Type": "application/strategic-merge-patch+json"})
    assert strategic.json()["data"] == {"b": "9", "c": "3"}
    check(sim.ask("PATCH", f"{MAPS}/m", {
        "metadata": {"resourceVersion": "1"}, "data": {}}, MERGE), 409,
        "Conflict")
    check(sim.ask("PATCH", f"{MAPS}/x", {}, MERGE), 404, "NotFound")
    check(sim.ask("PATCH", f"{MAPS}/m", {}), 415, "UnsupportedMediaType")
    for body in (b"", b"{", b"[]", b"1", b"null", b'{"metadata":null}',
                 b'{"metadata":1}', b'{"a":' * 100000):
        assert sim.ask("PATCH", f"{MAPS}/m", body, MERGE).status in (200, 400)
    assert sim.get(f"{MAPS}/m").json()["metadata"]["name"] == "m"


def test_json_patch(start):
    sim = start()
    sim.create(MAPS, "m", data={"a": "1", "b": "2"})

    def apply(*operations):
        return sim.ask("PATCH", f"{MAPS}/m", list(operations), JSON_PATCH)
    assert apply({"op": "test", "path": "/data/a", "value": "1"},
                 {"op": "replace", "path": "/data/a", "value": "x"},
                 {"op": "add", "path": "/data/c", "value": "y"},
                 {"op": "remove", "path": "/data/b"},
                 {"op": "copy", "from": "/data/c", "path": "/data/d"},
                 {"op": "move", "from": "/data/c", "path": "/data/e"},
                 ).json()["data"] == {"a": "x", "d": "y", "e": "y"}
    # A member that is there is replaced: RFC 6902, 4.1.
    again = apply({"op": "add", "path": "/data/a", "value": "1"},
                  {"op": "add", "path": "/data/a", "value": "z"})
    assert again.json()["data"] == {"a": "z", "d": "y", "e": "y"}
    assert again.body.count(b'"a":') == 1
    before = sim.revision()
    for test in ({"path": "/data/none", "value": None}, {"path": "/data/none"},
                 {"path": "/none", "value": None}):
        assert apply({"op": "test", **test}).status == 200, test
    for bad in ({"op": "test", "path": "/data/a", "value": "no"},
                {"op": "test", "path": "/data/e", "value": None},
                {"op": "test", "path": "/data/e"},
                {"op": "test", "path": "/none/x", "value": None},
                {"op": "test", "path": "/data/a/x", "value": None},
                {"op": "test", "path": "none", "value": None},
                {"op": "test", "path": "", "value": None},
                {"op": "remove", "path": "/data/none"}, {"op": "x"}, 7,
                {"op": "remove", "path": ""},
                {"op": "move", "from": "", "path": "/data/all"},
                {"op": "replace", "path": "data", "value": 1}):
        check(apply({"op": "remove", "path": "/data/a"}, bad), 422, "Invalid")
    # Each doubles the document.
    double = [{"op": "copy", "from": "", "path": f"/data/{i}"}
              for i in range(60)]
    check(apply(*double), 422, "Invalid")
    # Each doubles the depth.
    deeper = [{"op": "copy", "from": "/data", "path": "/data" + "/x" * 2 ** i}
              for i in range(12)]
    check(apply({"op": "add", "path": "/data", "value": {}}, *deeper), 422,
          "Invalid")
    deep = {"op": "replace", "path": "/metadata/" + "x/" * 400, "value": {}}
    check(apply(deep), 422, "Invalid")
    assert apply({"op": "replace", "path": "", "value": 1}).status == 400
    assert sim.revision() == before


def test_status_subresource(start):
    sim = five_pods(start)
    changed = sim.merge(f"{PODS}/p1/status", {
        "status": {"phase": "Running"}, "spec": {"nodeName": "ignored"}})
    assert changed["status"]["phase"] == "Running"
    assert "nodeName" not in changed["spec"]
    assert sim.get(f"{MAPS}/m/status").status == 404


def test_the_status_subresource_removes_a_status(start):
    sim = start("--resource", "widgets.v1.example.com")
    path = "/apis/example.com/v1/namespaces/default/widgets"
    head = {"apiVersion": "example.com/v1", "kind": "Widget"}
    made = sim.create(path, "w", spec={"n": 1}, status={"a": 1}, **head)
    bare = sim.merge(f"{path}/w/status", {"status": None, "spec": None})
    assert "status" not in bare and bare["spec"] == {"n": 1}
    put = sim.merge(f"{path}/w/status", {"status": {"b": 2}})
    assert put["status"] == {"b": 2}
    del put["status"]
    answer = sim.ask("PUT", f"{path}/w/status", put)
    assert answer.status == 200 and "status" not in answer.json()
    assert sim.get(f"{path}/w").json()["spec"] == made["spec"]


def test_delete(start):
    sim = five_pods(start)
    sim.create(MAPS, "m")
    uid = sim.get(f"{MAPS}/m").json()["metadata"]["uid"]
    check(sim.ask("DELETE", f"{MAPS}/m", {"preconditions": {"uid": "x"}}), 409,
          "Conflict", "the UID in the precondition (x) does not match")
    assert sim.delete(f"{MAPS}/m") == {
        "kind": "Status", "apiVersion": "v1", "metadata": {},
        "status": "Success",
        "details": {"name": "m", "kind": "configmaps", "uid": uid}}
    check(sim.ask("DELETE", f"{MAPS}/m"), 404, "NotFound")
    gone = sim.delete(f"{PODS}/p1")
    assert gone["kind"] == "Pod" and gone["metadata"]["deletionTimestamp"]
    assert sim.get(f"{PODS}/p1").status == 404


def test_a_name_can_be_used_again(start):
    sim = start()
    first = sim.create(MAPS, "m")["metadata"]["uid"]
    at = sim.revision()
    sim.delete(f"{MAPS}/m")
    second = sim.create(MAPS, "m")["metadata"]["uid"]
    assert first != second
    events = sim.watch(f"{MAPS}?watch=1&resourceVersion={at}").events(2)
    assert [(x["type"], x["object"]["metadata"]["uid"]) for x in events] == [
        ("DELETED", first), ("ADDED", second)]


def test_delete_collection(start):
    sim = five_pods(start)
    answer = sim.ask("DELETE", "/api/v1/namespaces/default/pods"
                     "?labelSelector=app%3Da1")
    assert answer.json()["kind"] == "PodList"
    assert names(answer.json()["items"]) == ["p1", "p3", "p5"]
    assert names(sim.get(PODS).json()["items"]) == ["p2", "p4"]


def test_finalizers_hold_an_object(start):
    sim = start()
    sim.create(MAPS, "m", metadata={"finalizers": ["example.com/hold", "x/y"]})
    at = sim.revision()
    held = sim.delete(f"{MAPS}/m")
    assert held["metadata"]["deletionTimestamp"]
    more = {"metadata": {"finalizers": ["x/y", "x/z"]}}
    check(sim.ask("PATCH", f"{MAPS}/m", more, MERGE), 422, "Invalid",
          "metadata.finalizers: Forbidden: no new finalizers can be added if "
          'the object is being deleted, found new finalizers []string{"x/z"}')
    sim.merge(f"{MAPS}/m", {"metadata": {"finalizers": ["x/y"]}})
    assert sim.get(f"{MAPS}/m").status == 200
    sim.merge(f"{MAPS}/m", {"metadata": {"finalizers": None}})
    assert sim.get(f"{MAPS}/m").status == 404
    events = sim.watch(f"{MAPS}?watch=1&resourceVersion={at}").events(3)
    assert [x["type"] for x in events] == ["MODIFIED", "MODIFIED", "DELETED"]


def test_namespaces_are_deleted_one_by_one(start):
    sim = start()
    before = sim.get("/api/v1/namespaces").body
    check(sim.ask("DELETE", "/api/v1/namespaces"), 405, "MethodNotAllowed")
    assert sim.get("/api/v1/namespaces").body == before
    paths = sim.get("/openapi/v3/api/v1").json()["paths"]
    assert "delete" not in paths["/api/v1/namespaces"]
    assert "delete" in paths["/api/v1/namespaces/{name}"]
    assert "delete" in paths["/api/v1/nodes"]


def test_only_a_list_of_finalizers_holds(start):
    sim = start("--resource", "widgets.v1.example.com")
    path = "/apis/example.com/v1/namespaces/default/widgets"
    for at, head in ((path, {"apiVersion": "example.com/v1", "kind": "Widget"}),
                     (MAPS, {})):
        for none in (None, [], "x", {"a": 1}, 7):
            sim.create(at, "w", metadata={"finalizers": none, "labels": None},
                       **head)
            stored = sim.get(f"{at}/w").json()["metadata"]
            assert none is not None or "finalizers" not in stored
            assert "labels" not in stored
            sim.delete(f"{at}/w")
            assert sim.get(f"{at}/w").status == 404, none


def test_a_namespace_takes_its_objects_along(start):
    sim = start()
    sim.create("/api/v1/namespaces", "n")
    sim.create("/api/v1/namespaces/n/configmaps", "m")
    sim.create(MAPS, "m")
    sim.delete("/api/v1/namespaces/n")
    assert [x["metadata"]["namespace"] for x in
            sim.get("/api/v1/configmaps").json()["items"]] == ["default"]


def test_updates_that_need_a_version(start):
    """Which resources do is in their strategies (AllowUnconditionalUpdate)."""
    sim = start()
    lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    at = f"{CRDS}/things.example.org"
    sim.create(lease[:-2], "l")
    assert sim.post(CRDS, definition()).status == 201
    for path, name in ((lease, 'leases.coordination.k8s.io "l"'),
                       (at, "customresourcedefinitions.apiextensions.k8s.io "
                            '"things.example.org"')):
        now = sim.get(path).json()
        version = now["metadata"].pop("resourceVersion")
        check(sim.ask("PUT", path, now), 422, "Invalid",
              f"{name} is invalid: metadata.resourceVersion: Invalid value: 0: "
              "must be specified for an update")
        sim.merge(path, {"metadata": {"labels": {"a": "b"}}})
        now["metadata"]["resourceVersion"] = version
        check(sim.ask("PUT", path, now), 409, "Conflict")
    for path in (MAPS, PODS):
        sim.create(path, "x")
        assert sim.ask("PUT", f"{path}/x",
                       {"metadata": {"name": "x"}}).status == 200


def test_version_0_is_none(start):
    sim = start("--resource", "widgets.v1.example.com")
    widgets = "/apis/example.com/v1/namespaces/default/widgets"
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    head = {"apiVersion": "example.com/v1", "kind": "Widget"}
    for path, more, code in ((MAPS, {}, 200), (leases, {}, 422),
                             (widgets, head, 422)):
        made = sim.create(path, "m", metadata={"resourceVersion": "0"}, **more)
        assert int(made["metadata"]["resourceVersion"]) > 0
        made["metadata"]["resourceVersion"] = "0"
        put = sim.ask("PUT", f"{path}/m", made)
        assert put.status == code, put.body
        if code == 422:
            check(put, 422, "Invalid", "resourceVersion: Invalid value: 0: "
                  "must be specified for an update")
        patched = sim.ask("PATCH", f"{path}/m",
                          {"metadata": {"resourceVersion": "0"}}, MERGE)
        assert patched.status == code, patched.body


def test_updates_that_create(start):
    """Which resources do is in their strategies (AllowCreateOnUpdate)."""
    sim = start()
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    spec = {"holderIdentity": "me"}

    def put(path, **metadata):
        return sim.ask("PUT", path, {"metadata": metadata, "spec": spec})
    made = put(f"{leases}/l?dryRun=All", name="l")
    assert made.status == 201 and sim.get(f"{leases}/l").status == 404
    made = put(f"{leases}/l", name="l", resourceVersion="5")
    assert made.status == 201 and made.json()["spec"] == spec
    assert sim.get(f"{leases}/l").json() == made.json()
    check(put(f"{leases}/m", name="m", uid="old"), 409, "Conflict",
          "UID in precondition: old, UID in object meta: ")
    assert put(f"{leases}/m?dryRun=All", name="m", uid="").status == 201
    check(put(f"{leases}/m", name="n"), 400, "BadRequest", "does not match")
    for unnamed in ({}, {"generateName": "m-"}):
        check(put(f"{leases}/m", **unnamed), 400, "BadRequest",
              "(m based on URL) was undeterminable: name must be provided")
    check(put(leases.replace("default", "none") + "/m", name="m"), 404,
          "NotFound", 'namespaces "none" not found')
    assert names(sim.get(leases).json()["items"]) == ["l"]
    for plural in ("events", "services"):
        path = f"/api/v1/namespaces/default/{plural}/e"
        assert put(path, name="e").status == 201, plural
    for path in (MAPS, PODS):
        check(put(f"{path}/x", name="x"), 404, "NotFound")
    check(sim.ask("PATCH", f"{leases}/m", {"spec": spec}, MERGE), 404,
          "NotFound")


def definition(served=True):
    return {"apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.org"},
            "spec": {"group": "example.org", "scope": "Namespaced",
                     "names": {"plural": "things", "singular": "thing",
                               "kind": "Thing", "shortNames": ["th"]},
                     "versions": [{"name": "v1beta1", "served": served,
                                   "storage": True}]}}


def test_a_definition_comes_and_goes(start):
    sim = start()
    path = "/apis/example.org/v1beta1/namespaces/default/things"
    assert sim.get(path).body == b"404 page not found\n"
    made = sim.post(CRDS, definition())
    assert made.status == 201
    assert made.json()["status"]["conditions"][1]["type"] == "Established"
    assert sim.get(path).json()["kind"] == "ThingList"
    sim.create(path, "t", apiVersion="example.org/v1beta1", kind="Thing")
    found = sim.get("/apis/example.org/v1beta1").json()["resources"][0]
    assert (found["name"], found["shortNames"]) == ("things", ["th"])
    stream = sim.watch(f"{path}?watch=1")
    assert stream.event()["type"] == "ADDED"
    sim.delete(f"{CRDS}/things.example.org")
    assert stream.event()["type"] == "DELETED"
    assert stream.event() is None
    assert sim.get(path).status == 404
    assert sim.post(CRDS, definition()).status == 201
    assert sim.get(path).json()["items"] == []


def test_generation_counts_a_status_that_is_no_subresource(start):
    sim = start()
    crd = definition()
    crd["spec"]["versions"].append(
        {"name": "v1", "subresources": {"status": {}}})
    assert sim.post(CRDS, crd).status == 201

    def generations(version):
        path = f"/apis/example.org/{version}/namespaces/default/things"
        sim.create(path, "t", apiVersion=f"example.org/{version}", kind="Thing")
        return [sim.merge(f"{path}/t", patch)["metadata"]["generation"]
                for patch in ({"metadata": {"labels": {"x": "y"}}},
                              {"status": {"phase": "Ready"}},
                              {"status": {"phase": "Ready"}},
                              {"spec": {"size": 1}},
                              {"status": None})]
    assert generations("v1beta1") == [1, 2, 2, 3, 4]
    assert generations("v1") == [1, 1, 1, 2, 2]


def test_what_a_finalizer_held_takes_its_own_along(start):
    sim = start()
    hold = {"finalizers": ["example.com/hold"]}
    free = {"metadata": {"finalizers": None}}
    sim.create("/api/v1/namespaces", "n", metadata=hold)
    maps = "/api/v1/namespaces/n/configmaps"
    sim.create(maps, "m")
    sim.delete("/api/v1/namespaces/n")
    assert names(sim.get(maps).json()["items"]) == ["m"]
    sim.merge("/api/v1/namespaces/n", free)
    assert sim.get(maps).json()["items"] == []
    held = definition()
    held["metadata"].update(hold)
    assert sim.post(CRDS, held).status == 201
    path = "/apis/example.org/v1beta1/namespaces/default/things"
    sim.delete(f"{CRDS}/things.example.org")
    assert sim.get(path).status == 200
    sim.merge(f"{CRDS}/things.example.org", free)
    assert sim.get(path).status == 404


def test_a_definition_changes(start):
    sim = start()
    at = f"{CRDS}/things.example.org"
    assert sim.post(CRDS, definition()).status == 201
    group = "/apis/example.org"
    changed = definition()["spec"]["versions"] + [{"name": "v1"}]
    sim.merge(at, {"spec": {"versions": changed}})
    assert len(sim.get(group).json()["versions"]) == 2
    sim.merge(at, {"spec": {"versions": changed[1:]}})
    assert [x["version"] for x in sim.get(group).json()["versions"]] == ["v1"]
    assert sim.get(f"{group}/v1beta1/things").status == 404
    # Deleted, and made anew as something else.
    sim.delete(at)
    other = definition()
    other["spec"]["scope"] = "Cluster"
    other["spec"]["names"] = {"plural": "things", "kind": "Other",
                              "singular": 'no"name'}
    assert sim.post(CRDS, other).status == 201
    found = sim.get(f"{group}/v1beta1").json()["resources"][0]
    assert (found["kind"], found["namespaced"], found["singularName"],
            found.get("shortNames")) == ("Other", False, "thing", None)
    sim.create(f"{group}/v1beta1/things", "t", kind="Other",
               apiVersion="example.org/v1beta1")


def test_stored_version_and_status_of_a_definition(start):
    sim = start()
    crd = definition()
    crd["spec"]["versions"] = [
        {"name": "v1alpha1", "storage": False},
        {"name": "v2", "storage": True, "subresources": {"status": {}}}]
    made = sim.post(CRDS, crd)
    assert made.json()["status"]["storedVersions"] == ["v2"], made.body
    for version, code, listed in (("v1alpha1", 404, ["things"]),
                                  ("v2", 200, ["things", "things/status"])):
        group = f"/apis/example.org/{version}"
        things = f"{group}/namespaces/default/things"
        sim.create(things, "t", kind="Thing",
                   apiVersion=f"example.org/{version}")
        assert sim.get(f"{things}/t/status").status == code, version
        assert sim.ask("PATCH", f"{things}/t/status", {"status": {"a": 1}},
                       MERGE).status == code, version
        found = sim.get(group).json()["resources"]
        assert [x["name"] for x in found] == listed
    items = sim.get("/apis", {
        "Accept": "application/json;g=apidiscovery.k8s.io;v=v2;"
                  "as=APIGroupDiscoveryList"}).json()["items"]
    found = next(x for x in items if x["metadata"]["name"] == "example.org")
    assert ["subresources" in x["resources"][0] for x in
            found["versions"]] == [True, False]


def test_odd_definitions_do_no_harm(start):
    sim = start()
    for i, spec in enumerate((
            None, 1, [], {}, {"group": 1}, {"group": "a.b", "names": []},
            {"group": "a.b", "names": {"plural": "x", "kind": "X"},
             "versions": [1, None, {"name": 5}, {"name": "../v"}]},
            {"group": "", "names": {"plural": "pods", "kind": "Pod"},
             "versions": [{"name": "v1", "served": False}]})):
        sim.post(CRDS, {"metadata": {"name": f"d{i}"}, "spec": spec})
    assert sim.get("/api/v1/pods").status == 200
    for i in range(8):
        sim.delete(f"{CRDS}/d{i}")


def test_objects_keep_what_they_hold(start):
    """Numbers, escapes and unknown members come back as they were."""
    sim = start("--resource", "widgets.v1.example.com")
    path = "/apis/example.com/v1/namespaces/default/widgets"
    spec = {"big": 12345678901234567890123, "float": 1.5e300, "neg": -0.25,
            "text": "\u0000\u001f\"\\/\u2028\U0001f600é<>&", "empty": {},
            "list": [[], {}, None, True]}
    made = sim.create(path, "w", apiVersion="example.com/v1", kind="Widget",
                      spec=spec)
    assert made["spec"] == spec
    assert sim.get(f"{path}/w").json()["spec"] == spec
