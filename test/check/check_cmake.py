#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that CMake builds what Meson builds: that cmake/sources.cmake has the
files of the meson.build files, and that CMakeLists.txt has Meson's options,
defines, versions and least versions of dependencies.
Usage: check_cmake.py SOURCE_DIR [--write] | --self-test; --write writes
cmake/sources.cmake anew.
"""

import pathlib
import re
import sys

import report

HEADER = """# SPDX-License-Identifier: MIT
# Made by test/check/check_cmake.py --write from the meson.build files, which
# say what belongs to which part.
"""
# Meson's options that CMake has, by their names there. The others are for
# working on the library itself, which is Meson's alone.
OPTIONS = {"cache": "KINFORMER_CACHE", "checks": "KINFORMER_CHECKS",
           "discovery": "KINFORMER_DISCOVERY",
           "exec": "KINFORMER_EXEC", "proxy": "KINFORMER_PROXY",
           "requests": "KINFORMER_REQUESTS", "toolkit": "KINFORMER_TOOLKIT",
           "controllers": "KINFORMER_CONTROLLERS",
           "tools": "KINFORMER_TOOLS", "zlib": "KINFORMER_ZLIB",
           "zstd": "KINFORMER_ZSTD",
           "kubeconfig": "KINFORMER_KUBECONFIG"}
# The options that a dependency stands for.
DEPENDENCIES = {"yaml": "kubeconfig", "zstd": "zstd"}
# The parts of the library, in the order of sources.cmake.
PARTS = ("", "requests", "discovery", "cache", "toolkit",
         "controllers", "controllers_and_requests", "checks",
         "no_checks", "exec", "no_exec", "kubeconfig", "proxy",
         "no_proxy", "zlib", "no_zlib", "zstd", "no_zstd")
# What begins a part that one option, or two options together, switch on.
CONDITION = r"^if get_option\('(\w+)'\)(?: and get_option\('(\w+)'\))?$"
MESON_ONLY = {"tests", "examples", "bench", "fuzz", "replaceable_objects",
              "private_dependencies"}
MODULES = {"libuv": "uv", "libllhttp": "llhttp", "openssl": "openssl",
           "yyjson": "yyjson"}


def names(text):
    return re.findall(r"'([\w/.]+\.[ch])'", text)


def part_of(option, second):
    return f"{option}_and_{second}" if second else option


def files_of(text, variable):
    """The files in `variable = files(...)` and `variable += files(...)`, by the
    option in whose `if`, or in that of its dependency, they are; "no_" and the
    option: in its `else`; "" if in none."""
    parts, part = {}, ""
    for match in re.finditer(
            rf"{CONDITION}|^if (\w+)_dep\.found\(\)|^(else$)|"
            rf"^(endif)|"
            rf"^ *{variable} \+?= files\(([^?]*?)\)", text, re.M | re.S):
        if match.group(1):
            part = part_of(match.group(1), match.group(2))
        elif match.group(3):
            part = DEPENDENCIES[match.group(3)]
        elif match.group(4):
            part = f"no_{part}"
        elif match.group(5):
            part = ""
        else:
            parts.setdefault(part, []).extend(names(match.group(6)))
    return parts


def library_sources(root):
    """By option, as files_of does."""
    text = (root / "lib/meson.build").read_text()
    parts = {part: [f"lib/{name}" for name in found]
             for part, found in files_of(text, "lib_sources").items()}
    folders = re.search(r"foreach stage : \[(.*?)\]", text, re.S).group(1)
    found = [("", name) for name in re.findall(r"'(\w+)'", folders)]
    found += [(part_of(option, second), folder) for option, second, folder in
              re.findall(rf"{CONDITION}\n  subdir\('(\w+)'\)", text, re.M)]
    for part, folder in found:
        text = (root / "lib" / folder / "meson.build").read_text()
        of_folder = files_of(text, "lib_sources")
        for own, listed in of_folder.items():
            parts.setdefault(own or part, []).extend(
                f"lib/{folder}/{name}" for name in listed)
        # The one choice between two files.
        for yes, no in re.findall(
                r"files\(zlib_dep\.found\(\) \? '([\w.]+)' : '([\w.]+)'\)",
                text):
            parts["zlib"] = [f"lib/{folder}/{yes}"]
            parts["no_zlib"] = [f"lib/{folder}/{no}"]
    return parts


def lists(root):
    """What sources.cmake defines: name and files, in order."""
    found = []
    sources = library_sources(root)
    headers = files_of((root / "include/kin/meson.build").read_text(),
                       "public_headers")
    for part in PARTS:
        found.append((f"kinformer_{part}_sources".replace("__", "_"),
                      sources.pop(part)))
        if part in headers:
            found.append((f"kinformer_{part}_headers".replace("__", "_"),
                          [f"include/kin/{name}" for name in headers.pop(part)]))
    if sources or headers:
        raise ValueError(f"parts that this check does not know: "
                         f"{sorted(sources)}, {sorted(headers)}")
    for name, folder in (("testing", "testing"), ("apisim", "tools/apisim"),
                         ("kinformer_program", "tools/kinformer")):
        text = (root / folder / "meson.build").read_text()
        found.append((f"{name}_sources", [
            f"{folder}/{file}" for file in names(text) if file.endswith(".c")]))
    return found


def sources_text(found):
    sets = ["set(" + "\n  ".join([name] + files) + ")\n"
            for name, files in found]
    return HEADER + "\n" + "\n".join(sets)


def unlisted(root, found):
    """C files that no build has. Those of lib/inside are for what Meson alone
    does: a shared library that holds its dependencies."""
    listed = {file for _, files in found for file in files}
    text = (root / "lib/inside/meson.build").read_text()
    listed |= {f"lib/inside/{name}" for name in names(text)}
    there = [path.relative_to(root).as_posix()
             for folder in ("lib", "testing", "tools")
             for path in sorted((root / folder).rglob("*.c"))]
    return [file for file in there if file not in listed]


def facts_of_meson(meson, options, lib):
    facts = {
        "version": re.search(r"version: '([\d.]+)',\n  license", meson).group(1),
        "soversion": re.search(r"soversion: '([\d.]+)'", lib).group(1),
        # Meson itself adds the second one.
        "defines": {(*re.findall(r"'-D(\w+)'", meson),
                     "_FILE_OFFSET_BITS=64")},
        "least": sorted((MODULES[name], least) for name, least in re.findall(
            r"dependency\('(\w+)', version: '>= ([\d.]+)'\)", meson))}
    known = {}
    for name, rest in re.findall(r"^option\('(\w+)', (.*)$", options, re.M):
        if name in MESON_ONLY:
            continue
        value = re.search(r"value: '?(\w+)'?", rest)
        # A combo's default is its first choice.
        value = value.group(1) if value else "auto"
        known[OPTIONS[name]] = {"true": "ON", "auto": "AUTO"}[value]
    return dict(facts, options=sorted(known.items()))


def facts_of_cmake(text):
    return {
        "version": re.search(r"project\(kinformer VERSION ([\d.]+)",
                             text).group(1),
        "soversion": re.search(r"SOVERSION ([\d.]+)", text).group(1),
        # Every target has the same, but for values of its own.
        "defines": {tuple(words.split()) for words in re.findall(
            r"target_compile_definitions\(\S+ PRIVATE ([\w= ]+)\)", text)},
        "least": sorted(re.findall(r"^kinformer_dependency\((\w+) ([\d.]+)",
                                   text, re.M)),
        "options": sorted(
            re.findall(r"^ *set\((KINFORMER_\w+) (\w+) CACHE", text, re.M) +
            re.findall(r"^option\((KINFORMER_\w+) \"[^\"]*\" (\w+)\)", text,
                       re.M))}


def problems_of(root):
    problems = []
    found = lists(root)
    if (root / "cmake/sources.cmake").read_text() != sources_text(found):
        problems.append("cmake/sources.cmake is old: run check_cmake.py --write")
    problems += [f"{file} is in no meson.build" for file in unlisted(root, found)]
    meson = facts_of_meson(*((root / name).read_text() for name in (
        "meson.build", "meson_options.txt", "lib/meson.build")))
    cmake = facts_of_cmake((root / "CMakeLists.txt").read_text() +
                           (root / "cmake/kinformerDependencies.cmake")
                           .read_text())
    problems += [f"{name}: Meson has {meson[name]}, CMake has {cmake[name]}"
                 for name in meson if meson[name] != cmake[name]]
    required = sorted((MODULES[name], least) for name, least in re.findall(
        r"(\w+) >= ([\d.]+)", (root / "cmake/kinformer.pc.in").read_text()))
    if required != meson["least"]:
        problems.append(f"kinformer.pc.in: {required}, not {meson['least']}")
    problems += [f"no {name} is found" for name in meson if not meson[name]]
    return problems


def self_test():
    passed = failed = 0

    def expect(have, want, is_equal=True):
        nonlocal passed, failed
        if (have == want) == is_equal:
            passed += 1
        else:
            failed += 1
            print(f"FAIL: {have}, {'not' if is_equal else 'as'} {want}")

    text = ("s = files(\n  'a.c',\n  'b/c.c',\n)\nif get_option('x')\n"
            "  s += files(\n    'd.c',\n  )\nelse\n  s += files('n.c')\nendif\n"
            "s += files('e.c')\n")
    expect(files_of(text, "s"), {"": ["a.c", "b/c.c", "e.c"], "x": ["d.c"],
                                 "no_x": ["n.c"]})
    text = "s = files('a.c')\nif yaml_dep.found()\n  s += files('b.c')\nendif\n"
    expect(files_of(text, "s"), {"": ["a.c"], "kubeconfig": ["b.c"]})
    expect(files_of("s += files(z ? 'a.c' : 'b.c')", "s"), {})
    expect(sources_text([("n", ["a.c", "b.c"])]),
           HEADER + "\nset(n\n  a.c\n  b.c)\n")
    meson = ("  version: '1.2.3',\n  license: 'MIT'\n'-D_X',\n"
             "dependency('libuv', version: '>= 1.44')")
    options = ("option('cache', type: 'boolean', value: true, d)\n"
               "option('tools', type: 'combo', choices: ['auto'], d)\n")
    cmake = ("project(kinformer VERSION 1.2.3 L)\nSOVERSION 1.2\n"
             "target_compile_definitions(kinformer PRIVATE _X "
             "_FILE_OFFSET_BITS=64)\n"
             "kinformer_dependency(uv 1.44 PUBLIC\n"
             "option(KINFORMER_CACHE \"d\" ON)\nset(KINFORMER_TOOLS AUTO CACHE\n")
    expect(facts_of_meson(meson, options, "soversion: '1.2'"),
           facts_of_cmake(cmake))
    for old, new in (("1.2.3", "1.2.4"), ("1.44", "1.45"), ("_X", "_Y"),
                     (" _FILE_OFFSET_BITS=64", ""),
                     (" ON)", " OFF)"), ("AUTO", "OFF"), ("N 1.2\n", "N 1\n")):
        expect(facts_of_cmake(cmake.replace(old, new)), facts_of_cmake(cmake),
               is_equal=False)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    root = pathlib.Path(sys.argv[1])
    if "--write" in sys.argv[2:]:
        (root / "cmake/sources.cmake").write_text(sources_text(lists(root)))
    problems = problems_of(root)
    return report.end(problems)


if __name__ == "__main__":
    sys.exit(main())
