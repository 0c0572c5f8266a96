"""Weights of the GBA auction: scores, steps, bounds, decay on read, and what governance does to them."""

from fractions import Fraction

import pytest

from scheduler import InvalidInput
from scheduler.gba_records import (
    AUCTION_ACTOR,
    AUCTION_TALLY,
    AUCTION_WEIGHT,
    ActorTally,
    ActorWeight,
    AuctionBooks,
    AuctionConfig,
)
from scheduler.gba_weights import AuctionWeights, decay, lower_median, score_of
from scheduler.types import MAX_U63
from tests.support.auction_bench import DictState

ACTOR, OTHER, THIRD = (bytes([byte]) * 20 for byte in (0xAA, 0xBB, 0xCC))
HALF = Fraction(1, 2)


def scored(tally, *, median_tip=0, epoch_length=10, budget_cycles=1_000):
    return score_of(tally, median_tip=Fraction(median_tip), epoch_length=epoch_length, budget_cycles=budget_cycles)


def at_epoch(state, epoch, **parameters):
    """Return the weights of a block in an epoch of ten blocks."""
    return AuctionWeights.open(state, AuctionConfig(**parameters), now=epoch * 10, epoch_length=10)


class TestScore:
    def test_the_score_is_the_mean_of_four_terms(self):
        """B-6: a tip of the median, half the fires well ended, half an epoch late, a quarter of the budget used."""
        tally = ActorTally(fires=2, succeeded=1, tips=20, lateness=10, cycles=250)

        assert scored(tally, median_tip=10) == (HALF + HALF + HALF + Fraction(3, 4)) / 4

    def test_a_tip_of_nothing_beside_nothing_is_half(self):
        assert scored(ActorTally(fires=1, succeeded=1, cycles=1_000)) == (HALF + 1 + 0 + 0) / 4

    def test_no_term_exceeds_one(self):
        tally = ActorTally(fires=1, succeeded=1, tips=5, lateness=10**6, cycles=10**9)

        assert scored(tally) == Fraction(3, 4)

    def test_an_actor_without_a_fire_has_the_score_nought(self):
        """B-7: inactivity, whatever was deferred."""
        assert scored(ActorTally(deferrals=9)) == 0

    def test_an_epoch_without_a_budget_has_no_shares(self):
        assert scored(ActorTally(fires=1), budget_cycles=0) == (HALF + 0 + 0 + 1) / 4

    def test_the_median_of_two_is_the_lower_one(self):
        assert lower_median([Fraction(7), Fraction(3)]) == 3
        assert lower_median([]) == 0


