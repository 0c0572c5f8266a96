"""Fees that a timer's maker fixes when it is scheduled in the lane (docs/spec.md, "Scheduling")."""

from fractions import Fraction
from typing import NamedTuple

from checker.oracle.contents import Quote
from checker.oracle.lane_config import TIERS
from checker.oracle.market import Lane, tier_tip


class Fees(NamedTuple):
    """Fees that a scheduling call may state, all optional; `bid` is the form of an older release."""

    max_fee_per_cycle: int | None = None
    max_priority_fee_per_cycle: int | None = None
    priority_tier_hint: str | None = None
    gba: bytes | None = None
    bid: int | None = None


class Terms(NamedTuple):
    """The terms of a call that schedules, as it states them; None is the default."""

    fee_payer: bytes | None
    gas_limit: int | None
    expires_at: int | None
    fees: Fees
    pass_signer: bool = True


class Quoted(NamedTuple):
    """The quote of a new timer, with the tip before if it was clamped; or the error that refuses the timer."""

    quote: Quote | None
    stated: int | None = None
    error: str = ""


def is_deprecated(fees: Fees, lane: Lane, height: int) -> bool:
    """Return whether a caller still uses the older form after the time in which it is accepted."""
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
