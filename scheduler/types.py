"""The values that the scheduler's rules speak of: timers, their configuration, the moment of a block.

All are immutable, so that forks of the chain may share them. Timer and TimerConfig are also the records that consensus
state holds, as msgpack arrays in the order of their fields (docs/state.md).
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

import msgspec

from scheduler.errors import InvalidInput
from scheduler.rules import CoveragePoint

MAX_PAYLOAD_BYTES: Final = 1_048_576
"""The longest payload of a timer (C-1)."""

MAX_HANDLER_BYTES: Final = 256
"""The longest handler name, in UTF-8 bytes (C-1)."""

DEFAULT_HANDLER: Final = "handle_timer"
"""The handler of a timer that names none."""

ZERO_ORIGIN: Final = bytes(32)
"""The origin hash of a call that a timer makes."""

MAX_U63: Final = 2**63 - 1
"""The greatest height, amount or limit that a call may state, so that every record fits a 64-bit integer."""

Ratio = tuple[int, int]
"""A fraction as numerator and denominator, exact."""

Timebase = Literal["height", "slot"]
"""The unit of due heights, time to live and expiry: blocks, or the slots of the chain's clock."""


def means(sentence: str, *, left_out: str = "") -> msgspec.Meta:
    """Return the annotation of a key that says in a sentence what it means; the generated pages print it.

    Args:
        sentence: The sentence.
        left_out: The value where the key is left out, in words, where a default of none would not say it.
    """
    return msgspec.Meta(description=sentence, extra={"left_out": left_out} if left_out else None)


class Quote(msgspec.Struct, frozen=True, array_like=True, gc=False, forbid_unknown_fields=True):
    """The offer of a timer for the lane, in units per cycle; None is decided anew in each block, by `gba` or a default.

    `gba` is the address of an agent, and None where both fees are stated.
    """

    max_fee_per_cycle: int | None
    max_priority_fee_per_cycle: int | None
    gba: bytes | None = None


class Timer(msgspec.Struct, frozen=True, array_like=True, gc=False, forbid_unknown_fields=True):
    """A call that an actor asked for: run `handler(payload)` once, at `due` or as soon after as the lane allows.

    `due` and `expires_at` are in the chain's timebase, `gas_limit` in cycles; (due, sequence) is the timer's place in
    the waiting order and never changes (Q-19). `gas_limit_is_default` tells a stated limit from a default. A timer made
    outside the lane has no quote.
    """

    timer_id: bytes
    actor: bytes
    due: int
    sequence: int
    payload: bytes
    handler: str
    fee_payer: bytes
    gas_limit: int
    gas_limit_is_default: bool
    expires_at: int
    quote: Quote | None = None


