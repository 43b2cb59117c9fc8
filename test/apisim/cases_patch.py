# SPDX-License-Identifier: MIT
"""Strategic merge patches, fieldValidation, types of bodies."""

import time

from cases_apply import (APPLY, DEPLOYMENTS, STRATEGIC, WIDGETS, config,
                         containers_of, deployment)
from cases_write import JSON_PATCH, MAPS, PODS, check
from sim import MERGE, names


def three_containers(start):
    sim = start()
    sim.post(DEPLOYMENTS, deployment([
        {"name": x, "image": "1", "env": [{"name": "E", "value": x}]}
        for x in "abc"]))
    return sim


def patch(sim, body, path=f"{DEPLOYMENTS}/d"):
    answer = sim.ask("PATCH", path, body, STRATEGIC)
    assert answer.status == 200, answer.body
    return answer.json()


def pod_spec(**members):
    return {"spec": {"template": {"spec": members}}}


def test_strategic_patch_merges_lists_by_key(start):
    sim = three_containers(start)
    made = patch(sim, pod_spec(containers=[
        {"name": "b", "image": "2", "env": [{"name": "F", "value": "f"}]},
        {"name": "d", "image": "4", "command": None}]))
    assert [(x["name"], x["image"]) for x in containers_of(made)] == [
        ("a", "1"), ("b", "2"), ("d", "4"), ("c", "1")]
    assert containers_of(made)[1]["env"] == [
        {"name": "F", "value": "f"}, {"name": "E", "value": "b"}]
    assert "command" not in containers_of(made)[2]
    # A list without a merge key is a value.
    patch(sim, pod_spec(tolerations=[{"key": "x"}, {"key": "y"}]))
    made = patch(sim, pod_spec(tolerations=[{"key": "z"}]))
    assert made["spec"]["template"]["spec"]["tolerations"] == [{"key": "z"}]


def test_strategic_patch_deletes_and_replaces(start):
    sim = three_containers(start)
    made = patch(sim, pod_spec(containers=[
        {"name": "a", "$patch": "delete"}, {"name": "none", "$patch": "delete"},
        {"name": "b", "$patch": "replace", "image": "new"}]))
    # "replace" in an element replaces the list.
    assert containers_of(made) == []
    sim = three_containers(start)
    made = patch(sim, pod_spec(containers=[{"name": "a", "$patch": "delete"}]))
    assert [x["name"] for x in containers_of(made)] == ["b", "c"]
    made = patch(sim, pod_spec(containers=[{"$patch": "replace"},
                                           {"name": "z"}]))
    assert containers_of(made) == [{"name": "z"}]
    patch(sim, {"spec": {"strategy": {"type": "RollingUpdate",
                                      "rollingUpdate": {"maxSurge": 1}}}})
    made = patch(sim, {"spec": {"strategy": {
        "$retainKeys": ["type"], "type": "Recreate"}}})
    assert made["spec"]["strategy"] == {"type": "Recreate"}
    made = patch(sim, {"spec": {"strategy": {"$patch": "delete"}}})
    assert made["spec"]["strategy"] == {}
    made = patch(sim, {"metadata": {"labels": {"$patch": "replace",
                                               "a": "b"}}})
    assert made["metadata"]["labels"] == {"a": "b"}


def test_strategic_patch_orders(start):
    sim = three_containers(start)
    made = patch(sim, pod_spec(**{
        "$setElementOrder/containers": [{"name": "c"}, {"name": "d"},
                                        {"name": "a"}],
        "containers": [{"name": "d"}]}))
    assert [x["name"] for x in containers_of(made)] == ["b", "c", "d", "a"]
    made = patch(sim, pod_spec(**{"$setElementOrder/containers": [
        {"name": x} for x in "abcd"]}))
    assert [x["name"] for x in containers_of(made)] == ["a", "b", "c", "d"]


