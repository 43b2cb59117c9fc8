# SPDX-License-Identifier: MIT
"""Runs the kinformer program and folds its lines as they come."""

import contextlib
import pathlib
import signal
import subprocess
import threading
import time

from bounds import Seen, leaks
from fold import Fold
from process import Process, timed_lines

# The program under test is built with sanitizers and shares two cores with the
# servers: long enough never to be the reason of a failure, short enough to end
# one that hangs.
WAIT_S = 120
STOP_S = 30

SANITIZER_REPORTS = (b"ERROR: AddressSanitizer", b"ERROR: LeakSanitizer",
                     b"runtime error:")


class Failure(Exception):
    """A scenario's expectation did not hold."""


class Kinformer:
    """A context manager around one run of the program."""

    takes_commands = False

    def __init__(self, program, access, arguments, directory, fold=None,
                 secrets=(), environment=None, name="kinformer"):
        """secrets: a list of what it may never show, which may grow while it
        runs. name: that of its log, which may belong to one process at a time.
        """
        self.fold = fold or Fold()
        self.exit_status = None
        self.seen = []  # every line, as a Seen
        self.leaks = []
        self.started_at = 0.0
        server = ["--server", access.url] if access.url else []
        self._argv = [program, *arguments, *server, *access.arguments]
        self._directory = directory
        self._secrets = secrets
        self._known = len(secrets)  # that each line was searched for
        self._printed = []
        self._environment = environment or {}
        self._name = name
        self._changed = threading.Condition()
        self._ended = False

    def __enter__(self):
        self.started_at = time.monotonic()
        commands = subprocess.PIPE if self.takes_commands else None
        self._process = Process(self._name, self._argv, self._directory,
                                stdout=subprocess.PIPE, stdin=commands,
                                environment={
            # Nothing of the machine's own configuration takes part.
            "KUBECONFIG": "/dev/null", "HOME": str(self._directory),
            "ASAN_OPTIONS": "detect_leaks=1",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
            **self._environment,
        })
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._reader.join()

    def _read(self):
        try:
            with self._process.stdout as pipe:
                for unseen_at, at, raw in timed_lines(pipe):
                    if not self.seen:
                        self.check_command_line()
                    found = leaks("standard output", raw,
                                  self._secrets[:self._known])
                    self._printed.append(raw)
                    with self._changed:
                        line = self.fold.feed(raw)
                        if line:
                            self.seen.append(Seen(at, line, unseen_at))
                        self.leaks += found
                        self._changed.notify_all()
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def wait_for(self, what, predicate, timeout_s=WAIT_S):
        """Returns when predicate(fold) holds, tried after every line."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while not predicate(self.fold):
                left = deadline - time.monotonic()
                if self._ended:
                    raise Failure(f"kinformer ended before {what}\n"
                                  f"{self.describe()}")
                if left <= 0 or not self._changed.wait(left):
                    raise Failure(f"no {what} within {timeout_s} s\n"
                                  f"{self.describe()}")

    def wait_synced(self):
        self.wait_for("synced line", lambda fold: fold.synced)

    def wait_error(self, count=1):
        self.wait_for("error line", lambda fold: len(fold.errors) >= count)

    def wait_line(self, what, predicate, since=0.0, timeout_s=WAIT_S):
        """Returns the first line since then of which predicate(line) holds."""
        looked_at = 0
        found = None

        def look(_):
            nonlocal looked_at, found
            while not found and looked_at < len(self.seen):
                seen = self.seen[looked_at]
                looked_at += 1
                if seen.at >= since and predicate(seen.line):
                    found = seen
            return found

        self.wait_for(what, look, timeout_s)
        return found

    def wait_errors(self, count, since, predicate=lambda line: True,
                    timeout_s=WAIT_S):
        """Returns the first so many error lines since then that are meant."""
        def matching():
            return [error for error in self.errors(since)
                    if predicate(error.line)]

        self.wait_for(f"{count} error lines",
                      lambda _: len(matching()) >= count, timeout_s)
        return matching()[:count]

    def errors(self, since=0.0):
        with self._changed:
            return [seen for seen in self.seen
                    if seen.line["event"] == "error" and seen.at >= since]

    def wait_object(self, key, obj):
        """Waits until this version of the object, or a later one, is seen."""
        meta = obj["metadata"]

        def seen(fold):
            entry = fold.entries.get(key)
            return (entry and entry.uid == meta["uid"]
                    and int(entry.version) >= int(meta["resourceVersion"]))

        self.wait_for(f"{key} at version {meta['resourceVersion']}", seen)

    def wait_end(self, timeout_s=WAIT_S):
        """Waits until it ends by itself; returns its exit status."""
        status = self._process.wait(timeout_s)
        if status is None:
            raise Failure(f"still running after {timeout_s} s\n"
                          f"{self.describe()}")
        self._finish(status)
        return status

    def stop(self, number=signal.SIGINT):
        """Interrupts it; it has to end with 0, having printed whole lines."""
        self.check_command_line()
        self._process.signal(number)
        status = self._process.wait(STOP_S)
        if status is None:
            raise Failure(f"did not end within {STOP_S} s of the signal\n"
                          f"{self.describe()}")
        self._finish(status)
        if status != 0:
            raise Failure(f"exit status {status} after the signal\n"
                          f"{self.describe()}")

    def check_command_line(self):
        """What everybody on the machine can read of it while it runs."""
        path = pathlib.Path(f"/proc/{self._process.pid}/cmdline")
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            self.leaks += leaks("/proc/PID/cmdline", path.read_bytes(),
                                self._secrets)

    def _finish(self, status):
        self._reader.join()
        self._process.kill()
        self.exit_status = status
        report = self.standard_error()
        self.leaks += leaks("standard error", report, self._secrets)
        self.leaks += leaks("standard output", b"".join(self._printed),
                            self._secrets, self._known)
        if any(mark in report for mark in SANITIZER_REPORTS):
            raise Failure("a sanitizer reported\n"
                          + report.decode(errors="replace"))

    def standard_error(self):
        with open(self._process.log_path, "rb") as log:
            log.seek(self._process.log_start)
            return log.read()

    def describe(self):
        fold = self.fold
        tail = self.standard_error().decode(errors="replace")[-3000:]
        return "\n".join(
            [f"  {len(fold.entries)} entries, {len(fold.changes)} changes, "
             f"synced {fold.synced}",
             *(f"  {line}" for line in fold.relists[-3:] + fold.errors[-5:]),
             *(f"  {text}" for text in fold.violations[:5]),
             f"  standard error: {tail}"])
