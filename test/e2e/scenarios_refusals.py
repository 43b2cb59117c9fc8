# SPDX-License-Identifier: MIT
"""Refusals: by us of the server, by the server of us.

Each has to be said at once and in words that say what to mend, is retried as
announced, and ends by itself when the cause has been mended. A relay stands
between kinformer and the server: it knows when a connection came, and can send
the next one elsewhere on the same port.
"""

import contextlib
import pathlib
import socketserver
import ssl
import threading
import time
import warnings

from api import CONFIG_MAPS, key_of
from apiserver import NAMES
from bounds import (ATTEMPT_S, PAUSE_S, REFUSAL_S, Refusal, attempts_of,
                    is_late, judge_recovery, judge_refusal, judge_retries,
                    recovery_due)
from cluster import MASTERS, new_token
from objects import config_map
from pki import Authority, replace
from ready import await_true
from relay import Relay
from scenario import scenario

COUNT = 10
RBAC = "rbac.authorization.k8s.io"


# ---------------------------------------------------------------- the course

class Course:
    """What all these scenarios do, step by step."""

    def __init__(self, context, relay, kin, space):
        self.context = context
        self.relay = relay
        self.kin = kin
        self.collection = CONFIG_MAPS.format(space)
        self._space = space
        self._changes = 0
        self._last = ""

    def expect_refused(self, expected, since=None, at_once=False):
        """Twice, as expected, with nothing else after the first time.

        since: when the connections were cut; each error that tells of that
        comes in time, too. Without it the first connection is refused, or, if
        at_once, none is even made.
        """
        context, kin = self.context, self.kin
        kin.wait_errors(2, since or 0, expected.matches)
        errors = kin.errors(since or 0)
        first_at = since or (kin.started_at if at_once
                             else self.relay.accepted[0])
        told = list(zip(errors, attempts_of(first_at, errors)))
        refused = [pair for pair in told if expected.matches(pair[0].line)]
        late = [error for error, at in told if is_late(error, at)
                and not expected.matches(error.line)]
        context.expect_none([
            *(p for e, at in refused for p in judge_refusal(e, at, expected)),
            *judge_retries(errors), *(f"late: {error}" for error in late)])
        context.expect(errors[-len(refused):] == [e for e, _ in refused],
                       f"{errors}")
        context.measure(
            f"refused: {expected.error_class}, after the attempt",
            max(refused[0][0].at - refused[0][1], 0), REFUSAL_S + PAUSE_S)
        if since is None:
            context.measure("the same after the start of the program",
                            errors[0].at - kin.started_at, "not bounded")

    def expect_synced(self, mended_at):
        """For the first time."""
        self._expect_recovered(mended_at, "synced line",
                               lambda line: line["event"] == "synced")
        self.context.expect(
            self.kin.fold.synced["objects"] == COUNT, f"{self.kin.fold.synced}")

    def change(self):
        """To be called while nothing is seen of it; the last is waited for."""
        api, i = self.context.api, self._changes
        self._changes += 1
        api.patch(f"{self.collection}/m-{i}", {"data": {"value": "new"}})
        api.delete(f"{self.collection}/m-{COUNT - 1 - i}")
        self._last = key_of(self.context.write_sentinel(self._space))

    def expect_live(self, mended_at):
        """Once more: what change() did is seen."""
        self._expect_recovered(mended_at, self._last,
                               lambda line: line.get("key") == self._last)

    def _expect_recovered(self, mended_at, what, predicate):
        context, kin = self.context, self.kin
        seen = context.wait_recovered(kin, mended_at, what, predicate)
        errors = kin.errors()
        due, _ = recovery_due(errors, mended_at, seen.at)
        context.measure("recovered after it was mended",
                        max(seen.at - mended_at, 0),
                        f"<= retry in {due - mended_at:.2f} + "
                        f"{ATTEMPT_S + PAUSE_S:g} s")
        context.expect_none(judge_recovery(errors, mended_at, seen.earliest))

    def finish(self, *classes):
        """Nothing lost, nothing told twice, no list; and no other errors."""
        context, kin, n = self.context, self.kin, self._changes
        context.sentinel(kin, self._space)
        context.finish(kin, self.collection)
        context.expect_changes(kin, add=n + 1,
                               **({"update": n, "delete": n} if n else {}))
        context.expect(not kin.fold.relists, f"{kin.fold.relists}")
        others = [e for e in kin.fold.errors if e["class"] not in classes]
        context.expect(not others, f"{others}")


