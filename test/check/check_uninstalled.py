#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that a program can be built against the build tree, by the pkg-config
files that Meson writes there, and that it runs. Usage: check_uninstalled.py
BUILD_ROOT CC [SANITIZERS]
"""

import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = """
#include <kin/kin.h>
#include <kin/version.h>
%s
#include <string.h>

int main(void) {
  kin_store *store;
  int err = kin_store_new(&store, NULL);
  kin_store_free(store);
  return err != 0 || strcmp(kin_version_string(), KIN_VERSION_STRING) != 0 || %s;
}
"""
CASES = {
    "kinformer": PROGRAM % ("", "0"),
    "kinformer-testing": PROGRAM % (
        "#include <kin/testing/fake_source.h>",
        "kin_fake_source_count(NULL) != 0"),
}


def run(*command, env=None):
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        print(" ".join(map(str, command)), done.stdout, done.stderr, sep="\n")
    return done


def names_archives(module, env):
    """Whether --static names an archive by its path on this machine."""
    words = run("pkg-config", "--libs", "--static", module, env=env)
    return any(word.endswith(".a") for word in words.stdout.split())


def check(module, text, build, cc, sanitizers, directory):
    env = dict(os.environ, PKG_CONFIG_PATH=str(build / "meson-uninstalled"))
    flags = run("pkg-config", "--cflags", "--libs", module, env=env)
    if flags.returncode != 0 or names_archives(module, env):
        return False
    source, program = directory / f"{module}.c", directory / module
    source.write_text(text)
    sanitize = [f"-fsanitize={sanitizers}"] if sanitizers != "none" else []
    compiled = run(cc, source, "-o", program, *sanitize, *flags.stdout.split())
    if compiled.returncode != 0:
        return False
    env = dict(os.environ, LD_LIBRARY_PATH=str(build / "lib"))
    return run(program, env=env).returncode == 0


def main():
    build, cc = pathlib.Path(sys.argv[1]), sys.argv[2]
    sanitizers = sys.argv[3] if len(sys.argv) > 3 else "none"
    with tempfile.TemporaryDirectory() as directory:
        results = {module: check(module, text, build, cc, sanitizers,
                                 pathlib.Path(directory))
                   for module, text in CASES.items()}
    for module, is_good in results.items():
        print(f"{'ok' if is_good else 'FAIL'}: {module}")
    print(f"{sum(results.values())} passed, "
          f"{len(results) - sum(results.values())} failed")
    return not all(results.values())


if __name__ == "__main__":
    sys.exit(main())
