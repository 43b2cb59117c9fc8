#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the rules of doc/architecture.md that the compiler does not: which
folder of lib/ may include which, where <uv.h> may be included, that one file
reads what the JSON parser made, that only lib/listwatch touches the data of its
machine, that memory comes from the injected allocator
only, that nothing depends on the host's locale, that the library's references
to objects are its own, that one file reads the environment, and the sizes of files and functions. Usage: check_layers.py SOURCE_DIR; the last line counts the rules.
"""

import pathlib
import re
import sys

# "inside" is for the shared library alone, and knows nothing of the others.
STAGES = ["inside", "base", "object", "transport", "config", "decode", "listwatch",
          "queue", "store", "dispatch", "client", "connect", "feed", "check",
          "informer", "request", "discovery", "cache", "values", "toolkit",
          "ownership", "workqueue", "recorder", "election"]
# These are used alone: they know only the stages named.
ALONE = {"inside": set(), "values": {"base", "object"}}
MAY_USE_UV = {"transport", "config", "client", "connect"}
FOLDERS = ("lib", "testing", "include", "tools", "test", "bench", "examples")
MAX_FILE_LINES = 600
# A test of one thing is not cut in two for its length.
MAX_TEST_FILE_LINES = 1000
MAX_FUNCTION_LINES = 80
BARE_ALLOCATION = re.compile(
    r"(?<![\w.>])(malloc|calloc|realloc|free|strdup|strndup|asprintf)\s*\(")
# What the locale of the host changes: conversions of floating-point numbers,
# digit groups, classes of characters, case and order.
LOCALE = re.compile(
    r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?[lL]?[aAeEfFgG](?![A-Za-z_]*\()|%'\d*[diu]|"
    r"(?<![\w.>])(strto[dfl]|strtold|atof|v?f?s?scanf|setlocale|uselocale|"
    r"is(?:alnum|alpha|blank|digit|graph|lower|print|punct|space|upper|xdigit)|"
    r"tolower|toupper|strn?casecmp|strcoll|strxfrm|mbs\w+|wcs\w+)\s*\(")
ENVIRONMENT_READER = "lib/transport/environment.h"
# Not by a struct that stands for the environment.
ENVIRONMENT_CALL = re.compile(r"(?<![\w.>])(?:secure_)?getenv\s*\(")
# References that are the program's: what it is given, and its views.
REFERENCE_OWNERS = {"object/object.c", "object/object.h", "object/builder.c",
                    "object/object_list.c", "object/view.c", "cache/deltas.c"}
PROGRAMS_REFERENCE = re.compile(r"(?<!\w)kin_object_(?:un)?ref\s*\(")
JSON_READER = "lib/object/json.c"
JSON_CALLS = "lib/inside/yyjson.c" # of the reader, passed on
YYJSON_CALL = re.compile(r"\b(?:unsafe_)?yyjson_\w+\s*\(")
# The machine embedded in a feed, a field of it, and a pointer to it, by which
# its fields could be reached under another name.
MACHINE_ACCESS = re.compile(
    r"\blistwatch\s*(?:\.(?!h\b)|->)\s*\w|\bkin__listwatch\s*(?:const\s*)?\*|"
    r'"listwatch/(?:listwatch_core|machine)\.h"')
MACHINE_USERS = ("lib", "testing", "tools", "test/flow", "test/sim",
                 "test/model", "test/fuzz", "bench")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def strip_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text,
                  flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def functions(text):
    """Yields (line, length) of each function body at file level."""
    start = None
    for number, line in enumerate(text.split("\n"), 1):
        if start is None and re.match(r"^[A-Za-z_].*\)\s*\{\s*$", line):
            start = number
        elif start is None and line.startswith("    ") and \
                re.search(r"\)\s*\{\s*$", line) and "=" not in line:
            pass
        elif start is not None and line == "}":
            yield start, number - start + 1
            start = None


def check_includes(root, problems):
    for path in sorted((root / "lib").rglob("*.[ch]")):
        stage = path.relative_to(root / "lib").parts[0]
        rank = STAGES.index(stage)
        for kind, target in INCLUDE.findall(path.read_text()):
            other = target.split("/")[0]
            if kind == '"' and other not in STAGES:
                problems.append(f"{path}: \"{target}\" is not below lib/")
            elif kind == '"' and (STAGES.index(other) > rank or
                                  other not in ALONE.get(stage, STAGES)
                                  and other != stage):
                problems.append(f"{path}: {stage} includes {target}")


def check_uv(root, problems):
    for path in sorted((root / "lib").rglob("*.[ch]")):
        stage = path.relative_to(root / "lib").parts[0]
        includes = [t for _, t in INCLUDE.findall(path.read_text())]
        if "uv.h" in includes and stage not in MAY_USE_UV:
            problems.append(f"{path}: includes <uv.h>")
        if "kin/client.h" in includes and stage not in MAY_USE_UV:
            problems.append(f"{path}: includes <kin/client.h>")
    for path in sorted((root / "include/kin").glob("*.h")):
        if "uv.h" in [t for _, t in INCLUDE.findall(path.read_text())] \
                and path.name != "client.h":
            problems.append(f"{path}: includes <uv.h>")


def check_yyjson(root, problems):
    """A value that yyjson has read may be of any type: one file asks for the
    type before it takes the value, and no other can."""
    for path in sorted((root / "lib").rglob("*.[ch]")):
        if path in (root / JSON_READER, root / JSON_CALLS):
            continue
        text = path.read_text()
        if "yyjson.h" in [t for _, t in INCLUDE.findall(text)]:
            problems.append(f"{path}: includes <yyjson.h>")
        for number, line in enumerate(strip_comments(text).split("\n"), 1):
            if YYJSON_CALL.search(line):
                problems.append(f"{path}:{number}: {line.strip()}")


def check_machine(root, problems):
    """The data of the list-and-watch machine is lib/listwatch's own: others
    use the functions of listwatch.h. Its unit tests may look inside."""
    for folder in MACHINE_USERS:
        for path in sorted((root / folder).rglob("*.[ch]")):
            if path.parent == root / "lib/listwatch":
                continue
            text = strip_comments(path.read_text())
            for number, line in enumerate(text.split("\n"), 1):
                if MACHINE_ACCESS.search(line):
                    problems.append(f"{path}:{number}: {line.strip()}")


def check_allocation(root, problems):
    for path in sorted((root / "lib").rglob("*.c")):
        if path.name == "alloc.c":
            continue
        text = strip_comments(path.read_text())
        for number, line in enumerate(text.split("\n"), 1):
            if BARE_ALLOCATION.search(line):
                problems.append(f"{path}:{number}: {line.strip()}")


def check_locale(root, problems):
    for folder in ("lib", "testing"):
        for path in sorted((root / folder).rglob("*.[ch]")):
            if path.name == "number.c":
                continue
            text = strip_comments(path.read_text())
            for number, line in enumerate(text.split("\n"), 1):
                if LOCALE.search(line):
                    problems.append(f"{path}:{number}: {line.strip()}")


def check_references(root, problems):
    """The library's references are counted apart from the program's: one that
    is given back as the program's frees a text that the program reads."""
    for path in sorted((root / "lib").rglob("*.[ch]")):
        if str(path.relative_to(root / "lib")) in REFERENCE_OWNERS:
            continue
        text = strip_comments(path.read_text())
        for number, line in enumerate(text.split("\n"), 1):
            if PROGRAMS_REFERENCE.search(line):
                problems.append(f"{path}:{number}: {line.strip()}")


