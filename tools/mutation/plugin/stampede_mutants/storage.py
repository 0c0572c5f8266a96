"""Mutants of what a validator does with its disk: what it writes, prunes, repairs and reads back."""

from functools import partial
from typing import Any, Final

from checker.mutants.mutant import mutant
from stampede_mutants.consensus import POWER_CUTS, PRUNED_SOON
from validators.consensus.simplex import Notarization, artifact_view, decode_artifact
from validators.storage.files import FinalizedLog
from validators.storage.journal import Journal

_mutant = partial(mutant, area="storage")

RESTARTS: Final = (
    "faults={"
    'first={kind="crash", validator=0, at_ms=5_000, restart_ms=6_000},'
    'second={kind="crash", validator=1, at_ms=8_000, restart_ms=9_000},'
    'third={kind="crash", validator=2, at_ms=11_000, restart_ms=12_000},'
    'fourth={kind="crash", validator=3, at_ms=14_000, restart_ms=15_000}}'
)
"""Each of four validators comes back from its disk once."""

ROT: Final = (
    "faults={"
    'rot={kind="bit-rot", validator=0, ppm=400_000, files=["journal"], start_ms=4_900, stop_ms=7_000},'
    'cut={kind="crash", validator=0, at_ms=5_000, restart_ms=6_000}}'
)
"""One copy of a journal is damaged when its validator reads it at a start."""


def _view_of(artifact: bytes) -> int:
    return artifact_view(decode_artifact(artifact))


@_mutant((Journal, "recover"), kills=("journals",), needs=(POWER_CUTS,))
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


@_mutant((FinalizedLog, "recover"), kills=("agreement",), needs=(RESTARTS,))
def last_entry_not_read(recover: Any) -> Any:
    """A restart does not read the last finalized block of its log."""

    def recover_all_but_one(self: Any) -> Any:
        contents = recover(self)
        return contents._replace(entries=contents.entries[:-1])

    return recover_all_but_one


@_mutant((Journal, "append"), kills=("journals",))
def notarizations_journalled_twice(append: Any) -> Any:
    """A notarization is written to the journal a second time."""

    def append_notarizations_twice(self: Any, artifact: bytes) -> None:
        append(self, artifact)
        if isinstance(decode_artifact(artifact), Notarization):
            append(self, artifact)

    return append_notarizations_twice


@_mutant((Journal, "_begin_generation"), kills=("repairs",), on_all=True, needs=(ROT,))
def one_copy_is_not_repaired(begin: Any) -> Any:
    """A start says that it has repaired the journal, and writes one copy of it anew."""

    def begin_in_the_second(self: Any, step: int, floor: bytes, artifacts: Any) -> None:
        copies, self._copies = self._copies, self._copies[1:]
        begin(self, step, floor, artifacts)
        self._copies = copies

    return begin_in_the_second
