"""The roads by which a replica comes to the state of the winning branch; all roads must lead to the same state.

Each road is a function of a fork. It returns its final state, and how many blocks it dropped, undid or executed again
on the way. A road that moved no block has shown nothing.
"""

import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from checker.checks.oracle import consult_oracle
from checker.record.cold_replay import ColdReplayer
from checker.record.run_directory import RecordWriter
from cluster.reorgs.fork import BLOCKS_AFTER, Fork
from cluster.scenario.load import encode_scenario
from scheduler import MAX_U63
from validators.execution import Engine, Executed
from validators.execution.block_tree import ApplyMode, Reapply
from validators.execution.blocks import encode_block, encode_header
from validators.identity import TransactionVerifier
from validators.restored import EMPTY_LOG, RestoredLog, StateBase
from validators.settings import make_engine


class EndState(NamedTuple):
    """The state at the end of a road: its root, all values, heights with waiting timers, and the audit's findings.

    Heights and audit are taken from the replica's memory; a road that ends in another process has none.
    """

    root: bytes
    values: Mapping[bytes, bytes]
    heights: tuple[int, ...] | None = None
    deviations: tuple[str, ...] = ()


class RoadResult(NamedTuple):
    """The end of a road, the blocks that moved on it, the expected number, and a failure or a gap in words."""

    end: EndState | None
    moved: int
    expected: int
    failure: str = ""
    missing: str = ""


@dataclass(frozen=True, slots=True)
class ReplayProcess:
    """The process that the road `cold-replay` goes through, and its hash seed."""

    replay: ColdReplayer
    hash_seed: int


Road = Callable[[Fork, ReplayProcess], RoadResult]


def never_saw_the_fork(fork: Fork, _process: ReplayProcess) -> RoadResult:
    """Execute the final chain alone, each block final immediately: every other road is compared with this state."""
    engine = _engine(fork)
    _follow(engine, fork.chain)
    return RoadResult(_end_of(engine), len(fork.winning), len(fork.winning))


def drop_speculative(fork: Fork, _process: ReplayProcess) -> RoadResult:
    """Execute both branches above the pivot, apply neither; drop the abandoned branch when the other is final."""
    engine = _engine(fork)
    _follow(engine, fork.trunk)
    _execute(engine, fork.abandoned)
    _execute(engine, fork.winning)
    outcome = engine.finalize(fork.winning[-1].digest)
    return RoadResult(_end_of(engine), len(outcome.dropped), fork.depth)


def rewind_applied(fork: Fork, _process: ReplayProcess) -> RoadResult:
    """Apply the abandoned branch as it is certified, and rewind all of it for the winning branch."""
    engine = _engine(fork, _applying_early(fork))
    _follow(engine, fork.trunk)
    _certify(engine, fork.abandoned)
    _certify(engine, fork.winning)
    undone = len(engine.take_undone())
    engine.finalize(fork.winning[-1].digest)
    return RoadResult(_end_of(engine), undone, fork.depth)


def go_back_and_come_again(fork: Fork, _process: ReplayProcess) -> RoadResult:
    """Rewind for the winning branch, return to the abandoned branch, come again: each block is executed again."""
    engine = _engine(fork, _applying_early(fork, reapply="execute"))
    _follow(engine, fork.trunk)
    for branch in (fork.abandoned, fork.winning, fork.abandoned, fork.winning):
        _certify(engine, branch)
    executed_again = len(engine.take_reexecuted())
    engine.finalize(fork.winning[-1].digest)
    return RoadResult(_end_of(engine), executed_again, fork.depth + len(fork.winning))


def write_again(fork: Fork, _process: ReplayProcess) -> RoadResult:
    """Rewind for the winning branch, return to the abandoned branch, come again: writes come from memory."""
    engine = _engine(fork, _applying_early(fork))
    _follow(engine, fork.trunk)
    for branch in (fork.abandoned, fork.winning, fork.abandoned, fork.winning):
        _certify(engine, branch)
    undone = len(engine.take_undone())
    engine.finalize(fork.winning[-1].digest)
    return RoadResult(_end_of(engine), undone, 2 * fork.depth + len(fork.winning))


