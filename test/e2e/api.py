# SPDX-License-Identifier: MIT
"""A plain HTTP client of the API server, for writes and for the truth.

It goes straight to the API server, not through the proxy that kinformer uses,
and shares no code with kinformer.
"""

import http.client
import json
import ssl
import threading
import urllib.parse

from fold import exact

CONFIG_MAPS = "/api/v1/namespaces/{}/configmaps"
PODS = "/api/v1/namespaces/{}/pods"

JSON = "application/json"
METADATA = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
MERGE_PATCH = "application/merge-patch+json"


class ApiError(Exception):
    def __init__(self, method, target, status, body):
        super().__init__(f"{method} {target}: {status} {body[:500]!r}")
        self.status = status
        self.body = body


class Api:
    """One keep-alive connection for each thread that uses it."""

    def __init__(self, port, token, ca_file):
        self._port = port
        self._token = token
        self._tls = ssl.create_default_context(cafile=str(ca_file))
        self._local = threading.local()

    def request(self, method, target, body=None, content_type=JSON,
                accept=JSON):
        """Returns (status, body bytes); does not judge the status."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": accept}
        data = None
        if body is not None:
            data = json.dumps(body, ensure_ascii=False).encode()
            headers["Content-Type"] = content_type
        for attempt in (1, 2):
            connection = self._connection()
            try:
                connection.request(method, target, data, headers)
                response = connection.getresponse()
                return response.status, response.read()
            except (http.client.HTTPException, OSError):
                fresh = self._local.uses == 0
                self.close()
                # A kept connection may have died with the last server: that,
                # and only that, is worth a second try.
                if fresh or attempt == 2:
                    raise
            finally:
                self._local.uses = getattr(self._local, "uses", 0) + 1
        raise AssertionError("unreachable")

    def _connection(self):
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self._port, timeout=30, context=self._tls)
            self._local.connection = connection
            self._local.uses = 0
        return connection

    def close(self):
        """Closes this thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
        self._local.connection = None
        self._local.uses = 0

    def call(self, method, target, body=None, content_type=JSON):
        """Returns the decoded JSON body; raises ApiError unless 2xx."""
        status, data = self.request(method, target, body, content_type)
        if not 200 <= status < 300:
            raise ApiError(method, target, status, data)
        return json.loads(data)

    def get(self, target):
        return self.call("GET", target)

    def create(self, collection, body):
        return self.call("POST", collection, body)

    def patch(self, target, body):
        return self.call("PATCH", target, body, MERGE_PATCH)

    def delete(self, target):
        return self.call("DELETE", target)

    def stream(self, target):
        """Yields the lines of a watch until the server ends it."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=60, context=self._tls)
        try:
            connection.request("GET", target, headers={
                "Authorization": f"Bearer {self._token}"})
            response = connection.getresponse()
            if response.status != 200:
                raise ApiError("GET", target, response.status, response.read())
            yield from response
        finally:
            connection.close()

    def create_namespace(self, name):
        self.create("/api/v1/namespaces", {"metadata": {"name": name}})

    def list(self, collection, label_selector="", field_selector="",
             metadata_only=False):
        """The truth: key -> object, from a consistent list in pages.

        Numbers are decoded as fold.exact does, to compare by their spelling.
        """
        query = {"limit": "500"}
        if label_selector:
            query["labelSelector"] = label_selector
        if field_selector:
            query["fieldSelector"] = field_selector
        objects = {}
        while True:
            target = f"{collection}?{urllib.parse.urlencode(query)}"
            status, data = self.request(
                "GET", target, accept=METADATA if metadata_only else JSON)
            if status != 200:
                raise ApiError("GET", target, status, data)
            page = exact(data)
            for item in page["items"] or []:
                objects[key_of(item)] = item
            query["continue"] = page["metadata"].get("continue", "")
            if not query["continue"]:
                return objects


def key_of(obj):
    meta = obj["metadata"]
    prefix = f"{meta['namespace']}/" if meta.get("namespace") else ""
    return prefix + meta["name"]


def identity_of(obj):
    """What a change of an object changes."""
    return obj["metadata"]["uid"], obj["metadata"]["resourceVersion"]
