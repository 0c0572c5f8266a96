"""What a timer's maker fixes of its fees when it is scheduled in the lane (docs/spec.md, "Scheduling")."""

from fractions import Fraction
from typing import NamedTuple

from checker.oracle.contents import Quote
from checker.oracle.lane_config import TIERS
from checker.oracle.market import Lane, tier_tip


class Fees(NamedTuple):
    """What a call that schedules may state of fees, all of it optional; `bid` is of an older release."""

    max_fee_per_cycle: int | None = None
    max_priority_fee_per_cycle: int | None = None
    priority_tier_hint: str | None = None
    gba: bytes | None = None
    bid: int | None = None


class Quoted(NamedTuple):
    """The quote of a new timer; where its tip was clamped, also the tip before; or the error that refuses it."""

    quote: Quote | None
    stated: int | None = None
    error: str = ""


def is_deprecated(fees: Fees, lane: Lane, height: int) -> bool:
    """Whether a caller still bids as in the older release, too long after it."""
    return fees.bid is not None and height >= lane.activation_height + lane.config.bid_deprecation_blocks


def quote_of(fees: Fees, lane: Lane) -> Quoted:
    """Return the quote of a timer that is scheduled in the lane."""
    hint = fees.priority_tier_hint
    if hint is not None and hint not in TIERS:
        return Quoted(None, error="InvalidInput")
    most, tip = fees.max_fee_per_cycle, fees.max_priority_fee_per_cycle
    if tip is None and hint is not None:
        tip = tier_tip(lane.market.p50_tip, Fraction(*getattr(lane.config, hint)))
    if fees.gba is None and lane.config.default_gba == "schedule":
        default = lane.default_bid()
        most = default.max_fee_per_cycle if most is None else most
        tip = default.max_priority_fee_per_cycle if tip is None else tip
    if most is not None and most < lane.price:
        return Quoted(None, error="TimerRejectedBelowBasefee")
    if most is None or tip is None:
        return Quoted(Quote(most, tip, fees.gba))
    room = most - lane.price
    return Quoted(Quote(most, min(tip, room), None), stated=tip if tip > room else None)
