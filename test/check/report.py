# SPDX-License-Identifier: MIT
"""How a check ends that has a list of problems, and how its self-test does."""


def end(problems, count=None):
    """Prints the problems and how many checks passed and failed; returns the
    exit status. `count`: the checks, each with one problem at most; None: one
    check, with any number of problems."""
    for problem in problems:
        print(f"FAIL: {problem}")
    failed = len(problems)
    if count is None:
        count, failed = 1, int(bool(problems))
    print(f"{count - failed} passed, {failed} failed")
    return bool(problems)


def end_cases(find, cases):
    """A self-test: each case has the arguments of `find` and the number of
    problems that `find` returns for them. Prints and returns as `end`."""
    found = [(arguments, find(*arguments), count) for arguments, count in cases]
    return end([f"{arguments}: {problems}, not {count}"
                for arguments, problems, count in found
                if len(problems) != count], len(cases))
