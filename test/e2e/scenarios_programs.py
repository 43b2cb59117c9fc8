# SPDX-License-Identifier: MIT
"""Programs of examples/, by the lines that they print."""

import contextlib
import json
import pathlib
import re
import signal
import sys

from api import CONFIG_MAPS, PODS, ApiError
from objects import config_map, pod
from ready import await_true
from scenario import scenario
from scenarios_objects import define

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support.widget_story import KIND, Churn, History  # noqa: E402

LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}"
LEASE_CANDIDATES = (
    "/apis/coordination.k8s.io/v1beta1/namespaces/{}/leasecandidates")
WIDGETS = "/apis/example.com/v1/namespaces/{}/widgets"
LEASE_S = 4
NUMBER = {"type": "integer", "format": "int64"}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [{
            "name": "v1", "served": True, "storage": True,
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {
                    "parent": {"type": "string"}, "n": NUMBER}},
                "status": {"type": "object", "properties": {
                    "observedGeneration": NUMBER, "children": NUMBER,
                    "leader": {"type": "string"}, "term": NUMBER}}}}}}]}}


@scenario(ways=("proxy",))
def example_config_reload(context):
    space = context.namespace()
    target = CONFIG_MAPS.format(space)

    def reloaded(example):
        return json.loads(example.line().removeprefix("reload "))["data"]

    with context.run_example("config_reload", space, "app") as example:
        example.expect("none yet")
        context.api.create(target, config_map("app", {"a": "1"}))
        context.expect_equal(reloaded(example), {"a": "1"})
        context.api.patch(f"{target}/app", {"data": {"a": "2"}})
        context.expect_equal(reloaded(example), {"a": "2"})
        context.api.delete(f"{target}/app")
        example.expect("gone")
        example.stop(signal.SIGINT)


def running_pod(context, space, node=None):
    """A pod as its node's kubelet would report it."""
    value = pod("web")
    if node:
        value["spec"]["nodeName"] = node
    context.api.create(PODS.format(space), value)
    context.api.patch(f"{PODS.format(space)}/web/status", {"status": {
        "phase": "Running", "podIP": "10.9.8.7",
        "podIPs": [{"ip": "10.9.8.7"}], "containerStatuses": [{
            "name": "main", "containerID": "containerd://aa", "ready": True,
            "restartCount": 0, "image": "i", "imageID": "i"}]}})


@scenario(ways=("proxy",))
def example_pod_ip(context):
    space = context.namespace()
    running_pod(context, space)
    with context.run_example("pod_ip", has_input=True) as example:
        context.expect_equal(example.ask("10.9.8.7"), f"10.9.8.7 {space}/web")
        context.expect_equal(example.ask("containerd://aa"),
                             f"containerd://aa {space}/web")
        context.expect_equal(example.ask("10.9.8.6"), "10.9.8.6 unknown")
        example.end_input()
    context.api.delete(f"{PODS.format(space)}/web?gracePeriodSeconds=0")


@scenario(ways=("proxy",))
def example_node_agent(context):
    space = context.namespace()
    node = context.unused_name()
    running_pod(context, space, node)
    with context.run_example("node_agent", has_input=True,
                         environment={"NODE_NAME": node}) as example:
        context.expect_equal(example.ask("aa"),
                             f"aa {space}/web {node} 10.9.8.7")
        context.expect_equal(example.ask("bb"), "bb unknown")
        example.end_input()
    context.api.delete(f"{PODS.format(space)}/web?gracePeriodSeconds=0")


@scenario(ways=("proxy",))
def example_work_queue(context):
    space = context.namespace()
    target = CONFIG_MAPS.format(space)
    with context.run_example("work_queue", space) as example:
        context.api.create(target, config_map("a"))
        example.await_line(f"{space}/a has the label".__eq__)
        labels = context.api.get(f"{target}/a")["metadata"]["labels"]
        context.expect_equal(labels, {"seen": "true"})
        context.api.delete(f"{target}/a")
        example.await_line(f"{space}/a is gone".__eq__)
        example.stop(signal.SIGINT)


@scenario(ways=("proxy",))
def example_leader(context):
    space = context.namespace()
    with contextlib.ExitStack() as copies:
        copy = copies.enter_context(context.run_example("leader", f"{space}/l"))
        name = copy.line().removeprefix("the leader is ")
        copy.expect(f"leading as {name}", "working")
        other = copies.enter_context(context.run_example("leader", f"{space}/l"))
        other.expect(f"the leader is {name}")
        copy.stop(signal.SIGTERM)
        other.await_line("working".__eq__)
        other.stop(signal.SIGINT)
        spec = context.api.get(LEASES.format(space, "l"))["spec"]
        context.expect_equal((spec["holderIdentity"], spec["leaseTransitions"]),
                             ("", 1))


