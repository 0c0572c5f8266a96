"""Pages in tests: rows made by hand, and the text of a page's panes as a person without scripts reads it."""

import re
from array import array
from html.parser import HTMLParser

from report.page.rows import (
    LOST,
    MARKED,
    Arc,
    CheckLine,
    Columns,
    CoverageGrid,
    CurvePoint,
    CurveRows,
    CurveStrip,
    FamilyLine,
    FaultRow,
    Finding,
    KeyRow,
    Matrix,
    Promise,
    ReplicaRow,
    RunRows,
    StormRows,
    Timeline,
    Tree,
    VerdictPane,
)

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }}"

CURVE = ((1, 200_000, 250_000), (40, 1_000_000, 125_000), (41, 1_000_000, 1_000_000), (90, 9_000_000, 1_000_000))
"""The turn, the virtual time and the share of each point of a curve that rises at 1 s."""

VOID = ("meta", "br", "input", "link", "hr")


class PaneText(HTMLParser):
    """Collects the words of the panes with these ids, a line for each block; `tags` are all tags of the page."""

    def __init__(self, ids):
        super().__init__()
        self.tags = []
        self.lines = [""]
        self._ids = ids
        self._depth = 0
        self._hidden = 0

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "section" and dict(attributes).get("id") in self._ids:
            self._depth = 1
        elif tag in ("section", "footer"):
            self._depth = 0
        if tag in ("script", "style") or "needs-js" in (dict(attributes).get("class") or ""):
            self._hidden += tag not in VOID
        elif self._hidden and tag not in VOID:
            self._hidden += 1
        if tag in ("p", "tr", "li", "dt", "h2", "h3", "pre", "div", "section"):
            self.lines.append("")
        if tag in ("td", "th", "dd"):
            self.lines[-1] += " | " if self.lines[-1] else ""

    def handle_endtag(self, tag):
        if self._hidden and tag not in VOID:
            self._hidden -= 1

    def handle_data(self, data):
        if self._depth and not self._hidden:
            self.lines[-1] += data if data.strip() else " " * bool(self.lines[-1])


def text_of(page, *ids):
    """Return the words of some panes of a page."""
    parser = PaneText(ids)
    parser.feed(page.decode())
    lines = (re.sub(r"\s+", " ", line).strip() for line in parser.lines)
    return "\n".join(line for line in lines if line) + "\n"


def tags_of(page):
    """Return all tags of a page that a browser would open."""
    parser = PaneText(())
    parser.feed(page.decode())
    return parser.tags


def columns(**arrays):
    """Return columns with nothing left out."""
    return Columns({name: array(code, values) for name, (code, values) in arrays.items()}, "")


