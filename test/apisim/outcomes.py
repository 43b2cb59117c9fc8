# SPDX-License-Identifier: MIT
"""Runs named tests, and says how each ended."""

import sys
import time
import traceback


def run_all(tests, run):
    """Calls run(test) for each (name, test), prints a line for each test and a
    last line of counts, and ends the program: with 1 if a test failed, or if
    there was none."""
    passed, failed = 0, 0
    for name, test in tests:
        began = time.monotonic()
        try:
            run(test)
            passed += 1
            print(f"ok     {time.monotonic() - began:5.2f} s  {name}")
        except Exception:
            failed += 1
            print(f"FAILED {name}")
            traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)
