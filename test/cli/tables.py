# SPDX-License-Identifier: MIT
"""-o table: rows for people, and nothing that drives their terminal."""

import os
import pty
import re
import socket
import threading

from harness import (WAIT_S, Program, Scripted, check, check_equal, pod,
                     pod_list, status_body)

PODS = "/api/v1/namespaces/default/pods"
UID = "0123456789abcdef"
HOSTILE = "a\x1b[2J\x1b]0;title\x07\r\n\x9b31m\u202e\x7f\\"


def argv(programs, server, *arguments):
    return [programs.kinformer, "pods", "--server", server.url, *arguments]


def test_rows(programs):
    with Scripted({PODS: [pod_list([pod("a", 5, uid=UID)], 10)]}) as server, \
            Program(argv(programs, server, "-o", "table", "--exit-after",
                         "3")) as p:
        rows = [p.next_line().decode() for _ in range(3)]
        for kind, obj in [
                ("MODIFIED", pod("a", 11, uid=UID)),
                ("ADDED", pod("a-much-longer-name-than-the-others", 12)),
                ("DELETED", pod("a", 13, uid=UID))]:
            server.push(kind, obj)
            rows.append(p.next_line().decode())
        check_equal(p.expect_end(0), b"")
    check_equal([row.split() for row in rows], [
        ["EVENT", "NAMESPACE", "NAME", "VERSION", "UID"],
        ["initial", "default", "a", "5", "01234567"],
        "synced 1 object at version 10".split(),
        ["update", "default", "a", "11", "01234567"],
        ["add", "default", "a-much-longer-name-than-the-others", "12",
         "uid-a-mu"],
        ["delete", "default", "a", "13", "01234567"]])
    # Aligned: before the long name with the header, after it with that row.
    at = rows[0].index("NAME ", rows[0].index("NAMESPACE") + 9)
    check_equal([row.index(" a") + 1 for row in (rows[1], rows[3])], [at, at])
    check_equal(rows[1].index("01234567"), rows[0].index("UID"))
    check_equal(rows[5].index("01234567"), rows[4].index("uid-a-mu"))


def check_harmless(output, allowed=b"\n"):
    bad = [b for b in output if b < 0x20 and b not in allowed or b == 0x7f]
    check(not bad, f"control characters {bad} in {output!r}")
    text = output.decode()
    bad = [c for c in text if "\x80" <= c <= "\x9f" or c in "\u202e\u2028"]
    check(not bad, f"characters {bad} in {output!r}")


def test_hostile_strings(programs):
    items = [pod(HOSTILE, 5, namespace="default", uid=HOSTILE)]
    failure = (500, status_body(500, "\x1b[5mReason", "message \x1b[31m \x9b"))
    with Scripted({PODS: [failure, pod_list(items, 10)]}) as server, \
            Program(argv(programs, server, "-o", "table", "--once")) as p:
        output = p.expect_end(0)
    check_harmless(output)
    check(rb"a\x1b[2J\x1b]0;title\x07\x0d\x0a\u009b31m\u202e\x7f" + b"\\\\"
          in output, output)
    check(b"[5mReason" in output and b"message " in output, output)


def test_error_without_an_attempt(programs):
    """Nothing is requested again for an object without a name."""
    nameless = {"metadata": {"uid": "u", "resourceVersion": "6"}}
    refused = (500, status_body(500, "InternalError", "not yet"))
    with Scripted({PODS: [refused, pod_list([pod("a", 5), nameless], 10)]}) \
            as server, \
            Program(argv(programs, server, "-o", "table", "--once")) as p:
        rows = p.expect_end(0).decode().splitlines()
    errors = [row for row in rows if row.startswith("error ")]
    check_equal(len(errors), 2, str(rows))
    check(re.search(r"; next attempt in [0-9]+\.[0-9] s$", errors[0]), errors[0])
    check("decode: " in errors[1] and "attempt" not in errors[1], errors[1])


