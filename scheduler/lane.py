"""The values that a block in the timer lane works with: configuration, market, and what it needs of the chain (CIP-1).

LaneConfig and LaneMarket are also records of consensus state (docs/state.md, the timer lane).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final, Literal

import msgspec

from scheduler.bidding import FeeParams, GbaContext, GbaFailure, Prices
from scheduler.errors import InvalidInput
from scheduler.fees import MAX_BASEFEE, MIN_BASEFEE
from scheduler.tables import LaneTables
from scheduler.types import MAX_U63, Basefees, LaneMarket, Parameters, Ratio, Timer, TimerConfig

LOWEST_MINIMUM: Final = 8
"""Below this an eighth of a basefee is nothing, and it would not move any more (Q-3)."""

MAX_PRICE: Final = 2**62 - 1
"""The greatest lane price, so that the default fee, twice as much, fits a record."""


def _require(name: str, value: object, is_valid: bool) -> None:  # noqa: FBT001 - the condition is the argument
    if not is_valid:
        raise InvalidInput(name, f"{value} is out of range")


class LaneConfig(Parameters, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The parameters of the lane and the switches between readings, read once per block; changes apply from the next.

    Fees are in units per cycle, limits in cycles, windows in blocks.
    """

    max_cycles_per_fire_auction_phase: int = 250_000
    min_lane_basefee: int = MIN_BASEFEE
    max_lane_basefee: int = MAX_BASEFEE
    initial_lane_basefee: int = 0
    target_utilisation: Ratio = (1, 2)
    max_basefee_step: Ratio = (1, 8)
    lane_multiplier: Ratio = (1, 1)
    fairness_window_blocks: int = 1_000
    weight_min: Ratio = (1, 1)
    weight_max: Ratio = (2, 1)
    tier_economy: Ratio = (4, 5)
    tier_standard: Ratio = (1, 1)
    tier_fast: Ratio = (3, 2)
    tier_urgent: Ratio = (5, 2)
    gba_call_cycles: int = 10_000
    max_gba_calls_per_block: int = 1_000
    gc_scan_per_block: int = 25_000
    bid_deprecation_blocks: int = 0
    slope: Literal["literal", "classic"] = "literal"
    settlement: Literal["additive", "literal", "intro"] = "additive"
    packing_account: Literal["use", "limit"] = "use"
    packing_misfit: Literal["skip", "stop"] = "skip"
    classification: Literal["eager", "cursor"] = "eager"
    default_gba: Literal["schedule", "fire"] = "schedule"
    tie_break: Literal["id", "age", "append"] = "id"
    weight: Literal["multiplicative", "additive"] = "multiplicative"
    median: Literal["mean", "lower", "upper"] = "mean"
    fairness_subject: Literal["actor", "deployer"] = "actor"
    max_allowed_delays: int = 100
    excessive_delay: Literal["off", "force", "cancel"] = "off"

    profiles: ClassVar[Mapping[str, Mapping[str, str]]] = MappingProxyType(
        {"intro": {"settlement": "intro", "tie_break": "append"}}
    )

    def __post_init__(self) -> None:
        """Refuse what no chain can run on.

        Raises:
            InvalidInput: A number is out of its range, or a ratio has no meaning.
        """
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, tuple):
                _require(name, value, all(0 <= part <= MAX_U63 for part in value) and value[1] > 0)
            elif isinstance(value, int):
                _require(name, value, 0 <= value <= MAX_U63)
        for name in ("target_utilisation", "max_basefee_step"):
            over, under = getattr(self, name)
            _require(name, (over, under), 0 < over < under)
        (low, low_under), (high, high_under) = self.weight_min, self.weight_max
        _require("weight_max", self.weight_max, low * high_under <= high * low_under)
        _require("max_lane_basefee", self.max_lane_basefee, self.max_lane_basefee <= MAX_BASEFEE)
        _require("initial_lane_basefee", self.initial_lane_basefee, self.initial_lane_basefee <= MAX_BASEFEE)
        _require("fairness_window_blocks", self.fairness_window_blocks, self.fairness_window_blocks > 0)

    @classmethod
    def key_of(cls, field: str) -> str:
        """Return the key by which governance knows a field."""
        tier = field.removeprefix("tier_")
        return "system:cip1:" + (field if tier == field else f"priority_tier_multipliers.{tier}")

    def check_update(self) -> None:
        """Refuse a floor at which the basefee would stand still; analysis may look at lower ones.

        Raises:
            InvalidInput: It does.
        """
        _require("min_lane_basefee", self.min_lane_basefee, self.min_lane_basefee >= LOWEST_MINIMUM)

    def is_excessive(self, delays: int) -> bool:
        """Say whether a timer that was passed over so often is handled by the hook, if that is on (E-7, Q-34)."""
        return delays > self.max_allowed_delays

    @property
    def tier_multipliers(self) -> dict[str, Ratio]:
        """The multipliers of the median tip by tier hint (A-18)."""
        return {
            "economy": self.tier_economy,
            "standard": self.tier_standard,
            "fast": self.tier_fast,
            "urgent": self.tier_urgent,
        }


