#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks doc/behaviours.md: each ID that a file of FOLDERS cites has one row,
in the group of its letters, with one short sentence; each row is cited; and
the tests of a row are the files of test/ that cite the ID. Public headers
explain, and cite no ID. Usage: check_behaviours.py SOURCE_DIR [--write], or
--self-test; --write corrects the tests. The last line counts the rules.
"""

import pathlib
import re
import sys
import tempfile

from check_upstream import behaviours_in

PAGE = "doc/behaviours.md"
FOLDERS = ("lib", "include", "test", "tools", "bench", "testing", "doc")
SUFFIXES = {".c", ".h", ".in", ".py", ".go", ".md", ".txt", ".build"}
# Fixtures prove nothing; the checks' own IDs are examples.
NO_TESTS = ("test/check/", "test/support/", "test/fuzz/corpus/")
TEST_SUFFIXES = {".c", ".h", ".py"}
MAX_WORDS = 25
NOT_OURS = "client-go:"  # begins a sentence about what kinformer has not
ROW = re.compile(r"^\| ([A-Z]{2}-\d\d) \| (.*?) \| (.*?) \|$")
GROUP = re.compile(r"^## .*\(([A-Z]{2})\)$")


def read_sources(root):
    """Path -> text of each file that may cite an ID."""
    sources = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            is_example = name.startswith("test/check/") and \
                path.suffix == ".py"
            if path.suffix in SUFFIXES and path.is_file() and \
                    name != PAGE and not is_example and \
                    not name.startswith("test/fuzz/corpus/"):
                sources[name] = path.read_text()
    return sources


def read_citations(sources):
    """ID -> the files that cite it."""
    citations = {}
    for name, text in sources.items():
        for id_ in behaviours_in(text):
            citations.setdefault(id_, []).append(name)
    return citations


def read_rows(page):
    """Yields (line, group, id, sentence, tests) of each row."""
    group = None
    for number, line in enumerate(page.split("\n"), 1):
        heading = GROUP.match(line)
        group = heading.group(1) if heading else group
        row = ROW.match(line)
        if row:
            yield (number, group) + row.groups()


def tests_of(id_, citations):
    names = [name for name in citations.get(id_, [])
             if name.startswith("test/") and not name.startswith(NO_TESTS)
             and pathlib.PurePath(name).suffix in TEST_SUFFIXES]
    return ", ".join(f"`{name.removeprefix('test/')}`"
                     for name in names) or "-"


def check_complete(page, sources, problems):
    citations = read_citations(sources)
    seen = set()
    for number, group, id_, _, _ in read_rows(page):
        if id_ in seen:
            problems.append(f"line {number}: {id_} again")
        if id_[:2] != group:
            problems.append(f"line {number}: {id_} in the group {group}")
        if id_ not in citations:
            problems.append(f"line {number}: nothing cites {id_}")
        seen.add(id_)
    for id_, names in sorted(citations.items()):
        if id_ not in seen:
            problems.append(f"{names[0]}: {id_} has no row")


def check_sentences(page, _sources, problems):
    for number, _, id_, sentence, tests in read_rows(page):
        if not sentence.endswith(".") or ". " in sentence or \
                len(sentence.split()) > MAX_WORDS:
            problems.append(f"line {number}: {id_} has not one sentence of at "
                            f"most {MAX_WORDS} words")
        if sentence.startswith(NOT_OURS) != (tests == "-"):
            problems.append(f"line {number}: {id_} must have tests, or begin "
                            f"with \"{NOT_OURS}\", and not both")


def check_tests(page, sources, problems):
    citations = read_citations(sources)
    for number, _, id_, _, tests in read_rows(page):
        if tests != tests_of(id_, citations):
            problems.append(f"line {number}: the tests of {id_} are "
                            f"{tests_of(id_, citations)}; --write corrects it")


def check_headers(_page, sources, problems):
    for name, text in sources.items():
        ids = behaviours_in(text) if name.startswith("include/") else set()
        for id_ in sorted(ids):
            problems.append(f"{name}: cites {id_} instead of explaining it")


RULES = [check_complete, check_sentences, check_tests, check_headers]


def run(root, show):
    page = (root / PAGE).read_text()
    sources = read_sources(root)
    failed = []
    for rule in RULES:
        problems = []
        if not list(read_rows(page)):
            problems.append(f"{PAGE} has no rows")
        rule(page, sources, problems)
        show(f"{'FAIL' if problems else 'ok'}: {rule.__name__}")
        for problem in problems:
            show(f"  {problem}")
        failed += [rule] if problems else []
    return failed


def write(root):
    citations = read_citations(read_sources(root))
    lines = []
    for line in (root / PAGE).read_text().split("\n"):
        row = ROW.match(line)
        lines.append(line if row is None else
                     f"| {row.group(1)} | {row.group(2)} | "
                     f"{tests_of(row.group(1), citations)} |")
    (root / PAGE).write_text("\n".join(lines))


def make_tree(root, row, more):
    """A project of one group, with a row of AA-01 and a test that cites it."""
    files = {PAGE: f"## Group (AA)\n\n{row}\n",
             "lib/a.c": "/* AA-01 */\n",
             "test/unit/test_a.c": "/* AA-01. */\n",
             "test/support/a.h": "/* AA-01 */\n",
             "test/check/a.py": "# BB-01\n"}
    files.update(more)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def self_test():
    """Each rule fails at what it is for, and at nothing else; what --write
    writes is right."""
    row = "| AA-01 | A. | `unit/test_a.c` |"
    second = "| AA-02 | B. | `flow/test_b.c` |"
    flow = {"test/flow/test_b.c": "/* AA-02 */"}
    twice = row.replace(" |\n", "") + "\n" + second
    long = "a " * MAX_WORDS + "a."
    cases = [
        (row, {}, []),
        (twice, flow, []),
        (twice, {"test/flow/test_b.c": "/* AA-02..03 */"}, [check_complete]),
        (row, {"lib/b.c": "/* AA-02 */"}, [check_complete]),
        (row + "\n" + row, {}, [check_complete]),
        (row + "\n| AA-02 | client-go: b. | - |", {}, [check_complete]),
        (row + "\n| BB-01 | client-go: b. | - |", {"doc/b.md": "BB-01"},
         [check_complete]),
        (row.replace("A.", "A"), {}, [check_sentences]),
        (row.replace("A.", "A. B."), {}, [check_sentences]),
        (row.replace("A.", long), {}, [check_sentences]),
        (row.replace("A.", "client-go: a."), {}, [check_sentences]),
        (row + "\n| AA-02 | B. | - |", {"doc/b.md": "AA-02"},
         [check_sentences]),
        (row.replace("test_a", "test_b"), {}, [check_tests]),
        (row, {"test/sim/a.c": "/* AA-01 */"}, [check_tests]),
        (row, {"include/kin/a.h": "/* AA-01 */"}, [check_headers]),
        ("", {"lib/a.c": "", "test/unit/test_a.c": "", "test/support/a.h": ""},
         RULES)]
    for page, more, expected in cases:
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            make_tree(root, page, more)
            if run(root, lambda line: None) != expected:
                print(f"FAIL: {page!r} {more!r}")
                return 1
            write(root)
            if check_tests in run(root, lambda line: None) and page:
                print(f"FAIL: --write: {page!r} {more!r}")
                return 1
    print(f"{len(cases)} passed, 0 failed")
    return 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    root = pathlib.Path(sys.argv[1])
    if "--write" in sys.argv[2:]:
        write(root)
    failed = run(root, print)
    print(f"{len(RULES) - len(failed)} passed, {len(failed)} failed")
    return len(failed) != 0


if __name__ == "__main__":
    sys.exit(main())
