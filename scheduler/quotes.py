"""Quotes: the fee and the tip that a timer is scheduled at, from its bid, the prices, and its tier (CIP-6 and 7)."""

from scheduler.bidding import Bid, Prices
from scheduler.errors import InvalidInput, TimerRejectedBelowBasefee
from scheduler.lane import LaneConfig
from scheduler.types import MAX_U63, Quote


def freeze_quote(bid: Bid, prices: Prices, config: LaneConfig) -> tuple[Quote, int | None]:
    """Return the quote that a timer of this bid gets, and the tip that was stated if it had to be clamped (A-13, Q-12).

    Raises:
        InvalidInput: There is no such tier.
        TimerRejectedBelowBasefee: The greatest fee does not cover the lane's price now.
    """
    fee, tip = bid.max_fee_per_cycle, bid.max_priority_fee_per_cycle
    if bid.priority_tier_hint is not None:
        hinted = tip_of_tier(bid.priority_tier_hint, prices.p50_tip, config)
        tip = hinted if tip is None else tip
    if bid.gba is None and config.default_gba == "schedule":
        default = prices.default_params()
        fee = default.max_fee_per_cycle if fee is None else fee
        tip = default.max_priority_fee_per_cycle if tip is None else tip
    if fee is None or tip is None:
        if fee is not None:
            _check_fee(fee, prices)
        return Quote(fee, tip, bid.gba), None
    _check_fee(fee, prices)
    room = fee - prices.lane
    return Quote(fee, min(tip, room)), tip if tip > room else None


def tip_of_tier(tier: str, p50_tip: int, config: LaneConfig) -> int:
    """Return the tip that a tier hint stands for, in units per cycle, rounded down (A-18).

    Raises:
        InvalidInput: There is no such tier.
    """
    multipliers = config.tier_multipliers
    if tier not in multipliers:
        raise InvalidInput("priority_tier_hint", f"{tier!r} is none of {', '.join(multipliers)}")
    over, under = multipliers[tier]
    return min(p50_tip * over // under, MAX_U63)


def _check_fee(fee: int, prices: Prices) -> None:
    if fee < prices.lane:
        raise TimerRejectedBelowBasefee(fee, prices.lane)
