# SPDX-License-Identifier: MIT
"""Writes kubeconfig files, and makes their secrets those of the scenario."""

import base64
import json
import urllib.parse

from pki import replace
from ways import Access


class Kubeconfig:
    """One file in a folder of its own, where the files that it names may be
    too. It may be written again and again."""

    def __init__(self, context):
        self._context = context
        self.folder = context.cluster.directory / context.unused_name()
        self.folder.mkdir()
        self.path = self.folder / "config"

    @property
    def access(self):
        return Access("", ("--kubeconfig", str(self.path)))

    @property
    def environment(self):
        return {"KUBECONFIG": str(self.path)}

    def put(self, name, content):
        """Writes a file of the folder; returns its name, which is how the
        kubeconfig has to name it."""
        replace(self.folder / name, content)
        return name

    def write(self, clusters, users, contexts=None, current="e2e"):
        """Each is a dict of dicts, by name; without contexts there is one, of
        the first cluster and the first user."""
        contexts = contexts or {"e2e": {"cluster": next(iter(clusters)),
                                        "user": next(iter(users))}}
        self._note_secrets(clusters.values(), users.values())
        # JSON is YAML.
        replace(self.path, json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": current,
            "clusters": _named("cluster", clusters),
            "users": _named("user", users),
            "contexts": _named("context", contexts)}, indent=2))

    def _note_secrets(self, clusters, users):
        for cluster in clusters:
            note_proxy_secrets(self._context, cluster.get("proxy-url", ""))
        for user in users:
            for field in ("token", "password", "client-key-data"):
                note_secret(self._context, user.get(field, ""))
            for field in ("tokenFile", "client-key"):
                if field in user:
                    note_secret(self._context, (self.folder / user[field])
                                .read_text("ascii"))


def note_secret(context, text):
    """Neither it nor, of a PEM file, a line of it may be shown; base64 is
    looked into."""
    for line in text.split("\n"):
        if line and not line.startswith("-----"):
            context.secret(line)
    if text.startswith("LS0t"):  # so begins the base64 of a PEM file
        note_secret(context, base64.b64decode(text).decode())


def note_proxy_secrets(context, url):
    """Neither the password nor what is sent to the proxy may be shown."""
    parts = urllib.parse.urlsplit(url)
    if parts.password:
        login = f"{parts.username}:{parts.password}"
        context.secret(parts.password)
        context.secret(base64.b64encode(login.encode()).decode())


def in_base64(path):
    """What a field whose name ends in -data has for the file."""
    return base64.b64encode(path.read_bytes()).decode()


def _named(kind, values):
    return [{"name": name, kind: value} for name, value in values.items()]