def join_from_snapshot(fork: Fork, _process: ReplayProcess) -> RoadResult:
    """Restore the pivot's state from a snapshot of a replica that has rewound to it; execute the winning branch."""
    source = _engine(fork, _applying_early(fork))
    _follow(source, fork.trunk)
    _certify(source, fork.abandoned)
    base = StateBase(encode_header(fork.trunk[-1].header), source.snapshot())
    joiner = _engine(fork, log=RestoredLog(msgspec.msgpack.encode(base)))
    _follow(joiner, fork.winning)
    return RoadResult(_end_of(joiner), len(fork.winning), len(fork.winning))


def replay_from_genesis(fork: Fork, process: ReplayProcess) -> RoadResult:
    """Execute the final chain from genesis in another process with another hash seed."""
    with tempfile.TemporaryDirectory() as place, RecordWriter(Path(place) / "fork", fork.scenario.plugins) as writer:
        _write(fork, writer)
        replayed = process.replay(writer.directory, process.hash_seed)
    if replayed.error:
        return RoadResult(None, 0, len(fork.winning), replayed.error)
    end = EndState(replayed.roots[-1], replayed.values[len(fork.chain)])
    return RoadResult(end, len(replayed.roots) - 1 - len(fork.trunk), len(fork.winning))


def ask_the_oracle(fork: Fork, _process: ReplayProcess) -> RoadResult:
    """Have the oracle, which shares no code with the engine, execute both chains: each block as if it were final."""
    compared = 0
    for branch in (fork.abandoned, fork.winning):
        result = consult_oracle(fork.genesis, fork.trunk + branch)
        if result.status == "failed":
            return RoadResult(None, compared, fork.depth + len(fork.winning), result.summary)
        if result.status == "inconclusive":
            return RoadResult(None, compared, fork.depth + len(fork.winning), missing=result.summary)
        compared += len(branch)
    return RoadResult(None, compared, fork.depth + len(fork.winning))


ROADS: Final[Mapping[str, Road]] = {
    "fresh": never_saw_the_fork,
    "drop": drop_speculative,
    "rewind": rewind_applied,
    "rewrite": write_again,
    "execute-again": go_back_and_come_again,
    "snapshot": join_from_snapshot,
    "cold-replay": replay_from_genesis,
    "oracle": ask_the_oracle,
}
"""Every road by name; all others are compared with the first."""


def _engine(fork: Fork, mode: ApplyMode | None = None, *, log: RestoredLog = EMPTY_LOG) -> Engine:
    return make_engine(fork.genesis, TransactionVerifier(), log, apply_mode=mode)


def _applying_early(fork: Fork, reapply: Reapply = "write") -> ApplyMode:
    """Return the mode that applies certified blocks and can rewind all of either branch."""
    retained = fork.depth + BLOCKS_AFTER
    return ApplyMode(apply="certified", retain_blocks=retained, prune_every=0, reapply=reapply)


def _follow(engine: Engine, chain: Iterable[Executed]) -> None:
    """Execute blocks, each final immediately."""
    for executed in chain:
        engine.finalize(engine.execute(executed.block).digest)


def _execute(engine: Engine, branch: Iterable[Executed]) -> None:
    for executed in branch:
        engine.execute(executed.block)


def _certify(engine: Engine, branch: Iterable[Executed]) -> None:
    """Execute blocks that are not yet executed, each certified immediately."""
    for executed in branch:
        engine.certify(engine.execute(executed.block).digest)


def _end_of(engine: Engine) -> EndState:
    audit = engine.audit()
    deviations = tuple(f"{each.structure}, {each.place}: {each.kept}, not {each.expected}" for each in audit.deviations)
    heights = tuple(engine.due_heights(MAX_U63))
    return EndState(engine.database.canonical_root, dict(engine.live_values()), heights, deviations)


def _write(fork: Fork, writer: RecordWriter) -> None:
    """Write the part of a run directory that a replay reads."""
    writer.write_scenario(encode_scenario(fork.scenario))
    writer.write_genesis(msgspec.msgpack.encode(fork.genesis))
    for executed in fork.chain:
        header = executed.header
        writer.add_block(
            height=header.height, digest=executed.digest, root=header.state_root, block=encode_block(executed.block)
        )
    writer.flush()
