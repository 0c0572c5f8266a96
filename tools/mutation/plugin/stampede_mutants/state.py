"""Mutants of the state database: the order of its log, its inactivity floor, its bitmap, its trees."""

import dataclasses
from functools import partial
from typing import Any, Final

from checker.mutants.mutant import mutant
from stampede_mutants.consensus import SIMPLEX
from validators.state import activity, database, draft, history, store
from validators.state.draft import Draft
from validators.state.operations import DELETE
from validators.state.view import Layer, StateView

_mutant = partial(mutant, area="state")

EARLY_APPLY: Final = (
    'validators={0={apply="certified"}, 1={apply="certified"}, 2={apply="certified"}, 3={apply="certified"}}'
)
"""Four validators apply blocks when they are certified, and take back those that lose."""

LATE_VOTES: Final = (
    'faults={late={kind="rule", action="delay", kinds=["Notarize"], delay_ms=1_700, start_ms=4_000, stop_ms=14_000}}'
)
"""Views are nullified and their blocks certified after all, while the next ones are built beside them."""


TRAFFIC: Final = ('workload.transfers={kind="transfers", accounts=6, count=150, every_ms=80}', "chain.slot_ms=500")
"""Blocks beside each other differ in their transactions and their slots: what one leaves behind shows in the other."""


@_mutant((Draft, "raise_floor"), kills=("equal-roots",), cause="order", shows="operation")
def floor_one_step_short(raise_floor: Any) -> Any:
    """The inactivity floor is raised by one operation less."""
    return lambda self, steps, pending: raise_floor(self, max(steps - 1, 1), pending)


@_mutant((draft, "ne"), kills=("equal-roots",), cause="order", shows="operation")
def unchanged_values_written(_original: Any) -> Any:
    """A write of the value that is there already makes an operation."""
    return lambda _one, _other: True


@_mutant((Draft, "_mark_deleted"), kills=("equal-roots",), cause="hashing", shows="state database")
def deletes_stay_active(mark_deleted: Any) -> Any:
    """The operation that deletes a key counts as active."""

    def mark_and_keep(self: Any) -> None:
        mark_deleted(self)
        for number, operation in enumerate(self.operations[: len(self.displaced)]):
            if operation[0] == DELETE:
                self.flags[number] = 1

    return mark_and_keep


@_mutant((activity, "clear_below_floor"), kills=("equal-roots",), cause="hashing", shows="state database")
def bits_below_the_floor(_original: Any) -> Any:
    """The bitmap keeps its bits below a floor that rises."""
    return lambda _base, _floor, _read: {}


@_mutant((activity, "hash_canonical"), kills=("equal-roots",), cause="hashing", shows="state database")
def partial_chunk_left_out(hash_canonical: Any) -> Any:
    """The canonical root does not cover the last, partial chunk of the bitmap."""
    return lambda root, grafted_root, _next_bit, _partial: hash_canonical(root, grafted_root, 0, None)


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


@_mutant((StateView, "stack"), kills=("equal-roots", "agreement"), cause="execution")
def pending_layers_upside_down(stack: Any) -> Any:
    """Of two pending blocks that wrote a key the older one is read."""

    def stack_upside_down(self: Any, entries: Any, operations: Any, end: int) -> Any:
        stacked = stack(self, entries, operations, end)
        newest = stacked.layers[0]
        if newest.count == 1:
            return stacked
        merged = dict(newest.entries)
        for layer in self.layers:
            merged.update(layer.entries)
        older = Layer(newest.count, newest.start, newest.end, merged, newest.operations)
        return StateView(stacked.store, (older, *stacked.layers[1:]))

    return stack_upside_down


@_mutant((database, "append_outcome"), kills=("equal-roots", "agreement"), cause="order", shows="operation")
def flags_of_rewritten_keys(append_outcome: Any) -> Any:
    """A committed operation that a later one replaces stays active in the store."""

    def append_without_clearing(committed: Any, outcome: Any, graft: Any) -> None:
        append_outcome(committed, dataclasses.replace(outcome, rewritten=[]), graft)

    return append_without_clearing


@_mutant(
    (history, "list_cleared_chunks"),
    kills=("agreement", "equal-roots", "bitmap"),
    cause="clean-up",
    needs=(SIMPLEX, EARLY_APPLY, LATE_VOTES, *TRAFFIC),
    shows="state database|bitmap",
)
def bitmap_chunk_not_restored(_original: Any) -> Any:
    """Taking a block back leaves the chunks of the bitmap as the block made them."""
    return lambda _undos: set()


@_mutant(
    (history, "restore_flags"),
    kills=("agreement", "equal-roots", "bitmap"),
    cause="clean-up",
    needs=(SIMPLEX, EARLY_APPLY, LATE_VOTES, *TRAFFIC),
    shows="bitmap|indexes|operation|state database",
)
def flags_not_restored(_original: Any) -> Any:
    """Taking a block back does not make active again what it had replaced."""
    return lambda _store, _undo, _size: None


@_mutant(
    (history, "restore_locations"),
    kills=("agreement", "equal-roots", "live-values"),
    cause="clean-up",
    needs=(SIMPLEX, EARLY_APPLY, LATE_VOTES, *TRAFFIC),
    shows="live-values|indexes|taken back",
)
def index_not_rolled_back(restore_locations: Any) -> Any:
    """Taking a block back leaves keys where the block had put them."""

    def restore_what_was_created(locations: Any, undos: Any) -> None:
        restore_locations(locations, [dataclasses.replace(undo, displaced=[]) for undo in undos])

    return restore_what_was_created


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
