# SPDX-License-Identifier: MIT
"""Writes objects all the time, whatever becomes of the API server."""

import contextlib
import http.client
import random
import threading

from api import ApiError
from objects import config_map, widget

NAMES = 60
BETWEEN_S = 0.02


class Churn:
    """A context manager: a thread writes from its beginning to its end."""

    def __init__(self, api, collections, seed):
        self._api = api
        self._collections = collections
        self._rng = random.Random(seed)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()

    def _run(self):
        # The pause keeps the history of a round at a few thousand writes.
        while not self._ends.wait(BETWEEN_S):
            with contextlib.suppress(ApiError, OSError,
                                     http.client.HTTPException):
                self._write()
        self._api.close()

    def _write(self):
        collection = self._rng.choice(self._collections)
        name = f"m-{self._rng.randrange(NAMES)}"
        kind = self._rng.random()
        try:
            if kind < 0.2:
                self._api.delete(f"{collection}/{name}")
            else:
                self._api.patch(f"{collection}/{name}", self._change())
        except ApiError as error:
            if error.status == 404:
                self._api.create(collection, self._new(collection, name))

    def _change(self):
        change = {"metadata": {
            "labels": {"chaos": self._rng.choice(("in", "out"))},
            "annotations": {"number": str(self._rng.random())}}}
        return change

    def _new(self, collection, name):
        labels = {"chaos": self._rng.choice(("in", "out"))}
        if collection.endswith("widgets"):
            made = widget(name, {"size": self._rng.randrange(100)})
            made["metadata"]["labels"] = labels
            return made
        return config_map(name, labels=labels)
