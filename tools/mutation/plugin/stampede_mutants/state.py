"""Mutants of the state database: the order of its log, its floor, its bitmap, its tree, its proofs, and rewinding."""

from functools import partial
from typing import Any, Final

from checker.mutants.mutant import mutant
from stampede_mutants.consensus import SIMPLEX
from validators.state import database, history, store
from validators.state.activity import Activity
from validators.state.draft import Draft

_mutant = partial(mutant, area="state")

REWINDS: Final = (
    SIMPLEX,
    'validators={0={apply="certified"}, 1={apply="certified"}, 2={apply="certified"}, 3={apply="certified"}}',
    'faults={late={kind="rule", action="delay", kinds=["Notarize"], delay_ms=1_700, start_ms=4_000, stop_ms=14_000}}',
    'workload.transfers={kind="transfers", accounts=6, count=150, every_ms=80}',
    "chain.slot_ms=500",
)
"""Four validators apply blocks early and take back the losing ones, which differ in transactions and slots."""


@_mutant((Draft, "raise_floor"), kills=("equal-roots",), cause="order", shows="operation")
def floor_one_step_short(raise_floor: Any) -> Any:
    """The inactivity floor is raised by one operation less."""
    return lambda self, steps, pending: raise_floor(self, max(steps - 1, 1), pending)


@_mutant(
    (store, "count_inactive_peaks"), kills=("operation-log", "cold-replay", "oracle"), cause="hashing", on_all=True
)
def inactive_peak_forgotten_by_all(count_inactive_peaks: Any) -> Any:
    """All validators fold one inactive peak of the log's tree less forward."""
    return lambda leaf_count, floor: max(count_inactive_peaks(leaf_count, floor) - 1, 0)


@_mutant((Draft, "_write_created"), kills=("cold-replay", "oracle"), cause="order", on_all=True)
def created_keys_backwards(write_created: Any) -> Any:
    """The new keys of a block enter the log in descending order."""

    def write_created_backwards(self: Any, made: Any) -> None:
        if self.base.size <= 1:
            # Genesis is the same to every validator, or there would be no chain at all.
            write_created(self, made)
            return
        self.created = sorted(made, reverse=True)
        self.operations += map(made.__getitem__, self.created)
        self.written = self.displaced + self.created
        self.entries = {key: self.base.size + number for number, key in enumerate(self.written)}
        self.flags += b"\1" * len(self.written)

    return write_created_backwards


@_mutant(
    (history, "restore_flags"),
    kills=("agreement", "equal-roots", "bitmap"),
    cause="clean-up",
    needs=REWINDS,
    shows="bitmap|indexes|operation|state database",
)
def flags_not_restored(_original: Any) -> Any:
    """Taking a block back does not make active again what it had replaced."""
    return lambda _store, _undo, _size: None


@_mutant(
    (store, "replay_operation"),
    kills=("agreement", "finality-regained"),
    cause="hashing",
    shows="CorruptLog|operations|state database",
)
def rebuilt_bitmap_not_cleared(replay_operation: Any) -> Any:
    """A state rebuilt from its log has every operation active."""

    def replay_and_keep(committed: Any, location: int, operation: Any) -> None:
        previous = committed.locations.get(operation.key)
        replay_operation(committed, location, operation)
        if previous is not None:
            committed.flags[previous] = 1

    return replay_and_keep


@_mutant((database, "append_outcome"), kills=("live-values", "equal-roots"), cause="execution")
def record_before_the_write(append_outcome: Any) -> Any:
    """Memory keeps the value that a key had before the last write."""

    def append_and_keep(committed: Any, outcome: Any, graft: Any) -> None:
        before = committed.read_operations(outcome.superseded)
        append_outcome(committed, outcome, graft)
        for key, operation in zip(outcome.displaced, before, strict=False):
            if key in committed.locations:
                committed.log[committed.locations[key] - committed.start] = operation

    return append_and_keep


@_mutant((Activity, "prune"), kills=("bitmap",))
def pruned_chunks_stay(_original: Any) -> Any:
    """Pruning keeps the chunks of the bitmap whose operations it forgets."""
    return lambda _self, _before, _start: None


@_mutant((database, "prove_operation"), kills=("proofs",))
def proof_of_the_operation_before(prove: Any) -> Any:
    """Asked for the proof of an operation, a validator proves the one before it."""
    return lambda store, location: prove(store, max(location - 1, store.start))
