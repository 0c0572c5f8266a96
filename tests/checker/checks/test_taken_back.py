"""Blocks that are taken back: for another branch, and not for a reader of the final state."""

import pytest

from checker.checks.taken_back import TakenBack
from checker.results import CheckTally
from tests.support.checks import make_run


def judged(*acts, now_us=100, **facts):
    """Return how many rewinds were judged and what is wrong with them; acts are name, time, height and digest."""
    tally = CheckTally("once", "liveness")
    taken_back = TakenBack(make_run(**facts), tally)
    for name, at_us, height, digest in acts:
        if name == "end":
            taken_back.end(0)
        elif name == "drop":
            taken_back.drop(0, height, digest)
        else:
            {"take": taken_back.take_back, "win": taken_back.finalize}[name](0, at_us, height, digest)
    taken_back.finish(now_us)
    return taken_back.compared, tally.result("right").summary


BOTH = (("take", 5, 8, b"c"), ("take", 5, 7, b"a"))
"""A rewind by two heights."""


def test_a_block_that_had_no_rival_was_taken_back_for_nothing():
    compared, told = judged(*BOTH, ("win", 9, 7, b"a"))

    assert compared == 1
    assert told.startswith("validator 0 took back its block of height 7")


@pytest.mark.parametrize("rival", [("drop", 9, 7, b"b"), ("win", 9, 7, b"b")])
def test_a_rival_that_won_or_lost_is_enough(rival):
    winner = () if rival[0] == "win" else (("win", 9, 7, b"a"),)

    assert judged(*BOTH, *winner, rival) == (1, "right")


def test_rewinds_to_two_heights_are_judged_each():
    compared, told = judged(*BOTH, ("take", 6, 8, b"c"), ("win", 9, 7, b"b"), ("win", 11, 8, b"c"))

    assert compared == 2
    assert "height 8" in told


@pytest.mark.parametrize(
    ("acts", "facts"),
    [
        (BOTH, {}),
        ((*BOTH, ("win", 100, 7, b"a")), {}),
        ((*BOTH, ("end", 7, 0, b""), ("win", 9, 7, b"a")), {}),
        ((*BOTH, ("win", 9, 7, b"a")), {"honest": (0, 1, 2)}),
    ],
    ids=["not final", "final in the last instant", "a life that ended", "beside a liar"],
)
def test_what_the_log_does_not_show_is_not_judged(acts, facts):
    assert judged(*acts, **facts)[0] == 0
