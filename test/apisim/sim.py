# SPDX-License-Identifier: MIT
"""A running kin-apisim and raw HTTP/1.1 clients for it."""

import json
import pathlib
import select
import signal
import socket
import ssl
import subprocess
import tempfile
import time

WIRE = pathlib.Path(__file__).parent.parent / "wire"
TIMEOUT_S = 20
MERGE = {"Content-Type": "application/merge-patch+json"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadata;"
                     "g=meta.k8s.io;v=v1"}
PARTIAL_LIST = {"Accept": "application/json;as=PartialObjectMetadataList;"
                          "g=meta.k8s.io;v=v1"}


class Response:
    """Status line, headers in order, chunks or body."""

    def __init__(self, status, headers, body, chunks, ended):
        self.status = status
        self.header_list = headers
        self.body = body
        self.chunks = chunks  # None if the body was not chunked
        self.ended = ended    # the body came to its proper end

    @property
    def headers(self):
        return {name.lower(): value for name, value in self.header_list}

    def json(self):
        return json.loads(self.body)

    def lines(self):
        """The JSON documents of a watch."""
        return [json.loads(x) for x in self.body.splitlines() if x.strip()]

    def header_names(self):
        return [name for name, _ in self.header_list]


class Closed(Exception):
    """The server closed or reset the connection."""


class Reader:
    """Reads responses from a socket, keeping what the framing was."""

    def __init__(self, sock):
        self.sock = sock
        self.buffer = b""

    def fill(self):
        try:
            more = self.sock.recv(1 << 20)
        except ssl.SSLEOFError as error:
            raise Closed("EOF without close_notify") from error
        except ConnectionError as error:
            raise Closed(type(error).__name__) from error
        if not more:
            raise Closed("EOF")
        self.buffer += more

    def until(self, mark):
        while mark not in self.buffer:
            self.fill()
        head, self.buffer = self.buffer.split(mark, 1)
        return head

    def exactly(self, count):
        while len(self.buffer) < count:
            self.fill()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def head(self):
        lines = self.until(b"\r\n\r\n").decode().split("\r\n")
        status = int(lines[0].split()[1])
        return status, [tuple(x.split(": ", 1)) for x in lines[1:]]

    def chunk(self):
        """The next chunk; empty at the end of the body."""
        size = int(self.until(b"\r\n"), 16)
        data = self.exactly(size)
        assert self.exactly(2) == b"\r\n"
        return data

    def response(self, head_only=False):
        """One whole response, or as much of it as came."""
        status, headers = self.head()
        names = {name.lower(): value for name, value in headers}
        if head_only or status == 304:
            return Response(status, headers, b"", None, True)
        if "content-length" in names:
            body = self.exactly(int(names["content-length"]))
            return Response(status, headers, body, None, True)
        chunks = []
        ended = False
        try:
            if names.get("transfer-encoding") != "chunked":
                while True:
                    self.fill()
            while True:
                data = self.chunk()
                if not data:
                    ended = True
                    break
                chunks.append(data)
        except Closed:
            if not chunks:
                chunks = [self.buffer]
        return Response(status, headers, b"".join(chunks), chunks, ended)


class Stream:
    """A watch under way."""

    def __init__(self, sim, path, headers=None):
        self.sock = sim.connect()
        self.sock.sendall(request_bytes("GET", path, None, headers))
        self.reader = Reader(self.sock)
        self.status, self.header_list = self.reader.head()
        self.rest = b""

    def chunk(self):
        return self.reader.chunk()

    def event(self):
        """The next event; None at the end of the body."""
        while b"\n" not in self.rest:
            data = self.chunk()
            if not data:
                assert self.rest == b"", self.rest
                return None
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def events(self, count):
        return [self.event() for _ in range(count)]

    def quiet(self, seconds=0.2):
        """Whether nothing comes for a while."""
        if self.rest or self.reader.buffer:
            return False
        if isinstance(self.sock, ssl.SSLSocket):
            # That the socket is readable may be a session ticket.
            self.sock.settimeout(seconds)
            try:
                self.reader.fill()
                return False
            except TimeoutError:
                return True
            finally:
                self.sock.settimeout(TIMEOUT_S)
        return not select.select([self.sock], [], [], seconds)[0]

    def close(self):
        self.sock.close()


