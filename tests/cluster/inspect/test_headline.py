"""The headline of a failure: everything that one wants to know first, in one line."""

import msgspec
import pytest

from checker.explain import Explanation, SideReport
from checker.explain.explanation import KeyReport
from cluster.inspect.headline import headline_of
from cluster.scenario.load import load_scenario

LONG = "46e5f46650a3ee025c39d37c28b8001080549239581303fe0a381f8233ce1f58"
PLAN = "smallest plan by: shrink"

FOUND = Explanation(
    check="supply",
    summary="height 3: too little",
    evidence={},
    also=[],
    cause="execution",
    height=3,
    sides=[SideReport(who="the oracle", has_oracle=True), SideReport(who="validators 3, 0", validators=[3, 0])],
    keys=[
        KeyReport(
            key="", name=f"account {LONG}", timer="", before="balance=9 nonce=0", values=["balance=7", "balance=6"]
        )
    ],
    keys_differing=1,
    write=f"receipt 4: TimerFired timer_id={LONG} ok=True",
    timer=LONG,
    actor="a",
    handler="handle_timer",
)


@pytest.fixture
def scenario():
    return load_scenario("broken-refund")


def test_a_difference_of_states_is_said_in_one_line(scenario):
    assert headline_of(FOUND, scenario, PLAN) == (
        "height 3; the oracle against replicas 0, 3 (finalized, bug); account 46e5f466: balance 7 against 6; "
        "timer 46e5f466; written by receipt 4: TimerFired in handler handle_timer; cause execution; "
        "smallest plan by: shrink"
    )


def test_without_a_difference_of_states_it_is_what_the_check_saw(scenario):
    stuck = Explanation(check="finality-regained", summary="no block for 9 s", evidence={}, also=[])

    assert headline_of(stuck, scenario, PLAN) == (
        "finality-regained: no block for 9 s; cause not a difference of states; smallest plan by: shrink"
    )


def test_a_side_without_the_oracle_names_its_replicas_only(scenario):
    sides = [SideReport(who="validator 1", validators=[1]), SideReport(who="validator 2", validators=[2])]

    said = headline_of(msgspec.structs.replace(FOUND, sides=sides), scenario, PLAN)

    assert "; replicas 1 (finalized, bug) against replicas 2 (finalized, bug); " in said


def test_another_kind_of_write_on_the_other_side_is_named(scenario):
    """Where receipts differ and states do not, nothing else in the line says what differs."""
    write = f"receipt 4: TimerExpired timer_id={LONG}; validators 0, 1, 2, 3: TimerFired timer_id={LONG} ok=True"
    same = f"receipt 4: TimerFired ok=True; validators 0, 1, 2, 3: TimerFired timer_id={LONG} ok=False"

    said = [headline_of(msgspec.structs.replace(FOUND, write=each), scenario, PLAN) for each in (write, same)]

    assert "written by receipt 4: TimerExpired against TimerFired in handler handle_timer" in said[0]
    assert "written by receipt 4: TimerFired in handler handle_timer" in said[1]
