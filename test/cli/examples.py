# SPDX-License-Identifier: MIT
"""The examples do what their first comment says."""

import json
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import urllib.request

from harness import (Program, Scripted, Simulator, check, check_equal, pod,
                     pod_list, status_body, until)

PODS = "/api/v1/pods"


def create(url, name):
    """Creates an object; returns its resourceVersion."""
    body = json.dumps({"metadata": {"name": name}}).encode()
    request = urllib.request.Request(
        url, body, {"Content-Type": "application/json"}, method="POST")
    with urllib.request.urlopen(request) as response:
        return json.load(response)["metadata"]["resourceVersion"]


def test_watch_pods(programs):
    with Scripted({PODS: [pod_list([pod("a", 5)], 10)]}) as server, \
            Program([programs.watch_pods, server.url]) as p:
        check_equal(p.next_line(), b"added   default/a")
        check_equal(p.next_line(), b"in sync: 1 pods")
        server.push("MODIFIED", pod("a", 11), path=PODS)
        check_equal(p.next_line(), b"changed default/a")
        server.push("DELETED", pod("a", 12), path=PODS)
        check_equal(p.next_line(), b"deleted default/a")


def test_embed(programs):
    items = [pod("a", 5, spec={"nodeName": "n1"}, status={"phase": "Running"}),
             pod("b", 6, spec={"nodeName": "n1"}), pod("c", 7)]
    with Scripted({PODS: [pod_list(items, 10)]}) as server, \
            Program([programs.embed, server.url]) as p:
        port = int(re.fullmatch(rb"listening on 127\.0\.0\.1:(\d+)",
                                p.next_line()).group(1))
        with socket.create_connection(("127.0.0.1", port)) as client, \
                client.makefile("rwb") as stream:

            def ask(line):
                stream.write(line)
                stream.flush()
                return stream.readline()

            until(lambda: ask(b"COUNT\n") == b"3\n", "in sync")
            check_equal(ask(b"GET default/a\r\n"), b"Running n1 5\n")
            check_equal(ask(b"GET default/c\n"), b"Unknown - 7\n")
            check_equal(ask(b"GET default/d\n"), b"no such pod\n")
            check_equal(ask(b"NODE n1\n"), b"2\n")
            check_equal(sorted(stream.readline() for _ in range(2)),
                        [b"default/a\n", b"default/b\n"])
            check(ask(b"?\n").startswith(b"what?"), "no usage")
            # Several lines in one segment, answered in order.
            server.push("ADDED", pod("d", 11), path=PODS)
            until(lambda: ask(b"COUNT\n") == b"4\n", "the new pod")
            check_equal(ask(b"NODE n2\nCOUNT\nCOUNT"), b"0\n")
            check_equal(stream.readline(), b"4\n")
            check_equal(ask(b"\n"), b"4\n")
            with socket.create_connection(("127.0.0.1", port)) as other:
                other.sendall(b"x" * 2000)
                try:
                    check_equal(other.recv(1), b"")
                except ConnectionResetError:
                    pass  # it had not read all of it
            # It ends in order with connections open.
            p.send(signal.SIGINT)
            p.expect_end(0)
            check_equal(stream.readline(), b"")


def test_delta_controller(programs):
    nodes = "/api/v1/nodes"
    items = [pod("a", 5, spec={"nodeName": "n2"}), pod("b", 6),
             pod("c", 7, spec={"nodeName": "n1"})]
    node = {"metadata": {"name": "n1", "uid": "n1", "resourceVersion": "3"}}
    late = {"metadata": {"name": "n2", "uid": "n2", "resourceVersion": "11"}}
    with Scripted({PODS: [pod_list(items, 10)],
                   nodes: [pod_list([node], 10)]}) as server, \
            Program([programs.delta_controller, server.url]) as p:
        check_equal(sorted(p.next_line() for _ in range(3)),
                    [b"node n1", b"pod default/b waits",
                     b"pod default/c is on n1"])
        server.push("ADDED", late, path=nodes)
        check_equal(p.next_line(), b"node n2")
        check_equal(p.next_line(), b"pod default/a is on n2")
        p.send(signal.SIGINT)
        tries = int(p.next_line().split()[0])
        check(4 <= tries < 40, f"{tries} tries")
        p.expect_end(0)


