# SPDX-License-Identifier: MIT
"""A kube-apiserver and a kubectl proxy, each to be ended and started again on
the same port.
"""

import json
import socket
import ssl

from api import Api
from asked import POLICY, asked_by_kinformer
from pki import replace
from process import Process
from ready import await_answer, await_true, on_free_ports

NAMES = "DNS:localhost,DNS:kubernetes,IP:127.0.0.1"


class ApiServer:
    """Several may share one etcd, and then serve the same objects.

    It authenticates by token and by certificate, and authorizes by RBAC; who is
    in the group system:masters may do everything.
    """

    def __init__(self, name, program, directory, etcd_url, authority, tokens,
                 options=()):
        """tokens: token -> (user, group); the first is the harness's own.
        options: more of the program's own."""
        self.name = name
        self.port = 0
        self._program = program
        self._etcd_url = etcd_url
        self.authority = authority
        self._common = directory
        self._directory = directory / name
        self._directory.mkdir(exist_ok=True)
        self.certificate = self._directory / "server.crt"
        self._key = self._directory / "server.key"
        self._process = None
        self._options = options
        self._audit_policy = self._directory / "audit-policy.json"
        self._audit_policy.write_text(json.dumps(POLICY), "ascii")
        self._audit_log = directory / f"{name}-audit.log"
        self._tokens = tokens
        self._token = next(iter(tokens))
        self.accept()
        self.install(authority.issue(f"{name}-server", NAMES), authority)

    def accept(self, more=None):
        """Which tokens are known from the next start on: those of the beginning
        and these, and no others."""
        (self._directory / "tokens.csv").write_text(
            "".join(f"{token},{user},{user},{group}\n" for token, (user, group)
                    in {**self._tokens, **(more or {})}.items()), "ascii")

    # ---- its certificate

    def install(self, certificate, authority):
        """Puts the files there; a server that runs takes them up by itself."""
        replace(self._key, authority.issued_key)
        replace(self.certificate, certificate)
        # Who asks for a server of our authority had better get another one.
        self.is_altered = authority is not self.authority

    def present(self, certificate, authority=None):
        """Replaces the certificate while the server runs.

        Returns when new connections get it, and the time of that.
        """
        self.install(certificate, authority or self.authority)
        wanted = ssl.PEM_cert_to_DER_cert(certificate.read_text("ascii"))
        return await_true("new certificate of the API server",
                          lambda: self._presented() == wanted)

    def _presented(self):
        insecure = ssl._create_unverified_context()
        with socket.create_connection(("127.0.0.1", self.port)) as plain:
            with insecure.wrap_socket(plain) as tls:
                return tls.getpeercert(binary_form=True)

    def client(self, token=None):
        """An Api for whoever has the token; by default the first one."""
        return Api(self.port, token or self._token, self.authority.certificate)

    def asked(self, namespace):
        """Each Asked of kinformer about the namespace, None for all of them
        at once, in order, from the server's first start on."""
        return asked_by_kinformer(self._audit_log.read_text("utf-8"), namespace)

    # ---- its process

    def start(self):
        """On the port it had, or on a free one the first time."""
        if self.port:
            self._start_at([self.port])
        else:
            on_free_ports(1, self._start_at)

    def _start_at(self, ports):
        self.port = ports[0]
        common, own = self._common, self._directory
        self._process = Process(self.name, [
            self._program, f"--etcd-servers={self._etcd_url}",
            # The scenarios decide what is compacted and when.
            "--etcd-compaction-interval=0",
            "--bind-address=127.0.0.1", f"--secure-port={self.port}",
            f"--tls-cert-file={self.certificate}",
            f"--tls-private-key-file={self._key}",
            f"--client-ca-file={self.authority.certificate}",
            f"--service-account-key-file={common / 'service-account.key'}",
            "--service-account-signing-key-file="
            f"{common / 'service-account.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--authorization-mode=RBAC",
            f"--token-auth-file={own / 'tokens.csv'}",
            "--disable-admission-plugins=ServiceAccount",
            "--anonymous-auth=false",
            f"--audit-policy-file={self._audit_policy}",
            f"--audit-log-path={self._audit_log}",
            *self._options,
            # Recorded, never connected to; without it a machine that has no
            # route to anywhere cannot start the server.
            "--advertise-address=192.0.2.1",
        ], common)
        await_answer(self._process, f"https://127.0.0.1:{self.port}/readyz",
                     self._token)

    def kill(self):
        if self._process:
            self._process.kill()

    def restart(self):
        self.kill()
        self.start()

    def pause(self):
        self._process.pause()

    def resume(self):
        self._process.resume()

    def is_running(self):
        return self._process.is_running()


class KubectlProxy:
    """Plain HTTP on loopback, in front of an API server."""

    def __init__(self, name, program, directory, apiserver, token):
        self.name = name
        self.port = 0
        self._program = program
        self._directory = directory
        self._kubeconfig = directory / f"{name}.kubeconfig"
        self._process = None
        # JSON is YAML.
        self._kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
            "clusters": [{"name": "e2e", "cluster": {
                "server": f"https://127.0.0.1:{apiserver.port}",
                "certificate-authority":
                    str(apiserver.authority.certificate)}}],
            "users": [{"name": "e2e", "user": {"token": token}}],
            "contexts": [{"name": "e2e",
                          "context": {"cluster": "e2e", "user": "e2e"}}],
        }), encoding="utf-8")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        """On the port it had, or on a free one the first time."""
        if self.port:
            self._start_at([self.port])
        else:
            on_free_ports(1, self._start_at)

    def _start_at(self, ports):
        self.port = ports[0]
        self._process = Process(self.name, [
            self._program, "proxy", f"--port={self.port}",
            f"--kubeconfig={self._kubeconfig}"], self._directory)
        await_answer(self._process, f"{self.url}/readyz")

    def kill(self):
        if self._process:
            self._process.kill()

    def is_running(self):
        return self._process.is_running()
