"""The greatest size of a page: what makes it too large is left out, and that is said."""

import os
import re
from array import array
from pathlib import Path

import pytest

from cluster.page.events import MARKS_MAX, MESSAGES_MAX
from cluster.page.write import PAGE, PROGRAM, TOO_LONG, _program_of, bounded_page, write_page
from report.page import render
from report.page.campaign_rows import CampaignRows
from report.page.pack import unpack
from report.page.render import campaign_page, index_page, run_page
from report.page.rows import MARKED, Columns
from tests.support.pages import made_rows, with_curve


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


def test_what_is_marked_is_never_left_out(rows, monkeypatch):
    made = with_curve(rows)
    labels = made.timeline.messages._replace(arrays=made.timeline.messages.arrays | {"label": noise(30_000)})
    monkeypatch.setattr(render, "PAGE_BYTES_MAX", 200_000)
    page = bounded_page([made._replace(timeline=made.timeline._replace(messages=labels))]).decode()
    head, arrays = unpack(re.search(r'id="data-0">([^<]+)', page)[1])

    assert page.count(TOO_LONG) == 2
    assert list(arrays["message_fate"]) == [MARKED]
    assert [head["kinds"][kind] for kind in arrays["mark_kind"]] == ["send", "deliver"]


def test_a_page_that_finds_no_place_is_a_line_and_no_failure(tmp_path, capsys):
    (tmp_path / "file").write_text("")

    assert write_page(tmp_path / "file" / "report.html", lambda: b"") == []
    assert write_page(tmp_path / "report.html", lambda: b"<p>") == [f"page {tmp_path / 'report.html'}"]
    assert capsys.readouterr().err == f"no page: {tmp_path / 'file' / 'report.html'}: Not a directory\n"


def broken():
    raise ZeroDivisionError("so\x1b it\ngoes")


def test_a_page_that_cannot_be_made_is_one_line_too(tmp_path, capsys):
    assert write_page(tmp_path / "report.html", broken) == []
    assert capsys.readouterr().err == f"no page: {tmp_path / 'report.html'}: ZeroDivisionError: so it goes\n"


@pytest.mark.parametrize("make", [os.mkdir, Path.touch, os.mkfifo, lambda path: path.symlink_to("own.html")])
def test_a_page_takes_the_place_of_a_page_alone(tmp_path, capsys, make):
    """Neither a folder's, nor another file's, nor a link's, even where that leads to a page."""
    own, path = tmp_path / "own.html", tmp_path / "index.html"
    assert write_page(own, lambda: index_page([])) == write_page(own, lambda: index_page([])) == [f"page {own}"]
    make(path)

    assert write_page(path, lambda: index_page([])) == []
    assert capsys.readouterr().err.startswith(f"no page: {path} exists and is no page of this program; ")
    assert not path.is_file() or path.read_bytes() in (b"", own.read_bytes())


def test_every_page_begins_as_one():
    """A page that is not known as one is not written anew."""
    campaign = CampaignRows("t", "passed", "h", (), (), "", (), ())

    for page in (run_page([made_rows()]), index_page([]), campaign_page(campaign)):
        assert page.startswith(PAGE.beginning)


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
