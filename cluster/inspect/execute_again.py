"""A recorded block executed again: by one replica's own code over the recorded blocks, or in the repeated run.

Own code means the replica's apply mode and its mutants. A fresh engine has nothing behind it but the blocks. Where the
replica came to something else, its memory made the difference, and only the repeated run has that.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from checker.record.run_directory import RecordReader
from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.model import Scenario
from cluster.verdict.executions import watch_executions
from cluster.verdict.watchdog import Watchdog
from network.collector import rare_collections
from network.events import Event
from validators.execution import (
    Block,
    BlockSummary,
    BrokenOff,
    Executed,
    Genesis,
    InvalidBlockError,
    TransactionReceipt,
    decode_receipt,
)
from validators.execution.blocks import header_digest
from validators.execution.receipts import Receipt
from validators.execution.validity import check_roots
from validators.identity import TransactionVerifier
from validators.settings import ValidatorFactory


class BlockExecution(NamedTuple):
    """The result of executing a block once.

    Attributes:
        block: The block as it was proposed.
        receipts: The receipts in order, up to the end of an aborted execution.
        changes: State key to encoded value, None for a deleted value.
        root: The state root; empty after an aborted execution.
        refusal: The reason for the block's refusal; empty if it is kept.
        summary: The block in numbers; None after an aborted execution.
    """

    block: Block
    receipts: tuple[Receipt, ...]
    changes: Mapping[bytes, bytes | None]
    root: bytes
    refusal: str
    summary: BlockSummary | None

    @property
    def events(self) -> list[msgspec.Struct]:
        """The events of all receipts, in order."""
        found: list[msgspec.Struct] = []
        for receipt in self.receipts:
            found += receipt.events if isinstance(receipt, TransactionReceipt) else (receipt.event,)
        return found


@dataclass(frozen=True, slots=True)
class ExecutionsOfBlock:
    """The executions of a block, refused executions included; see ExecutionObserver."""

    digest: bytes
    found: list[BlockExecution] = field(default_factory=list)

    def executed(self, _node: int, executed: Executed) -> None:
        """Note an execution that came to a root."""
        block = executed.block
        if header_digest(block.header) == self.digest:
            receipts = tuple(map(decode_receipt, executed.receipts))
            refusal = _refusal_of(executed)
            root = executed.header.state_root
            self.found.append(BlockExecution(block, receipts, executed.changes, root, refusal, executed.summary))

    def broken_off(self, _node: int, broken: BrokenOff) -> None:
        """Note an execution that broke off."""
        if header_digest(broken.block.header) == self.digest:
            receipts = tuple(map(decode_receipt, broken.receipts))
            refusal = reason_of(broken.error)
            self.found.append(BlockExecution(broken.block, receipts, broken.changes, b"", refusal, None))


def reason_of(error: Exception) -> str:
    """Return why an execution broke off."""
    return str(error) if isinstance(error, InvalidBlockError) else f"{type(error).__name__}: {error}"


def execute_alone(
    factory: ValidatorFactory,
    genesis: Genesis,
    past: Iterable[Block],
    block: Block,
    *,
    executed: Callable[[Executed], None],
    broken_off: Callable[[BrokenOff], None],
    followed: Callable[[Executed], None] = lambda _executed: None,
) -> None:
    """Execute a block by a replica's own code in an engine without disk and network.

    Args:
        factory: The replica's parts.
        genesis: The chain's genesis.
        past: The blocks that lead to the block's parent, lowest height first.
        block: The block.
        executed: Gets an execution of the block that came to a root.
        broken_off: Gets an aborted execution of the block.
        followed: Gets the executions of the blocks before it.

    Raises:
        Exception: The code refuses a block of the past, or the block itself; a bug in it may raise anything.
    """
    with factory.around():
        layer = factory.layer(genesis, TransactionVerifier())
        for each in past:
            done = layer.execute(each)
            assert isinstance(done, Executed), "every layer of a run is the project's own engine"
            layer.finalize(done.digest)
            followed(done)
        if layer.tables is not None:
            layer.tables.on_executed, layer.tables.on_broken_off = executed, broken_off
        layer.execute(block)


@rare_collections()
def execute_in_run(reader: RecordReader, scenario: Scenario, node: int, digest: bytes) -> list[BlockExecution] | None:
    """Return a replica's executions of a block in the repeated run; None where that is not the recorded run.

    Raises:
        network.outcome.RunFailedError: The test bed itself broke.
    """
    recorded = sum(1 for _ in reader.events())
    seen = 0

    def count(_event: Event) -> None:
        nonlocal seen
        seen += 1
        if seen == recorded - 1:
            # The run then ends with the next event, the last of the record: an interrupted run has no other end.
            cluster.interrupt()

    cluster, executions = Cluster(scenario, reader.manifest.seed), ExecutionsOfBlock(digest)
    watch_executions(cluster, (node,), executions)
    cluster.hooks = RunHooks(on_event=count)
    with Watchdog(lambda: cluster.steps, f"{scenario.name} seed {reader.manifest.seed}"):
        log = bytes(cluster.run().trace.log)
    return executions.found if hashlib.sha256(log).hexdigest() == reader.manifest.digest else None


def _refusal_of(executed: Executed) -> str:
    """Return which root of a block is not that of its execution; empty where all are."""
    try:
        check_roots(executed.block.header, executed.header)
    except InvalidBlockError as error:
        return error.reason
    return ""
