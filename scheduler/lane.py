"""The values that a block in the timer lane works with: configuration, market, and what it needs of the chain (CIP-1).

LaneConfig and LaneMarket are also records of consensus state (docs/state.md, the timer lane).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, ClassVar, Final, Literal

import msgspec

from scheduler.bidding import FeeParams, GbaContext, GbaFailure, Prices
from scheduler.errors import InvalidInput
from scheduler.fees import MAX_BASEFEE, MIN_BASEFEE
from scheduler.tables import LaneTables
from scheduler.types import MAX_U63, Basefees, LaneMarket, Parameters, Ratio, Timer, TimerConfig, means

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

    max_cycles_per_fire_auction_phase: Annotated[
        int, means("The greatest gas limit with which a timer competes, in cycles.")
    ] = 250_000
    min_lane_basefee: Annotated[int, means("The lowest lane basefee, in units a cycle; 8 or more.")] = MIN_BASEFEE
    max_lane_basefee: Annotated[int, means("The highest lane basefee, in units a cycle.")] = MAX_BASEFEE
    initial_lane_basefee: Annotated[
        int, means("The lane basefee of the first block in the lane; 0: that block's cycle basefee.")
    ] = 0
    target_utilisation: Annotated[Ratio, means("The used share of the lane at which its basefee stays.")] = (1, 2)
    max_basefee_step: Annotated[
        Ratio, means("The greatest change of the lane basefee in a block, as a share of it.")
    ] = (1, 8)
    lane_multiplier: Annotated[Ratio, means("The lane price of a cycle is the lane basefee times this.")] = (1, 1)
    fairness_window_blocks: Annotated[int, means("Blocks over which the fires of each subject are counted.")] = 1_000
    weight_min: Annotated[Ratio, means("The lowest weight of a subject: that of whoever fired most.")] = (1, 1)
    weight_max: Annotated[Ratio, means("The greatest weight of a subject: that of whoever fired least.")] = (2, 1)
    tier_economy: Annotated[Ratio, means("A timer with the hint `economy` tips the median tip times this.")] = (4, 5)
    tier_standard: Annotated[Ratio, means("The same for the hint `standard`.")] = (1, 1)
    tier_fast: Annotated[Ratio, means("The same for the hint `fast`.")] = (3, 2)
    tier_urgent: Annotated[Ratio, means("The same for the hint `urgent`.")] = (5, 2)
    gba_call_cycles: Annotated[int, means("Cycles that the call of an agent may use.")] = 10_000
    max_gba_calls_per_block: Annotated[
        int, means("Agents that are asked in a block; more timers get the default fees.")
    ] = 1_000
    gc_scan_per_block: Annotated[int, means("With `cursor`: timers that the clean-up looks at in a block.")] = 25_000
    bid_deprecation_blocks: Annotated[
        int, means("Blocks after the activation in which a call that states `bid` is not yet refused.")
    ] = 0
    slope: Annotated[
        Literal["literal", "classic"],
        means("How the basefee follows use: `literal` by the formula of the text, `classic` as in EIP-1559."),
    ] = "literal"
    settlement: Annotated[
        Literal["additive", "literal", "intro"],
        means("`additive`: a fire pays the lane price besides the cycle basefee; `literal`, `intro`: it does not."),
    ] = "additive"
    packing_account: Annotated[
        Literal["use", "limit"],
        means("Of the lane's room a fire takes the cycles that it used (`use`) or its gas limit (`limit`)."),
    ] = "use"
    packing_misfit: Annotated[
        Literal["skip", "stop"],
        means("After a timer that exceeds the room the next one is tried (`skip`), or nothing fires (`stop`)."),
    ] = "skip"
    classification: Annotated[
        Literal["eager", "cursor"],
        means("Dead timers are found in every block (`eager`), or by a cursor over waiting timers (`cursor`)."),
    ] = "eager"
    default_gba: Annotated[
        Literal["schedule", "fire"],
        means("An open fee gets its default when the timer is scheduled (`schedule`), or in each block (`fire`)."),
    ] = "schedule"
    tie_break: Annotated[
        Literal["id", "age", "append"],
        means("The order of equal offers: by timer_id (`id`), by age (`age`), the newest due first (`append`)."),
    ] = "id"
    weight: Annotated[
        Literal["multiplicative", "additive"],
        means("A weight w multiplies the priority, or adds w - 1 times the lane price to it (`additive`)."),
    ] = "multiplicative"
    median: Annotated[
        Literal["mean", "lower", "upper"],
        means("The median of an even count: the mean of the middle two, or the lower or upper of them."),
    ] = "mean"
    fairness_subject: Annotated[
        Literal["actor", "deployer"], means("Fires are counted by actor, or by the owner of actors (`deployer`).")
    ] = "actor"
    max_allowed_delays: Annotated[
        int, means("Slots or heights that a timer may wait beyond its due before its delay is excessive.")
    ] = 100
    excessive_delay: Annotated[
        Literal["off", "force", "cancel"],
        means("A timer with an excessive delay waits (`off`), fires first once (`force`), or goes (`cancel`)."),
    ] = "off"

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
