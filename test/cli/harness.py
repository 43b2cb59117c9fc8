# SPDX-License-Identifier: MIT
"""What the suite runs programs and servers with."""

import http.server
import json
import os
import queue
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

# Only reached when something hangs: programs built with sanitizers on a busy
# machine are slow.
WAIT_S = 60

SANITIZER_REPORTS = (b"ERROR: AddressSanitizer", b"ERROR: LeakSanitizer",
                     b"runtime error:", b"Assertion")


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def check_equal(got, expected, what="value"):
    if got != expected:
        raise AssertionError(f"{what}:\n  got      {got!r}\n"
                             f"  expected {expected!r}")


# ---- programs


class Program:
    """One run of a program; its output is read line by line as it comes."""

    def __init__(self, argv, env=None, stdout=subprocess.PIPE,
                 stdin=subprocess.DEVNULL, stderr=subprocess.PIPE):
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": "/nonexistent",
                       "ASAN_OPTIONS": "detect_leaks=1",
                       "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
        environment.update(env or {})
        self.argv = argv
        self.lines = []
        self._process = subprocess.Popen(
            argv, stdin=stdin, stdout=stdout,
            stderr=stderr, env=environment)
        self._error = b""
        self._error_grew = threading.Condition()
        self._output = []
        self._queue = queue.Queue()
        self._readers = []
        if stderr is subprocess.PIPE:
            self._readers.append(
                threading.Thread(target=self._read_error, daemon=True))
        if stdout is subprocess.PIPE:
            self._readers.append(
                threading.Thread(target=self._read_lines, daemon=True))
        for reader in self._readers:
            reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for reader in self._readers:
            reader.join()
        self.end_input()
        if self._process.stdout:
            self._process.stdout.close()
        if self._process.stderr:
            self._process.stderr.close()

    def _read_lines(self):
        for line in self._process.stdout:
            self._output.append(line)
            self._queue.put(line)
        self._queue.put(None)

    def _read_error(self):
        for line in self._process.stderr:
            with self._error_grew:
                self._error += line
                self._error_grew.notify_all()

    @property
    def pid(self):
        return self._process.pid

    def send_line(self, line, newline=b"\n"):
        """To the standard input, which must be a pipe."""
        self._process.stdin.write(line + newline)
        self._process.stdin.flush()

    def end_input(self):
        if self._process.stdin:
            self._process.stdin.close()

    def next_line(self):
        """The next line of output, as bytes without the newline."""
        try:
            line = self._queue.get(timeout=WAIT_S)
        except queue.Empty:
            raise AssertionError(f"no further line after {self.lines[-3:]}")
        if line is None:
            self._queue.put(None)
            status, _, error = self.wait()
            raise AssertionError(f"ended with {status} after "
                                 f"{self.lines[-3:]}, standard error {error!r}")
        check(line.endswith(b"\n"), f"not a whole line: {line!r}")
        self.lines.append(line[:-1])
        return self.lines[-1]

    def next_event(self):
        return json.loads(self.next_line())

    def until(self, event):
        """Reads up to the first line of that event; returns it decoded."""
        while True:
            line = self.next_event()
            if line["event"] == event:
                return line

    def wait_for_error(self, text):
        """Waits until the standard error has this text."""
        with self._error_grew:
            check(self._error_grew.wait_for(lambda: text in self._error, WAIT_S),
                  f"never on standard error: {text!r}, only {self._error!r}")

    def send(self, number):
        self._process.send_signal(number)

    def is_running(self):
        return self._process.poll() is None

    def wait(self):
        """Waits for the end; returns (exit status, rest of output, error)."""
        try:
            status = self._process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running: {self.argv}")
        for reader in self._readers:
            reader.join()
        rest = []
        while not self._queue.empty():
            line = self._queue.get()
            if line is not None:
                rest.append(line)
        check(not any(r in self._error for r in SANITIZER_REPORTS),
              self._error.decode(errors="replace"))
        return status, b"".join(rest), self._error

    def expect_end(self, status, error=b""):
        """Waits for the end, which has to be this one; returns what it printed
        that has not been read yet. `error` None: anything."""
        got, rest, said = self.wait()
        check_equal(got, status, f"exit status, with {said!r}")
        if error is not None:
            check_equal(said, error, "standard error")
        return rest

    def said(self):
        """All that it has printed, on both outputs; after its end."""
        return b"".join(self._output) + self._error

    def interrupt(self, number=signal.SIGINT):
        self.send(number)
        return self.expect_end(0)


class Discreet(Program):
    """A program that never tells these secrets."""

    def __init__(self, argv, secrets, env=None):
        self._secrets = secrets
        super().__init__(argv, env)

    def __exit__(self, *exception):
        super().__exit__(*exception)
        for secret in self._secrets:
            check(secret.encode() not in self.said(),
                  f"{secret} in the output: {self.said()!r}")


