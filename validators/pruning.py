"""Pruning of the vote journal: entries far below the finalized view are dropped, so that disk and restart stay small.

A journal is pruned once it holds twice the retention of views below the finalized view, and then keeps the retention.
Pruning at every finalization was rejected, because each pruning writes both copies again.

Pruning is an event of its own, some time after the finality is durable and in the trace. So the checks that read the
disk from outside have seen every dropped entry, and no sync is under way that would count later bytes. It takes the
time of two syncs on a resource of its own: votes do not wait for it.
"""

from functools import partial
from typing import Final, NamedTuple

from network.port import Port
from network.types import Micros
from scheduler import Reach, unheard
from validators.consensus.interface import Finality, RecordCodec
from validators.derived import Derived, DerivedSize
from validators.storage import Barrier, Journal
from validators.storage.rules import DiskRule

ENTRIES_MAX: Final = 7
"""Most entries that an engine writes for a view: one of each kind (Simplex has seven, the other engines fewer)."""

_LANE: Final = "pruning"


class PruneDue(NamedTuple):
    """The journal is to be pruned below a durable finality."""

    finality: Finality


class JournalPruner:
    """Prunes one validator's journal; `view_retention` is the number of views that stay below the finalized view."""

    def __init__(
        self,
        port: Port,
        barrier: Barrier,
        journal: Journal,
        records: RecordCodec,
        *,
        view_retention: int,
        sync_us: Micros,
        reach: Reach = unheard,
    ) -> None:
        self._reach = reach
        self._port = port
        self._barrier = barrier
        self._journal = journal
        self._records = records
        self._view_retention = view_retention
        self._cost_us = max(2 * sync_us, 1)
        self._final_view = 0

    def finalized(self, finality: Finality) -> None:
        """Schedule a pruning, if enough entries can be dropped, for when the finality is durable."""
        self._final_view = finality.view
        if self._is_due(finality):
            # Behind the barrier: entries may go only when the finality that replaces them survives a crash.
            self._barrier.then(partial(self._port.work_on, _LANE, self._cost_us, PruneDue(finality)))

    def prune(self, due: PruneDue) -> None:
        """Prune as soon as no sync is under way; the disk may fail then."""
        # Behind the barrier a second time, so that no sync is under way whose extent the rewriting would change.
        self._barrier.then(partial(self._prune, due.finality))

    def derived(self) -> Derived:
        """Return the journal's oldest view beside the oldest view that it may have, and the number of its entries.

        A pruning waits as long as the disk does: meanwhile views pass and entries pile up. So only the oldest view is
        bound, and only while nothing is under way for which a pruning may wait.
        """
        views = [self._view_of(entry) for entry in self._journal.artifacts]
        lowest_view = self._final_view - 2 * self._view_retention + 1
        first_view = views[0] if views else lowest_view
        # A life that has seen no finality yet has had nothing to prune.
        is_bound = bool(self._final_view) and self._barrier.is_idle and not self._port.is_busy(_LANE)
        size = DerivedSize(
            "entries", len(views), ENTRIES_MAX * len(set(views)), f"{ENTRIES_MAX} for each view that has any"
        )
        return Derived(
            part="journal pruning",
            kept={"view of the first entry": first_view},
            rebuilt={"view of the first entry": max(first_view, lowest_view) if is_bound else first_view},
            sizes=(size,),
            is_of_disk=True,
        )

    def _prune(self, finality: Finality) -> None:
        if self._is_due(finality):
            lowest_view = finality.view - self._view_retention
            self._reach(DiskRule.JOURNAL_PRUNED)
            self._journal.prune(self._records.encode(finality), keep=lambda entry: self._view_of(entry) >= lowest_view)

    def _is_due(self, finality: Finality) -> bool:
        artifacts = self._journal.artifacts
        return bool(artifacts) and self._view_of(artifacts[0]) <= finality.view - 2 * self._view_retention

    def _view_of(self, entry: bytes) -> int:
        return self._records.view_of(self._records.decode(entry))
