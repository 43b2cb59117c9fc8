# SPDX-License-Identifier: MIT
"""The examples do what their first comment says."""

import re
import signal
import socket

from harness import Program, Scripted, check, check_equal, pod, pod_list, until

PODS = "/api/v1/pods"


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
