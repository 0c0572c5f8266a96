"""The parameters and tables of the policy `gba-auction` (docs/state.md, the GBA auction)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar, Final, Literal

import msgspec

from scheduler.errors import InvalidInput
from scheduler.tables import StateTable
from scheduler.types import MAX_U63, Parameters, Ratio, means

DEFAULT_AGENT: Final = bytes(19) + b"\x0c"
"""The address of the agent that is asked for timers that name none; genesis has an actor there."""

WEIGHT_MAX: Final = 1_000_000
"""The greatest `weight_max`: in millionths, a weight and what multiplies it have to fit a record."""


class AuctionConfig(Parameters, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The parameters of the auction and the switches between readings, read once per block.

    `ema_lambda` is the share of an epoch's score in a weight. `reset_epoch` and `rescale_epoch` are epochs: weights
    that were written for an earlier one are read as `weight_initial`, or multiplied by `rescale` (B-9).
    """

    ema_lambda: Annotated[Ratio, means("The share of an epoch's score in an actor's next weight.")] = (1, 5)
    weight_initial: Annotated[Ratio, means("The weight of an actor that has none yet.")] = (1, 1)
    weight_min: Annotated[Ratio, means("The lowest weight.")] = (1, 2)
    weight_max: Annotated[Ratio, means("The greatest weight.")] = (2, 1)
    starvation_floor: Annotated[
        Ratio, means("The lowest weight of an actor whose timers were deferred too often in an epoch.")
    ] = (4, 5)
    starvation_deferrals: Annotated[int, means("Deferrals in an epoch that are too often.")] = 3
    reset_epoch: Annotated[int, means("Weights written for an earlier epoch are read as `weight_initial`.")] = 0
    rescale_epoch: Annotated[int, means("Weights written for an earlier epoch are read times `rescale`.")] = 0
    rescale: Annotated[Ratio, means("The factor of these.")] = (1, 1)
    gba_call_cycles: Annotated[int, means("Cycles that the call of an agent may use.")] = 10_000
    max_gba_calls_per_block: Annotated[int, means("Agents that are asked in a block; other timers wait.")] = 1_000
    effective_tip: Annotated[
        Literal["bid", "intro"],
        means("A tip beyond the fee's room: the timer waits (`bid`), or the tip is cut to the room (`intro`)."),
    ] = "bid"
    budget: Annotated[
        Literal["hard", "literal"], means("With `literal` the last fire of a block may exceed the lane's budget.")
    ] = "hard"
    timer_phase: Annotated[
        Literal["after", "before"], means("The timer phase comes after the transactions of a block, or before them.")
    ] = "after"
    tie_break: Annotated[
        Literal["id", "append"],
        means("The order of equal offers: by timer_id (`id`), or the newest due first (`append`)."),
    ] = "id"

    profiles: ClassVar[Mapping[str, Mapping[str, str]]] = MappingProxyType(
        {"intro": {"effective_tip": "intro", "tie_break": "append"}}
    )

    _ratios: ClassVar[tuple[str, ...]] = (
        *("ema_lambda", "weight_initial", "weight_min", "weight_max", "starvation_floor", "rescale"),
    )

    def __post_init__(self) -> None:
        """Refuse what no chain can run on.

        Raises:
            InvalidInput: A number is out of its range, or a ratio has no meaning.
        """
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if name in self._ratios:
                is_ratio = all(0 <= part <= MAX_U63 for part in value) and value[1] > 0
                _require(name, value, is_ratio, "two numbers within 0..2^63-1, the second above 0")
            elif isinstance(value, int):
                _require(name, value, 0 <= value <= MAX_U63, "within 0..2^63-1")
        low, high = self.weight_min, self.weight_max
        initial, floor = self.weight_initial, self.starvation_floor
        _require("ema_lambda", self.ema_lambda, _is_at_most(self.ema_lambda, (1, 1)), "at most 1")
        _require("weight_min", low, _is_at_most(low, high), f"at most weight_max, which is {high}")
        _require("weight_max", high, _is_at_most(high, (WEIGHT_MAX, 1)), f"at most {WEIGHT_MAX}")
        is_within = _is_at_most(low, initial) and _is_at_most(initial, high)
        _require("weight_initial", initial, is_within, f"within weight_min and weight_max, {low} and {high}")
        _require("starvation_floor", floor, _is_at_most(floor, high), f"at most weight_max, which is {high}")
        _require("starvation_deferrals", self.starvation_deferrals, self.starvation_deferrals > 0, "above 0")

    @classmethod
    def key_of(cls, field: str) -> str:
        """Return the key by which governance knows a field."""
        return "system:gba:" + field


class AuctionBooks(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The sums that one block of the policy leaves to the next; `actors` have a tally in `epoch`."""

    used_cycles: int
    epoch: int
    actors: int
    budget_cycles: int


class TalliedActor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """An actor that has a tally in the present epoch, under its index."""

    actor: bytes


class ActorTally(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The sums of an actor over one epoch, from which its score follows (Q-47)."""

    fires: int = 0
    succeeded: int = 0
    tips: int = 0
    lateness: int = 0
    cycles: int = 0
    deferrals: int = 0

    def plus(self, other: "ActorTally") -> "ActorTally":
        """Return the sums of both, each kept at the greatest number of a record."""
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return ActorTally(*(min(one + another, MAX_U63) for one, another in pairs))


class ActorWeight(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A weight in millionths, and the epoch that it was written for: it is decayed when it is read (Q-47)."""

    epoch: int
    weight: int


class AuctionCursor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The place of the timer whose agent was asked last."""

    due: int
    sequence: int


AUCTION_CONFIG: Final = StateTable(0x16, "auction configuration", AuctionConfig)
AUCTION_BOOKS: Final = StateTable(0x17, "auction books", AuctionBooks)
AUCTION_ACTOR: Final = StateTable(0x18, "auction actor", TalliedActor)
AUCTION_TALLY: Final = StateTable(0x19, "auction tally", ActorTally)
AUCTION_WEIGHT: Final = StateTable(0x1A, "auction weight", ActorWeight)
AUCTION_CURSOR: Final = StateTable(0x1B, "auction cursor", AuctionCursor)

AUCTION_TABLES: Final = (AUCTION_BOOKS, AUCTION_ACTOR, AUCTION_TALLY, AUCTION_WEIGHT, AUCTION_CURSOR)
"""The tables that blocks of the policy write."""


def index_key(index: int) -> bytes:
    """Return the key of an actor that has a tally, by its index."""
    return AUCTION_ACTOR.key(index.to_bytes(8, "big"))


def _is_at_most(one: Ratio, other: Ratio) -> bool:
    return one[0] * other[1] <= other[0] * one[1]


def _require(name: str, value: object, is_valid: bool, allowed: str) -> None:  # noqa: FBT001 - what is required
    if not is_valid:
        raise InvalidInput(name, f"{value} must be {allowed}")
