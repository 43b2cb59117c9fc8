# SPDX-License-Identifier: MIT
"""The lines of -o jsonl: members, their order, and valid JSON come what may."""

import json
import signal

from harness import (Program, Scripted, check, check_equal, pod, pod_list,
                     status_body)

PODS = "/api/v1/namespaces/default/pods"


def follow(programs, server, *arguments):
    return Program([programs.kinformer, "pods", *arguments,
                    "--server", server.url])


def expect_lines(p, *expected):
    for line in expected:
        check_equal(p.next_line().decode(), line)


def test_contract(programs):
    with Scripted({PODS: [pod_list([pod("a", 5)], 10)]}) as server, \
            follow(programs, server) as p:
        expect_lines(
            p,
            '{"event":"add","initial":true,"key":"default/a","uid":"uid-a",'
            '"resourceVersion":"5"}',
            '{"event":"synced","resourceVersion":"10","objects":1}')
        # One at a time: only changes of the same object have an order.
        server.push("MODIFIED", pod("a", 11))
        expect_lines(
            p,
            '{"event":"update","initial":false,"key":"default/a","uid":"uid-a",'
            '"resourceVersion":"11","oldResourceVersion":"5"}')
        server.push("ADDED", pod("b", 12))
        expect_lines(
            p,
            '{"event":"add","initial":false,"key":"default/b","uid":"uid-b",'
            '"resourceVersion":"12"}')
        server.push("DELETED", pod("a", 13))
        expect_lines(
            p,
            '{"event":"delete","initial":false,"key":"default/a",'
            '"uid":"uid-a","resourceVersion":"13","reason":"watch"}')
        server.push("MODIFIED", pod("b", 14, uid="uid-other"))
        expect_lines(
            p,
            '{"event":"delete","initial":false,"key":"default/b",'
            '"uid":"uid-b","resourceVersion":"12","reason":"recreated"}',
            '{"event":"add","initial":false,"key":"default/b",'
            '"uid":"uid-other","resourceVersion":"14"}')
        check_equal(p.interrupt(), b"")


def test_cluster_scoped_key(programs):
    node = {"metadata": {"name": "n1", "uid": "u", "resourceVersion": "3"}}
    with Scripted({"/api/v1/nodes": [pod_list([node], 4)]}) as server, \
            Program([programs.kinformer, "nodes", "--server", server.url]) as p:
        check_equal(p.next_event()["key"], "n1")
        p.interrupt()


def test_relisted(programs):
    gone = json.loads(status_body(410, "Expired", "too old resource version"))
    lists = [pod_list([pod("a", 5), pod("b", 6), pod("c", 7)], 10),
             pod_list([pod("a", 5), pod("b", 20)], 21)]
    with Scripted({PODS: lists}) as server, follow(programs, server) as p:
        p.until("synced")
        server.push("ERROR", gone)
        server.end_watch()
        error = p.next_event()
        check_equal(list(error), ["event", "class", "status", "reason",
                                  "message", "retryInMs"])
        check_equal((error["event"], error["status"], error["reason"]),
                    ("error", 410, "Expired"))
        changes = sorted(p.next_line().decode() for _ in range(2))
        check_equal(changes, [
            '{"event":"delete","initial":false,"key":"default/c","uid":"uid-c",'
            '"resourceVersion":"7","reason":"relist"}',
            '{"event":"update","initial":false,"key":"default/b","uid":"uid-b",'
            '"resourceVersion":"20","oldResourceVersion":"6"}'])
        expect_lines(p, '{"event":"relisted","resourceVersion":"21",'
                        '"objects":2}')
        p.interrupt()


def test_resync(programs):
    with Scripted({PODS: [pod_list([pod("a", 5)], 10)]}) as server, \
            follow(programs, server, "--resync", "1", "--exit-after", "1") as p:
        p.until("synced")
        line = ('{"event":"update","initial":false,"key":"default/a",'
                '"uid":"uid-a","resourceVersion":"5",'
                '"oldResourceVersion":"5","resync":true}')
        expect_lines(p, line, line)
        # A resync is no change: only this one is counted.
        server.push("MODIFIED", pod("a", 11))
        while p.next_line().decode() == line:
            pass
        check_equal(json.loads(p.lines[-1])["resourceVersion"], "11")
        p.expect_end(0)
    with Scripted({PODS: [pod_list([pod("a", 5)], 10)]}) as server, \
            follow(programs, server, "--resync", "0", "--once") as p:
        p.until("synced")
        p.expect_end(0)


