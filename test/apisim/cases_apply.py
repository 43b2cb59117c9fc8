# SPDX-License-Identifier: MIT
"""Server-side apply: merging, owners, conflicts."""

import json

from cases_write import CRDS, MAPS, PODS, check
from sim import MERGE

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
APPLY = {"Content-Type": "application/apply-patch+yaml"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}


def config(data=None, **members):
    body = {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "m", **members.pop("metadata", {})}, **members}
    if data is not None:
        body["data"] = data
    return body


def ask(sim, body, manager="one", path=f"{MAPS}/m", query=""):
    return sim.ask("PATCH", f"{path}?fieldManager={manager}{query}", body, APPLY)


def apply(sim, *arguments, **options):
    answer = ask(sim, *arguments, **options)
    assert answer.status in (200, 201), answer.body
    return answer.json()


def managers(made):
    return {(x["manager"], x["operation"]): x["fieldsV1"]
            for x in made["metadata"].get("managedFields", [])}


def test_apply_makes_an_object(start):
    sim = start()
    answer = ask(sim, config({"a": "1"}, metadata={"labels": {"x": "y"}}))
    assert answer.status == 201
    made = answer.json()
    assert made["data"] == {"a": "1"} and made["metadata"]["uid"]
    entry, = made["metadata"]["managedFields"]
    assert {x: entry[x] for x in entry if x != "time"} == {
        "manager": "one", "operation": "Apply", "apiVersion": "v1",
        "fieldsType": "FieldsV1", "fieldsV1": {
            "f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:x": {}}}}}
    assert sim.get(f"{MAPS}/m").json() == made
    # The same again is no new version.
    assert apply(sim, config({"a": "1"}, metadata={"labels": {"x": "y"}})
                 ) == made
    assert sim.revision() == int(made["metadata"]["resourceVersion"])


def test_dry_run_of_apply_stores_nothing(start):
    sim = start()
    assert ask(sim, config({}), query="&dryRun=All").status == 201
    assert sim.get(f"{MAPS}/m").status == 404
    first = apply(sim, config({"a": "1"}))
    dry = apply(sim, config({"a": "2"}), query="&dryRun=All")
    assert dry["data"] == {"a": "2"}
    assert sim.get(f"{MAPS}/m").json() == first


def test_apply_removes_what_is_no_longer_applied(start):
    sim = start()
    apply(sim, config({"a": "1", "b": "2"}))
    apply(sim, config({"c": "3"}), "two")
    made = apply(sim, config({"a": "1"}))
    assert made["data"] == {"a": "1", "c": "3"}
    assert managers(made)["one", "Apply"] == {"f:data": {"f:a": {}}}
    # Of two owners one is left.
    apply(sim, config({"a": "1", "c": "3"}), "two")
    made = apply(sim, config())
    assert made["data"] == {"a": "1", "c": "3"}
    assert set(managers(made)) == {("two", "Apply")}
    assert "data" not in apply(sim, config(), "two")


def test_conflict(start):
    sim = start()
    apply(sim, config({"a": "1", "b": "2"}))
    one = check(ask(sim, config({"a": "9"}), "two"), 409, "Conflict")
    assert one["message"] == (
        'Apply failed with 1 conflict: conflict with "one": .data.a')
    assert one["details"] == {"causes": [{
        "reason": "FieldManagerConflict", "message": 'conflict with "one"',
        "field": ".data.a"}]}
    two = check(ask(sim, config({"a": "9", "b": "9"}), "two"), 409, "Conflict")
    assert two["message"] == ('Apply failed with 2 conflicts: conflicts with '
                              '"one":\n- .data.a\n- .data.b')
    assert [x["field"] for x in two["details"]["causes"]] == [
        ".data.a", ".data.b"]
    assert sim.get(f"{MAPS}/m").json()["data"] == {"a": "1", "b": "2"}
    # The same value is shared, and force takes a field away.
    shared = apply(sim, config({"b": "2"}), "two")
    assert managers(shared)["one", "Apply"]["f:data"] == {"f:a": {}, "f:b": {}}
    made = apply(sim, config({"a": "9", "b": "2"}), "two", query="&force=true")
    assert made["data"] == {"a": "9", "b": "2"}
    assert managers(made)["one", "Apply"]["f:data"] == {"f:b": {}}


