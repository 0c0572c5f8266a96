"""Variants of the state database: the order of its log, its inactivity floor, its bitmap, its trees."""

import dataclasses
from typing import Any, Final

from checker.mutants.mutant import Swap, Variant, swap
from validators.state import activity, database, draft, history, store
from validators.state.draft import Draft
from validators.state.operations import DELETE
from validators.state.view import Layer, View

EARLY_ROADS: Final = (
    'validators={0={apply="certified"}, 1={apply="certified"}, 2={apply="certified"}, 3={apply="certified"}}'
)
"""Four validators apply blocks when they are certified, and take back those that lose."""

LATE_VOTES: Final = (
    'faults={late={kind="rule", action="delay", kinds=["Notarize"], delay_ms=1_700, start_ms=4_000, stop_ms=14_000}}'
)
"""Views are nullified and their blocks certified after all, while the next ones are built beside them."""


TRAFFIC: Final = ('workload.payments={kind="transfers", accounts=6, count=150, every_ms=80}', "chain.slot_ms=500")
"""Blocks beside each other differ in their transactions and their slots: what one leaves behind shows in the other."""


def _created_as_written() -> list[Swap]:
    def write_created(self: Any, made: Any) -> None:
        self.created = list(made)
        self.operations += made.values()
        self.written = self.displaced + self.created
        self.entries = {key: self.base.size + number for number, key in enumerate(self.written)}
        self.flags += b"\1" * len(self.written)

    return [(Draft, "_write_created", write_created)]


def _created_backwards() -> list[Swap]:
    def make(write_created: Any) -> Any:
        def write_created_backwards(self: Any, made: Any) -> None:
            if self.base.size <= 1:
                # Genesis is the same to everybody, or there would be no chain at all.
                write_created(self, made)
                return
            self.created = sorted(made, reverse=True)
            self.operations += map(made.__getitem__, self.created)
            self.written = self.displaced + self.created
            self.entries = {key: self.base.size + number for number, key in enumerate(self.written)}
            self.flags += b"\1" * len(self.written)

        return write_created_backwards

    return [swap(Draft, "_write_created", make)]


def _shorter_raise() -> list[Swap]:
    def make(raise_floor: Any) -> Any:
        return lambda self, steps, pending: raise_floor(self, max(steps - 1, 1), pending)

    return [swap(Draft, "raise_floor", make)]


def _write_all() -> list[Swap]:
    return [(draft, "ne", lambda _one, _other: True)]


def _deletes_stay_active() -> list[Swap]:
    def make(mark_deleted: Any) -> Any:
        def mark_and_keep(self: Any) -> None:
            mark_deleted(self)
            for number, operation in enumerate(self.operations[: len(self.displaced)]):
                if operation[0] == DELETE:
                    self.flags[number] = 1

        return mark_and_keep

    return [swap(Draft, "_mark_deleted", make)]


def _keep_bits_below_the_floor() -> list[Swap]:
    return [(activity, "clear_below_floor", lambda _base, _floor, _read: {})]


def _no_partial_chunk() -> list[Swap]:
    def make(hash_canonical: Any) -> Any:
        return lambda root, grafted_root, _next_bit, _partial: hash_canonical(root, grafted_root, 0, None)

    return [swap(activity, "hash_canonical", make)]


def _fewer_inactive_peaks() -> list[Swap]:
    def make(count_inactive_peaks: Any) -> Any:
        return lambda leaf_count, floor: max(count_inactive_peaks(leaf_count, floor) - 1, 0)

    return [swap(store, "count_inactive_peaks", make)]


def _older_layers_first() -> list[Swap]:
    def make(stack: Any) -> Any:
        def stack_upside_down(self: Any, entries: Any, operations: Any, end: int) -> Any:
            stacked = stack(self, entries, operations, end)
            newest = stacked.layers[0]
            if newest.count == 1:
                return stacked
            merged = dict(newest.entries)
            for layer in self.layers:
                merged.update(layer.entries)
            older = Layer(newest.count, newest.start, newest.end, merged, newest.operations)
            return View(stacked.store, (older, *stacked.layers[1:]))

        return stack_upside_down

    return [swap(View, "stack", make)]


def _stale_flags() -> list[Swap]:
    def make(append_outcome: Any) -> Any:
        def append_without_clearing(committed: Any, outcome: Any, graft: Any) -> None:
            append_outcome(committed, dataclasses.replace(outcome, rewritten=[]), graft)

        return append_without_clearing

    return [swap(database, "append_outcome", make)]


def _restore_no_chunks() -> list[Swap]:
    return [(history, "list_cleared_chunks", lambda _undos: set())]


def _restore_no_flags() -> list[Swap]:
    return [(history, "restore_flags", lambda _store, _undo, _size: None)]