@contextlib.contextmanager
def course(context, target_port, *arguments, **access):
    """A Course with kinformer on its way to the port."""
    space = context.namespace()
    for i in range(COUNT):
        context.api.create(CONFIG_MAPS.format(space), config_map(f"m-{i}"))
    with Relay(target_port) as relay:
        at = context.direct_access(relay.port, *arguments, **access)
        # With --stats more is printed that might contain a token.
        with context.informer("configmaps", "-n", space, "--stats",
                              at=at) as kin:
            yield Course(context, relay, kin, space)


def token_arguments(context):
    return "--token-file", context.cluster.token_file


def private_file(context, name, content):
    """A file of this scenario's own."""
    path = context.cluster.directory / f"{context.unused_name()}-{name}"
    replace(path, content)
    return path


# ---------------------------------------------------------------- the server

@scenario(ways=(), group="refusals")
def wrong_authority(context):
    """Signed by somebody else; mended in the file of authorities."""
    cluster = context.cluster
    other = Authority(cluster.directory, "other-authority")
    trusted = private_file(context, "ca.crt", other.certificate)
    with course(context, cluster.apiserver.port, *token_arguments(context),
                authority=trusted) as c:
        c.expect_refused(Refusal("tls", ("not trusted", "CN=e2e authority")))
        replace(trusted, cluster.authority.certificate)
        c.expect_synced(time.monotonic())
        c.finish("tls")


@scenario(ways=())
def authority_replaced(context):
    """While it watches: the next connection meets another server of the same
    cluster, with a certificate of a new authority."""
    cluster = context.cluster
    other = Authority(cluster.directory, "new-authority")
    trusted = private_file(context, "ca.crt", cluster.authority.certificate)
    with context.spare_apiserver() as server:
        server.present(other.issue("new-server", NAMES), other)
        with course(context, cluster.apiserver.port, *token_arguments(context),
                    authority=trusted) as c:
            c.kin.wait_synced()
            before = time.monotonic()
            c.relay.send_to(server.port)
            c.change()
            c.expect_refused(Refusal("tls", ("not trusted", "new-authority")),
                             before)
            replace(trusted, other.certificate)
            c.expect_live(time.monotonic())
            c.finish("tls", "connect")


def wrong_certificate(context, names, words, host="127.0.0.1", days=2):
    """Mended on the server, which takes the new one up while it runs."""
    authority = context.cluster.authority
    bad = authority.issue(context.unused_name(), names, days=days)
    good = authority.issue(context.unused_name(), NAMES)
    with context.spare_apiserver() as server:
        server.present(bad)
        with course(context, server.port, *token_arguments(context),
                    host=host) as c:
            c.expect_refused(Refusal("tls", words))
            c.expect_synced(server.present(good))
            c.finish("tls")


@scenario(ways=())
def wrong_host_name(context):
    wrong_certificate(context, "DNS:other.e2e.test",
                      ("is for other.e2e.test, not localhost",), "localhost")


@scenario(ways=())
def wrong_address(context):
    wrong_certificate(context, "IP:192.0.2.7,DNS:localhost",
                      ("is for 192.0.2.7, localhost, not 127.0.0.1",))


@scenario(ways=())
def expired_certificate(context):
    wrong_certificate(context, NAMES, ("certificate expired 20",), days=-1)