def test_writes_take_fields_over(start):
    sim = start()
    apply(sim, config({"a": "1", "b": "2"}))
    path = f"{MAPS}/m?fieldManager=editor"
    changed = sim.merge(path, {"data": {"a": "9"}})
    assert managers(changed) == {
        ("one", "Apply"): {"f:data": {"f:b": {}}},
        ("editor", "Update"): {"f:data": {"f:a": {}}}}
    conflict = check(ask(sim, config({"a": "1", "b": "2"})), 409, "Conflict",
                     'conflict with "editor" using v1: .data.a')
    assert conflict["details"]["causes"][0]["field"] == ".data.a"
    # Who took a field away owns nothing of it; the User-Agent names a manager.
    gone = sim.ask("PATCH", f"{MAPS}/m", {"data": {"a": None, "c": "1"}},
                   {**MERGE, "User-Agent": "tool/v1 (x)"}).json()
    assert managers(gone) == {
        ("one", "Apply"): {"f:data": {"f:b": {}}},
        ("tool", "Update"): {"f:data": {"f:c": {}}}}
    # An update without managedFields keeps them; one empty entry clears them.
    bare = json.loads(json.dumps(gone))
    del bare["metadata"]["managedFields"]
    assert sim.ask("PUT", f"{MAPS}/m", bare).json() == gone
    bare["metadata"]["managedFields"] = [{}]
    assert managers(sim.ask("PUT", f"{MAPS}/m", bare).json()) == {}


def test_owners_begin_with_a_named_manager_or_the_first_apply(start):
    sim = start()
    assert managers(sim.create(MAPS, "m", data={"a": "1"})) == {}
    assert managers(sim.merge(f"{MAPS}/m?fieldManager=x",
                              {"data": {"b": "2"}})) == {}
    made = apply(sim, config({"b": "2"}))
    assert managers(made) == {
        ("one", "Apply"): {"f:data": {"f:b": {}}},
        ("before-first-apply", "Update"): {
            "f:data": {".": {}, "f:a": {}, "f:b": {}}}}
    named = sim.post(f"{MAPS}?fieldManager=maker",
                     config({"a": "1"}, metadata={"name": "n"})).json()
    assert managers(named) == {
        ("maker", "Update"): {"f:data": {".": {}, "f:a": {}}}}


def test_many_updaters_are_joined(start):
    sim = start()
    apply(sim, config({"a": "1"}))
    for i in range(15):
        made = sim.merge(f"{MAPS}/m?fieldManager=m{i}",
                         {"data": {f"k{i}": "v"}})
    updates = [name for name, kind in managers(made) if kind == "Update"]
    assert len(updates) == 10 and "ancient-changes" in updates
    owned = [x for fields in managers(made).values() for x in fields["f:data"]]
    assert sorted(owned) == sorted(["f:a"] + [f"f:k{i}" for i in range(15)])


def deployment(containers, **spec):
    return {"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "d"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
                "spec": {"containers": containers}}, **spec}}


def containers_of(made):
    return made["spec"]["template"]["spec"]["containers"]


def test_lists_are_merged_by_their_keys(start):
    sim = start()
    path = f"{DEPLOYMENTS}/d"
    apply(sim, deployment([
        {"name": "a", "image": "1", "ports": [{"containerPort": 80}]},
        {"name": "b", "image": "1", "args": ["x", "y"]}]), path=path)
    # Another manager's container and port come along; a port without a
    # protocol is one of TCP.
    made = apply(sim, deployment([
        {"name": "a", "ports": [{"containerPort": 80, "protocol": "TCP"},
                                {"containerPort": 80, "protocol": "UDP"}]},
        {"name": "c", "image": "2"}]), "two", path=path)
    assert [x["name"] for x in containers_of(made)] == ["a", "b", "c"]
    assert containers_of(made)[0] == {
        "name": "a", "image": "1",
        "ports": [{"containerPort": 80, "protocol": "TCP"},
                  {"containerPort": 80, "protocol": "UDP"}]}
    owned = managers(made)["two", "Apply"]
    assert 'k:{"containerPort":80,"protocol":"UDP"}' in owned["f:spec"][
        "f:template"]["f:spec"]["f:containers"]['k:{"name":"a"}']["f:ports"]
    # An atomic list has one owner.
    conflict = check(ask(sim, deployment([{"name": "b", "args": ["z"]}]), "two",
                         path=path), 409, "Conflict")
    assert [x["field"] for x in conflict["details"]["causes"]] == [
        '.spec.template.spec.containers[name="b"].args']
    # A container that nobody applies any more goes, with all that is in it.
    made = apply(sim, deployment([{"name": "a", "image": "1"}]), path=path)
    assert [x["name"] for x in containers_of(made)] == ["a", "c"]
    assert containers_of(made)[0]["ports"] == [
        {"containerPort": 80, "protocol": "TCP"},
        {"containerPort": 80, "protocol": "UDP"}]
    # An atomic object is one field.
    selector = deployment([{"name": "a"}],
                          selector={"matchLabels": {"c": "d"}})
    conflict = check(ask(sim, selector, "three", path=path), 409, "Conflict")
    assert {x["field"] for x in conflict["details"]["causes"]} == {
        ".spec.selector"}


