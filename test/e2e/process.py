# SPDX-License-Identifier: MIT
"""Child processes that never outlive the harness."""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import time

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


# As many bytes are read at once, and as often it is looked whether there are any.
CHUNK = 1 << 16
LOOK_EVERY_MS = 50


def timed_lines(pipe):
    """Yields (unseen_at, at, line) for each line: it was not in the pipe at the
    first time, and was read at the second. They lie apart if this process did
    not run in between."""
    rest, unseen_at = b"", time.monotonic()
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    while True:
        looked_at = time.monotonic()
        if not poll.poll(LOOK_EVERY_MS):
            unseen_at = looked_at
            continue
        looked_at = time.monotonic()
        data = os.read(pipe.fileno(), CHUNK)
        at = time.monotonic()
        *lines, rest = (rest + data).split(b"\n")
        yield from ((unseen_at, at, line + b"\n") for line in lines)
        if not data:
            if rest:
                yield unseen_at, at, rest
            return
        if len(data) < CHUNK:  # there was nothing more
            unseen_at = looked_at


def _die_with_parent():
    """Runs in the child: even a harness killed by SIGKILL leaves nothing.

    The signal comes when the *thread* that started the child ends, so a child
    is started from the main thread, or from one that outlives it.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """A child with its output in a log file, ended by its id."""

    def __init__(self, name, argv, directory, stdout=None, environment=None,
                 stdin=None):
        """Starts argv. stdout is None (to the log) or subprocess.PIPE, stdin
        None (there is none) or subprocess.PIPE."""
        self.name = name
        self.log_path = directory / f"{name}.log"
        self._log = open(self.log_path, "ab")
        # Before it starts: it may write at once.
        self.log_start = os.fstat(self._log.fileno()).st_size
        self._popen = subprocess.Popen(
            [str(a) for a in argv], stdin=stdin or subprocess.DEVNULL,
            stdout=stdout or self._log, stderr=self._log, cwd=directory,
            env={**os.environ, **(environment or {})},
            # An interrupt from the terminal is the harness's to handle.
            start_new_session=True, preexec_fn=_die_with_parent)

    @property
    def pid(self):
        return self._popen.pid

    @property
    def stdout(self):
        """With subprocess.PIPE, the output; whoever reads it closes it."""
        return self._popen.stdout

    def write(self, string):
        """To its standard input, which has to be subprocess.PIPE."""
        self._popen.stdin.write(string.encode())
        self._popen.stdin.flush()

    def end_input(self):
        """Of its standard input, which has to be subprocess.PIPE."""
        self._popen.stdin.close()

    def is_running(self):
        return self._popen.poll() is None

    def exit_status(self):
        """The exit status, negative for a signal, None while it runs."""
        return self._popen.poll()

    def wait(self, timeout_s):
        """Waits for the end; returns the exit status, or None if it runs on."""
        try:
            return self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def signal(self, number):
        self._popen.send_signal(number)

    def pause(self):
        self.signal(signal.SIGSTOP)

    def resume(self):
        self.signal(signal.SIGCONT)

    def kill(self):
        """Ends it at once, as a power failure would; no-op if it has ended."""
        self._popen.kill()
        self._popen.wait()
        if self._popen.stdin:
            with contextlib.suppress(BrokenPipeError):
                self._popen.stdin.close()
        self._log.close()

    def stop(self, number, timeout_s):
        """Asks it to end, kills it after the timeout; returns the status."""
        self.signal(number)
        status = self.wait(timeout_s)
        self.kill()
        return status

    def log_tail(self, lines=30):
        text = self.log_path.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:])
