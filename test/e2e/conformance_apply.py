# SPDX-License-Identifier: MIT
"""Requests of server-side apply, strategic merge patches and fieldValidation,
for conformance_script.py.

Only kinds to which a real server adds no defaults: ConfigMaps and a custom
resource. Each write names its manager, so both servers note the owners.
"""

import time

SPACE = "conformance"
MAPS = f"/api/v1/namespaces/{SPACE}/configmaps"
THINGS = f"/apis/conformance.example.org/v1/namespaces/{SPACE}/things"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

APPLY = {"Content-Type": "application/apply-patch+yaml"}
MERGE = {"Content-Type": "application/merge-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
ESTABLISHED_S = 30


def run(client):
    applies(client)
    refusals(client)
    updates_between(client)
    takes_over(client)
    strategic(client)
    validation(client)
    custom(client)


def config_map(name, data=None, **metadata):
    made = {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, **metadata}}
    if data is not None:
        made["data"] = data
    return made


def apply(c, step, body, manager="one", query="", path=None):
    path = path or f"{MAPS}/{body['metadata']['name']}"
    return c.step(step, "PATCH", f"{path}?fieldManager={manager}{query}", body,
                  headers=APPLY, owners=True)


def applies(c):
    apply(c, "apply makes", config_map("a", {"a": "1", "b": "2"},
                                       labels={"x": "y"}))
    apply(c, "apply the same", config_map("a", {"a": "1", "b": "2"},
                                          labels={"x": "y"}))
    apply(c, "apply by another", config_map("a", {"b": "2", "c": "3"}), "two")
    apply(c, "apply with a conflict", config_map("a", {"a": "9"}), "two")
    apply(c, "apply with two conflicts",
          config_map("a", {"a": "9", "b": "9"}, labels={"x": "z"}), "two")
    apply(c, "apply by force", config_map("a", {"a": "9", "b": "2"}), "two",
          "&force=true")
    apply(c, "apply less", config_map("a", {"b": "2"}))
    apply(c, "apply nothing", config_map("a"))
    apply(c, "apply an empty map", config_map("a", {}), "three")
    apply(c, "apply nothing any more", config_map("a"), "two")
    apply(c, "apply a dry run", config_map("dry", {"a": "1"}), "one",
          "&dryRun=All")
    apply(c, "apply finalizers", config_map("f", finalizers=["a.b/c", "a.b/d"]))
    apply(c, "apply other finalizers", config_map("f", finalizers=["a.b/e"]),
          "two")
    apply(c, "apply fewer finalizers", config_map("f", finalizers=["a.b/d"]))
    c.silent("PATCH", f"{MAPS}/f", {"metadata": {"finalizers": None}},
             headers=MERGE)


def refusals(c):
    c.step("apply without a manager", "PATCH", f"{MAPS}/r", config_map("r"),
           headers=APPLY)
    c.step("force of a merge patch", "PATCH", f"{MAPS}/a?force=true", {},
           headers=MERGE)
    apply(c, "apply managedFields", config_map("r", managedFields=[{
        "manager": "x"}]))
    apply(c, "apply under another name", config_map("r"), path=f"{MAPS}/other")
    apply(c, "apply in an absent namespace", config_map("r"),
          path="/api/v1/namespaces/absent/configmaps/r")
    apply(c, "apply of an old version",
          config_map("a", labels={"z": "1"}, resourceVersion="1"))
    apply(c, "apply of another uid", config_map(
        "a", labels={"z": "1"}, uid="00000000-0000-0000-0000-000000000000"))


def updates_between(c):
    c.step("create with a manager", "POST", f"{MAPS}?fieldManager=maker",
           config_map("u", {"a": "1", "b": "2"}, labels={"x": "y"}), owners=True)
    apply(c, "apply what is there", config_map("u", {"a": "1"}))
    c.step("update by a third", "PATCH", f"{MAPS}/u?fieldManager=editor",
           {"data": {"a": "5", "new": "6"}}, headers=MERGE, owners=True)
    apply(c, "apply what was edited", config_map("u", {"a": "1"}))
    c.step("removal by a third", "PATCH", f"{MAPS}/u?fieldManager=editor",
           {"data": {"a": None}}, headers=MERGE, owners=True)
    apply(c, "apply what was removed", config_map("u", {"a": "1"}))
    c.step("a patch of nothing", "PATCH", f"{MAPS}/u?fieldManager=idle",
           {"data": {"a": "1"}}, headers=MERGE, owners=True)
    now = c.silent("GET", f"{MAPS}/u")
    del now["metadata"]["managedFields"]
    now["data"]["put"] = "1"
    c.step("an update without managedFields", "PUT",
           f"{MAPS}/u?fieldManager=putter", now, owners=True)
    c.step("managedFields taken away", "PATCH",
           f"{MAPS}/u?fieldManager=editor",
           {"metadata": {"managedFields": [{}]}}, headers=MERGE, owners=True)
    c.step("an update without owners", "PATCH",
           f"{MAPS}/u?fieldManager=editor", {"data": {"b": "3"}},
           headers=MERGE, owners=True)
    apply(c, "the first apply", config_map("u", {"b": "3", "c": "4"}))
    apply(c, "the first conflict", config_map("u", {"b": "4"}))


