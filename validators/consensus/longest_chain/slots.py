"""One validator's slots: the current slot, its own promises, waiting blocks, and double seals of a leader."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from network.types import Digest
from validators.consensus.interface import HeaderFacts
from validators.consensus.longest_chain.messages import SealedHeader

WAITING_MAX: Final = 1_024
"""Most blocks of future slots that wait; blocks of the furthest slots are dropped first."""


class _Waiting(NamedTuple):
    """A block whose slot has not come; ordered by slot."""

    view: int
    digest: Digest
    facts: HeaderFacts
    seal: bytes


class SlotBook:
    """The current slot: 1 before the first slot has begun, or the slot after the journal's slots."""

    def __init__(self) -> None:
        self.current = 1
        self.last_own = 0
        """The last slot for which this validator has sealed a block."""
        self.waiting: dict[Digest, _Waiting] = {}
        self.sealed: dict[int, SealedHeader | None] = {}
        """The first block seen in each slot, None where two are known."""
        self._entered = 0

    @property
    def next(self) -> int:
        """The first slot that may be entered."""
        return self.current if not self._entered else self.current + 1

    def remember(self, view: int, *, is_own: bool) -> None:
        """Note a slot of the journal, or of an own block."""
        if is_own:
            self.last_own = max(self.last_own, view)
        if not self._entered:
            self.current = max(self.current, view + 1)

    def enter(self, view: int) -> bool:
        """Enter a slot; return False where it was entered before, or lies below the journal's slots."""
        if view < self.next:
            return False
        self.current = self._entered = view
        return True

    @property
    def last_followed(self) -> int:
        """The last slot whose blocks need not wait."""
        # Before the first alarm the clock is not known: a start reads blocks that it has followed already.
        return self._entered + 1 if self._entered else self.current

    def hold(self, facts: HeaderFacts, seal: bytes) -> bool:
        """Let a block wait if it is more than one slot ahead; return whether it waits."""
        if facts.view <= self.last_followed:
            return False
        self.waiting[facts.digest] = _Waiting(facts.view, facts.digest, facts, seal)
        if len(self.waiting) > WAITING_MAX:
            del self.waiting[max(self.waiting.values()).digest]
        return True

    def release(self) -> Iterator[tuple[HeaderFacts, bytes]]:
        """Remove and yield the waiting blocks whose slots have come, lowest first."""
        for each in sorted(self.waiting.values()):
            if each.view <= self.current + 1:
                del self.waiting[each.digest]
                yield each.facts, each.seal

    def find_conflict(self, facts: HeaderFacts, seal: bytes) -> SealedHeader | None:
        """Return another block that the same leader has sealed for the same slot, once; None without a conflict."""
        sealed = SealedHeader(facts.header, seal)
        first = self.sealed.setdefault(facts.view, sealed)
        if first is None or first == sealed:
            return None
        self.sealed[facts.view] = None
        return first

    def forget_below(self, view: int) -> None:
        """Forget the seals of slots up to a final block's."""
        self.sealed = {each: sealed for each, sealed in self.sealed.items() if each > view}
