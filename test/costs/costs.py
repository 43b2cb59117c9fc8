#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the costs that public headers promise against the instructions that
calls take, counted by valgrind's callgrind: no clock, so a busy machine gives
the same numbers. A row of kin-costs names a function, the words of the
promise, and what there is 64 times as much of in the second count (8 times
from 1,024 on).

  costs.py PROGRAM HEADERS [FUNCTION...]   counts: all rows, or some functions'
  costs.py --self-test PROGRAM             planted wrong promises are found
  costs.py --rows PROGRAM HEADERS [HEADER...]  only: each promise has a row;
                                           not of headers that were left out
  costs.py --rows-self-test                a promise without a row is found

A comment promises what it says as O(...), or behind "Cost:"; without such words
a call is O(1), and a row without a promise says so. The last line counts rows,
and the rules that promises and rows fit as one more.
"""

import collections
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# What a count may have beside the part that grows: a segment of a table is
# zeroed, a buffer is copied, a chain is longer by a few elements.
CONSTANT = 1500
SLACK = 1.5
# A row of O(n) that grows less than this does not grow what it says.
LEAST_GROWTH = 4

# Each part of callgrind's output takes it longer, the more code has run before.
FUNCTIONS_A_RUN = 8

Row = collections.namedtuple("Row", "number function of promise grows allowed")
Promise = collections.namedtuple("Promise", "place names terms")


# ------------------------------------------------------- headers and their rows

DOC = re.compile(r"/\*\*(?!<)(.*?)\*/\n(.*?)(?=\n\s*\n|/\*\*(?!<)|\Z)", re.S)
FUNCTION = re.compile(r"\b(kin_\w+)\s*\(")
TYPE = re.compile(r"\b(kin_\w+)\s*[;{]")
ORDER = re.compile(r"O\((?:[^()]|\([^()]*\))*\)")


def declared(code):
    """The functions below a comment, or the type."""
    code = re.sub(r"/\*.*?\*/", " ", code, flags=re.S)
    return FUNCTION.findall(code) or TYPE.findall(code)[:1]


def terms_of(comment):
    """The words in which a comment promises a cost."""
    text = re.sub(r"\s*\n\s*\*?\s*", " ", comment)
    found = ORDER.findall(text)
    for clause in re.findall(r"\bCost: ([^.;]+)", text):
        if not ORDER.search(clause):
            found.append(clause)
    return list(dict.fromkeys(found))


def promises_in(place, text):
    for comment, code in DOC.findall(text):
        if terms_of(comment):
            yield Promise(place, declared(code), terms_of(comment))


def check_rows(headers, rows):
    """The problems between headers, a dict of texts, and the rows."""
    promises = [p for place, text in headers.items()
                for p in promises_in(place, text)]
    known = {name for text in headers.values()
             for name in FUNCTION.findall(text)}
    quoted = {(row.of, row.promise) for row in rows if row.promise}
    problems = []
    for promise in promises:
        if not promise.names:
            problems.append(f"{promise.place}: a cost of nothing that is "
                            f"declared: {promise.terms}")
        problems += [f"{promise.place}: no row for {name}: {term}"
                     for name in promise.names for term in promise.terms
                     if (name, term) not in quoted]
    said = {(name, term) for p in promises for name in p.names
            for term in p.terms}
    for row in rows:
        if row.function not in known:
            problems.append(f"row {row.number}: no header has {row.function}")
        elif row.promise and (row.of, row.promise) not in said:
            problems.append(f"row {row.number}: no header says {row.promise} "
                            f"of {row.of}")
    return problems


def read_headers(folder, left_out=()):
    return {str(path.relative_to(folder)): path.read_text()
            for path in sorted(folder.rglob("*.h"))
            if path.name not in left_out}


def read_rows(program, *options):
    """Returns whether the program can count, and its rows."""
    lines = subprocess.run([program, *options, "--list"], check=True,
                           stdout=subprocess.PIPE,
                           text=True).stdout.splitlines()
    rows = []
    for line in lines[1:]:
        number, function, of, promise, grows, allowed = line.split("\t")
        rows.append(Row(int(number), function, of, promise, grows, allowed))
    return lines[0] == "counts", rows


# --------------------------------------------------------------------- counting


def count(program, arguments):
    """Returns {row number: {n: most instructions of a count}}."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        subprocess.run(["valgrind", "--quiet", "--tool=callgrind",
                        "--instr-atstart=no", "--combine-dumps=yes",
                        f"--callgrind-out-file={out}", str(pathlib.Path(program).resolve()),
                        *arguments], check=True, cwd=folder,
                       env={**os.environ, "LD_BIND_NOW": "1"})
        return read_counts(out.read_text().splitlines())


def read_counts(lines):
    counts = collections.defaultdict(lambda: collections.defaultdict(int))
    at = None
    for line in lines:
        if line.startswith("desc: Trigger:"):
            found = re.search(r"row (\d+) at (\d+)$", line)
            at = found and (int(found[1]), int(found[2]))
        elif line.startswith(("summary:", "totals:")) and at:
            number, n = at
            counts[number][n] = max(counts[number][n],
                                    int(line.split()[1]))
    return counts


