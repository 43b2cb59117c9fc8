# SPDX-License-Identifier: MIT
"""How the program ends, and that a slow reader or none does no harm."""

import json
import os
import signal
import subprocess
import tempfile

from harness import (Program, Scripted, check, check_equal, pod, pod_list,
                     status_body, unix_sockets, until)

PODS = "/api/v1/namespaces/default/pods"

# More than a pipe and the 1 MiB that the program holds back.
MANY = 30000

# Make the descriptors of a reader and of what the program writes to.
OUTPUTS = (os.pipe, unix_sockets)


def argv(programs, server, *arguments):
    return [programs.kinformer, "pods", "--server", server.url, *arguments]


class Silent(Scripted):
    """Accepts a request and never answers it."""

    def __init__(self):
        super().__init__({PODS: [lambda handler: self.stopped()]})


def many_pods():
    return pod_list([pod(f"pod-{i:06}", i + 1) for i in range(MANY)], MANY + 1)


def test_once(programs):
    with Scripted({PODS: [pod_list([pod("a", 5)], 10)]}) as server, \
            Program(argv(programs, server, "--once")) as p:
        lines = p.expect_end(0).splitlines()
        check_equal([json.loads(line)["event"] for line in lines],
                    ["add", "synced"])


REFUSALS = (
    (400, "BadRequest", "the field selector is wrong"),
    (401, "Unauthorized", "Unauthorized"),
    (403, "Forbidden", "pods is forbidden"),
    (404, "NotFound", "the server could not find the requested resource"),
)


def test_once_refused(programs):
    """Refused twice in a row: exit 1, and one line that says why. Refused once
    by a server that has just started: in sync. Without --once the program goes
    on."""
    good = pod_list([pod("a", 5)], 10)
    for code, reason, message in REFUSALS:
        refusal = (code, status_body(code, reason, message))
        with Scripted({PODS: [refusal, refusal, good]}) as server, \
                Program(argv(programs, server, "--once")) as p:
            status, output, error = p.wait()
            check_equal(status, 1)
            check_equal([json.loads(line)["status"]
                         for line in output.splitlines()], [code, code])
            check_equal(error.count(b"\n"), 1, str(error))
            check(error.startswith(b"kinformer: ") and
                  message.encode() in error and
                  not error.rstrip(b"\n").endswith(b" "), str(error))
        with Scripted({PODS: [refusal, good]}) as server, \
                Program(argv(programs, server, "--once")) as p:
            lines = p.expect_end(0).splitlines()
            check_equal([json.loads(line)["event"] for line in lines],
                        ["error", "add", "synced"])
        with Scripted({PODS: [refusal, refusal, good]}) as server, \
                Program(argv(programs, server)) as p:
            p.until("synced")
            p.interrupt()
    # What could drive a terminal does not reach one.
    refusal = (403, status_body(403, "Forbidden", "no \u009b31m\u202e é"))
    with Scripted({PODS: [refusal]}) as server, \
            Program(argv(programs, server, "--once")) as p:
        _, _, error = p.wait()
        check(error.endswith("no \\u009b31m\\u202e é\n".encode()), str(error))
    # Out of order, then refused once: not twice in a row.
    broken = (500, status_body(500, "InternalError", "not yet"))
    with Scripted({PODS: [broken, refusal, good]}) as server, \
            Program(argv(programs, server, "--once")) as p:
        lines = p.expect_end(0).splitlines()
        check_equal([json.loads(line)["event"] for line in lines],
                    ["error", "error", "add", "synced"])


def test_once_refused_in_one_namespace(programs):
    """Errors of another namespace are no part of the row, nor are its
    refusals."""
    a, b = "/api/v1/namespaces/a/pods", "/api/v1/namespaces/b/pods"
    refusal = (403, status_body(403, "Forbidden", "not in there"))
    broken = (500, status_body(500, "InternalError", "not yet"))
    arguments = ("-n", "a", "-n", "b", "--once")
    with Scripted({a: [refusal], b: [broken]}) as server, \
            Program(argv(programs, server, *arguments)) as p:
        status, output, error = p.wait()
        check_equal(status, 1)
        check(b"not in there" in error, str(error))
        codes = [json.loads(line)["status"] for line in output.splitlines()]
        check_equal(codes.count(403), 2)
    good = pod_list([], 10)
    with Scripted({a: [broken, refusal, good],
                   b: [broken, refusal, good]}) as server, \
            Program(argv(programs, server, *arguments)) as p:
        p.expect_end(0)


