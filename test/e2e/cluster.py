# SPDX-License-Identifier: MIT
"""A real etcd, kube-apiserver and kubectl proxy on loopback.

Each can be ended and started again on the same port with the same data, which
is what most scenarios are about. All files are in one temporary directory.
"""

import base64
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from api import Api
from process import Process

START_TIMEOUT_S = 90
PORT_ATTEMPTS = 5
TOKEN = "e2e-token"


class StartError(Exception):
    pass


class Cluster:
    """A context manager; nothing runs before `with` and nothing after it."""

    def __init__(self, servers):
        self._servers = servers
        self._directory = None
        self._ports = {}
        self.etcd = None
        self.apiserver = None
        self.proxy = None
        self.api = None

    def __enter__(self):
        self._directory = pathlib.Path(tempfile.mkdtemp(prefix="kin-e2e-"))
        try:
            self._write_keys()
            self._on_free_ports(("etcd", "etcd-peer"), self.start_etcd)
            self._on_free_ports(("apiserver",), self.start_apiserver)
            self._write_kubeconfig()
            self._on_free_ports(("proxy",), self.start_proxy)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        for process in (self.proxy, self.apiserver, self.etcd):
            if process:
                process.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    @property
    def directory(self):
        return self._directory

    @property
    def url(self):
        """Where kinformer finds the API server: the proxy, plain HTTP."""
        return f"http://127.0.0.1:{self._ports['proxy']}"

    # ---- etcd

    def start_etcd(self):
        client = f"http://127.0.0.1:{self._ports['etcd']}"
        peer = f"http://127.0.0.1:{self._ports['etcd-peer']}"
        self.etcd = Process("etcd", [
            self._servers.etcd, "--name=e2e", "--log-level=warn",
            f"--data-dir={self._directory / 'etcd'}", "--unsafe-no-fsync",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=e2e={peer}",
        ], self._directory)
        self._await(self.etcd, f"{client}/health")

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
            f"http://127.0.0.1:{self._ports['etcd']}/v3/{method}",
            json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.loads(response.read())

    # ---- API server

    def start_apiserver(self):
        directory = self._directory
        port = self._ports["apiserver"]
        self.apiserver = Process("kube-apiserver", [
            self._servers.apiserver,
            f"--etcd-servers=http://127.0.0.1:{self._ports['etcd']}",
            # The scenarios decide what is compacted and when.
            "--etcd-compaction-interval=0",
            "--bind-address=127.0.0.1", f"--secure-port={port}",
            f"--cert-dir={directory / 'certificates'}",
            f"--service-account-key-file={directory / 'service-account.key'}",
            "--service-account-signing-key-file="
            f"{directory / 'service-account.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--authorization-mode=AlwaysAllow",
            f"--token-auth-file={directory / 'tokens.csv'}",
            "--disable-admission-plugins=ServiceAccount",
            "--anonymous-auth=false",
            # Recorded, never connected to; without it a machine that has no
            # route to anywhere cannot start the server.
            "--advertise-address=192.0.2.1",
        ], directory)
        self._await(self.apiserver, f"https://127.0.0.1:{port}/readyz")
        if self.api:
            self.api.close()
        self.api = Api(port, TOKEN, self._certificate())

    def kill_apiserver(self):
        self.apiserver.kill()

    def restart_apiserver(self):
        self.kill_apiserver()
        self.start_apiserver()

    def _certificate(self):
        return self._directory / "certificates" / "apiserver.crt"

    # ---- proxy

    def start_proxy(self):
        self.proxy = Process("kubectl-proxy", [
            self._servers.kubectl, "proxy", f"--port={self._ports['proxy']}",
            f"--kubeconfig={self._directory / 'kubeconfig'}",
        ], self._directory)
        self._await(self.proxy, f"{self.url}/readyz")

    def kill_proxy(self):
        self.proxy.kill()

    # ---- helpers

    def _write_keys(self):
        subprocess.run(
            ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout",
             "-out", str(self._directory / "service-account.key")],
            check=True, stdin=subprocess.DEVNULL)
        (self._directory / "tokens.csv").write_text(
            f"{TOKEN},e2e,e2e,system:masters\n", encoding="ascii")

    def _write_kubeconfig(self):
        # JSON is YAML.
        (self._directory / "kubeconfig").write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
            "clusters": [{"name": "e2e", "cluster": {
                "server": f"https://127.0.0.1:{self._ports['apiserver']}",
                "insecure-skip-tls-verify": True}}],
            "users": [{"name": "e2e", "user": {"token": TOKEN}}],
            "contexts": [{"name": "e2e",
                          "context": {"cluster": "e2e", "user": "e2e"}}],
        }), encoding="utf-8")

    def _on_free_ports(self, names, start):
        """Runs start with fresh ports; again if somebody else was quicker."""
        for attempt in range(PORT_ATTEMPTS):
            self._ports.update(zip(names, free_ports(len(names))))
            try:
                return start()
            except StartError as error:
                if (attempt + 1 == PORT_ATTEMPTS
                        or "address already in use" not in str(error)):
                    raise
        raise AssertionError("unreachable")

    def _await(self, process, url):
        """Returns when the process answers 200; StartError if it ends first."""
        insecure = ssl._create_unverified_context()
        request = urllib.request.Request(
            url, headers={"Authorization": f"Bearer {TOKEN}"})
        deadline = time.monotonic() + START_TIMEOUT_S
        answer = "nothing"
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(request, timeout=5,
                                            context=insecure) as response:
                    response.read()
                    return
            except (urllib.error.URLError, OSError) as error:
                answer = error
            # Until the next try, watch for the early end that a taken port
            # or a bad flag causes.
            if process.wait(0.05) is not None:
                process.kill()
                raise StartError(
                    f"{process.name} ended with status "
                    f"{process.exit_status()}:\n{process.log_tail()}")
        process.kill()
        raise StartError(f"{process.name} not ready in {START_TIMEOUT_S} s; "
                         f"{url}: {answer}\n{process.log_tail()}")


def free_ports(count):
    """Distinct loopback ports that are free now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()
