# SPDX-License-Identifier: MIT
"""An HTTP proxy on loopback that knows CONNECT, and wants a password."""

import base64
import contextlib
import selectors
import socket
import socketserver
import threading

HEAD_BYTES = 1 << 16
CHUNK = 1 << 16
# A name that only the proxy can resolve; the API server's certificate has it.
HOST = "kubernetes"


class Tunnel:
    """A context manager. `opened` has the target of each tunnel, `refused`
    counts the answers 407."""

    def __init__(self, password):
        self.password = password
        self.opened = []
        self.refused = 0
        self._lock = threading.Lock()
        self._sockets = set()
        tunnel = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                with contextlib.suppress(OSError):
                    tunnel.serve(self.request)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0),
                                                       Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever,
                         daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self.cut()

    def url(self, password=None):
        """Without a password it names no user."""
        user = f"e2e:{password}@" if password else ""
        return f"http://{user}127.0.0.1:{self.port}"

    def cut(self):
        """Ends all tunnels; new ones are welcome."""
        with self._lock:
            for each in self._sockets:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def serve(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            data = client.recv(CHUNK)
            if not data or len(head) > HEAD_BYTES:
                return
            head += data
        line, *fields = head.split(b"\r\n\r\n")[0].decode().split("\r\n")
        method, target, _ = line.split(" ")
        host, _, port = target.rpartition(":")
        if not self._is_authorized(fields):
            self.refused += 1
            _answer(client, "407 Proxy Authentication Required",
                    'Proxy-Authenticate: Basic realm="e2e"')
        elif method != "CONNECT" or host != HOST:
            _answer(client, "502 Bad Gateway")
        else:
            self.opened.append(target)
            with socket.create_connection(("127.0.0.1", int(port))) as server:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                self._forward(client, server)

    def _is_authorized(self, fields):
        wanted = base64.b64encode(f"e2e:{self.password}".encode()).decode()
        values = {name.strip().lower(): value.strip() for name, _, value in
                  (field.partition(":") for field in fields)}
        return values.get("proxy-authorization") == f"Basic {wanted}"

    def _forward(self, *pair):
        with self._lock:
            self._sockets.update(pair)
        try:
            with selectors.DefaultSelector() as selector:
                for each, other in zip(pair, reversed(pair)):
                    selector.register(each, selectors.EVENT_READ, other)
                while True:
                    for key, _ in selector.select():
                        data = key.fileobj.recv(CHUNK)
                        if not data:
                            return
                        key.data.sendall(data)
        finally:
            with self._lock:
                self._sockets.difference_update(pair)


def _answer(client, status, *fields):
    lines = [f"HTTP/1.1 {status}", *fields, "Content-Length: 0",
             "Connection: close", "", ""]
    client.sendall("\r\n".join(lines).encode())