def test_exit_after(programs):
    with Scripted({PODS: [pod_list([pod("a", 5)], 10)]}) as server, \
            Program(argv(programs, server, "--exit-after", "3")) as p:
        p.until("synced")
        server.push("ADDED", pod("b", 11))
        server.push("MODIFIED", pod("b", 12))
        server.push("DELETED", pod("b", 13))
        lines = p.expect_end(0).splitlines()
        check_equal([json.loads(line)["event"] for line in lines],
                    ["add", "update", "delete"])


def test_timeout(programs):
    with Silent() as server, \
            Program(argv(programs, server, "--once", "--timeout", "0.2")) as p:
        check_equal(p.expect_end(3, b"kinformer: timed out\n"), b"")
    with Scripted({PODS: [pod_list([], 10)]}) as server, \
            Program(argv(programs, server, "--timeout", "10")) as p:
        p.until("synced")
        p.expect_end(3, b"kinformer: timed out\n")


def test_signals(programs):
    for number in (signal.SIGINT, signal.SIGTERM):
        with Silent() as server, Program(argv(programs, server)) as p:
            until(lambda: server.requests, "a request")
            check_equal(p.interrupt(number), b"")
        with Scripted({PODS: [pod_list([pod("a", 5)], 10)]}) as server, \
                Program(argv(programs, server)) as p:
            p.until("synced")
            check_equal(p.interrupt(number), b"")


def test_signal_while_retrying(programs):
    with Program([programs.kinformer, "pods", "--server",
                  "http://127.0.0.1:1"]) as p:
        p.until("error")
        p.interrupt()


def test_many_namespaces_without_a_server(programs):
    """Each tells of its failure. (That took a second of CPU time for 64 errors
    when each error read the state of all namespaces.)"""
    many = 1024
    names = [x for i in range(many) for x in ("-n", f"n{i}")]
    with Program([programs.kinformer, "pods", *names, "--server",
                  "http://127.0.0.1:1"]) as p:
        told = set()
        while len(told) < many:
            told.add(p.next_event()["namespace"])
        p.interrupt()


def test_reader_goes(programs):
    """As in `kinformer pods | head -1`: the end is quiet, with 0."""
    for make in OUTPUTS:
        with Scripted({PODS: [many_pods()]}) as server:
            reader, writer = make()
            with Program(argv(programs, server), stdout=writer) as p:
                os.close(writer)
                check(os.read(reader, 10).startswith(b'{"event"'), "no output")
                os.close(reader)
                p.expect_end(0)


def test_reader_goes_while_idle(programs):
    with Scripted({PODS: [pod_list([pod("a", 5)], 10)]}) as server:
        reader, writer = os.pipe()
        with Program(argv(programs, server), stdout=writer) as p:
            os.close(writer)
            output = b""
            while output.count(b"\n") < 2:
                output += os.read(reader, 65536)
            os.close(reader)
            p.expect_end(0)


def test_slow_reader_gets_everything(programs):
    for make in OUTPUTS:
        with Scripted({PODS: [many_pods()]}) as server:
            reader, writer = make()
            with Program(argv(programs, server, "--exit-after", "1", "--stats"),
                         stdout=writer) as p:
                os.close(writer)
                # The watch is opened although nothing is read: the program goes on.
                until(lambda: any("watch" in q for _, q, _ in server.requests),
                      "a watch")
                server.push("MODIFIED", pod("pod-000007", MANY + 2))
                server.push("DELETED", pod("pod-000008", MANY + 3))
                with os.fdopen(reader, "rb") as stream:
                    lines = [json.loads(line) for line in stream]
                status, _, error = p.wait()
        check_equal(status, 0)
        check(json.loads(error)["lines"]["initial"] >= MANY - 1, str(error))
        state = {}
        for line in lines:
            if line["event"] in ("add", "update"):
                state[line["key"]] = line["resourceVersion"]
            elif line["event"] == "delete":
                del state[line["key"]]
        expected = {f"default/pod-{i:06}": str(i + 1) for i in range(MANY)}
        # It ends after one change past the first sync: either may be the first, and
        # what came before the initial add was delivered is part of that.
        check_equal(len(state.keys() ^ expected.keys()) <= 1, True, "keys")
        differing = [key for key in state if state[key] != expected[key]]
        check(differing in ([], ["default/pod-000007"]), str(differing))


