# SPDX-License-Identifier: MIT
"""Two copies of the example controller: one works, also if the other one is
killed, or paused for longer than its lease."""

import contextlib
import http.client
import http.server
import json
import pathlib
import re
import signal
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

from harness import (Program, QuietServer, Scripted, Simulator, check,
                     check_equal, status_body, until)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support.widget_story import KIND, Churn, History  # noqa: E402

WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
LEASE = ("/apis/coordination.k8s.io/v1/namespaces/default/leases/"
         "widget-controller")
# With it a leader may stand still for two seconds and stay the leader.
LEASE_S = 4
TYPES = {"PATCH": "application/merge-patch+json"}


def caller(url):
    """What a Churn calls."""
    def call(method, name, value):
        body = json.dumps(value).encode() if value else None
        request = urllib.request.Request(
            f"{url}/{name}".rstrip("/"), body,
            {"Content-Type": TYPES.get(method, "application/json")},
            method=method)
        try:
            urllib.request.urlopen(request).close()
        except urllib.error.HTTPError as error:
            check_equal(error.code, 409, f"{method} {name}")
            return False
        return True

    return call


@contextlib.contextmanager
def watched(url):
    """The History of what is at a URL."""
    query = urllib.parse.urlencode({"watch": "1", "resourceVersion": "0",
                                    "timeoutSeconds": "600"})
    answer = urllib.request.urlopen(f"{url}?{query}")
    history = History(answer).start()
    try:
        yield history
    finally:
        answer.fp.raw._sock.shutdown(2)
        history.join()
        answer.close()


class Holding:
    """A proxy that holds back the next write to a status while `hold` is set,
    and notes how the server answers it after the release."""

    def __init__(self, url):
        self.hold = threading.Event()
        self.held = threading.Event()
        self.released = threading.Event()
        self.answered = threading.Event()
        self.status = None
        target = urllib.parse.urlsplit(url).netloc
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def forward(self):
                body = self.rfile.read(int(self.headers["Content-Length"] or 0))
                is_held = (self.path.endswith("/status") and
                           proxy.hold.is_set() and not proxy.held.is_set())
                if is_held:
                    proxy.held.set()
                    proxy.released.wait()
                server = http.client.HTTPConnection(target)
                server.request(self.command, self.path, body,
                               dict(self.headers))
                with server.getresponse() as answer:
                    if is_held:
                        proxy.status = answer.status
                        proxy.answered.set()
                    self.send_response(answer.status)
                    self.send_header("Content-Type",
                                     answer.headers["Content-Type"])
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    # At the end the server cuts its watches.
                    with contextlib.suppress(http.client.IncompleteRead):
                        while part := answer.read1(65536):
                            self.wfile.write(b"%x\r\n%s\r\n"
                                             % (len(part), part))
                    self.wfile.write(b"0\r\n\r\n")

            do_GET = do_POST = do_PUT = do_PATCH = forward

        self._server = QuietServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever,
                         kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


def holder(server):
    with urllib.request.urlopen(server.url + LEASE) as answer:
        return json.load(answer)["spec"]["holderIdentity"]


def await_leading(p):
    """Returns (identity, term) of the next term of this copy."""
    while True:
        line = p.next_line()
        found = re.fullmatch(rb"leading as (\S+), term (\d+)", line)
        if found:
            return found.group(1).decode(), int(found.group(2))
        check(line.startswith(b"stopped: "), f"{line!r}")


@contextlib.contextmanager
def started(programs):
    """A server, the History and the Churn of its Widgets, and a function that
    starts a copy."""
    with Simulator(programs.apisim, "--resource",
                   "widgets.v1.example.com:Widget") as server, \
            watched(server.url + WIDGETS) as history, \
            Churn(caller(server.url + WIDGETS)) as churn, \
            contextlib.ExitStack() as copies:
        yield server, history, churn, lambda: copies.enter_context(Program(
            [programs.controller, server.url, "default", str(LEASE_S)]))


