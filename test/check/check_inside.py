#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the shared library calls none of the libraries that it holds from
outside: a host that exports functions of the same names would get the calls.
Usage: check_inside.py LIBRARY NAME... | --self-test CC [OPTION...]; the names
are those of FUNCTIONS.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import report

# What the functions of a library are named.
FUNCTIONS = {
    "llhttp": r"_?llhttp_\w+",
    "yyjson": r"(unsafe_)?yyjson_\w+",
    "z": r"z?(in|de)flate\w*|zlib\w+|(un)?compress(2|Bound)?|"
         r"(crc|adler)32\w*|gz[a-z]\w+|zError|get_crc_table",
    "zstd": r"_?(ZSTD|ZDICT|HUF|FSE|COVER|POOL)\w*_\w+",
    "yaml": r"yaml_\w+",
}


def outside(library, name):
    """The library's functions that the dynamic linker would look for."""
    said = subprocess.run(["nm", "-D", "--undefined-only", library], check=True,
                          capture_output=True, text=True).stdout
    used = {line.split()[-1].split("@")[0] for line in said.splitlines()
            if line.strip()}
    return sorted(used_name for used_name in used
                  if re.fullmatch(FUNCTIONS[name], used_name))


def problems_of(library, names):
    return [f"{name} is called from outside: {', '.join(found)}"
            for name in names if (found := outside(library, name))]


def self_test(compiler):
    """A library that calls one function of each."""
    calls = {"llhttp": "llhttp_init", "yyjson": "yyjson_read_opts",
             "z": "inflate", "zstd": "ZDICT_isError", "yaml": "yaml_parser_parse"}
    with tempfile.TemporaryDirectory() as work:
        source, library = (pathlib.Path(work, name) for name in ("a.c", "a.so"))
        source.write_text("\n".join(
            f"void {call}(void); void kin_{call}(void) {{ {call}(); }}"
            for call in calls.values()))
        subprocess.run([*compiler, "-w", "-shared", "-fPIC", source, "-o",
                        library], check=True)
        return [f"does not notice {call}" for name, call in calls.items()
                if outside(library, name) != [call]]


def main():
    if sys.argv[1] == "--self-test":
        return report.end(self_test(sys.argv[2:]), len(FUNCTIONS))
    library, *names = sys.argv[1:]
    return report.end(problems_of(library, names), len(names))


if __name__ == "__main__":
    sys.exit(main())