@scenario(ways=(), group="refusals")
def tls_1_1_only(context):
    authority = context.cluster.authority
    with OldServer(authority.issue("old-server", NAMES),
                   authority.issued_key) as port, \
            course(context, port, *token_arguments(context)) as c:
        c.expect_refused(Refusal("tls", ("TLS 1.2",)))
        # An attempt that has begun is refused as the others: it is not cut.
        c.relay.aim(context.cluster.apiserver.port)
        c.expect_synced(time.monotonic())
        c.finish("tls")


@scenario(ways=(), group="refusals")
def plain_http_on_the_tls_port(context):
    """What answers is kubectl proxy."""
    with course(context, context.cluster.proxy.port,
                *token_arguments(context)) as c:
        c.expect_refused(Refusal("tls", ("does not speak TLS",)))
        c.relay.aim(context.cluster.apiserver.port)
        c.expect_synced(time.monotonic())
        c.finish("tls")


@scenario(ways=(), group="refusals")
def tls_on_the_plain_port(context):
    """What answers is the API server, in the clear."""
    with course(context, context.cluster.apiserver.port, scheme="http") as c:
        c.expect_refused(Refusal("tls", ("speaks TLS", "https://")))
        c.relay.aim(context.cluster.proxy.port)
        c.expect_synced(time.monotonic())
        c.finish("tls")


@scenario(ways=(), group="refusals")
def authority_file_unusable(context):
    """Not there, then without a certificate in it, then right."""
    trusted = private_file(context, "ca.crt", "")
    trusted.unlink()
    with course(context, context.cluster.apiserver.port,
                *token_arguments(context), authority=trusted) as c:
        c.expect_refused(Refusal("tls", (f"{trusted.name}: ",)),
                         at_once=True)
        before = time.monotonic()
        replace(trusted, "nothing of use\n")
        c.kin.wait_errors(1, before, lambda line: "no certificate in it" in
                          line["message"] and trusted.name in line["message"])
        context.expect(not c.relay.accepted, "connected without authorities")
        replace(trusted, context.cluster.authority.certificate)
        c.expect_synced(time.monotonic())
        c.finish("tls")


class OldServer:
    """A context manager: the port of a server that speaks TLS 1.1 only."""

    def __init__(self, certificate, key):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        tls.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            tls.minimum_version = ssl.TLSVersion.TLSv1_1
            tls.maximum_version = ssl.TLSVersion.TLSv1_1

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                with contextlib.suppress(OSError):
                    with tls.wrap_socket(self.request, server_side=True) as s:
                        s.recv(1)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0),
                                                       Handler)
        self._server.daemon_threads = True

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever,
                         daemon=True).start()
        return self._server.server_address[1]

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


# ---------------------------------------------------------------- the client

@scenario(ways=(), group="refusals")
def unknown_token(context):
    """401; the file is read again before the next try."""
    token_file = private_file(context, "token", context.secret(new_token()))
    with course(context, context.cluster.apiserver.port,
                "--token-file", token_file) as c:
        c.expect_refused(Refusal("auth", ("Unauthorized",), 401))
        replace(token_file, context.cluster.token + "\n")
        c.expect_synced(time.monotonic())
        c.finish("auth")


@scenario(ways=(), group="refusals")
def token_revoked(context):
    """While it watches, the service account is deleted whose token it has."""
    accounts = [Account(context, name) for name in ("old", "new")]
    token_file = private_file(context, "token", accounts[0].token)
    with course(context, context.cluster.apiserver.port,
                "--token-file", token_file) as c:
        c.kin.wait_synced()
        accounts[0].delete()
        before = time.monotonic()
        c.relay.cut()
        c.change()
        c.expect_refused(Refusal("auth", ("Unauthorized",), 401), before)
        replace(token_file, accounts[1].token)
        c.expect_live(time.monotonic())
        c.finish("auth", "connect")


