# SPDX-License-Identifier: MIT
"""The requests that the real API server and kin-apisim have to answer alike.

run(client) is executed once for each server, on a server that knows neither of
the namespaces used here. Every call with a name is one step: what came back is
recorded under that name and compared later. What a step returns may be used in
later ones, so each server gets its own versions, uids and continue tokens.
"""

import conformance_apply

SPACE = "conformance"
OTHER = "conformance-other"
MAPS = f"/api/v1/namespaces/{SPACE}/configmaps"
OTHER_MAPS = f"/api/v1/namespaces/{OTHER}/configmaps"
PODS = f"/api/v1/namespaces/{SPACE}/pods"

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = PARTIAL.replace("Metadata;", "MetadataList;")
INITIAL = ("watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
           "&allowWatchBookmarks=true&timeoutSeconds=1")
NO_INITIAL = ("watch=1&sendInitialEvents=false"
              "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
              "&timeoutSeconds=1")
TOO_LARGE = "999999999"


def run(client):
    client.silent("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}})
    client.silent("POST", "/api/v1/namespaces", {"metadata": {"name": OTHER}})
    paths(client)
    creations(client)
    updates(client)
    patches(client)
    deletions(client)
    conformance_apply.run(client)
    fill(client)
    reads(client)
    list_versions(client)
    list_pages(client)
    list_selectors(client)
    list_representations(client)
    pod_fields(client)
    watch_versions(client)
    watch_selectors(client)
    watch_live(client)
    watch_initial_events(client)
    watch_validation(client)
    lost_history(client)


def config_map(name, value="0", **metadata):
    return {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, **metadata}, "data": {"value": value}}


def paths(c):
    """What is not there."""
    c.step("get / of an unknown group", "GET", "/apis/no.such.group/v1/things")
    c.step("get an unknown path", "GET", "/no-such-path")
    c.step("list an unknown resource", "GET", "/api/v1/nosuchthings")
    c.step("watch an unknown resource", "GET",
           "/api/v1/nosuchthings?watch=1&timeoutSeconds=1")
    c.step("get an absent object", "GET", f"{MAPS}/absent")
    c.step("get an absent object of an absent namespace", "GET",
           "/api/v1/namespaces/absent/configmaps/absent")
    c.step("list an absent namespace", "GET",
           "/api/v1/namespaces/absent/configmaps")
    c.step("list an empty namespace", "GET", OTHER_MAPS)
    c.step("put to a collection", "PUT", MAPS, config_map("x"))
    c.step("post to an object", "POST", f"{MAPS}/x", config_map("x"))


def creations(c):
    c.step("create", "POST", MAPS, config_map("made", labels={"a": "1"}))
    c.step("create again", "POST", MAPS, config_map("made"))
    c.step("create without kind", "POST", MAPS,
           {"metadata": {"name": "bare"}, "data": {"k": "v"}})
    c.step("create of a wrong kind", "POST", MAPS,
           {**config_map("x"), "kind": "Secret"})
    c.step("create of a wrong version", "POST", MAPS,
           {**config_map("x"), "apiVersion": "v9"})
    c.step("create without name", "POST", MAPS, {"data": {}})
    c.step("create with generateName", "POST", MAPS,
           {"metadata": {"generateName": "generated-"}})
    c.step("create with an invalid name", "POST", MAPS, config_map("Not_Valid"))
    c.step("create in an absent namespace", "POST",
           "/api/v1/namespaces/absent/configmaps", config_map("x"))
    c.step("create with another namespace", "POST", MAPS,
           config_map("x", namespace="elsewhere"))
    c.step("create with a resource version", "POST", MAPS,
           config_map("x", resourceVersion="1"))
    c.step("create from no JSON", "POST", MAPS, raw=b"{\"metadata\":")
    c.step("create from nothing", "POST", MAPS, raw=b"")
    c.step("create from plain text", "POST", MAPS, raw=b"x",
           headers={"Content-Type": "text/plain"})
    c.step("create, dry run", "POST", f"{MAPS}?dryRun=All", config_map("dry"))


