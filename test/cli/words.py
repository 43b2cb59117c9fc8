# SPDX-License-Identifier: MIT
"""RESOURCE as kubectl takes it: what is not built in the server explains."""

import json
import signal

from harness import (Program, Scripted, Simulator, check, check_equal, pod,
                     pod_list, status_body, until)

FOUND = {
    "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
    "metadata": {}, "items": []}


def discovery(*resources, group="", version="v1"):
    """A document with one group."""
    return json.dumps({**FOUND, "items": [{
        "metadata": {"name": group}, "versions": [{
            "version": version, "freshness": "Current",
            "resources": list(resources)}]}]}).encode()


def resource(plural, kind, scope="Namespaced", short=(), group="", **more):
    return {"resource": plural, "singularResource": kind.lower(),
            "scope": scope, "verbs": ["list", "watch"],
            "shortNames": list(short),
            "responseKind": {"group": group, "version": "v1", "kind": kind},
            **more}


V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def document(body):
    """As an API server says which form it is."""
    return lambda handler: handler.answer(200, body, V2)


CORE = document(discovery(
    resource("pods", "Pod", short=["po"], categories=["all"]),
    resource("services", "Service", categories=["all"]),
    resource("reviews", "Review", verbs=["create"]),
    resource("nodes", "Node", scope="Cluster", short=["no"])))
GROUPS = document(discovery(
    resource("widgets", "Widget", short=["wd"], group="example.com"),
    resource("pumps", "Pump", scope="Cluster", group="example.com"),
    group="example.com", version="v1beta1"))


def once(programs, server, *arguments):
    with Program([programs.kinformer, *arguments, "--once", "--server",
                  server.url]) as p:
        return p.wait()


def test_words(programs):
    widgets = "/apis/example.com/v1beta1/namespaces/default/widgets"
    for word, path in [
            ("po", "/api/v1/namespaces/default/pods"),
            ("pod", "/api/v1/namespaces/default/pods"),
            ("Pod", "/api/v1/namespaces/default/pods"),
            ("no", "/api/v1/nodes"),
            ("widgets", widgets), ("wd", widgets), ("Widget", widgets),
            ("widget.example.com", widgets),
            ("widgets.example.com", widgets),
            ("wd.v1beta1.example.com", widgets),
            ("widget.v1beta1.example.com", widgets),
            ("widgets.v1beta1.example.com", widgets),
            ("po.v1.", "/api/v1/namespaces/default/pods"),
            ("pod.v1.", "/api/v1/namespaces/default/pods"),
            ("pumps.v1beta1.example.com",
             "/apis/example.com/v1beta1/pumps"),
            ("pumps", "/apis/example.com/v1beta1/pumps")]:
        with Scripted({"/api": [CORE], "/apis": [GROUPS],
                       path: [pod_list([], 7)]}) as server:
            status, output, error = once(programs, server, word)
            check_equal(status, 0, f"{word}: {error!r}")
            asked = [r[0] for r in server.requests]
            check_equal((sorted(asked[:2]), asked[2:]),
                        (["/api", "/apis"], [path]), word)


def test_builtin_names_ask_nothing(programs):
    path = "/api/v1/namespaces/default/configmaps"
    for word in ("configmaps", "configmaps.v1", "configmaps.v1."):
        with Scripted({path: [pod_list([], 7)]}) as server:
            check_equal(once(programs, server, word)[0], 0, word)
            check_equal([r[0] for r in server.requests], [path], word)


def test_names_are_believed_without_discovery(programs):
    """A user without discovery may name a resource in full."""
    path = "/apis/example.com/v1/namespaces/default/widgets"
    for status, reason in [(403, "Forbidden"), (404, "NotFound")]:
        refused = (status, status_body(status, reason, "not this"))
        with Scripted({"/api": [refused], "/apis": [refused],
                       path: [pod_list([], 7)]}) as server:
            check_equal(once(programs, server, "widgets.v1.example.com")[::2],
                        (0, b""), reason)
            check_equal(server.requests[-1][0], path)


def test_one_object(programs):
    path = "/api/v1/namespaces/default/pods"
    with Scripted({"/api": [CORE], "/apis": [GROUPS],
                   path: [pod_list([pod("web", 5)], 7)]}) as server:
        status, output, _ = once(programs, server, "po/web")
        check_equal(status, 0)
        check_equal(server.requests[-1][1]["fieldSelector"],
                    "metadata.name=web")


