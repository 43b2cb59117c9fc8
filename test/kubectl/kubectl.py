# SPDX-License-Identifier: MIT
"""kubectl as it is, against a kin-apisim of its own."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "apisim"), str(HERE.parent / "e2e")]

import sim as simulation  # noqa: E402

COMMAND_TIMEOUT_S = 60


class Kubectl:
    """Runs commands of kubectl; ends with close()."""

    def __init__(self, program, apisim, *options):
        self.program = program
        self.sim = simulation.Sim(apisim, *options)
        self.home = tempfile.TemporaryDirectory(prefix="kin-kubectl-")

    def close(self):
        self.home.cleanup()
        self.sim.stop()

    def _command(self, arguments):
        return [str(self.program), "--server",
                f"http://127.0.0.1:{self.sim.port}", *arguments]

    def _environment(self, extra):
        # Neither the user's kubeconfig nor a cache of other servers.
        return {"PATH": os.environ["PATH"], "HOME": self.home.name,
                "TMPDIR": self.home.name, **(extra or {})}

    def run(self, *arguments, stdin=None, environment=None):
        if isinstance(stdin, dict):
            stdin = json.dumps(stdin)
        return subprocess.run(
            self._command(arguments), input=stdin or "", text=True,
            capture_output=True, timeout=COMMAND_TIMEOUT_S,
            cwd=self.home.name, env=self._environment(environment))

    def __call__(self, *arguments, stdin=None, environment=None, errors=""):
        """Standard output of a command that has to succeed, and to say nothing
        but errors on standard error."""
        done = self.run(*arguments, stdin=stdin, environment=environment)
        assert done.returncode == 0, (arguments, done.stderr)
        if errors:
            assert errors in done.stderr, (arguments, done.stderr)
        else:
            assert done.stderr == "", (arguments, done.stderr)
        return done.stdout.strip()

    def refused(self, *arguments, stdin=None):
        """Standard error of a command that has to fail."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode != 0, (arguments, done.stdout)
        return done.stderr

    def apply(self, thing, *arguments, errors=""):
        return self("apply", "-f", "-", *arguments, stdin=thing, errors=errors)

    def get(self, *arguments):
        return json.loads(self("get", *arguments, "-o", "json",
                               "--show-managed-fields"))

    def managers(self, *arguments):
        entries = self.get(*arguments)["metadata"].get("managedFields", [])
        return {(x["manager"], x["operation"]) for x in entries}

    def following(self, *arguments):
        return Following(self._command(arguments), self._environment(None))


class Following:
    """A command whose lines are read as they come."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            text=True, env=environment)
        # A line that never comes ends the command, and so the reading.
        self.watchdog = threading.Timer(COMMAND_TIMEOUT_S, self.process.kill)
        self.watchdog.start()

    def line(self):
        return self.process.stdout.readline().split()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.watchdog.cancel()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
