#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds libssl.a and libcrypto.a with OpenSSL's Configure and make, outside
the source tree. Puts them, and the headers that this generates, where Meson
looks for them. Usage: build.py WORK_DIR OUT_DIR SOURCE_DIR OPENSSLDIR PERL
MAKE CC...
"""

import os
import pathlib
import shutil
import subprocess
import sys

OPTIONS = ["no-shared", "no-apps", "no-docs", "no-engine", "no-legacy",
           "no-module", "no-quic", "no-tests"]


def main():
    work, out, source = (pathlib.Path(name).resolve() for name in sys.argv[1:4])
    openssldir, perl, make = sys.argv[4:7]
    # Not the flags of the program's build, such as sanitizers.
    env = {name: value for name, value in os.environ.items()
           if name not in ("CFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS")}
    env["CC"] = " ".join(sys.argv[7:])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    log = work / "build.log"
    with log.open("w") as lines:
        for command in (
                [perl, source / "Configure", *OPTIONS, "-fPIC",
                 "-fvisibility=hidden", f"--openssldir={openssldir}"],
                [make, f"-j{os.cpu_count() or 1}", "build_libs"]):
            done = subprocess.run(command, cwd=work, env=env, stdout=lines,
                                  stderr=subprocess.STDOUT)
            if done.returncode != 0:
                print(log.read_text()[-4000:], f"failed; see {log}", sep="\n")
                return 1
    shutil.copytree(work / "include", out / "include", dirs_exist_ok=True)
    for name in ("libssl.a", "libcrypto.a"):
        shutil.copy(work / name, out)
    (out / "openssl-is-built.h").touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