def test_directory(programs):
    """A folder of files is the source: what is written there is told."""
    with tempfile.TemporaryDirectory(prefix="kinformer-cli-") as name:
        folder = pathlib.Path(name)

        def write(key, file=None, **more):
            """The file appears or changes at once."""
            content = {"metadata": {"namespace": "ns", "name": key}, **more}
            new = folder / f".{key}.new"
            new.write_text(json.dumps(content))
            new.rename(folder / f"{file or key}.json")

        write("a")
        (folder / "ignored.txt").write_text("{")
        with Program([programs.directory, name]) as p:
            check_equal(p.next_line(), b"added   ns/a")
            check_equal(p.next_line(), b"in sync: 1 objects")
            write("b")
            check_equal(p.next_line(), b"added   ns/b")
            write("a", spec={"replicas": 3})
            check_equal(p.next_line(), b"changed ns/a")
            (folder / "b.json").unlink()
            check_equal(p.next_line(), b"deleted ns/b")
            # What cannot be understood stays as it was.
            (folder / "a.json").write_text('{"metadata":')
            write("b")
            check_equal(p.next_line(), b"added   ns/b")
            # An object lives as long as a file has it.
            (folder / "b.json").rename(folder / "c.json")
            check_equal(p.next_line(), b"changed ns/b")
            write("b", file="d", spec={"replicas": 1})
            check_equal(p.next_line(), b"changed ns/b")
            (folder / "d.json").unlink()
            check_equal(p.next_line(), b"changed ns/b")
            write("e", file="c")
            check_equal([p.next_line(), p.next_line()],
                        [b"added   ns/e", b"deleted ns/b"])
            (folder / "c.json").unlink()
            check_equal(p.next_line(), b"deleted ns/e")
            p.send(signal.SIGINT)
            p.expect_end(0, None)
            check(b"a.json: " in p.said(), "the broken file is not named")
        with Program([programs.directory, str(folder / "absent")]) as p:
            p.expect_end(1, None)


def test_factory(programs):
    base = "/namespaces/shop/"
    pods, maps = "/api/v1" + base + "pods", "/api/v1" + base + "configmaps"
    deployments = "/apis/apps/v1" + base + "deployments"
    lists = {pods: [pod_list([pod("a", 5, "shop"), pod("b", 6, "shop")], 10)],
             maps: [pod_list([pod("m", 7, "shop")], 10)],
             deployments: [pod_list([], 10)]}
    with Scripted(lists) as server, \
            Program([programs.factory, server.url, "shop"]) as p:
        check_equal(sorted(p.next_line() for _ in range(3)),
                    [b"configmap shop/m", b"pod shop/a", b"pod shop/b"])
        server.push("ADDED", pod("d", 11, "shop"), path=deployments)
        check_equal(p.next_line(),
                    b"deployment shop/d added, 2 pods are cached")
        # Shared: both parts of it asked for pods, and no request came twice.
        requests = [(path, "watch" in query, "sendInitialEvents" in query)
                    for path, query, _ in server.requests]
        check_equal(sorted(requests), sorted(set(requests)))
        check_equal({path for path, _, _ in requests},
                    {pods, maps, deployments})
        partial = {path for path, _, headers in server.requests
                   if "PartialObjectMetadata" in headers["Accept"]}
        check_equal(partial, {maps})
        p.send(signal.SIGINT)
        p.expect_end(0)


def test_factory_does_not_sync(programs):
    """What is missing is named; SIGINT ends it at any time."""
    with Scripted({}) as server, Program([programs.factory, server.url]) as p:
        until(lambda: len(server.requests) >= 3, "three lists")
        p.send(signal.SIGINT)
        p.expect_end(0)


def test_list_pages(programs):
    def web(name, phase):
        return pod(name, 5, "shop", status={"phase": phase})

    def page(items, token):
        listed = json.loads(pod_list(items, 10))
        listed["metadata"]["continue"] = token
        return json.dumps(listed).encode()

    pages = [page([web("a", "Running"), web("b", "Pending")], "t1"),
             page([web("c", "Failed")], "")]
    with Scripted({PODS: pages}) as server, \
            Program([programs.list_pages, server.url]) as p:
        for line in (b"shop/b Pending", b"shop/c Failed",
                     b"2 of 3 pods do not run, at version 10"):
            check_equal(p.next_line(), line)
        p.expect_end(0)
        check_equal([query for _, query, _ in server.requests],
                    [{"limit": "500"}, {"continue": "t1", "limit": "500"}])
    with Scripted({PODS: [(403, status_body(403, "Forbidden", "not you"))]}) \
            as server, Program([programs.list_pages, server.url]) as p:
        p.expect_end(1, None)
        check(b"not you" in p.said(), "why is not said")
    with Program([programs.list_pages]) as p:
        p.expect_end(2, None)


