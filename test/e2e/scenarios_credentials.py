# SPDX-License-Identifier: MIT
"""Kubeconfig files, credentials that rotate, and a proxy that wants a password.

Every secret of a kubeconfig and of a plugin's run is one of the scenario's:
context.finish() finds what any output of kinformer has of them.
"""

import contextlib
import json
import sys
import time

import exec_plugin
from api import CONFIG_MAPS, key_of
from apiserver import NAMES
from asked import LIST, STREAM, WATCH
from cluster import MASTERS, new_token
from kubeconfig import (Kubeconfig, in_base64, note_proxy_secrets, note_secret)
from objects import config_map
from pki import Authority
from ready import await_true
from relay import Relay
from scenario import scenario
from tunnel import HOST, Tunnel
from ways import Access

RBAC = "rbac.authorization.k8s.io"
# A few seconds of the plugin's credentials, and how long they are watched with.
TOKEN_S = 5
WATCHED_S = 120
CUT_EVERY_S = 3
# Objects that exist at a time, of those that come and go.
KEPT = 10


class Changes:
    """Writes into a namespace, by the API server that nothing happens to, and
    knows what has to come of it."""

    def __init__(self, context):
        self.space = context.namespace()
        self.collection = CONFIG_MAPS.format(self.space)
        self._context = context
        self._written = 0
        self._sentinels = 0

    def write(self, count):
        """So many objects are added and changed; the oldest are deleted."""
        api = self._context.api
        for i in range(self._written, self._written + count):
            api.create(self.collection, config_map(f"m-{i}"))
            api.patch(f"{self.collection}/m-{i}", {"data": {"value": "new"}})
            if i >= KEPT:
                api.delete(f"{self.collection}/m-{i - KEPT}")
        self._written += count

    def see(self, *kins):
        """Returns when a last object is seen by each."""
        last = self._context.write_sentinel(self.space)
        self._sentinels += 1
        for kin in kins:
            kin.wait_object(key_of(last), last)

    def finish(self, kin, classes=(), relists=0):
        """Nothing is missed; and if nothing is listed again, each change came
        by itself. No errors but those of these classes."""
        context = self._context
        context.finish(kin, self.collection)
        context.expect(len(kin.fold.relists) == relists,
                       f"expected {relists}: {kin.fold.relists}")
        if not relists:
            context.expect_changes(
                kin, add=self._written + self._sentinels, **{
                    kind: count for kind, count in (
                        ("update", self._written),
                        ("delete", max(self._written - KEPT, 0))) if count})
        others = [e for e in kin.fold.errors if e["class"] not in classes]
        context.expect(not others, f"{others}")


def server_at(context, port, host="127.0.0.1", **fields):
    """A cluster of a kubeconfig; it trusts the usual authority."""
    return {"server": f"https://{host}:{port}", "certificate-authority":
            str(context.cluster.authority.certificate), **fields}


def token_file(context):
    return {"tokenFile": str(context.cluster.token_file)}


# ---------------------------------------------------------------- contexts

@scenario(ways=(), group="waiting")
def two_contexts(context):
    """Two users by certificate, each may read one namespace, the default one of
    the context; by data and by files, which the folder of the kubeconfig has.
    """
    authority = context.cluster.authority
    config = Kubeconfig(context)
    seen = {name: Changes(context) for name in ("one", "two")}
    users = {}
    for name, changes in seen.items():
        user = f"{changes.space}-user"
        certificate = authority.issue(user)
        users[f"{name}-by-data"] = {
            "client-certificate-data": in_base64(certificate),
            "client-key-data": in_base64(authority.issued_key)}
        users[f"{name}-by-files"] = {
            "client-certificate": config.put(f"{name}.crt", certificate),
            "client-key": config.put(f"{name}.key", authority.issued_key)}
        let_read(context, changes.space, user)
    port = context.cluster.apiserver.port
    config.write({"e2e": server_at(context, port)}, users, {
        user: {"cluster": "e2e", "user": user,
               "namespace": seen[user.split("-")[0]].space}
        for user in users}, current="one-by-data")
    for name, arguments in (("one", ()), *((user.split("-")[0],
                                            ("--context", user))
                                           for user in users)):
        follow_context(context, config, seen[name], *arguments)
    elsewhere(context, config, "two-by-files", seen["one"].space)
    unknown_context(context, config)


