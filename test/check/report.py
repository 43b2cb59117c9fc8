# SPDX-License-Identifier: MIT
"""How a check ends that has one result."""


def end(problems):
    """Prints the problems and the count; returns the exit status."""
    for problem in problems:
        print(f"FAIL: {problem}")
    print(f"{int(not problems)} passed, {int(bool(problems))} failed")
    return bool(problems)