ODD = {"metadata": {"name": "a", "namespace": "default", "uid": "uid-a",
                    "resourceVersion": "5",
                    "managedFields": [{"manager": "m"}]},
       "spec": {"text": "quote \" slash \\ tab \t line \n sep \u2028 \U0001f600",
                "nodeName": "n1", "empty": {}, "list": [1, [], None, True]}}


def test_show_object(programs):
    stored = json.loads(json.dumps(ODD))
    del stored["metadata"]["managedFields"]
    for options in ({}, {"indent": "\t", "ensure_ascii": False}):
        with Scripted({PODS: [pod_list([ODD], 10, **options)]}) as server, \
                follow(programs, server, "--show-object") as p:
            line = p.next_event()
            check_equal(list(line)[-1], "object")
            check_equal(line["object"], stored)
            p.until("synced")
            server.push("MODIFIED", pod("a", 11, spec={"n": 1}))
            line = p.next_event()
            check_equal(list(line)[-2:], ["oldResourceVersion", "object"])
            server.push("DELETED", pod("a", 12, spec={"n": 2}))
            line = p.next_event()
            check_equal(list(line)[-2:], ["reason", "object"])
            check_equal(line["object"]["spec"], {"n": 2})
            p.interrupt()


def test_show_object_is_spelled_as_sent(programs):
    body = (b'{"metadata":{"resourceVersion":"9"},"items":[{"metadata":'
            b'{"name":"a","uid":"u","resourceVersion":"5"} ,\r\n'
            b'"x" : [ 1.0e+2, -0.0 , 12345678901234567890 ,\t"\\u00e9\\/ " ]}]}')
    with Scripted({PODS: [body]}) as server, \
            follow(programs, server, "--show-object", "--once") as p:
        check(p.next_line().endswith(
            b'"object":{"metadata":{"name":"a","uid":"u","resourceVersion":"5"},'
            b'"x":[1.0e+2,-0.0,12345678901234567890,"\\u00e9\\/ "]}}'),
            p.lines[-1])
        p.until("synced")
        p.expect_end(0)


def expect_no_object(programs, text):
    body = (b'{"metadata":{"resourceVersion":"9"},"items":[{"metadata":'
            b'{"name":"a","uid":"u","resourceVersion":"5"},' + text + b'}]}')
    with Scripted({PODS: [body]}) as server, \
            follow(programs, server, "--show-object", "--once") as p:
        line = p.next_event()
        check_equal((line["event"], line["key"], line["object"]),
                    ("add", "a", None), str(text))
        error = p.next_event()
        check_equal((error["event"], error["class"], error["status"],
                     error["reason"], error["retryInMs"]),
                    ("error", "decode", 0, "", 0), str(text))
        check("a:" in error["message"], error["message"])
        for printed in p.lines:
            check(all(0x20 <= b < 0x7f for b in printed), repr(printed))
        p.until("synced")
        p.expect_end(0)


def test_show_object_that_is_no_json(programs):
    """The informer skips values that it does not need, so it may store what is
    no JSON. A line is JSON all the same."""
    for text in [b'"spec":{"a":"\\q","b":\x1b[31m\xff]}',
                 b'"spec":{x\n{"event":"delete","key":"EVIL"}\n}']:
        expect_no_object(programs, text)
    for value in [b'"\\u12g4"', b'01', b'1.', b'.5', b'+1', b'1e', b'-', b'nul',
                  b'NaN', b'[1,]', b'[1 2]', b'{"a" 1}', b'{"a":1,}', b'{1:2}',
                  b'[,]', b'{"a":}', b'tru e', b'"a""b"', b'\xff', b'\xc3\xa4',
                  b'1:2']:
        expect_no_object(programs, b'"spec":{"x":[' + value + b']}')