def takes_over(c):
    last = ('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"k"},'
            '"data":{"a":"1","b":"1"}}')
    note = {"kubectl.kubernetes.io/last-applied-configuration": last}
    c.step("kubectl on the client's side", "POST",
           f"{MAPS}?fieldManager=kubectl-client-side-apply",
           config_map("k", {"a": "1", "b": "2"}, annotations=note), owners=True)
    apply(c, "another takes over", config_map("k", {"a": "9"}), "other")
    apply(c, "kubectl takes over too much", config_map("k", {
        "a": "9", "b": "9"}), "kubectl")
    apply(c, "kubectl takes over", config_map("k", {"a": "9"}), "kubectl")


def strategic(c):
    def patch(step, body):
        c.step(step, "PATCH", f"{MAPS}/s?fieldManager=p", body,
               headers=STRATEGIC, owners=True)
    owners = [{"apiVersion": "v1", "kind": "Node", "name": x, "uid": x}
              for x in "abc"]
    c.silent("POST", f"{MAPS}?fieldManager=p", config_map(
        "s", {"a": "1"}, finalizers=["a.b/c", "a.b/d"], ownerReferences=owners))
    patch("strategic patch of members", {"data": {"b": "2", "a": None}})
    patch("strategic patch of a list of values", {"metadata": {
        "finalizers": ["a.b/e", "a.b/c"]}})
    patch("strategic patch that takes a value away", {"metadata": {
        "$deleteFromPrimitiveList/finalizers": ["a.b/d"]}})
    patch("strategic patch that orders values", {"metadata": {
        "$setElementOrder/finalizers": ["a.b/x", "a.b/e", "a.b/c"],
        "finalizers": ["a.b/x"]}})
    patch("strategic patch of a list by key", {"metadata": {"ownerReferences": [
        {"uid": "b", "name": "new"},
        {"apiVersion": "v1", "kind": "Node", "name": "d", "uid": "d"}]}})
    patch("strategic patch that deletes an element", {"metadata": {
        "ownerReferences": [{"uid": "a", "$patch": "delete"}]}})
    patch("strategic patch that orders elements", {"metadata": {
        "$setElementOrder/ownerReferences": [{"uid": "d"}, {"uid": "b"}],
        "ownerReferences": [{"uid": "b", "name": "again"}]}})
    patch("strategic patch that replaces a list", {"metadata": {
        "ownerReferences": [{"$patch": "replace"}, {
            "apiVersion": "v1", "kind": "Node", "name": "z", "uid": "z"}]}})
    patch("strategic patch that replaces a map", {"data": {
        "$patch": "replace", "only": "this"}})
    patch("strategic patch without its key", {"metadata": {
        "ownerReferences": [{"name": "no uid"}]}})
    patch("strategic patch of an unknown directive", {"data": {"$patch": "x"}})
    c.silent("PATCH", f"{MAPS}/s", {"metadata": {"finalizers": None}},
             headers=MERGE)


def validation(c):
    wrong = {**config_map("v", {"a": "1"}), "dta": {}}
    wrong["metadata"]["lables"] = {}
    strict = "fieldValidation=Strict&fieldManager=x"
    c.step("strict create", "POST", f"{MAPS}?{strict}", wrong)
    c.step("strict create of twice the same", "POST", f"{MAPS}?{strict}",
           raw=b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"v"},'
               b'"data":{"a":"1","a":"2"}}')
    c.step("strict update", "PUT", f"{MAPS}/a?{strict}",
           {**config_map("a"), "dta": {}})
    c.step("strict merge patch", "PATCH", f"{MAPS}/a?{strict}",
           {"dta": {"x": 1}}, headers=MERGE)
    c.step("strict strategic patch", "PATCH", f"{MAPS}/a?{strict}",
           {"dta": {"x": 1}}, headers=STRATEGIC)
    apply(c, "apply an unknown field", {**config_map("v"), "dta": {}})
    c.step("an unknown validation", "POST", f"{MAPS}?fieldValidation=x",
           config_map("v"))
    c.step("delete an absent object, dry run", "DELETE",
           f"{MAPS}/absent?dryRun=All")
    c.step("delete, dry run", "DELETE", f"{MAPS}/a?dryRun=All")
    c.step("delete, dry run by its options", "DELETE", f"{MAPS}/a",
           {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]})
    c.step("get after the dry runs", "GET", f"{MAPS}/a")


