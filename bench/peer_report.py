# SPDX-License-Identifier: MIT
"""What peers.py found, as text, as tables in Markdown and as charts in SVG.

usage: peer_report.py --check | --self-test | --write RESULTS

--check: whether README.md, doc/performance.md and its charts show what
bench/peers/results.json holds. The last line counts.
--write: keeps a result, which peers.py has left in BUILDDIR/peers/results.json,
and shows it there.
"""

import json
import math
import pathlib
import statistics
import sys
import xml.etree.ElementTree
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/peers/results.json"
PAGE = ROOT / "doc/performance.md"
README = ROOT / "README.md"
README_FIGURES = ["sync", "sync_cpu", "event_cpu", "object"]
README_ROWS = ["kinformer", "go-typed-protobuf", "go-typed-json", "go-dynamic",
               "rust-typed", "rust-dynamic"]
MB = 1e6

# Name, title, unit, what a result says, and the factor from there to the unit.
FIGURES = [
    ("sync", "first sync", "s", "sync_s", 1),
    ("sync_cpu", "sync CPU", "s", "sync_cpu_s", 1),
    ("event_cpu", "CPU per event", "µs", "cpu_us_per_event", 1),
    ("peak", "peak RSS", "MB", "peak_rss", 1 / MB),
    ("steady", "steady RSS", "MB", "steady_rss", 1 / MB),
    ("object", "memory per object", "B", "bytes_per_object", 1),
]
RATIOS = ["sync", "sync_cpu", "event_cpu", "object"]
CHARTS = ["sync", "event_cpu", "object"]
SOURCE = {name: (key, factor) for name, _, _, key, factor in FIGURES}


# ---- medians


def value_of(result, figure):
    """None if the program failed or does not measure this."""
    key, factor = SOURCE[figure]
    return result[key] * factor if key in result else None


def median_of(data, row, figure):
    """None unless there is a value from every round."""
    values = [value_of(found[row], figure) for found in data["rounds"]]
    return None if None in values else statistics.median(values)


def ratio_of(data, row, reference, figure):
    """Pair by pair: within each round, then the median of the quotients."""
    quotients = []
    for found in data["rounds"]:
        mine, theirs = (value_of(found[name], figure)
                        for name in (row, reference))
        if mine is None or not theirs:
            return None
        quotients.append(mine / theirs)
    return statistics.median(quotients)


def failure_of(data, row):
    for found in data["rounds"]:
        if "failed" in found[row]:
            return found[row]["failed"]
    return None


def number(value):
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value:,.0f}"
    digits = 3 - math.ceil(math.log10(value)) if value > 0 else 0
    return f"{value:.{max(0, min(digits, 3))}f}"


def ratio(value):
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"


def cells_of(data, row):
    """Figure after figure, and its ratio in brackets where there is one."""
    cells = []
    for figure, *_ in FIGURES:
        text = number(median_of(data, row["name"], figure))
        if figure in RATIOS and row["name"] != row["reference"]:
            times = ratio(ratio_of(data, row["name"], row["reference"], figure))
            text += f" ({times} ×)" if times else ""
        cells.append(text)
    return cells


def rows_of(data):
    """(text, cells) of a table: the limit first."""
    limit = [number(median_of(data, "limit", figure)) for figure, *_ in FIGURES]
    return [("receive only (the limit)", limit),
            *[(row["text"], cells_of(data, row)) for row in data["rows"]]]


def titles():
    return [f"{title} {unit}" for _, title, unit, _, _ in FIGURES]


def heading(data):
    return (f"{data['objects']:,} {data['text']} of "
            f"{data['bytes_per_object']:,} bytes on average, then "
            f"{data['events']:,} events")


# ---- text


def circumstances(data):
    return (f"{len(data['rounds'])} rounds; meanwhile programs that are no part of "
            f"this used {data['busy_others']:.2f} cores on average")


def text_table(data):
    rows = rows_of(data)
    first = max(len(text) for text, _ in rows) + 2
    width = [max(len(t), *(len(cells[i]) for _, cells in rows)) + 2
             for i, t in enumerate(titles())]
    lines = [heading(data), circumstances(data),
             " " * first + "".join(f"{t:>{w}}" for t, w in zip(titles(), width))]
    for text, cells in rows:
        lines.append(f"{text:{first}}" + "".join(
            f"{cell:>{w}}" for cell, w in zip(cells, width)))
    for row in data["rows"]:
        if failure_of(data, row["name"]):
            lines.append(f"{row['text']}: {failure_of(data, row['name'])}")
    return "\n".join(lines)