Bidder = Callable[[Timer, GbaContext], FeeParams | GbaFailure]
"""Asks the agent that a timer names: read-only, within `gba_call_cycles`. Never raises."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One block's view of the lane: what holds for all of it, and where it reads and writes.

    `already_used` are cycles that the lane has spent before the selection: 0 on a chain of this project (K-10).
    """

    config: LaneConfig
    market: LaneMarket
    basefees: Basefees
    activated_at: int
    tables: LaneTables
    proposer: bytes
    ask: Bidder
    owner_of: Callable[[bytes], bytes]
    already_used: int = 0

    @property
    def price(self) -> int:
        """The lane basefee of this block with the lane's multiplier, in units per cycle (A-26).

        By the page of part E there is no lane basefee: a fee covers the cycle basefee, and the tip is cut to the rest.
        """
        if self.config.settlement == "intro":
            return min(self.basefees.cycle, MAX_PRICE)
        over, under = self.config.lane_multiplier
        # Rounded down, then bounded: twice the price is the default fee and has to fit a record.
        return min(self.market.basefee * over // under, MAX_PRICE)

    @property
    def prices(self) -> Prices:
        """The prices of the block, from which default values derive."""
        return Prices(self.basefees.cycle, self.basefees.cell, self.price, self.market.p50_tip)

    def gas_limit_cap(self, timers: TimerConfig) -> int:
        """Return the greatest gas limit with which a timer may have an attempt, in cycles (A-21)."""
        return min(self.config.max_cycles_per_fire_auction_phase, timers.lane_timer_cycles)

    def gas_limit_ceiling(self, timers: TimerConfig) -> int:
        """Return the greatest gas limit admitted, which is also the default, in cycles (K-5)."""
        return min(timers.max_cycles_per_fire, self.gas_limit_cap(timers))

    def is_bid_deprecated(self, height: int) -> bool:
        """Say whether the argument `bid` is refused at a block height (A-14)."""
        return height >= self.activated_at + self.config.bid_deprecation_blocks


def read_market(tables: LaneTables, config: LaneConfig, *, height: int, cycle_basefee: int) -> LaneMarket:
    """Return the market that a block in the lane finds; its first block finds nothing yet."""
    return tables.market() or opening_market(config, height=height, cycle_basefee=cycle_basefee)


def note_used_cycles(tables: LaneTables, used_cycles: int) -> None:
    """Complete the market at the end of a block by all the cycles that it used: what agents are told in the next."""
    market = tables.market()
    assert market is not None, "the timer phase of a block in the lane leaves a market"
    tables.set_market(msgspec.structs.replace(market, used_cycles=used_cycles))


def opening_market(config: LaneConfig, *, height: int, cycle_basefee: int) -> LaneMarket:
    """Return the market that the first block in the lane finds: basefees equal, no timer fired yet (A-22, Q-4)."""
    basefee = config.initial_lane_basefee or cycle_basefee
    return LaneMarket(basefee, 0, 0, height, basefee, 0)
