"""A height of a record with all that is known of it, and its blocks executed by the code of single replicas."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from checker.record.cold_replay import load_genesis
from checker.record.errors import ReportedError
from checker.record.fingerprint import CodeChangedError
from checker.record.manifest import SCENARIO
from checker.record.run_directory import EVENTS, GENESIS, RecordReader, RootRecord
from checker.record.streams import DamagedRecordError
from cluster.inspect.execute_again import BlockExecution, ExecutionsOfBlock, execute_alone, execute_in_run, reason_of
from cluster.inspect.height.names import address_names
from cluster.inspect.height.rows import BlockScene
from cluster.inspect.height.timers import BlockPast
from cluster.inspect.height.tree import HeightTrace, RecordedBlock, RecordedTree, ReplicaAt, roots_at
from cluster.runtime.replicas import factories_of, place_mutants
from cluster.scenario.load import decode_scenario
from cluster.scenario.model import Scenario
from cluster.verdict.replay import describe_change, is_made_by_this_code, naming_changed_code
from validators.execution import Genesis, InvalidGenesisError
from validators.settings import ValidatorFactory, make_engine

ALONE: Final = "executed again from genesis"
IN_RUN: Final = "from the repeated run"
"""Where an execution comes from."""


class ShowError(ReportedError):
    """A height, block or replica that a record does not have; the message says which there are."""


class RanBlock(NamedTuple):
    """An execution of a block by a replica's code, with the chain before it."""

    node: int
    source: str
    execution: BlockExecution
    past: BlockPast


class _Alone(NamedTuple):
    """The result of a replica's code alone; without an execution where it stops before the block, with the reason."""

    execution: BlockExecution | None
    past: BlockPast
    broken: str


@dataclass(slots=True)
class RecordedHeight:
    """A height of a record.

    Attributes:
        reader: The record.
        scenario: Its scenario.
        height: The height.
        last: The last height that the record has a block of.
        blocks: The blocks of the height, the record's final block first.
        trace: The part of each replica, by the events.
        roots: The final blocks of the height with their roots, by replica.
        scene: The chain, and the names of its addresses.
        notes: Sentences about what could not be shown.
    """

    reader: RecordReader
    scenario: Scenario
    height: int
    last: int
    blocks: list[RecordedBlock]
    trace: HeightTrace
    roots: list[RootRecord]
    scene: BlockScene
    tree: RecordedTree
    notes: list[str] = field(init=False, default_factory=list)
    _factories: dict[int, ValidatorFactory] = field(init=False)

    def __post_init__(self) -> None:
        mutants = place_mutants(self.scenario)
        self._factories = factories_of(self.scenario, mutants, {}, is_sharing=False)

    def replica(self, node: int) -> ReplicaAt:
        """Return a replica's part in the height; empty if it had no part."""
        return self.trace.replicas.get(node, ReplicaAt())

    def root_of(self, node: int, block: RecordedBlock) -> bytes | None:
        """Return the root that a replica came to by executing a block, None where the record has none."""
        # A run that went on with real disks has no event of what lay there.
        final = (root.root for root in self.roots if (root.node, root.digest) == (node, block.digest))
        return next(final, None) or self.replica(node).root_of(block.digest)

    def mutants_of(self, node: int) -> list[str]:
        """Return the mutants that a replica holds."""
        return [name for name, nodes in self.scenario.mutants.items() if node in nodes]

    def final_on(self, digest: bytes) -> list[int]:
        """Return the replicas for which a block is final."""
        return [root.node for root in self.roots if root.digest == digest]

    def refused_by(self, block: RecordedBlock) -> list[int]:
        """Return the replicas that refused a block, as far as the record says so."""
        nodes = [node for node, part in self.trace.replicas.items() if block.digest in part.refused]
        nodes += [] if block.refused_by is None else [block.refused_by]
        return sorted(dict.fromkeys(nodes))

    def executed_by(self, block: RecordedBlock) -> list[int]:
        """Return the replicas that executed a block and kept it."""
        return sorted(node for node, part in self.trace.replicas.items() if part.has_kept(block.digest))

    def executor_of(self, block: RecordedBlock) -> int:
        """Return the replica whose code executes a block by default.

        First come replicas for which the block is final, then replicas that kept or refused it. Honest replicas come
        before Byzantine replicas, and replicas without a mutant before replicas with a mutant.
        """
        nodes = self.final_on(block.digest) or self.honest(self.executed_by(block))
        nodes = nodes or self.honest(self.refused_by(block)) or self.executed_by(block) or [0]
        return min(nodes, key=lambda node: (bool(self.mutants_of(node)), node))

    def honest(self, nodes: Iterable[int]) -> list[int]:
        """Return the replicas that are not Byzantine, among some replicas."""
        return [node for node in nodes if node not in self.scenario.byzantine]

    def run(self, block: RecordedBlock, node: int) -> RanBlock:
        """Execute a block by a replica's code; if the result contradicts the record, repeat the run.

        Raises:
            CodeChangedError: Other code wrote the record, and this code executes the block otherwise.
            DamagedRecordError: The record cannot be read.
            ShowError: The replica's code does not get to the block.
        """
        alone = self._run_alone(block, node)
        root, is_refused = self.root_of(node, block), node in self.refused_by(block)
        if alone.execution is None and root is None and not is_refused:
            raise ShowError(f"{self.reader.path}, height {self.height}: {_why_stopped(node, alone)}")
        if alone.execution is None or not _is_same(alone.execution, root, is_refused=is_refused):
            return self._run_in_run(block, node, alone)
        if root is None and not is_refused:
            self.notes.append(f"the record has no execution of this block by replica {node}; its code does this")
        return RanBlock(node, ALONE, alone.execution, alone.past)

    def _run_alone(self, block: RecordedBlock, node: int) -> _Alone:
        past, found, broken = BlockPast(self.scene.genesis), ExecutionsOfBlock(block.digest), ""
        try:
            execute_alone(
                self._factories[node],
                self.scene.genesis,
                self.tree.past_of(block),
                block.read(),
                executed=lambda executed: found.executed(node, executed),
                broken_off=lambda each: found.broken_off(node, each),
                followed=past.follow,
            )
        except DamagedRecordError:
            raise
        except Exception as error:  # noqa: BLE001 - a refusal, or a bug of the replica's code: what it came to counts
            broken = reason_of(error)
        return _Alone(found.found[0] if found.found else None, past, broken)

    def _run_in_run(self, block: RecordedBlock, node: int, alone: _Alone) -> RanBlock:
        """Return the execution of the repeated run, or, without it, the lone execution."""
        execution, past, broken = alone
        if not is_made_by_this_code(self.reader):
            what = broken or "another root"
            raise CodeChangedError(f"{describe_change(self.reader)}; executing height {self.height} gives: {what}")
        if execution is None:
            self.notes.append(f"alone, {_why_stopped(node, alone)}; timers that were scheduled later are not known")
        else:
            had = execution.refusal or f"state root {execution.root.hex()}"
            self.notes.append(f"alone, the code of replica {node} comes to another result: {had}")
        root, executions = self.root_of(node, block), self._executions(block, node)
        if executions:
            found = next((each for each in reversed(executions) if each.root == root), executions[-1])
            return RanBlock(node, IN_RUN, found, past)
        if execution is None:
            raise ShowError(f"{self.reader.path}, height {self.height}: {_why_stopped(node, alone)}")
        self.notes.append(f"the run cannot be repeated for the execution of replica {node}; alone, its code does this")
        return RanBlock(node, ALONE, execution, past)

    def _executions(self, block: RecordedBlock, node: int) -> list[BlockExecution]:
        """Return a replica's executions of a block in the repeated run; none where that is not the recorded run."""
        # A run that went on with real disks began with what an earlier process had left there.
        if self.reader.verdict().get("reopened"):
            return []
        return execute_in_run(self.reader, self.scenario, node, block.digest) or []