def limit(allowed, few, many, few_count):
    """The most instructions for `many` in a class, after `few_count`."""
    growth = {"O(1)": 1,
              "O(log n)": math.log2(many) / math.log2(few),
              "O(n)": many / few,
              "O(n log n)": many / few * math.log2(many) / math.log2(few)}
    return few_count * growth[allowed] * SLACK + CONSTANT


def judge(row, counts):
    """Returns what is wrong, or None, and the line to show."""
    each = "O(1)" if row.allowed == "O(1)" else "O(1) each"
    text = f"{row.function}: {row.promise or each}, {row.grows}"
    if len(counts) != 2:
        return "was not counted twice", text
    (few, few_count), (many, many_count) = sorted(counts.items())
    text += f": {few_count} for {few}, {many_count} for {many}"
    most = limit(row.allowed, few, many, few_count)
    if many_count > most:
        return f"more than {row.allowed}, {most:.0f}", text
    if "(n" in row.allowed and many_count < few_count * LEAST_GROWTH:
        return "nothing grows here", text
    return None, text


def count_rows(program, options, rows, show):
    """Returns the functions of the rows that fail."""
    names = list(dict.fromkeys(row.function for row in rows))
    counts = {}
    for i in range(0, len(names), FUNCTIONS_A_RUN):
        counts |= count(program, [*options, *names[i:i + FUNCTIONS_A_RUN]])
    failed = []
    for row in rows:
        wrong, text = judge(row, counts.get(row.number, {}))
        show(f"{'FAIL' if wrong else 'ok'}: {text}" +
             (f": {wrong}" if wrong else ""))
        failed += [row.function] if wrong else []
    return failed


# ------------------------------------------------------------------------- runs


def show_problems(problems):
    for problem in problems:
        print(f"  {problem}")
    print(f"{'FAIL' if problems else 'ok'}: promises and rows")


def run(program, folder, names):
    counts, rows = read_rows(program)
    if not counts:
        print("costs: the program was built without <valgrind/callgrind.h>: "
              "./dev clean, then again")
        return 1
    problems = check_rows(read_headers(folder), rows)
    show_problems(problems)
    wanted = [row for row in rows if not names or row.function in names]
    if not wanted:
        print(f"costs: no row of {', '.join(names)}")
        return 1
    failed = count_rows(program, [], wanted, print)
    wrong = len(failed) + (len(problems) != 0)
    print(f"{len(wanted) + 1 - wrong} passed, {wrong} failed")
    return wrong != 0


def run_rows(program, folder, left_out):
    problems = check_rows(read_headers(folder, left_out), read_rows(program)[1])
    show_problems(problems)
    print(f"{int(not problems)} passed, {int(bool(problems))} failed")
    return len(problems) != 0


def self_test(program):
    """Of the planted rows exactly those called wrong fail."""
    _, rows = read_rows(program, "--planted")
    lines = []
    failed = count_rows(program, ["--planted"], rows, lines.append)
    expected = [row.function for row in rows
                if row.function.startswith("wrong_")]
    if not expected or failed != expected:
        print("\n".join(lines))
        print(f"0 passed, {len(rows)} failed")
        return 1
    print(f"{len(rows)} passed, 0 failed")
    return 0


HEADER = """/** Frees it. NULL is allowed. Cost:
 * O(objects (all)). */
KIN_EXTERN void kin_a_free(kin_a *a);

/** Sums. Cost: the sum of both. */
KIN_EXTERN int kin_a_sum(kin_a *a, /**< O(1) */
                         int b);
KIN_EXTERN int kin_a_more(kin_a *a);

/** Each change costs O(log n). */
typedef struct kin_a {
  int a; /**< a field */
} kin_a;

/** Plain. */
KIN_EXTERN int kin_a_get(kin_a *a);
"""


def rows_self_test():
    def row(function, promise, of=None):
        return Row(1, function, of or function, promise, "n", "O(n)")
    right = [row("kin_a_free", "O(objects (all))"),
             row("kin_a_sum", "the sum of both"),
             row("kin_a_more", "the sum of both"),
             row("kin_a_sum", "O(log n)", "kin_a"),
             row("kin_a_get", "")]
    cases = [(right, 0), (right[:-1], 0),
             ([*right, row("kin_a_put", "")], 1),
             ([*right, row("kin_a_get", "O(1)")], 1)]
    cases += [(right[:i] + right[i + 1:], 1) for i in range(4)]
    for rows, expected in cases:
        problems = check_rows({"a.h": HEADER}, rows)
        if len(problems) != expected:
            print(f"FAIL: {rows}\n{problems}")
            return 1
    nothing = check_rows({"a.h": "/** Cost: O(n). */\n#define A\n"}, [])
    if len(nothing) != 1:
        print(f"FAIL: {nothing}")
        return 1
    print(f"{len(cases) + 1} passed, 0 failed")
    return 0


def main():
    try:
        return run_command()
    except subprocess.CalledProcessError as error:
        print(f"costs: {' '.join(error.cmd[:1])} ended with "
              f"{error.returncode}")
        print("0 passed, 1 failed")
        return 1


def run_command():
    first, rest = sys.argv[1], sys.argv[2:]
    if first == "--self-test":
        return self_test(rest[0])
    if first == "--rows-self-test":
        return rows_self_test()
    if first == "--rows":
        return run_rows(rest[0], pathlib.Path(rest[1]), rest[2:])
    return run(first, pathlib.Path(rest[0]), rest[1:])


if __name__ == "__main__":
    sys.exit(main())
