#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what the pages in PAGES show: their C compiles, their links lead
somewhere, what they name in code exists in the headers, and the options of its commands are known to
`kinformer`. Usage: check_readme.py SOURCE_DIR BUILD_INCLUDE_DIR CC, or
--self-test; the last line counts the rules.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

FLAGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
         "-Wno-unused-parameter", "-Wno-unused-but-set-variable",
         "-Wno-unused-variable", "-fsyntax-only", "-std=gnu11"]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
IDENTIFIER = re.compile(r"^[a-z]+(?:_[a-z]+)*$")
# What the snippets take for granted: a program's own.
PREAMBLE = """\
#include <stdio.h>
#include <string.h>
#include <kin/kin.h>
int write_text(const char *text, size_t length, void *data);
extern uv_loop_t *loop;
"""
NEEDS = """\
extern kin_client *client;
extern kin_informer *pods, *informer;
extern struct kin_factory *factory;
extern const kin_object *object, *parent, *child, *pod, *set;
extern struct kin_change_filter *filter;
extern struct kin_lingering_index *owners;
extern kin_str address;
extern uint64_t age_ms, gone_ms;
void on_elector_closed(void *data);
"""


# Each page is one program.
PAGES = ["README.md", "doc/kin.md", "doc/change-filters.md",
         "doc/credentials.md", "doc/discovery.md", "doc/embedding.md",
         "doc/events.md", "doc/health.md", "doc/kubeconfig.md",
         "doc/leader-election.md", "doc/memory.md", "doc/requests.md", "doc/values.md",
         "doc/work-queue.md"]


def blocks(text, language):
    return [body for name, body in BLOCK.findall(text) if name == language]


def headers(root):
    """The text of all public headers, without comments."""
    paths = sorted((root / "include").rglob("*.h"))
    return "\n".join(re.sub(r"/\*.*?\*/", "", p.read_text(), flags=re.S)
                     for p in paths)


def split(snippet):
    """(definitions, statements): functions and includes begin a line, and a
    function ends with a brace that ends one, on the outside. Static data is a
    statement."""
    outside, inside, is_function = [], [], False
    for line in snippet.split("\n"):
        begins = line.startswith("static ") and not line.endswith(";")
        is_function = is_function or begins
        (outside if is_function or line.startswith("#") else inside).append(line)
        is_one_line = begins and line.endswith("}")
        is_function = is_function and line != "}" and not is_one_line
    return "\n".join(outside), "\n".join(inside)


def program(snippets):
    """One file: each snippet's functions as they are, then all statements in
    the order of the page. A snippet sees what those before it have declared, and
    may declare it again. `pods` is known to functions, too. `{ ... }` is any
    code."""
    parts = [split(s.replace("{ ... }", "{}")) for s in snippets]
    definitions = "\n".join(p[0] for p in parts)
    statements = "{\n" + "\n{\n".join(p[1] for p in parts) + "}" * len(parts)
    return (f"{PREAMBLE}{NEEDS}{definitions}\n"
            f"void page(void);\nvoid page(void) {{\n{statements}\n}}\n")


def check_pages(root, context, problems):
    """No page with C is forgotten."""
    for path in [root / "README.md", *sorted((root / "doc").glob("*.md"))]:
        page = str(path.relative_to(root))
        if page not in context["pages"] and blocks(path.read_text(), "c"):
            problems.append(f"{page} has C that is not compiled: add it to PAGES")


def check_code(root, context, problems):
    for page in context["pages"]:
        snippets = blocks((root / page).read_text(), "c")
        if not snippets:
            problems.append(f"{page} has no C")
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
            file.write(program(snippets))
            file.flush()
            includes = [f"-I{root / 'include'}", f"-I{context['include']}"]
            done = subprocess.run([context["cc"], *FLAGS, *includes, file.name],
                                  capture_output=True, text=True, check=False)
        if done.returncode != 0:
            problems.append(f"{page}: {done.stderr}")


def check_links(root, context, problems):
    for page in context["pages"]:
        path = root / page
        for target in LINK.findall(path.read_text()):
            if "://" not in target and not (path.parent / target).exists():
                problems.append(f"{page} leads to {target}, which is not there")


