"""The bids of timers: fees frozen at scheduling, answers of gas bidding agents, defaults (CIP-1, 6 and 7)."""

import enum
from dataclasses import dataclass
from typing import Final

import msgspec

from scheduler.types import MAX_U63, LaneMarket, Moment, Timer


class GbaContext(msgspec.Struct, frozen=True, array_like=True):
    """The context that an agent is given; fees in units per cycle or cell, heights in the timebase (A-17, K-28)."""

    trigger_block_height: int
    current_block_height: int
    basefee_cycle: int
    basefee_cell: int
    basefee_lane_timer: int
    last_block_cycle_usage: int
    previous_block_p50_priority_tip_per_cycle: int
    owner_actor_balance: int


class FeeParams(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """TxFeeParams: what an agent answers, per cycle and per cell. A timer pays the cell basefee in any case."""

    max_fee_per_cycle: int
    max_priority_fee_per_cycle: int
    max_fee_per_cell: int
    max_priority_fee_per_cell: int

    @property
    def is_absurd(self) -> bool:
        """Whether a number is negative or too great for a record (Q-13)."""
        return not all(0 <= getattr(self, name) <= MAX_U63 for name in self.__struct_fields__)


class GbaFailure(enum.StrEnum):
    """Why a timer has default values although it names an agent."""

    FAILED = "failed"
    """There is no such agent, or its call did not end well."""
    OVERRUN = "overrun"
    """It used up its cycles."""
    ABSURD = "absurd"
    """Its answer does not decode or is out of range."""
    CALL_LIMIT = "call_limit"
    """The block has asked as many agents as it may."""


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of a block, from which default values derive: units per cycle or cell."""

    cycle: int
    cell: int
    lane: int
    p50_tip: int

    def default_params(self) -> FeeParams:
        """Return what the default agent bids (A-16)."""
        return FeeParams(2 * self.lane, self.p50_tip, self.cell, 0)


class Bid(msgspec.Struct, frozen=True, gc=False):
    """The fee arguments of a call; None was left out."""

    max_fee_per_cycle: int | None = None
    max_priority_fee_per_cycle: int | None = None
    priority_tier_hint: str | None = None
    gba: bytes | None = None


NO_BID: Final = Bid()


def context_of(timer: Timer, *, moment: Moment, prices: Prices, market: LaneMarket, balance: int) -> GbaContext:
    """Return what the agent of a timer is told; `balance` is its actor's."""
    return GbaContext(
        trigger_block_height=timer.due,
        current_block_height=moment.now,
        basefee_cycle=prices.cycle,
        basefee_cell=prices.cell,
        basefee_lane_timer=prices.lane,
        last_block_cycle_usage=market.used_cycles,
        previous_block_p50_priority_tip_per_cycle=prices.p50_tip,
        owner_actor_balance=balance,
    )
