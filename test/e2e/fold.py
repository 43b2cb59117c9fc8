# SPDX-License-Identifier: MIT
"""Judges kinformer's output: folds the event lines, notes what is not legal.

A Fold is fed the lines as they were printed. At any time `entries` is what a
program that applied them would hold; `violations` says in words what no such
program should have been told. Nothing here runs a process or a server, so that
test_harness.py can prove each rule on recorded lines.

The rules:
- a line is one JSON object of the documented members, in their order;
- add only for an absent key, update and delete only for a present one, with
  the uid that was added; an update names the version last seen as the old one
  and brings a newer one; the same version again is a phantom;
- `initial` adds, and nothing else, come before `synced`; `synced` comes once;
- `synced` and `relisted` count what is then held, in all scopes;
- `relisted` only after an error that says the position was lost;
- with objects shown, an object is the one the line is about.
"""

import dataclasses
import json

CLASSES = {"dns", "connect", "tls", "auth", "forbidden", "absent", "throttled",
           "server", "protocol", "decode", "memory"}
DELETE_REASONS = {"watch", "relist", "recreated", "scope_removed", "filtered",
                  "cleared", "resharded", "program"}
HEAD = ["event", "initial", "key", "uid", "resourceVersion"]
TAIL = ["oldResourceVersion", "resync", "reason", "object"]


@dataclasses.dataclass
class Entry:
    uid: str
    version: str
    object: object = None


def exact(text):
    """Decodes JSON so that numbers compare by their spelling."""
    return json.loads(text, parse_int=lambda s: ("number", s),
                      parse_float=lambda s: ("number", s))


class Fold:
    def __init__(self, namespaces=None, show_object=False, resync=False):
        """namespaces: those of an informer with several scopes, else None."""
        self.entries = {}
        self.violations = []
        self.changes = []  # add, update and delete lines, decoded
        self.errors = []
        self.relists = []
        self.synced = None
        self._namespaces = namespaces
        self._show_object = show_object
        self._resync = resync
        self._lost = {}  # scope -> the error that lost its position
        self._line = 0

    # ---- feeding

    def feed(self, raw):
        """Takes one line of output, bytes with or without its newline.

        Returns it decoded, or None if there is no telling what it is.
        """
        self._line += 1
        try:
            line = json.loads(raw, object_pairs_hook=self._unique)
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            self._violation(f"not JSON: {error}: {raw[:200]!r}")
            return None
        if not isinstance(line, dict):
            self._violation(f"not a JSON object: {raw[:200]!r}")
            return None
        take = {
            "add": self._add, "update": self._update, "delete": self._delete,
            "synced": self._take_synced, "relisted": self._relisted,
            "error": self._error,
        }.get(line.get("event"))
        if not take:
            self._violation(f"unknown event: {raw[:200]!r}")
            return None
        try:
            if line["event"] in ("add", "update", "delete"):
                self._check_change(line, raw)
            take(line)
        except (KeyError, TypeError, ValueError) as error:
            self._violation(f"a member is missing or of the wrong type "
                            f"({error!r}): {raw[:200]!r}")
            return None
        return line

    def _unique(self, pairs):
        decoded = dict(pairs)
        if len(decoded) != len(pairs):
            self._violation(f"a member twice: {[name for name, _ in pairs]}")
        return decoded

    def _violation(self, text):
        self.violations.append(f"line {self._line}: {text}")

    # ---- changes

    def _check_change(self, line, raw):
        self.changes.append(line)
        names = list(line)
        known = [n for n in HEAD + TAIL if n in line]
        if names[:len(HEAD)] != HEAD or sorted(names) != sorted(known):
            self._violation(f"members {names}")
        if ("object" in line) != self._show_object:
            self._violation("object shown" if "object" in line else
                            "no object shown")
        elif self._show_object:
            if names[-1] != "object":
                self._violation("object is not the last member")
            line["object"] = exact(raw)["object"]
            self._check_object(line)
        if not line["uid"] or not line["resourceVersion"]:
            self._violation(f"{line['key']}: no uid or no version")
        if line["initial"] and line["event"] != "add":
            self._violation(f"{line['key']}: initial {line['event']}")
        if line["initial"] and self.synced:
            self._violation(f"{line['key']}: initial add after synced")
        # One scope of several can be live while another still lists.
        if not line["initial"] and not self.synced and not self._namespaces:
            self._violation(f"{line['key']}: {line['event']} before synced")

    def _check_object(self, line):
        meta = line["object"]["metadata"]
        named = (f"{meta['namespace']}/" if "namespace" in meta else "")
        named += meta["name"]
        if (named, meta["uid"], meta["resourceVersion"]) != (
                line["key"], line["uid"], line["resourceVersion"]):
            self._violation(f"{line['key']}: shown object is {named} "
                            f"{meta['uid']} {meta['resourceVersion']}")
        if "managedFields" in meta:
            self._violation(f"{line['key']}: managedFields shown")

    def _add(self, line):
        key = line["key"]
        if key in self.entries:
            self._violation(f"{key}: add of a key that is present")
        self.entries[key] = self._entry(line)

    def _update(self, line):
        key, version = line["key"], line["resourceVersion"]
        entry = self.entries.get(key)
        if not entry:
            self._violation(f"{key}: update of a key that is absent")
        else:
            if line["uid"] != entry.uid:
                self._violation(f"{key}: update to another uid")
            if line["oldResourceVersion"] != entry.version:
                self._violation(
                    f"{key}: oldResourceVersion {line['oldResourceVersion']}, "
                    f"last seen {entry.version}")
            if line.get("resync"):
                if not self._resync or version != entry.version:
                    self._violation(f"{key}: not a resync")
            elif version == entry.version:
                self._violation(f"{key}: phantom update, still at {version}")
            elif int(version) < int(entry.version):
                self._violation(f"{key}: back from {entry.version} "
                                f"to {version}")
        self.entries[key] = self._entry(line)

    def _delete(self, line):
        key = line["key"]
        entry = self.entries.pop(key, None)
        if not entry:
            self._violation(f"{key}: delete of a key that is absent")
        else:
            if line["uid"] != entry.uid:
                self._violation(f"{key}: delete of another uid")
            if int(line["resourceVersion"]) < int(entry.version):
                self._violation(f"{key}: deleted at {line['resourceVersion']}, "
                                f"before the version last seen")
        if line["reason"] not in DELETE_REASONS:
            self._violation(f"{key}: deleted for {line['reason']!r}")

    @staticmethod
    def _entry(line):
        return Entry(line["uid"], line["resourceVersion"], line.get("object"))

    # ---- everything else

    def _take_synced(self, line):
        if self.synced:
            self._violation("synced twice")
        self.synced = line
        if line["objects"] != len(self.entries):
            self._violation(f"synced with {line['objects']} objects, "
                            f"{len(self.entries)} were added")
        if self._namespaces:
            if sorted(line["resourceVersions"]) != sorted(self._namespaces):
                self._violation(f"synced at {line['resourceVersions']}")
        elif not line["resourceVersion"]:
            self._violation("synced without a version")

    def _relisted(self, line):
        scope = self._scope(line)
        self.relists.append(line)
        if not self.synced:
            self._violation("relisted before synced")
        if line["objects"] != len(self.entries):
            self._violation(f"relisted {line['objects']} objects, "
                            f"held {len(self.entries)}")
        if not line["resourceVersion"]:
            self._violation("relisted without a version")
        if not self._lost.pop(scope, None):
            self._violation("relisted although no position was lost")

    def _error(self, line):
        scope = self._scope(line)
        self.errors.append(line)
        if line["class"] not in CLASSES:
            self._violation(f"error of class {line['class']!r}")
        for name, kind in (("status", int), ("reason", str), ("message", str),
                           ("retryInMs", int)):
            if not isinstance(line[name], kind):
                self._violation(f"error with {name} {line[name]!r}")
        if position_lost(line):
            self._lost[scope] = line

    def _scope(self, line):
        if not self._namespaces:
            return ""
        if line["namespace"] not in self._namespaces:
            self._violation(f"{line['event']} of namespace {line['namespace']}")
        return line["namespace"]

    # ---- the end

    def compare(self, truth):
        """Notes every difference to the truth: key -> object of the server."""
        for key in sorted(truth.keys() - self.entries.keys()):
            self._violation(f"{key}: on the server, not in the fold")
        for key in sorted(self.entries.keys() - truth.keys()):
            self._violation(f"{key}: in the fold, not on the server")
        for key in sorted(truth.keys() & self.entries.keys()):
            entry, obj = self.entries[key], truth[key]
            meta = obj["metadata"]
            if (entry.uid, entry.version) != (meta["uid"],
                                              meta["resourceVersion"]):
                self._violation(
                    f"{key}: folded to {entry.uid} {entry.version}, the server "
                    f"has {meta['uid']} {meta['resourceVersion']}")
            elif self._show_object and difference(entry.object, obj):
                self._violation(f"{key}: shown object differs from the "
                                f"server's at {difference(entry.object, obj)}")


