"""Explanations of mutants, compared with what the catalogue says: a sample; `mutants --explain` does all."""

import re

import msgspec
import pytest

from checker.explain.explanation import Explanation, KeyReport, SideReport
from cluster.campaign.tasks import Task
from cluster.scenario.load import encode_scenario, load_scenario
from tests.frozen import read_frozen
from tests.support.keystones import first_of, rest_in_soak
from tests.support.mutation import WITH_CATALOGUE
from tools.mutation.campaign import campaign_task
from tools.mutation.catalogue import CATALOGUE, MUTANTS
from tools.mutation.explanations import EXPLAINED, explain_task, shortfalls

SAMPLE = (
    "tie-break-by-identifier",
    "refund-rounded-down",
    "removed-timers-wait-on",
    "floor-one-step-short",
    "inactive-peak-forgotten",
    "transactions-skipped",
    "record-before-the-write",
    "empty-bucket-stays",
)
"""Held by all and by one; order, execution, clean-up and hashing; one that breaks off, one that shows in no root, one
that shows first in a block which nobody else executed, one about timers that came and left within a block."""

KILLED_BY_SWARM = (
    "fee-from-the-actor",
    "mailbox-budget-doubled",
    "nonce-of-a-failure",
    "hits-seen-before-the-transactions",
    "watch-survives-a-cancellation",
)
"""Those whose write was once named wrongly: by a receipt beside it, or as the block's own bookkeeping."""


@pytest.mark.parametrize("name", first_of(SAMPLE))
def test_an_explanation_names_what_the_catalogue_says(name):
    holders = [0, 1, 2, 3] if CATALOGUE[name].on_all else [1]
    settings = (WITH_CATALOGUE, "run.until_height=6", "run.time_limit_ms=15_000", f"mutants.{name}={holders}")
    result = explain_task(Task(encode_scenario(load_scenario("calm", settings)), 0))

    assert (result.verdict, result.headline) == (EXPLAINED, "")


@pytest.mark.long
@pytest.mark.parametrize("name", rest_in_soak(KILLED_BY_SWARM, KILLED_BY_SWARM[:1]))
def test_the_run_that_killed_a_mutant_is_explained(name):
    seed = read_frozen()[f"mutant-{name}"].seed

    result = explain_task(campaign_task(CATALOGUE[name], seed))

    assert (result.verdict, result.headline) == (EXPLAINED, "")


def test_a_run_that_passes_is_not_explained():
    settings = (WITH_CATALOGUE, "run.until_height=3", "run.time_limit_ms=9_000", "mutants.nonce-of-a-failure=[1]")

    assert explain_task(Task(encode_scenario(load_scenario("calm", settings)), 0)).headline == "the run passes"


def test_names_are_required_of_mutants_that_change_the_state_alone():
    """Without it an explanation is held to cause, height, sides and write; that nothing is named it may not be."""
    assert [mutant.name for mutant in MUTANTS if mutant.shows and not mutant.cause] == []
    assert [mutant.name for mutant in MUTANTS if re.search(mutant.shows, "") and mutant.shows] == []


VARIANT = CATALOGUE["expiry-a-slot-late"]
RIGHT = Explanation(
    check="equal-roots",
    summary="roots differ",
    evidence={},
    also=[],
    cause="clean-up",
    height=8,
    sides=[
        SideReport(who="the others", validators=[0, 2, 3], has_oracle=True, root="aa"),
        SideReport(who="validator 1", validators=[1], has_oracle=False, root="bb"),
    ],
    keys=[KeyReport(key="05", name="timer", timer="07", before="there", values=["deleted", "not written"])],
    write="receipt 0: TimerExpired; validator 1: TimerFired",
    timer="07",
    timer_record="due=7",
)


def test_an_explanation_that_names_everything_lacks_nothing():
    assert list(shortfalls(VARIANT, [1], RIGHT, 8)) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cause": "order"}, "the cause is order and not clean-up"),
        ({"height": None}, "no height"),
        ({"height": 9}, "height 9, and the run differs at 8"),
        ({"sides": []}, "no sides"),
        ({"sides": RIGHT.sides[::-1]}, "validators [0, 2, 3] on the wrong side"),
        ({"write": "receipt 0: TimerFired"}, "nothing of 'TimerExpired' in "),
        ({"keys": [msgspec.structs.replace(RIGHT.keys[0], values=["deleted", "deleted"])]}, "a key without two values"),
        ({"timer": ""}, "no timer"),
    ],
)
def test_each_thing_that_an_explanation_lacks_is_reported(changes, said):
    found = list(shortfalls(VARIANT, [1], msgspec.structs.replace(RIGHT, **changes), 8))

    assert any(each.startswith(said) for each in found)