def check_environment(root, problems):
    """A program with more rights than its caller must not follow the caller's
    variables: one file decides."""
    for path in sorted((root / "lib").rglob("*.[ch]")):
        if path == root / ENVIRONMENT_READER:
            continue
        text = strip_comments(path.read_text())
        for number, line in enumerate(text.split("\n"), 1):
            if ENVIRONMENT_CALL.search(line):
                problems.append(f"{path}:{number}: {line.strip()}")


def check_sizes(root, problems):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]")):
            text = path.read_text()
            lines = text.count("\n")
            if lines > (MAX_TEST_FILE_LINES if folder == "test" else
                        MAX_FILE_LINES):
                problems.append(f"{path}: {lines} lines")
            for start, length in functions(text):
                if length > MAX_FUNCTION_LINES and folder != "test":
                    problems.append(f"{path}:{start}: a function of {length} "
                                    "lines")


def check_licence(root, problems):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]")):
            if "SPDX-License-Identifier: MIT" not in path.read_text()[:80]:
                problems.append(f"{path}: no licence line")


def main():
    root = pathlib.Path(sys.argv[1])
    failed = 0
    rules = [check_includes, check_uv, check_yyjson, check_machine,
             check_allocation, check_locale, check_references,
             check_environment, check_sizes, check_licence]
    for rule in rules:
        problems = []
        rule(root, problems)
        name = rule.__name__
        print(f"{'FAIL' if problems else 'ok'}: {name}")
        for problem in problems:
            print(f"  {problem}")
        failed += bool(problems)
    print(f"{len(rules) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