def let_read(context, space, user):
    """Returns when the user may read the namespace."""
    rules = f"/apis/{RBAC}/v1/namespaces/{space}"
    context.api.create(f"{rules}/roles", {
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"],
                   "verbs": ["list", "watch"]}]})
    context.api.create(f"{rules}/rolebindings", {
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}]})
    review = {"spec": {"user": user, "resourceAttributes": {
        "namespace": space, "verb": "list", "resource": "configmaps"}}}
    await_true(f"role of {user}", lambda: context.api.create(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        ["status"]["allowed"])


def follow_context(context, config, changes, *arguments):
    """The environment names the kubeconfig, the context the namespace."""
    existing = len(context.api.list(changes.collection))
    with context.informer("configmaps", *arguments, at=Access(""),
                          environment=config.environment) as kin:
        kin.wait_synced()
        context.expect(kin.fold.synced["objects"] == existing,
                       f"{kin.fold.synced}")
        last = context.sentinel(kin, changes.space)
        context.finish(kin, changes.collection)
        context.expect([line["key"] for line in kin.fold.changes
                        if not line["initial"]] == [key_of(last)],
                       f"{kin.fold.changes}")
        context.expect(not kin.fold.errors, f"{kin.fold.errors}")


def elsewhere(context, config, name, space):
    """The other one's namespace is forbidden."""
    with context.informer("configmaps", "-n", space, "--context", name,
                          at=config.access) as kin:
        [error] = kin.wait_errors(1, 0)
        kin.stop()
    context.expect((error.line["class"], error.line["status"]) ==
                   ("forbidden", 403), f"{error.line}")
    context.expect_legal(kin)


def unknown_context(context, config):
    with context.informer("configmaps", "--context", "three",
                          at=config.access) as kin:
        status = kin.wait_end()
        said = kin.standard_error().decode()
    context.expect(status == 1 and 'no context "three"' in said, f"{status}: {said}")
    context.expect_legal(kin)


# ---------------------------------------------------------------- a plugin

class Plugin:
    """An exec plugin in a kubeconfig, and what it has issued."""

    def __init__(self, context, config, port, host="127.0.0.1", **settings):
        self._context = context
        self._issued = config.folder / "issued"
        self._settings = config.folder / "settings.json"
        config.put("settings.json", json.dumps({
            "server": f"https://{host}:{port}", "seconds": TOKEN_S,
            "issued": str(self._issued), **settings}))

    @property
    def user(self):
        return {"exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [exec_plugin.__file__, str(self._settings)],
            "env": [{"name": "E2E_PLUGIN", "value": "exec"}],
            "interactiveMode": "Never", "provideClusterInfo": True}}

    def runs(self):
        """What each run has issued, which nobody may have shown."""
        text = (self._issued.read_text("ascii") if self._issued.exists()
                else "")
        runs = [json.loads(line) for line in text.splitlines()]
        for run in runs:
            note_secret(self._context, run.get("token", ""))
        return runs


def account_settings(context):
    """Of a service account that may do everything, once it may."""
    space = context.namespace()
    account = context.api.create(
        f"/api/v1/namespaces/{space}/serviceaccounts",
        {"metadata": {"name": "short-lived"}})
    context.api.create(f"/apis/{RBAC}/v1/clusterrolebindings", {
        "metadata": {"name": space},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole",
                    "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "short-lived",
                      "namespace": space}]})
    settings = {"namespace": space, "name": "short-lived",
                "uid": account["metadata"]["uid"],
                "key": str(context.cluster.directory / "service-account.key")}
    client = context.cluster.apiserver.client(exec_plugin.make_token(
        settings, time.time() + 60, "harness"))
    await_true("200 for the account", lambda: client.request(
        "GET", "/api/v1/namespaces")[0] == 200)
    return settings


