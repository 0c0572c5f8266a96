"""The pages of four runs: their words are held, they answer a stranger's eight questions, and they stay small."""

import pytest

from report.page.render import PAGE_BYTES_MAX
from tests.support.golden_pages import FOLDER, RUNS, page_for, words_of

PANE_BYTES_MAX = 20 * 1024

ANSWERS = {
    "who was cut off from whom": ("outage-storm", "all links between {0, 1} and {2, 3} are cut"),
    "when": ("outage-storm", "8.000 to 11.000 s"),
    "what each fault did": ("certified-split", "4 messages dropped, held, delayed or recorded"),
    "which height differs first": ("broken-refund", "Height: 3, block"),
    "which replicas": ("one-validator-parts", "validator 2 | "),
    "which key, timer and field": ("broken-refund", "balance | 100000000000000 | 99999999236800 | 99999999236000"),
    "by what write": ("broken-refund", "The write: receipt 4: TimerFired"),
    "why": ("broken-refund", "Cause: execution"),
}
"""Eight questions of docs/page.md, with the page that answers each and the words that do."""


@pytest.fixture(scope="module")
def pages():
    return {name: page_for(name) for name in RUNS}


@pytest.mark.parametrize("name", RUNS)
def test_the_words_of_a_page_are_those_that_were_read(name, pages):
    """Where a change moves them on purpose, `python -m tests.support.golden_pages` writes them anew."""
    assert words_of(pages[name]) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("question", ANSWERS)
def test_a_question_is_answered_in_words(question, pages):
    name, words = ANSWERS[question]

    assert words in words_of(pages[name])


def test_how_to_repeat_a_run_stands_in_its_page():
    """The command is the caller's, and the test above gives none."""
    from report.page.render import run_page
    from tests.support.pages import made_rows, text_of

    assert "repeat with\nhello" in text_of(run_page([made_rows()]), "verdict")


def test_a_page_is_the_same_bytes_each_time(pages):
    assert page_for("broken-refund") == pages["broken-refund"]


def test_pages_stay_small(pages):
    assert max(map(len, pages.values())) < PAGE_BYTES_MAX // 10
    assert max(len(words_of(page)) for page in pages.values()) < PANE_BYTES_MAX
