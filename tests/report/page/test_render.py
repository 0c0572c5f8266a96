"""The page as a file: it asks nothing of a network, runs nothing of its data, and says everything without scripts."""

import base64
import hashlib
import re

import pytest

from report.page.pack import unpack
from report.page.render import run_page, study_page
from report.page.rows import CurveStrip, RunDifference
from tests.support.pages import CURVE, HOSTILE, made_rows, tags_of, text_of, with_curve
from tests.support.studies import made_study

of_each_kind = pytest.mark.parametrize(
    "page", [run_page([made_rows()]), study_page(made_study())], ids=["run", "study"]
)


@pytest.fixture(scope="module")
def page():
    return run_page([made_rows()])


@of_each_kind
def test_the_policy_allows_nothing_but_the_two_inline_texts(page):
    policy = re.search(rb'Content-Security-Policy" content="([^"]+)"', page)[1].decode().replace("&#39;", "'")
    texts = [
        re.search(rb"<style>(.*?)</style>", page, re.DOTALL)[1],
        re.findall(rb"<script>(.*?)</script>", page, re.DOTALL)[0],
    ]
    sources = [f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'" for text in texts]

    assert policy == (
        f"default-src 'none'; style-src {sources[0]}; script-src {sources[1]}; base-uri 'none'; form-action 'none'"
    )


@of_each_kind
def test_no_element_of_a_page_could_fetch_anything(page):
    assert not {"img", "link", "iframe", "object", "embed", "video", "audio", "source"} & set(tags_of(page))
    bare = re.sub(rb"<(script|style).*?</\1>", b"", page, flags=re.DOTALL)
    assert not [word for word in (b"style=", b"src=", b"://") if word in bare]


def test_a_hostile_name_adds_no_tag_and_is_shown_as_it_is():
    plain, hostile = (run_page([with_curve(made_rows(text, text=text), text)]) for text in ("made", HOSTILE))

    assert tags_of(hostile) == tags_of(plain)
    assert re.sub(r"\s+", " ", HOSTILE) in text_of(hostile, "plan")


def test_the_verdict_is_readable_without_scripts(page):
    text = text_of(page, "verdict")

    assert "failed: safety supply: hello" in text
    assert "hello | 1 | 0 | no" in text_of(page, "plan")


def test_the_drill_down_goes_from_the_height_to_the_cause(page):
    text = text_of(page, "why")
    places = [
        text.index(word) for word in ("Height: 3", "Sides", "Timer", "balance", "The write", "How it came", "Cause")
    ]

    assert places == sorted(places)


def test_two_runs_stand_side_by_side_below_what_differs():
    difference = RunDifference("they part at event 5", (("seed", "1", "2"),), 5, 3)
    text = text_of(run_page([made_rows("a"), made_rows("b")], difference, names=("A", "B")), "difference", "why")

    assert text.startswith("Where they differ\nthey part at event 5")
    assert "seed | 1 | 2" in text
    assert text.count("Height: 3") == 2


def test_the_same_rows_are_the_same_bytes(page):
    assert run_page([made_rows()]) == page


def test_the_checks_are_words_with_their_results_replicas_and_coverage(page):
    assert text_of(page, "checks") == (
        "Checks\n"
        "family | result | the question, and what was compared\n"
        "hello | failed | hello hello every check\n"
        "check | result | what it compared | comparisons\n"
        "hello\n"
        "hello | failed | hello | 1,234\n"
    )
    assert text_of(page, "end") == (
        "Replicas at the end, and coverage\n"
        "Replicas at the end\n"
        "replica | status | height | finalized | executed | rolled back | undone | "
        "fired | expired | insolvent | waiting | note\n"
        + " | ".join(["hello"] * 12)
        + "\n"
        + " | ".join(["hello"] * 12)
        + "\n"
        "Whom the faults hit, and in which phase\n"
        "kind of fault | voted, voter\n"
        "partition | 3\n"
    )


def test_a_curve_stands_under_the_course_of_the_run_and_the_log_below_it():
    page = run_page([with_curve(made_rows())])
    head, _ = unpack(re.search(rb'id="data-0">([^<]+)', page)[1].decode())

    strip = [
        "A: hello",
        [40, 1_000_000],
        [[at, share, share // 2, 1_000_000, f"turn {turn}: hello"] for turn, at, share in CURVE],
    ]
    assert head["curve"]["strips"][0] == strip
    assert (head["curve"]["window"], head["curve"]["moments"]) == ([800_000, 2_000_000], [[1_500_000, "hello"]])
    text = text_of(page, "verdict")
    assert "A: hello: The rise of A" in text
    assert "The draws: hello\nthe strongest: hello" in text
    assert "40 | 1.000 | turn 40: hello" in text
    headings = re.findall(rb'<h2 id="(\w+)-heading', page)
    assert headings[:3] == [b"verdict", b"replicas", b"checks"]
    assert re.findall(rb'<a href="#(\w+)">', page) == headings


def test_an_unavoidable_failure_has_no_flat_plot():
    rows = with_curve(made_rows())
    strips = [CurveStrip("A", (), None, ("unavoidable from genesis",))]
    page = run_page([rows._replace(curve=rows.curve._replace(strips=strips, window=None, moments=()))])

    assert b'data-pane="curve"' not in page
    assert "Unavoidable from genesis" in text_of(page, "verdict")
    assert re.findall(rb'<h2 id="(\w+)-heading', page)[1] == b"checks"


def test_a_chain_of_slots_is_shown_in_slots():
    page = run_page([made_rows()._replace(view_word="slot")]).decode()

    assert "leads the slot" in page
    assert "leads the view" not in page
