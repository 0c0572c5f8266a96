"""Requests: a snapshot that is sought too late or too often, and a block that is asked for in the wrong place."""

import pytest

from checker.checks.planned import PlannedFault, PlannedRun
from checker.checks.rules.registry import RULES
from checker.checks.service.requests import Requests
from network.events import Event, Sent, TimerElapsed
from tests.support.checks import finish, make_run, show
from validators.events import BlockExecuted, BlockFinalized, Booted, CertificateHeld, Halted, SnapshotJoined

GAP = 3
PLAN = PlannedRun(snapshot_gap_blocks=GAP, snapshot_gaps=(GAP,) * 4, fetch_grace_us=5, fetch_timeout_us=50)


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


def judge(*steps, plan=PLAN, engine="simplex"):
    """Return the result after steps of validator 0, each in an instant of its own: an event, or some."""
    check = Requests(make_run(plan=plan, engine=engine))
    for at_us, step in enumerate((boot(), *steps)):
        show(check, *(Event(at_us, 0, body) for body in (step if isinstance(step, list) else [step])))
    return finish(check)


def has_failed(*steps, **facts):
    return judge(*steps, **facts).status == "failed"


class TestFarBehind:
    """Blocks that it executes although it knows of a final block far above."""

    @pytest.mark.parametrize("engine", RULES)
    def test_it_has_to_seek_a_snapshot(self, engine):
        known = know(GAP, RULES[engine].finality)

        assert has_failed(known, execute(GAP), apply(*range(1, GAP + 1)), engine=engine)

    def test_the_failure_says_how_far_behind_it_was(self):
        result = judge(know(5), execute(5), apply(2, 3, 4, 5), ask())

        assert result.summary == (
            "validator 0 executed 4 blocks up to height 5, which it knew to be final, and sought no snapshot, 3 blocks "
            "behind or more"
        )

    def test_a_block_less_needs_none(self):
        assert not has_failed(know(GAP - 1), execute(GAP - 1), apply(*range(1, GAP)))

    def test_what_was_executed_before_it_was_final_needs_none(self):
        assert not has_failed(execute(5), know(5), apply(1, 2, 3, 4, 5))

    def test_what_was_executed_while_others_were_written_needs_none(self):
        assert not has_failed(know(4), execute(4), apply(1), apply(2, 3, 4))

    def test_it_goes_by_blocks_when_all_were_asked_in_vain(self):
        assert not has_failed(know(5), ask(), execute(5), apply(1, 2, 3, 4, 5))

    def test_blocks_of_the_instant_of_a_request_came_before_it(self):
        by_blocks = know(5), ask(), execute(5), apply(1, 2, 3, 4, 5)
        assert judge(*by_blocks).status == "passed"

        then = know(9), execute(9), apply(6, 7, 8, 9)
        assert has_failed(*by_blocks[:-1], [*by_blocks[-1]], *then)
        assert not has_failed(*by_blocks[:-1], [*by_blocks[-1], ask()], *then)

    def test_it_goes_by_blocks_after_a_snapshot_until_it_applies_one(self):
        by_blocks = know(5), ask(), SnapshotJoined(5, name(5), b""), know(9), execute(9), apply(6, 7, 8, 9)

        assert not has_failed(*by_blocks)
        assert has_failed(*by_blocks, know(13), execute(13), apply(10, 11, 12, 13))

    def test_a_start_begins_anew(self):
        assert not has_failed(know(5), boot(), execute(5), apply(1, 2, 3, 4, 5))


class TestAttempts:
    @pytest.mark.parametrize(
        ("between", "fails"),
        [([], True), (apply(1), False), (boot(), False), ([Halted("over"), boot()], False)],
        ids=["nothing", "a block", "a second start", "a new life"],
    )
    def test_a_peer_is_asked_three_times_for_a_snapshot(self, between, fails):
        assert has_failed(*[ask()] * 3, ask(2), between, ask()) is fails

    def test_the_failure_names_the_peer(self):
        assert judge(*[ask()] * 4).summary == (
            "replica 0 asked validator 1 for a snapshot 4 times before it applied a block, expected at most 3"
        )


class TestBlocks:
    """Validator 0 asks validator 1 for a block; the timer for it was set to the grace of 5 us, and is set to 50."""

    def fetch(self, peer, *timers):
        elapsed = [TimerElapsed(("fetch", digest), asked_us) for digest, asked_us in timers]
        return [*elapsed, Sent(peer, 0, "BlockRequest", 40, b"sum")]

    def again(self, peer, *between, asked_us=50, **facts):
        """Judge a second request, which goes to a peer as the timer of the first one runs out."""
        return judge(self.fetch(1, (b"wanted", 5)), *between, self.fetch(peer, (b"wanted", asked_us)), **facts)

    @pytest.mark.parametrize(("peer", "status"), [(2, "passed"), (1, "failed"), (3, "failed")])
    def test_a_request_that_is_made_again_goes_to_the_next_validator(self, peer, status):
        assert self.again(peer).status == status

    def test_the_turn_goes_round_and_passes_the_replica_over(self):
        requests = [self.fetch(peer, (b"wanted", 50)) for peer in (2, 3, 1)]

        assert judge(self.fetch(1, (b"wanted", 5)), *requests).compared == 3
        assert not has_failed(self.fetch(1, (b"wanted", 5)), *requests)

    def test_a_request_to_the_same_peer_names_the_next(self):
        assert self.again(1).summary == (
            "replica 0 asked validator 1 again for a block at 0.000 s, expected validator 2, the next one"
        )

    def test_a_first_request_goes_to_any_peer(self):
        """The block came, and is asked for anew after its grace: the first peer is the engine's choice."""
        assert self.again(3, asked_us=5).compared == 0
        # Where grace and timeout are equal the two look alike.
        assert self.again(3, asked_us=5, plan=PLAN._replace(fetch_timeout_us=5)).compared == 0

    @pytest.mark.parametrize("between", [boot(), SnapshotJoined(9, b"", b""), [Halted("over"), boot()]])
    def test_another_state_asks_for_other_blocks(self, between):
        assert self.again(3, between).compared == 0

    def test_two_timers_at_once_leave_the_next_turn_open(self):
        """The request may be for either block."""
        both = self.fetch(2, (b"wanted", 50), (b"other", 50))

        assert judge(self.fetch(1, (b"wanted", 5)), both, self.fetch(1, (b"wanted", 50))).compared == 0

    def test_a_request_belongs_to_the_timer_of_its_instant(self):
        *timers, request = self.fetch(3, (b"wanted", 50))
        assert judge(self.fetch(1, (b"wanted", 5)), timers, request).compared == 0

        of_another = TimerElapsed(("fetch", b"other"), 5)
        assert self.again(3, of_another).status == "failed"

    def test_a_paused_replica_is_not_judged(self):
        plan = PLAN._replace(faults=(PlannedFault("still", 0, 9, (0,), pauses=True),))

        assert self.again(3, plan=plan).compared == 0