def watch_with_short_lived(context, settings):
    """Under writes, with a connection that is cut each few seconds, so that
    there are requests that find the credential expired. Returns the runs of the
    plugin and what was asked."""
    changes, config = Changes(context), Kubeconfig(context)
    with Relay(context.cluster.apiserver.port) as relay:
        plugin = Plugin(context, config, relay.port, **settings)
        config.write({"e2e": server_at(context, relay.port)},
                     {"e2e": plugin.user})
        with context.informer("configmaps", "-n", changes.space, "--stats",
                              at=config.access) as kin:
            kin.wait_synced()
            end, cuts = time.monotonic() + WATCHED_S, 0
            while time.monotonic() < end:
                relay.cut()
                cuts += 1
                until = time.monotonic() + CUT_EVERY_S
                while time.monotonic() < until:
                    changes.write(1)
                    time.sleep(0.05)
                changes.see(kin)
            runs = plugin.runs()
            changes.finish(kin, ("connect",))
    asked = context.asked(changes.space)
    expect_counted(context, asked, 1, cuts)
    return runs, asked


def expect_counted(context, asked, lists, watches):
    """Streams and lists, and the watches after them."""
    kinds = [a.kind for a in asked]
    context.expect((sum(kinds.count(kind) for kind in (LIST, STREAM)),
                    kinds.count(WATCH)) == (lists, watches),
                   f"asked {kinds}, expected {lists} lists or streams and "
                   f"{watches} watches")


def expect_runs(context, runs):
    """Each credential is used until it expires, and the next one only then."""
    early = [(a, b) for a, b in zip(runs, runs[1:]) if b["at"] < a["expires"]]
    context.expect(not early, f"run before the expiry: {early}")
    # A request comes at the latest so long after an expiry.
    most_s = TOKEN_S + 2 * CUT_EVERY_S
    context.expect(WATCHED_S // most_s < len(runs) <= WATCHED_S // TOKEN_S + 1,
                   f"{len(runs)} runs of the plugin")


@scenario(ways=(), group="waiting")
def plugin_with_short_lived_tokens(context):
    """Each is refused by the API server some seconds after its expiry."""
    runs, asked = watch_with_short_lived(context, account_settings(context))
    expect_runs(context, runs)
    by_id = {run["id"]: run for run in runs}
    context.expect({a.credential for a in asked} == set(by_id),
                   f"{asked}: not with {list(by_id)}")
    late = [a for a in asked if a.at > by_id[a.credential]["expires"]
            + exec_plugin.ON_THE_WAY_S]
    context.expect(not late, f"with a token that had expired: {late}")


@scenario(ways=(), group="waiting")
def plugin_with_short_lived_certificates(context):
    """Two certificates in turn; another one takes effect without an error."""
    authority = context.cluster.authority
    certificates = [str(authority.issue(f"{context.unused_name()}-{i}",
                                        groups=[MASTERS])) for i in range(2)]
    note_secret(context, authority.issued_key.read_text("ascii"))
    note_secret(context, in_base64(authority.issued_key))
    runs, _ = watch_with_short_lived(context, {
        "certificates": certificates, "key": str(authority.issued_key)})
    expect_runs(context, runs)


# ---------------------------------------------------------------- rotations

@scenario(ways=(), group="rotations")
def tokens_rotated(context):
    """A server without a cache knows what was missed: nothing is listed again.
    """
    rotate_tokens(context, 0, "--watch-cache=false")


@scenario(ways=(), group="rotations")
def tokens_rotated_and_history_forgotten(context):
    """A restarted server with a cache has forgotten it: one list each time."""
    rotate_tokens(context, 1)


def rotate_tokens(context, relists_each, *options):
    """Twice a restarted server refuses the old token: once it was replaced
    before, once it is after the server has refused it. Two programs: one with a
    token file, one with the token in the kubeconfig."""
    tokens = [context.secret(new_token()) for _ in range(3)]
    changes = Changes(context)
    configs = [Kubeconfig(context), Kubeconfig(context)]
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(context.cluster.special_apiserver(
            context.unused_name(), *options,
            tokens={tokens[0]: ("rotated", MASTERS)}))

        def hand_out(token):
            users = ({"tokenFile": configs[0].put("token", token + "\n")},
                     {"token": token})
            for config, user in zip(configs, users):
                config.write({"e2e": server_at(context, server.port)},
                             {"e2e": user})

        hand_out(tokens[0])
        kins = [stack.enter_context(context.informer(
            "configmaps", "-n", changes.space, "--stats", at=config.access))
            for config in configs]
        for kin in kins:
            kin.wait_synced()
        for new, is_first in ((tokens[1], True), (tokens[2], False)):
            changes.write(5)
            changes.see(*kins)
            if is_first:
                hand_out(new)
            restart_with_token(context, server, new, changes, kins)
            if not is_first:
                since = time.monotonic()
                for kin in kins:
                    kin.wait_errors(1, since, is_unauthorized)
                hand_out(new)
            changes.write(5)
            changes.see(*kins)
        for kin in kins:
            changes.finish(kin, ("connect", "auth", "server"),
                           2 * relists_each)
        # A watch that is told of its loss is one more.
        expect_counted(context, context.asked(changes.space, server),
                       2 * (1 + 2 * relists_each), 2 * 2)


