"""Audits of derived data: the timer lane's pool and sums are audited, and so is a state that was reached by
taking blocks back."""

import pytest

from checker.checks.readback import read_back, take_back
from scheduler import TimerConfig
from tests.support.chain_harness import advance
from tests.support.checker_chain import HEIGHTS, run_chain
from tests.support.lane_chains import beat, racing
from validators.state import history

TIMERS = TimerConfig(max_cells_per_fire=2_000, lane_timer_cycles=2_500)


def crowded():
    """Return an engine whose timers compete for a lane of one, with three tips."""
    engine = racing(timers=TIMERS, fairness_window_blocks=3)
    offers = [{"max_fee_per_cycle": 90_000, "max_priority_fee_per_cycle": tip} for tip in (5, 70, 900)]
    advance(engine, [beat(place, place, **offer) for place, offer in enumerate(offers)])
    for _ in range(4):
        assert advance(engine).summary.waiting_live > 0
    return engine


class TestLane:
    def test_nothing_deviates_while_timers_compete(self):
        assert crowded().audit().deviations == ()

    def test_a_tip_that_is_another_timers_is_told(self):
        engine = crowded()
        pool, _ = engine._pools.kept
        payer = next(iter(pool.payers.values()))
        payer.tips[0] += 1

        (found,) = engine.audit().deviations
        assert found.place == f"timer {payer.timers[0].timer_id.hex()} among its payer's in the pool"

    def test_a_timer_that_the_books_have_lost_is_told(self):
        """It would never be taken."""
        engine = crowded()
        pool, _ = engine._pools.kept
        block = next(iter(pool.books.values())).blocks[0]
        _, _, timer = block.by_tip.pop()

        (found,) = engine.audit().deviations
        assert (found.place, found.kept) == (f"timer {timer.timer_id.hex()} in the books in the pool", "absent")

    def test_sums_that_are_not_those_of_the_subjects_are_told(self):
        """They decide the median, and with it every weight."""
        engine = crowded()
        engine._tree.finalized.waiting.carried[77] = 1

        (found,) = engine.audit().deviations
        assert found.place == "carried data of the policy eip1559"
        assert "77: 1" in found.kept
        assert "77" not in found.expected


class TestTakingBack:
    @pytest.fixture
    def chain(self):
        return run_chain()

    def test_a_sound_validator_holds_what_it_held(self, chain):
        engine = chain.engines[0]
        retained = engine.database.retained
        readback = take_back(read_back(0, engine, chain.disks[0]), engine)

        assert retained > 0
        assert engine.database.retained == 0
        assert (readback.height, readback.audit.deviations) == (HEIGHTS, ())

    def test_what_taking_back_leaves_wrong_is_told(self, chain, monkeypatch):
        """A chunk that is not made anew, though no block of the run was ever taken back."""
        monkeypatch.setattr(history, "list_cleared_chunks", lambda _undos: set())
        engine = chain.engines[0]
        readback = take_back(read_back(0, engine, chain.disks[0]), engine)

        assert readback.audit.deviations
        assert all("were rewound" in deviation.place for deviation in readback.audit.deviations)
