"""The pages of four runs: their words are held, they answer a stranger's eight questions, and they stay small."""

from functools import cache

import pytest

from report.page.render import PAGE_BYTES_MAX
from tests.support.golden_pages import FOLDER, RUNS, page_for, words_of

PANE_BYTES_MAX = 20 * 1024

NOTHING_DIFFERS = "No check found anything wrong, so there is nothing to explain."

QUESTIONS = (
    "who was cut off from whom and when",
    "what each fault did",
    "which height differs first",
    "which replicas",
    "which key, timer and field",
    "by what write",
    "why",
    "how to repeat it",
)
"""Questions that a stranger asks of a run which went wrong."""

ANSWERS = {
    "outage-storm": (
        ("From 8 s to 11 s all links between {0, 1} and {2, 3} are cut. ", "no block for 3 s. | 8.000 to 11.000 s"),
        (
            "at 80 s they restart",
            "Nobody is left: no block for 66 s. | 14.000 to 80.000 s | 4 validators restarted",
        ),
        *[NOTHING_DIFFERS] * 5,
        "repeat with\nrun_cluster.py run outage-storm",
    ),
    "certified-split": (
        "Notarization messages from anybody to validators 0 and 2 about view 9 are dropped. | 0.000 to 30.000 s",
        "0.000 to 30.000 s | 4 messages dropped, held, delayed or recorded",
        *[NOTHING_DIFFERS] * 5,
        "repeat with\nrun_cluster.py run certified-split",
    ),
    "broken-refund": (
        "validator 3 is paused: all its events are held back",
        "2.000 to 4.000 s | 19 events held back",
        "\nHeight: 3, block",
        "\nvalidators 0, 1, 2, 3 | root 20e6f442",
        (
            "\nTimer: 46e5f466",
            "\naccount 852c58fb",
            "balance | 100,000,000,000,000 | 99,999,999,236,800 | 99,999,999,236,000 (800 units lower)",
        ),
        "The write: receipt 5: TimerFired",
        "Cause: execution",
        "repeat with\nrun_cluster.py run broken-refund",
    ),
    "one-validator-parts": (
        ("From 1.5 s to 4 s all links between", "Neither side has 3 of 4: no block for 2.5 s. | 1.500 to 4.000 s"),
        ("| 36 messages lost, held or delayed", "enough for a quorum of 3. | 4.500 to 6.000 s | 1 restart"),
        "\nHeight: 3, block",
        "\nvalidator 2 | root 483aa8ea",
        (
            "\nTimer: ba9b834c",
            "\naccount 6d089af1",
            "balance | 100,000,000,000,000 | 99,999,999,236,800 | 99,999,999,236,000 (800 units lower)",
        ),
        "The write: receipt 13: TimerFired",
        "Cause: execution",
        "repeat with\nrun_cluster.py run partition-heal",
    ),
}
"""By the name of a page, the words that answer each question in it; of some questions several places."""


@cache
def page_of(name):
    return page_for(name)


@pytest.mark.parametrize("name", RUNS)
def test_the_words_of_a_page_are_those_that_were_read(name):
    """Where a change moves them on purpose, `python -m tests.support.golden_pages` writes them anew."""
    assert words_of(page_of(name)) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RUNS)
def test_eight_questions_are_answered_in_words(name):
    words = words_of(page_of(name))

    answers = zip(QUESTIONS, ANSWERS[name], strict=True)
    wanted = [(question, part) for question, said in answers for part in ([said] if isinstance(said, str) else said)]
    assert [(question, part) for question, part in wanted if part not in words] == []


def test_a_page_is_the_same_bytes_each_time():
    assert page_for("broken-refund") == page_of("broken-refund")


@pytest.mark.parametrize("name", RUNS)
def test_pages_stay_small(name):
    assert len(page_of(name)) < PAGE_BYTES_MAX // 10
    assert len(words_of(page_of(name))) < PANE_BYTES_MAX
