"""Starts that tell again what their journal holds, and starts that do not."""

import pytest

from checker.checks.rules.engine_rules import Said
from checker.checks.told_again import ToldAgain
from checker.results import CheckTally

FINAL, VOTE, LATER = Said("finalization", 7, b"seven"), Said("notarize", 7, b"seven"), Said("notarize", 8, b"eight")
OLD, NEVER = Said("notarize", 6, b"six"), Said("certified", 8, b"eight")
HELD = [OLD, VOTE, FINAL, LATER, NEVER]


def judge(*again, held=HELD, floor_view=3, crashes=False):
    """One life tells all but what is never told; the next one reads `held` and tells `again`."""
    tally = CheckTally("write-ahead", "safety")
    told = ToldAgain(tally, "finalization")
    for said in (OLD, VOTE, FINAL, LATER):
        told.tell(0, said)
    told.restart(0, held, floor_view)
    for said in again:
        told.tell(0, said)
    if crashes:
        told.forget(0)
    told.boot(0)
    return tally.result("all told")


def test_all_from_the_final_view_on_is_enough():
    result = judge(VOTE, FINAL, LATER)

    assert (result.status, result.compared) == ("passed", 1)


@pytest.mark.parametrize("missing", [VOTE, FINAL, LATER], ids=lambda said: f"{said.kind} of {said.view}")
def test_what_is_not_told_again_is_named(missing):
    result = judge(*(said for said in (VOTE, FINAL, LATER) if said != missing))

    assert f"did not tell again that its journal holds a {missing.kind} of view {missing.view}" in result.summary


def test_a_floor_stands_for_what_lies_below_it():
    assert judge(LATER, held=[VOTE, LATER], floor_view=8).status == "passed"
    assert judge(LATER, held=[VOTE, LATER], floor_view=7).status == "failed"


def test_what_the_journal_does_not_hold_need_not_be_told():
    assert judge(LATER, held=[LATER]).status == "passed"


def test_a_start_without_power_owes_nothing():
    assert judge(crashes=True).compared == 0