def unix_sockets():
    """Two descriptors, such as a service manager's for what a service prints."""
    return [end.detach() for end in socket.socketpair()]


# ---- objects and a server that answers as it is told


def pod(name, version, namespace="default", uid=None, **more):
    meta = {"name": name, "namespace": namespace,
            "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    meta.update(more.pop("metadata", {}))
    return {"metadata": meta, **more}


def pod_list(items, version, **options):
    return json.dumps({"kind": "PodList", "apiVersion": "v1",
                       "metadata": {"resourceVersion": str(version)},
                       "items": items}, **options).encode()


def status_body(code, reason, message):
    return json.dumps({
        "kind": "Status", "apiVersion": "v1", "metadata": {},
        "status": "Failure", "message": message, "reason": reason,
        "code": code}).encode()


class QuietServer(http.server.ThreadingHTTPServer):
    """With an ssl.SSLContext in `context` it speaks TLS."""
    daemon_threads = True
    context = None

    def __init__(self, *arguments):
        self.accepted = []  # when
        super().__init__(*arguments)

    def get_request(self):
        connection, address = super().get_request()
        self.accepted.append(time.monotonic())
        if self.context:
            # The handshake comes with the first read, in the handler's thread.
            connection = self.context.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, request, client_address):
        """A client that hangs up is part of the tests; all else is shown."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, ssl.SSLError)):
            super().handle_error(request, client_address)


class Scripted:
    """An API server that lists what it is given and watches a queue.

    `lists` maps a path to what its lists answer, one after another, the last one
    for ever: bytes, or (status, bytes), or a callable that gets the handler and
    does it itself. A watch that is to begin with what there is (WatchList) is
    refused, so that a list follows. `push()` sends a watch frame to the watch of a path. With an
    ssl.SSLContext it speaks TLS.
    """

    def __init__(self, lists, context=None):
        self.lists = {path: list(answers) for path, answers in lists.items()}
        self.requests = []  # (path, query as a dict, headers)
        self.refused = []   # the same, of refused WatchLists
        self._frames = {}
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        scripted = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                scripted._answer(self)

            def answer(self, status, body, content_type="application/json"):
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = QuietServer(("127.0.0.1", 0), Handler)
        self._server.context = context
        self.port = self._server.server_port
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever,
                                        kwargs={"poll_interval": 0.05},
                                        daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stopped.set()
        for frames in self._frames.values():
            frames.put(None)
        self._server.shutdown()
        self._server.server_close()

    @property
    def accepted(self):
        """When connections came, on the monotonic clock."""
        return self._server.accepted

    def stopped(self):
        """Blocks a handler until the server ends: silence."""
        self._stopped.wait()

    def _queue(self, path):
        with self._lock:
            return self._frames.setdefault(path, queue.Queue())

    def push(self, kind, obj, path="/api/v1/namespaces/default/pods"):
        if not isinstance(obj, bytes):
            obj = json.dumps(obj).encode()
        self._queue(path).put(b'{"type":"%s","object":%s}\n'
                              % (kind.encode(), obj))

    def end_watch(self, path="/api/v1/namespaces/default/pods"):
        self._queue(path).put(None)

    def _answer(self, handler):
        url = urllib.parse.urlsplit(handler.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        request = (url.path, query, dict(handler.headers))
        if "sendInitialEvents" in query:
            self.refused.append(request)
            handler.answer(422, status_body(
                422, "Invalid", "sendInitialEvents: Forbidden"))
            return
        self.requests.append(request)
        if query.get("watch") in ("true", "1"):
            self._watch(handler, url.path)
            return
        answers = self.lists.get(url.path)
        if not answers:
            handler.answer(404, status_body(
                404, "NotFound", "the server could not find the requested "
                "resource"))
            return
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if callable(answer):
            answer(handler)
        elif isinstance(answer, tuple):
            handler.answer(*answer)
        else:
            handler.answer(200, answer)

    def _watch(self, handler, path):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        frames = self._queue(path)
        while not self._stopped.is_set():
            frame = frames.get()
            if frame is None:
                break
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(frame), frame))
        handler.wfile.write(b"0\r\n\r\n")


# ---- kin-apisim


class Simulator:
    """The simulated API server of this project."""

    def __init__(self, program, *arguments):
        self._argv = [program, "--port", "0", *arguments]

    def __enter__(self):
        self._process = subprocess.Popen(
            self._argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        line = self._process.stdout.readline().decode()
        found = re.search(r"listening on (https?://\S+)", line)
        check(found, f"kin-apisim says {line!r}")
        self.url = found.group(1)
        return self

    def __exit__(self, *_):
        self._process.terminate()
        status = self._process.wait()
        self._process.stdout.close()
        check_equal(status, 0, "exit status of kin-apisim")


def until(predicate, what):
    """Waits for something that no event tells about."""
    deadline = time.monotonic() + WAIT_S
    while not predicate():
        check(time.monotonic() < deadline, f"never: {what}")
        time.sleep(0.01)