def test_wait_for_pod(programs):
    path = "/api/v1/namespaces/shop/pods"

    def web(version, phase):
        return pod("web", version, "shop", status={"phase": phase})

    with Scripted({path: [pod_list([], 10)]}) as server, \
            Program([programs.wait_for_pod, server.url, "shop/web"]) as p:
        server.push("ADDED", web(11, "Pending"), path=path)
        check_equal(p.next_line(), b"Pending")
        server.push("MODIFIED", web(12, "Running"), path=path)
        check_equal(p.next_line(), b"Running")
        p.expect_end(0)
        check_equal({query["fieldSelector"] for _, query, _ in server.requests},
                    {"metadata.name=web"})


def test_wait_for_pod_that_never_runs(programs):
    path = "/api/v1/namespaces/shop/pods"
    for phase in ("Failed", "Succeeded"):
        ended = pod("web", 9, "shop", status={"phase": phase})
        with Scripted({path: [pod_list([ended], 10)]}) as server, \
                Program([programs.wait_for_pod, server.url, "shop/web"]) as p:
            check_equal(p.next_line(), phase.encode())
            p.expect_end(1, None)
    with Scripted({path: [pod_list([pod("web", 9, "shop")], 10)]}) as server, \
            Program([programs.wait_for_pod, server.url, "shop/web"]) as p:
        check_equal(p.next_line(), b"Unknown")
        server.push("DELETED", pod("web", 11, "shop"), path=path)
        check_equal(p.next_line(), b"deleted")
        p.expect_end(1, None)
    with Scripted({path: [pod_list([], 10)]}) as server, \
            Program([programs.wait_for_pod, server.url, "shop/web", "1"]) as p:
        p.expect_end(3, b"wait_for_pod: shop/web: timed out\n")
    for more in ([], ["web"], *(["shop/web", seconds] for seconds in
                                ("abc", "1s", "", "-1", " 1", "9" * 30))):
        with Program([programs.wait_for_pod, "http://127.0.0.1:1", *more]) as p:
            p.expect_end(2, None)


def test_transform(programs):
    def web(name, version, *ids):
        statuses = [{"containerID": i, "ready": True, "image": "x" * 1000}
                    for i in ids]
        return pod(name, version, spec={"nodeName": "n1", "containers": []},
                   metadata={"labels": {"app": "web",
                                        "pod-template-hash": "7d9"}},
                   status={"phase": "Running", "containerStatuses": statuses})

    with Scripted({PODS: [pod_list([web("a", 5, "c://1", "c://2")], 10)]}) \
            as server, Program([programs.transform, server.url]) as p:
        check_equal(p.next_line(), b"c://1 default/a n1 web")
        check_equal(p.next_line(), b"c://2 default/a n1 web")
        pods, size = re.fullmatch(rb"in sync: (\d+) pods in (\d+) bytes",
                                  p.next_line()).groups()
        check_equal(pods, b"1")
        check(int(size) < 500, f"{size} bytes are kept")
        server.push("ADDED", web("b", 11, "c://3"), path=PODS)
        check_equal(p.next_line(), b"c://3 default/b n1 web")


def test_read_your_writes(programs):
    path = "/api/v1/namespaces/shop/configmaps"
    lists = [pod_list([pod("a", 5, "shop")], 10), pod_list([], 12)]
    with Scripted({path: lists}) as server:
        server.push("ADDED", pod("b", 12, "shop"), path=path)
        with Program([programs.read_your_writes, server.url, "shop", "12",
                      "9"]) as p:
            check_equal(p.next_line(), b"9: 1 configmaps")
            check_equal(p.next_line(), b"12: 2 configmaps")
            check_equal(p.next_line(), b"up to date at 12: 2 configmaps")
            p.expect_end(0)
        question = [query for _, query, _ in server.requests
                    if query.get("limit") == "1"]
        check_equal(question, [{"limit": "1"}])


