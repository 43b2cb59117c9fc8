# SPDX-License-Identifier: MIT
"""What each way of consumers.py is made of: commands and expectations."""

import os
import shutil
import subprocess

# OpenSSL takes minutes.
TIMEOUT_S = 1800


class Failed(Exception):
    """A command failed, or something is not as it has to be."""


class Skipped(Exception):
    """A tool is missing."""


def run(*command, cwd=None, **env):
    command = [str(word) for word in command]
    done = subprocess.run(command, cwd=cwd, env=dict(os.environ, **env),
                          capture_output=True, text=True, timeout=TIMEOUT_S,
                          check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: status {done.returncode}\n"
                     f"{done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout


def need(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            raise Skipped(f"no {tool}")


def expect(holds, message):
    if not holds:
        raise Failed(message)


def expect_linked(program, how):
    """Whether the program needs the shared library."""
    need("readelf")
    is_shared = "libkinformer.so" in run("readelf", "-d", program)
    expect(is_shared == (how == "shared"), f"{program}: not linked {how}")
