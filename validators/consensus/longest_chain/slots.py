"""The slots of one validator: the current one, its own promises, blocks that wait, and two seals of one leader."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from network.types import Digest
from validators.consensus.interface import HeaderFacts
from validators.consensus.longest_chain.messages import SealedHeader

WAITING_MAX: Final = 1_024
"""Blocks of future slots that wait; those of the furthest slots go first."""


class _Waiting(NamedTuple):
    """A block of a slot that has not come; the order is that of slots."""

    view: int
    digest: Digest
    facts: HeaderFacts
    seal: bytes


class SlotBook:
    """The current slot, 1 before the first has begun, or the one after those of the journal."""

    def __init__(self) -> None:
        self.current = 1
        self.last_own = 0
        """The last slot for which this validator has sealed a block."""
        self.waiting: dict[Digest, _Waiting] = {}
        self.sealed: dict[int, SealedHeader | None] = {}
        """By slot the block that came first, None where two are known."""
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
        """Go on to a slot; False where it was entered before, or lies below the journal's."""
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
        """Let a block wait if its slot is further ahead than the next one."""
        if facts.view <= self.last_followed:
            return False
        self.waiting[facts.digest] = _Waiting(facts.view, facts.digest, facts, seal)
        if len(self.waiting) > WAITING_MAX:
            del self.waiting[max(self.waiting.values()).digest]
        return True

    def release(self) -> Iterator[tuple[HeaderFacts, bytes]]:
        """Yield the blocks whose slots have come, the lowest first, and let them wait no more."""
        for each in sorted(self.waiting.values()):
            if each.view <= self.current + 1:
                del self.waiting[each.digest]
                yield each.facts, each.seal

    def find_conflict(self, facts: HeaderFacts, seal: bytes) -> SealedHeader | None:
        """Return another block that the same leader has sealed for the same slot, once; None where there is none."""
        sealed = SealedHeader(facts.header, seal)
        first = self.sealed.setdefault(facts.view, sealed)
        if first is None or first == sealed:
            return None
        self.sealed[facts.view] = None
        return first

    def forget_below(self, view: int) -> None:
        """Forget what was sealed up to a final block."""
        self.sealed = {each: sealed for each, sealed in self.sealed.items() if each > view}