def test_read_your_writes_where_nothing_happens(programs):
    """Only a bookmark tells that the cache has what it does not show."""
    path = "/api/v1/namespaces/shop/configmaps"
    other = "/api/v1/namespaces/other/configmaps"
    with Simulator(programs.apisim) as server:
        for name in ("shop", "other"):
            create(server.url + "/api/v1/namespaces", name)
        create(server.url + path, "a")
        written = create(server.url + other, "b")
        with Program([programs.read_your_writes, server.url, "shop",
                      written]) as p:
            check_equal(p.next_line(), b"%s: 1 configmaps" % written.encode())
            check(p.next_line().startswith(b"up to date at "), "not verified")
            p.expect_end(0)


def test_read_your_writes_that_never_come(programs):
    with Program([programs.read_your_writes, "http://127.0.0.1:1", "shop",
                  "x" * 64]) as p:
        p.expect_end(1, b"read_your_writes: invalid argument\n")
    with Program([programs.read_your_writes]) as p:
        p.expect_end(2, None)


def test_patch_label(programs):
    path = "/api/v1/namespaces/default/configmaps"
    with Simulator(programs.apisim) as server:
        version = create(server.url + path, "a")
        argv = [programs.patch_label, server.url, "default/a", "blue", version]
        with Program(argv) as p:
            check(re.fullmatch(rb"default/a is at version \d+", p.next_line()),
                  "not patched")
            p.expect_end(0)
        with urllib.request.urlopen(server.url + path + "/a") as response:
            check_equal(json.load(response)["metadata"]["labels"],
                        {"team": "blue"})
        with Program(argv[:3] + ["red", version]) as p:
            check_equal(p.next_line(), b"changed meanwhile: get a again")
            p.expect_end(4)
        with Program(argv[:2] + ["default/b", "red", version]) as p:
            check(b"not found" in p.wait()[2], "no message")
        with Program(argv[:2] + ["default/", "red", version]) as p:
            p.expect_end(1, None)
    with Program([programs.patch_label]) as p:
        p.expect_end(2, None)


def test_work_queue(programs):
    path = "/api/v1/namespaces/default/configmaps"
    with Simulator(programs.apisim) as server:
        create(server.url + path, "a")

        def labels(name):
            with urllib.request.urlopen(f"{server.url}{path}/{name}") as answer:
                return json.load(answer)["metadata"].get("labels")

        def delete(name):
            request = urllib.request.Request(f"{server.url}{path}/{name}",
                                             method="DELETE")
            urllib.request.urlopen(request).close()

        with Program([programs.work_queue, server.url]) as p:
            check_equal(p.next_line(), b"default/a has the label")
            check_equal(labels("a"), {"seen": "true"})
            create(server.url + path, "b")
            check_equal(p.next_line(), b"default/b has the label")
            check_equal(labels("b"), {"seen": "true"})
            delete("a")
            check_equal(p.next_line(), b"default/a is gone")
            p.send(signal.SIGINT)
            p.expect_end(0)


def test_leader(programs):
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    with Simulator(programs.apisim) as server:
        command = [programs.leader, server.url, "default/l"]

        def spec():
            with urllib.request.urlopen(server.url + path) as answer:
                return json.load(answer)["spec"]

        with Program(command) as first:
            name = first.next_line().removeprefix(b"the leader is ")
            check_equal(first.next_line(), b"leading as " + name)
            check_equal(first.next_line(), b"working")
            check_equal(spec()["holderIdentity"], name.decode())
            with Program(command) as second:
                check_equal(second.next_line(), b"the leader is " + name)
                first.send(signal.SIGINT)
                line = first.next_line()
                while line == b"working":
                    line = first.next_line()
                check_equal(line, b"stopped: the program has stopped it")
                check_equal(first.next_line(), b"closed")
                first.expect_end(0)
                other = second.next_line()
                check_equal(other == b"the leader is " + name, False)
                check_equal(second.next_line(), b"leading as " +
                            other.removeprefix(b"the leader is "))
                check_equal(spec()["leaseTransitions"], 1)
                check_equal(second.next_line(), b"working")
                second.send(signal.SIGTERM)
                while line != b"closed":
                    line = second.next_line()
                second.expect_end(0)
                check_equal(spec()["holderIdentity"], "")
        with Program([programs.leader, server.url, "l"]) as p:
            p.expect_end(2, None)


