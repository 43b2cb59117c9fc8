#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the sized structs of the public headers (<kin/sized.h>) stay as
they were released. abi.txt has each struct's size in its first release and its
members, with offset and size, for three ABIs: 64 bits; 32 bits, where uint64_t
is aligned to 8 (Arm) or to 4 (x86). A struct may only get members at its end.
lib/base/first_size.h has the same first sizes, and the library uses them. No
struct has padding at its end: a later member would lie in it, where older
programs have left anything. Every other struct of the headers is named below.

--write adds new structs and members to abi.txt. A struct that no release has
may change: delete its lines first.
Usage: check_abi.py SOURCE_DIR BUILD_INCLUDE_DIR CC [--write] | --self-test CC
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Structs that never change, because they are passed, held or put into other
# structs as they are, or are elements of arrays.
FIXED = """
kin_allocator kin_cause kin_condition kin_cursor kin_delta kin_deltas
kin_exec_variable kin_factory_resync kin_heap_entry kin_histogram
kin_impersonate_extra kin_index_cursor kin_int_or_string kin_known_objects
kin_lingering_cursor kin_lister kin_lister_scan kin_metrics_source
kin_object_list kin_object_reference kin_owner_reference kin_parameter
kin_quantity kin_queue_cursor kin_store_op kin_str kin_sync_counter kin_time
kin_until_condition kin_value kin_value_iterator kin_wait_for kin_wait_item
""".split()

STRUCT = re.compile(r"typedef struct (kin_\w+) \{(.*?)\n\} \1;", re.S)
FIRST_SIZE = re.compile(r"^#define KIN__FIRST_(kin_\w+) +(?:\\\n *)?"
                        r"KIN__BY_ABI\((\d+), (\d+), (\d+)\)$", re.M)
USE = re.compile(r"\b(kin__options_copy|kin__options_take|kin__sized_fill)"
                 r"\(([^;]*?)\)[;)]", re.S)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def member_name(declaration):
    match = re.search(r"\(\*(\w+)\)|(\w+)(?:\[\w+\])?$", declaration)
    return match[1] or match[2]


def structs(texts):
    """{name: members} of the sized structs, and the names of the others."""
    sized, others = {}, []
    for text in texts:
        for match in STRUCT.finditer(without_comments(text)):
            fields = [f.strip() for f in match[2].split(";")][:-1]
            if fields[0] == "size_t size":
                sized[match[1]] = [member_name(f) for f in fields]
            else:
                others.append(match[1])
    return sized, others


def program(includes, sized):
    """Arrays whose sizes are the wanted numbers plus one."""
    lines = [f"#include <{name}>" for name in includes] + ["#include <stddef.h>"]
    for name, members in sized.items():
        lines.append(f"static {name} one_{name};")
        lines.append(f"char all__{name}[1 + sizeof one_{name}];")
        for m in members:
            lines.append(f"char at__{name}__{m}[1 + offsetof({name}, {m})];")
            lines.append(f"char of__{name}__{m}[1 + sizeof one_{name}.{m}];")
    return "\n".join(lines) + "\n"


def numbers(command, text):
    """{symbol: number}, or None if the compiler cannot compile for this ABI."""
    run = subprocess.run([*command, "-x", "c", "-std=gnu11", "-ffreestanding",
                          "-fno-common", "-O0", "-w", "-S", "-o", "-", "-"],
                         input=text, capture_output=True, text=True)
    if run.returncode != 0:
        return None
    return {name: int(size) - 1 for name, size in
            re.findall(r"\.size\s+(\w+), ?(\d+)", run.stdout)}


def layouts(cc, include_dirs, includes, sized):
    """[layout, or None, for each ABI]: {struct: (size, [(member, offset,
    size)])}. The headers need no more of libuv than the name of its loop."""
    with tempfile.TemporaryDirectory() as stub:
        pathlib.Path(stub, "uv.h").write_text(
            "typedef struct uv_loop_s uv_loop_t;\n")
        paths = [arg for d in [stub, *include_dirs] for arg in ("-I", str(d))]
        clang = shutil.which("clang")
        arm = [clang, "--target=armv7-linux-gnueabihf"] if clang else None
        text = program(includes, sized)
        commands = [[cc, "-m64"], arm, [cc, "-m32"]]
        found = [numbers([*c, *paths], text) if c else None for c in commands]
        found[0] = found[0] or numbers([cc, *paths], text)
    return [n and {name: (n[f"all__{name}"],
                          [(m, n[f"at__{name}__{m}"], n[f"of__{name}__{m}"])
                           for m in members])
                   for name, members in sized.items()} for n in found]


def read_table(text):
    """{struct: (first sizes, {member: [(offset, size) for each ABI]})}"""
    table, members = {}, None
    for line in text.splitlines():
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if line.startswith(" "):
            members[words[0]] = [tuple(map(int, w.split("+")))
                                 for w in words[1:]]
        else:
            members = {}
            table[words[0]] = ([int(w) for w in words[1:]], members)
    return table


def write_table(table):
    lines = ["# Written by check_abi.py --write, which says what this is.",
             "# struct and its first size; member and its offset+size:",
             "# 64 bits, 32 bits, 32 bits of x86."]
    for name, (first, members) in sorted(table.items()):
        lines += ["", f"{name} {' '.join(map(str, first))}"]
        lines += [f"  {m} " + " ".join(f"{o}+{s}" for o, s in places)
                  for m, places in members.items()]
    return "\n".join(lines) + "\n"


def extend(table, found):
    """The table with what it lacks. Needs all ABIs."""
    assert all(found), "--write needs gcc or clang with -m32, and clang"
    for name, (_, members) in found[0].items():
        first, known = table.get(name, ([f[name][0] for f in found], {}))
        for i, (m, _, _) in enumerate(members):
            known.setdefault(m, [f[name][1][i][1:] for f in found])
        table[name] = (first, known)
    return table