COORDINATED = ("--feature-gates=CoordinatedLeaderElection=true",
               "--runtime-config=coordination.k8s.io/v1beta1=true")


@contextlib.contextmanager
def coordinating_server(context):
    """The address of a proxy in front of an API server that elects, and an
    Api of this server."""
    name = f"coordinated-{context.unused_name()}"
    with context.cluster.special_apiserver(name, *COORDINATED) as server:
        proxy = context.cluster.make_proxy(f"proxy-{name}", server)
        proxy.start()
        try:
            yield proxy.url, server.client()
        finally:
            proxy.kill()


@scenario(ways=())
def example_coordinated(context):
    """The server gives the lease to one of two candidates, and to the other one
    when the leader is killed. A candidate that was deleted comes back."""
    space = context.namespace()
    lease = LEASES.format(space, "l")
    candidates = LEASE_CANDIDATES.format(space)

    with contextlib.ExitStack() as copies:
        url, api = copies.enter_context(coordinating_server(context))

        def copy(version):
            return copies.enter_context(context.run_example(
                "coordinated", f"{space}/l", version, server=url))

        def names():
            return set(api.list(candidates))

        old = copy("1.30.0")
        first = old.line().removeprefix("leading as ")
        spec = api.get(lease)["spec"]
        context.expect_equal((spec["holderIdentity"], spec["strategy"]),
                             (first, "OldestEmulationVersion"))
        api.delete(f"{candidates}/{first}")
        await_true("candidate again", lambda: names() == {f"{space}/{first}"})
        new = copy("1.31.0")
        await_true("second candidate", lambda: len(names()) == 2)
        context.expect_equal(api.get(lease)["spec"]["holderIdentity"], first)
        old.process.kill()
        second = new.line().removeprefix("leading as ")
        context.expect_equal(names(), {f"{space}/{first}", f"{space}/{second}"})
        context.expect_equal(api.get(lease)["spec"]["holderIdentity"], second)
        new.stop(signal.SIGTERM)
        new.expect("stopped: the program has stopped it", "closed")


@scenario(ways=("proxy",))
def example_controller(context):
    """Leaders are killed, paused and stopped under a churn; the rules of
    widget_story.py hold of all that the server has stored."""
    define(context.api, DEFINITION)
    api, space = context.api, context.namespace()
    target = WIDGETS.format(space)
    version = api.get(target)["metadata"]["resourceVersion"]
    history = History(api.stream(
        f"{target}?watch=1&timeoutSeconds=120&resourceVersion={version}"))

    def call(method, name, value):
        try:
            if method == "PATCH":
                api.patch(f"{target}/{name}", value)
            else:
                api.call(method, f"{target}/{name}".rstrip("/"), value)
        except ApiError as error:
            context.expect_equal(error.status, 409)
            return False
        return True

    def start():
        return copies.enter_context(
            context.run_example("controller", space, str(LEASE_S)))

    with Churn(call) as churn, contextlib.ExitStack() as copies:
        history.start()
        first, terms = start(), []
        await_leading(first, history, terms)
        second = start()
        first.process.kill()
        await_leading(second, history, terms)
        third = start()
        second.process.pause()
        await_leading(third, history, terms)
        second.process.resume()
        context.expect(second.line().startswith("stopped: "), "it went on")
        third.stop(signal.SIGTERM)
        await_leading(second, history, terms)
        widgets = churn.stop()
        history.wait("each Widget as it should be",
                     lambda: history.is_settled(widgets))
        context.expect_equal(terms, sorted(set(terms)))
        context.expect(set(terms) <= set(history.terms()),
                       f"terms {terms} of {sorted(set(history.terms()))}")
        second.stop(signal.SIGINT)
        lease = api.get(LEASES.format(space, "widget-controller"))
        context.expect_equal(lease["spec"]["holderIdentity"], "")


def await_leading(example, history, terms):
    """Notes its next term, when something has been written in that."""
    line = example.await_line(re.compile(r"leading as \S+, term \d+").fullmatch)
    terms.append(int(line.split()[-1]))
    history.await_term(terms[-1])