def test_object_that_is_no_json_is_told_in_full(programs):
    """The whole key, however long, and then the sentence. --stats counts the
    line."""
    for name in ["y" * 800, "x" + "\u00e9" * 400, "nul\0x"]:
        body = pod_list([pod(name, 5, spec=["BAD"])], 10).replace(b'"BAD"', b"01")
        with Scripted({PODS: [body]}) as server, \
                follow(programs, server, "--show-object", "--once",
                       "--stats") as p:
            check_equal(p.next_event()["key"], f"default/{name}")
            check_equal(p.next_event()["message"],
                        f"default/{name}: the object is no JSON")
            p.until("synced")
            status, _, error = p.wait()
            check_equal(status, 0)
            lines = json.loads(error)["lines"]
            check_equal((lines["initial"], lines["error"]), (1, 1))


def test_what_is_kept(programs):
    for arguments, expected in [
            (["--keep-managed-fields"], ODD),
            (["--fields", "/spec/nodeName,/spec/empty"],
             {"metadata": {k: v for k, v in ODD["metadata"].items()
                           if k != "managedFields"},
              "spec": {"nodeName": "n1", "empty": {}}})]:
        with Scripted({PODS: [pod_list([ODD], 10)]}) as server, \
                follow(programs, server, "--show-object", "--once",
                       *arguments) as p:
            check_equal(p.next_event()["object"], expected, str(arguments))
            p.until("synced")
            p.expect_end(0)


def test_hostile_strings(programs):
    """Whatever the server sends, a line is one line of JSON in UTF-8, and holds
    nothing that drives a terminal."""
    body = (b'{"metadata":{"resourceVersion":"9"},"items":[{"metadata":{'
            b'"name":"a\\u001b[31m\\"\\\\\\n\\u0000\\u009b\\u202e\\u007f\xc2\x9b",'
            b'"uid":"u\xff\xed\xa0\x80","resourceVersion":"5\\u0007"}}]}')
    with Scripted({PODS: [body]}) as server, \
            follow(programs, server, "--show-object", "--once") as p:
        line = p.next_line()
        check(all(0x20 <= b < 0x7f for b in line.replace(b"\xef\xbf\xbd", b"")),
              f"control characters or unescaped bytes in {line!r}")
        decoded = json.loads(line.decode())
        check_equal(decoded["key"],
                    "a\x1b[31m\"\\\n\0\x9b\u202e\x7f\x9b")
        check_equal(decoded["uid"], "u" + 4 * "\ufffd")
        check_equal(decoded["resourceVersion"], "5\x07")
        p.until("synced")
        p.expect_end(0)


def test_several_namespaces(programs):
    a, b = "/api/v1/namespaces/a/pods", "/api/v1/namespaces/b/pods"
    gone = json.loads(status_body(410, "Expired", "too old resource version"))
    forbidden = (403, status_body(403, "Forbidden", "pods is forbidden"))
    with Scripted({
            a: [pod_list([pod("x", 5, "a")], 10),
                pod_list([pod("x", 5, "a")], 12)],
            b: [forbidden, pod_list([pod("x", 6, "b"), pod("y", 7, "b")], 11)],
    }) as server, follow(programs, server, "-n", "a", "-n", "b") as p:
        seen = [p.next_event()]
        while seen[-1]["event"] != "synced":
            seen.append(p.next_event())
        error = next(line for line in seen if line["event"] == "error")
        check_equal(list(error), ["event", "namespace", "class", "status",
                                  "reason", "message", "retryInMs"])
        check_equal((error["namespace"], error["class"], error["status"],
                     error["reason"]), ("b", "forbidden", 403, "Forbidden"))
        check_equal(sorted(line["key"] for line in seen
                           if line["event"] == "add" and line["initial"]),
                    ["a/x", "b/x", "b/y"])
        check_equal(p.lines[-1].decode(),
                    '{"event":"synced","resourceVersions":{"a":"10","b":"11"},'
                    '"objects":3}')
        server.push("ERROR", gone, path=a)
        server.end_watch(path=a)
        error = p.next_event()
        check_equal((error["event"], error["namespace"]), ("error", "a"))
        relisted = p.next_event()
        check_equal(list(relisted),
                    ["event", "namespace", "resourceVersion", "objects"])
        check_equal((relisted["namespace"], relisted["resourceVersion"]),
                    ("a", "12"))
        p.interrupt()


