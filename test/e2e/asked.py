# SPDX-License-Identifier: MIT
"""What kinformer asked an API server, by the server's own audit log.

It is written before a request is answered, so what has been answered is in it.
"""

import dataclasses
import datetime
import json
import urllib.parse

# The kinds of requests.
LIST = "list"  # the first page
PAGE = "page"  # one that follows
VERIFY = "verify"  # a list of one object, or of none, for its version
STREAM = "stream"  # a watch that begins with what there is (WatchList)
WATCH = "watch"

# Only what is asked, when it is asked.
POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
    "omitStages": ["ResponseStarted", "ResponseComplete", "Panic"],
    "rules": [{"level": "Metadata", "verbs": ["list", "watch"]}],
}


@dataclasses.dataclass(frozen=True)
class Asked:
    kind: str
    query: dict
    namespace: object
    at: float  # seconds of the server's own clock
    credential: str = ""  # the id of the token of a service account

    @property
    def version(self):
        return self.query.get("resourceVersion", "")


def asked_by_kinformer(log, namespace=None):
    """log: the text of an audit log. Returns those of the namespace, or if it
    is None those that are of no namespace."""
    asked = []
    # What has no newline yet may still be being written.
    for line in log.split("\n")[:-1]:
        if "kinformer/" not in line:
            continue
        event = json.loads(line)
        if (event["userAgent"].startswith("kinformer/")
                and event["objectRef"].get("namespace") == namespace):
            asked.append(_asked(event))
    return asked


def _asked(event):
    url = urllib.parse.urlsplit(event["requestURI"])
    query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
    return Asked(kind_of(query), query, event["objectRef"].get("namespace"),
                 datetime.datetime.fromisoformat(
                     event["requestReceivedTimestamp"].replace("Z", "+00:00"))
                 .timestamp(), _credential_of(event.get("user", {})))


def _credential_of(user):
    ids = user.get("extra", {}).get("authentication.kubernetes.io/credential-id")
    return ids[0].removeprefix("JTI=") if ids else ""


def kind_of(query):
    if query.get("watch") == "true":
        return STREAM if "sendInitialEvents" in query else WATCH
    if "continue" in query:
        return PAGE
    is_empty = query.get("fieldSelector", "").endswith("metadata.name=-")
    return VERIFY if query.get("limit") == "1" or is_empty else LIST
