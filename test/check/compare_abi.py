#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the shared library's ABI with the one that was released, by
libabigail (abidw, abidiff): functions, their arguments, structs and enums.
abi/kinformer-MAJOR.MINOR.abi.xz is what the first release with that soname had.
Without the file no release has the soname, and nothing is compared.

What may change: new functions, new enumerators, and new members at the end of
structs whose first member is `size` (<kin/sized.h>). check_abi.py looks after
these structs in all three ABIs, and needs no compiled library; this script sees
what has no size, and what has the old size but another type.

The file is what abidw writes, cut down to what a program can reach: exported
functions, types of the public headers, and the names of other types. It is read
by the libabigail that wrote it and by newer ones of the same major version of
the format: that of Debian 12 writes 2.1, that of Debian 13 2.4.

--write writes the file.
Usage: compare_abi.py SOURCE_DIR LIBRARY [--write] | --self-test CC
"""

import lzma
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

DUMP = ["abidw", "--exported-interfaces-only", "--no-corpus-path",
        "--no-comp-dir-path", "--no-parameter-names", "--no-elf-needed",
        "--type-id-style", "hash"]
DIFF = ["abidiff", "--no-added-syms", "--no-show-locs"]
DEFINED = re.compile(r"\b(?:struct|union|enum) (\w+) \{")
REFERENCES = ("type-id", "underlying-type", "naming-typedef-id")
# Places, and what newer versions of libabigail derive from the types.
DROPPED = ("filepath", "line", "column", "hash")


class Failed(Exception):
    """A tool failed."""


def is_definition(element):
    return element.get("is-declaration-only") != "yes"


def hide(element):
    """Only the name is left."""
    for child in list(element):
        element.remove(child)
    element.attrib.pop("size-in-bits", None)
    element.set("is-declaration-only", "yes")


def read(library):
    """(the file's symbols, {id: type}, functions), with nothing hidden."""
    done = subprocess.run([*DUMP, str(library)], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise Failed(f"abidw: {done.stderr}")
    corpus = xml.fromstring(done.stdout)
    types, functions = {}, []
    groups = corpus.findall("abi-types") + corpus.findall("abi-instr")
    for element in (child for group in groups for child in group):
        name = element.get("id")
        if name and (name not in types or is_definition(element)):
            types[name] = element
        elif element.get("elf-symbol-id"):
            functions.append(element)
    for group in groups:
        corpus.remove(group)
    return corpus, types, functions


def reachable(functions, types):
    """The types that the functions' arguments lead to."""
    found, left = {}, list(functions)
    while left:
        for element in left.pop().iter():
            for name in filter(None, map(element.get, REFERENCES)):
                if name in types and name not in found:
                    found[name] = types[name]
                    left.append(types[name])
    return found.values()


def dump(library, headers):
    """The normalised text. What no file of the folder defines is hidden."""
    public = {name for path in headers.rglob("*.h")
              for name in DEFINED.findall(path.read_text())}
    corpus, types, functions = read(library)
    for element in types.values():
        if element.tag in ("class-decl", "union-decl", "enum-decl") and \
                element.get("name") not in public and \
                element.get("is-anonymous") != "yes":
            hide(element)
    unit = xml.SubElement(corpus, "abi-instr", {
        "address-size": "64", "path": "kinformer", "language": "LANG_C11"})
    group = unit
    if corpus.get("version") >= "3":
        group = xml.Element("abi-types")
        corpus.insert(list(corpus).index(unit), group)
    group.extend(sorted(reachable(functions, types), key=lambda e: (
        e.tag, e.get("name", ""), e.get("id"))))
    unit.extend(sorted(functions, key=lambda e: e.get("name")))
    for element in corpus.iter():
        element.text = element.tail = "\n"
        for name in DROPPED:
            element.attrib.pop(name, None)
        if element.tag == "typedef-decl":
            element.attrib.pop("size-in-bits", None)
    return re.sub(r"\n+", "\n", xml.tostring(corpus, encoding="unicode"))


def sized(corpus):
    """{name: struct} of the structs that may grow."""
    found = {}
    for element in corpus.iter("class-decl"):
        first = element.find("data-member/var-decl")
        if first is not None and first.get("name") == "size":
            found[element.get("name")] = element
    return found


def cut(new, old):
    """The new dump, in which the structs that may grow have not grown."""
    new, then = xml.fromstring(new), sized(xml.fromstring(old))
    for name, now in sized(new).items():
        members = now.findall("data-member")
        before = then.get(name)
        known = before.findall("data-member") if before is not None else []
        if before is not None and len(members) > len(known):
            for member in members[len(known):]:
                now.remove(member)
            now.set("size-in-bits", before.get("size-in-bits"))
    return xml.tostring(new, encoding="unicode")


def changes(old, new):
    """What abidiff says; "" if programs of the old one run with the new one."""
    with tempfile.TemporaryDirectory() as name:
        paths = [pathlib.Path(name, "released"), pathlib.Path(name, "now")]
        paths[0].write_text(old)
        paths[1].write_text(cut(new, old))
        done = subprocess.run([*DIFF, *map(str, paths)], capture_output=True,
                              text=True, check=False)
    if done.returncode & 3:
        raise Failed(f"abidiff: {done.stderr}")
    return "" if done.returncode == 0 else done.stdout or "it differs"


HEADER = """#include <stddef.h>
typedef struct kin_a kin_a;
typedef enum kin_e { KIN_E_ONE, KIN_E_TWO } kin_e;
typedef struct kin_o {
  size_t size;
  const char *name;
} kin_o;
typedef struct kin_str {
  const char *data;
  size_t length;
} kin_str;
"""
BODY = """#include "include/kin/a.h"
struct kin_a {
  int n;
};
int kin_open(kin_a **a, const kin_o *o);
int kin_open(kin_a **a, const kin_o *o) { return !a + !o; }
kin_e kin_get(const kin_a *a, kin_str s);
kin_e kin_get(const kin_a *a, kin_str s) { return !a + !sizeof s; }
"""
CASES = [
    # What is changed, in the header or in the file, and whether it breaks.
    ("nothing", "", "", False),
    ("a new function", "struct kin_a {", "int kin_new(void) { return 1; }\n"
     "struct kin_a {", False),
    ("a new enumerator", "KIN_E_TWO }", "KIN_E_TWO, KIN_E_THREE }", False),
    ("a new member of a sized struct", "*name;\n", "*name;\n  int more;\n",
     False),
    ("a private struct", "  int n;\n", "  int n;\n  int more;\n", False),
    ("a removed function", "kin_get", "kin_take", True),
    ("another argument", "kin_str s", "const kin_str *s", True),
    ("another result", "int kin_open", "long kin_open", True),
    ("another member of a sized struct", "const char *name", "const int *name",
     True),
    ("a removed member of a sized struct", "  const char *name;\n", "", True),
    ("a member before others", "  const char *name", "  long m;\n"
     "  const char *name", True),
    ("a new member of a fixed struct", "length;\n", "length;\n  int more;\n",
     True),
    ("another value of an enumerator", "KIN_E_ONE,", "KIN_E_ONE = 3,", True),
    ("a removed enumerator", "KIN_E_ONE, ", "", True),
]


def compiled(directory, cc, header, body):
    (directory / "include/kin").mkdir(parents=True, exist_ok=True)
    (directory / "include/kin/a.h").write_text(header)
    (directory / "a.c").write_text(body)
    subprocess.run([cc, "-g", "-w", "-shared", "-fPIC", "a.c", "-o", "a.so"],
                   cwd=directory, check=True)
    return dump(directory / "a.so", directory / "include")


def self_test(cc):
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        old = compiled(directory, cc, HEADER, BODY)
        for what, this, that, breaks in CASES:
            new = compiled(directory, cc, HEADER.replace(this, that),
                           BODY.replace(this, that))
            if bool(changes(old, new)) != breaks:
                print(f"FAIL: {what}: {'not ' if breaks else ''}noticed")
                failed += 1
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return failed != 0


def compare(path, library, headers):
    if not path.exists():
        print(f"no release has this soname yet: there is no {path.name}")
        return 0
    new = dump(library, headers)
    old = lzma.decompress(path.read_bytes()).decode()
    before, now = (xml.fromstring(text).attrib for text in (old, new))
    if before["architecture"] != now["architecture"]:
        print(f"nothing to compare: {path.name} is of "
              f"{before['architecture']}, this is {now['architecture']}")
        return 0
    # An older libabigail reads a newer dump, but misses changes.
    versions = [[int(n) for n in root["version"].split(".")]
                for root in (before, now)]
    if versions[0] > versions[1] or versions[0][0] != versions[1][0]:
        print(f"nothing to compare: {path.name} has version "
              f"{before['version']}, this libabigail writes {now['version']}")
        return 0
    report = changes(old, new)
    print(report or f"programs of {path.name} run with this library")
    return report != ""


def main():
    for tool in ("abidw", "abidiff"):
        if shutil.which(tool) is None:
            print(f"no {tool}; Debian has it in abigail-tools")
            return 1
    if sys.argv[1] == "--self-test":
        return self_test(sys.argv[2])
    root, library = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    version = re.search(r"version: '(\d+\.\d+)\.", (root / "meson.build")
                        .read_text())[1]
    headers = root / "include"
    path = root / f"abi/kinformer-{version}.abi.xz"
    if "--write" in sys.argv:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(lzma.compress(dump(library, headers).encode(),
                                       preset=9))
        print(f"{path.relative_to(root)}: {path.stat().st_size} bytes")
        return 0
    return compare(path, library, headers)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        print(f"FAIL: {error}")
        sys.exit(1)
