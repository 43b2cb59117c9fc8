#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Doxygen's input filter for the public headers. In them a comment is about all
declarations below it, up to the next comment or empty line; Doxygen takes it
for the first one only. So this repeats the comment before each of the others,
on the same line, which keeps the numbers of the lines.
Usage: doxygen_filter.py HEADER
"""

import pathlib
import re
import sys


def one_line(comment):
    lines = [line.strip() for line in comment]
    lines = [re.sub(r"^(/\*\*|\*(?!/)) ?", "", line) for line in lines]
    return "/** " + " ".join(lines)


def filtered(text):
    lines = text.split("\n")
    out, comment, is_in_comment, is_first, is_new = [], None, False, True, True
    for line in lines:
        stripped = line.strip()
        if is_in_comment or stripped.startswith("/*"):
            if not is_in_comment:
                comment = [] if stripped.startswith("/**") else None
            if comment is not None:
                comment.append(line)
            is_in_comment = "*/" not in line
            is_first, is_new = True, True
        elif stripped == "" or re.match(r"}|#(?!define )|.*\\$", stripped):
            comment = None
        elif comment is not None:
            code = re.sub(r"/\*.*", "", stripped).rstrip()
            ends = code.endswith(";") or code.startswith("#")
            if is_new and not is_first and "/**<" not in line:
                line = f"{one_line(comment)} {line}"
            if stripped.startswith("typedef struct") or "{" in stripped:
                comment = None
            is_new, is_first = ends, False
            # A comment behind a declaration may go on in the next lines.
            is_in_comment = "/*" in stripped and "*/" not in line
            if is_in_comment:
                trailing = comment
                comment = None
        out.append(line)
    return "\n".join(out)


if __name__ == "__main__":
    sys.stdout.write(filtered(pathlib.Path(sys.argv[1]).read_text()))
