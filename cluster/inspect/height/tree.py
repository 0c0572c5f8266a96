"""The blocks of a record at one height, final or not, and the part that each replica had in them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from checker.oracle.branches import OracleBranch
from checker.record.branches import BranchIndex
from checker.record.run_directory import BLOCKS, BRANCHES, RecordReader
from checker.record.streams import DamagedRecordError, RootRecord
from network.events import Event, EventRouter, Handlers
from validators.events import (
    DIVERGED,
    BlockExecuted,
    BlockFinalized,
    BlockRolledBack,
    BlockUndone,
    Booted,
    CertificateHeld,
    Halted,
    SnapshotJoined,
    Uncertified,
)
from validators.execution import Block, InvalidEncodingError
from validators.execution.blocks import decode_block


@dataclass(frozen=True, slots=True)
class RecordedBlock:
    """A block that validators executed.

    Attributes:
        digest: Its digest.
        height: Its height.
        parent: The block before it; None where that is genesis.
        is_on_chain: Whether it is one of the record's chain of final blocks.
        read: Reads and decodes the block; raises DamagedRecordError.
        kept_by: A validator that found it valid, or None.
        refused_by: A validator that refused it, or None.
        reason: The reason that the refusing validator gave.
    """

    digest: bytes
    height: int
    parent: "RecordedBlock | None"
    is_on_chain: bool
    read: Callable[[], Block]
    kept_by: int | None = None
    refused_by: int | None = None
    reason: str = ""


class RecordedTree:
    """All blocks of a record, height by height.

    Args:
        reader: The record.
        genesis: The digest of genesis.

    Raises:
        DamagedRecordError: A file cannot be read.
    """

    def __init__(self, reader: RecordReader, genesis: bytes) -> None:
        self._reader = reader
        self._genesis = genesis
        self._chain = [record.digest for record in reader.blocks()]
        # Format 1 has final blocks alone.
        self._branches = BranchIndex(reader.path) if BRANCHES in reader.manifest.files else None

    def levels(self) -> Iterator[list[RecordedBlock]]:
        """Yield the blocks of each height that has any, from 1 on; the record's final block is the first of them."""
        parents: dict[bytes, RecordedBlock | None] = {self._genesis: None}
        height = 0
        while level := self._children(parents, height := height + 1):
            yield level
            parents = {}
            for block in level:
                parents.setdefault(block.digest, block)

    def past_of(self, block: RecordedBlock) -> Iterator[Block]:
        """Yield the blocks that lead to the parent of a block, lowest height first."""
        beside: list[RecordedBlock] = []
        before = block.parent
        while before is not None and not before.is_on_chain:
            beside.append(before)
            before = before.parent
        for record in islice(self._reader.blocks(), 0 if before is None else before.height):
            yield self._decode(record.block, f"{BLOCKS} at height {record.height}")
        for each in reversed(beside):
            yield each.read()

    def _children(self, parents: dict[bytes, RecordedBlock | None], height: int) -> list[RecordedBlock]:
        found: list[RecordedBlock] = []
        final = self._chain[height - 1] if height <= len(self._chain) else b""
        for digest, parent in parents.items():
            for each in () if self._branches is None else self._branches.executed_on(digest):
                is_final = each.digest == final and each.kept_by is not None
                read = partial(self._read_branch, each)
                by = each.kept_by, each.refused_by, each.reason
                found.append(RecordedBlock(each.digest, height, parent, is_final, read, *by))
        if final and not any(each.is_on_chain for each in found):
            # Another process of a run with real disks executed it, or the record is of format 1.
            before = self._chain[height - 2] if height > 1 else self._genesis
            read = partial(self._final_block, height)
            found.append(RecordedBlock(final, height, parents.get(before), is_on_chain=True, read=read))
        return sorted(found, key=lambda each: not each.is_on_chain)

    def _final_block(self, height: int) -> Block:
        record = next(islice(self._reader.blocks(), height - 1, None))
        return self._decode(record.block, f"{BLOCKS} at height {height}")

    def _read_branch(self, branch: OracleBranch) -> Block:
        return self._decode(branch.block(), f"{BRANCHES}, block {branch.digest.hex()[:12]}")

    def _decode(self, encoded: bytes, place: str) -> Block:
        try:
            return decode_block(encoded)
        except InvalidEncodingError as error:
            raise DamagedRecordError(self._reader.path, place, str(error)) from None