def is_unauthorized(line):
    return (line["class"], line["status"]) == ("auth", 401)


def restart_with_token(context, server, new, changes, kins):
    """It knows the new token and none that it knew; there are changes while it
    is away."""
    since = time.monotonic()
    server.kill()
    for kin in kins:
        kin.wait_errors(1, since)
    changes.write(5)
    server.accept({new: ("rotated", MASTERS)})
    server.start()
    status, _ = server.client(new).request("GET", "/api/v1/namespaces")
    context.expect(status == 200, f"{status} for the new token")


@scenario(ways=(), group="rotations")
def authorities_rotated(context):
    """By two programs: to one the kubeconfig names a file of authorities, to
    the other it is them."""
    cluster, changes = context.cluster, Changes(context)
    configs = [Kubeconfig(context), Kubeconfig(context)]
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(cluster.special_apiserver(
            context.unused_name(), "--watch-cache=false"))
        relay = stack.enter_context(Relay(server.port))

        def trust(*authorities):
            bundle = "".join(a.certificate.read_text("ascii")
                             for a in authorities)
            name = configs[0].put("ca.crt", bundle)
            of_both = ({"certificate-authority": name},
                       {"certificate-authority-data": in_base64(
                           configs[0].folder / name)})
            for config, fields in zip(configs, of_both):
                config.write({"e2e": {
                    "server": f"https://127.0.0.1:{relay.port}", **fields}},
                    {"e2e": token_file(context)})

        trust(cluster.authority)
        kins = [stack.enter_context(context.informer(
            "configmaps", "-n", changes.space, "--stats", at=config.access))
            for config in configs]
        for kin in kins:
            kin.wait_synced()
        rotation = AuthorityRotation(context, server, relay, changes, kins,
                                     trust)
        rotation.restart_with_another()
        rotation.restart_with_another()
        rotation.replace_in_good_order()
        rotation.withdraw_trust()
        for kin in kins:
            changes.finish(kin, ("connect", "tls"))
        expect_counted(context, context.asked(changes.space, server), 2, 2 * 5)


class AuthorityRotation:
    """The ways in which the authority of a server's certificate changes."""

    def __init__(self, context, server, relay, changes, kins, trust):
        self._context = context
        self._server = server
        self._relay = relay
        self._changes = changes
        self._kins = kins
        self._trust = trust  # a function: writes what is trusted from now on
        self._authority = None

    def restart_with_another(self):
        """kinformer refuses the server until the kubeconfig follows."""
        self._authority = self._other()
        since = time.monotonic()
        self._server.kill()
        self._changes.write(5)
        self._server.install(self._certificate(), self._authority)
        self._server.start()
        self._mend_when_refused(since)

    def replace_in_good_order(self):
        """Trust both, replace the certificate, trust the new one only: without
        a refusal."""
        old, self._authority = self._authority, self._other()
        since = time.monotonic()
        self._trust(old, self._authority)
        self._server.present(self._certificate(), self._authority)
        for trusted in ((old, self._authority), (self._authority,)):
            self._trust(*trusted)
            self._interrupt()
            self._changes.see(*self._kins)
        refused = [error.line for kin in self._kins
                   for error in kin.errors(since) if is_of_tls(error.line)]
        self._context.expect(not refused, f"{refused}")

    def withdraw_trust(self):
        """The server would resume the session, so nobody would ask for its
        certificate: the session ends with the trust."""
        since = time.monotonic()
        self._trust(self._other())
        self._interrupt()
        self._mend_when_refused(since)

    def _interrupt(self):
        """Until an attempt to connect has failed: a kubeconfig is read again
        after that, not after the end of a connection."""
        since = time.monotonic()
        self._relay.refuse()
        self._changes.write(5)
        for kin in self._kins:
            kin.wait_errors(2, since)
        self._relay.accept()

    def _mend_when_refused(self, since):
        for kin in self._kins:
            kin.wait_errors(1, since, is_of_tls)
        self._trust(self._authority)
        self._changes.write(5)
        self._changes.see(*self._kins)

    def _other(self):
        return Authority(self._context.cluster.directory,
                         self._context.unused_name())

    def _certificate(self):
        return self._authority.issue(self._context.unused_name(), NAMES)


