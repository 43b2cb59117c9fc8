# SPDX-License-Identifier: MIT
"""Against kin-apisim: whole runs with churn, folded and compared."""

import json
import urllib.request

from harness import Program, Simulator, check, check_equal


def fold(lines):
    """What a program that applied the lines would hold: key -> version."""
    state = {}
    for raw in lines:
        line = json.loads(raw)
        event, key = line["event"], line.get("key")
        if event == "add":
            check(key not in state, f"{key} added twice")
            state[key] = line["resourceVersion"]
        elif event == "update":
            check_equal(line["oldResourceVersion"], state[key], key)
            state[key] = line["resourceVersion"]
        elif event == "delete":
            del state[key]
        elif event == "synced":
            check_equal(line["objects"], len(state), "objects at synced")
        else:
            raise AssertionError(f"unexpected {line}")
    return state


def listed(url, path="/api/v1/pods"):
    with urllib.request.urlopen(url + path) as response:
        body = json.load(response)
    return {f"{i['metadata']['namespace']}/{i['metadata']['name']}":
            i["metadata"]["resourceVersion"] for i in body["items"]}


def test_once_equals_the_list(programs):
    with Simulator(programs.apisim, "--pods", "300") as server:
        with Program([programs.kinformer, "pods", "-A", "--once", "--server",
                      server.url, "--page-size", "70"]) as p:
            state = fold(p.expect_end(0).splitlines())
        check_equal(len(state), 300)
        check_equal(state, listed(server.url))


def test_max_bytes(programs):
    """All keys without the bodies; and an end that says why."""
    with Simulator(programs.apisim, "--pods", "300") as server:
        argv = [programs.kinformer, "pods", "-A", "--once", "--server",
                server.url, "--max-bytes", "200Ki", "--stats", "--on-max-bytes"]
        with Program([*argv, "drop"]) as p:
            status, output, error = p.wait()
        check_equal(status, 0)
        lines = [line for line in output.splitlines()
                 if json.loads(line)["event"] != "error"]
        check_equal(fold(lines), listed(server.url))
        stats = json.loads(error.splitlines()[-1])
        check(stats["bytes"] <= 200 << 10, f"{stats['bytes']} bytes")
        check_equal(stats["scopes"][0]["memoryState"], "keys_only")
        for more in ([*argv, "stop"], argv[:-1]):
            with Program(more) as p:
                status, _, error = p.wait()
            check_equal(status, 1)
            check(b"the objects need more than --max-bytes" in error, str(error))


def test_once_when_the_keys_do_not_fit(programs):
    """A pause would have no end."""
    with Simulator(programs.apisim, "--pods", "50") as server:
        with Program([programs.kinformer, "pods", "-A", "--once", "--server",
                      server.url, "--max-bytes", "10Ki", "--on-max-bytes",
                      "drop"]) as p:
            p.until("error")
            p.expect_end(1, b"kinformer: the objects need more than "
                            b"--max-bytes\n")


def test_churn_is_legal(programs):
    with Simulator(programs.apisim, "--pods", "100", "--churn", "500") as server:
        with Program([programs.kinformer, "pods", "-A", "--exit-after", "500",
                      "--server", server.url]) as p:
            lines = p.expect_end(0).splitlines()
    fold(lines)
    events = [json.loads(line)["event"] for line in lines]
    synced = events.index("synced")
    check_equal(len(events) - synced - 1, 500, "lines after synced")


def test_show_object_is_the_one_listed(programs):
    with Simulator(programs.apisim, "--pods", "3") as server:
        # A watch's objects have kind and apiVersion, too.
        with Program([programs.kinformer, "pods", "-A", "--once",
                      "--show-object", "--keep-managed-fields",
                      "--no-watch-list", "--server", server.url]) as p:
            lines = [json.loads(l) for l in p.expect_end(0).splitlines()]
        with urllib.request.urlopen(server.url + "/api/v1/pods") as response:
            items = json.load(response)["items"]
    shown = {l["key"]: l["object"] for l in lines if l["event"] == "add"}
    check_equal(shown, {f"{i['metadata']['namespace']}/{i['metadata']['name']}":
                        i for i in items})


def test_warnings_are_said_once(programs):
    with Simulator(programs.apisim, "--pods", "7", "--fault",
                   "warning,text=pods are old", "--fault",
                   "warning,verb=watch,text=watches are too") as server:
        with Program([programs.kinformer, "pods", "-A", "--page-size", "2",
                      "--no-watch-list", "--exit-after", "1", "--server",
                      server.url]) as p:
            p.until("synced")
            urllib.request.urlopen(server.url + "/sim/events",
                                   b'{"count":1}').close()
            p.expect_end(0, b"kinformer: the server warns: pods are old\n"
                            b"kinformer: the server warns: watches are too\n")


def test_namespaces(programs):
    with Simulator(programs.apisim, "--pods", "60") as server:
        truth = listed(server.url)
        names = sorted({key.split("/")[0] for key in truth})[:2]
        options = [o for name in names for o in ("-n", name)]
        with Program([programs.kinformer, "pods", *options, "--once",
                      "--server", server.url]) as p:
            lines = p.expect_end(0).splitlines()
    state = fold(lines)
    check_equal(state, {key: version for key, version in truth.items()
                        if key.split("/")[0] in names})
    check_equal(sorted(json.loads(lines[-1])["resourceVersions"]), names)


def test_watch_list(programs):
    """WL-04: one request brings everything and goes on; with --no-watch-list it
    is two, and the objects are the same."""
    with Simulator(programs.apisim, "--pods", "50", "--churn", "200") as server:
        for more, requests in (([], 1), (["--no-watch-list"], 2)):
            with Program([programs.kinformer, "pods", "-A", "--server",
                          server.url, "--exit-after", "20", "--stats",
                          *more]) as p:
                p.until("synced")
                status, _, error = p.wait()
            check_equal(status, 0)
            stats = json.loads(error)
            check_equal(stats["client"]["requests"], requests, f"with {more}")
            check_equal(stats["lines"]["error"], 0)


def test_watch_list_detector_by_environment(programs):
    """FG-04, WL-12: the same is listed once more."""
    with Simulator(programs.apisim, "--pods", "50", "--churn", "200") as server:
        for value, requests in (("false", 1), ("true", 2)):
            with Program([programs.kinformer, "pods", "-A", "--server",
                          server.url, "--exit-after", "200", "--stats"],
                         env={"KUBE_WATCHLIST_INCONSISTENCY_DETECTOR":
                              value}) as p:
                status, _, error = p.wait()
            check_equal(status, 0)
            stats = json.loads(error)
            check_equal(stats["client"]["requests"], requests, value)
            check_equal(stats["lines"]["error"], 0)


def mappings(pid):
    with open(f"/proc/{pid}/maps") as lines:
        return sum(1 for _ in lines)


def test_mutation_detector_by_environment(programs):
    """FG-04: the values of a Go bool, and protect, where an object is about two
    mappings of the process."""
    with Simulator(programs.apisim, "--pods", "200") as server:
        counts = {}
        for value in ("", "false", "1", "true", "protect"):
            with Program([programs.kinformer, "pods", "-A", "--server",
                          server.url],
                         env={"KUBE_CACHE_MUTATION_DETECTOR": value}) as p:
                check_equal(p.until("synced")["objects"], 200)
                counts[value] = mappings(p.pid)
                p.interrupt()
    check(counts["protect"] >= counts["false"] + 300, f"mappings: {counts}")
    for value in ("", "1", "true"):
        check(abs(counts[value] - counts["false"]) < 200, f"mappings: {counts}")