def updates(c):
    first = c.silent("POST", MAPS, config_map("kept"))
    c.step("update without version", "PUT", f"{MAPS}/kept",
           config_map("kept", "1"))
    now = c.step("get after update", "GET", f"{MAPS}/kept")
    c.step("update at the version", "PUT", f"{MAPS}/kept",
           config_map("kept", "2",
                      resourceVersion=now["metadata"]["resourceVersion"]))
    c.step("update at an old version", "PUT", f"{MAPS}/kept",
           config_map("kept", "3",
                      resourceVersion=first["metadata"]["resourceVersion"]))
    c.step("update at a version that is none", "PUT", f"{MAPS}/kept",
           config_map("kept", "3", resourceVersion="abc"))
    c.step("update that changes nothing", "PUT", f"{MAPS}/kept",
           config_map("kept", "2"))
    c.step("update of another uid", "PUT", f"{MAPS}/kept",
           config_map("kept", "3", uid="00000000-0000-0000-0000-000000000000"))
    c.step("update under another name", "PUT", f"{MAPS}/kept", config_map("no"))
    c.step("update of an absent object", "PUT", f"{MAPS}/absent",
           config_map("absent", resourceVersion="1"))
    c.step("update from no JSON", "PUT", f"{MAPS}/kept", raw=b"[]")


def patches(c):
    target = f"{MAPS}/kept"
    c.step("merge patch", "PATCH", target,
           {"metadata": {"labels": {"p": "1"}}, "data": {"more": "x"}},
           headers={"Content-Type": MERGE_PATCH})
    c.step("merge patch that removes", "PATCH", target,
           {"data": {"more": None}}, headers={"Content-Type": MERGE_PATCH})
    c.step("merge patch that changes nothing", "PATCH", target,
           {"metadata": {"labels": {"p": "1"}}},
           headers={"Content-Type": MERGE_PATCH})
    c.step("merge patch at an old version", "PATCH", target,
           {"metadata": {"resourceVersion": "1"}, "data": {"more": "y"}},
           headers={"Content-Type": MERGE_PATCH})
    c.step("merge patch of an absent object", "PATCH", f"{MAPS}/absent",
           {"data": {}}, headers={"Content-Type": MERGE_PATCH})
    c.step("merge patch that is no JSON", "PATCH", target, raw=b"{",
           headers={"Content-Type": MERGE_PATCH})
    c.step("JSON patch", "PATCH", target,
           [{"op": "replace", "path": "/data/value", "value": "patched"}],
           headers={"Content-Type": JSON_PATCH})
    c.step("patch of an unknown type", "PATCH", target, {"data": {}},
           headers={"Content-Type": "application/json"})