def is_of_tls(line):
    return line["class"] == "tls"


# ---------------------------------------------------------------- the proxy

@scenario(ways=(), group="waiting")
def through_a_proxy(context):
    """To a server whose name the proxy alone can resolve, with each kind of
    credential; the proxy is that of the environment, then that of the
    kubeconfig. It cuts each connection once."""
    port, authority = context.cluster.apiserver.port, context.cluster.authority
    account = account_settings(context)
    certificate = authority.issue(f"{context.unused_name()}-user",
                                  groups=[MASTERS])
    with Tunnel(new_token()) as tunnel:
        url = tunnel.url(tunnel.password)
        note_proxy_secrets(context, url)
        for proxy_url, variable in (("", url), (url, tunnel.url())):
            config = Kubeconfig(context)
            plugin = Plugin(context, config, port, HOST, **account)
            fields = {"proxy-url": proxy_url} if proxy_url else {}
            config.write({"e2e": server_at(context, port, HOST, **fields)}, {
                "file": token_file(context),
                "certificate": {
                    "client-certificate": config.put("a.crt", certificate),
                    "client-key": config.put("a.key", authority.issued_key)},
                "exec": plugin.user})
            for user in ("file", "certificate", "exec"):
                follow_through(context, config, user, tunnel, variable,
                               plugin)
        context.expect(set(tunnel.opened) == {f"{HOST}:{port}"}
                       and not tunnel.refused,
                       f"{tunnel.opened}, {tunnel.refused} refused")


def environment_of(proxy_url):
    return {"HTTPS_PROXY": proxy_url, "https_proxy": "", "NO_PROXY": "",
            "no_proxy": ""}


def follow_through(context, config, user, tunnel, variable, plugin):
    changes, before = Changes(context), len(tunnel.opened)
    with context.informer("configmaps", "-n", changes.space, "--stats",
                          "--user", user, at=config.access,
                          environment=environment_of(variable)) as kin:
        kin.wait_synced()
        tunnel.cut()
        kin.wait_error()
        changes.write(3)
        changes.see(kin)
        plugin.runs()
        changes.finish(kin, ("connect",))
    context.expect(len(tunnel.opened) >= before + 2, f"{tunnel.opened}")


@scenario(ways=(), group="waiting")
def refused_by_a_proxy(context):
    """407, of which the kubeconfig is mended; then the password changes. By the
    environment it ends a program that is to end."""
    changes, config = Changes(context), Kubeconfig(context)
    port = context.cluster.apiserver.port

    def write(**fields):
        config.write({"e2e": server_at(context, port, HOST, **fields)},
                     {"e2e": token_file(context)})

    with Tunnel(new_token()) as tunnel:
        write(**{"proxy-url": tunnel.url()})
        with context.informer("configmaps", "-n", changes.space, "--stats",
                              at=config.access) as kin:
            for round_ in range(2):
                since = time.monotonic()
                if round_:
                    tunnel.password = new_token()
                    tunnel.cut()
                    changes.write(5)
                errors = kin.wait_errors(2, since if round_ else 0,
                                         lambda line: line["class"] == "auth")
                context.expect(all("407" in e.line["message"] for e in errors),
                               f"{errors}")
                write(**{"proxy-url": tunnel.url(tunnel.password)})
                kin.wait_synced()
                changes.see(kin)
            changes.finish(kin, ("auth", "connect"))
        write()
        with context.informer("configmaps", "-n", changes.space, "--once",
                              at=config.access, environment=environment_of(
                                  tunnel.url(context.secret(new_token())))
                              ) as kin:
            status = kin.wait_end()
        context.expect(status == 1 and "407" in kin.standard_error().decode(),
                       f"{status}: {kin.describe()}")
        context.expect_legal(kin)
