"""Differential cases: a block on a stated state, or a chain that one engine builds, as plain data.

A case depends on no draw. It states genesis, parameters, state and transactions. So a later version, with other draws,
judges the same case.
"""

from typing import Annotated, Any, Final, TypeAlias

import msgspec

from scheduler import TimerConfig
from validators.execution import Genesis
from validators.execution.block_tree import ApplyMode
from validators.execution.blocks import Bytes20, Bytes32, Transaction, Uint

ROWS_MAX: Final = 2_000
"""The most entries of a list of a case."""

BLOCKS_MAX: Final = 100
"""The most blocks of a chain."""

Key: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=48, max_length=48)]
_Subjects: TypeAlias = Annotated[tuple[tuple[Bytes20, Uint], ...], msgspec.Meta(max_length=ROWS_MAX)]


class StatedQuote(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The fees that a timer states, and the agent that is asked for the open fees."""

    fee: Uint | None = None
    tip: Uint | None = None
    agent: Bytes20 | None = None


class StatedToken(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The authorization of an entry of the queue."""

    allows_rescheduling: bool
    expiration_ms: Uint
    number: Uint


class StatedEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The part of an entry that the queue of `aptos` holds besides its timer."""

    expiry_delta_ms: Uint = 0
    token: StatedToken | None = None
    pass_signer: bool = True


class StatedTimer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A waiting timer, in order within its due height; `bid` is its amount in escrow."""

    timer_id: Bytes32
    actor: Bytes20
    due: Uint
    payload: bytes = b""
    handler: Annotated[str, msgspec.Meta(max_length=256)] = "handle_timer"
    fee_payer: Bytes20
    gas_limit: Uint
    gas_limit_is_default: bool = False
    expires_at: Uint
    quote: StatedQuote | None = None
    bid: Uint = 0
    entry: StatedEntry | None = None


class StatedMark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The key of an entry that has left the queue of `aptos`, which the next block removes."""

    key: Key
    entry: StatedEntry = StatedEntry()


class StatedQueue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The queue of `aptos` without its entries: status, authorization numbers, marked keys, first blocks of slots."""

    status: Annotated[int, msgspec.Meta(ge=0, le=3)] = 0
    numbers: _Subjects = ()
    marks: Annotated[tuple[StatedMark, ...], msgspec.Meta(max_length=ROWS_MAX)] = ()
    slots: Annotated[tuple[tuple[Uint, Uint], ...], msgspec.Meta(max_length=ROWS_MAX)] = ()


class StatedLane(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The market of the timer lane as the parent left it, and the fires of its window by height."""

    market: tuple[Uint, Uint, Uint, Uint, Uint, Uint]
    window: Annotated[tuple[tuple[Uint, _Subjects], ...], msgspec.Meta(max_length=ROWS_MAX)] = ()


class StatedWeights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The books of the GBA auction as the parent left them, and actors' weights: actor, epoch, millionths."""

    books: tuple[Uint, Uint, Uint, Uint]
    weights: Annotated[tuple[tuple[Bytes20, Uint, Uint], ...], msgspec.Meta(max_length=ROWS_MAX)] = ()


class BlockCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="block"):
    """A block on a state that no chain reaches: the state of genesis, changed by the case's statements.

    `slot` is the block's slot, `parent_slot` its parent's slot. `basefees` are the basefees of a cycle and of a cell.
    `own_config` has the fields of the policy's own parameters that differ from genesis. `accounts` are addresses with
    balance and nonce; `scheduled` counts an actor's earlier timers that wait no longer.
    """

    genesis: Genesis
    height: Annotated[int, msgspec.Meta(ge=1, le=10**12)]
    parent_slot: Annotated[int, msgspec.Meta(ge=0, le=10**12)]
    slot: Annotated[int, msgspec.Meta(ge=1, le=10**12)]
    proposer: Uint = 0
    basefees: tuple[Uint, Uint]
    timer_config: TimerConfig
    own_config: list[Any] | None = None
    lane: StatedLane | None = None
    auction: StatedWeights | None = None
    queue: StatedQueue | None = None
    accounts: Annotated[tuple[tuple[Bytes20, Uint, Uint], ...], msgspec.Meta(max_length=ROWS_MAX)] = ()
    scheduled: _Subjects = ()
    timers: Annotated[tuple[StatedTimer, ...], msgspec.Meta(max_length=ROWS_MAX)] = ()
    transactions: Annotated[tuple[Transaction, ...], msgspec.Meta(max_length=ROWS_MAX)] = ()

    @property
    def now(self) -> int:
        """The block's present time."""
        return self.slot if self.genesis.timebase == "slot" else self.height

    @property
    def parent_now(self) -> int:
        """The present time of its parent."""
        return self.parent_slot if self.genesis.timebase == "slot" else self.height - 1


class ChainBlock(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A block that the engine builds, and certifies.

    Attributes:
        parent: The number of the block below it, counted from 1; 0 for genesis.
        view: Its view.
        proposer: Its leader.
        timestamp_ms: Its time.
        offered: The transactions of its leader, by their places in the case's list.
        is_given_up: Whether it is on a losing branch.
        is_final: Whether it and all its ancestors become final.
    """

    parent: Uint
    view: Uint
    proposer: Uint
    timestamp_ms: Uint
    offered: Annotated[tuple[Uint, ...], msgspec.Meta(max_length=ROWS_MAX)] = ()
    is_given_up: bool = False
    is_final: bool = False


class ChainCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="chain"):
    """A chain that one engine builds, also on losing branches, with the upkeep of `mode`."""

    genesis: Genesis
    mode: ApplyMode
    transactions: Annotated[tuple[Transaction, ...], msgspec.Meta(max_length=ROWS_MAX)] = ()
    blocks: Annotated[tuple[ChainBlock, ...], msgspec.Meta(max_length=BLOCKS_MAX)] = ()


Case: TypeAlias = BlockCase | ChainCase
"""All kinds of cases."""