def made_rows(name="made", *, heights=4, events=6, replicas=2, text="hello"):
    """Return the rows of a made-up run of some validators that part at height 3; `text` is everywhere."""
    at = [1_000_000 * (1 + i) for i in range(events)]
    marks = columns(
        at=("d", at),
        node=("B", [i % replicas for i in range(events)]),
        kind=("B", [i % 2 for i in range(events)]),
        view=("i", [1 + i // 2 for i in range(events)]),
        height=("i", [1 + i // 2 for i in range(events)]),
        block=("I", [min(i // 2, heights - 1) for i in range(events)]),
        words=("I", [1] * events),
    )
    messages = columns(
        at=("d", [500_000, 900_000]),
        arrives=("d", [800_000, -1]),
        **{"from": ("B", [0, 1]), "to": ("B", [1, 0])},
        label=("I", [1, 1]),
        fate=("B", [0, 1]),
    )
    numbers = range(heights)
    tree = Tree(
        columns(
            number=("I", numbers),
            height=("I", [1 + n for n in numbers]),
            view=("I", [1 + n for n in numbers]),
            proposer=("B", [0] * heights),
            row=("B", [0] * (heights - 1) + [1]),
            parent=("I", [0xFFFFFFFF, *range(heights - 1)]),
            final=("B", [1] * (heights - 1) + [0]),
        ),
        [f"{n:012x}" for n in numbers],
        {heights - 1: text},
        [Arc(3_000_000, 1, heights - 1, heights - 1, 1, "rolled back")],
        2,
    )
    series = ("fired", "expired", "insolvent", "cancelled", "deferred", "waiting_live", "waiting_dead", "predicted")
    series += ("time_ms", "lane_cycles", "gc_cycles", "cycle_basefee", "cell_basefee", "lane_price")
    storm = StormRows(
        columns(
            height=("I", [1 + n for n in numbers]), **{name: ("d", [float(n) for n in numbers]) for name in series}
        ),
        {"lane": 10, "gc": 10, "removals": 1},
        text,
        {"no tip": array("i", range(heights)), "tip 1 to 9": array("i", [-1] * heights)},
        f"no tip: {text}",
    )
    cells = bytes([1] * heights), bytes([1, 1, 2, *[1] * (heights - 3)])
    roots = array("I", [1] * heights), array("I", [1, 1, 2, *[1] * (heights - 3)])
    times = array("I", (1_000 * (1 + n) for n in numbers))
    rows = [
        ReplicaRow(f"validator {n}", str(n), text, text, cells[n % 2], roots[n % 2], times) for n in range(replicas)
    ]
    matrix = Matrix(
        *(rows, heights, 1, 3, ["", "ab" * 6, "cd" * 6]),
        *(array("B", [0] * heights), array("I", numbers), array("I", numbers)),
        has_oracle=True,
        note="",
    )
    finding = Finding(
        f"supply: {text}",
        text,
        3,
        "ab" * 32,
        (("the oracle", "root aa"), (text, "root bb")),
        "cd" * 32,
        text,
        (KeyRow(text, (("balance", ("1", "2", "3")),), ("1", "2", "3")),),
        1,
        f"the write {text}",
        text,
        "execution",
        (text,),
        (text, f"  {text} submitted"),
    )
    return RunRows(
        title=text,
        scenario=name,
        seed=7,
        verdict=VerdictPane(
            "safety",
            text,
            text,
            (text,),
            (("digest", text),),
            (("repeat", text),),
            (text,),
            (Promise(text, "1", "0", "no"),),
        ),
        faults=(FaultRow(text, "partition", text, "3 messages", (0,), ((2_000_000, 4_000_000),)),),
        matrix=matrix,
        finding=finding,
        timeline=Timeline(
            kinds=("finalized", "vote"),
            titles=("", text),
            marks=marks,
            messages=messages,
            lives=((1, 5_000_000, 6_000_000),),
            density=array("I", [1] * 1024),
            end_us=10_000_000,
        ),
        tree=tree,
        storm=storm,
        checks=(FamilyLine(text, text, "failed", text, (CheckLine(text, "failed", text, 1_234, ((text, text),)),)),),
        coverage=CoverageGrid(("voted, voter",), (("partition", (3,)),)),
        replicas=((text,) * 12,) * replicas,
    )


def with_curve(rows, text="hello"):
    """Return the rows of a run with two curves, opened from 0.8 s to 2 s, and with its first message marked."""
    points = [
        CurvePoint(turn, at_us, share, share // 2, 1_000_000, f"turn {turn}: {text}") for turn, at_us, share in CURVE
    ]
    strips = [CurveStrip(f"{mode}: {text}", points, (40, 1_000_000), (f"the rise of {mode}", text)) for mode in "AB"]
    draws = (f"the draws: {text}", f"the strongest: {text}", "another")
    curve = CurveRows(text, strips, draws, ((1_500_000, text),), (800_000, 2_000_000))
    line = rows.timeline
    messages = {**line.messages.arrays, "at": array("d", [900_000, 900_000]), "arrives": array("d", [1_200_000, -1])}
    messages["fate"] = array("B", [MARKED, LOST])
    kinds = array("B", [2, 3, *line.marks.arrays["kind"][2:]])
    marks = line.marks._replace(arrays={**line.marks.arrays, "kind": kinds})
    line = line._replace(kinds=(*line.kinds, "send", "deliver"), marks=marks, messages=Columns(messages, ""))
    return rows._replace(curve=curve, timeline=line)