class TestEpochs:
    def test_b9_weights_are_written_when_an_epoch_begins(self):
        """The sums of the epoch go, and the weight is that of the next one."""
        state = DictState()
        weights = at_epoch(state, 0)
        weights.add({ACTOR: ActorTally(1, 1, 5, 0, 100)}, 1_000)
        state.set(b"\x17".ljust(32, b"\0"), weights.books)

        after = at_epoch(state, 1)

        # 4/5 of 1 and a fifth of (1/2 + 1 + 0 + 9/10) / 4.
        assert after.weight(ACTOR) == 920_000
        assert state.of(AUCTION_WEIGHT) == [ActorWeight(1, 920_000)]
        assert (state.of(AUCTION_ACTOR), state.of(AUCTION_TALLY)) == ([], [])
        assert after.books == AuctionBooks(0, 1, 0, 0)

    def test_b6_a_weight_is_rounded_down_to_a_millionth(self):
        state = DictState()
        state.set(AUCTION_WEIGHT.key(ACTOR), ActorWeight(3, 999_999))

        # 799,999.2
        assert at_epoch(state, 3).weight(ACTOR) == 999_999
        assert decay(999_999, 1, AuctionConfig()) == 799_999

    def test_b7_a_weight_decays_when_it_is_read_down_to_the_lowest(self):
        """Also through epochs in which the chain made no block."""
        state = DictState()
        state.set(AUCTION_WEIGHT.key(ACTOR), ActorWeight(3, 1_000_000))
        state.set(b"\x17".ljust(32, b"\0"), AuctionBooks(0, 3, 0, 0))

        assert at_epoch(state, 5).weight(ACTOR) == 640_000
        assert at_epoch(state, 10**9).weight(ACTOR) == 500_000
        assert state.of(AUCTION_WEIGHT) == [ActorWeight(3, 1_000_000)]

    def test_b7_who_starves_is_lifted_to_the_floor_last(self):
        """Three deferrals and no fire: below the upper bound of half, and above it after all."""
        state, parameters = DictState(), {"weight_initial": (1, 2), "starvation_floor": (4, 5)}
        for actor, deferrals in ((ACTOR, 3), (OTHER, 2)):
            weights = at_epoch(state, 0, **parameters)
            weights.add({actor: ActorTally(deferrals=deferrals)}, 1_000)
            state.set(b"\x17".ljust(32, b"\0"), weights.books)

        after = at_epoch(state, 1, **parameters)

        assert (after.weight(ACTOR), after.weight(OTHER)) == (800_000, 500_000)

    def test_the_median_is_that_of_the_actors_that_fired(self):
        """An actor that was only deferred has no mean tip."""
        state = DictState()
        weights = at_epoch(state, 0, ema_lambda=(1, 1), weight_min=(0, 1))
        weights.add({ACTOR: ActorTally(1, 0, 30), OTHER: ActorTally(1, 0, 10), THIRD: ActorTally(deferrals=1)}, 0)
        state.set(b"\x17".ljust(32, b"\0"), weights.books)

        after = at_epoch(state, 1, ema_lambda=(1, 1), weight_min=(0, 1))

        assert (after.weight(ACTOR), after.weight(OTHER)) == (437_500, 375_000)

    def test_b9_governance_resets_what_was_written_before_an_epoch(self):
        state = DictState()
        state.set(AUCTION_WEIGHT.key(ACTOR), ActorWeight(3, 700_000))
        state.set(AUCTION_WEIGHT.key(OTHER), ActorWeight(4, 700_000))
        weights = at_epoch(state, 4, reset_epoch=4)

        assert (weights.weight(ACTOR), weights.weight(OTHER)) == (1_000_000, 700_000)

    def test_b9_governance_rescales_before_the_decay(self):
        state = DictState()
        state.set(AUCTION_WEIGHT.key(ACTOR), ActorWeight(3, 700_000))
        weights = at_epoch(state, 4, rescale_epoch=4, rescale=(10, 7))

        assert weights.weight(ACTOR) == 800_000

    def test_an_epoch_that_grows_longer_takes_no_weight_back(self):
        """The number of the epoch stands still until time has caught up with it."""
        state = DictState()
        state.set(b"\x17".ljust(32, b"\0"), AuctionBooks(7, 9, 0, 3))

        assert AuctionWeights.open(state, AuctionConfig(), now=50, epoch_length=100).books == AuctionBooks(7, 9, 0, 3)

    def test_sums_stop_at_the_greatest_number_of_a_record(self):
        assert ActorTally(tips=MAX_U63).plus(ActorTally(tips=1)).tips == MAX_U63


class TestConfig:
    @pytest.mark.parametrize(
        "wrong",
        [
            {"ema_lambda": (6, 5)},
            {"weight_min": (3, 1)},
            {"weight_max": (10**6 + 1, 1)},
            {"weight_initial": (1, 3)},
            {"starvation_floor": (3, 1)},
            {"starvation_deferrals": 0},
            {"rescale": (1, 0)},
            {"max_gba_calls_per_block": -1},
        ],
    )
    def test_parameters_that_no_chain_can_run_on_are_refused(self, wrong):
        with pytest.raises(InvalidInput, match=f"^{next(iter(wrong))}: .* must be "):
            AuctionConfig(**wrong)
