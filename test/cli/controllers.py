# SPDX-License-Identifier: MIT
"""Two copies of the example controller: one works, also if the other one is
killed, or paused for longer than its lease."""

import contextlib
import json
import re
import signal
import threading
import urllib.parse
import urllib.request

from examples import write
from harness import (Program, Scripted, Simulator, check, check_equal,
                     status_body, until)

WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
LEASE = ("/apis/coordination.k8s.io/v1/namespaces/default/leases/"
         "widget-controller")
FINALIZER = "example.com/controller"
LEASE_S = 3
WAIT_S = 60


class History:
    """Each change of the Widgets, in the order of the server, by a watch."""

    def __init__(self, url):
        self._url = url + WIDGETS
        self._changed = threading.Condition()
        self.events = []  # (type, object)
        self.newest = {}  # name -> object

    def __enter__(self):
        query = urllib.parse.urlencode({"watch": "1", "resourceVersion": "0",
                                        "timeoutSeconds": "600"})
        self._answer = urllib.request.urlopen(f"{self._url}?{query}")
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_):
        self._answer.fp.raw._sock.shutdown(2)
        self._reader.join()
        self._answer.close()

    def _read(self):
        with contextlib.suppress(OSError, ValueError):
            for line in self._answer:
                event = json.loads(line)
                kind, obj = event["type"], event["object"]
                name = obj["metadata"]["name"]
                with self._changed:
                    self.events.append((kind, obj))
                    if kind == "DELETED":
                        self.newest.pop(name, None)
                    else:
                        self.newest[name] = obj
                    self._changed.notify_all()

    def wait(self, what, predicate):
        """Returns when predicate() holds, tried after each event."""
        with self._changed:
            check(self._changed.wait_for(predicate, WAIT_S),
                  f"never: {what}; there is {self.newest}")

    def await_term(self, term):
        self.wait(f"a status of term {term}", lambda: any(
            obj.get("status", {}).get("term") == term
            for obj in self.newest.values()))

    def is_settled(self, widgets):
        """Whether these (name -> parent) are there, each with its status."""
        if self.newest.keys() != widgets.keys():
            return False
        return all(
            obj.get("status", {}).get("observedGeneration") ==
            obj["metadata"]["generation"] and
            obj["status"]["children"] ==
            sum(parent == name for parent in widgets.values()) and
            obj["metadata"].get("finalizers") == [FINALIZER]
            for name, obj in self.newest.items())

    def terms(self):
        """All terms that were written, after the rules were checked:

        - a term has one leader;
        - for each Widget, terms never go back;
        - each Widget is deleted by one write that removes the finalizer, and
          gets the finalizer once.
        """
        leaders, last, finalizers, seen = {}, {}, {}, []
        versions = [int(o["metadata"]["resourceVersion"])
                    for _, o in self.events]
        check_equal(versions, sorted(versions), "the order of the watch")
        for kind, obj in self.events:
            uid = obj["metadata"]["uid"]
            has = obj["metadata"].get("finalizers", []) != []
            if has != finalizers.get(uid, (False, 0))[0]:
                finalizers[uid] = (has, finalizers.get(uid, (0, 0))[1] + 1)
            if kind == "DELETED":
                check("deletionTimestamp" in obj["metadata"] or
                      uid not in finalizers, "deleted with its finalizer")
            status = obj.get("status")
            if status:
                leader = leaders.setdefault(status["term"], status["leader"])
                check_equal(status["leader"], leader, "two leaders of a term")
                check(status["term"] >= last.get(uid, -1),
                      f"{obj['metadata']['name']}: term {status['term']} after "
                      f"{last.get(uid)}")
                last[uid] = status["term"]
                seen.append(status["term"])
        check(all(count <= 2 for _, count in finalizers.values()),
              "a finalizer was added or removed twice")
        return seen


class Churn:
    """Creates, changes and deletes Widgets until it is stopped."""

    def __init__(self, url):
        self._url = url + WIDGETS
        self.widgets = {}  # name -> parent, as they should be
        self._stop = threading.Event()
        self._round = 0
        self._error = None

    def __enter__(self):
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        if self._error:
            raise self._error

    def _run(self):
        try:
            # A pause between rounds is the load, no wait for anything.
            while not self._stop.wait(0.02):
                self._step()
        except Exception as error:  # pylint: disable=broad-exception-caught
            self._error = error

    def _step(self):
        n = self._round
        self._round += 1
        name, parent = f"w{n % 40}", f"w{n * 7 % 5}"
        if name not in self.widgets:
            # One that is still being deleted is left alone this time.
            with contextlib.suppress(urllib.error.HTTPError):
                write(self._url, "POST",
                      {"apiVersion": "example.com/v1", "kind": "Widget",
                       "metadata": {"name": name}, "spec": {"parent": parent}})
                self.widgets[name] = parent
        elif n % 3 == 0:
            write(f"{self._url}/{name}", "DELETE")
            del self.widgets[name]
        else:
            patch(f"{self._url}/{name}", {"spec": {"parent": parent, "n": n}})
            self.widgets[name] = parent


def patch(url, value):
    request = urllib.request.Request(
        url, json.dumps(value).encode(),
        {"Content-Type": "application/merge-patch+json"}, method="PATCH")
    with urllib.request.urlopen(request) as response:
        return json.load(response)


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
def started(programs, churned=True):
    """A server, the History and the Churn of its Widgets, and a function that
    starts a copy."""
    with Simulator(programs.apisim, "--resource",
                   "widgets.v1.example.com:Widget") as server, \
            History(server.url) as history, Churn(server.url) as churn, \
            contextlib.ExitStack() as copies:
        yield server, history, churn, lambda: copies.enter_context(Program(
            [programs.controller, server.url, "default", str(LEASE_S)]))


def expect_all_done(history, churn):
    """After the churn: nothing was lost, and nothing done by two leaders."""
    churn.__exit__()
    history.wait("each Widget as it should be",
                 lambda: history.is_settled(churn.widgets))
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
        p.expect_end(1, b"controller: invalid argument\n")
