"""Equal data of the databases of one process, kept once: each database computes its own, and lets go of an equal copy.

Shared data is immutable, or never changed once a batch has its root. A tip is compared by identity and is not shared.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from operator import attrgetter
from typing import Final
from weakref import ReferenceType, ref

from network.memo import Memo
from validators.state.batch import BatchOutcome
from validators.state.store import Store
from validators.state.tree import Grown, GrowTree, growing_with

OUTCOMES_MAX: Final = 128
"""Outcomes and trees that are known: those of the last few blocks."""

_shared_part: Final[Callable[[BatchOutcome], object]] = attrgetter(
    *(field.name for field in fields(BatchOutcome) if field.name != "tip")
)


class Sharing:
    """The data that the databases of some validators share.

    Attributes:
        grow: Hashes the operations of a batch; only the first database hashes equal operations.
    """

    def __init__(self, outcomes_max: int = OUTCOMES_MAX) -> None:
        self.grow: Final[GrowTree] = growing_with(Memo[Grown](outcomes_max))
        self._outcomes: Final = Memo[BatchOutcome](outcomes_max)
        self._latest: ReferenceType[Store] | None = None

    def outcome(self, own: BatchOutcome) -> BatchOutcome:
        """Return a batch's outcome with the lists of an outcome that is equal in every field, if one is known."""
        known = self._outcomes.find(own.tip.root)
        if known is not None and _shared_part(known) == _shared_part(own):
            return replace(known, tip=own.tip)
        self._outcomes.keep(own.tip.root, own)
        return own

    def adopt(self, store: Store) -> None:
        """Share with a store from now on, and replace its operations and keys by equal ones of the latest store."""
        latest = None if self._latest is None else self._latest()
        if latest is not None:
            _share_log(store, latest)
        store.grow, store.share = self.grow, self.outcome
        self._latest = ref(store)


def _share_log(store: Store, other: Store) -> None:
    first = max(store.start, other.start)
    mine, others = store.log[first - store.start :], other.log[first - other.start :]
    shared = [known if known == own else own for own, known in zip(mine, others, strict=False)]
    store.log[first - store.start : first - store.start + len(shared)] = shared
    keys = {key: key for key in other.locations}
    store.locations = {keys.get(key, key): location for key, location in store.locations.items()}
