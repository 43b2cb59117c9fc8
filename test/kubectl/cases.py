# SPDX-License-Identifier: MIT
"""What kubectl does, command by command."""

import os
import stat

from objects import config_map, container, definition, deployment, thing


def images(kubectl):
    containers = kubectl.get("deploy", "d")["spec"]["template"]["spec"][
        "containers"]
    return {x["name"]: x["image"] for x in containers}


def test_apply(kubectl):
    env = [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]
    first = deployment(container("a", env=env), container("b"), replicas=2)
    assert kubectl.apply(first) == "deployment.apps/d created"
    assert kubectl.apply(first) == "deployment.apps/d unchanged"
    kubectl("set", "image", "deploy/d", "b=of-another")
    kubectl("patch", "deploy", "d", "-p", '{"spec":{"paused":true}}')
    second = deployment(container("c"), container("a", "2", env=env[1:]))
    assert kubectl.apply(second) == "deployment.apps/d configured"
    spec = kubectl.get("deploy", "d")["spec"]
    containers = spec["template"]["spec"]["containers"]
    assert [x["name"] for x in containers] == ["c", "a"]
    assert containers[1]["env"] == [{"name": "Y", "value": "2"}]
    assert "replicas" not in spec and spec["paused"] is True


def test_apply_on_the_servers_side(kubectl):
    applied = "deployment.apps/d serverside-applied"
    first = deployment(container("a"), container("b"), replicas=2)
    assert kubectl.apply(first, "--server-side") == applied
    mine = deployment(container("a", "2"))
    said = kubectl.refused("apply", "--server-side", "--field-manager=me",
                           "-f", "-", stdin=mine)
    assert ('Apply failed with 1 conflict: conflict with "kubectl": '
            '.spec.template.spec.containers[name="a"].image') in said, said
    assert images(kubectl) == {"a": "1", "b": "1"}
    assert kubectl.apply(mine, "--server-side", "--field-manager=me",
                         "--force-conflicts") == applied
    # What kubectl applies no more goes; what another manager applies stays.
    assert kubectl.apply(deployment(), "--server-side") == applied
    assert images(kubectl) == {"a": "2"}
    assert "replicas" not in kubectl.get("deploy", "d")["spec"]
    assert kubectl.managers("deploy", "d") == {
        ("kubectl", "Apply"), ("me", "Apply")}


def test_from_the_clients_side_to_the_servers(kubectl):
    kubectl.apply(deployment(container("a"), container("b"), replicas=2))
    assert kubectl.managers("deploy", "d") == {
        ("kubectl-client-side-apply", "Update")}
    kubectl.apply(deployment(container("a", "2"), replicas=2), "--server-side")
    assert kubectl.managers("deploy", "d") == {
        ("kubectl", "Apply"), ("kubectl-last-applied", "Apply")}
    assert images(kubectl) == {"a": "2"}
    kubectl.apply(deployment(container("a", "2")), "--server-side")
    assert "replicas" not in kubectl.get("deploy", "d")["spec"]


def test_dry_runs_and_diff(kubectl):
    dry = ("--dry-run=server",)
    assert kubectl.apply(config_map({"a": "1"}), *dry) == (
        "configmap/m created (server dry run)")
    assert "NotFound" in kubectl.refused("get", "cm", "m")
    kubectl.apply(config_map({"a": "1"}))
    assert kubectl.apply(config_map({"a": "2"}), *dry) == (
        "configmap/m configured (server dry run)")
    kubectl.apply(config_map({"a": "2"}, name="n"), "--server-side", *dry)
    for side in ((), ("--server-side", "--force-conflicts")):
        done = kubectl.run("diff", "-f", "-", *side,
                           stdin=config_map({"a": "2"}))
        assert done.returncode == 1, done.stderr
        assert "-  a: \"1\"" in done.stdout and "+  a: \"2\"" in done.stdout
    kubectl("diff", "-f", "-", stdin=config_map({"a": "1"}))
    assert kubectl("delete", "cm", "m", *dry).startswith(
        'configmap "m" deleted')
    assert kubectl.get("cm", "m")["data"] == {"a": "1"}


