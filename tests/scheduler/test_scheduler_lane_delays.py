"""The hook for excessive delays: off, force, cancel (E-7, Q-34)."""

import msgspec
import pytest

from scheduler import LaneConfig, RunOutcome, TimerCancelledForDelay, TimerFired
from tests.support.lane_doubles import LaneBench, free

ALICE, BOB = b"\xaa" * 20, b"\xbb" * 20
RICH = 10**15
LANE_CYCLES = 1_000


def crowded(hook, *, late=1, classification="eager", misfit="skip", **timers):
    """Return a lane for one timer a block, Alice's modest ones in it and a better offer of Bob's in every block."""
    lane = LaneConfig(max_allowed_delays=3, excessive_delay=hook, classification=classification, packing_misfit=misfit)
    bench = LaneBench(free(lane_timer_cycles=LANE_CYCLES, **timers), lane, basefee=1_000, cycle=7)
    bench.ledger.balances = {ALICE: RICH, BOB: RICH}
    bench.late = [offer(bench, ALICE, 1, nonce, tip=1) for nonce in range(late)]
    for due in range(1, 10):
        offer(bench, BOB, due, due, tip=500)
    return bench


def offer(bench, actor, due, nonce, *, tip=1, fee=10**6, gas_limit=LANE_CYCLES):
    """Schedule and return the identifier."""
    return bench.bid(actor, due, fee=fee, tip=tip, nonce=nonce, gas_limit=gas_limit)[0].timer_id


def run(bench, until, **options):
    """Run blocks from 1 on; return for each what fired and what the hook cancelled, Alice's only."""
    return [alices(bench, bench.run(height, bench.run_whole, **options)) for height in range(1, until + 1)]


def alices(bench, result):
    kinds = (TimerFired, TimerCancelledForDelay)
    return [event for event in result.events if isinstance(event, kinds) and event.timer_id in bench.late]


class TestOff:
    def test_who_offers_less_waits_for_ever(self):
        """The default; no bound is looked at."""
        assert LaneConfig().excessive_delay == "off"
        assert not any(run(crowded("off"), 9))