def position_lost(line):
    """Whether an error line is a reason to list again.

    410 as a response or an event; a stream that cannot be followed any more;
    a server that says its own history ends before our version.
    """
    return (line["status"] == 410 or line["reason"] in ("Expired", "Gone")
            or line["class"] == "decode"
            or "Too large resource version" in line["message"])


def difference(shown, server):
    """The path of the first difference, or None.

    managedFields are dropped by default. An item of a list of a built-in type
    has neither kind nor apiVersion, while the same object in a watch has both:
    what is shown may have or lack them, but may not contradict.
    """
    shown, server = dict(shown), dict(server)
    server["metadata"] = {name: value
                          for name, value in server["metadata"].items()
                          if name != "managedFields"}
    for name in ("kind", "apiVersion"):
        if name not in shown or name not in server:
            shown.pop(name, None)
            server.pop(name, None)
    return _difference(shown, server, "")


def _difference(a, b, path):
    if type(a) is not type(b):
        return f"{path or '/'} ({a!r:.80} against {b!r:.80})"
    if isinstance(a, dict):
        if a.keys() != b.keys():
            return f"{path or '/'} (members {list(a.keys() ^ b.keys())!r:.200})"
        inner = ((f"{path}/{name}", a[name], b[name]) for name in a)
    elif isinstance(a, list):
        if len(a) != len(b):
            return f"{path} ({len(a)} elements against {len(b)})"
        inner = ((f"{path}/{i}", x, y) for i, (x, y) in enumerate(zip(a, b)))
    else:
        return None if a == b else f"{path} ({a!r:.80} against {b!r:.80})"
    return next((d for d in (_difference(x, y, p) for p, x, y in inner) if d),
                None)
