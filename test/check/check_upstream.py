#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that nothing of client-go was forgotten.

Tests: each name of upstream_tests.txt that lies in REQUIRED must be cited in a
comment directly above or inside a cmocka test function. The function asserts
something (itself, in a function of the same file that it names, or by a
checking function of test/support), is run by its main() and is built, and the
comment has one of the behaviour IDs that the list gives for the name. Or else
the table of doc/client-go-parity.md under "Upstream tests" says why the name
does not apply. Not both; and a cited name must be in the list.

Names: each line of upstream_names.txt must be in the first column of a table
of that page. The last column of each row must name tests that exist, as must
the text between the tables. A test whose name several files have is named with
its file: `backoff/test_kinds` is that of test_backoff.c. A cell of the first
column may abbreviate: `.Add` stands for that member of every type named before
it in the cell, `…Options.Name` for that member of all types that end so. A
name that two packages have is written with its package: `dynamiclister.New`.

Usage: check_upstream.py SOURCE_DIR | check_upstream.py --self-test
"""

import collections
import fnmatch
import pathlib
import re
import sys

REQUIRED = ("tools/cache/", "tools/pager/", "tools/watch/", "dynamic/",
            "metadata/", "features/", "util/consistencydetector/",
            "util/watchlist/", "tools/clientcmd/", "util/workqueue/",
            "tools/leaderelection/")
OWN_PACKAGES = ("tools/cache", "tools/cache/synctrack", "tools/cache/testing")
NOT_APPLICABLE = "Upstream tests"

LEXEME = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])+\'', re.S)
FUNCTION = re.compile(
    r"^\w[\w \t*]*?\b(\w+)\(([^;{}()]*(?:\([^;{}]*\)[^;{}()]*)*)\)\s*\{.*?^\}",
    re.S | re.M)
MACRO = re.compile(r"^#define (\w+)\((?:[^\\\n]|\\\n)*", re.M)
UPSTREAM_NAME = re.compile(
    r"\b((?:Test|Example)[A-Z_]\w*)|(?<=client-go )(Example)\b")
BEHAVIOUR = re.compile(
    r"\b([A-Z]{2})-(\d\d)(?:\s*(?:to|\.\.)[\s*]*(?:\1-)?(\d\d))?\b")
ASSERTION = re.compile(r"\bassert_\w+\s*\(")
CHECKING = re.compile(r"_(assert|expect|drain|story)(_|$)")
WORD = re.compile(r"\w+")
TEST_REFERENCE = re.compile(r"(?:\w+/)*\btest_\w+\b(?!\.)")

Tree = collections.namedtuple("Tree", "tests names page sources build")
Upstream = collections.namedtuple("Upstream", "files ids")
Function = collections.namedtuple("Function", "name is_test start end body")
Citation = collections.namedtuple("Citation", "name place ids test problem")
Row = collections.namedtuple("Row", "section line cells")


# --- C ----------------------------------------------------------------------

def blank(text):
    return re.sub(r"[^\n]", " ", text)


def split_source(text):
    """Returns the text with comments and strings blanked, and the comments as
    (start, end, text)."""
    comments = [(m.start(), m.end(), m.group()) for m in LEXEME.finditer(text)
                if m.group().startswith("/")]
    return LEXEME.sub(lambda m: blank(m.group()), text), comments


def find_functions(code):
    found = []
    for match in FUNCTION.finditer(code):
        is_test = match.group(1).startswith("test_") and \
            match.group(2).split() == ["void", "**state"]
        found.append(Function(match.group(1), is_test, match.start(),
                              match.end(), match.group()))
    return found


def checking_functions(sources):
    """Functions and macros of test/support that assert and exist to do so, as
    their names say. One that asserts beside its work, as a set-up does, is not
    one of them."""
    found = {}
    for path, text in sources.items():
        if not path.startswith("test/support/"):
            continue
        code, _ = split_source(text)
        bodies = bodies_of(code)
        for name, body in bodies.items():
            function = Function(name, False, 0, 0, body)
            if CHECKING.search(name) and asserts_something(function, bodies):
                found[name] = "assert_true("
    return found


def bodies_of(code):
    bodies = {f.name: f.body for f in find_functions(code)}
    bodies.update((m.group(1), m.group()) for m in MACRO.finditer(code))
    return bodies


def asserts_something(function, bodies):
    seen = {function.name}
    to_do = [function.body]
    while to_do:
        body = to_do.pop()
        if ASSERTION.search(body):
            return True
        for word in WORD.findall(body):
            if word in bodies and word not in seen:
                seen.add(word)
                to_do.append(bodies[word])
    return False


def test_of_comment(comment, code, functions):
    """The test function that a comment is in or directly above, or None."""
    start, end, _ = comment
    for function in functions:
        if function.start < start < function.end:
            return function if function.is_test else None
    for function in functions:
        if function.start >= end:
            is_next = code[end:function.start].strip() == ""
            return function if is_next and function.is_test else None
    return None


def problem_of_test(function, code, bodies):
    if function is None:
        return "no test function is directly below, or around"
    if not asserts_something(function, bodies):
        return f"{function.name} asserts nothing"
    if len(re.findall(rf"\b{function.name}\b", code)) < 2:
        return f"{function.name} is not run by its main"
    return None


def behaviours_in(text):
    """The IDs that a text names, also as "AA-01 to AA-03" or "AA-01..03"."""
    return {f"{area}-{number:02}"
            for area, first, last in BEHAVIOUR.findall(text)
            for number in range(int(first), int(last or first) + 1)}


def find_citations(path, text, checking):
    code, comments = split_source(text)
    functions = find_functions(code)
    bodies = {**checking, **bodies_of(code)}
    for comment in comments:
        names = [a or b for a, b in UPSTREAM_NAME.findall(comment[2])]
        if not names:
            continue
        test = test_of_comment(comment, code, functions)
        problem = problem_of_test(test, code, bodies)
        place = f"{path}:{text.count(chr(10), 0, comment[0]) + 1}"
        ids = behaviours_in(comment[2])
        for name in names:
            yield Citation(name, place, ids, test and test.name, problem)


# --- The lists and the page -------------------------------------------------

def read_list(text):
    return [line.split() for line in text.split("\n")
            if line.strip() and not line.startswith("#")]


def read_upstream(text):
    """Name -> the files that have a test of that name, and all its IDs."""
    upstream = {}
    for file, name, ids in read_list(text):
        entry = upstream.setdefault(name, Upstream(set(), set()))
        entry.files.add(file)
        entry.ids.update(id_ for id_ in ids.split(",") if id_ != "-")
    return upstream


def read_rows(page):
    """The rows of all tables, without their heads."""
    rows = []
    section = ""
    is_head = True
    for number, line in enumerate(page.split("\n"), 1):
        if line.startswith("## "):
            section = line[3:].strip()
        if not line.startswith("|"):
            is_head = True
            continue
        if set(line) <= set("|-: "):
            is_head = False
        elif not is_head:
            cells = [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]]
            rows.append(Row(section, number, cells))
    return rows


def names_in(cell):
    """The client-go names of a cell, as patterns."""
    names = []
    types = []
    for token in re.findall(r"`([^`]+)`", cell):
        if token.startswith("."):
            names += [type_ + token for type_ in types]
            continue
        names.append(token.replace("…", "*"))
        head, _, member = token.rpartition(".")
        type_ = head if head[:1].isupper() or "." in head else token
        if type_ not in types:
            types.append(type_)
    return names


# --- Checks -----------------------------------------------------------------

def is_test_file(path):
    name = pathlib.PurePath(path).name
    return name.startswith("test_") and name.endswith(".c")


def check_tests(tree):
    upstream = read_upstream(tree.tests)
    cited = set()
    problems = []
    checking = checking_functions(tree.sources)
    for path, text in sorted(tree.sources.items()):
        if not is_test_file(path):
            continue
        for c in find_citations(path, text, checking):
            module = pathlib.PurePath(path).stem[len("test_"):]
            problem = c.problem
            if c.name not in upstream:
                problem = "no such test in upstream_tests.txt"
            elif problem is None and f"'{module}'" not in tree.build:
                problem = "the file is not in test/meson.build"
            elif problem is None and upstream[c.name].ids and \
                    not upstream[c.name].ids & c.ids:
                problem = "none of its behaviour IDs beside it: " + \
                    ", ".join(sorted(upstream[c.name].ids))
            if problem is None:
                cited.add(c.name)
            else:
                problems.append(f"{c.place}: {c.name}: {problem}")
    not_applicable, more = read_not_applicable(tree, upstream, cited)
    problems += more
    for name, entry in upstream.items():
        if name not in cited and name not in not_applicable and \
                any(file.startswith(REQUIRED) for file in entry.files):
            problems.append(f"{min(entry.files)} {name}: neither cited nor "
                            "explained")
    return problems


def read_not_applicable(tree, upstream, cited):
    names = set()
    problems = []
    for row in read_rows(tree.page):
        if row.section != NOT_APPLICABLE:
            continue
        place = f"parity page, line {row.line}"
        if len(row.cells) != 2 or not row.cells[1]:
            problems.append(f"{place}: no reason")
            continue
        for name in re.findall(r"`([^`]+)`", row.cells[0]):
            if name not in upstream:
                problems.append(f"{place}: no such test: {name}")
            elif name in cited:
                problems.append(f"{place}: {name} is also cited")
            elif name in names:
                problems.append(f"{place}: {name} again")
            names.add(name)
    return names, problems


def check_names(tree):
    patterns = set()
    for row in read_rows(tree.page):
        if row.section != NOT_APPLICABLE:
            patterns.update(names_in(row.cells[0]))
    globs = [p for p in patterns if "*" in p]
    entries = [(str(pathlib.PurePath(file).parent), name)
               for file, name in read_list(tree.names)]
    count = collections.Counter(name for _, name in entries)
    problems = []
    for folder, name in entries:
        spellings = [pathlib.PurePath(folder).name + "." + name]
        if folder in OWN_PACKAGES or count[name] == 1:
            spellings.append(name)
        if not any(s in patterns or
                   any(fnmatch.fnmatchcase(s, g) for g in globs)
                   for s in spellings):
            problems.append(f"{folder} {name}: no row")
    return problems


def known_tests(sources):
    """Name of a test -> the files that have one, without "test_" and suffix."""
    known = collections.defaultdict(set)
    for path, text in sources.items():
        stem = pathlib.PurePath(path).stem.removeprefix("test_")
        names = []
        if is_test_file(path):
            names = [f.name for f in find_functions(split_source(text)[0])
                     if f.is_test]
        elif path.endswith(".py"):
            names = re.findall(r"^\s*def (test_\w+)\(", text, re.M)
        for name in names:
            known[name].add(stem)
    return known


def problem_of_reference(reference, known):
    file, _, name = reference.rpartition("/")
    files = known.get(name, set())
    if not files or (file and file not in files):
        return f"no such test: {reference or '(none)'}"
    if not file and len(files) > 1:
        return f"{name} is in several files: {', '.join(sorted(files))}"
    return None


def check_proofs(tree):
    known = known_tests(tree.sources)
    problems = []
    references = []
    for row in read_rows(tree.page):
        if row.section == NOT_APPLICABLE:
            continue
        if len(row.cells) != 4:
            problems.append(f"parity page, line {row.line}: "
                            f"{len(row.cells)} cells instead of 4")
            continue
        references += [(row.line, p.strip(" `"))
                       for p in row.cells[3].split(",")]
    for number, line in enumerate(tree.page.split("\n"), 1):
        if not line.startswith("|"):
            references += [(number, r) for r in TEST_REFERENCE.findall(line)]
    for number, reference in references:
        problem = problem_of_reference(reference, known)
        if problem is not None:
            problems.append(f"parity page, line {number}: {problem}")
    return problems


CHECKS = [check_tests, check_names, check_proofs]


def read_tree(root):
    def read(path):
        return (root / path).read_text(encoding="utf-8")

    sources = {str(path.relative_to(root)): read(path)
               for pattern in ("*.[ch]", "*.py")
               for path in (root / "test").rglob(pattern)
               if root / "test/check" not in path.parents}
    return Tree(tests=read("test/check/upstream_tests.txt"),
                names=read("test/check/upstream_names.txt"),
                page=read("doc/client-go-parity.md"),
                sources=sources,
                build=read("test/meson.build"))


# --- Self-test --------------------------------------------------------------

GOOD_TEST = """
static void helper(int *x) {
  assert_int_equal(*x, 1);
}

