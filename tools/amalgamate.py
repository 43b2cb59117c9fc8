#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the library as two files, kin.h (all public headers) and kinformer.c,
for programs that compile the library among their own sources.
Usage: amalgamate.py OUT_DIR
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOKEN = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|"
    r"[A-Za-z_]\w*|\d[\w.]*|->|\.\.\.|\s+|.", re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
NAME = re.compile(r"[A-Za-z_]\w*$")
# What system headers declare: a file that does not include these may use the
# name for a function of its own.
SYSTEM = {"accept", "bind", "close", "connect", "index", "listen", "open",
          "poll", "read", "recv", "remove", "rename", "select", "send",
          "signal", "socket", "write"}
PUBLIC = ["kin/kin.h", "kin/request.h", "kin/discovery.h", "kin/cache.h",
          "kin/toolkit.h", "kin/work_queue.h", "kin/ownership.h",
          "kin/event_recorder.h", "kin/leader_election.h",
          "kin/lease_candidate.h", "kin/kubeconfig.h",
          "kin/version.h", "kin/yyjson.h"]


def meson_version():
    text = (ROOT / "meson.build").read_text()
    return re.search(r"version: '([\d.]+)',\n  license", text).group(1)


def public_text(name):
    """The text of a public header; version.h is made by the builds."""
    if name != "kin/version.h":
        return (ROOT / "include" / name).read_text()
    version = meson_version()
    text = (ROOT / "include/kin/version.h.in").read_text()
    for key, value in zip(("MAJOR", "MINOR", "PATCH", "VERSION"),
                          version.split(".") + [version]):
        text = text.replace(f"@{key}@", value)
    return text


def source_lists():
    text = (ROOT / "cmake/sources.cmake").read_text()
    return {name: files.split()
            for name, files in re.findall(r"^set\((\w+)\n([^)]*)\)", text, re.M)}


class Headers:
    """Each header once, before the first file that includes it."""

    def __init__(self, read, is_ours):
        self.read, self.is_ours = read, is_ours
        self.seen = set()

    def inlined(self, text):
        """`text` with our headers in the place of their includes."""
        lines = []
        for line in text.split("\n"):
            match = INCLUDE.match(line)
            if match is None or not self.is_ours(match.group(2)):
                lines.append(line)
            elif match.group(2) not in self.seen:
                self.seen.add(match.group(2))
                lines.append(self.inlined(self.read(match.group(2))).strip())
        return "\n".join(lines) + "\n"


def without_licences(text):
    text = re.sub(r"^/\* SPDX-License-Identifier[^\n]*\n", "", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text)


def split_includes(text):
    """The includes of system headers outside of every #if but the guards of
    our headers, once each and sorted; and the text without these. Includes
    that depend on the system stay, with the visibility of system functions."""
    lines, found, conditions = [], set(), []
    for line in text.split("\n"):
        if re.match(r"#\s*if", line):
            conditions.append(re.match(r"#ifndef KIN_\w+_H$", line) is None)
        elif re.match(r"#\s*endif", line):
            conditions.pop()
        if INCLUDE.match(line) is None:
            lines.append(line)
        elif any(conditions):
            lines += ["#pragma GCC visibility push(default)", line,
                      "#pragma GCC visibility pop"]
        else:
            found.add(line)
    return "\n".join(sorted(found)) + "\n\n", "\n".join(lines)


# ------------------------------------------------- names of a file's own

def code_tokens(text):
    """Tokens without spaces, comments and preprocessor lines."""
    text = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", "", text, flags=re.M)
    return [token for token in TOKEN.findall(text)
            if not token.isspace() and not token.startswith(("/*", "//"))]


def declarations(tokens):
    """The declarations at file level: each its tokens up to the ; or the end
    of the function's body."""
    found, depth, start = [], 0, 0
    for at, token in enumerate(tokens):
        if token in "({[":
            depth += 1
        elif token in ")}]":
            depth -= 1
        if depth == 0 and (token == ";" or (
                token == "}" and is_body(tokens[start:at + 1]))):
            found.append(tokens[start:at + 1])
            start = at + 1
    return found


