"""The greatest size of a page: what makes it too large is left out, and that is said."""

from array import array

import pytest

from cluster.page.events import MARKS_MAX, MESSAGES_MAX
from cluster.page.write import PROGRAM, TOO_LONG, _program_of, bounded_page, write_page
from report.page import render
from report.page.render import run_page
from report.page.rows import Columns
from tests.support.pages import made_rows


def noise(count):
    """Return numbers that no compression makes small."""
    value, found = 1, array("I")
    for _ in range(count):
        value = value * 1_103_515_245 + 12_345 & 0xFFFFFFFF
        found.append(value)
    return found


@pytest.fixture
def rows():
    made = made_rows()
    line = made.timeline
    messages = {**line.messages.arrays, "label": noise(30_000)}
    marks = {**line.marks.arrays, "words": noise(30_000)}
    return made._replace(timeline=line._replace(messages=Columns(messages, ""), marks=Columns(marks, "")))


@pytest.mark.parametrize("replicas", [4, 16, 64])
def test_a_full_page_of_two_thousand_heights_is_below_the_cap(replicas):
    """Numbers that no compression makes small stand for what a run has there: marks, messages and timers."""
    made = made_rows(heights=2_000, events=MARKS_MAX, replicas=replicas)
    line, storm = made.timeline, made.storm
    marks = {**line.marks.arrays, "at": noise(MARKS_MAX), "words": noise(MARKS_MAX)}
    sent = {**{name: noise(MESSAGES_MAX) for name in ("at", "arrives", "label")}}
    ends = {name: array("B", (each % replicas for each in noise(MESSAGES_MAX))) for name in ("from", "to", "fate")}
    series = {name: noise(2_000) for name in storm.columns.arrays}
    timeline = line._replace(marks=Columns(marks, ""), messages=Columns({**sent, **ends}, ""))
    page = bounded_page([made._replace(timeline=timeline, storm=storm._replace(columns=Columns(series, "")))])

    assert TOO_LONG.encode() not in page
    assert len(page) < render.PAGE_BYTES_MAX * 2 // 3


def test_messages_are_left_out_first(rows, monkeypatch):
    monkeypatch.setattr(render, "PAGE_BYTES_MAX", 350_000)
    page = bounded_page([rows])

    assert len(run_page([rows])) > 350_000 >= len(page)
    assert page.count(TOO_LONG.encode()) == 1


def test_marks_are_left_out_next(rows, monkeypatch):
    monkeypatch.setattr(render, "PAGE_BYTES_MAX", 200_000)
    page = bounded_page([rows])

    assert len(page) <= 200_000
    assert page.count(TOO_LONG.encode()) == 2


def test_a_page_that_finds_no_place_is_a_line_and_no_failure(tmp_path):
    (tmp_path / "file").write_text("")

    assert write_page(tmp_path / "file" / "report.html", b"").startswith(f"no page: {tmp_path / 'file'}")
    assert write_page(tmp_path / "report.html", b"<p>") == f"page {tmp_path / 'report.html'}"


@pytest.mark.parametrize(
    ("repeat", "program"),
    [
        ("/a/python run_cluster.py run calm --seed 1", "/a/python run_cluster.py"),
        ("'/a run b/python' run_cluster.py run calm", "'/a run b/python' run_cluster.py"),
        ("", PROGRAM),
        ("'no end run", PROGRAM),
    ],
)
def test_a_page_names_the_program_that_made_its_run(repeat, program):
    assert _program_of(repeat) == program
