# SPDX-License-Identifier: MIT
"""How kinformer reaches the API server."""

import contextlib
import dataclasses

from relay import Relay


@dataclasses.dataclass(frozen=True)
class Access:
    """What kinformer is told of a server: where it is, and who is asking.

    url: "" if the arguments, or the environment, say where.
    """
    url: str
    arguments: tuple = ()


class Proxy:
    """Plain HTTP through kubectl proxy, which brings the credentials."""

    def __init__(self, cluster):
        self._proxy = cluster.proxy
        self.port = cluster.proxy.port
        self.access = self.access_at(self.port)

    @staticmethod
    def access_at(port):
        return Access(f"http://127.0.0.1:{port}")

    @contextlib.contextmanager
    def severable(self):
        """Within it, sever() and restore() may be called."""
        try:
            yield
        finally:
            if not self._proxy.is_running():
                self._proxy.start()

    def sever(self):
        """Ends all connections; new ones are refused until restore()."""
        self._proxy.kill()

    def restore(self):
        self._proxy.start()


class Lists(Proxy):
    """The same, and lists, in pages, in place of streams."""

    @staticmethod
    def access_at(port):
        return Access(f"http://127.0.0.1:{port}", ("--no-watch-list",))


class Direct:
    """TLS to the API server itself, with a token."""

    def __init__(self, cluster):
        self._relay = None
        self._arguments = ("--token-file", str(cluster.token_file),
                           "--certificate-authority",
                           str(cluster.authority.certificate))
        self.port = cluster.apiserver.port
        self.access = self.access_at(self.port)

    def access_at(self, port):
        return Access(f"https://127.0.0.1:{port}", self._arguments)

    @contextlib.contextmanager
    def severable(self):
        """As above; a relay of bytes is in between meanwhile."""
        with Relay(self.port) as self._relay:
            self.access = self.access_at(self._relay.port)
            yield

    def sever(self):
        self._relay.refuse()

    def restore(self):
        self._relay.accept()


WAYS = {"proxy": Proxy, "tls": Direct, "lists": Lists}
STREAMS = ("proxy", "tls")
