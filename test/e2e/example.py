# SPDX-License-Identifier: MIT
"""Runs a program of examples/ against the API server."""

import queue
import subprocess
import threading

from kin import SANITIZER_REPORTS, STOP_S, WAIT_S, Failure
from process import Process


class Example:
    """A context manager around one run of a program."""

    def __init__(self, program, arguments, directory, name, environment=None,
                 has_input=False):
        self.name = name
        self._argv = [program, *arguments]
        self._directory = directory
        self._environment = environment or {}
        self._input = subprocess.PIPE if has_input else None
        self._lines = queue.Queue()

    def __enter__(self):
        self.process = Process(
            self.name, self._argv, self._directory, stdout=subprocess.PIPE,
            stdin=self._input, environment={
                "ASAN_OPTIONS": "detect_leaks=1",
                "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
                **self._environment})
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self._reader.join()

    def _read(self):
        with self.process.stdout as lines:
            for line in lines:
                self._lines.put(line.decode().rstrip("\n"))
        self._lines.put(None)

    def line(self):
        """The next line that it prints."""
        try:
            found = self._lines.get(timeout=WAIT_S)
        except queue.Empty:
            found = None
        if found is None:
            raise Failure(f"{self.name} says nothing more; its log: "
                          f"{self.process.log_path.read_text()[-2000:]}")
        return found

    def expect(self, *lines):
        """The next lines, in any order."""
        said = sorted(self.line() for _ in lines)
        if said != sorted(lines):
            raise Failure(f"{self.name} says {said}, expected {lines}")

    def await_line(self, predicate):
        """Reads up to the first line of which predicate(line) holds."""
        while True:
            line = self.line()
            if predicate(line):
                return line

    def ask(self, line):
        """Writes a line to its input; returns the next one of its output."""
        self.process.write(line + "\n")
        return self.line()

    def end_input(self):
        """The end of its input has to end it, as stop() does."""
        self.process.end_input()
        self._expect_end(self.process.wait(STOP_S))

    def stop(self, number):
        """It has to end with 0, and no sanitizer may have found anything."""
        self._expect_end(self.process.stop(number, STOP_S))

    def _expect_end(self, status):
        said = self.process.log_path.read_bytes()[self.process.log_start:]
        if status != 0 or any(r in said for r in SANITIZER_REPORTS):
            raise Failure(f"{self.name} ended with {status}: {said[-2000:]!r}")