def expect_word(programs, server, word, kind):
    """The word names this kind, and the list of the resource is complete."""
    with Program([programs.follow_word, server.url, word]) as p:
        check_equal(p.next_line(), kind)
        line = p.next_line()
        while line.startswith(b"added"):
            line = p.next_line()
        check_equal(line, b"in sync")


def create_crd(url):
    """Defines gadgets.example.com."""
    body = {"apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "gadgets.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced",
                     "names": {"plural": "gadgets", "singular": "gadget",
                               "kind": "Gadget", "shortNames": ["gd"]},
                     "versions": [{"name": "v1", "served": True,
                                   "storage": True}]}}
    request = urllib.request.Request(
        url + "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        json.dumps(body).encode(), {"Content-Type": "application/json"},
        method="POST")
    urllib.request.urlopen(request).close()


def test_follow_word(programs):
    with Simulator(programs.apisim, "--pods", "3", "--resource",
                   "widgets.v1.example.com:Widget") as server:
        for word in ("po", "pod", "Pod", "pods.v1.", "PODS"):
            expect_word(programs, server, word, b"Pod of v1")
        for word in ("deploy", "Deployment", "deploy.apps", "deploy.v1.apps"):
            expect_word(programs, server, word, b"Deployment of apps/v1")
        for word in ("Widget", "widgets.example.com", "widget.example"):
            expect_word(programs, server, word, b"Widget of example.com/v1")
        create_crd(server.url)
        expect_word(programs, server, "gd", b"Gadget of example.com/v1")
        with Program([programs.follow_word, server.url, "poods"]) as p:
            p.expect_end(1, b'follow_word: the server has no resource "poods"; '
                            b"did you mean pods?\n")
        with Program([programs.follow_word, server.url, "all"]) as p:
            check(b"is a category" in p.wait()[2], "no message")


def test_follow_word_with_a_name(programs):
    with Simulator(programs.apisim) as server:
        path = server.url + "/api/v1/namespaces/default/configmaps"
        for name in ("a", "b", "c"):
            create(path, name)
        with Program([programs.follow_word, server.url, "cm/b"]) as p:
            check_equal([p.next_line() for _ in range(3)],
                        [b"ConfigMap of v1", b"added default/b", b"in sync"])


def test_follow_word_that_fails(programs):
    with Program([programs.follow_word, "http://127.0.0.1:1", "po"]) as p:
        p.expect_end(1, None)
    with Program([programs.follow_word, "http://127.0.0.1:1", "a/b/c"]) as p:
        p.expect_end(1, b"follow_word: word: has more than one '/'\n")
    with Program([programs.follow_word, "ftp://x", "po"]) as p:
        p.expect_end(1, b"follow_word: malformed server URL\n")
    with Program([programs.follow_word]) as p:
        p.expect_end(2, None)


