"""Variants that one check is the first to find: what else goes wrong goes wrong later, or not at all.

A check that no variant shows could as well be left out: each of the catalogue has one here or among the other variants.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from checker.mutants.clocks import AHEAD
from checker.mutants.mutant import Swap, Variant, swap
from network.port import Port
from scheduler.events import TimerFired
from scheduler.tally import Tally
from validators.consensus.simplex import Notarization, decode_artifact
from validators.execution import engine
from validators.execution.heights import BranchHeights
from validators.execution.schema import BURNED
from validators.state import database
from validators.state.activity import Activity
from validators.storage.journal import Journal


def _tell_no_burns() -> list[Swap]:
    def make(executed: Any) -> Any:
        def executed_without_burns(*, changes: Mapping[bytes, bytes | None], **rest: Any) -> Any:
            told = {key: value for key, value in changes.items() if key != BURNED.key()}
            return executed(changes=told, **rest)

        return executed_without_burns

    return [swap(engine, "Executed", make)]


def _forget_the_last_fire() -> list[Swap]:
    def make(result: Any) -> Any:
        def result_without_the_last(self: Any, **counts: Any) -> Any:
            found = result(self, **counts)
            fires = [event.used_cycles for event in self.events if isinstance(event, TimerFired)]
            return dataclasses.replace(found, lane_cycles=found.lane_cycles - (fires[-1] if fires else 0))

        return result_without_the_last

    return [swap(Tally, "result", make)]


def _keep_pruned_chunks() -> list[Swap]:
    return [(Activity, "prune", lambda _self, _before, _start: None)]


def _keep_heights_without_timers() -> list[Swap]:
    def make(settle: Any) -> Any:
        def settle_and_keep(self: Any, profile: Any, record_of: Any) -> None:
            before = self._overdue
            settle(self, profile, record_of)
            self._overdue = sorted(dict.fromkeys((*before, *self._overdue)))

        return settle_and_keep

    return [swap(BranchHeights, "settle", make)]


def _prove_the_one_before() -> list[Swap]:
    def make(prove: Any) -> Any:
        return lambda store, location: prove(store, max(location - 1, store.start))

    return [swap(database, "prove_operation", make)]


def _journal_twice() -> list[Swap]:
    def make(append: Any) -> Any:
        def append_notarizations_twice(self: Any, artifact: bytes) -> None:
            append(self, artifact)
            if isinstance(decode_artifact(artifact), Notarization):
                append(self, artifact)

        return append_notarizations_twice

    return [swap(Journal, "append", make)]


def _never_look_at_the_clock() -> list[Swap]:
    return [(Port, "wall_us", property(lambda self: self._kernel.now_us))]


UNSHARED: Final = (
    Variant(
        name="writes-told-without-burns",
        what="the writes that a validator tells of a block leave the burned total out",
        area="execution",
        caught_by=("write-sets",),
        swaps=_tell_no_burns,
    ),
    Variant(
        name="last-fire-uncounted",
        what="a block's account leaves out the cycles of its last fire",
        area="scheduler",
        caught_by=("budgets", "oracle"),
        swaps=_forget_the_last_fire,
        cause="execution",
        on_all=True,
        shows="fee market",
    ),
    Variant(
        name="pruned-chunks-stay",
        what="pruning keeps the chunks of the bitmap whose operations it forgets",
        area="state",
        caught_by=("bitmap",),
        swaps=_keep_pruned_chunks,
    ),
    Variant(
        name="heights-without-timers-stay",
        what="a height that has lost its last timer stays in the index of heights",
        area="execution",
        caught_by=("indexes",),
        swaps=_keep_heights_without_timers,
    ),
    Variant(
        name="proof-of-the-operation-before",
        what="asked for the proof of an operation, a validator proves the one before it",
        area="state",
        caught_by=("proofs",),
        swaps=_prove_the_one_before,
    ),
    Variant(
        name="notarizations-journalled-twice",
        what="a notarization is written to the journal a second time",
        area="storage",
        caught_by=("vote-rules",),
        swaps=_journal_twice,
    ),
    Variant(
        name="wall-clock-never-asked",
        what="nobody asks the wall clock for the time: what a fault does to it touches nobody",
        area="consensus",
        caught_by=("faults-effective",),
        swaps=_never_look_at_the_clock,
        on_all=True,
        needs=(AHEAD,),
    ),
)
"""Variants each of which one check finds before all others."""
