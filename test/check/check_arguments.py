#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the tests of arguments forget nothing: each public function is
called in one of them, and for each of its pointers and strings there is a call
in some test that gives NULL, or NO_BYTES, in its place; and one of the tests of
sizes names each struct that begins with its size.
Usage: check_arguments.py SOURCE_ROOT | --self-test
"""

import pathlib
import re
import sys


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def split(arguments):
    """The arguments of a call or a declaration."""
    parts, depth, start, in_string = [], 0, 0, False
    for i, c in enumerate(arguments):
        if c == '"' and arguments[i - 1] != "\\":
            in_string = not in_string
        if in_string:
            continue
        depth += (c in "({[") - (c in ")}]")
        if c == "," and depth == 0:
            parts.append(arguments[start:i].strip())
            start = i + 1
    parts.append(arguments[start:].strip())
    return [] if parts in ([""], ["void"]) else parts


def calls(text):
    """Yields name and arguments of all calls of kin_ functions."""
    for match in re.finditer(r"\b(kin_[a-z]\w*)\(", text):
        depth, i, in_string = 1, match.end(), False
        while depth > 0 and i < len(text):
            if text[i] == '"' and text[i - 1] != "\\":
                in_string = not in_string
            if not in_string:
                depth += (text[i] == "(") - (text[i] == ")")
            i += 1
        yield match.group(1), split(text[match.end():i - 1])


def nothing_for(parameter):
    """How a test gives nothing for it, or "" if it need not. Callbacks are
    pointers; `void *data` is for the callee's callbacks."""
    kind = re.sub(r"\w+$", "", parameter).strip()
    if kind == "kin_str":
        return "NO_BYTES"
    is_pointer = "*" in kind and parameter != "void *data"
    return "NULL" if is_pointer or kind.endswith("_cb") else ""


def declared(text):
    """{function: [nothing_for each parameter]} of a header."""
    text = re.sub(r"typedef[^;]*\(\*?\w+\)[^;]*;", "", without_comments(text))
    found = {}
    for match in re.finditer(r"\b(kin_[a-z]\w*)\s*\(([^;{}]*)\)\s*;", text):
        found[match.group(1)] = [nothing_for(" ".join(p.split()))
                                 for p in split(match.group(2))]
    return found


def sized(text):
    """The structs of a header that begin with `size_t size`."""
    return re.findall(r"typedef struct (\w+) \{\s*size_t size;",
                      without_comments(text))


def missing(functions, argument_tests, all_tests):
    """What the tests do not have, as lines for people."""
    named = {name for text in argument_tests for name, _ in calls(text)}
    given = {(name, i, arg) for text in all_tests
             for name, args in calls(text) for i, arg in enumerate(args)}
    lines = [f"{name}: in no test of arguments"
             for name in functions if name not in named]
    lines += [f"{name}: never given {nothing} as argument {i + 1}"
              for name, parameters in functions.items()
              for i, nothing in enumerate(parameters)
              if nothing and (name, i, nothing) not in given]
    return lines


def self_test():
    header = """/* int kin_gone(int *p); */
    typedef int (*kin_less_cb)(const void *a, const void *b, void *data);
    KIN_EXTERN int kin_a(kin_a_type **out, const char *name, int n);
    KIN_EXTERN void kin_b(kin_less_cb less, void *data);
    KIN_EXTERN kin_str kin_c(void);
    KIN_EXTERN int kin_d(kin_str key, kin_str *value);"""
    functions = declared(header)
    want = {"kin_a": ["NULL", "NULL", ""], "kin_b": ["NULL", ""], "kin_c": [],
            "kin_d": ["NO_BYTES", "NULL"]}
    full = 'kin_a(NULL, "x,)", f(1, 2)); kin_a(&a,\n NULL, 3); kin_b(NULL, d);' \
        " kin_c(); kin_d(NO_BYTES, NULL);"
    cases = [
        functions == want,
        missing(functions, [full], [full]) == [],
        missing(functions, [], [full]) == [f"{f}: in no test of arguments"
                                           for f in want],
        missing(functions, [full], [full.replace(" NULL, 3", " b, 3")]) ==
        ["kin_a: never given NULL as argument 2"],
        missing(functions, [full], [full.replace("NO_BYTES", "key")]) ==
        ["kin_d: never given NO_BYTES as argument 1"],
    ]
    cases.append(sized("""typedef struct kin_o {
      size_t size; /* x */
    } kin_o;
    typedef struct kin_p { int size; } kin_p;""") == ["kin_o"])
    print(f"{sum(cases)} passed, {len(cases) - sum(cases)} failed")
    return not all(cases)


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    root = pathlib.Path(sys.argv[1])
    functions, structs = {}, []
    for path in sorted((root / "include/kin").rglob("*.h*")):
        functions.update(declared(path.read_text()))
        structs += sized(path.read_text())
    texts = {path: without_comments(path.read_text())
             for path in (root / "test").rglob("*.c")}
    lines = missing(functions,
                    [text for path, text in texts.items()
                     if path.name.startswith("test_arguments")],
                    texts.values())
    sizes = "".join(texts[root / "test" / f"{name}.c"] for name in (
        "flow/test_option_sizes", "flow/test_result_sizes",
        "unit/test_kubeconfig", "unit/test_warning"))
    lines += [f"{name}: in no test of sizes" for name in structs
              if not re.search(rf"\b{name}\b", sizes)]
    for line in lines:
        print(f"FAIL: {line}")
    count = len(functions) + len(structs)
    failed = len(lines) + (not functions) + (not structs)
    print(f"{len(functions)} functions, {len(structs)} sized structs")
    print(f"{max(count - failed, 0)} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
