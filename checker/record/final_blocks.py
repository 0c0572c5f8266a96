"""The final blocks of a run with their results: the newest in memory, all before them in a temporary file.

The checks at the end read them once in order, long after most of them were made. So the number of blocks in memory is
bounded for any length of a run. The file belongs to this process alone and has no name; short runs never use it.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol, overload

import msgspec

from network.spill import ColdFile, SpillingBytes
from validators.execution import (
    Block,
    BlockSummary,
    ChainEvent,
    ExecutedBlock,
    Header,
    TransactionReceipt,
    decode_receipt,
)
from validators.execution.blocks import decode_block, encode_block
from validators.execution.phases import PhaseEntry

if TYPE_CHECKING:
    from checker.oracle.replay import OracleBlock

HOT_BLOCKS: Final = 256
"""Blocks in memory from which on the older half of them goes to the file."""

HOT_ENTRIES: Final = 200_000
"""Receipts and changed keys of the blocks in memory, likewise: a block of a storm has ten thousand."""


class FinalBlock(msgspec.Struct, frozen=True, array_like=True):
    """A final block as the first honest replica executed it, without data that only its engine needs.

    Attributes:
        digest: Its digest.
        encoded: The encoded block.
        height: Its height.
        state_root: The root that its header claims.
        receipts: The encoded receipts, in order; any bytes of an outside application.
        changes: State key to encoded value, None for a deleted value.
        summary: The block in numbers.
        phases: The ledger of its phases.
    """

    digest: bytes
    encoded: bytes
    height: int
    state_root: bytes
    receipts: tuple[bytes, ...]
    changes: Mapping[bytes, bytes | None]
    summary: BlockSummary
    phases: tuple[PhaseEntry, ...] = ()

    @property
    def block(self) -> Block:
        """The block, decoded anew at each request."""
        return decode_block(self.encoded)

    @property
    def header(self) -> Header:
        """Its header."""
        return self.block.header

    @property
    def events(self) -> tuple[ChainEvent, ...]:
        """The events of all receipts, in order."""
        events: list[ChainEvent] = []
        for receipt in map(decode_receipt, self.receipts):
            events += receipt.events if isinstance(receipt, TransactionReceipt) else (receipt.event,)
        return tuple(events)


class BlockResult(ExecutedBlock, Protocol):
    """An executed block with all that is kept of its results, as any layer has it."""

    @property
    def receipts(self) -> tuple[bytes, ...]: ...  # noqa: D102
    @property
    def changes(self) -> Mapping[bytes, bytes | None]: ...  # noqa: D102
    @property
    def summary(self) -> BlockSummary: ...  # noqa: D102
    @property
    def phases(self) -> tuple[PhaseEntry, ...]: ...  # noqa: D102


def final_block(executed: BlockResult, encoded: bytes = b"") -> FinalBlock:
    """Return what is kept of an executed block; `encoded` is the block, if it is at hand."""
    header = executed.header
    return FinalBlock(
        digest=executed.digest,
        encoded=encoded or encode_block(executed.block),
        height=header.height,
        state_root=header.state_root,
        receipts=executed.receipts,
        changes=executed.changes,
        summary=executed.summary,
        phases=executed.phases,
    )


def oracle_block(final: FinalBlock, *, has_tables: bool = True) -> "OracleBlock":
    """Return a final block as the oracle takes it; without tables, receipts and roots alone are compared."""
    from checker.oracle.replay import OracleBlock  # noqa: PLC0415 - only the oracle asks

    return OracleBlock(
        block=final.encoded,
        receipts=final.receipts,
        changes=final.changes if has_tables else None,
        counts=msgspec.structs.asdict(final.summary) if has_tables else {},
        phases=[(entry.phase, entry.counts) for entry in final.phases] if has_tables else None,
    )


class FinalChain(Sequence[FinalBlock]):
    """The final blocks of a run from height 1 on; the block of a height stands at the index below it."""

    def __init__(self) -> None:
        self._hot: list[FinalBlock] = []
        self._entries = 0
        self._cold = SpillingBytes(ColdFile())
        self._ends = array("Q", (0,))

    def __len__(self) -> int:
        return len(self._ends) - 1 + len(self._hot)

    @overload
    def __getitem__(self, index: int) -> FinalBlock: ...
    @overload
    def __getitem__(self, index: slice) -> list[FinalBlock]: ...
    def __getitem__(self, index: int | slice) -> FinalBlock | list[FinalBlock]:
        if isinstance(index, slice):
            return [self._at(place) for place in range(*index.indices(len(self)))]
        return self._at(range(len(self))[index])

    def __iter__(self) -> Iterator[FinalBlock]:
        return map(self._at, range(len(self)))

    @property
    def blocks_in_memory(self) -> int:
        """The number of blocks that are not in the file."""
        return len(self._hot)

    def append(self, block: FinalBlock) -> None:
        """Add the block of the next height."""
        self._hot.append(block)
        self._entries += _entries_of(block)
        if len(self._hot) > HOT_BLOCKS or self._entries > HOT_ENTRIES:
            self._spill()

    def _at(self, place: int) -> FinalBlock:
        cold = len(self._ends) - 1
        if place >= cold:
            return self._hot[place - cold]
        encoded = self._cold.read(self._ends[place], self._ends[place + 1])
        return msgspec.msgpack.decode(encoded, type=FinalBlock)

    def _spill(self) -> None:
        """Write the older half of the blocks in memory, and at least one block."""
        kept = len(self._hot) // 2
        for block in self._hot[: len(self._hot) - kept]:
            self._cold.append(msgspec.msgpack.encode(block))
            self._ends.append(len(self._cold))
            self._entries -= _entries_of(block)
        del self._hot[: len(self._hot) - kept]


def _entries_of(block: FinalBlock) -> int:
    return len(block.receipts) + len(block.changes)