def write(url, method, value=None):
    """Writes an object; returns the answer."""
    body = json.dumps(value).encode() if value else None
    request = urllib.request.Request(
        url, body, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def test_config_reload(programs):
    path = "/api/v1/namespaces/default/configmaps"
    with Simulator(programs.apisim) as server:
        url = server.url + path

        def put(name, data, method="PUT", **labels):
            value = {"metadata": {"name": name, "labels": labels}, "data": data}
            write(url + ("" if method == "POST" else f"/{name}"), method, value)

        def reloaded(line):
            check(line.startswith(b"reload "), f"no reload: {line}")
            return json.loads(line[7:])["data"]

        argv = [programs.config_reload, server.url, "default", "app"]
        with Program(argv) as p:
            check_equal(p.next_line(), b"none yet")
            put("other", {"a": "0"}, "POST")
            put("app", {"a": "1"}, "POST")
            check_equal(reloaded(p.next_line()), {"a": "1"})
            # Once for many changes; not for what is not data.
            for i in range(5):
                put("app", {"a": f"2{i}"})
            check_equal(reloaded(p.next_line()), {"a": "24"})
            put("app", {"a": "24"}, color="blue")
            write(url + "/app", "DELETE")
            check_equal(p.next_line(), b"gone")
            put("app", {"a": "3"}, "POST")
            check_equal(reloaded(p.next_line()), {"a": "3"})
            p.interrupt()
            p.expect_end(0)
    with Program([programs.config_reload]) as p:
        p.expect_end(2, None)


def test_pod_ip(programs):
    def with_ip(name, version, ip, phase="Running", container=None,
                host_network=False):
        statuses = [{"containerID": container}] if container else []
        return pod(name, version, spec={"hostNetwork": host_network},
                   status={"phase": phase, "podIPs": [{"ip": ip}],
                           "containerStatuses": statuses})

    items = [with_ip("a", 5, "10.0.0.1", container="containerd://a1"),
             with_ip("host1", 6, "192.168.0.1", container="containerd://h1",
                     host_network=True),
             with_ip("host2", 7, "192.168.0.1", host_network=True),
             with_ip("done", 8, "10.0.0.2", "Succeeded", "containerd://d1")]
    with Scripted({PODS: [pod_list(items, 10)]}) as server, \
            Program([programs.pod_ip, server.url],
                    stdin=subprocess.PIPE) as p:

        def ask(line):
            p.send_line(line)
            return p.next_line()

        check_equal(ask(b"10.0.0.1"), b"10.0.0.1 default/a")
        check_equal(ask(b"containerd://a1"), b"containerd://a1 default/a")
        # An address of several pods tells nothing; a container does.
        check_equal(ask(b"192.168.0.1"), b"192.168.0.1 unknown")
        check_equal(ask(b"containerd://h1"), b"containerd://h1 default/host1")
        check_equal(ask(b"10.0.0.2"), b"10.0.0.2 unknown")
        check_equal(ask(b"containerd://d1"), b"containerd://d1 default/done")
        # Deleted: it lingers.
        server.push("DELETED", with_ip("a", 11, "10.0.0.1"), path=PODS)
        until(lambda: ask(b"10.0.0.1") == b"10.0.0.1 default/a gone",
              "a gone")
        # The address is used again: the newest owner, and time decides.
        server.push("ADDED", with_ip("b", 12, "10.0.0.1"), path=PODS)
        until(lambda: ask(b"10.0.0.1") == b"10.0.0.1 default/b", "b")
        check_equal(ask(b"10.0.0.1 50000000"), b"10.0.0.1 default/a gone")
        # It finishes, its object stays, and its address is free.
        server.push("MODIFIED", with_ip("b", 13, "10.0.0.1", "Succeeded"),
                    path=PODS)
        until(lambda: ask(b"10.0.0.1") == b"10.0.0.1 default/b gone",
              "b finished")
        server.push("ADDED", with_ip("c", 14, "10.0.0.1"), path=PODS)
        until(lambda: ask(b"10.0.0.1") == b"10.0.0.1 default/c", "c")
        # A line that is too long, up to its newline; the next one is whole.
        for length in (511, 512, 513, 1024, 5000):
            check_equal(ask(b"x" * length), b"too long" if length > 511 else
                        b"x" * 511 + b" unknown", length)
        check_equal(ask(b"10.0.0.1"), b"10.0.0.1 default/c")
        p.end_input()
        p.expect_end(0)
    # The last line needs no newline.
    for line, answer in [(b"10.0.0.1", b"10.0.0.1 default/a"),
                         (b"x" * 511, b"x" * 511 + b" unknown"),
                         (b"x" * 512, b"too long"), (b"x" * 600, b"too long")]:
        with Scripted({PODS: [pod_list(items, 10)]}) as server, \
                Program([programs.pod_ip, server.url],
                        stdin=subprocess.PIPE) as p:
            p.send_line(b"10.0.0.2\n" + line, newline=b"")
            p.end_input()
            check_equal(p.expect_end(0),
                        b"10.0.0.2 unknown\n" + answer + b"\n")


def test_pod_ip_without_a_server(programs):
    with Program([programs.pod_ip, "http://127.0.0.1:1"],
                 stdin=subprocess.PIPE) as p:
        p.wait_for_error(b"pod_ip: ")


def test_pod_ip_with_a_file(programs):
    for path in (__file__, "/dev/null"):
        with open(path, "rb") as file, \
                Program([programs.pod_ip, "http://127.0.0.1:1"],
                        stdin=file) as p:
            p.expect_end(2, b"pod_ip: standard input is no pipe: "
                            b"cat FILE | pod_ip\n")
