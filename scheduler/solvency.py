"""The insolvent timers of the lane, found payer by payer: whoever can cover its dearest timer is cleared at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.bidding import Prices
from scheduler.pool import OPEN, Payer
from scheduler.rules import CoveragePoint, LaneRule
from scheduler.types import Timer


@dataclass(slots=True)
class Insolvent:
    """The timers whose payers cannot cover them, the payers that can cover none of theirs, and the coverage points."""

    dead: dict[bytes, Timer] = field(default_factory=dict)
    bankrupt: dict[bytes, int] = field(default_factory=dict)
    reached: list[CoveragePoint] = field(default_factory=list)


def find_insolvent(
    payers: Mapping[bytes, Payer], spendable: Mapping[bytes, int], *, cycle: int, prices: Prices
) -> Insolvent:
    """Return the timers that cost more than their payers can spend on cycles; a cycle burns `cycle` units."""
    found = Insolvent()
    default_fee = prices.default_params().max_fee_per_cycle
    for address, payer in payers.items():
        limit = spendable[address]
        if payer.gas_max * (cycle + max(payer.max_fee, default_fee) - prices.lane) <= limit:
            continue
        if payer.gas_min * cycle > limit:
            found.bankrupt[address] = limit
            found.reached.append(LaneRule.PAYER_BANKRUPT)
        known = len(found.dead)
        _note_insolvent(found.dead, payer, limit, cycle=cycle, prices=prices)
        if 0 < len(found.dead) - known < len(payer.timers):
            found.reached.append(LaneRule.PAYER_SPLIT)
    return found


def _note_insolvent(dead: dict[bytes, Timer], payer: Payer, spendable: int, *, cycle: int, prices: Prices) -> None:
    """Find those of a payer's timers that cost more per cycle than it can spend: one plain loop."""
    price, default = prices.lane, prices.default_params()
    default_fee, default_tip = default.max_fee_per_cycle, default.max_priority_fee_per_cycle
    rows = zip(payer.gas_limits, payer.fees, payer.tips, strict=True)
    for place, (gas_limit, fee, tip) in enumerate(rows):
        room = (fee if fee != OPEN else default_fee) - price
        priority = tip if tip != OPEN else default_tip
        # min(), written out: the call would cost as much as the rest of the loop.
        if room >= 0 and gas_limit * (cycle + (priority if priority < room else room)) > spendable:  # noqa: FURB136
            timer = payer.timers[place]
            dead[timer.timer_id] = timer
