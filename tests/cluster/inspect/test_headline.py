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


NO_KEY = msgspec.structs.replace(FOUND, keys=[], keys_differing=0, timer="", handler="")


class TestWhereNoKeyDiffers:
    """Differences of another kind stand in the place of the key, with the value of each side."""

    @staticmethod
    def said(scenario, **changed):
        return headline_of(msgspec.structs.replace(NO_KEY, **changed), scenario, PLAN).split("; ")[2:-2]

    def test_a_field_of_a_receipt_is_named(self, scenario):
        told = [f"GbaFailed timer_id={LONG} reason=failed", f"GbaFailed timer_id={LONG} reason=overrun"]
        said = self.said(scenario, told=told, receipt=8, write=f"receipt 8: {told[0]}; validators 0, 3: {told[1]}")

        assert said == ["receipt 8: reason failed against overrun", "written by receipt 8: GbaFailed"]

    def test_another_kind_of_receipt_is_said_once(self, scenario):
        told = ["no receipt", "EpochPromoted epoch=0"]
        said = self.said(scenario, told=told, receipt=0, write=f"receipt 0: {told[0]}; validators 0, 3: {told[1]}")

        assert said == ["written by receipt 0: no receipt against EpochPromoted"]

    def test_an_operation_of_the_log_is_named_on_both_sides(self, scenario):
        told, origin = ["update of account 1", f"delete of timer {LONG}"], "operation 2 of the block in the log"
        said = self.said(scenario, told=told, origin=origin, write=f"{origin}: {told[0]}")

        assert said == [f"{origin}: update of account 1 against delete of timer 46e5f466"]

    def test_a_phase_that_was_left_out_is_no_write(self, scenario):
        origin = "the phase burns was left out"

        assert self.said(scenario, told=["burns, tiers", "tiers"], origin=origin, write=origin) == [origin]

    def test_what_the_oracle_refuses_says_why(self, scenario):
        origin = "transaction 3: nonce 7 where 6 comes next, and it was executed"

        assert self.said(scenario, origin=origin, receipt=3, write=f"receipt 3: {origin}") == [origin]

    def test_bookkeeping_names_its_table(self, scenario):
        assert self.said(scenario, write="no receipt: the block's own bookkeeping, lane market") == [
            "written by the block's own bookkeeping, lane market"
        ]

    def test_other_roots_or_final_blocks_are_shown(self, scenario):
        sides = [SideReport(who="the oracle", root="a" * 64), SideReport(who="validator 1", root="b" * 64)]
        forked = [SideReport(who=side.who, root=side.root, block=side.root) for side in sides]
        write = "the state database: values and operations are the same on all sides"

        assert self.said(scenario, sides=sides, write=write) == [
            "state root aaaaaaaa against bbbbbbbb",
            "written by the state database",
        ]
        assert self.said(scenario, sides=forked, write="") == ["final block aaaaaaaa against bbbbbbbb"]