def test_strategic_patch_of_plain_values(start):
    sim = start()
    sim.create(MAPS, "m", metadata={"finalizers": ["a.b/c", "a.b/d"]})

    def finalizers(change):
        made = patch(sim, {"metadata": change}, f"{MAPS}/m")
        return made["metadata"]["finalizers"]
    assert finalizers({"finalizers": ["a.b/d", "a.b/e"]}) == [
        "a.b/c", "a.b/d", "a.b/e"]
    assert finalizers({"$deleteFromPrimitiveList/finalizers": ["a.b/d"]}) == [
        "a.b/c", "a.b/e"]
    assert finalizers({
        "$setElementOrder/finalizers": ["a.b/x", "a.b/e", "a.b/c"],
        "$deleteFromPrimitiveList/finalizers": ["a.b/none"],
        "finalizers": ["a.b/x"]}) == ["a.b/x", "a.b/e", "a.b/c"]


def test_wrong_strategic_patches(start):
    sim = three_containers(start)
    before = sim.revision()
    for bad in (pod_spec(containers=[{"image": "no name"}]),
                pod_spec(containers=["x"]), pod_spec(containers=[None]),
                {"$patch": "x"}, {"spec": {"$patch": 1}}, {"$retainKeys": 1}):
        check(sim.ask("PATCH", f"{DEPLOYMENTS}/d", bad, STRATEGIC), 500, None)
    for bad in ([], 1, None):
        check(sim.ask("PATCH", f"{DEPLOYMENTS}/d", bad, STRATEGIC), 400,
              "BadRequest")
    assert sim.revision() == before
    for odd in ({"$setElementOrder/x": 1},
                {"$deleteFromPrimitiveList/": {}}, {"$patch": "merge"},
                pod_spec(**{"$setElementOrder/containers": [1, None, {}]})):
        assert sim.ask("PATCH", f"{DEPLOYMENTS}/d", odd, STRATEGIC
                       ).status in (200, 400), odd
    assert sim.get(f"{DEPLOYMENTS}/d").status == 200


def test_strict_field_validation(start):
    sim = start("--resource", "widgets.v1.example.com")
    strict = "?fieldValidation=Strict"
    text = ('ConfigMap in version "v1" cannot be handled as a ConfigMap: '
            'strict decoding error: unknown field "dat", '
            'duplicate field "data.a"')
    body = (b'{"metadata":{"name":"m"},"dat":{"x":1},'
            b'"data":{"a":"1","b":"2","a":"3"}}')
    headers = {"Content-Type": "application/json"}
    check(sim.ask("POST", MAPS + strict, body, headers), 400, "BadRequest", text)
    sim.create(MAPS, "m")
    check(sim.ask("PUT", f"{MAPS}/m{strict}", body, headers), 400, "BadRequest",
          text)
    for kind in (MERGE, STRATEGIC):
        for bad, field in (({"dat": {}}, "dat"),
                           ({"metadata": {"lables": {}}}, "metadata.lables")):
            check(sim.ask("PATCH", f"{MAPS}/m{strict}", bad, kind), 422,
                  "Invalid", f'strict decoding error: unknown field "{field}"')
        assert sim.ask("PATCH", f"{MAPS}/m{strict}",
                       {"dat": None, "data": {"any": "x"}}, kind).status == 200
    assert sim.ask("PATCH", f"{MAPS}/m{strict}", [], JSON_PATCH).status == 200
    pod = {"metadata": {"name": "p"},
           "spec": {"containers": [{"name": "a"}, {"name": "b", "ports": [
               {"containerport": 1}]}]}}
    check(sim.post(PODS + strict, pod), 400, "BadRequest",
          'unknown field "spec.containers[1].ports[0].containerport"')
    for lenient in ("Ignore", "Warn", ""):
        assert sim.post(f"{PODS}?dryRun=All&fieldValidation={lenient}", pod
                        ).status == 201
    for method, path in (("POST", MAPS), ("PUT", f"{MAPS}/m"),
                         ("PATCH", f"{MAPS}/m")):
        check(sim.ask(method, f"{path}?fieldValidation=x", {}, MERGE), 422,
              "Invalid", 'supported values: "", "Ignore", "Strict", "Warn"')
    # Of a custom resource without a schema nothing is known.
    assert sim.post(WIDGETS + strict, {
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "w"}, "any": {"thing": 1}}).status == 201