def test_sets_and_references(start):
    sim = start()
    made = apply(sim, config(metadata={"finalizers": ["a.b/c", "a.b/d"]}))
    assert managers(made)["one", "Apply"] == {"f:metadata": {"f:finalizers": {
        'v:"a.b/c"': {}, 'v:"a.b/d"': {}}}}
    made = apply(sim, config(metadata={"finalizers": ["a.b/e"]}), "two")
    assert sorted(made["metadata"]["finalizers"]) == ["a.b/c", "a.b/d", "a.b/e"]
    made = apply(sim, config(metadata={"finalizers": ["a.b/d"]}))
    assert sorted(made["metadata"]["finalizers"]) == ["a.b/d", "a.b/e"]


def test_apply_refusals(start):
    sim = start()
    path = f"{MAPS}/m"
    check(sim.ask("PATCH", path, config({}), APPLY), 422, "Invalid",
          "fieldManager: Required value: is required for apply patch")
    check(ask(sim, config({}), "x" * 129), 422, "Invalid", "fieldManager")
    check(sim.ask("PATCH", f"{path}?force=true", {}, MERGE), 422, "Invalid",
          "force: Forbidden")
    check(ask(sim, {"metadata": {"name": "m"}}), 400, "BadRequest",
          "invalid object type: /, Kind=")
    check(ask(sim, config({}, metadata={"managedFields": []})), 400,
          "BadRequest", "metadata.managedFields must be nil")
    check(ask(sim, config({}, metadata={"name": "other"})), 400, "BadRequest",
          "does not match")
    check(ask(sim, b"apiVersion: v1\nkind: ConfigMap\n"), 400, "BadRequest",
          "as JSON only")
    for body in (b"", b"{", b"[]", b"null", b'{"a":' * 100000):
        check(ask(sim, body), 400, "BadRequest")
    check(ask(sim, config({}), path=MAPS), 405, "MethodNotAllowed")
    check(ask(sim, config({}), path="/api/v1/namespaces/none/configmaps/m"),
          404, "NotFound")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
           "spec": {"containers": [{"image": "no name"}]}}
    check(ask(sim, pod, path=f"{PODS}/p"), 500, None,
          '.spec.containers: element 0: associative list with keys has an '
          'element that omits all key fields ["name"]')
    pod["spec"]["containers"] = [{"name": "a"}, {"name": "a"}]
    check(ask(sim, pod, path=f"{PODS}/p"), 500, None, '.spec.containers: duplicate entries for key [name="a"]')
    pod["spec"]["containers"] = [{"name": "a", "imagine": "x"}]
    check(ask(sim, pod, path=f"{PODS}/p"), 500, None,
          ".spec.containers[0].imagine: field not declared in schema")
    del pod["spec"]
    check(ask(sim, pod, path=f"{PODS}/p/status"), 404, "NotFound")
    assert sim.get(MAPS).json()["items"] == []


def test_versions_are_checked(start):
    sim = start()
    made = apply(sim, config({"a": "1"}))
    meta = made["metadata"]
    old = config({"a": "2"}, metadata={"resourceVersion": "1"})
    check(ask(sim, old), 409, "Conflict", "the object has been modified")
    other = config({"a": "2"}, metadata={"uid": meta["uid"][::-1]})
    check(ask(sim, other), 422, "Invalid", "field is immutable")
    same = config({"a": "2"}, metadata={
        "uid": meta["uid"], "resourceVersion": meta["resourceVersion"]})
    assert apply(sim, same)["data"] == {"a": "2"}


def test_apply_of_the_status(start):
    sim = start()
    sim.create(PODS, "p", spec={"containers": [{"name": "c"}]})
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": "p", "labels": {"not": "this"}}, "spec": {"nodeName": "nor"},
        "status": {"phase": "Running", "conditions": [
            {"type": "Ready", "status": "True"}]}}
    made = apply(sim, body, "kubelet", path=f"{PODS}/p/status")
    assert made["status"]["phase"] == "Running"
    assert "nodeName" not in made["spec"] and "labels" not in made["metadata"]
    entry, = [x for x in made["metadata"]["managedFields"]
              if x["manager"] == "kubelet"]
    assert entry["subresource"] == "status"
    assert entry["fieldsV1"] == {"f:status": {
        "f:phase": {}, "f:conditions": {'k:{"type":"Ready"}': {
            ".": {}, "f:status": {}, "f:type": {}}}}}
    body["status"]["phase"] = "Failed"
    conflict = check(ask(sim, body, "other", path=f"{PODS}/p/status"), 409,
                     "Conflict", 'with "kubelet" with subresource "status"')
    assert conflict["details"]["causes"][0]["field"] == ".status.phase"