def definition():
    part = {"type": "object", "required": ["id"], "properties": {
        "id": {"type": "integer"}, "x": {"type": "string"},
        "y": {"type": "string"}}}
    spec = {"type": "object", "properties": {
        "parts": {"type": "array", "items": part,
                  "x-kubernetes-list-type": "map",
                  "x-kubernetes-list-map-keys": ["id"]},
        "names": {"type": "array", "items": {"type": "string"},
                  "x-kubernetes-list-type": "set"},
        "plain": {"type": "array", "items": {"type": "string"}},
        "whole": {"type": "object", "x-kubernetes-map-type": "atomic",
                  "additionalProperties": {"type": "string"}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "any": {"type": "object",
                "x-kubernetes-preserve-unknown-fields": True}}}
    return {"apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.conformance.example.org"},
            "spec": {"group": "conformance.example.org", "scope": "Namespaced",
                     "names": {"plural": "things", "singular": "thing",
                               "kind": "Thing", "listKind": "ThingList"},
                     "versions": [{
                         "name": "v1", "served": True, "storage": True,
                         "subresources": {"status": {}},
                         "schema": {"openAPIV3Schema": {
                             "type": "object", "properties": {
                                 "spec": spec,
                                 "status": {
                                     "type": "object",
                                     "x-kubernetes-preserve-unknown-fields":
                                     True}}}}}]}}


def establish(c):
    """Makes the definition and waits until its objects can be made."""
    c.silent("POST", CRDS, definition())
    deadline = time.monotonic() + ESTABLISHED_S
    while True:
        try:
            c.silent("POST", THINGS + "?dryRun=All", thing())
            return
        except RuntimeError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def thing(**spec):
    return {"apiVersion": "conformance.example.org/v1", "kind": "Thing",
            "metadata": {"name": "t"}, "spec": spec}


def custom(c):
    path = f"{THINGS}/t"
    establish(c)
    apply(c, "apply a thing", thing(
        parts=[{"id": 1, "x": "a"}, {"id": 2}], names=["b", "a"], plain=["p"],
        whole={"k": "v"}, map={"k": "v"}, any={"deep": {"list": [1]}}),
        path=path)
    apply(c, "apply more of a thing", thing(
        parts=[{"id": 3}, {"id": 1, "y": "b"}], names=["c"], map={"l": "w"},
        any={"deep": {"more": 2}}), "two", path=path)
    apply(c, "apply conflicts of a thing", thing(
        parts=[{"id": 1, "x": "c"}], plain=["q"], whole={"m": "n"},
        any={"deep": {"list": [2]}}), "two", path=path)
    apply(c, "apply less of a thing", thing(
        parts=[{"id": 2, "x": "d"}], names=["a"]), path=path)
    apply(c, "apply a part without its key", thing(parts=[{"x": "a"}]),
          path=path)
    apply(c, "apply one part twice", thing(parts=[{"id": 1}, {"id": 1}]),
          path=path)
    apply(c, "apply an unknown field of a thing", thing(none=1), path=path)
    apply(c, "apply a thing without kind", {
        "apiVersion": "conformance.example.org/v1",
        "metadata": {"name": "t"}}, path=path)
    c.step("strategic patch of a thing", "PATCH", path, {}, headers=STRATEGIC)
    c.step("strict update of a thing", "PATCH",
           f"{path}?fieldValidation=Strict", {"spec": {"none": 1}},
           headers=MERGE)
    apply(c, "apply the status of a thing", {
        **thing(), "status": {"phase": "x", "list": [1]}}, "kubelet",
        path=f"{path}/status")
    apply(c, "apply a conflicting status", {
        **thing(), "status": {"phase": "y"}}, "other", path=f"{path}/status")
    c.silent("DELETE", f"{CRDS}/things.conformance.example.org")