def is_body(tokens):
    """Whether the closing brace ends a function: its brace follows a )."""
    depth = 0
    for at in range(len(tokens) - 1, -1, -1):
        depth += (tokens[at] == "}") - (tokens[at] == "{")
        if depth == 0:
            return at > 0 and tokens[at - 1] == ")"
    return False


def own_names(text):
    """The names that the file defines for itself: ordinary ones (static
    functions and variables, types, constants), and tags."""
    ordinary, tags = set(), set()
    for tokens in declarations(code_tokens(text)):
        ordinary.update(enumerators(tokens))
        for word, tag, after in zip(tokens, tokens[1:], tokens[2:]):
            if word in ("struct", "union", "enum") and after == "{":
                tags.add(tag)
        flat = outside_braces(tokens)
        if "static" in flat[:2] or flat[0] == "typedef":
            ordinary.update(declared(flat))
    return ordinary, tags


def enumerators(tokens):
    names = []
    for at, token in enumerate(tokens):
        if token != "{" or "enum" not in tokens[max(0, at - 2):at]:
            continue
        for before, name in zip(tokens[at:], tokens[at + 1:]):
            if name == "}" or before == "}":
                break
            if before in ("{", ",") and NAME.match(name):
                names.append(name)
    return names


def outside_braces(tokens):
    flat, depth = [], 0
    for token in tokens:
        depth -= token == "}"
        if depth == 0 and token != "}":
            flat.append(token)
        depth += token == "{"
    return flat


def declared(flat):
    """The name that a static declaration or a typedef declares."""
    if flat[0] == "typedef":
        pointer = re.search(r"\( \* (\w+) \) \(", " ".join(flat))
        return [pointer.group(1)] if pointer else [flat[-2]]
    pointer = re.search(r"\( \*(?: const)? (\w+) [)\[]", " ".join(flat))
    for name, after in zip(flat, flat[1:]):
        if after == "(" and name in ("_Alignas", "alignas", "__attribute__"):
            continue
        if after == "(" and not NAME.match(name):
            continue
        if NAME.match(name) and after in ("(", "[", "=", ";", ","):
            if pointer and flat[flat.index(name) + 2:][:1] == ["*"]:
                return [pointer.group(1)]
            return [name]
    return []


def macros(text):
    return re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", text, re.M)


# ----------------------------------------------------------- renaming

def parameters(text):
    """By position in the text: the parameters of the macro that is defined
    there."""
    found = {}
    for match in re.finditer(
            r"^[ \t]*#[ \t]*define[ \t]+\w+\(([^()]*)\)(?:\\\n|[^\n])*", text,
            re.M):
        names = {name.strip() for name in match.group(1).split(",")}
        found.update(dict.fromkeys(range(match.start(), match.end()), names))
    return found


def renamed(text, ordinary, tags):
    """`text` with other names; both arguments map old names to new ones.
    Members and the parameters of macros keep their names."""
    if not ordinary and not tags:
        return text
    out, before, position, local = [], "", 0, parameters(text)
    braces = []  # whether each open brace is that of a struct or union
    tokens = TOKEN.findall(text)
    head = []  # the last words before a brace
    for at, token in enumerate(tokens):
        start, position = position, position + len(token)
        if token.isspace() or token.startswith(("/*", "//")):
            out.append(token)
            continue
        if token == "{":
            braces.append(any(word in ("struct", "union") for word in head[-2:]))
        elif token == "}" and braces:
            braces.pop()
        if NAME.match(token):
            if before in ("struct", "union", "enum"):
                out.append(tags.get(token, token))
            elif before in (".", "->") or is_member(
                    tokens, at, braces) or token in local.get(start, ()):
                out.append(token)
            else:
                out.append(ordinary.get(token, token))
        else:
            out.append(token)
        head.append(token)
        before = token
    return "".join(out)


def is_member(tokens, at, braces):
    """A name that a struct's body declares, or that offsetof and
    KIN__CONTAINER_OF name."""
    after = next((token for token in tokens[at + 1:]
                  if not token.isspace()), "")
    if braces and braces[-1]:
        return after in (";", ",", "[", ":") or (
            after == ")" and "".join(tokens[at - 2:at]).endswith("(*"))
    line = "".join(tokens[max(0, at - 12):at])
    return after == ")" and re.search(
        r"(offsetof|KIN__CONTAINER_OF)\([^()]*,\s*$", line) is not None


