"""Pruning of the vote journal: entries far below the finalized view go, so that neither disk nor restart grows.

A journal is pruned once twice the retention of views has piled up below the finalized one, and keeps the retention
then. Pruning at every finalization was rejected: each one writes both copies anew.

It is an event of its own, some time after the finality is durable and in the trace. So all that is dropped was seen by
the checks that read the disk from outside, and no sync is under way that would count for bytes written later. It takes
the time of two syncs on a lane of its own: votes do not wait for it.
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
"""Entries that an engine writes for one view at most: one of each kind (Simplex has seven, the others fewer)."""

_LANE: Final = "pruning"


class PruneDue(NamedTuple):
    """The journal is to be pruned below a finality that is durable."""

    finality: Finality


class JournalPruner:
    """Prunes one validator's journal; `view_retention` is how many views below the finalized one stay."""

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
        """Have the journal pruned, if enough of it is needless and when the finality is durable."""
        self._final_view = finality.view
        if self._is_due(finality):
            # Behind the barrier: entries may go only when the finality that stands for them survives a crash.
            self._barrier.then(partial(self._port.work_on, _LANE, self._cost_us, PruneDue(finality)))

    def prune(self, due: PruneDue) -> None:
        """Prune, as soon as no sync is under way; the disk may fail then."""
        # Behind the barrier a second time, so that no sync is under way whose extent the rewriting would change.
        self._barrier.then(partial(self._prune, due.finality))

    def derived(self) -> Derived:
        """Return the oldest view of the journal beside the oldest that it may have, and the number of its entries.

        A pruning waits as long as the disk does: views go by meanwhile, and entries pile up. So it is the oldest view
        that is bound, and only while nothing is under way that a pruning may wait for.
        """
        views = [self._view_of(entry) for entry in self._journal.artifacts]
        lowest_view = self._final_view - 2 * self._view_retention + 1
        first_view = views[0] if views else lowest_view
        # A life that has seen no finality yet has had nothing to prune by.
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
