# SPDX-License-Identifier: MIT
"""The story of examples/controller.c, for test/cli and test/e2e: a churn of
Widgets, and what has to hold of the writes of several leaders."""

import contextlib
import json
import threading

FINALIZER = "example.com/controller"
KIND = {"apiVersion": "example.com/v1", "kind": "Widget"}
WAIT_S = 60


class History:
    """Each change of the Widgets, in the order of the server.

    lines: those of a watch; they are read in a thread until they end."""

    def __init__(self, lines):
        self._lines = lines
        self._changed = threading.Condition()
        self.events = []  # (type, object)
        self.newest = {}  # name -> object

    def start(self):
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def join(self):
        self._reader.join()

    def _read(self):
        with contextlib.suppress(OSError, ValueError):
            for line in self._lines:
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
            assert self._changed.wait_for(predicate, WAIT_S), (
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
          gets the finalizer once. An API server may also delete a Widget with
          its finalizer, if that is added at the same moment
          (kubernetes/kubernetes#77988).
        """
        leaders, last, finalizers, seen = {}, {}, {}, []
        versions = [int(o["metadata"]["resourceVersion"])
                    for _, o in self.events]
        assert versions == sorted(versions), "the order of the watch"
        for kind, obj in self.events:
            uid = obj["metadata"]["uid"]
            has = obj["metadata"].get("finalizers", []) != []
            if has != finalizers.get(uid, (False, 0))[0]:
                finalizers[uid] = (has, finalizers.get(uid, (0, 0))[1] + 1)
            if kind == "DELETED":
                assert ("deletionTimestamp" in obj["metadata"] or has or
                        uid not in finalizers), (
                            f"lost its finalizer before its deletion: {obj}")
            status = obj.get("status")
            if status:
                leader = leaders.setdefault(status["term"], status["leader"])
                assert status["leader"] == leader, "two leaders of a term"
                assert status["term"] >= last.get(uid, -1), (
                    f"{obj['metadata']['name']}: term {status['term']} after "
                    f"{last.get(uid)}")
                last[uid] = status["term"]
                seen.append(status["term"])
        assert all(count <= 2 for _, count in finalizers.values()), (
            "a finalizer was added or removed twice")
        return seen


class Churn:
    """Creates, changes and deletes Widgets until it is stopped.

    call: of a method, the name of a Widget or "", and a body or None; returns
    false if the server answers with a conflict."""

    def __init__(self, call):
        self._call = call
        self.widgets = {}  # name -> parent, as they should be
        self._stop = threading.Event()
        self._round = 0
        self._error = None

    def __enter__(self):
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends it; returns the Widgets (name -> parent) that should be left."""
        self._stop.set()
        self._thread.join()
        if self._error:
            raise self._error
        return self.widgets

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
        spec = {"spec": {"parent": parent, "n": n}}
        if name not in self.widgets:
            # One that is still being deleted is left alone this time.
            if self._call("POST", "", {**KIND, "metadata": {"name": name},
                                       **spec}):
                self.widgets[name] = parent
        elif n % 3 == 0:
            self._call("DELETE", name, None)
            del self.widgets[name]
        else:
            self._call("PATCH", name, spec)
            self.widgets[name] = parent