def test_unknown(programs):
    """No longer taken for a resource of the core group."""
    with Scripted({"/api": [CORE], "/apis": [GROUPS]}) as server:
        for word, named in [("poods", b"did you mean pods?"),
                            ("wigdets", b"widgets"),
                            ("xyzzyplugh", b"xyzzyplugh")]:
            status, output, error = once(programs, server, word)
            check_equal((status, output), (1, b""), word)
            check(named in error, f"{word}: {error!r}")
        # What the server says is no matter of usage.
        for arguments, named in [
                (["pumps", "-n", "a"], b"-n: pumps have no namespace"),
                (["all"], b'RESOURCE: "all" is a category of 2 resources'),
                (["reviews"], b"RESOURCE: reviews cannot be listed and watched")]:
            check_equal(once(programs, server, *arguments),
                        (1, b"", b"kinformer: " + named + b"\n"))


def test_refused_and_asked_again(programs):
    """A failure is a line; the word is asked for until it is explained."""
    forbidden = (403, status_body(403, "Forbidden", "not for you"))
    path = "/api/v1/namespaces/default/pods"
    with Scripted({"/api": [forbidden, forbidden, CORE],
                   "/apis": [forbidden, forbidden, GROUPS],
                   path: [pod_list([pod("a", 5)], 10)]}) as server, \
            Program([programs.kinformer, "po", "--server", server.url]) as p:
        for _ in range(2):
            line = p.next_event()
            check_equal((line["event"], line["class"], line["status"],
                         line["reason"]),
                        ("error", "forbidden", 403, "Forbidden"))
        check_equal(p.until("synced")["objects"], 1)
        p.interrupt()
    with Scripted({"/api": [forbidden], "/apis": [forbidden]}) as server:
        status, _, error = once(programs, server, "po")
        check_equal(status, 1)
        check(b"not for you" in error, str(error))


def test_no_discovery(programs):
    """404 for the roots is no answer about the word."""
    absent = (404, status_body(404, "NotFound", "no such path"))
    path = "/api/v1/namespaces/default/pods"
    # Each time in both forms.
    with Scripted({"/api": [absent, absent, CORE],
                   "/apis": [absent, absent, GROUPS],
                   path: [pod_list([], 10)]}) as server, \
            Program([programs.kinformer, "po", "--server", server.url]) as p:
        line = p.next_event()
        check_equal((line["event"], line["class"], line["status"],
                     line["reason"]), ("error", "absent", 404, "NotFound"))
        p.until("synced")
        p.interrupt()
    with Scripted({"/api": [absent], "/apis": [absent]}) as server:
        status, output, error = once(programs, server, "po")
        check_equal((status, output.count(b"\n")), (1, 2))
        check(b"no such path" in error, str(error))


def test_throttled_while_it_asks(programs):
    """The server asks for the request again: that is told at once, not when all
    tries are over."""
    def throttle(handler):
        handler.send_response(429)
        handler.send_header("Retry-After", "5")
        handler.send_header("Content-Length", "0")
        handler.end_headers()
    with Scripted({"/api": [throttle], "/apis": [throttle]}) as server, \
            Program([programs.kinformer, "po", "--server", server.url]) as p:
        line = p.next_event()
        check_equal((line["event"], line["class"], line["status"],
                     line["retryInMs"]), ("error", "throttled", 429, 5000))
        # The first one was told: nothing has been asked again.
        asked = [r[0] for r in server.requests]
        check_equal(len(asked), len(set(asked)), str(asked))
        p.interrupt()


def test_interrupted_while_it_asks(programs):
    def silent(handler):
        server.stopped()
    with Scripted({"/api": [silent], "/apis": [silent]}) as server, \
            Program([programs.kinformer, "po", "-o", "table", "--stats",
                     "--server", server.url]) as p:
        until(lambda: server.requests, "a request")
        p.send(signal.SIGINT)
        status, _, error = p.wait()
        check_equal(status, 0)
        stats = json.loads(error)
        check_equal((stats["objects"], stats["scopes"]), (0, []))
        check(stats["client"]["requests"] > 0, str(stats))


def test_simulated(programs):
    with Simulator(programs.apisim, "--pods", "3") as server:
        for word in ("po", "Pod", "deploy", "deployments/none"):
            with Program([programs.kinformer, word, "-A", "--once",
                          "--server", server.url]) as p:
                p.expect_end(0)