def test_index(programs):
    items = [pod("b", 5, spec={"nodeName": "n1"}),
             pod("a", 7, spec={"nodeName": "n1"})]
    with Scripted({PODS: [pod_list(items, 10)]}) as server, \
            Program(argv(programs, server, "-o", "table", "--once", "--index",
                         "/spec/nodeName", "--by", "n1")) as p:
        rows = p.expect_end(0).decode().splitlines()
    check_equal([row.split(maxsplit=1) for row in rows[-3:]],
                [["index", "2 objects with /spec/nodeName = n1"],
                 ["index", "default/a"], ["index", "default/b"]])


def on_terminal(programs, server, *arguments, env=None):
    """What it writes to a terminal until it ends."""
    mine, its = pty.openpty()
    environment = {"TERM": "xterm", **(env or {})}
    with Program(argv(programs, server, *arguments), env=environment,
                 stdout=its) as p:
        os.close(its)
        output = b""
        while True:
            try:
                part = os.read(mine, 65536)
            except OSError:  # EIO: nobody has the other side any more
                break
            if not part:
                break
            output += part
        p.expect_end(0)
    os.close(mine)
    return output


def test_terminal(programs):
    """On a terminal the table is the default; colours only mark the event."""
    items = [pod(HOSTILE, 5)]
    for env, colored in [({}, True), ({"NO_COLOR": "1"}, False),
                         ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)]:
        with Scripted({PODS: [pod_list(items, 10)]}) as server:
            server.push("ADDED", pod("b", 11))
            server.push("MODIFIED", pod("b", 12))
            server.push("DELETED", pod("b", 13))
            output = on_terminal(programs, server, "--exit-after", "3", env=env)
        check(b"EVENT" in output, output)
        plain = output
        if colored:
            for color, event in [(32, b"add"), (33, b"update"), (31, b"delete")]:
                check(b"\x1b[%dm%s\x1b[0m " % (color, event) in output, output)
            plain = re.sub(rb"\x1b\[(3[123]|0)m", b"", output)
        check_harmless(plain, allowed=b"\r\n")


def test_progress(programs):
    """A first list that takes long shows how far it is, in one line that is
    gone when the rows come."""
    body = pod_list([pod("a", 5)], 10)
    shown = threading.Event()

    def slow(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[:50])
        shown.wait(WAIT_S)
        handler.wfile.write(body[50:])

    mine, its = pty.openpty()
    with Scripted({PODS: [slow]}) as server, \
            Program(argv(programs, server, "--once"), env={"TERM": "xterm"},
                    stdout=its) as p:
        os.close(its)
        output = b""
        while b"listing: " not in output:
            output += os.read(mine, 65536)
        shown.set()
        while True:
            try:
                output += os.read(mine, 65536)
            except OSError:
                break
        p.expect_end(0)
    os.close(mine)
    check(re.match(rb"(\r\x1b\[Klisting: 0\.0 MB in [0-9.]+ s)+\r\x1b\[KEVENT",
                   output), output)


def test_no_progress_without_a_connection(programs):
    """A server that cannot be reached is told as that, twice, and nothing is
    called a list. A server that says nothing is waited for."""
    mine, its = pty.openpty()
    with Program([programs.kinformer, "pods", "--server", "http://127.0.0.1:1"],
                 env={"TERM": "xterm"}, stdout=its) as p:
        os.close(its)
        output = b""
        while output.count(b"connection refused") < 3:
            output += os.read(mine, 65536)
        p.interrupt()
    os.close(mine)
    check(b"listing" not in output and b"waiting for" not in output,
          str(output))
    mine, its = pty.openpty()
    with socket.create_server(("127.0.0.1", 0)) as silent, \
            Program([programs.kinformer, "pods", "--server",
                     f"http://127.0.0.1:{silent.getsockname()[1]}"],
                    env={"TERM": "xterm"}, stdout=its) as p:
        os.close(its)
        output = b""
        while b"waiting for the server: " not in output:
            output += os.read(mine, 65536)
        p.interrupt()
    os.close(mine)
    check(b"listing" not in output, str(output))


def test_object_needs_lines(programs):
    with Scripted({PODS: [pod_list([pod("a", 5)], 10)]}) as server:
        output = on_terminal(programs, server, "--show-object", "--once")
    check(output.startswith(b'{"event":"add"'), output)