def test_create_and_replace(kubectl):
    thing_text = config_map({"a": "1"})
    assert kubectl("create", "-f", "-", stdin=thing_text) == (
        "configmap/m created")
    assert "AlreadyExists" in kubectl.refused("create", "-f", "-",
                                              stdin=thing_text)
    assert kubectl("replace", "-f", "-", stdin=config_map({"b": "2"})) == (
        "configmap/m replaced")
    assert kubectl.get("cm", "m")["data"] == {"b": "2"}
    made = kubectl("create", "deployment", "x", "--image=i",
                   "--dry-run=client", "-o", "json")
    assert kubectl("create", "-f", "-", stdin=made) == (
        "deployment.apps/x created")


def test_protobuf_is_refused(kubectl):
    said = kubectl.refused("create", "configmap", "m", "--from-literal=a=b")
    assert "accepted media types include: application/json (" in said, said
    assert "kubectl create -f and kubectl apply -f send JSON" in said, said


def test_validation(kubectl):
    wrong = config_map({"a": "1"})
    wrong["dta"] = {}
    for command in ("apply", "create"):
        said = kubectl.refused(command, "-f", "-", stdin=wrong)
        assert 'unknown field "dta"' in said, said
    said = kubectl.refused("apply", "--server-side", "-f", "-", stdin=wrong)
    assert ".dta: field not declared in schema" in said, said
    pod = deployment(container("a", imagePullPolciy="Always"))
    said = kubectl.refused("apply", "-f", "-", stdin=pod)
    assert ('unknown field "spec.template.spec.containers[0].imagePullPolciy"'
            in said), said
    kubectl("create", "-f", "-", "--validate=ignore", stdin=wrong)
    del wrong["dta"]
    kubectl.apply(wrong, "--server-side", "--force-conflicts")


def test_edit(kubectl):
    kubectl.apply(config_map({"a": "1"}))
    editor = f"{kubectl.home.name}/editor"
    with open(editor, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\nsed -i \'s/a: "1"/a: "2"/\' "$1"\n')
    os.chmod(editor, stat.S_IRWXU)
    assert kubectl("edit", "cm", "m", environment={"KUBE_EDITOR": editor}) == (
        "configmap/m edited")
    assert kubectl.get("cm", "m")["data"] == {"a": "2"}
    assert ("kubectl-edit", "Update") in kubectl.managers("cm", "m")


def test_patch(kubectl):
    kubectl.apply(deployment(container("a"), container("b")))
    kubectl("patch", "deploy", "d", "-p",
            '{"spec":{"template":{"spec":{"containers":'
            '[{"name":"b","image":"2"},{"name":"a","$patch":"delete"}]}}}}')
    assert images(kubectl) == {"b": "2"}
    kubectl("patch", "deploy", "d", "--type=merge", "-p",
            '{"spec":{"replicas":3}}')
    kubectl("patch", "deploy", "d", "--type=json", "-p",
            '[{"op":"replace","path":"/spec/replicas","value":4}]')
    assert kubectl.get("deploy", "d")["spec"]["replicas"] == 4
    kubectl("patch", "deploy", "d", "--subresource=status", "--type=merge",
            "-p", '{"status":{"replicas":1}}')
    assert kubectl.get("deploy", "d")["status"]["replicas"] == 1
    assert kubectl("rollout", "restart", "deploy/d") == (
        "deployment.apps/d restarted")


def test_label_and_annotate(kubectl):
    kubectl.apply(config_map({}, labels={"a": "1"}))
    assert kubectl("label", "cm", "m", "b=2") == "configmap/m labeled"
    assert "already has a value" in kubectl.refused("label", "cm", "m", "b=3")
    kubectl("label", "cm", "m", "--overwrite", "b=3")
    kubectl("label", "cm", "m", "a-")
    assert kubectl("annotate", "cm", "m", "x=y") == "configmap/m annotated"
    meta = kubectl.get("cm", "m")["metadata"]
    assert meta["labels"] == {"b": "3"}
    assert meta["annotations"]["x"] == "y"
    assert kubectl("get", "cm", "-l", "b=3", "-o", "name") == "configmap/m"


def test_delete(kubectl):
    for name in "abcd":
        kubectl.apply(config_map({}, name=name, labels={"all": "same"}))
    assert kubectl("delete", "cm", "a").startswith('configmap "a" deleted')
    said = kubectl.refused("delete", "cm", "a")
    assert 'configmaps "a" not found' in said, said
    assert 'configmaps "a" not found' in kubectl.refused(
        "delete", "cm", "a", "--dry-run=server")
    assert kubectl("delete", "cm", "a", "--ignore-not-found") == ""
    kubectl("delete", "-f", "-", stdin=config_map({}, name="b"))
    kubectl("delete", "cm", "-l", "all=same")
    assert kubectl.get("cm")["items"] == []
    kubectl("run", "p", "--image=i")
    kubectl("delete", "pod", "p")
    assert kubectl.get("pods")["items"] == []


