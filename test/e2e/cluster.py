# SPDX-License-Identifier: MIT
"""A real etcd, kube-apiserver and kubectl proxy on loopback.

Each can be ended and started again on the same port with the same data, which
is what many scenarios are about. All files are in one temporary directory.
"""

import base64
import contextlib
import json
import pathlib
import secrets
import shutil
import tempfile
import urllib.request

from apiserver import ApiServer, KubectlProxy
from pki import Authority, make_key
from process import Process
from ready import await_answer, on_free_ports

MASTERS = "system:masters"


class Cluster:
    """A context manager; nothing runs before `with` and nothing after it."""

    def __init__(self, servers):
        self._servers = servers
        self._directory = None
        self._etcd_ports = []
        self._spare = None
        self.etcd = None
        self.apiserver = None
        self.proxy = None
        self.api = None
        self.authority = None
        # Of the user who may do everything, and of one who may do nothing.
        self.token = new_token()
        self.nobody_token = new_token()
        self.token_file = None

    def __enter__(self):
        self._directory = pathlib.Path(tempfile.mkdtemp(prefix="kin-e2e-"))
        try:
            make_key(self._directory / "service-account.key")
            self.authority = Authority(self._directory, "authority")
            self.token_file = self._directory / "token"
            self.token_file.write_text(self.token + "\n", "ascii")
            on_free_ports(2, self._start_etcd_at)
            self.apiserver = self._make_apiserver("kube-apiserver")
            self.apiserver.start()
            self.api = self.apiserver.client()
            self.proxy = self.make_proxy("kubectl-proxy", self.apiserver)
            self.proxy.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        for server in (self.proxy, self._spare, self.apiserver, self.etcd):
            if server:
                server.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def directory(self):
        return self._directory

    @property
    def secrets(self):
        """What nothing but a request may ever contain."""
        return [self.token, self.nobody_token]

    # ---- etcd

    def start_etcd(self):
        self._start_etcd_at(self._etcd_ports)

    @property
    def _etcd_url(self):
        return f"http://127.0.0.1:{self._etcd_ports[0]}"

    def _start_etcd_at(self, ports):
        self._etcd_ports = ports
        client, peer = (f"http://127.0.0.1:{port}" for port in ports)
        self.etcd = Process("etcd", [
            self._servers.etcd, "--name=e2e", "--log-level=warn",
            f"--data-dir={self._directory / 'etcd'}", "--unsafe-no-fsync",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=e2e={peer}",
        ], self._directory)
        await_answer(self.etcd, f"{client}/health")

    def compact(self):
        """Drops etcd's history up to now; returns the revision kept.

        The API server's own watch cache is not touched by this: to forget the
        history there too, restart it.
        """
        everything = {"key": base64.b64encode(b"\0").decode(),
                      "range_end": base64.b64encode(b"\0").decode(),
                      "count_only": True}
        revision = self._etcd_call("kv/range", everything)["header"]["revision"]
        self._etcd_call("kv/compaction",
                        {"revision": revision, "physical": True})
        return int(revision)

    def _etcd_call(self, method, body):
        request = urllib.request.Request(
            f"{self._etcd_url}/v3/{method}",
            json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.loads(response.read())

    def back_up(self):
        """Returns what restore() takes, while etcd goes on."""
        self.etcd.kill()
        backup = pathlib.Path(tempfile.mkdtemp(dir=self._directory)) / "etcd"
        shutil.copytree(self._directory / "etcd", backup)
        self.start_etcd()
        return backup

    def restore(self, backup):
        """As after a disaster: all that was written since is gone, and its
        versions are given once more."""
        self.apiserver.kill()
        self.etcd.kill()
        shutil.rmtree(self._directory / "etcd")
        shutil.move(backup, self._directory / "etcd")
        self.start_etcd()
        self.apiserver.start()
        self.api.close()

    # ---- API servers and proxies

    def restart_apiserver(self):
        self.apiserver.restart()
        self.api.close()

    def spare_apiserver(self):
        """A second API server of the same objects, started when asked for."""
        if not self._spare:
            self._spare = self._make_apiserver("spare-apiserver")
            self._spare.start()
        return self._spare

    @contextlib.contextmanager
    def special_apiserver(self, name, *options, tokens=None):
        """One more, of the same objects, with options, and perhaps tokens, of
        its own."""
        server = self._make_apiserver(f"apiserver-{name}", options)
        server.accept(tokens)
        server.start()
        try:
            yield server
        finally:
            server.kill()

    def drop_spare(self):
        """The next who asks for it gets a new one."""
        self._spare.kill()
        self._spare = None

    def _make_apiserver(self, name, options=()):
        return ApiServer(name, self._servers.apiserver, self._directory,
                         self._etcd_url, self.authority, {
                             self.token: ("e2e", MASTERS),
                             self.nobody_token: ("nobody", "nobodies")},
                         options)

    def make_proxy(self, name, apiserver):
        """A KubectlProxy that is yet to be started."""
        return KubectlProxy(name, self._servers.kubectl, self._directory,
                            apiserver, self.token)

    def repair(self):
        """Starts what does not run: one scenario's failure must not be the
        next one's reason."""
        if not self.etcd.is_running():
            self.start_etcd()
        for server in (self.apiserver, self.proxy):
            if not server.is_running():
                server.start()


def new_token():
    return f"e2e-{secrets.token_hex(24)}"
