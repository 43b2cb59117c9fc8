# SPDX-License-Identifier: MIT
"""The examples of agents, which answer from a cache, do what their first
comment says."""

import subprocess

from harness import Program, Scripted, check_equal, pod, pod_list

PODS = "/api/v1/pods"


def on_node(name, version, container, ip):
    return pod(name, version, spec={"nodeName": "n1"},
               status={"podIP": ip, "containerStatuses": [
                   {"name": "app", "containerID": container}]})


def agent(programs, server, **env):
    return Program([programs.node_agent, server], env=env,
                   stdin=subprocess.PIPE)


def test_node_agent(programs):
    items = [on_node("a", 5, "containerd://aa", "10.0.0.1"),
             on_node("b", 6, "cri-o://bb", "10.0.0.2")]
    with Scripted({PODS: [pod_list(items, 10)]}) as server, \
            agent(programs, server.url, NODE_NAME="n1") as p:
        p.send_line(b"aa")  # waits for the first list
        check_equal(p.next_line(), b"aa default/a n1 10.0.0.1")
        p.send_line(b"cri-o://bb\nbb")
        check_equal(p.next_line(), b"cri-o://bb default/b n1 10.0.0.2")
        check_equal(p.next_line(), b"bb unknown")
        # A line that is too long, up to its newline; the next one is whole.
        for length in (4096, 4097, 10000):
            p.send_line(b"x" * length)
            check_equal(p.next_line(), b"too long" if length > 4096 else
                        b"x" * 4096 + b" unknown", length)
        # The last line needs no newline.
        p.send_line(b"aa\naa", newline=b"")
        p.end_input()
        for _ in range(2):
            check_equal(p.next_line(), b"aa default/a n1 10.0.0.1")
        p.expect_end(0, b"node_agent: 2 pods\n")
        check_equal({query["fieldSelector"] for _, query, _ in server.requests},
                    {"spec.nodeName=n1"})


def test_node_agent_that_fails(programs):
    with Program([programs.node_agent, "http://127.0.0.1:1"]) as p:
        p.expect_end(2, b"node_agent: NODE_NAME is not set\n")
    with agent(programs, "gopher://127.0.0.1", NODE_NAME="n1") as p:
        p.expect_end(1, b'node_agent: open: malformed server URL: server: '
                     b'"gopher://127.0.0.1" is no http:// or https:// URL of a '
                     b"host, a port and a path, and no unix:// path\n")
    with agent(programs, "http://127.0.0.1:1", NODE_NAME="n" * 70000) as p:
        p.expect_end(1, b"node_agent: open: invalid argument: "
                     b"field_selector: over 64 KiB\n")


def test_node_agent_with_a_file(programs):
    for path in (__file__, "/dev/null"):
        with open(path, "rb") as file, \
                Program([programs.node_agent, "http://127.0.0.1:1"],
                        env={"NODE_NAME": "n1"}, stdin=file) as p:
            p.expect_end(2, b"node_agent: standard input is no pipe: "
                            b"cat FILE | node_agent\n")
