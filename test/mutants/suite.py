# SPDX-License-Identifier: MIT
"""The tests of a build directory, run one at a time outside Meson."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import time

FOLDERS = ("unit", "flow", "model")


@dataclasses.dataclass(frozen=True)
class Test:
    name: str
    command: tuple
    env: tuple


def tests_of(build, names=()):
    """The unit, flow and model tests that Meson knows in `build`; only those of
    `names`, if there are any."""
    listed = json.loads(subprocess.run(
        ["meson", "introspect", "--tests", build], check=True,
        capture_output=True, text=True).stdout)
    found = []
    for test in listed:
        folders = {suite.rpartition(":")[2] for suite in test["suite"]}
        if folders & set(FOLDERS) and (not names or test["name"] in names):
            found.append(Test(test["name"], tuple(test["cmd"]),
                              tuple(sorted(test["env"].items()))))
    return found


def run(test, build, timeout_s, env=()):
    """Returns (passed, seconds); a test that takes too long has not passed."""
    began = time.monotonic()
    process = subprocess.Popen(
        test.command, cwd=pathlib.Path(build), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, **dict(test.env), **dict(env)})
    try:
        passed = process.wait(timeout_s) == 0
    except subprocess.TimeoutExpired:
        passed = False
    finally:
        end_group(process)
    return passed, time.monotonic() - began


def end_group(process):
    """Ends the test and whatever it has started, all in a session of theirs."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
