"""Mutants of what a validator does with its disk: syncing too late, writing too little, reading back too little."""

from contextlib import suppress
from functools import partial
from typing import Any, Final

import msgspec

from checker.mutants.mutant import mutant
from stampede_mutants.consensus import POWER_CUTS
from validators.consensus.simplex import artifact_view, decode_artifact
from validators.execution import engine
from validators.storage import Barrier, DiskError
from validators.storage.files import FinalizedLog
from validators.storage.journal import Journal

_mutant = partial(mutant, area="storage")

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


def _view_of(artifact: bytes) -> int:
    return artifact_view(decode_artifact(artifact))


@_mutant((Barrier, "finish"), kills=("write-ahead",), needs=(SLOW_DISK,))
def sync_covers_too_much(finish: Any) -> Any:
    """A sync counts for what was written while it was under way."""

    def finish_all(self: Any, point: Any) -> None:
        finish(self, point._replace(appended_bytes=self._disk.appended_bytes))

    return finish_all


@_mutant((Journal, "append"), kills=("write-ahead",))
def journal_in_one_copy(append: Any) -> Any:
    """Votes and certificates are written to one of the two copies of the journal."""

    def append_to_the_first(self: Any, artifact: Any) -> None:
        copies, self._copies = self._copies, self._copies[:1]
        append(self, artifact)
        self._copies = copies

    return append_to_the_first


@_mutant((Journal, "recover"), kills=("write-ahead",), needs=(POWER_CUTS,))
def journal_not_read(recover: Any) -> Any:
    """A restart begins consensus anew although the journal has its votes."""
    return lambda self, head: recover(self, head)._replace(artifacts=[])


@_mutant((Journal, "prune"), kills=("journals",), needs=(PRUNED_SOON,))
def journal_pruned_a_view_too_far(prune: Any) -> Any:
    """Pruning drops the votes and certificates of one view more than it may."""

    def prune_a_view_more(self: Any, floor: Any, *, keep: Any) -> None:
        lowest_view = min(_view_of(artifact) for artifact in self.artifacts if keep(artifact))
        prune(self, floor, keep=lambda artifact: keep(artifact) and _view_of(artifact) > lowest_view)

    return prune_a_view_more


@_mutant((Journal, "recover"), kills=("journals",), needs=(PRUNED_SOON, RESTARTS))
def restart_below_the_floor(recover: Any) -> Any:
    """A restart does not know the floor of its journal, and votes again in views that were final."""

    def recover_from_below(self: Any, expected: Any) -> Any:
        contents = recover(self, expected)
        if not contents.head.floor:
            return contents
        floor_view = _view_of(contents.head.floor)
        below = [artifact for artifact in contents.artifacts if _view_of(artifact) < floor_view]
        return contents._replace(head=msgspec.structs.replace(contents.head, floor=b""), artifacts=below)

    return recover_from_below


@_mutant((FinalizedLog, "append"), kills=("write-ahead",), on_all=True)
def failed_log_append_counts(append: Any) -> Any:
    """An append to the finalized log that the disk refuses is taken for done."""

    def append_or_go_on(self: Any, entry: Any) -> None:
        with suppress(DiskError):
            append(self, entry)

    return append_or_go_on


@_mutant((FinalizedLog, "recover"), kills=("agreement",), needs=(RESTARTS,))
def last_entry_not_read(recover: Any) -> Any:
    """A restart does not read the last finalized block of its log."""

    def recover_all_but_one(self: Any) -> Any:
        contents = recover(self)
        return contents._replace(entries=contents.entries[:-1])

    return recover_all_but_one


@_mutant(
    (engine, "scan_buckets"),
    kills=("indexes", "equal-roots"),
    cause="execution",
    needs=(RESTARTS,),
    shows="Timer",
    is_of_timer=True,
)
def height_index_not_rebuilt(scan_buckets: Any) -> Any:
    """A restart does not find the last height that has timers."""
    return lambda items: dict(list(scan_buckets(items).items())[:-1])
