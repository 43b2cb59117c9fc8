# SPDX-License-Identifier: MIT
"""Finds the places of a C file at which a small mistake can be planted.

Reads the text of a file that clang-format has laid out: a function begins with
a line that ends in an opening brace and is not indented, and ends with a
closing brace in the first column. Only the bodies of functions are searched.
Comments, strings, preprocessor lines, asserts and calls that only log are left
alone.
"""

import dataclasses
import re

KINDS = ("operator", "constant", "condition", "statement")

SWAPS = {
    "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
    "&&": "||", "||": "&&", "+": "-", "-": "+", "+=": "-=", "-=": "+=",
    "++": "--", "--": "++",
}
# A binary operator has a blank on either side; ++ and -- touch their operand.
OPERATOR = re.compile(
    r"(?<= )(==|!=|<=|>=|<|>|&&|\|\||\+=|-=|\+|-)(?=[ \n])"
    r"|(\+\+|--)(?=[;)\],])|(?<=[ (])(\+\+|--)(?=\w)")
CONSTANT = re.compile(r"(?<![\w.])(?:(\d+)([uU]?[lL]*)|(true|false))(?![\w.])")
CONDITION = re.compile(r"(?<![\w])if \(")
STATEMENT = re.compile(r"(?m)^ +(?=[A-Za-z_*(+-])")
NOT_A_STATEMENT = re.compile(
    r"(return|break|continue|goto|case|default|if|else|for|while|do|switch|"
    r"typedef|assert|static_assert|kin__log)\b")
# `type name = ...;` and `type *name;`: what follows needs the name.
DECLARATION = re.compile(
    r"(const |static |struct |unsigned |enum )|[A-Za-z_]\w*( \*+|\* ?| )"
    r"[A-Za-z_]\w*(\[[^\]]*\])*( = |;|, )")
LEFT_ALONE = re.compile(r"(?<!\w)(assert|static_assert|kin__log\w*) ?\(")


@dataclasses.dataclass(frozen=True)
class Point:
    path: str
    line: int
    function: str
    kind: str
    start: int
    end: int
    before: str
    after: str

    def name(self):
        before = " ".join(self.before.split())
        return (f"{self.path}:{self.function}: {before} -> "
                f"{self.after or 'nothing'}")

    def apply(self, text):
        return text[:self.start] + self.after + text[self.end:]


def find(path, text):
    """All points of one file, in the order of the text."""
    blank = _blank(text)
    points = []
    for name, start, end in _functions(blank):
        for kind, finder in (("operator", _operators), ("constant", _constants),
                             ("condition", _conditions),
                             ("statement", _statements)):
            for begin, stop, after in finder(blank, start, end):
                points.append(Point(
                    path, text.count("\n", 0, begin) + 1, name, kind, begin,
                    stop, text[begin:stop], after))
    return sorted(points, key=lambda point: (point.start, point.kind))


def _blank(text):
    """The text, with as many blanks for what must not be changed."""
    def spaces(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    token = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"'
                       r"|'(?:\\.|[^'\\\n])*'|^#(?:\\\n|[^\n])*",
                       re.S | re.M)
    text = token.sub(spaces, text)
    for match in LEFT_ALONE.finditer(text):
        end = _closing(text, match.end() - 1)
        text = (text[:match.start()] + " " * (end - match.start())
                + text[end:])
    return text


def _closing(text, opening):
    """Where the parenthesis that opens at `opening` has been closed."""
    depth = 0
    for index in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    return len(text)


def _functions(text):
    pattern = re.compile(r"^(?!struct|enum|union|typedef)[A-Za-z_][^;{}=]*?"
                         r"(\w+)\([^;{}]*\)\s*\{\n", re.M)
    for match in pattern.finditer(text):
        end = text.find("\n}", match.end() - 1)
        if end >= 0:
            yield match.group(1), match.end(), end


def _operators(text, start, end):
    for match in OPERATOR.finditer(text, start, end):
        yield match.start(), match.end(), SWAPS[match.group(0)]


def _constants(text, start, end):
    for match in CONSTANT.finditer(text, start, end):
        if match.group(3):
            after = "false" if match.group(3) == "true" else "true"
        else:
            after = str(int(match.group(1), 8 if match.group(1)[0] == "0" else
                            10) + 1) + match.group(2)
        yield match.start(), match.end(), after


def _conditions(text, start, end):
    for match in CONDITION.finditer(text, start, end):
        opening = match.end() - 1
        closing = _closing(text, opening)
        yield opening, closing, "(0)"
        yield opening, closing, "(1)"


def _statements(text, start, end):
    for match in STATEMENT.finditer(text, start, end):
        stop = text.find(";", match.end(), end)
        body = text[match.end():stop + 1]
        if (stop < 0 or "{" in body or body.count("(") != body.count(")")
                or NOT_A_STATEMENT.match(body) or DECLARATION.match(body)
                or not _begins_a_statement(text, match.start())):
            continue
        if "(" in body or "=" in body or "++" in body or "--" in body:
            yield match.end(), stop + 1, ";"


def _begins_a_statement(text, line_start):
    before = text[:line_start].rstrip()
    return before.endswith((";", "{", "}", ":"))