def test_apply_of_custom_resources(start):
    """Without a schema, objects are merged and lists are values; a
    definition's schema says more."""
    sim = start("--resource", "widgets.v1.example.com")
    path = f"{WIDGETS}/w"
    body = {"apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": {"name": "w"},
            "spec": {"deep": {"a": 1}, "list": [{"name": "x"}]}}
    apply(sim, body, path=path)
    body["spec"] = {"deep": {"b": 2}}
    made = apply(sim, body, "two", path=path)
    assert made["spec"] == {"deep": {"a": 1, "b": 2}, "list": [{"name": "x"}]}
    body["spec"] = {"list": [{"name": "y"}]}
    check(ask(sim, body, "two", path=path), 409, "Conflict", ".spec.list")
    check(sim.ask("PATCH", path, {}, STRATEGIC), 415, "UnsupportedMediaType",
          "application/merge-patch+json, application/apply-patch+yaml")
    things = "/apis/example.org/v1/namespaces/default/things"
    sim.post(CRDS, thing_definition())
    thing = {"apiVersion": "example.org/v1", "kind": "Thing",
             "metadata": {"name": "t"},
             "spec": {"parts": [{"id": 1, "x": "a"}], "whole": {"a": 1}}}
    apply(sim, thing, path=f"{things}/t")
    thing["spec"] = {"parts": [{"id": 2}]}
    made = apply(sim, thing, "two", path=f"{things}/t")
    assert made["spec"]["parts"] == [{"id": 1, "x": "a"}, {"id": 2}]
    thing["spec"] = {"whole": {"b": 1}}
    check(ask(sim, thing, "two", path=f"{things}/t"), 409, "Conflict",
          ": .spec.whole")
    thing["spec"] = {"other": 1}
    check(ask(sim, thing, path=f"{things}/t"), 500, None,
          ".spec.other: field not declared in schema")


def thing_definition():
    parts = {"type": "array", "x-kubernetes-list-type": "map",
             "x-kubernetes-list-map-keys": ["id"],
             "items": {"type": "object", "properties": {
                 "id": {"type": "integer"}, "x": {"type": "string"}}}}
    whole = {"type": "object", "x-kubernetes-map-type": "atomic",
             "additionalProperties": {"type": "integer"}}
    spec = {"type": "object", "properties": {"parts": parts, "whole": whole}}
    return {"metadata": {"name": "things.example.org"}, "spec": {
        "group": "example.org", "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [{"name": "v1", "served": True, "storage": True,
                      "schema": {"openAPIV3Schema": {
                          "type": "object", "properties": {"spec": spec}}}}]}}


def test_odd_managed_fields_do_no_harm(start):
    sim = start()
    for i, odd in enumerate((
            1, [1, None, {}], [{"manager": "x"}],
            [{"manager": 1, "operation": "Update", "fieldsV1": {"f:a": 1}}],
            [{"manager": "x", "operation": "Apply", "fieldsV1": {
                "": {}, "-": {}, ".": {}, "f:data": {"f:a": {}, "k:": {},
                                                     "k:{": {}, "v:": {}}}}],
            [{"manager": "one", "operation": "Apply", "fieldsV1": {}}] * 50)):
        name = f"m{i}"
        sim.create(MAPS, name, data={"a": "1"}, metadata={
            "managedFields": odd})
        path = f"{MAPS}/{name}"
        body = config({"a": "2"}, metadata={"name": name})
        assert ask(sim, body, path=path).status in (200, 409)
        assert apply(sim, body, path=path, query="&force=1")["data"] == {
            "a": "2"}
        sim.merge(path, {"data": {"a": "3"}})


def test_kubectl_takes_over_what_it_applied_on_its_side(start):
    sim = start()
    annotation = "kubectl.kubernetes.io/last-applied-configuration"
    last = json.dumps(config({"a": "1", "b": "1"}))
    sim.create(MAPS, "m", data={"a": "1", "b": "2"},
               metadata={"annotations": {annotation: last}})
    # a is as it was applied, b is not.
    check(ask(sim, config({"a": "9"}), "else"), 409, "Conflict")
    check(ask(sim, config({"a": "9", "b": "9"}), "kubectl"), 409, "Conflict",
          ".data.b")
    made = apply(sim, config({"a": "9"}), "kubectl")
    assert made["data"] == {"a": "9", "b": "2"}
    assert json.loads(made["metadata"]["annotations"][annotation])["data"] == {
        "a": "9"}