def request_bytes(method, path, body=None, headers=None):
    head = {"Host": "sim", **(headers or {})}
    if body is not None:
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        head.setdefault("Content-Type", "application/json")
        head["Content-Length"] = str(len(body))
    lines = [f"{method} {path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in head.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")


class Sim:
    """A kin-apisim process on a free port.

    One with TLS gets an ssl.SSLContext as tls before it is asked anything.
    """

    def __init__(self, program, *arguments):
        self._errors = tempfile.TemporaryFile()
        self._expected_errors = ""
        self.process = subprocess.Popen(
            [program, "--port", "0", *arguments],
            stdout=subprocess.PIPE, stderr=self._errors)
        self.tls = None
        line = self.process.stdout.readline().decode()
        scheme = "https" if "--tls-cert" in arguments else "http"
        assert line.startswith(f"listening on {scheme}://127.0.0.1:"), line
        self.port = int(line.rsplit(":", 1)[1])

    def errors(self):
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def expect_errors(self, text):
        self._expected_errors = text

    def stop(self, number=signal.SIGTERM):
        """Ends the server, which has to end well and to have said nothing."""
        if self._errors.closed:
            return
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            status = self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = "killed"
        self.process.stdout.close()
        errors = self.errors()
        self._errors.close()
        assert (status, errors) == (0, self._expected_errors), (status, errors)

    def connect(self):
        return self.secure(self.connect_plain(), self.tls)

    def secure(self, sock, context):
        """Shakes hands on a connection, unless context is None."""
        if context is None:
            return sock
        try:
            return context.wrap_socket(sock, server_hostname="127.0.0.1",
                                       suppress_ragged_eofs=False)
        except BaseException:
            sock.close()
            raise

    def connect_plain(self):
        sock = socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def raw(self, data):
        """Sends bytes; everything that comes back until the server closes."""
        with self.connect() as sock:
            sock.sendall(data)
            reader = Reader(sock)
            try:
                while True:
                    reader.fill()
            except Closed:
                return reader.buffer

    def ask(self, method, path, body=None, headers=None):
        with self.connect() as sock:
            sock.sendall(request_bytes(method, path, body, headers))
            return Reader(sock).response(method == "HEAD")

    def get(self, path, headers=None):
        return self.ask("GET", path, headers=headers)

    def post(self, path, body=None):
        return self.ask("POST", path, body if body is not None else {})

    def control(self, path, body=None, method="POST"):
        answer = self.ask(method, f"/sim/{path}",
                          body if method == "POST" else None)
        assert answer.status == 200, answer.body
        return answer.json()

    def stats(self):
        return self.control("stats", method="GET")

    def revision(self):
        return int(self.stats()["resourceVersion"])

    def watch(self, path, headers=None):
        return Stream(self, path, headers)

    # Objects.

    def create(self, path, name, **members):
        metadata = {"name": name, **members.pop("metadata", {})}
        answer = self.post(path, {"metadata": metadata, **members})
        assert answer.status == 201, answer.body
        return answer.json()

    def merge(self, path, patch):
        answer = self.ask("PATCH", path, patch, MERGE)
        assert answer.status == 200, answer.body
        return answer.json()

    def delete(self, path):
        answer = self.ask("DELETE", path)
        assert answer.status == 200, answer.body
        return answer.json()


def names(items):
    return [x["metadata"]["name"] for x in items]


def wire(name):
    """A recorded response of a real server."""
    data = (WIRE / f"{name}.http").read_bytes()

    class Recorded:
        def recv(self, _):
            nonlocal data
            part, data = data, b""
            return part
    return Reader(Recorded()).response()


def wait_until(condition, what):
    """Polls another process's state, which has no event to wait for."""
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def one_of(count, holds):
    """Counts up to five times until that holds; the last count. For what the
    kernel hands over at once, which is more if this process stood still."""
    for _ in range(5):
        counted = count()
        if holds(counted):
            break
    return counted


def same_shape(a, b, path="$"):
    """Same members in the same order, same types; values may differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        assert list(a) == list(b), (path, list(a), list(b))
        for key in a:
            same_shape(a[key], b[key], f"{path}.{key}")
    elif isinstance(a, list) and isinstance(b, list):
        for x, y in zip(a, b):
            same_shape(x, y, f"{path}[]")
    else:
        assert type(a) is type(b), (path, a, b)
