"""The part of the check `snapshots` that says when a snapshot is sought, and what is left alone meanwhile."""

import pytest

from checker.checks.planned import PlannedRun
from checker.checks.rules.registry import RULES
from checker.checks.snapshots import Snapshots
from network.events import Event, Sent
from tests.support.checks import finish, make_run, show
from validators.events import (
    BlockExecuted,
    BlockFinalized,
    Booted,
    CertificateHeld,
    Halted,
    MessageRefused,
    SnapshotJoined,
)

GAP = 3
PLAN = PlannedRun(snapshot_gap_blocks=GAP, snapshot_gaps=(GAP,) * 4)
UNANSWERED = MessageRefused("snapshot", "of validator 1: unanswered")


def name(height):
    return bytes([height]) * 32


def boot(height=0):
    return Booted(0, 1, height, b"")


def know(height, kind="finalization"):
    return CertificateHeld(kind, height, name(height), (0, 1, 2))


def execute(height):
    return BlockExecuted(height, height, name(height), b"", "verify")


def apply(*heights):
    return [BlockFinalized(height, height, name(height), b"") for height in heights]


def ask(peer=1):
    return Sent(peer, 0, "SnapshotRequest", 40, b"asked")


def judge(*steps, engine="simplex"):
    """Return the result after steps of validator 0, each in an instant of its own: an event, or some."""
    check = Snapshots(make_run(plan=PLAN, chain=(), engine=engine))
    for at_us, step in enumerate(steps):
        show(check, *(Event(at_us, 0, body) for body in (step if isinstance(step, list) else [step])))
    return finish(check)


def has_failed(*steps, engine="simplex"):
    return judge(*steps, engine=engine).status == "failed"


class TestFarBehind:
    """Blocks that it executes although it knows of a final block far above."""

    @pytest.mark.parametrize("engine", RULES)
    def test_it_has_to_seek_a_snapshot(self, engine):
        known = know(GAP, RULES[engine].finality)

        assert has_failed(boot(), known, execute(GAP), apply(*range(1, GAP + 1)), engine=engine)

    def test_the_failure_says_how_far_behind_it_was(self):
        result = judge(boot(), know(5), execute(5), apply(2, 3, 4, 5), boot(), ask())

        assert result.summary == (
            "validator 0 executed 4 blocks up to height 5, which it knew to be final, and sought no snapshot, 3 blocks "
            "behind or more"
        )

    def test_a_block_less_needs_none(self):
        assert not has_failed(boot(), know(GAP - 1), execute(GAP - 1), apply(*range(1, GAP)))

    def test_what_was_executed_before_it_was_final_needs_none(self):
        assert not has_failed(boot(), execute(5), know(5), apply(1, 2, 3, 4, 5))

    def test_what_was_executed_while_others_were_written_needs_none(self):
        assert not has_failed(boot(), know(4), execute(4), apply(1), apply(2, 3, 4))

    def test_it_goes_by_blocks_when_all_were_asked_in_vain(self):
        assert not has_failed(boot(), know(5), ask(), UNANSWERED, execute(5), apply(1, 2, 3, 4, 5))

    def test_it_goes_by_blocks_after_a_snapshot_until_it_applies_one(self):
        joined = [boot(), know(5), ask(), SnapshotJoined(5, name(5), b"")]
        by_blocks = [*joined, know(9), execute(9), apply(6, 7, 8, 9)]

        assert not has_failed(*by_blocks)
        assert has_failed(*by_blocks, know(13), execute(13), apply(10, 11, 12, 13), ask())

    def test_a_life_that_ended_is_judged(self):
        assert has_failed(boot(), know(5), execute(5), apply(1, 2, 3, 4, 5), Halted("over"))


class TestSeeking:
    """Blocks that it applies while it waits for a snapshot."""

    def test_nothing_is_applied_meanwhile(self):
        result = judge(boot(), ask(), apply(1))

        assert result.summary == "validator 0 applied block 010101010101 of height 1 while it sought a snapshot"

    def test_blocks_come_again_when_a_peer_was_given_up(self):
        assert not has_failed(boot(), ask(), UNANSWERED, apply(1))

    def test_the_next_peer_is_waited_for_as_well(self):
        assert has_failed(boot(), ask(), [UNANSWERED, ask(2)], apply(1))

    def test_an_offer_that_nobody_asked_for_ends_nothing(self):
        assert has_failed(boot(), ask(), MessageRefused("snapshot", "was not asked for"), apply(1))

    def test_blocks_come_again_after_the_snapshot(self):
        assert not has_failed(boot(), ask(), SnapshotJoined(5, name(5), b""), apply(6))