class Parameters(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A record of parameters that genesis sets and governance may change, as a whole or by key."""

    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})
    """The values of switches that belong together, by the name of their profile."""

    @classmethod
    def key_of(cls, field: str) -> str:
        """Return the key by which governance knows a field."""
        raise NotImplementedError

    def check_update(self) -> None:
        """Refuse what the constructor takes, for those who look at a chain, and no chain may run on.

        Raises:
            InvalidInput: It is refused.
        """


class TimerConfig(Parameters, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The limits and prices of timers, read once per block; a change applies from the next block."""

    max_ttl_blocks: int = 2_592_000
    max_cycles_per_fire: int = 550_000
    max_cells_per_fire: int = 550_000
    max_timers_per_actor: int = 1_024
    gc_cycles_per_block: int = 5_000_000
    gc_cost_per_timer: int = 200
    lane_timer_cycles: int = 2_000_000
    schedule_cycles: int = 200
    extend_cycles: int = 200
    cancel_cycles: int = 200
    execution_lane_paused: bool = False
    gc_lane_paused: bool = False
    charges_index_cells: bool = True

    def __post_init__(self) -> None:
        """Refuse what no chain can run on.

        Raises:
            InvalidInput: A number is negative or above 63 bits, or the lane or the GC cost is zero.
        """
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not 0 <= value <= MAX_U63:
                raise InvalidInput(name, f"{value} is not within 0..{MAX_U63}")
        for name in ("lane_timer_cycles", "gc_cost_per_timer"):
            if getattr(self, name) == 0:
                raise InvalidInput(name, "must be above zero")

    @classmethod
    def key_of(cls, field: str) -> str:
        """Return the key by which governance knows a field."""
        return "timer_config." + field

    @property
    def lane_budget(self) -> int:
        """Cycles that fired handlers may use in one block; a paused lane has none."""
        return 0 if self.execution_lane_paused else self.lane_timer_cycles

    @property
    def gc_budget(self) -> int:
        """The number of dead timers that one block may remove; what is left over is lost (Q-20)."""
        return 0 if self.gc_lane_paused else self.gc_cycles_per_block // self.gc_cost_per_timer

    @property
    def gas_limit_ceiling(self) -> int:
        """The greatest gas limit admitted; above the lane a timer would block the queue for ever (Q-30)."""
        return min(self.max_cycles_per_fire, self.lane_timer_cycles)


class LaneMarket(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The lane market: the values that one block leaves to the next (docs/state.md, lane market).

    `basefee` is the next block's, without the lane multiplier. `p50_tip` is the median priority of this block's fires.
    Both are in units per cycle. `used_cycles` are all cycles of this block, `burned` the units ever burned as lane
    basefee.
    """

    basefee: int
    p50_tip: int
    used_cycles: int
    window_start: int
    activation_basefee: int
    burned: int


@dataclass(frozen=True, slots=True)
class Moment:
    """When a block runs, in blocks and in slots; the timebase decides which of the two timers count.

    `timestamp_ms` is the header's, `slot_ms` the length of a slot.
    """

    height: int
    slot: int
    parent_slot: int
    timebase: Timebase
    timestamp_ms: int = 0
    slot_ms: int = 1_000

    @property
    def now(self) -> int:
        """The present, in the timebase."""
        return self.slot if self.timebase == "slot" else self.height

    @property
    def parent_now(self) -> int:
        """The present of the parent block; timers due after it are attempted for the first time now."""
        return self.parent_slot if self.timebase == "slot" else self.height - 1


@dataclass(frozen=True, slots=True)
class Basefees:
    """The block's prices per cycle and per cell, fixed by the block before it (Q-5)."""

    cycle: int
    cell: int


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The result of one run of a handler; a revert has `ok` false, no cells and no events."""

    ok: bool
    cycles: int
    cells: int
    events: tuple[msgspec.Struct, ...]


class Exit(enum.Enum):
    """The ways in which a timer leaves."""

    FIRED = "fired"
    EXPIRED = "expired"
    INSOLVENT = "insolvent"
    OVERDUE = "passed over too often"
    BY_OWNER = "cancelled by its owner"
    BY_GOVERNANCE = "cancelled by governance"


class BlockPhase(enum.Enum):
    """The steps of a block that a policy puts in order."""

    PROLOGUE = "prologue"
    TRANSACTIONS = "transactions"
    TIMERS = "timers"
    END_OF_BLOCK = "end of block"


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """The result of a phase, or of a part: counts of timers, cycles, cells and units, and the events in order.

    `fired` includes `reverted`. `waiting_live` are live timers held back in this block, first attempt or not.
    `waiting_dead` are expired and insolvent timers beyond the GC budget. Both are None where the phase did not count.
    `removed` are the timers that left without a fire. `lane_burned` and `cells_burned` are the parts of `burned` that
    are lane basefee, and for cells. `reached` are the coverage points of the phase, without those of its handlers'
    calls. `insolvent_left` are the identifiers of the insolvent timers in `waiting_dead`.
    """

    fired: int = 0
    reverted: int = 0
    expired: int = 0
    insolvent: int = 0
    waiting_live: int | None = None
    waiting_dead: int | None = None
    lane_cycles: int = 0
    lane_cells: int = 0
    gc_cycles: int = 0
    burned: int = 0
    events: tuple[msgspec.Struct, ...] = ()
    tips: int = 0
    lane_burned: int = 0
    cells_burned: int = 0
    removed: int = 0
    reached: tuple[CoveragePoint, ...] = ()
    insolvent_left: tuple[bytes, ...] = ()

    def then(self, later: "PhaseResult") -> "PhaseResult":
        """Return the result of both: sums, and of what waits the count that was taken last."""
        sums = {name: getattr(self, name) + getattr(later, name) for name in _SUMS}
        live = self.waiting_live if later.waiting_live is None else later.waiting_live
        dead = self.waiting_dead if later.waiting_dead is None else later.waiting_dead
        return PhaseResult(**sums, waiting_live=live, waiting_dead=dead)


_SUMS: Final = tuple(each.name for each in fields(PhaseResult) if not each.name.startswith("waiting_"))
