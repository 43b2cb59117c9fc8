#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks README's table of tasks. What a row says to use exists: functions,
types and members of structs are compiled. What a row says to see is there: a
header declares, an example uses, a page names something of the row, and the
example is built. README leads to each example and page.
Usage: check_tasks.py SOURCE_DIR BUILD_INCLUDE_DIR CC, or --self-test CC; the last
line counts the rules.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

FLAGS = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-std=gnu11"]
TABLE_HEAD = "| task | use | see |"
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[`[^`]+`\]\(([^)]+)\)")
NAME = re.compile(r"kin_[a-z0-9_]+")
MEMBER = re.compile(r"[a-z]+(?:_[a-z]+)*")
STRUCT = re.compile(r"typedef struct (kin_\w+) \{(.*?)\n\} \1;", re.S)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
# Its header needs yyjson's, which a program may not have.
LEFT_OUT = {"kin/yyjson.h"}


class Row:
    def __init__(self, line):
        self.task, use, see = [c.strip() for c in line.strip().strip("|").split(" | ")]
        words = CODE.findall(use)
        self.names = [w for w in words if NAME.fullmatch(w)]
        self.members = [w for w in words
                        if w not in self.names and MEMBER.fullmatch(w)]
        self.others = [w for w in words
                       if w not in self.names and w not in self.members]
        self.links = LINK.findall(see)

    def is_in(self, text):
        """Whether one of the row's words is there; `kin_wait` also in
        kin_wait_open."""
        return (any(re.search(rf"\b{n}(_|\b)", text) for n in self.names)
                or any(re.search(rf"\b{m}\b", text) for m in self.members)
                or any(o in text for o in self.others))


class Project:
    def __init__(self, root, include, cc):
        self.root, self.include, self.cc = root, include, cc
        self.readme = (root / "README.md").read_text()
        paths = sorted((root / "include").rglob("*.h"))
        self.headers = {str(p.relative_to(root / "include")):
                        COMMENT.sub("", p.read_text()) for p in paths}
        table = self.readme.split(TABLE_HEAD, 1)
        lines = table[1].split("\n\n")[0].strip().split("\n")[1:] \
            if len(table) == 2 else []
        self.rows = [Row(line) for line in lines]
        self.built = (root / "examples/meson.build").read_text()

    def structs_with(self, member, row):
        """Structs of the row's headers that have the member, else of any."""
        named = [link.removeprefix("include/") for link in row.links]
        own = [h for h in self.headers if h in named]
        for headers in (own, self.headers):
            found = [name for h in headers
                     for name, body in STRUCT.findall(self.headers[h])
                     if re.search(rf"\b{member}\s*(;|\[)", body)]
            if found:
                return found
        return []

    def is_function(self, name):
        return any(re.search(rf"\b{name}\(", text)
                   for text in self.headers.values())


def check_rows(project, problems):
    """Each row has something that is checked."""
    if len(project.rows) < 2:
        problems.append(f"README has no table {TABLE_HEAD}")
    for row in project.rows:
        if not row.links:
            problems.append(f"{row.task}: leads nowhere")
        if not (row.names or row.members or row.others):
            problems.append(f"{row.task}: names nothing to use")


def uses(project, row, problems):
    """An expression for each thing that the row names."""
    for name in row.names:
        yield f"&{name}" if project.is_function(name) else f"sizeof({name} *)"
    for member in row.members:
        structs = project.structs_with(member, row)
        yield from (f"offsetof({s}, {member})" for s in structs)
        if not structs:
            problems.append(f"{row.task}: no struct has {member}")


def check_use(project, problems):
    """The compiler knows what the rows name."""
    lines = [f"#include <{header}>" for header in sorted(project.headers)
             if header not in LEFT_OUT]
    lines.append("#include <stddef.h>")
    for number, row in enumerate(project.rows):
        lines += [f"void row_{number}(void);", f"void row_{number}(void) {{"]
        lines += [f"  (void){use}; /* {row.task} */"
                  for use in uses(project, row, problems)]
        lines.append("}")
    with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
        file.write("\n".join(lines + [""]))
        file.flush()
        done = subprocess.run(
            [project.cc, *FLAGS, f"-I{project.root / 'include'}",
             f"-I{project.include}", file.name],
            capture_output=True, text=True, check=False)
    if done.returncode != 0:
        problems.append(done.stderr)


def check_others(project, problems):
    """What is neither of the headers nor compiled: programs, packages, C++."""
    for row in project.rows:
        for word in row.others:
            package = word.removeprefix("pkg-config ")
            if "::" in word:
                texts = [(project.root / link).read_text() for link in row.links]
                if not any(word in text for text in texts):
                    problems.append(f"{row.task}: no example uses {word}")
            elif package != word:
                if not (project.root / f"cmake/{package}.pc.in").exists():
                    problems.append(f"{row.task}: no package {package}")
            elif not (project.root / "tools" / word.removeprefix("kin-")).is_dir():
                problems.append(f"{row.task}: what is {word}?")


def example_problem(project, row, path):
    """An example, or a folder with one, that does what the row says."""
    files = [path] if path.is_file() else \
        [p for p in path.iterdir() if p.suffix in (".c", ".lua", ".js")]
    if not any(row.is_in(p.read_text()) for p in files):
        return "uses nothing of the row"
    is_built = path.is_dir() or f"'{path.stem}'" in project.built or any(
        f'"{path.name}"' in p.read_text() for p in path.parent.glob("*.cc"))
    return None if is_built else "is not built"


def check_see(project, problems):
    for row in project.rows:
        for link in row.links:
            path = project.root / link
            problem = None
            if not path.exists():
                problem = "is not there"
            elif link.startswith("examples/"):
                problem = example_problem(project, row, path)
            elif link.startswith("include/kin/") and path.is_file():
                header = project.headers[link.removeprefix("include/")]
                problem = None if row.is_in(header) else "has nothing of the row"
            elif link.startswith("doc/"):
                problem = None if row.is_in(path.read_text()) \
                    else "names nothing of the row"
            elif path.is_file():
                problem = "is no header, example or page"
            if problem:
                problems.append(f"{row.task}: {link} {problem}")


def check_all_found(project, problems):
    """README leads to each page and each example."""
    links = set(re.findall(r"\]\(([^)#]+)\)", project.readme))
    examples = project.root / "examples"
    for path in [*(project.root / "doc").glob("*.md"), *examples.glob("*.c"),
                 *examples.glob("*.cc"), *examples.glob("*.hpp")]:
        name = str(path.relative_to(project.root))
        if name not in links:
            problems.append(f"README does not lead to {name}")


RULES = [check_rows, check_use, check_others, check_see, check_all_found]


def run(project, show):
    failed = []
    for rule in RULES:
        problems = []
        rule(project, problems)
        show(f"{'FAIL' if problems else 'ok'}: {rule.__name__}")
        for problem in problems:
            show(f"  {problem}")
        failed += [rule] if problems else []
    return failed


# ---- the check of the check

FILES = {
    "README.md": """\
| task | use | see |
|---|---|---|
| open | `kin_open`, `fast` | [`examples/open.c`](examples/open.c), [`kin/kin.h`](include/kin/kin.h) |
| know | `kin_thing`, `slow` | [`doc/thing.md`](doc/thing.md) |
| serve | `kin-sim`, `pkg-config kin-testing` | [`doc/sim.md`](doc/sim.md) |
| wrap | `std::string` | [`examples/agent.cc`](examples/agent.cc), [`examples/kin.hpp`](examples/kin.hpp) |

`kin_nothing` is of no row.
""",
    "include/kin/kin.h": """\
typedef struct kin_thing kin_thing;
typedef struct kin_options {
  int fast; /* not slower */
  int slow[2];
} kin_options;
int kin_open(void); /* kin_shut */
""",
    "include/kin/other.h": "typedef int kin_other;\n",
    "examples/open.c": "int main(void) { return kin_open(); }\n",
    "examples/agent.cc": '#include "kin.hpp"\nstd::string agent;\n',
    "examples/kin.hpp": "std::string hpp;\n",
    "examples/meson.build": "['open', 'agent']\n",
    "doc/thing.md": "`kin_thing_of`\n",
    "doc/sim.md": "kin-sim\n",
    "tools/sim/main.c": "",
    "cmake/kin-testing.pc.in": "",
}

# The rule that fails when, in this file, this becomes that.
FAULTS = [
    (check_rows, "README.md", "| task |", "| thing |"),
    (check_rows, "README.md", "`kin_thing`, `slow`", "this and that"),
    (check_rows, "README.md", "[`doc/thing.md`](doc/thing.md)", "see above"),
    (check_use, "README.md", "`kin_open`", "`kin_shut`"),
    (check_use, "README.md", "`kin_thing`", "`kin_thin`"),
    (check_use, "README.md", "`fast`", "`faster`"),
    (check_use, "README.md", "`slow`", "`slower`"),
    (check_use, "include/kin/kin.h", "int kin_open(void);", "int kin_opened(void);"),
    (check_use, "include/kin/kin.h", "int fast;", ""),
    (check_others, "README.md", "`kin-sim`", "`kin-simulator`"),
    (check_others, "README.md", "pkg-config kin-testing", "pkg-config kin-tests"),
    (check_others, "README.md", "std::string", "std::string_view"),
    (check_see, "examples/open.c", "kin_open", "kin_close"),
    (check_see, "examples/meson.build", "'open', ", ""),
    (check_see, "examples/agent.cc", "kin.hpp", "kinformer.hpp"),
    (check_see, "doc/thing.md", "kin_thing_of", "kin_things"),
    (check_see, "README.md", "include/kin/kin.h", "include/kin/other.h"),
    (check_see, "README.md", "include/kin/kin.h", "include/kin/absent.h"),
    (check_see, "README.md", "include/kin/kin.h", "cmake/kin-testing.pc.in"),
    (check_all_found, "README.md", ", [`examples/kin.hpp`](examples/kin.hpp)", ""),
]


def failures(files, cc):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return run(Project(root, root / "include", cc), lambda line: None)


def self_test(cc):
    """Each rule fails at what it is for; of nothing but good rows none does."""
    if failures(FILES, cc):
        print("FAIL: good rows")
        return 1
    for rule, path, this, that in FAULTS:
        if this not in FILES[path]:
            print(f"FAIL: {path} has no {this}")
            return 1
        files = {**FILES, path: FILES[path].replace(this, that, 1)}
        if rule not in failures(files, cc):
            print(f"FAIL: {rule.__name__}: {path}: {that!r} for {this!r}")
            return 1
    print(f"{len(FAULTS) + 1} passed, 0 failed")
    return 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test(sys.argv[2])
    failed = run(Project(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]),
                         sys.argv[3]), print)
    print(f"{len(RULES) - len(failed)} passed, {len(failed)} failed")
    return len(failed) != 0


if __name__ == "__main__":
    sys.exit(main())