/* client-go TestA, TestB; AA-01 to
 * AA-02: something holds. */
static void test_a(void **state) {
  int x = 1;
  helper(&x);
}

static void test_c(void **state) {
  /* client-go Example; AA-03. */
  rig_expect("TestNone");
}

static void test_twice(void **state) {
}

int main(void) {
  run(test_a, test_c, test_twice);
}
"""

GOOD_SUPPORT = """
void rig_open(int *x) {
  assert_non_null(x);
}
void rig_expect(int *x) {
  rig_open(x);
}
void rig_expect_not(int *x) {
}
"""

GOOD_PAGE = """
## Queues

A file, `test/unit/test_x.c`, and tests: (test_a, y/test_twice).

| client-go | kinformer | same? | proved by |
|---|---|---|---|
| `Queue`, `FIFO`: `.Add` | `kin_queue` | The same. | test_a, `test_c` |
| `…Options.Name` | none | None. | test_py |
| `lister.New` | none | None. | test_a, x/test_twice |

## Upstream tests

| test | why |
|---|---|
| `TestD` | Only of threads. |
"""

GOOD = Tree(
    tests="# list\n"
          "tools/cache/a_test.go  TestA  AA-01\n"
          "tools/cache/a_test.go  TestB  AA-02,AA-09\n"
          "tools/cache/a_test.go  Example  AA-03\n"
          "tools/pager/a_test.go  TestD  AA-04\n"
          "rest/a_test.go  TestE  AA-05\n",
    names="# names\n"
          "tools/cache/q.go  Queue\n"
          "tools/cache/q.go  Queue.Add\n"
          "tools/cache/q.go  FIFO.Add\n"
          "tools/cache/q.go  FIFOOptions.Name\n"
          "listers/lister/l.go  New\n"
          "informers/informer/i.go  New2\n",
    page=GOOD_PAGE.replace("`lister.New`", "`lister.New`, `New2`"),
    sources={"test/unit/test_x.c": GOOD_TEST,
             "test/support/rig.c": GOOD_SUPPORT,
             "test/cli/test_y.py": "def test_py():\n  pass\n"
                                  "def test_twice():\n  pass\n"},
    build="unit_tests = [\n  'x',\n]")


def with_test(old, new):
    return GOOD._replace(sources={
        **GOOD.sources,
        "test/unit/test_x.c": GOOD_TEST.replace(old, new, 1)})


def with_page(old, new):
    return GOOD._replace(page=GOOD.page.replace(old, new, 1))


def broken_trees():
    """(what is wrong, tree, what the first problem must say)"""
    yield "name not cited", with_test("TestA, ", ""), "TestA: neither"
    yield "example not cited", with_test("client-go Example", "Example"), \
        "Example: neither"
    yield "a name in a string", with_test("client-go Example; AA-03.", ""), \
        "Example: neither"
    yield "typo", with_test("TestB", "TestBB"), "TestBB: no such test"
    yield "nothing asserted", with_test("assert_int_equal(*x, 1)", "x++"), \
        "test_a asserts nothing"
    yield "an assertion in a comment", \
        with_test("assert_int_equal(*x, 1);", "/* assert_true(x); */"), \
        "test_a asserts nothing"
    yield "helper not called", with_test("  helper(&x);\n", ""), \
        "test_a asserts nothing"
    yield "a set-up of test/support", \
        with_test("  helper(&x);", "  rig_open(&x);"), "test_a asserts nothing"
    yield "a checking function that asserts nothing", \
        with_test("  helper(&x);", "  rig_expect_not(&x);"), \
        "test_a asserts nothing"
    yield "not run", with_test("run(test_a, ", "run("), "test_a is not run"
    yield "above no test", \
        with_test("static void test_a", "static void other"), \
        "no test function"
    yield "code in between", with_test("static void test_a",
                                       "static int y;\nstatic void test_a"), \
        "no test function"
    yield "no ID", with_test("AA-03", ""), "none of its behaviour IDs"
    yield "not in the range", with_test("AA-01 to", "AA-03 to"), \
        "none of its behaviour IDs"
    yield "another's ID", with_test("AA-03", "AA-01"), \
        "none of its behaviour IDs"
    yield "not built", GOOD._replace(build=""), "not in test/meson.build"
    yield "no reason", with_page("Only of threads.", ""), "no reason"
    yield "no row", with_page("| `TestD` | Only of threads. |\n", ""), \
        "TestD: neither"
    yield "unknown in row", with_page("`TestD`", "`TestD`, `TestF`"), \
        "no such test: TestF"
    yield "twice in rows", with_page("`TestD`", "`TestD`, `TestD`"), "again"
    yield "cited and explained", with_page("`TestD`", "`TestD`, `TestA`"), \
        "TestA is also cited"
    yield "name without row", with_page("`Queue`, ", ""), \
        "tools/cache Queue: no row"
    yield "member without row", with_page(": `.Add`", ""), \
        "tools/cache Queue.Add: no row"
    yield "member before its type", \
        with_page("`Queue`, `FIFO`: `.Add`", "`Queue`, `.Add`, `FIFO`"), \
        "FIFO.Add: no row"
    yield "pattern gone", with_page("…Options", "…Option"), \
        "FIFOOptions.Name: no row"
    yield "ambiguous name", \
        GOOD._replace(names=GOOD.names.replace("New2", "New")), \
        "informers/informer New: no row"
    yield "proof does not exist", with_page("test_py", "test_gone"), \
        "no such test: test_gone"
    yield "no proof", with_page("test_py", ""), "no such test: (none)"
    yield "a helper is no proof", with_page("test_py", "helper"), \
        "no such test: helper"
    yield "two tests of one name", with_page("x/test_twice", "test_twice"), \
        "test_twice is in several files: x, y"
    yield "not in that file", with_page("x/test_twice", "z/test_twice"), \
        "no such test: z/test_twice"
    yield "no such test, in the text", with_page("(test_a", "(test_gone"), \
        "no such test: test_gone"
    yield "two of one name, in the text", \
        with_page("y/test_twice", "test_twice"), "test_twice is in several"
    yield "a cell too few", with_page("| None. | test_py |", "| test_py |"), \
        "3 cells"


def self_test():
    passed = failed = 0
    for label, tree, expected in [("good", GOOD, None), *broken_trees()]:
        problems = [p for check in CHECKS for p in check(tree)]
        if expected is None:
            holds = problems == []
        else:
            holds = any(expected in p for p in problems) and tree != GOOD
        print(f"{'ok' if holds else 'FAIL'}: {label}")
        if not holds:
            print(f"  expected {expected!r}, got {problems}")
        passed += holds
        failed += not holds
    print(f"{passed} passed, {failed} failed")
    return failed != 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    tree = read_tree(pathlib.Path(sys.argv[1]))
    failed = 0
    for check in CHECKS:
        problems = check(tree)
        print(f"{'FAIL' if problems else 'ok'}: {check.__name__}")
        for problem in problems:
            print(f"  {problem}")
        failed += bool(problems)
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