def stalled(programs, server, *arguments):
    """A program whose output nobody reads, once it has much to say."""
    reader, writer = os.pipe()
    p = Program(argv(programs, server, *arguments), stdout=writer)
    os.close(writer)
    return p, reader


def test_signal_while_the_reader_stalls(programs):
    with Scripted({PODS: [many_pods()]}) as server:
        p, reader = stalled(programs, server)
        with p:
            until(lambda: any("watch" in q for _, q, _ in server.requests),
                  "a watch")
            p.send(signal.SIGINT)
            p.expect_end(0)
        os.close(reader)


def test_second_signal(programs):
    with Scripted({PODS: [many_pods()]}) as server:
        p, reader = stalled(programs, server)
        with p:
            until(lambda: any("watch" in q for _, q, _ in server.requests),
                  "a watch")
            p.send(signal.SIGTERM)
            if p.is_running():
                p.send(signal.SIGINT)
            p.expect_end(0)
        os.close(reader)


def test_timeout_while_the_reader_stalls(programs):
    with Scripted({PODS: [many_pods()]}) as server:
        p, reader = stalled(programs, server, "--once", "--timeout", "3")
        with p:
            status, _, _ = p.wait()
            check_equal(status, 3)
        os.close(reader)


def test_output_to_a_file(programs):
    with Scripted({PODS: [many_pods()]}) as server, \
            tempfile.TemporaryFile() as file:
        with Program(argv(programs, server, "--once"), stdout=file) as p:
            p.expect_end(0)
        file.seek(0)
        lines = file.read().splitlines()
    check_equal(len(lines), MANY + 1)
    check_equal(json.loads(lines[-1])["objects"], MANY)


def test_output_that_cannot_be_written(programs):
    with Scripted({PODS: [many_pods()]}) as server:
        with open("/dev/full", "wb") as full, \
                Program(argv(programs, server), stdout=full) as p:
            status, _, error = p.wait()
            check_equal(status, 1)
            check(error.startswith(b"kinformer: standard output: no space"),
                  str(error))
        # Few lines are written when the end has begun.
        server.lists[PODS] = [pod_list([pod("a", 5)], 10)]
        with open("/dev/full", "wb") as full, \
                Program(argv(programs, server, "--once"), stdout=full) as p:
            status, _, error = p.wait()
            check_equal(status, 1)
            check(error.startswith(b"kinformer: standard output: no space"),
                  str(error))
        closed = subprocess.run(
            ["/bin/sh", "-c", 'exec "$@" >&-', "sh",
             *argv(programs, server, "--once")],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        check_equal((closed.returncode, closed.stderr),
                    (1, b"kinformer: standard output is closed\n"))


def test_pipe_is_left_as_it_was(programs):
    """O_NONBLOCK belongs to the pipe, not to the program: the next one that
    writes to it must not find it set."""
    with Scripted({PODS: [pod_list([pod("a", 5)], 10)]}) as server:
        reader, writer = os.pipe()
        with Program(argv(programs, server, "--once"), stdout=writer) as p:
            p.expect_end(0)
        check(os.get_blocking(writer), "O_NONBLOCK is still set")
        os.close(reader)
        os.close(writer)



def test_socket_stays_as_it_is(programs):
    """Also while the program runs, and if it is killed."""
    with Scripted({PODS: [pod_list([pod("a", 5)], 10)]}) as server:
        reader, writer = unix_sockets()
        with Program(argv(programs, server), stdout=writer) as p:
            check(os.read(reader, 10).startswith(b'{"event"'), "no output")
            check(os.get_blocking(writer), "O_NONBLOCK is set")
            p.interrupt()
        os.close(reader)
        os.close(writer)
