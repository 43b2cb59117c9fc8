#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the test cases of a `meson test` run and shows what failed.

usage: summary.py TESTLOG.json

One executable of ours holds many test cases, so meson's own count says
little. A cmocka program ends with `[  PASSED  ] n test(s)` and, if need be,
`[  FAILED  ] n test(s)`; our Python suites end with `n passed, n failed`. What
ends in neither way counts as one case. Whatever a program prints, one that
crashed, leaked, timed out or ended with an error has at least one failure.

The last line is `N passed, N failed`, with `, N skipped` if there were any. The
exit status is 0 only if something ran and nothing failed.
"""

import json
import re
import sys

SHOWN_LINES = 300

CMOCKA_RESULT = re.compile(
    r"^\[  (PASSED|FAILED|SKIPPED) +\] (\d+) test\(s\)", re.M)
CMOCKA_CASE_OK = re.compile(r"^\[       OK \] ", re.M)
OWN_RESULT = re.compile(
    r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
GOOD = {"OK", "EXPECTEDFAIL"}


def output_of(entry):
    return entry.get("stdout", "") + "\n" + entry.get("stderr", "")


def count(entry):
    """Returns (passed, failed, skipped) of one program's log entry."""
    output = output_of(entry)
    passed = failed = skipped = 0
    own = OWN_RESULT.findall(output)
    cmocka = CMOCKA_RESULT.findall(output)
    if own:
        passed, failed, skipped = (int(n or 0) for n in own[-1])
    elif cmocka:
        sums = {"PASSED": 0, "FAILED": 0, "SKIPPED": 0}
        for kind, number in cmocka:
            sums[kind] += int(number)
        passed, failed, skipped = sums.values()
    elif entry["result"] == "SKIP":
        skipped = 1
    elif entry["result"] in GOOD:
        passed = 1
    else:
        # It died on the way: what had passed by then has passed.
        passed = len(CMOCKA_CASE_OK.findall(output))
    if entry["result"] not in GOOD | {"SKIP"} and failed == 0:
        failed = 1
    return passed, failed, skipped


def show(entry):
    print(f"\n==== {entry['name']}: {entry['result']}, "
          f"exit status {entry.get('returncode')}")
    lines = output_of(entry).split("\n")
    if len(lines) > SHOWN_LINES:
        print(f"(the last {SHOWN_LINES} of {len(lines)} lines)")
    print("\n".join(lines[-SHOWN_LINES:]).strip("\n"))


def main():
    try:
        with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
            entries = [json.loads(line) for line in log if line.strip()]
    except FileNotFoundError:
        entries = []
    total = [0, 0, 0]
    for entry in entries:
        counts = count(entry)
        if counts[1] > 0:
            show(entry)
        total = [a + b for a, b in zip(total, counts)]
    passed, failed, skipped = total
    print()
    if passed + failed == 0:
        print("no test ran")
        failed = 1
    print(f"{passed} passed, {failed} failed"
          + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