def about_lines(result):
    about = result["about"]
    versions = ", ".join(f"{n} {v}" for n, v in about["versions"].items())
    return [f"date {about['date']}; {about['cpu']}; {about['memory']}; "
            f"{about['system']}; kinformer built as {about['build']}",
            f"versions: {versions}",
            f"pods of {about['shapes']} shapes; medians; ratios within a round "
            f"to the row of kinformer"]


def text_report(result):
    parts = ["\n".join(about_lines(result))]
    parts += [text_table(data) for data in result["sets"]]
    return "\n\n".join(parts)


# ---- Markdown


def markdown_table(data):
    lines = ["| | " + " | ".join(titles()) + " |",
             "|---" * (len(FIGURES) + 1) + "|"]
    for text, cells in rows_of(data):
        lines.append(f"| {text} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def markdown_set(data):
    parts = [f"### {heading(data)}", circumstances(data) + ":",
             markdown_table(data),
             f"![{data['text']}: first sync, CPU per event, memory per object]"
             f"(performance-{data['name']}.svg)"]
    for row in data["rows"]:
        why = failure_of(data, row["name"])
        if why:
            parts.append(f"{row['text']}: `{why}`")
    return "\n\n".join(parts)


def markdown(result):
    about = "\n".join(f"- {line}" for line in about_lines(result))
    return "\n\n".join([about, *map(markdown_set, result["sets"])])


BEGIN, END = "<!-- results: written by bench/peers.py -->", "<!-- end -->"


def readme(result):
    """The first set's main rows and figures."""
    data = result["sets"][0]
    about = result["about"]
    columns = [i for i, f in enumerate(FIGURES) if f[0] in README_FIGURES]
    lines = ["| | " + " | ".join(titles()[i] for i in columns) + " |",
             "|---" * (len(columns) + 1) + "|"]
    for row in data["rows"]:
        if row["name"] in README_ROWS:
            cells = cells_of(data, row)
            lines.append(f"| {row['text']} | "
                         + " | ".join(cells[i] for i in columns) + " |")
    return (f"{heading(data)}, on {about['date']}; medians of "
            f"{len(data['rounds'])} rounds:\n\n" + "\n".join(lines))


def page_with(page, text):
    """The page with what is between the two comments replaced."""
    before, rest = page.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


# ---- charts

STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.title { font-weight: 600; }
.unit { fill: #59636e; }
.bar { fill: #8c959f; }
.kin { fill: #0969da; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .unit { fill: #9198a1; }
  .bar { fill: #6e7681; }
  .kin { fill: #4493f8; }
}"""
LABEL, BAR, VALUE, ROW, GAP = 220, 180, 80, 22, 24


def text_at(x, y, text, css="", anchor="start"):
    return (f'<text x="{x}" y="{y}" text-anchor="{anchor}"'
            f'{f" class={chr(34)}{css}{chr(34)}" if css else ""}>'
            f"{escape(text)}</text>")


def panel(data, figure, x):
    """One figure: a title, and a bar with its value for each row."""
    _, title, unit, _, _ = next(f for f in FIGURES if f[0] == figure)
    values = [median_of(data, row["name"], figure) for row in data["rows"]]
    most = max((v for v in values if v is not None), default=0) or 1
    parts = [text_at(x, 20, title, "title"),
             text_at(x + BAR + VALUE, 20, unit, "unit", "end")]
    for i, (row, value) in enumerate(zip(data["rows"], values)):
        y = 34 + i * ROW
        if value is None:
            parts.append(text_at(x, y + 13, "failed", "unit"))
            continue
        length = max(1, round(BAR * value / most, 1))
        css = "kin" if row["name"].startswith("kinformer") else "bar"
        parts.append(f'<rect class="{css}" x="{x}" y="{y}" rx="2" '
                     f'width="{length}" height="{ROW - 6}"/>')
        parts.append(text_at(round(x + length + 6, 1), y + 13, number(value)))
    return parts


def chart(data):
    """Bars from zero, side by side for three figures; shorter is better."""
    width = LABEL + len(CHARTS) * (BAR + VALUE) + (len(CHARTS) - 1) * GAP
    height = 34 + ROW * len(data["rows"]) + 8
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
             f'height="{height}" viewBox="0 0 {width} {height}" role="img">',
             f"<title>{escape(heading(data))}: shorter is better</title>",
             f"<style>{STYLE}</style>"]
    for i, row in enumerate(data["rows"]):
        parts.append(text_at(LABEL - 12, 34 + i * ROW + 13, row["text"],
                             anchor="end"))
    for i, figure in enumerate(CHARTS):
        parts += panel(data, figure, LABEL + i * (BAR + VALUE + GAP))
    return "\n".join([*parts, "</svg>", ""])


# ---- files


def files_of(result):
    """path -> text, of all that shows a result."""
    charts = {ROOT / f"doc/performance-{data['name']}.svg": chart(data)
              for data in result["sets"]}
    return {PAGE: page_with(PAGE.read_text(), markdown(result)),
            README: page_with(README.read_text(), readme(result)), **charts}


def write_all(result):
    RESULTS.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    for path, text in files_of(result).items():
        path.write_text(text)


def check():
    result = json.loads(RESULTS.read_text())
    expected = files_of(result)
    failed = 0
    for path, text in expected.items():
        same = path.exists() and path.read_text() == text
        failed += not same
        print(f"{'ok' if same else 'FAILED'}: {path.relative_to(ROOT)}")
    print(f"{len(expected) - failed} passed, {failed} failed")
    return 1 if failed else 0


# ---- does this file do what it says


def example():
    def result(sync, event):
        return {"sync_s": sync, "sync_cpu_s": sync, "cpu_us_per_event": event,
                "peak_rss": 2e6, "steady_rss": 1e6, "bytes_per_object": 1000.0}
    limit = {"sync_s": 0.1, "sync_cpu_s": 0.1, "cpu_us_per_event": 1.0}
    failed = {"failed": "exit status 1: too <long>"}
    # By the medians the ratio would be 20 / 2; pair by pair it is 8.
    rounds = [{"limit": limit, "kinformer": result(kin, 2), "peer": result(
        peer, 30), "broken": failed} for kin, peer in ((1, 8), (2, 20), (5, 20))]
    names = [("kinformer", "kinformer, <all>"), ("peer", "peer"),
             ("broken", "broken")]
    return {
        "about": {"date": "2026-01-02", "cpu": "c", "memory": "m", "system": "s",
                  "build": "release", "shapes": 4,
                  "versions": {"lib": "1.0"}},
        "missing": {},
        "sets": [{"name": "pods", "text": "pods", "objects": 1000, "events": 10,
                  "bytes_per_object": 5400, "busy_others": 0.25,
                  "rounds": rounds, "rows": [
                      {"name": name, "text": text, "reference": "kinformer"}
                      for name, text in names]}]}


def self_test():
    result = example()
    data = result["sets"][0]
    page = page_with(f"head\n{BEGIN}\nold\n{END}\ntail\n", markdown(result))
    svg = chart(data)
    root = xml.etree.ElementTree.fromstring(svg)
    bars = root.findall("{http://www.w3.org/2000/svg}rect")
    widths = [float(bar.get("width")) for bar in bars]
    cases = {
        "median": median_of(data, "peer", "sync") == 20,
        "ratio pair by pair": ratio_of(data, "peer", "kinformer", "sync") == 8,
        "a failure is no figure": median_of(data, "broken", "sync") is None
                                  and cells_of(data, data["rows"][2])[0] == "–",
        "the limit has no memory": rows_of(data)[0][1][3:] == ["–"] * 3,
        "a failure is told": "exit status 1" in text_report(result)
                             and "`exit status 1: too <long>`" in page,
        "the rest of the page stays": page.startswith("head\n")
                                      and page.endswith(f"{END}\ntail\n")
                                      and "old" not in page,
        "written twice is the same": page_with(page, markdown(result)) == page,
        "a bar for each value": len(bars) == 6
                                and widths[:2] == [BAR / 10, BAR],
        "README has main rows and figures": "| kinformer, <all> | 2.00 | 2.00 | 2.00 |"
                                            in readme(result)
                                            and "peer" not in readme(result),
        "ratio in the table": "20.0 (8.0 ×)" in markdown_table(data),
        "numbers": [number(x) for x in (0.1234, 1.234, 56.78, 999.6, 12345, 0)]
                   == ["0.123", "1.23", "56.8", "1000", "12,345", "0"],
    }
    for name, held in cases.items():
        print(f"{'ok' if held else 'FAILED'}: {name}")
    failed = sum(not held for held in cases.values())
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if sys.argv[1:] == ["--check"]:
        sys.exit(check())
    if sys.argv[1:2] == ["--write"] and len(sys.argv) == 3:
        write_all(json.loads(pathlib.Path(sys.argv[2]).read_text()))
        sys.exit(0)
    sys.exit(__doc__)
