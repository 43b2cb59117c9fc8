# SPDX-License-Identifier: MIT
"""Which tests execute which line of lib/, from a build with gcov.

The result is kept in the build directory, under a name that the sources of
lib/ and test/ determine.
"""

import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import suite

BASE_TIMEOUT_S = 600


def map_of(build, root, jobs, names=()):
    """{"path:line": [test name, ...]}, the quickest test first."""
    kept = build / f"cover-{_digest(root, names)}.json"
    if not kept.exists():
        part = kept.with_suffix(".part")
        part.write_text(json.dumps(_measure(build, root, jobs, names)))
        part.rename(kept)
    return json.loads(kept.read_text())


def _digest(root, names):
    digest = hashlib.sha256(" ".join(sorted(names)).encode())
    for folder in ("lib", "include", "test"):
        for path in sorted((root / folder).rglob("*.[ch]")):
            digest.update(str(path.relative_to(root)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _measure(build, root, jobs, names):
    reached = collections.defaultdict(list)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda test: _lines_of(test, build, root),
                           suite.tests_of(build, names))
        for name, seconds, lines in sorted(results, key=lambda r: r[1]):
            print(f"  {name}: {len(lines)} lines in {seconds:.1f} s",
                  flush=True)
            for line in lines:
                reached[line].append(name)
    return reached


def _lines_of(test, build, root):
    """Runs one test; its counts go to a directory of its own."""
    with tempfile.TemporaryDirectory() as data:
        passed, seconds = suite.run(test, build, BASE_TIMEOUT_S, {
            "GCOV_PREFIX": data, "GCOV_PREFIX_STRIP": "0"}.items())
        lines = _gcov(pathlib.Path(data), build, root) if passed else set()
        return test.name, seconds, lines


def _gcov(data, build, root):
    here = data / str(build).lstrip("/")
    counts = [path for path in here.rglob("*.gcda") if "kin-objects" in
              str(path)]
    for path in counts:
        notes = path.with_suffix(".gcno")
        shutil.copy(build / notes.relative_to(here), notes)
    lines = set()
    if not counts:
        return lines
    out = subprocess.run(
        ["gcov", "--json-format", "--stdout", *map(str, counts)], check=True,
        capture_output=True, text=True, cwd=build).stdout
    for document in out.splitlines():
        for file in json.loads(document)["files"]:
            path = os.path.relpath((build / file["file"]).resolve(), root)
            lines |= {f"{path}:{line['line_number']}"
                      for line in file["lines"] if line["count"]}
    return lines
