"""The coverage points of a block in the timer lane, read off what its phase came to.

Pure functions beside the rules: they decide nothing, and what they look at the phase has anyway.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Final, NamedTuple

import msgspec

from scheduler.bidding import GbaFailure
from scheduler.events import GbaFailed
from scheduler.fairness import Weights
from scheduler.fee_market import Median, basefee_delta, next_lane_basefee
from scheduler.lane import Lane
from scheduler.pool import PoolRules
from scheduler.ranking import Offer
from scheduler.rules import CoveragePoint, LaneRule
from scheduler.types import Timer

_FAILURES: Final[Mapping[str, CoveragePoint]] = {
    GbaFailure.FAILED: LaneRule.AGENT_FAILED,
    GbaFailure.OVERRUN: LaneRule.AGENT_OVERRAN,
    GbaFailure.ABSURD: LaneRule.AGENT_ABSURD,
    GbaFailure.CALL_LIMIT: LaneRule.AGENT_NOT_ASKED,
}
_MEDIANS: Final[Mapping[Median, CoveragePoint]] = {
    "mean": LaneRule.MEDIAN_MEAN,
    "lower": LaneRule.MEDIAN_LOWER,
    "upper": LaneRule.MEDIAN_UPPER,
}


class Fire(NamedTuple):
    """A timer that fired, the priority that it paid, and its fees in this block."""

    timer: Timer
    priority: int
    offer: Offer


def cells_of_opening(lane: Lane, height: int) -> Iterator[CoveragePoint]:
    """Yield the cells of the market and the window that a block finds."""
    if height == lane.activated_at:
        is_configured = lane.config.initial_lane_basefee > 0
        yield LaneRule.OPENED_AT_INITIAL if is_configured else LaneRule.OPENED_AT_CYCLE_BASEFEE
    gone = range(lane.market.window_start, height - lane.config.fairness_window_blocks)
    left: dict[bytes, int] = {}
    for old in gone:
        for subject, count in lane.tables.fires(old):
            left[subject] = left.get(subject, 0) + count
    if left:
        yield LaneRule.WINDOW_MOVED
    if any(lane.tables.recent_fires(subject) == count for subject, count in left.items()):
        yield LaneRule.SUBJECT_PRUNED


def cells_of_agents(events: Iterable[msgspec.Struct], price: int, answers: Iterable[Offer]) -> Iterator[CoveragePoint]:
    """Yield the cells of the agents that were asked; events of their failures are the first of a phase."""
    for event in takewhile(lambda event: isinstance(event, GbaFailed), events):
        assert isinstance(event, GbaFailed), "nothing else was taken"
        yield _FAILURES[event.reason]
    if any(offer.max_fee < price for offer in answers):
        yield LaneRule.AGENT_BELOW_PRICE


def cells_of_walk(
    cursor: tuple[int, int], last: tuple[int, int], *, is_spent: bool, is_whole: bool
) -> Iterator[CoveragePoint]:
    """Yield the cells of a walk for dead timers that began behind `cursor` and looked at `last` last."""
    if last <= cursor:
        yield LaneRule.CURSOR_WRAPPED
    if is_spent:
        yield LaneRule.CURSOR_SPENT
    elif not is_whole:
        yield LaneRule.CURSOR_STOPPED


def cells_of_weights(weights: Weights, numerators: Collection[int]) -> Iterator[CoveragePoint]:
    """Yield the cells of the weights of those that competed."""
    if weights.low in numerators and weights.low < weights.high:
        yield LaneRule.WEIGHT_LOWEST
    if any(weights.low < numerator < weights.high for numerator in numerators):
        yield LaneRule.WEIGHT_BETWEEN


def cells_of_fires(
    lane: Lane, rules: PoolRules, fires: Sequence[Fire], *, answered: Container[bytes], forced: Container[bytes]
) -> Iterator[CoveragePoint]:
    """Yield the cells of the timers that fired, in their order; `answered` and `forced` hold identifiers."""
    if not fires:
        return
    for timer, priority, offer in fires:
        if timer.timer_id in forced:
            yield LaneRule.DELAY_FORCED
            if timer.timer_id in answered:
                yield LaneRule.DELAY_FORCED_ANSWERED
        if timer.timer_id in answered:
            yield LaneRule.AGENT_DECIDED
        elif timer.quote is None:
            yield LaneRule.PENDING_FIRED
        elif None in rules.fees(timer):
            yield LaneRule.DEFAULTS_AT_FIRE
        yield LaneRule.TIP_PAID if priority else LaneRule.TIPLESS_FIRED
        if priority < offer.tip:
            yield LaneRule.TIP_CUT_BY_FEE
        if rules.gas_limit(timer) < timer.gas_limit:
            yield LaneRule.DEFAULT_LIMIT_LOWERED
    yield from _cells_of_order(lane, [fire for fire in fires if fire.timer.timer_id not in forced])
    yield from _cells_of_readings(lane, sorted(fire.priority for fire in fires))


def _cells_of_order(lane: Lane, fires: Sequence[Fire]) -> Iterator[CoveragePoint]:
    """Yield the cells of the order in which timers fired by their priorities."""
    tie_break, is_additive = lane.config.tie_break, lane.config.weight == "additive"
    for (first, before, _), (second, after, _) in pairwise(fires):
        if before < after:
            yield LaneRule.WEIGHT_ADDED if is_additive else LaneRule.WEIGHT_MULTIPLIED
        elif before == after and first.actor == second.actor:
            # Where both orders agree, nothing was decided.
            is_older = (first.due, first.sequence) < (second.due, second.sequence)
            if tie_break == "id" and not is_older:
                yield LaneRule.TIE_BY_ID
            elif tie_break == "age" and first.timer_id > second.timer_id:
                yield LaneRule.TIE_BY_AGE
            elif tie_break == "append" and first.due > second.due:
                yield LaneRule.TIE_BY_APPEND


def _cells_of_readings(lane: Lane, priorities: Sequence[int]) -> Iterator[CoveragePoint]:
    """Yield the cells of the readings under which timers fired; `priorities` ascend."""
    middle = len(priorities) // 2
    if len(priorities) % 2 == 0 and priorities[middle - 1] != priorities[middle]:
        yield _MEDIANS[lane.config.median]
    if lane.config.settlement != "additive":
        is_page = lane.config.settlement == "intro"
        yield LaneRule.SETTLED_BY_PAGE if is_page else LaneRule.SETTLED_LITERALLY
    if lane.config.fairness_subject == "deployer":
        yield LaneRule.SUBJECT_OWNER
    if lane.config.settlement != "intro" and lane.price != lane.market.basefee:
        yield LaneRule.PRICE_MULTIPLIED


def cells_of_price(lane: Lane, used: int, cycles: int) -> Iterator[CoveragePoint]:
    """Yield the cells of the step of the lane basefee after a block that used so much of the lane's cycles."""
    config, before = lane.config, lane.market.basefee
    after = next_lane_basefee(before, used, cycles, config)
    delta = basefee_delta(used, cycles, config)
    step = before * abs(delta.numerator) // delta.denominator
    over, under = config.max_basefee_step
    is_most = abs(delta) * under == over
    if delta > 0:
        if after > before + max(step, 1):
            yield LaneRule.PRICE_LIFTED
        elif after < before + max(step, 1):
            yield LaneRule.PRICE_AT_CEILING
        elif not step:
            yield LaneRule.PRICE_ROSE_BY_ONE
        else:
            yield LaneRule.PRICE_ROSE_MOST if is_most else LaneRule.PRICE_ROSE
    elif after > before:
        yield LaneRule.PRICE_LIFTED
    elif after > before - step:
        yield LaneRule.PRICE_AT_FLOOR
    elif step:
        yield LaneRule.PRICE_FELL_MOST if is_most else LaneRule.PRICE_FELL
    if after != before and config.slope == "classic":
        yield LaneRule.PRICE_BY_CLASSIC_SLOPE