@dataclass(slots=True)
class ReplicaAt:
    """The part of a replica at a height, by its events.

    Attributes:
        executed: Its completed executions of blocks of this height, each with its virtual time.
        final: The blocks of this height that became final for it, each with its root and its virtual time.
        left: The blocks of this height that it dropped or rewound.
        refused: The blocks that it refused to certify, or whose claimed root differs from its execution's root.
        joined: The height of a snapshot of this height or above from which it joined; 0 without a snapshot.
        halted: The reason of its final halt; empty if it did not halt, or was restarted.
        finalized: Its greatest final height.
        booted: The greatest final height on its disk at a start.
    """

    executed: list[tuple[int, BlockExecuted]] = field(default_factory=list)
    final: list[tuple[int, BlockFinalized]] = field(default_factory=list)
    left: list[tuple[int, bytes]] = field(default_factory=list)
    refused: list[bytes] = field(default_factory=list)
    joined: int = 0
    halted: str = ""
    finalized: int = 0
    booted: int = 0

    def has_kept(self, digest: bytes) -> bool:
        """Return whether it executed a block and kept it."""
        kept = [each.digest for _, each in self.executed if each.mode != DIVERGED]
        return digest in kept or any(each.digest == digest for _, each in self.final)

    def root_of(self, digest: bytes) -> bytes | None:
        """Return the root that it came to by executing a block, None where it came to none."""
        executed = [each.root for _, each in self.executed if each.digest == digest]
        final = [each.root for _, each in self.final if each.digest == digest]
        return next(iter((*reversed(final), *reversed(executed))), None)


@dataclass(slots=True)
class HeightTrace:
    """The events of a run about a height.

    Attributes:
        height: The height.
        replicas: The part of each replica with an event, by number.
        certificates: By digest and kind of certificate, the replicas that held it, each with its number of signers.
    """

    height: int
    replicas: dict[int, ReplicaAt] = field(default_factory=dict)
    certificates: dict[tuple[bytes, str], dict[int, int]] = field(default_factory=dict)

    def read(self, reader: RecordReader) -> None:
        """Read a log; raises DamagedRecordError."""
        handlers: Handlers = {
            BlockExecuted: self._execute,
            BlockFinalized: self._finalize,
            BlockRolledBack: self._leave,
            BlockUndone: self._leave,
            Uncertified: self._refuse,
            SnapshotJoined: self._join,
            Halted: lambda event, body: setattr(self._of(event), "halted", body.reason),
            Booted: self._boot,
            CertificateHeld: self._hold,
        }
        router = EventRouter(handlers)
        for event in reader.events(handlers):
            router.route(event)

    def _of(self, event: Event) -> ReplicaAt:
        return self.replicas.setdefault(event.node, ReplicaAt())

    def _boot(self, event: Event, body: Booted) -> None:
        replica = self._of(event)
        replica.halted = ""
        replica.booted = max(replica.booted, body.finalized_height)

    def _refuse(self, event: Event, body: Uncertified) -> None:
        self._of(event).refused.append(body.payload)

    def _execute(self, event: Event, body: BlockExecuted) -> None:
        if body.height == self.height:
            self._of(event).executed.append((event.at_us, body))
            if body.mode == DIVERGED:
                self._of(event).refused.append(body.digest)

    def _finalize(self, event: Event, body: BlockFinalized) -> None:
        replica = self._of(event)
        replica.finalized = max(replica.finalized, body.height)
        if body.height == self.height:
            replica.final.append((event.at_us, body))

    def _leave(self, event: Event, body: BlockRolledBack | BlockUndone) -> None:
        if body.height == self.height:
            self._of(event).left.append((event.at_us, body.digest))

    def _join(self, event: Event, body: SnapshotJoined) -> None:
        replica = self._of(event)
        replica.finalized = max(replica.finalized, body.height)
        if body.height >= self.height:
            replica.joined = body.height

    def _hold(self, event: Event, body: CertificateHeld) -> None:
        holders = self.certificates.setdefault((body.payload, body.certificate), {})
        holders[event.node] = max(holders.get(event.node, 0), len(body.signers))


def roots_at(reader: RecordReader, height: int) -> list[RootRecord]:
    """Return the recorded roots of a height, by replica and each once."""
    found = dict.fromkeys(record for record in reader.roots() if record.height == height)
    return sorted(found, key=lambda record: record.node)
