"""The executed blocks of a run: noted as validators execute them, kept in the record, read by the oracle by parent.

Memory holds a small entry for each block; its bytes stand in branches.msgpack and are read when the oracle asks.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from checker.record.run_directory import BRANCHES, read_branches
from checker.record.streams import BLOCK_RECORD_BYTES_MAX, NATIVE_TYPES, BranchRecord, open_file, unpacker_of
from validators.execution import Block, BrokenOff, Executed, InvalidBlockError
from validators.execution.blocks import encode_block, header_digest

if TYPE_CHECKING:
    from checker.oracle.branches import OracleBranch


class ExecutedBlocks:
    """Each block once as kept and once as refused; `pending` has the blocks not yet written.

    The order of validators that execute a block at the same virtual time is not fixed, and must not show. So the
    execution of the validator with the lowest number counts, and a batch is sorted.
    """

    def __init__(self) -> None:
        self._written: dict[tuple[bytes, bool], None] = {}
        self.pending: dict[tuple[bytes, bool], BranchRecord] = {}

    def executed(self, node: int, executed: Executed) -> None:
        """Note an execution: the block is kept where its result matches its header."""
        block, digest = executed.block, header_digest(executed.block.header)
        if digest == executed.digest:
            self._note((digest, True), node, block)
        else:
            self._refuse(node, block, "its roots are not those that executing it gives")

    def broken_off(self, node: int, broken: BrokenOff) -> None:
        """Note a block that breaks a rule; an execution stopped by an error in the code is not the block's fault."""
        if isinstance(broken.error, InvalidBlockError):
            self._refuse(node, broken.block, broken.error.reason)

    def take(self) -> list[BranchRecord]:
        """Return the blocks that were noted since the last time."""
        self._written |= dict.fromkeys(self.pending)
        taken = sorted(self.pending.values(), key=lambda record: (record.digest, record.refusal, record.node))
        self.pending = {}
        return taken

    def _refuse(self, node: int, block: Block, reason: str) -> None:
        self._note((_identity(encode_block(block)), False), node, block, reason)

    def _note(self, key: tuple[bytes, bool], node: int, block: Block, reason: str = "") -> None:
        before = self.pending.get(key)
        if key not in self._written and (before is None or node < before.node):
            digest = header_digest(block.header)
            self.pending[key] = BranchRecord(block.header.parent, digest, node, reason, encode_block(block))


@dataclass(slots=True)
class _Entry:
    """One block: its digest, a function that reads it, and the validators that kept and refused it."""

    digest: bytes
    read: Callable[[], bytes]
    kept_by: int | None = None
    refused_by: int | None = None
    reason: str = ""


class BlocksByParent:
    """Executed blocks by their parents."""

    def __init__(self) -> None:
        self._by_parent: dict[bytes, dict[bytes, _Entry]] = {}

    def add(self, record: BranchRecord, read: Callable[[], bytes]) -> None:
        """Add a record, whose block `read` reads when the oracle asks for it."""
        siblings = self._by_parent.setdefault(record.parent, {})
        # A refused block need not hold the transactions of its header.
        entry = siblings.setdefault(_identity(record.block), _Entry(record.digest, read))
        if record.refusal:
            entry.refused_by, entry.reason = record.node, record.refusal
        else:
            entry.kept_by = record.node

    def on(self, parent: bytes) -> "Iterator[OracleBranch]":
        """Yield the blocks that were executed on a parent, in the order of their first execution."""
        from checker.oracle.branches import OracleBranch  # noqa: PLC0415 - only the oracle asks

        for entry in self._by_parent.get(parent, {}).values():
            yield OracleBranch(entry.digest, entry.read, entry.kept_by, entry.refused_by, entry.reason)


class BranchIndex:
    """The executed blocks of a run directory by their parents.

    Raises:
        DamagedRecordError: The file cannot be read.
    """

    def __init__(self, directory: Path) -> None:
        self._directory: Final = directory
        blocks = BlocksByParent()
        for offset, record in read_branches(directory):
            blocks.add(record, partial(self._read, offset))
        self.executed_on: Final = blocks.on
        """Yields the blocks that were executed on a parent."""

    def _read(self, offset: int) -> bytes:
        with open_file(self._directory, BRANCHES) as opened:
            opened.seek(offset)
            record = next(iter(unpacker_of(opened, BLOCK_RECORD_BYTES_MAX)))
        return msgspec.convert(record, BranchRecord, builtin_types=NATIVE_TYPES).block


def _identity(encoded: bytes) -> bytes:
    return hashlib.sha256(encoded).digest()