def _restore_created_only() -> list[Swap]:
    def make(restore_locations: Any) -> Any:
        def restore_what_was_created(locations: Any, undos: Any) -> None:
            restore_locations(locations, [dataclasses.replace(undo, displaced=[]) for undo in undos])

        return restore_what_was_created

    return [swap(history, "restore_locations", make)]


def _rebuild_without_clearing() -> list[Swap]:
    def make(replay_operation: Any) -> Any:
        def replay_and_keep(committed: Any, location: int, operation: Any) -> None:
            previous = committed.locations.get(operation.key)
            replay_operation(committed, location, operation)
            if previous is not None:
                committed.flags[previous] = 1

        return replay_and_keep

    return [swap(store, "replay_operation", make)]


STATE: Final = (
    Variant(
        name="created-keys-as-written",
        what="new keys enter the log in the order in which they were written",
        area="state",
        caught_by=("equal-roots",),
        swaps=_created_as_written,
        cause="order",
        shows="operation",
    ),
    Variant(
        name="floor-one-step-short",
        what="the inactivity floor is raised by one operation less",
        area="state",
        caught_by=("equal-roots",),
        swaps=_shorter_raise,
        cause="order",
        shows="operation",
    ),
    Variant(
        name="unchanged-values-written",
        what="a write of the value that is there already makes an operation",
        area="state",
        caught_by=("equal-roots",),
        swaps=_write_all,
        cause="order",
        shows="operation",
    ),
    Variant(
        name="deletes-stay-active",
        what="the operation that deletes a key counts as active",
        area="state",
        caught_by=("equal-roots",),
        swaps=_deletes_stay_active,
        cause="hashing",
        shows="state database",
    ),
    Variant(
        name="bits-below-the-floor",
        what="the bitmap keeps its bits below a floor that rises",
        area="state",
        caught_by=("equal-roots",),
        swaps=_keep_bits_below_the_floor,
        cause="hashing",
        shows="state database",
    ),
    Variant(
        name="partial-chunk-left-out",
        what="the canonical root does not cover the last, partial chunk of the bitmap",
        area="state",
        caught_by=("equal-roots",),
        swaps=_no_partial_chunk,
        cause="hashing",
        shows="state database",
    ),
    Variant(
        name="inactive-peak-forgotten",
        what="one inactive peak of the log's tree less is folded forward",
        area="state",
        caught_by=("equal-roots",),
        swaps=_fewer_inactive_peaks,
        cause="hashing",
        shows="state database",
    ),
    Variant(
        name="inactive-peak-forgotten-by-all",
        what="all validators fold one inactive peak of the log's tree less forward",
        area="state",
        caught_by=("operation-log", "cold-replay", "oracle"),
        swaps=_fewer_inactive_peaks,
        cause="hashing",
        on_all=True,
    ),
    Variant(
        name="created-keys-backwards",
        what="the new keys of a block enter the log in descending order",
        area="state",
        caught_by=("cold-replay", "oracle"),
        swaps=_created_backwards,
        cause="order",
        on_all=True,
    ),
    Variant(
        name="pending-layers-upside-down",
        what="of two pending blocks that wrote a key the older one is read",
        area="state",
        caught_by=("equal-roots", "agreement"),
        swaps=_older_layers_first,
        cause="execution",
    ),
    Variant(
        name="flags-of-rewritten-keys",
        what="a committed operation that a later one replaces stays active in the store",
        area="state",
        caught_by=("equal-roots", "agreement"),
        swaps=_stale_flags,
        cause="order",
        shows="operation",
    ),
    Variant(
        name="bitmap-chunk-not-restored",
        what="taking a block back leaves the chunks of the bitmap as the block made them",
        area="state",
        caught_by=("agreement", "equal-roots", "bitmap"),
        swaps=_restore_no_chunks,
        cause="clean-up",
        needs=(EARLY_ROADS, LATE_VOTES, *TRAFFIC),
        shows="state database|bitmap",
    ),
    Variant(
        name="flags-not-restored",
        what="taking a block back does not make active again what it had replaced",
        area="state",
        caught_by=("agreement", "equal-roots", "bitmap"),
        swaps=_restore_no_flags,
        cause="clean-up",
        needs=(EARLY_ROADS, LATE_VOTES, *TRAFFIC),
        shows="bitmap|indexes|operation|state database",
    ),
    Variant(
        name="index-not-rolled-back",
        what="taking a block back leaves keys where the block had put them",
        area="state",
        caught_by=("agreement", "equal-roots", "live-values"),
        swaps=_restore_created_only,
        cause="clean-up",
        needs=(EARLY_ROADS, LATE_VOTES, *TRAFFIC),
        shows="live-values|indexes|taken back",
    ),
    Variant(
        name="rebuilt-bitmap-not-cleared",
        what="a state rebuilt from its log has every operation active",
        area="state",
        caught_by=("agreement", "finality-regained"),
        swaps=_rebuild_without_clearing,
        cause="hashing",
        shows="CorruptLog|operations|state database",
    ),
)
"""Variants of the state database."""
