# SPDX-License-Identifier: MIT
"""Certificates, and clients that see what TLS does."""

import contextlib
import pathlib
import ssl
import struct
import subprocess
import tempfile

from sim import Closed, Reader, request_bytes


class Certificates:
    """Authorities and certificates that they signed, in a folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.serial = 0

    def path(self, name):
        return str(self.folder / name)

    def _make(self, name, subject, *more):
        self.serial += 1
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-keyout",
             self.path(f"{name}.key"), "-out", self.path(f"{name}.crt"),
             "-subj", f"/CN={subject}", "-set_serial", str(self.serial),
             *more],
            stdin=subprocess.DEVNULL, capture_output=True, check=True)

    def server(self, name="server"):
        """Signed by itself, so that it is its own authority."""
        self._make(name, "kin-apisim", "-addext",
                   "subjectAltName=IP:127.0.0.1")
        return ["--tls-cert", self.path(f"{name}.crt"), "--tls-key",
                self.path(f"{name}.key")]

    def client(self, name):
        self._make(name, name, "-addext", "extendedKeyUsage=clientAuth")

    def trust(self, name="server"):
        return ssl.create_default_context(cafile=self.path(f"{name}.crt"))


@contextlib.contextmanager
def certificates():
    with tempfile.TemporaryDirectory(prefix="kin-apisim-") as folder:
        yield Certificates(folder)


@contextlib.contextmanager
def serving(start, *options):
    """A server with TLS and a client context that trusts it."""
    with certificates() as made:
        sim = start(*made.server(), *options)
        sim.tls = made.trust()
        yield sim


def end_of(sock):
    """What comes before the end, and how it ends."""
    reader = Reader(sock)
    try:
        while True:
            reader.fill()
    except Closed as closed:
        return reader.buffer, str(closed)


class Recorder:
    """TLS in memory over a plain socket, to see the records themselves.

    It also tells a reset from an end, which ssl.SSLSocket does not.
    """

    def __init__(self, sim):
        self.sock = sim.connect_plain()
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = sim.tls.wrap_bio(self.incoming, self.outgoing,
                                    server_hostname="127.0.0.1")
        self.received = b""
        self.reads = []
        self._do(self.tls.do_handshake)

    def _do(self, action):
        while True:
            try:
                return action()
            except ssl.SSLWantReadError:
                self.flush()
                data = self.sock.recv(1 << 16)
                if not data:
                    raise Closed("EOF without close_notify")
                self.received += data
                self.reads.append(len(data))
                self.incoming.write(data)
            finally:
                self.flush()

    def flush(self):
        data = self.outgoing.read()
        if data:
            self.sock.sendall(data)

    def send(self, path):
        self.received, self.reads = b"", []
        self.tls.write(request_bytes("GET", path))
        self.flush()

    def ask(self, path):
        self.send(path)
        return Reader(self).response()

    def close(self):
        self.sock.close()

    def recv(self, size):
        return self._do(lambda: self.tls.read(size))

    def records(self):
        """Type and length of all that came since the request."""
        at, found = 0, []
        while at < len(self.received):
            kind, _, size = struct.unpack_from(">BHH", self.received, at)
            found.append((kind, size))
            at += 5 + size
        assert at == len(self.received)
        return found