def test_errors(programs):
    def truncated(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"metadata":{')
        handler.close_connection = True

    # The first answer, and the error it gives; the second one succeeds.
    for answer, error_class, status, reason in [
            ((401, status_body(401, "Unauthorized", "who?")),
             "auth", 401, "Unauthorized"),
            ((403, status_body(403, "Forbidden", "no")),
             "forbidden", 403, "Forbidden"),
            ((404, status_body(404, "NotFound", "the server could not find it")),
             "absent", 404, "NotFound"),
            ((429, status_body(429, "TooManyRequests", "later")),
             "throttled", 429, "TooManyRequests"),
            ((500, status_body(500, "InternalError", "etcd \x1b is \u202e gone")),
             "server", 500, "InternalError"),
            ((503, b"<html>not JSON</html>", "text/html"), "server", 503, "ServiceUnavailable"),
            (b'{"metadata":{"resourceVersion":"9"},"items":[{]}', "decode", 0, ""),
            ((200, b"hello", "text/plain"), "protocol", None, ""),
    ]:
        with Scripted({PODS: [answer, pod_list([], 3)]}) as server, \
                follow(programs, server, "--once") as p:
            line = p.next_event()
            check_equal(list(line), ["event", "class", "status", "reason",
                                     "message", "retryInMs"], str(answer))
            check_equal((line["event"], line["class"], line["reason"]),
                        ("error", error_class, reason), str(line))
            if status is not None:
                check_equal(line["status"], status, str(line))
            check(line["message"] and "pods" in line["message"],
                  f"the message does not name the path: {line}")
            check(0 < line["retryInMs"] <= 60000, str(line))
            check(all(0x20 <= b for b in p.lines[-1]), str(p.lines[-1]))
            check_equal(p.next_line(), b'{"event":"synced","resourceVersion":"3",'
                                       b'"objects":0}')
            p.expect_end(0)
    with Scripted({PODS: [truncated, pod_list([], 3)]}) as server, \
            follow(programs, server, "--once") as p:
        check(p.next_event()["class"] in ("connect", "decode", "protocol"),
              p.lines[-1])
        p.until("synced")
        p.expect_end(0)


def test_no_server(programs):
    with Program([programs.kinformer, "pods", "--server",
                  "http://127.0.0.1:1"]) as p:
        line = p.next_event()
        check_equal((line["event"], line["class"], line["status"]),
                    ("error", "connect", 0))
        check_equal(p.next_event()["class"], "connect")
        p.interrupt(signal.SIGTERM)
    with Program([programs.kinformer, "pods", "--server",
                  "http://no-such-host.invalid"]) as p:
        check_equal(p.next_event()["class"], "dns")
        p.interrupt()


def test_index(programs):
    items = [pod("b", 5, spec={"nodeName": "n1"}),
             pod("c", 6, spec={"nodeName": "n2"}),
             pod("a\u0007", 7, spec={"nodeName": "n1"})]
    for value, keys in [("n1", '"default/a\\u0007","default/b"'), ("n3", "")]:
        with Scripted({PODS: [pod_list(items, 10)]}) as server, \
                follow(programs, server, "--once", "--index", "/spec/nodeName",
                       "--by", value) as p:
            p.until("synced")
            expect_lines(p, '{"event":"index","path":"/spec/nodeName",'
                            f'"value":"{value}","keys":[{keys}]}}')
            check_equal(p.expect_end(0), b"")


def test_stats(programs):
    with Scripted({PODS: [pod_list([pod("a", 5)], 10)]}) as server, \
            follow(programs, server, "--stats", "--exit-after", "1") as p:
        p.until("synced")
        server.push("MODIFIED", pod("a", 11))
        status, _, error = p.wait()
    check_equal(status, 0)
    check_equal(error.count(b"\n"), 1, "lines on standard error")
    stats = json.loads(error)
    check_equal(stats["objects"], 1)
    check(stats["bytes"] > 0 and stats["peakRssBytes"] > stats["bytes"],
          str(stats))
    check_equal((stats["lines"]["initial"], stats["lines"]["update"]), (1, 1))
    (scope,) = stats["scopes"]
    check_equal((scope["namespace"], scope["state"], scope["resourceVersion"],
                 scope["lists"], scope["watches"], scope["events"]),
                ("default", "live", "11", 1, 1, 1))
    check(stats["client"]["requests"] >= 2, str(stats))
