"""The curve of a failed run on a page: its points, its interval, and the messages that are marked."""

import pytest

from cluster.causality.asking import Point
from cluster.causality.continuations import FailedRun
from cluster.causality.draws import JudgedDraw, OtherValue
from cluster.causality.page import AROUND_TURNS, CurvesOnPage, curve_rows, marked_messages
from cluster.causality.rise import Rise
from cluster.causality.told_draws import SHOWN
from network.reseeding import ConsumedDraw

TURNS = 1_000
RISE = 500
LATE_US = 250_000

TIMES_US = tuple(1_000 * turn for turn in range(1, TURNS + 1))
RUN = FailedRun(None, 0, "agreement", "agreement", "", "the answer", b"", TIMES_US, ())


def point(turn, runs, same):
    return Point(turn, RUN.time_of(turn), runs, same, {})


@pytest.fixture
def rise():
    low, high = point(RISE, 36, 3), point(RISE + 1, 36, 36)
    return Rise([point(1, 8, 2), low, high, point(TURNS + 1, 8, 8)], low, high)


def judged(purpose, subject, ordinal, message=("Vote", 4), delay_us=LATE_US):
    had = OtherValue(0, fails=True, delay_us=delay_us)
    other = OtherValue(1, fails=False, delay_us=1)
    return JudgedDraw(ConsumedDraw(purpose, subject, ordinal, RISE, 7), message, had, (other,))


def rows_of(rise, *draws):
    return curve_rows(CurvesOnPage(RUN, {"chance": rise}, (RISE, RISE), draws), "note")


def test_a_point_has_its_share_its_bounds_and_words(rise):
    (strip,) = rows_of(rise).strips

    assert strip.rise == (RISE, 500_000)
    assert [(each.turn, each.at_us, each.share_ppm) for each in strip.points] == [
        (1, 1_000, 250_000),
        (RISE, 500_000, 83_333),
        (RISE + 1, 501_000, 1_000_000),
        (TURNS + 1, 1_000_000, 1_000_000),
    ]
    # The run itself is certain.
    assert [(each.low_ppm < each.share_ppm, each.high_ppm) for each in strip.points[2:]] == [
        (True, 1_000_000),
        (False, 1_000_000),
    ]
    assert strip.points[1].words == (
        "3 of 36 continuations from turn 500 (0.500 s) on fail alike (2 to 21 %), 0 otherwise, 33 pass"
    )
    assert strip.sentences[0].startswith("the rise is at turn 500 (0.500 s): ")


def test_the_interval_is_around_the_rise_and_holds_the_message(rise):
    around = (1_000 * (RISE - AROUND_TURNS), 1_000 * (RISE + 1 + AROUND_TURNS))

    assert rows_of(rise).window == around
    assert rows_of(rise, judged("latency", "0->1", 3)).window == (around[0], 500_000 + LATE_US)


def test_a_draw_of_no_message_marks_a_moment(rise):
    of_message, of_none = judged("loss", "0->1", 3), judged("bit rot", "rot/1/log-a/3", 2, None)
    rows = rows_of(rise, of_message, of_none)

    assert rows.moments == ((500_000, "bit rot, rot/1/log-a/3, draw 2: fails with 0 of 1 other values"),)
    assert rows.draws[0] == "the draws of turn 500 that move the failure, each with 1 other values:"
    assert [line.split()[:2] for line in rows.draws[1:]] == [["loss", "of"], ["bit", "rot,"]]


def test_the_strongest_draws_mark_their_messages():
    draws = [judged("loss", "0->1", 3), judged("latency", "0->1", 3), *(judged("loss", "1->2", n) for n in range(9))]
    marked = marked_messages(draws)

    assert list(marked) == [(0, 1, 3), *((1, 2, n) for n in range(SHOWN - 2))]
    assert marked[0, 1, 3].startswith("loss of Vote from validator 0 to 1 in view 4, which took 250.000 ms: ")
    assert "; delay of Vote from validator 0 to 1 in view 4 was 250.000 ms" in marked[0, 1, 3]


def test_an_unavoidable_failure_is_a_sentence_without_a_picture():
    rows = curve_rows(CurvesOnPage(RUN, {"chance": Rise([point(1, 40, 40)])}, None, ()), "note")

    assert (rows.window, rows.draws, rows.strips[0].points, rows.strips[0].rise) == (None, (), (), None)
    assert rows.strips[0].sentences == ("unavoidable from genesis: the same in 40 of 40 continuations",)
