"""Variants of what a validator does with its disk: syncing too late, writing too little, reading back too little."""

from typing import Any, Final

import msgspec

from checker.mutants.consensus import POWER_CUTS
from checker.mutants.mutant import Swap, Variant, swap
from validators.consensus.simplex import decode_artifact
from validators.consensus.simplex.recovery import artifact_view
from validators.execution import engine
from validators.storage import Barrier
from validators.storage.files import FinalizedLog
from validators.storage.journal import Journal

SLOW_DISK: Final = "costs.sync_us=200_000"
"""A fifth of a second passes before what was written is durable."""

PRUNED_SOON: Final = "consensus.view_retention=2"
"""The journal is pruned for the first time when view 5 is final."""

RESTARTS: Final = (
    "faults={"
    'first={kind="crash", validator=0, at_ms=5_000, restart_ms=6_000},'
    'second={kind="crash", validator=1, at_ms=8_000, restart_ms=9_000},'
    'third={kind="crash", validator=2, at_ms=11_000, restart_ms=12_000},'
    'fourth={kind="crash", validator=3, at_ms=14_000, restart_ms=15_000}}'
)
"""Each of four validators comes back from its disk once."""


def _act_before_the_sync() -> list[Swap]:
    def make(then: Any) -> Any:
        def act_and_sync(self: Any, action: Any) -> None:
            action()
            then(self, lambda: None)

        return act_and_sync

    return [swap(Barrier, "then", make)]


def _count_unsynced() -> list[Swap]:
    def make(finish: Any) -> Any:
        def finish_all(self: Any, point: Any) -> None:
            finish(self, point._replace(appended_bytes=self._disk.appended_bytes))

        return finish_all

    return [swap(Barrier, "finish", make)]


def _write_one_copy() -> list[Swap]:
    def make(append: Any) -> Any:
        def append_to_the_first(self: Any, artifact: Any) -> None:
            copies, self._copies = self._copies, self._copies[:1]
            append(self, artifact)
            self._copies = copies

        return append_to_the_first

    return [swap(Journal, "append", make)]


def _prune_a_view_more() -> list[Swap]:
    def make(prune: Any) -> Any:
        def prune_a_view_more(self: Any, floor: Any, *, keep: Any) -> None:
            lowest_view = min(_view_of(artifact) for artifact in self.artifacts if keep(artifact))
            prune(self, floor, keep=lambda artifact: keep(artifact) and _view_of(artifact) > lowest_view)

        return prune_a_view_more

    return [swap(Journal, "prune", make)]


def _forget_the_floor() -> list[Swap]:
    def make(recover: Any) -> Any:
        def recover_from_below(self: Any, expected: Any) -> Any:
            contents = recover(self, expected)
            if not contents.head.floor:
                return contents
            floor_view = _view_of(contents.head.floor)
            below = [artifact for artifact in contents.artifacts if _view_of(artifact) < floor_view]
            return contents._replace(head=msgspec.structs.replace(contents.head, floor=b""), artifacts=below)

        return recover_from_below

    return [swap(Journal, "recover", make)]


def _view_of(artifact: bytes) -> int:
    return artifact_view(decode_artifact(artifact))


def _log_without_the_first() -> list[Swap]:
    def make(append: Any) -> Any:
        def append_the_rest(self: Any, entry: Any) -> None:
            append(self, msgspec.structs.replace(entry, operations=entry.operations[1:]))

        return append_the_rest

    return [swap(FinalizedLog, "append", make)]


def _lose_the_journal() -> list[Swap]:
    return [swap(Journal, "recover", lambda recover: lambda self, head: recover(self, head)._replace(artifacts=[]))]


def _forget_the_last_entry() -> list[Swap]:
    def make(recover: Any) -> Any:
        def recover_all_but_one(self: Any) -> Any:
            contents = recover(self)
            return contents._replace(entries=contents.entries[:-1])

        return recover_all_but_one

    return [swap(FinalizedLog, "recover", make)]


def _index_without_the_last() -> list[Swap]:
    def make(scan_buckets: Any) -> Any:
        return lambda items: dict(list(scan_buckets(items).items())[:-1])

    return [swap(engine, "scan_buckets", make)]


STORAGE: Final = (
    Variant(
        name="acts-before-the-sync",
        what="votes leave and blocks are applied before what they rest on is durable",
        area="storage",
        caught_by=("write-ahead",),
        swaps=_act_before_the_sync,
    ),
    Variant(
        name="sync-covers-too-much",
        what="a sync counts for what was written while it was under way",
        area="storage",
        caught_by=("write-ahead",),
        swaps=_count_unsynced,
        needs=(SLOW_DISK,),
    ),
    Variant(
        name="journal-in-one-copy",
        what="votes and certificates are written to one of the two copies of the journal",
        area="storage",
        caught_by=("write-ahead",),
        swaps=_write_one_copy,
    ),
    Variant(
        name="journal-not-read",
        what="a restart begins consensus anew although the journal has its votes",
        area="storage",
        caught_by=("write-ahead",),
        swaps=_lose_the_journal,
        needs=(POWER_CUTS,),
    ),
    Variant(
        name="journal-pruned-a-view-too-far",
        what="pruning drops the votes and certificates of one view more than it may",
        area="storage",
        caught_by=("vote-rules",),
        swaps=_prune_a_view_more,
        needs=(PRUNED_SOON,),
    ),
    Variant(
        name="restart-below-the-floor",
        what="a restart does not know the floor of its journal, and votes again in views that were final",
        area="storage",
        caught_by=("vote-rules",),
        swaps=_forget_the_floor,
        needs=(PRUNED_SOON, RESTARTS),
    ),
    Variant(
        name="log-entry-cut",
        what="the first operation of each block is missing in the log on the disk",
        area="storage",
        caught_by=("live-values", "operation-log"),
        swaps=_log_without_the_first,
    ),
    Variant(
        name="last-entry-not-read",
        what="a restart does not read the last finalized block of its log",
        area="storage",
        caught_by=("agreement",),
        swaps=_forget_the_last_entry,
        needs=(RESTARTS,),
    ),
    Variant(
        name="height-index-not-rebuilt",
        what="a restart does not find the last height that has timers",
        area="storage",
        caught_by=("indexes", "equal-roots"),
        swaps=_index_without_the_last,
        cause="execution",
        needs=(RESTARTS,),
        shows="Timer",
        is_of_timer=True,
    ),
)
"""Variants of storage and recovery."""