# ------------------------------------------------------------- the files

BANNER = """/* SPDX-License-Identifier: MIT */

/* kinformer {version}: {what}
 * Made by tools/amalgamate.py from the library's source; change that. */

"""


def make_header():
    headers = Headers(public_text, lambda name: name.startswith("kin/"))
    text = headers.inlined("".join(f"#include <{name}>\n" for name in PUBLIC))
    return BANNER.format(version=meson_version(),
                         what="all public headers.") + without_licences(text)


def make_source():
    lists = source_lists()
    shared = [name for part in ("", "_requests", "_discovery", "_cache",
                                "_checks", "_exec", "_proxy", "_toolkit",
                                "_controllers", "_controllers_and_requests")
              for name in lists[f"kinformer{part}_sources"]]
    conditions = {name: f"#{kind} {macro}" for part, kind, macro in (
                      ("kubeconfig", "ifndef", "KIN_NO_KUBECONFIG"),
                      ("zlib", "ifndef", "KIN_NO_ZLIB"),
                      ("no_zlib", "ifdef", "KIN_NO_ZLIB"),
                      ("zstd", "ifndef", "KIN_NO_ZSTD"),
                      ("no_zstd", "ifdef", "KIN_NO_ZSTD"))
                  for name in lists[f"kinformer_{part}_sources"]}
    texts = {name: (ROOT / name).read_text()
             for name in shared + list(conditions)}

    headers = Headers(lambda name: (ROOT / "lib" / name).read_text(),
                      lambda name: (ROOT / "lib" / name).exists())
    includes = {name: [line for line in text.split("\n") if INCLUDE.match(line)]
                for name, text in texts.items()}
    own = [line for name in texts for line in includes[name]
           if headers.is_ours(INCLUDE.match(line).group(2))]
    public = re.compile(r"^#include [<\"]kin/[^\n]*\n", re.M)
    # Not every inline function of the headers has a user in the library.
    parts = ["#pragma GCC diagnostic push\n"
             '#pragma GCC diagnostic ignored "-Wunused-function"\n',
             public.sub("", headers.inlined("\n".join(own))),
             "#pragma GCC diagnostic pop\n\n"]

    names = {name: own_names(text) for name, text in texts.items()}
    uses = [collections.Counter(), collections.Counter()]
    for name in texts:
        for kind in (0, 1):
            uses[kind].update(names[name][kind])
    for name, text in texts.items():
        stem = name.removeprefix("lib/").removesuffix(".c").replace("/", "_")
        maps = [{old: f"kin__{stem}__{old}" for old in names[name][kind]
                 if uses[kind][old] > 1 or old in SYSTEM} for kind in (0, 1)]
        lines = [line for line in public.sub("", text).split("\n")
                 if not (INCLUDE.match(line) and
                         headers.is_ours(INCLUDE.match(line).group(2)))]
        part = renamed("\n".join(lines), *maps)
        undefine = "".join(f"#undef {macro}\n"
                           for macro in dict.fromkeys(macros(text)))
        if name in conditions:
            part = f"{conditions[name]}\n{part}{undefine}#endif\n"
            undefine = ""
        parts.append(f"/* {'-' * 20} {name} */\n\n{part}{undefine}\n")
    system, text = split_includes(without_licences("".join(parts)))
    return BANNER.format(
        version=meson_version(),
        what="the library; needs libuv, llhttp, OpenSSL, yyjson, zlib, zstd and\n"
             " * libyaml. Define KIN_NO_ZLIB to do without zlib, KIN_NO_ZSTD without zstd,\n"
             " * KIN_NO_KUBECONFIG without libyaml."
    ) + ("#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n"
         "#ifndef _FILE_OFFSET_BITS\n#define _FILE_OFFSET_BITS 64\n#endif\n\n"
         f'#include "kin.h"\n\n{system}'
         "/* The program sees what kin.h declares. */\n"
         "#pragma GCC visibility push(hidden)\n\n"
         f"{text}\n#pragma GCC visibility pop\n")


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name, make in (("kin.h", make_header), ("kinformer.c", make_source)):
        (out / name).write_text(make())
    return 0


if __name__ == "__main__":
    sys.exit(main())