@pytest.mark.parametrize("classification", ["eager", "cursor"])
class TestForce:
    def test_it_goes_first_when_it_was_passed_over_once_too_often(self, classification):
        """Blocks 1 to 4 pass it over, block 5 serves it before a better offer."""
        reported = run(crowded("force", classification=classification), 6)

        assert [len(events) for events in reported] == [0, 0, 0, 0, 1, 0]
        assert type(reported[4][0]) is TimerFired

    def test_it_goes_first_once(self, classification):
        """The lane has room for one of the two; the other has had its turn and waits for the auction."""
        bench = crowded("force", late=2, classification=classification)
        reported = run(bench, 9)

        assert [[event.timer_id for event in events] for events in reported] == [*[[]] * 4, bench.late[:1], *[[]] * 4]

    def test_it_pays_what_it_offers(self, classification):
        """Priority is the tip, as in the auction."""
        (fired,) = run(crowded("force", classification=classification), 5)[4]

        assert fired.tip == LANE_CYCLES

    def test_it_respects_what_a_timer_offers_at_most(self, classification):
        """Below the basefee there is no attempt: the hook changes the place and not the price."""
        bench = crowded("force", late=0, classification=classification)
        bench.lane_tables.set_market(bench.lane.market)
        bench.late = [offer(bench, ALICE, 1, 1, fee=1_000, tip=0)]

        assert not any(run(bench, 9))

    def test_it_respects_the_cap(self, classification):
        """A gas limit above the whole lane has no attempt; unlike the first that does not fit, it stops no other."""
        bench = crowded("force", classification=classification, misfit="stop")
        small = offer(bench, BOB, 5, 99, gas_limit=LANE_CYCLES - 1)
        bench.config = free(lane_timer_cycles=LANE_CYCLES - 1)
        run(bench, 4)
        result = bench.run(5, bench.run_whole)

        assert [event.timer_id for event in result.events if isinstance(event, TimerFired)] == [small]

    def test_it_fires_once(self, classification):
        """There is room for it twice, and it is gone after the first time."""
        bench = crowded("force", classification=classification)
        run(bench, 4)

        assert len(alices(bench, bench.run(5))) == 1

    def test_it_respects_solvency(self, classification):
        """A timer whose payer cannot pay is dead, forced or not."""
        bench = crowded("force", classification=classification, gc_lane_paused=True)
        bench.ledger.balances[ALICE] = 10

        assert not any(run(bench, 9))

    def test_a_full_lane_passes_over_what_is_forced(self, classification):
        """Others before it have used the lane; what still fits fires."""
        bench = crowded("force", classification=classification)
        small = offer(bench, BOB, 5, 99, gas_limit=LANE_CYCLES // 2)
        run(bench, 4)
        result = bench.run(5, bench.run_whole, already_used=1)

        assert [event.timer_id for event in result.events if isinstance(event, TimerFired)] == [small]

    def test_its_turn_is_the_block_with_which_it_became_late(self, classification):
        """In slots one block may be many later than its parent; what was due within a gap goes first as well."""
        bench = crowded("force", classification=classification)
        bench.run(2, bench.run_whole, parent=0)

        assert len(alices(bench, bench.run(9, bench.run_whole, parent=2))) == 1


class TestCancel:
    def test_it_leaves_with_a_penalty_when_it_was_passed_over_once_too_often(self):
        """The cycles of the removal at the cycle basefee, burned; the event says for what."""
        bench = crowded("cancel")
        reported = run(bench, 6)

        assert [len(events) for events in reported] == [0, 0, 0, 0, 1, 0]
        assert reported[4] == [TimerCancelledForDelay(bench.late[0], ALICE, 4, 200 * 7)]
        assert bench.ledger.balances[ALICE] == RICH - 200 * 7
        assert bench.late[0] not in bench.tables.timers

    def test_the_penalty_is_at_most_what_the_payer_has(self):
        """Below the basefee nothing is asked of its payer, who may have nothing."""
        bench = crowded("cancel", late=0)
        bench.late = [offer(bench, ALICE, 1, 1, fee=1_000, tip=0)]
        bench.lane_tables.set_market(bench.lane.market)
        run(bench, 4)
        bench.ledger.balances[ALICE] = 9
        (event,) = alices(bench, bench.run(5, bench.run_whole))

        assert (event.penalty, bench.ledger.balances[ALICE]) == (9, 0)

    def test_it_takes_what_has_the_wrong_size_too(self):
        """Over the cap a timer would wait for its expiry."""
        bench = crowded("cancel")
        bench.config = free(lane_timer_cycles=LANE_CYCLES - 1)

        assert [len(events) for events in run(bench, 5)] == [0, 0, 0, 0, 1]

    def test_it_shares_the_budget_of_the_gc_lane(self):
        """Two removals a block, in waiting order, and they are counted as its cycles."""
        bench = crowded("cancel", late=3, gc_cycles_per_block=400)
        run(bench, 4)
        first, second = (bench.run(height, bench.run_whole) for height in (5, 6))

        assert [event.timer_id for event in alices(bench, first)] == bench.late[:2]
        assert [event.timer_id for event in alices(bench, second)] == bench.late[2:]
        assert first.gc_cycles == 400

    def test_a_paused_gc_lane_cancels_nothing(self):
        """There is no budget."""
        assert not any(run(crowded("cancel", gc_lane_paused=True), 9))

    def test_what_no_block_has_passed_over_is_not_cancelled(self):
        """In slots a timer may be late before its first attempt, which it gets."""
        bench = crowded("cancel")
        bench.run(9, lambda timer: RunOutcome(True, timer.gas_limit, 0, ()), parent=0)

        assert bench.late[0] in bench.tables.timers

    def test_what_is_cancelled_does_not_fire(self):
        """There is room for it in the lane of the same block."""
        bench = crowded("cancel")
        run(bench, 4)

        assert [type(event) for event in alices(bench, bench.run(5))] == [TimerCancelledForDelay]

    def test_who_is_insolvent_is_not_cancelled_for_delay(self):
        """The cursor has not reached it yet: it is dead, and is removed as such."""
        bench = crowded("cancel", classification="cursor")
        bench.lane_config = msgspec.structs.replace(bench.lane_config, gc_scan_per_block=0)
        run(bench, 4)
        bench.ledger.balances[ALICE] = 0

        assert alices(bench, bench.run(5, bench.run_whole)) == []