def read_height(reader: RecordReader, height: int, *, is_foreign: bool = False) -> RecordedHeight:
    """Return a height of a record; of the record of an application, which has final blocks alone, if `is_foreign`.

    Raises:
        CodeChangedError: Other code wrote the record, and this code cannot read it.
        DamagedRecordError: The record cannot be read.
        ShowError: The record has no such height.
    """
    with naming_changed_code(reader):
        scenario = decode_scenario(reader.scenario(), str(reader.path / SCENARIO))
        genesis = load_genesis(reader.path)
        # The genesis block of an application has no blocks above it but the final block of height 1.
        tree = RecordedTree(reader, b"" if is_foreign else _genesis_digest(reader, genesis))
        blocks, last = _blocks_at(reader, tree, height, is_foreign=is_foreign)
        trace = HeightTrace(height)
        trace.read(reader)
        roots = roots_at(reader, height)
        _refuse_foreign(reader, scenario, [*trace.replicas, *(root.node for root in roots)])
    return RecordedHeight(
        reader=reader,
        scenario=scenario,
        height=height,
        last=last,
        blocks=blocks,
        trace=trace,
        roots=roots,
        scene=BlockScene(genesis, address_names(scenario)),
        tree=tree,
    )


def _genesis_digest(reader: RecordReader, genesis: Genesis) -> bytes:
    try:
        return make_engine(genesis, lambda _transaction: False).genesis_digest
    except InvalidGenesisError as error:
        raise DamagedRecordError(reader.path, GENESIS, str(error)) from None


def _refuse_foreign(reader: RecordReader, scenario: Scenario, nodes: Iterable[int]) -> None:
    """Raise DamagedRecordError where events or roots are of a replica that the scenario does not have."""
    last = max(nodes, default=0)
    if last >= scenario.replicas:
        found = f"events or roots are of replica {last}; its {SCENARIO} has replicas 0 to {scenario.replicas - 1}"
        raise DamagedRecordError(reader.path, EVENTS, found)


def _blocks_at(
    reader: RecordReader, tree: RecordedTree, height: int, *, is_foreign: bool
) -> tuple[list[RecordedBlock], int]:
    """Return the blocks of a height, and the last height of a record; raises ShowError."""
    last = 0
    found: list[RecordedBlock] = []
    for last, level in enumerate(tree.levels(), start=1):
        found = level if last == height else found
    alone = "; of an application a record has final blocks alone, and `explain` tells of others" if is_foreign else ""
    if not last:
        when = "before one was final" if is_foreign else "before one was executed"
        raise ShowError(f"{reader.path} has no blocks: the run ended {when}{alone}")
    if not found:
        raise ShowError(f"{reader.path} has no block at height {height}; it has heights 1 to {last}{alone}")
    return found, last


def _why_stopped(node: int, alone: _Alone) -> str:
    return f"the code of replica {node} stops behind height {alone.past.height}: {alone.broken}"


def _is_same(alone: BlockExecution, root: bytes | None, *, is_refused: bool) -> bool:
    """Return whether an execution is what the record says of a replica, or the record says nothing."""
    if root is not None:
        return alone.root == root
    return bool(alone.refusal) or not is_refused