def struct_problems(name, table, found):
    """What is wrong with one struct in the ABIs that can be compiled for."""
    first, known = table.get(name, ([], {}))
    lines = [] if known else [f"{name}: not in abi.txt"]
    for abi, layout in enumerate(found):
        if layout is None or not known:
            continue
        size, members = layout[name]
        want = [(m, *places[abi]) for m, places in known.items()]
        if members[:len(want)] != want:
            at = next(i for i, m in enumerate(want)
                      if i >= len(members) or members[i] != m)
            lines.append(f"{name}: {want[at][0]} was changed or moved")
        elif len(members) > len(want):
            lines.append(f"{name}: {members[len(want)][0]} is not in abi.txt")
        if first[abi] not in [o + s for _, o, s in members]:
            lines.append(f"{name}: no member ends at the first size")
        if members[-1][1] + members[-1][2] != size:
            lines.append(f"{name}: padding after {members[-1][0]}, ABI {abi}")
    return lines


def use_problems(first_size_h, sources, table):
    lines = []
    for name, *sizes in FIRST_SIZE.findall(first_size_h):
        first = table.get(name, ([],))[0]
        if first != list(map(int, sizes)):
            lines.append(f"first_size.h: {name} has {sizes}, not {first}")
    for path, text in sources.items():
        for function, arguments in USE.findall(without_comments(text)):
            if "KIN__FIRST_SIZE(" not in arguments and path.suffix == ".c" \
                    and path.name not in ("options.c", "sized.c"):
                lines.append(f"{path.name}: {function} without KIN__FIRST_SIZE")
    return lines


def problems(sized, others, table, found, first_size_h, sources):
    lines = [f"{name}: neither sized nor in FIXED"
             for name in others if name not in FIXED]
    lines += [f"{name}: in abi.txt, but in no header"
              for name in table if name not in sized]
    for name in sized:
        lines += struct_problems(name, table, found)
    return lines + use_problems(first_size_h, sources, table)


HEADER = """#include <stdint.h>
#include <stddef.h>
typedef struct kin_a {
  size_t size; /* x; */
  int (*f)(void *ctx, int n);
  uint64_t n;
} kin_a;
typedef struct kin_str { /* fixed */
  int n;
} kin_str;
"""
TABLE = "kin_a 24 16 16\n  size 0+8 0+4 0+4\n  f 8+8 4+4 4+4\n  n 16+8 8+8 8+8\n"


def self_test(cc):
    first = "#define KIN__FIRST_kin_a KIN__BY_ABI(24, 16, 16)\n"
    later = HEADER.replace("  uint64_t n;", "  uint64_t n;\n  uint64_t more;")
    use = "x = kin__options_copy(&o, sizeof o, from, KIN__FIRST_SIZE(kin_a));"
    cases = [
        (HEADER, TABLE, first, use, ""),
        (later, TABLE, first, use, "more is not in abi.txt"),
        (later, TABLE + "  more 24+8 16+8 16+8\n", first, use, ""),
        (HEADER.replace("n;\n} kin_a", "m;\n} kin_a"), TABLE, first, use,
         "n was changed"),
        (HEADER.replace("uint64_t n;", "uint32_t n;"), TABLE, first, use,
         "n was changed"),
        (HEADER.replace("(*f)(void *ctx, int n);", "(*f)(void); int one;"),
         TABLE, first, use, "n was changed"),
        (HEADER, "", first, use, "not in abi.txt"),
        (HEADER, TABLE.replace("24 16", "20 16"), first, use, "no member ends"),
        (HEADER, TABLE, first.replace("24", "32"), use, "first_size.h: kin_a"),
        (HEADER, TABLE, first, "x = kin__options_copy(&o, sizeof o, f, "
         "sizeof o);", "without KIN__FIRST_SIZE"),
        (HEADER.replace("kin_str", "kin_x"), TABLE, first, use, "neither"),
        (HEADER.replace("} kin_a", "  char c;\n} kin_a"),
         TABLE + "  c 24+1 16+1 16+1\n", first, use, "padding after c"),
    ]
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        for header, table, first_size_h, source, want in cases:
            pathlib.Path(name, "x.h").write_text(header)
            sized, others = structs([header])
            found = layouts(cc, [name], ["x.h"], sized)
            lines = problems(sized, others, read_table(table), found,
                             first_size_h, {pathlib.Path("a.c"): source})
            if not (want in "\n".join(lines) if want else lines == []):
                print(f"FAIL: {want!r} instead of {lines}")
                failed += 1
    print(f"{len(cases) - failed} passed, {failed} failed")
    return failed != 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test(sys.argv[2])
    root, build, cc = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    paths = sorted((root / "include/kin").rglob("*.h"))
    includes = [str(path.relative_to(root / "include")) for path in paths]
    sized, others = structs([path.read_text() for path in paths])
    found = layouts(cc, [root / "include", build], includes, sized)
    path = root / "test/check/abi.txt"
    table = read_table(path.read_text()) if path.exists() else {}
    if "--write" in sys.argv:
        path.write_text(write_table(extend(table, found)))
    sources = {p: p.read_text() for p in (root / "lib").rglob("*.c")}
    lines = problems(sized, others, table, found,
                     (root / "lib/base/first_size.h").read_text(), sources)
    if found[0] is None or not sized:
        lines.append("nothing can be compiled")
    for line in lines:
        print(f"FAIL: {line}")
    print(f"{len(sized)} sized structs, {sum(map(bool, found))} of 3 ABIs")
    print(f"{max(len(sized) - len(lines), 0)} passed, {len(lines)} failed")
    return lines != []


if __name__ == "__main__":
    sys.exit(main())
