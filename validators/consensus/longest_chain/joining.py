"""Joining: a starting replica asks all validators for their heads, and takes the greatest head that is named.

A replica with a final block of its own follows a head only along descendants of that block. A replica without a final
block, new or with a lost disk, cannot tell a chain of a third of the validators from the honest chain, however deep. It
trusts the greatest head that it sees first, and reports that it did.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from network.types import Micros, NodeId
from validators.consensus.interface import Effect, Send, SetTimer
from validators.consensus.longest_chain.messages import Burial, HeadRequest, HeadResponse, SealedHeader, facts_of

JOIN_TIMER: Final = "join"
"""Peers have had their time to name their heads."""


class Heard(NamedTuple):
    """A peer's answer."""

    sender: NodeId
    head: SealedHeader
    final: Burial | None


class Joining:
    """One replica's requests for heads."""

    def __init__(self, me: NodeId, validators: int) -> None:
        self._me = me
        self._validators = validators
        self._round = 0
        self.is_open = False
        """Whether the replica waits for answers."""
        self._heard: dict[NodeId, Heard] = {}
        self.is_restarted = False
        self.is_by_headers = False
        """Whether this replica judges no block, and so must be told of final blocks."""
        self.may_lead = False
        """Whether heads have been requested, or none can be known: a block on an old head would stand alone."""

    def begin(self, timeout_us: Micros) -> Iterator[Effect]:
        """Ask all validators, and wait for their answers."""
        self.may_lead = not self.is_restarted
        if self._validators > 1 or self._me:
            yield from self._ask(timeout_us)
        else:
            self.may_lead = True

    def asks(self, sender: NodeId) -> bool:
        """Whether an answer of this peer is of use."""
        return self.is_open and sender not in self._heard

    @property
    def stale(self) -> int:
        """The number of answers that are kept although nobody waits for an answer."""
        return 0 if self.is_open else len(self._heard)

    def hear(self, sender: NodeId, answer: HeadResponse) -> None:
        """Note an answer."""
        if self.is_open:
            self._heard[sender] = Heard(sender, answer.head, answer.final)

    def end(self, number: int) -> Heard | None:
        """End a round and return the greatest head that was named; among equal heads the first validator's."""
        if number != self._round or not self.is_open:
            return None
        self.is_open = False
        self.may_lead = True
        heard = [self._heard[node] for node in sorted(self._heard)]
        self._heard.clear()
        return max(heard, key=_height_of, default=None)

    def go_on(self, timeout_us: Micros) -> Iterator[Effect]:
        """Ask again where final blocks are known by the answers alone."""
        if self.is_by_headers and not self.is_open:
            yield from self._ask(timeout_us)

    def _ask(self, timeout_us: Micros) -> Iterator[Effect]:
        self._round += 1
        self.is_open = True
        self._heard.clear()
        yield Send(None, HeadRequest())
        yield SetTimer(JOIN_TIMER, self._round, timeout_us)


def _height_of(heard: Heard) -> int:
    facts = facts_of(heard.head)
    return 0 if facts is None else facts.height