class Account:
    """A service account that may do everything, and a token of it."""

    def __init__(self, context, name):
        self._context = context
        space = context.namespace()
        accounts = f"/api/v1/namespaces/{space}/serviceaccounts"
        self._path = f"{accounts}/{name}"
        context.api.create(accounts, {"metadata": {"name": name}})
        context.api.create(f"/apis/{RBAC}/v1/clusterrolebindings", {
            "metadata": {"name": space},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole",
                        "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": name,
                          "namespace": space}]})
        answer = context.api.create(f"{self._path}/token", {"spec": {}})
        self.token = context.secret(answer["status"]["token"])
        self._await(200)

    def delete(self):
        """Returns when the token is refused: the server remembers it for some
        seconds."""
        self._context.api.delete(self._path)
        self._await(401)

    def _await(self, status):
        client = self._context.cluster.apiserver.client(self.token)
        await_true(f"{status} for the account", lambda: client.request(
            "GET", "/api/v1/namespaces")[0] == status)


@scenario(ways=(), group="refusals")
def token_file_missing(context):
    token_file = private_file(context, "token", "")
    token_file.unlink()
    with course(context, context.cluster.apiserver.port,
                "--token-file", token_file) as c:
        c.expect_refused(Refusal("auth", (f"{token_file.name}: ",)),
                         at_once=True)
        replace(token_file, context.cluster.token)
        c.expect_synced(time.monotonic())
        c.finish("auth")


@scenario(ways=(), group="refusals")
def client_certificate_of_nobody(context):
    """The server does not know its authority: 401. Mended in both files."""
    authority = context.cluster.authority
    other = Authority(context.cluster.directory, "unknown-authority")
    certificate = private_file(context, "client.crt",
                               other.issue("e2e", groups=[MASTERS]))
    key = private_file(context, "client.key", other.issued_key)
    good = authority.issue("e2e-client", groups=[MASTERS])
    with course(context, context.cluster.apiserver.port,
                "--client-certificate", certificate,
                "--client-key", key) as c:
        c.expect_refused(Refusal("auth", ("Unauthorized",), 401))
        replace(key, authority.issued_key)
        replace(certificate, good)
        c.expect_synced(time.monotonic())
        c.finish("auth")


@scenario(ways=(), group="refusals")
def no_role(context):
    """403 until a role is granted; taken away and granted again meanwhile."""
    token_file = private_file(context, "token", context.cluster.nobody_token)
    expected = Refusal("forbidden", ('User "nobody" cannot', "configmaps"), 403)
    with course(context, context.cluster.apiserver.port,
                "--token-file", token_file) as c:
        role = Role(context, c.collection)
        c.expect_refused(expected)
        c.expect_synced(role.grant())
        role.withdraw()
        before = time.monotonic()
        c.relay.cut()
        c.change()
        c.expect_refused(expected, before)
        c.expect_live(role.grant())
        c.finish("forbidden", "connect")


class Role:
    """The right to list and watch one collection, for the user nobody."""

    def __init__(self, context, collection):
        space = pathlib.PurePath(collection).parts[-2]
        self._api = context.api
        self._nobody = context.cluster.apiserver.client(
            context.cluster.nobody_token)
        self._collection = collection
        self._bindings = f"/apis/{RBAC}/v1/namespaces/{space}/rolebindings"
        self._api.create(self._bindings.replace("rolebindings", "roles"), {
            "metadata": {"name": "reader"},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"],
                       "verbs": ["list", "watch"]}]})

    def grant(self):
        """Returns the time from which on it holds."""
        self._api.create(self._bindings, {
            "metadata": {"name": "reader"},
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "reader"},
            "subjects": [{"apiGroup": RBAC, "kind": "User",
                          "name": "nobody"}]})
        return self._await(200)

    def withdraw(self):
        self._api.delete(f"{self._bindings}/reader")
        self._await(403)

    def _await(self, status):
        return await_true(f"{status} for nobody", lambda: self._nobody.request(
            "GET", self._collection)[0] == status)
