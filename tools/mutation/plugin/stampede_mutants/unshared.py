"""Mutants that one check is the first to find: what else goes wrong goes wrong later, or not at all.

A check that no mutant shows could as well be left out: each of the catalogue has one here or among the other mutants.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from checker.mutants.mutant import mutant
from network.port import Port
from scheduler.events import TimerFired
from scheduler.tally import Tally
from stampede_mutants.clocks import AHEAD
from validators.consensus.simplex import Notarization, decode_artifact
from validators.execution import engine
from validators.execution.heights import BranchHeights
from validators.execution.schema import BURNED
from validators.state import database
from validators.state.activity import Activity
from validators.storage.journal import Journal


@mutant((engine, "Executed"), area="execution", kills=("write-sets",))
def writes_told_without_burns(executed: Any) -> Any:
    """The writes that a validator reports of a block leave the burned total out."""

    def executed_without_burns(*, changes: Mapping[bytes, bytes | None], **rest: Any) -> Any:
        reported = {key: value for key, value in changes.items() if key != BURNED.key()}
        return executed(changes=reported, **rest)

    return executed_without_burns


@mutant(
    (Tally, "result"),
    area="scheduler",
    kills=("budgets", "oracle"),
    cause="execution",
    on_all=True,
    shows="fee market|lane_cycles",
)
def last_fire_uncounted(result: Any) -> Any:
    """A block's account leaves out the cycles of its last fire."""

    def result_without_the_last(self: Any, **counts: Any) -> Any:
        found = result(self, **counts)
        fires = [event.used_cycles for event in self.events if isinstance(event, TimerFired)]
        return dataclasses.replace(found, lane_cycles=found.lane_cycles - (fires[-1] if fires else 0))

    return result_without_the_last


@mutant((Activity, "prune"), area="state", kills=("bitmap",))
def pruned_chunks_stay(_original: Any) -> Any:
    """Pruning keeps the chunks of the bitmap whose operations it forgets."""
    return lambda _self, _before, _start: None


@mutant((BranchHeights, "settle"), area="execution", kills=("indexes",))
def heights_without_timers_stay(settle: Any) -> Any:
    """A height that has lost its last timer stays in the index of heights."""

    def settle_and_keep(self: Any, profile: Any, record_of: Any) -> None:
        before = self._overdue
        settle(self, profile, record_of)
        self._overdue = sorted(dict.fromkeys((*before, *self._overdue)))

    return settle_and_keep


@mutant((database, "prove_operation"), area="state", kills=("proofs",))
def proof_of_the_operation_before(prove: Any) -> Any:
    """Asked for the proof of an operation, a validator proves the one before it."""
    return lambda store, location: prove(store, max(location - 1, store.start))


@mutant((Journal, "append"), area="storage", kills=("journals",))
def notarizations_journalled_twice(append: Any) -> Any:
    """A notarization is written to the journal a second time."""

    def append_notarizations_twice(self: Any, artifact: bytes) -> None:
        append(self, artifact)
        if isinstance(decode_artifact(artifact), Notarization):
            append(self, artifact)

    return append_notarizations_twice


@mutant((Port, "wall_us"), area="consensus", kills=("faults-effective",), on_all=True, needs=(AHEAD,))
def wall_clock_never_asked(_original: Any) -> Any:
    """No validator reads its wall clock: a fault of clocks has no effect."""
    return property(lambda self: self._kernel.now_us)