def test_wait(kubectl):
    kubectl.apply(deployment(container("a")))
    said = kubectl.refused("wait", "--for=condition=Available", "deploy/d",
                           "--timeout=1s")
    assert "timed out" in said, said
    with kubectl.following("wait", "--for=condition=Available", "deploy/d",
                           f"--timeout={30}s") as waiting:
        kubectl("patch", "deploy", "d", "--subresource=status", "-p",
                '{"status":{"conditions":'
                '[{"type":"Available","status":"True"}]}}')
        assert waiting.line()[1:] == ["condition", "met"]
    kubectl("wait", "--for=jsonpath={.status.conditions[0].status}=True",
            "deploy/d", "--timeout=10s")
    with kubectl.following("wait", "--for=delete", "deploy/d",
                           "--timeout=30s") as waiting:
        kubectl("delete", "deploy", "d", "--wait=false")
        assert waiting.process.wait(30) == 0


def test_get(kubectl):
    for name in ("a", "b"):
        kubectl.apply(config_map({"k": name}, name=name))
    lines = [x.split() for x in kubectl("get", "cm").splitlines()]
    assert [x[0] for x in lines] == ["NAME", "a", "b"]
    assert kubectl("get", "configmaps", "-o", "name").split() == [
        "configmap/a", "configmap/b"]
    assert kubectl("get", "cm", "--field-selector=metadata.name=b",
                   "-o", "jsonpath={.items[*].data.k}") == "b"
    assert kubectl("get", "cm", "a", "-o", "yaml").startswith("apiVersion: v1")
    assert len(kubectl("get", "ns", "--no-headers").splitlines()) == 4
    assert 'the server doesn\'t have a resource type "none"' in (
        kubectl.refused("get", "none"))


def test_get_and_watch(kubectl):
    kubectl.apply(config_map({"k": "1"}))
    with kubectl.following("get", "cm", "-w", "--output-watch-events",
                           "--no-headers") as watching:
        assert watching.line()[:2] == ["ADDED", "m"]
        kubectl.apply(config_map({"k": "2"}))
        assert watching.line()[:2] == ["MODIFIED", "m"]
        kubectl("delete", "cm", "m")
        assert watching.line()[:2] == ["DELETED", "m"]


def test_discovery(kubectl):
    kinds = {x.split()[-1] for x in
             kubectl("api-resources", "--no-headers").splitlines()}
    assert {"ConfigMap", "Pod", "Deployment", "Lease", "EndpointSlice",
            "CustomResourceDefinition"} <= kinds
    assert "apps/v1" in kubectl("api-versions").split()
    assert "v1.36.3+apisim" in kubectl("version")
    assert "imagePullPolicy\t<string>" in kubectl(
        "explain", "deploy.spec.template.spec.containers")


def test_custom_resources(kubectl):
    kubectl.apply(definition())
    kubectl("wait", "--for=condition=Established",
            "crd/things.example.org", "--timeout=10s")
    part = {"id": "1", "x": "a"}
    assert kubectl.apply(thing(size=1, parts=[part])) == (
        "thing.example.org/t created")
    assert kubectl.apply(thing(parts=[part])) == "thing.example.org/t configured"
    assert kubectl.get("th", "t")["spec"] == {"parts": [part]}
    kubectl("delete", "thing", "t")
    kubectl.apply(thing(parts=[part]), "--server-side")
    kubectl.apply(thing(parts=[{"id": "2"}]), "--server-side",
                  "--field-manager=me")
    parts = kubectl.get("th", "t")["spec"]["parts"]
    assert parts == [part, {"id": "2"}], parts
    assert 'unknown field "spec.sise"' in kubectl.refused(
        "apply", "-f", "-", stdin=thing(sise=1))
    assert "size\t<integer>" in kubectl("explain", "thing.spec")
    said = kubectl.refused("patch", "thing", "t", "-p", '{"spec":{"size":2}}')
    assert "strategic-merge-patch+json is not supported" in said, said
    kubectl("delete", "crd", "things.example.org")
    said = kubectl.refused("get", "things")
    assert "could not find the requested resource" in said, said