def check_names(root, context, problems):
    """Names of functions, structs and options, where they stand for code."""
    known = headers(root)
    for page in context["pages"]:
        text = BLOCK.sub("", (root / page).read_text())
        for name in CODE.findall(text):
            name = name.split("(")[0]
            is_ours = name.startswith("kin_") or "_" in name
            is_ours = is_ours and not name.startswith(("uv_", "posix_"))
            if IDENTIFIER.match(name) and is_ours:
                if not re.search(rf"\b{name}", known):
                    problems.append(f"{page} names {name}, which no header has")


def check_commands(root, context, problems):
    known = (root / "tools/kinformer/options.c").read_text()
    for block in blocks((root / "README.md").read_text(), ""):
        for line in block.split("\n"):
            if "kinformer " not in line or line.startswith("{"):
                continue
            for option in re.findall(r" --([\w-]+)", line):
                if f'"{option}"' not in known and f"--{option}" not in known:
                    problems.append(f"kinformer has no --{option}")


RULES = [check_pages, check_code, check_links, check_names, check_commands]


def run(root, context, show):
    failed = []
    for rule in RULES:
        problems = []
        rule(root, context, problems)
        show(f"{'FAIL' if problems else 'ok'}: {rule.__name__}")
        for problem in problems:
            show(f"  {problem}")
        failed += [rule] if problems else []
    return failed


GOOD = """\
[here](LICENSE) `kin_open` `on_warning`

```c
static int f(int x) {
  return x;
}

int err = f(1);
if (err == 0) err = f(kin_open());
```

```c
static const int known[] = {1};
int err = f(known[0]);
if (err != 0) { ... }
```

```
kinformer pods --server http://x
```
"""


def self_test(cc):
    """Each rule fails at what it is for, and at nothing else."""
    cases = [(GOOD, []),
             (GOOD.replace("f(1)", "g(1)"), [check_code]),
             (GOOD.replace("f(known[0])", "f(unknown[0])"), [check_code]),
             (GOOD.replace("{ ... }", "..."), [check_code]),
             (GOOD.replace("LICENSE", "LICENCE"), [check_links]),
             (GOOD.replace("`kin_open`", "`kin_opened`"), [check_names]),
             (GOOD.replace("on_warning", "on_warnings"), [check_names]),
             (GOOD.replace("--server", "--sever"), [check_commands])]
    pages = ["README.md", "doc/one.md", "doc/two.md"]
    cases = [(page, text, expected) for page in pages
             for text, expected in cases
             if page == "README.md" or check_commands not in expected]
    cases.append(("doc/forgotten.md", GOOD, [check_pages]))
    for page, text, expected in cases:
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            for folder in ("include/kin", "tools/kinformer"):
                (root / folder).mkdir(parents=True)
            (root / "doc").mkdir()
            for other in [*pages, page]:
                (root / other).write_text(text if other == page else GOOD)
            (root / "LICENSE").write_text("")
            (root / "doc/LICENSE").write_text("")
            (root / "include/kin/kin.h").write_text(
                "typedef struct uv_loop_t uv_loop_t;\n"
                "typedef struct kin_client kin_client;\n"
                "typedef struct kin_informer kin_informer;\n"
                "typedef struct kin_factory kin_factory;\n"
                "typedef struct kin_object kin_object;\n"
                "typedef struct kin_str { int length; } kin_str;\n"
                "typedef unsigned long uint64_t;\n"
                "int kin_open(void);\n/* kin_opened */\nint on_warning;\n")
            (root / "tools/kinformer/options.c").write_text('"server"')
            context = {"pages": pages, "include": root / "include", "cc": cc}
            if run(root, context, lambda line: None) != expected:
                print(f"FAIL: {page}: {text}")
                return 1
    print(f"{len(cases)} passed, 0 failed")
    return 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test(sys.argv[2])
    context = {"pages": PAGES, "include": sys.argv[2], "cc": sys.argv[3]}
    failed = run(pathlib.Path(sys.argv[1]), context, print)
    print(f"{len(RULES) - len(failed)} passed, {len(failed)} failed")
    return len(failed) != 0


if __name__ == "__main__":
    sys.exit(main())