def deletions(c):
    made = c.silent("POST", MAPS, config_map("doomed"))
    c.step("delete at another uid", "DELETE", f"{MAPS}/doomed",
           {"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}})
    c.step("delete at another version", "DELETE", f"{MAPS}/doomed",
           {"preconditions": {"resourceVersion": "1"}})
    c.step("delete at the uid", "DELETE", f"{MAPS}/doomed",
           {"preconditions": {"uid": made["metadata"]["uid"]}})
    c.step("delete again", "DELETE", f"{MAPS}/doomed")
    c.silent("POST", MAPS, config_map("doomed"))
    c.step("delete without body", "DELETE", f"{MAPS}/doomed")
    for i in range(3):
        c.silent("POST", OTHER_MAPS, config_map(f"d-{i}", labels={"n": str(i)}))
    c.step("delete a collection by label", "DELETE",
           f"{OTHER_MAPS}?labelSelector=n%21%3D1")
    c.step("list after deletion of a collection", "GET", OTHER_MAPS)
    c.silent("DELETE", OTHER_MAPS)


def fill(c):
    """Empties the namespace and makes the state that the reads are about."""
    c.silent("DELETE", MAPS)
    for i in range(5):
        c.silent("POST", MAPS, config_map(
            f"m-{i}", labels={"even": "yes" if i % 2 == 0 else "no",
                              "n": str(i)}))
    c.silent("POST", OTHER_MAPS, config_map("o-0", labels={"n": "0"}))
    settle(c)


def reads(c):
    target = f"{MAPS}/m-1"
    c.step("get", "GET", target)
    c.step("get at version 0", "GET", f"{target}?resourceVersion=0")
    c.step("get at a version too large", "GET",
           f"{target}?resourceVersion={TOO_LARGE}")
    c.step("get at a version that is none", "GET",
           f"{target}?resourceVersion=abc")
    c.step("get, metadata only", "GET", target, headers={"Accept": PARTIAL})
    c.step("get, indented", "GET", f"{target}?pretty=1")
    c.step("get by curl", "GET", target, headers={"User-Agent": "curl/8.5.0"})
    c.step("get by curl, not indented", "GET", f"{target}?pretty=0",
           headers={"User-Agent": "curl/8.5.0"})


def list_versions(c):
    plain = c.step("list", "GET", MAPS)
    now = plain["metadata"]["resourceVersion"]
    c.silent("PATCH", f"{MAPS}/m-0", {"data": {"value": "later"}},
             headers={"Content-Type": MERGE_PATCH})
    c.silent("POST", MAPS, config_map("m-9"))
    c.silent("DELETE", f"{MAPS}/m-4")
    settle(c)
    with c.together():
        for name, query in (
                ("version 0", "resourceVersion=0"),
                ("a past version", f"resourceVersion={now}"),
                ("not older than a past version",
                 f"resourceVersion={now}&resourceVersionMatch=NotOlderThan"),
                ("not older than 0",
                 "resourceVersion=0&resourceVersionMatch=NotOlderThan"),
                ("exactly a past version",
                 f"resourceVersion={now}&resourceVersionMatch=Exact"),
                ("exactly version 0",
                 "resourceVersion=0&resourceVersionMatch=Exact"),
                ("exactly no version", "resourceVersionMatch=Exact"),
                ("not older than no version",
                 "resourceVersionMatch=NotOlderThan"),
                ("an unknown match", f"resourceVersion={now}"
                 "&resourceVersionMatch=Sometimes"),
                ("a version that is none", "resourceVersion=abc"),
                ("a negative version", "resourceVersion=-1"),
                ("a version too large", f"resourceVersion={TOO_LARGE}"),
                ("a version too large, in pages",
                 f"resourceVersion={TOO_LARGE}&limit=1"),
                ("not older than a version too large",
                 "resourceVersionMatch=NotOlderThan"
                 f"&resourceVersion={TOO_LARGE}"),
                ("not older than a version too large, one object",
                 "resourceVersionMatch=NotOlderThan&limit=1"
                 f"&resourceVersion={TOO_LARGE}"),
                ("exactly a version too large",
                 f"resourceVersion={TOO_LARGE}&resourceVersionMatch=Exact"),
                ("version 0, in pages", "resourceVersion=0&limit=2"),
                ("a past version, in pages", f"resourceVersion={now}&limit=2"),
                ("exactly a past version, in pages",
                 f"resourceVersion={now}&resourceVersionMatch=Exact&limit=2"),
                ("not older than a past version, one object",
                 f"resourceVersion={now}&resourceVersionMatch=NotOlderThan"
                 "&limit=1"),
                ("with a timeout", "timeoutSeconds=5"),
                ("with sendInitialEvents", "sendInitialEvents=true"),
                ("with allowWatchBookmarks", "allowWatchBookmarks=true")):
            c.step(f"list at {name}", "GET", f"{MAPS}?{query}")
    c.step("list all namespaces", "GET",
           "/api/v1/configmaps?fieldSelector=metadata.namespace%3D" + OTHER)


def list_pages(c):
    first = c.step("page 1", "GET", f"{MAPS}?limit=2")
    token = first["metadata"]["continue"]
    # What happens between two pages does not show in the second.
    c.silent("POST", MAPS, config_map("m-3a"))
    c.silent("DELETE", f"{MAPS}/m-3")
    second = c.step("page 2", "GET", f"{MAPS}?limit=2&continue={token}")
    c.step("page 3", "GET",
           f"{MAPS}?limit=2&continue={second['metadata']['continue']}")
    c.step("the rest after page 1", "GET", f"{MAPS}?continue={token}")
    c.step("page 2 with a version", "GET",
           f"{MAPS}?limit=2&continue={token}&resourceVersion=5")
    c.step("page 2 with version 0", "GET",
           f"{MAPS}?limit=2&continue={token}&resourceVersion=0")
    c.step("page 2 with a match", "GET",
           f"{MAPS}?limit=2&continue={token}&resourceVersionMatch=Exact")
    c.step("page after a token that is none", "GET", f"{MAPS}?continue=abc")
    c.step("page of 0", "GET", f"{MAPS}?limit=0")
    c.step("page of -1", "GET", f"{MAPS}?limit=-1")
    c.step("page of a size that is none", "GET", f"{MAPS}?limit=abc")
    c.step("page larger than the list", "GET", f"{MAPS}?limit=100")
    selected = c.step("page 1 by label", "GET",
                      f"{MAPS}?limit=1&labelSelector=even%3Dyes")
    c.step("page 2 by label", "GET", f"{MAPS}?limit=1&labelSelector=even%3Dyes"
           f"&continue={selected['metadata']['continue']}")
    c.silent("DELETE", f"{MAPS}/m-3a")
    c.silent("POST", MAPS, config_map("m-3", labels={"even": "no", "n": "3"}))
    settle(c)


def list_selectors(c):
    for name, query in (
            ("equality", "labelSelector=even%3Dyes"),
            ("double equality", "labelSelector=even%3D%3Dyes"),
            ("inequality", "labelSelector=even%21%3Dyes"),
            ("a set", "labelSelector=n+in+(0,3)"),
            ("the complement of a set", "labelSelector=n+notin+(0,3)"),
            ("presence", "labelSelector=n"),
            ("absence", "labelSelector=%21n"),
            ("comparison", "labelSelector=n%3E1"),
            ("two labels", "labelSelector=even%3Dyes,n%21%3D0"),
            ("an invalid selector", "labelSelector=%3D%3D%3D"),
            ("an unfinished set", "labelSelector=n+in+(0"),
            ("an invalid label value", "labelSelector=n%3Da%20b"),
            ("name", "fieldSelector=metadata.name%3Dm-1"),
            ("not a name", "fieldSelector=metadata.name%21%3Dm-1"),
            ("an unknown field", "fieldSelector=data.value%3D0"),
            ("an invalid field selector", "fieldSelector=metadata.name"),
            ("label and field",
             "labelSelector=even%3Dno&fieldSelector=metadata.name%3Dm-1"),
            ("a label nobody has", "labelSelector=nobody%3Dhas"),
            ("a label, at version 0",
             "labelSelector=even%3Dyes&resourceVersion=0")):
        c.step(f"list by {name}", "GET", f"{MAPS}?{query}")


def list_representations(c):
    for name, accept in (
            ("metadata only", PARTIAL_LIST),
            ("metadata only or all", f"{PARTIAL_LIST},application/json"),
            ("anything", "*/*"),
            ("any application", "application/*"),
            ("what nobody has", "application/x-nothing"),
            ("what nobody has, or JSON",
             "application/x-nothing, application/json;q=0.5"),
            ("an unknown conversion",
             "application/json;as=Nothing;g=meta.k8s.io;v=v1"),
            ("HTML", "text/html"),
            ("another charset", "application/json;charset=utf-8")):
        c.step(f"list as {name}", "GET", MAPS, headers={"Accept": accept})
    c.step("list, indented", "GET", f"{MAPS}?pretty=true")
    c.step("list by a browser", "GET", MAPS,
           headers={"User-Agent": "Mozilla/5.0"})


def pod_fields(c):
    """Only metadata is compared: the simulation does not default a pod."""
    for i, node in enumerate(("a", "b", None)):
        spec = {"containers": [{"name": "c", "image": "example.test/i"}]}
        if node:
            spec["nodeName"] = node
        c.silent("POST", PODS, {"apiVersion": "v1", "kind": "Pod",
                                "metadata": {"name": f"p-{i}"}, "spec": spec})
    for name, query in (
            ("node", "fieldSelector=spec.nodeName%3Da"),
            ("no node", "fieldSelector=spec.nodeName%3D"),
            ("phase", "fieldSelector=status.phase%3DPending"),
            ("not a phase", "fieldSelector=status.phase%21%3DPending"),
            ("a field that pods have not", "fieldSelector=spec.x%3D1")):
        c.step(f"list pods by {name}", "GET", f"{PODS}?{query}",
               headers={"Accept": PARTIAL_LIST})


def history(c, value):
    """One of each kind of change; returns the version before them."""
    before = c.silent("GET", MAPS)["metadata"]["resourceVersion"]
    c.silent("POST", MAPS, config_map("w", value))
    c.silent("PUT", f"{MAPS}/w", config_map("w", value + "'"))
    c.silent("PUT", f"{MAPS}/w", config_map("w", value + "'"))  # no change
    c.silent("DELETE", f"{MAPS}/w")
    settle(c)
    return before


def settle(c):
    """Returns when the server's cache holds all that was written.

    A read at version 0 takes what the cache holds; a list without a version
    waits until that is everything.
    """
    c.silent("GET", MAPS)


def watch_versions(c):
    before = history(c, "1")
    with c.together():
        for name, query in (
                ("a past version", f"resourceVersion={before}"),
                ("a past version, with bookmarks",
                 f"resourceVersion={before}&allowWatchBookmarks=true"),
                ("version 0", "resourceVersion=0"),
                ("no version", ""),
                ("a version too large", f"resourceVersion={TOO_LARGE}"),
                ("a version that is none", "resourceVersion=abc"),
                ("a negative version", "resourceVersion=-1"),
                ("a past version, in pages",
                 f"resourceVersion={before}&limit=1"),
                ("a past version, spelled watch=true",
                 f"resourceVersion={before}&watch=true"),
                ("a timeout that is none",
                 f"resourceVersion={before}&timeoutSeconds=abc")):
            c.watch(f"watch from {name}", f"{MAPS}?{query}")
        c.watch("watch, metadata only", f"{MAPS}?resourceVersion={before}",
                headers={"Accept": PARTIAL})
        c.watch("watch, metadata only, asked for as a list",
                f"{MAPS}?resourceVersion={before}",
                headers={"Accept": PARTIAL_LIST})
        c.watch("watch as what nobody has", f"{MAPS}?resourceVersion={before}",
                headers={"Accept": "application/x-nothing"})
        c.watch("watch, indented", f"{MAPS}?resourceVersion={before}&pretty=1")
        c.watch("watch all namespaces",
                f"/api/v1/configmaps?resourceVersion={before}")
        c.watch("watch one object", f"{MAPS}/m-1?resourceVersion={before}")
        c.watch("watch an absent namespace",
                "/api/v1/namespaces/absent/configmaps"
                f"?resourceVersion={before}")


def watch_selectors(c):
    before = c.silent("GET", MAPS)["metadata"]["resourceVersion"]
    for name, label in (("m-0", "no"), ("m-1", "yes"), ("m-0", "yes")):
        c.silent("PATCH", f"{MAPS}/{name}", {"metadata": {"labels": {
            "even": label}}}, headers={"Content-Type": MERGE_PATCH})
    c.silent("PATCH", f"{MAPS}/m-2", {"data": {"value": "stays in"}},
             headers={"Content-Type": MERGE_PATCH})
    c.silent("PATCH", f"{MAPS}/m-3", {"data": {"value": "stays out"}},
             headers={"Content-Type": MERGE_PATCH})
    c.silent("DELETE", f"{MAPS}/m-2")
    settle(c)
    with c.together():
        for name, query in (
                ("label", "labelSelector=even%3Dyes"),
                ("label that is not", "labelSelector=even%21%3Dyes"),
                ("name", "fieldSelector=metadata.name%3Dm-1"),
                ("not a name", "fieldSelector=metadata.name%21%3Dm-1"),
                ("label and name",
                 "labelSelector=even%3Dyes&fieldSelector=metadata.name%3Dm-0"),
                ("an invalid selector", "labelSelector=%3D%3D%3D"),
                ("an unknown field", "fieldSelector=data.value%3D0")):
            c.watch(f"watch by {name}",
                    f"{MAPS}?resourceVersion={before}&{query}")


def watch_live(c):
    now = c.silent("GET", MAPS)["metadata"]["resourceVersion"]
    c.watch("watch while it happens", f"{MAPS}?resourceVersion={now}",
            after=0, then=lambda: history(c, "2"))
    c.watch("watch from no version, then changes", MAPS,
            after=4, then=lambda: history(c, "3"))
    c.watch("watch from version 0, then changes", f"{MAPS}?resourceVersion=0",
            after=4, then=lambda: history(c, "4"))


def watch_initial_events(c):
    now = c.silent("GET", MAPS)["metadata"]["resourceVersion"]
    c.watch("initial events, then changes", f"{MAPS}?{INITIAL}",
            after=5, then=lambda: history(c, "5"))
    with c.together():
        for name, query in (
                ("of everything", ""),
                ("at version 0", "&resourceVersion=0"),
                ("at a version", f"&resourceVersion={now}"),
                ("at a version too large", f"&resourceVersion={TOO_LARGE}"),
                ("by label", "&labelSelector=even%3Dyes"),
                ("of nothing", "&labelSelector=nobody%3Dhas")):
            c.watch(f"initial events {name}", f"{MAPS}?{INITIAL}{query}")
        c.watch("initial events, metadata only", f"{MAPS}?{INITIAL}",
                headers={"Accept": PARTIAL})
        c.watch("no initial events",
                f"{MAPS}?{NO_INITIAL}&resourceVersion={now}")
        c.watch("no initial events, no version", f"{MAPS}?{NO_INITIAL}")


def watch_validation(c):
    with c.together():
        for name, query in (
                ("initial events without match",
                 "sendInitialEvents=true&allowWatchBookmarks=true"),
                ("initial events with exact match", "sendInitialEvents=true"
                 "&resourceVersionMatch=Exact&allowWatchBookmarks=true"
                 "&resourceVersion=1"),
                ("initial events with an unknown match",
                 "sendInitialEvents=true&resourceVersionMatch=Sometimes"
                 "&allowWatchBookmarks=true"),
                ("initial events without bookmarks", "sendInitialEvents=true"
                 "&resourceVersionMatch=NotOlderThan"),
                ("initial events at a version that is none",
                 "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                 "&allowWatchBookmarks=true&resourceVersion=abc"),
                ("no initial events without match",
                 "sendInitialEvents=false&allowWatchBookmarks=true"),
                ("sendInitialEvents that is no truth value",
                 "sendInitialEvents=maybe&resourceVersionMatch=NotOlderThan"
                 "&allowWatchBookmarks=true"),
                ("a match without initial events",
                 "resourceVersionMatch=NotOlderThan&resourceVersion=1"),
                ("an exact match",
                 "resourceVersionMatch=Exact&resourceVersion=1"),
                ("initial events and a continue token",
                 "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                 "&allowWatchBookmarks=true&continue=abc")):
            c.watch(f"watch with {name}", f"{MAPS}?{query}")


def lost_history(c):
    """Last, because nothing from before can be asked for after it."""
    page = c.silent("GET", f"{MAPS}?limit=1")
    old = page["metadata"]["resourceVersion"]
    token = page["metadata"]["continue"]
    history(c, "6")
    c.forget_history()
    gone = c.step("page 2 after compaction", "GET",
                  f"{MAPS}?limit=1&continue={token}")
    rest = (gone.get("metadata") or {}).get("continue", "")
    c.step("the inconsistent rest", "GET", f"{MAPS}?limit=1&continue={rest}")
    with c.together():
        c.step("list at a compacted version, exactly", "GET",
               f"{MAPS}?resourceVersion={old}&resourceVersionMatch=Exact")
        c.step("list at a compacted version", "GET",
               f"{MAPS}?resourceVersion={old}&labelSelector=n%3D0")
        c.step("list at version 1, exactly", "GET",
               f"{MAPS}?resourceVersion=1&resourceVersionMatch=Exact")
        c.watch("watch from a compacted version",
                f"{MAPS}?resourceVersion={old}")
        c.watch("watch from version 1", f"{MAPS}?resourceVersion=1")
        c.watch("watch by label from a compacted version",
                f"{MAPS}?resourceVersion={old}&labelSelector=n%3D0")
        c.watch("initial events at a compacted version",
                f"{MAPS}?{INITIAL}&resourceVersion={old}")
        c.watch("no initial events from a compacted version",
                f"{MAPS}?{NO_INITIAL}&resourceVersion={old}")