def expect_all_done(history, churn):
    """After the churn: nothing was lost, and nothing done by two leaders."""
    widgets = churn.stop()
    history.wait("each Widget as it should be",
                 lambda: history.is_settled(widgets))
    return history.terms()


def test_controller_killed(programs):
    with started(programs) as (server, history, churn, start):
        first = start()
        identity, term = await_leading(first)
        history.await_term(term)
        second = start()
        first.send(signal.SIGKILL)
        other, later = await_leading(second)
        check(other != identity and later > term, f"{later} after {term}")
        seen = expect_all_done(history, churn)
        check({term, later} <= set(seen), f"terms {sorted(set(seen))}")
        second.send(signal.SIGTERM)
        second.expect_end(0, None)
        check_equal(holder(server), "")


def test_controller_paused(programs):
    with started(programs) as (server, history, churn, start):
        copies = [start()]
        _, term = await_leading(copies[0])
        history.await_term(term)
        copies.append(start())
        for leader in (0, 1):
            copies[leader].send(signal.SIGSTOP)
            _, later = await_leading(copies[1 - leader])
            check(later > term, f"{later} after {term}")
            term = later
            history.await_term(term)
            # What it does first is to notice that it does not lead any more.
            copies[leader].send(signal.SIGCONT)
            check(copies[leader].next_line().startswith(b"stopped: "),
                  "it went on")
        seen = expect_all_done(history, churn)
        check(len(set(seen)) >= 3, f"terms {sorted(set(seen))}")
        for copy in copies:
            copy.send(signal.SIGINT)
            copy.expect_end(0, None)


def test_controller_writes_late(programs):
    """A write that left the paused leader, and reaches the server when another
    leader has written the same Widget, is refused."""
    with Simulator(programs.apisim, "--resource",
                   "widgets.v1.example.com:Widget") as server, \
            Holding(server.url) as proxy, \
            watched(server.url + WIDGETS) as history:
        call = caller(server.url + WIDGETS)
        command = [programs.controller, server.url, "default", str(LEASE_S)]
        call("POST", "", {**KIND, "metadata": {"name": "a"}})
        with contextlib.ExitStack() as copies:
            first = copies.enter_context(
                Program([command[0], proxy.url, *command[2:]]))
            _, term = await_leading(first)
            second = copies.enter_context(Program(command))
            history.wait("a status", lambda: history.is_settled({"a": None}))
            proxy.hold.set()
            call("PATCH", "a", {"spec": {"n": 1}})
            check(proxy.held.wait(60), "nothing was written")
            first.send(signal.SIGSTOP)
            _, later = await_leading(second)
            history.await_term(later)
            proxy.released.set()
            check(proxy.answered.wait(60), "no answer")
            check_equal(proxy.status, 409)
            first.send(signal.SIGCONT)
            check(first.next_line().startswith(b"stopped: "), "it went on")
            history.wait("the end", lambda: history.is_settled({"a": None}))
            check_equal(sorted(set(history.terms())), [term, later])
            for copy in (first, second):
                copy.send(signal.SIGINT)
                copy.expect_end(0, None)


def test_controller_released(programs):
    """A copy that ends gives the lease away; the other one need not wait."""
    with started(programs) as (server, history, churn, start):
        first = start()
        await_leading(first)
        second = start()
        first.send(signal.SIGINT)
        first.expect_end(0, None)
        await_leading(second)
        expect_all_done(history, churn)
        second.send(signal.SIGINT)
        second.expect_end(0, None)


def test_controller_that_fails(programs):
    """It tells that it may not list, and ends when it is told to."""
    refusal = 403, status_body(403, "Forbidden", "not you")
    with Scripted({WIDGETS: [refusal]}) as server, \
            Program([programs.controller, server.url, "default"]) as p:
        until(lambda: len(server.requests) > 1, "it tries again")
        p.send(signal.SIGTERM)
        p.expect_end(0, None)
        check(b"controller: " in p.said() and b"not you" in p.said(),
              f"{p.said()!r}")
    with Program([programs.controller]) as p:
        p.expect_end(2, None)