def test_types_of_bodies(start):
    """What cannot be read is refused, with what can."""
    sim = start()
    sim.create(MAPS, "m")
    protobuf = {"Content-Type": "application/vnd.kubernetes.protobuf"}
    for method, path in (("POST", MAPS), ("PUT", f"{MAPS}/m")):
        text = check(sim.ask(method, path, b"k8s\0", protobuf), 415,
                     "UnsupportedMediaType",
                     "accepted media types include: application/json "
                     )["message"]
        assert "no protobuf" in text and "kubectl apply -f" in text
        check(sim.ask(method, path, b"a: b", {
            "Content-Type": "application/yaml"}), 415, "UnsupportedMediaType")
    check(sim.ask("PATCH", f"{MAPS}/m", b"k8s\0", protobuf), 415,
          "UnsupportedMediaType")
    assert names(sim.get(MAPS).json()["items"]) == ["m"]
    assert sim.ask("PATCH", f"{MAPS}/m?fieldManager=x", config(), {
        "Content-Type": APPLY["Content-Type"] + "; charset=utf-8"}
        ).status == 200


def test_dry_run_of_deleting(start):
    sim = start()
    check(sim.ask("DELETE", f"{MAPS}/m?dryRun=All"), 404, "NotFound")
    made = sim.create(MAPS, "m")
    sim.create(PODS, "p")
    before = sim.revision()
    assert sim.delete(f"{MAPS}/m?dryRun=All")["details"]["uid"] == (
        made["metadata"]["uid"])
    assert sim.delete(f"{PODS}/p?dryRun=All")["kind"] == "Pod"
    assert names(sim.delete(f"{MAPS}?dryRun=All")["items"]) == ["m"]
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]}
    assert sim.ask("DELETE", f"{MAPS}/m", body).status == 200
    assert names(sim.ask("DELETE", MAPS, body).json()["items"]) == ["m"]
    assert sim.revision() == before and sim.get(f"{MAPS}/m").json() == made


def test_patches_with_many_members(start):
    """The time grows with the members, not with their square."""
    sim = start()
    count = 10000
    for kind in (MERGE, STRATEGIC):
        sim.create(MAPS, "m", data={f"a{i}": "" for i in range(count)})
        change = {f"b{i}": "" for i in range(count)}
        change.update({"a1": "x", "a2": None})
        began = time.monotonic()
        answer = sim.ask("PATCH", f"{MAPS}/m", {"data": change}, kind)
        took = time.monotonic() - began
        assert answer.status == 200 and took < 5, (kind, answer.status, took)
        data = answer.json()["data"]
        assert list(data) == (["a0", "a1"] +
                              [f"a{i}" for i in range(3, count)] +
                              [f"b{i}" for i in range(count)])
        assert data["a1"] == "x"
        sim.delete(f"{MAPS}/m")


def test_patches_of_long_lists(start):
    sim = start()
    old = [f"a.b/old{i}" for i in range(10000)]
    new = [f"a.b/new{i}" for i in range(10000)]
    sim.create(MAPS, "m", metadata={"finalizers": old})
    began = time.monotonic()
    answer = sim.ask("PATCH", f"{MAPS}/m", {"metadata": {
        "finalizers": [*new, *new, "a.b/old7"],
        "$deleteFromPrimitiveList/finalizers": old[10:]}}, STRATEGIC)
    took = time.monotonic() - began
    assert answer.status == 200 and took < 5, (answer.status, took)
    made = answer.json()["metadata"]["finalizers"]
    assert sorted(made) == sorted([*old[:10], *new])


def test_too_many_operations(start):
    sim = start()
    sim.create(MAPS, "m")
    test = [{"op": "test", "path": "/kind", "value": "ConfigMap"}]
    answer = sim.ask("PATCH", f"{MAPS}/m", test * 10000, JSON_PATCH)
    assert answer.status == 200, answer.body
    answer = sim.ask("PATCH", f"{MAPS}/m", test * 10001, JSON_PATCH)
    check(answer, 413, "RequestEntityTooLarge")
    assert answer.json()["message"] == (
        "Request entity is too large: The allowed maximum operations in a JSON "
        "patch is 10000, got 10001")
