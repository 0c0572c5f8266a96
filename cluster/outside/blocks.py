"""Blocks of an outside application: the header as it is told, and the roots of its answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import msgspec

from cluster.outside.answers import Event, Execution
from cluster.outside.frames import Value
from validators.costs import Costs
from validators.execution import BlockSummary
from validators.execution.blocks import VERSION, Block, Header, header_digest
from validators.execution.phases import PhaseEntry
from validators.state import mmr_root

_KIB: Final = 1_024

NO_SUMMARY: Final = BlockSummary(**dict.fromkeys(BlockSummary.__struct_fields__, 0))
"""The numbers of an empty block."""

ROOT_NAMES: Final = ("state_root", "tx_root", "receipts_root")
"""Fields of a header that are not known yet when a block is proposed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainStart:
    """The beginning of a chain: its name, the time of genesis, and the unit of its timers, `height` or `slot`."""

    chain: str
    timestamp_ms: int
    timebase: str
    slot_ms: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutsideBlock:
    """A block with the application's answer.

    Attributes:
        block: The block.
        digest: Its id.
        header: Its header.
        receipts: The receipts of the answer, or its events in their only encoding.
        events: The events of the answer.
        included: Digests of transactions that need not wait any more, besides the payload's transactions.
        cost_stated_us: The cost of the answer, None where it states none.
        summary: The block in numbers, once it is final.
    """

    block: Block
    digest: bytes
    header: Header
    receipts: tuple[bytes, ...]
    events: tuple[Event, ...]
    included: tuple[bytes, ...] = ()
    cost_stated_us: int | None = None
    summary: BlockSummary = NO_SUMMARY

    @property
    def root(self) -> bytes:
        """The application's state root."""
        return self.header.state_root

    @property
    def changes(self) -> Mapping[bytes, bytes | None]:
        """Nothing: the application keeps its own state."""
        return {}

    @property
    def phases(self) -> tuple[PhaseEntry, ...]:
        """Nothing: an application tells of timers, but of no phases."""
        return ()

    @property
    def log_entry(self) -> tuple[bytes, ...]:
        """Nothing: the application keeps its own state."""
        return ()

    def cost_us(self, costs: Costs, signatures: int) -> int:
        """Return the virtual microseconds of the execution: as stated, or by transactions and bytes."""
        payload = self.block.transactions
        begun_kib = -(-sum(map(len, payload)) // _KIB)
        own_us = len(payload) * costs.transaction_us + begun_kib * costs.payload_kib_us
        spent_us = own_us if self.cost_stated_us is None else self.cost_stated_us
        return costs.block_us + spent_us + signatures * costs.verify_signature_us


def told_header(header: Header, *, is_proposed: bool = False) -> dict[str, Value]:
    """Return a header as an application is told it: all fields by name; while it is proposed, without the roots."""
    fields: dict[str, Value] = msgspec.structs.asdict(header)
    return {name: value for name, value in fields.items() if not is_proposed or name not in ROOT_NAMES}


def genesis_header(start: ChainStart, validators: int, parameters: Mapping[str, Value], execution: Execution) -> Header:
    """Return the header of the genesis block whose state the application has told."""
    parent = _genesis_parent(start, validators, parameters)
    slot, root, receipts = start.timestamp_ms // start.slot_ms, execution.root, receipts_root(execution)
    return Header(VERSION, 0, 0, 0, parent, 0, slot, start.timestamp_ms, root, mmr_root(()), receipts)


def canonical_event(event: Mapping[str, Value]) -> bytes:
    """Return the only encoding of an event: msgpack, keys in ascending order."""
    return msgspec.msgpack.encode(_sorted(event))


def receipts_of(execution: Execution) -> tuple[bytes, ...]:
    """Return the receipts of an answer, or else its events in their only encoding."""
    return tuple(map(canonical_event, execution.events)) if execution.receipts is None else execution.receipts


def receipts_root(execution: Execution) -> bytes:
    """Return the MMR root over the receipts of an answer, 32 bytes."""
    return mmr_root(receipts_of(execution))


def next_header(parent: Header, *, view: int, proposer: int, timestamp_ms: int, slot_ms: int) -> Header:
    """Return the header of a block above a parent, its roots still zero."""
    zeros = bytes(32)
    return Header(
        version=VERSION,
        height=parent.height + 1,
        consensus_epoch=0,
        view=view,
        parent=header_digest(parent),
        proposer=proposer,
        slot=timestamp_ms // slot_ms,
        timestamp_ms=timestamp_ms,
        state_root=zeros,
        tx_root=zeros,
        receipts_root=zeros,
    )


def sealed_block(draft: Header, payload: Sequence[bytes], *, root: bytes, receipts: bytes) -> Block:
    """Return a block whose header has its roots."""
    sealed = msgspec.structs.replace(draft, state_root=root, tx_root=mmr_root(payload), receipts_root=receipts)
    return Block(sealed, tuple(payload))


def made_of(block: Block, execution: Execution) -> OutsideBlock:
    """Return a block with its execution."""
    return OutsideBlock(
        block=block,
        digest=header_digest(block.header),
        header=block.header,
        receipts=receipts_of(execution),
        events=execution.events,
        included=execution.included,
        cost_stated_us=execution.cost_us,
    )


def _genesis_parent(start: ChainStart, validators: int, parameters: Mapping[str, Value]) -> bytes:
    """Return the parent of the genesis block: the digest of the chain's whole beginning, 32 bytes.

    If the parameters have an encoded genesis, its digest is the parent for the project's own engine.
    """
    if isinstance(genesis := parameters.get("genesis"), bytes):
        return sha256(genesis).digest()
    content = [start.chain, validators, start.timebase, start.slot_ms, start.timestamp_ms, _sorted(parameters)]
    return sha256(msgspec.msgpack.encode(content)).digest()


def _sorted(value: Value) -> Value:
    """Return a value whose maps have their keys in ascending order."""
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_sorted(each) for each in value]
    return value
