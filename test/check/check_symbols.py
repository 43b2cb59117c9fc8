#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what the shared library exports: kin_ functions only, all of those
that the public headers declare, and no others; and that its own objects use
nothing that writes to the program's streams (<kin/log.h>), makes threads or
takes locks. (llhttp, which the library may hold, has a function that prints.)
The library needs no `environ`: FreeBSD's libc has none.
Usage: check_symbols.py LIBRARY OBJECTS INCLUDE_DIR [HEADER...]; the headers are
those that the library was built without.
"""

import pathlib
import re
import subprocess
import sys

WRITERS = re.compile(r"(__)?(v?f?printf|f?puts|f?putc|putchar|fwrite|perror|"
                     r"stdout|stderr|v?syslog|v?warnx?)(_chk|_unlocked)?$")
THREADS = re.compile(r"(pthread_create|pthread_(mutex|rwlock|cond|spin)\w+|"
                     r"uv_(thread|mutex|rwlock|sem|cond)_\w+|thrd_create|"
                     r"mtx_\w+|cnd_\w+|sem_\w+)$")


def symbols(file, *kind):
    out = subprocess.run(["nm", *kind, file], check=True,
                         capture_output=True, text=True).stdout
    lines = [line.split() for line in out.splitlines()
             if line.strip() and not line.endswith(":")]
    # Some linkers define the version node itself, as an absolute symbol.
    return {line[-1].split("@")[0] for line in lines if line[-2] != "A"}


def is_required(name, file):
    """Whether the library is not linked, or not loaded, without the symbol."""
    out = subprocess.run(["nm", "-D", "--undefined-only", file], check=True,
                         capture_output=True, text=True).stdout
    return re.search(rf"^ *U {name}\b", out, re.M) is not None


def declared(include_dir, left_out):
    names = set()
    for path in pathlib.Path(include_dir).glob("*.h*"):
        if path.name in left_out:
            continue
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        for match in re.finditer(r"KIN_EXTERN\b[^;]*?\b(kin_\w+)\s*\(", text):
            names.add(match.group(1))
    return names


def main():
    library, objects, include_dir, *left_out = sys.argv[1:]
    have = symbols(library, "-D", "--defined-only")
    want = declared(include_dir, left_out)
    used = symbols(objects, "--undefined-only")
    writers = sorted(name for name in used if WRITERS.match(name))
    threads = sorted(name for name in used if THREADS.match(name))
    checks = {
        "some function is declared": len(want) > 0,
        f"exported but not public: {sorted(n for n in have if not re.match('kin_[a-z]', n))}":
            all(re.match("kin_[a-z]", n) for n in have),
        f"exported but not declared: {sorted(have - want)}": have <= want,
        f"declared but not exported: {sorted(want - have)}": want <= have,
        "some function is used": len(used) > 0,
        f"writes to a stream: {writers}": not writers,
        f"makes threads or locks: {threads}": not threads,
        "environ may be missing": not is_required("environ", library),
    }
    for name, holds in checks.items():
        print(f"{'ok' if holds else 'FAIL'}: {name}")
    failed = sum(not holds for holds in checks.values())
    print(f"{len(checks) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
