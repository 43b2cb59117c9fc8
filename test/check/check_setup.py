#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what `./dev setup` says on a machine without apt-get: the command of
its package manager with the names of its packages, each package once; and that
dev knows the names of every package that it may ask for.
Usage: check_setup.py SOURCE_DIR
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import report

COMMANDS = {"dnf": "dnf install", "apk": "apk add", "pacman": "pacman -S",
            "brew": "brew install"}
# One name of each manager that no other has for the same package.
SPECIAL = {"dnf": "gcc-c++", "apk": "openssl-dev", "pacman": "ninja",
           "brew": "openssl@3"}
TOOLS = ["bash", "dirname", "env", "cat"]


def say(source, manager):
    """The words of `./dev setup` where only `manager` is."""
    with tempfile.TemporaryDirectory() as temporary:
        path = pathlib.Path(temporary)
        for tool in TOOLS:
            (path / tool).symlink_to(shutil.which(tool))
        if manager:
            (path / manager).write_text("#!/bin/sh\n")
            (path / manager).chmod(0o755)
        done = subprocess.run([source / "dev", "setup"], capture_output=True,
                              text=True, check=False, timeout=60,
                              env={**os.environ, "PATH": str(path)})
        return done.returncode, done.stderr.strip().split("\n")[-1]


def problems_of(source):
    text = (source / "dev").read_text()
    rows = [line.split() for line in
            re.search(r"equivalents='\n(.*?)'", text, re.S).group(1).split("\n")]
    asked = set(re.findall(r"\b(?:cmd|pc|hdr|clang):[^\s=]*=([\w.+-]+)", text))
    problems = [f"{name} has no row" for name in
                sorted(asked - {row[0] for row in rows})]
    problems += [f"{row}: not five names" for row in rows if len(row) != 5]
    for manager, command in COMMANDS.items():
        status, words = say(source, manager)
        names = words.partition(command)[2].split()
        if status == 0 or not names:
            problems.append(f"{manager}: status {status}, {words!r}")
        if len(names) != len(set(names)) or "-" in names:
            problems.append(f"{manager}: {names}")
        if SPECIAL[manager] not in names:
            problems.append(f"{manager}: no {SPECIAL[manager]} in {names}")
    status, words = say(source, None)
    if status == 0 or "equivalents of these Debian packages: gcc" not in words:
        problems.append(f"no manager: status {status}, {words!r}")
    return problems


def main():
    problems = problems_of(pathlib.Path(sys.argv[1]).resolve())
    return report.end(problems)


if __name__ == "__main__":
    sys.exit(main())
