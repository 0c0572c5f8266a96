"""Joining: a replica that starts asks all validators for their heads, and takes the greatest of those that answer.

A replica that has a final block of its own follows a head only along blocks that stand on it. One that has none, new
or with a lost disk, cannot tell a chain of a third of the validators from the others', however deep: it trusts the
greatest head that it sees first, and reports that it did.
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
    """One replica's questions for heads."""

    def __init__(self, me: NodeId, validators: int) -> None:
        self._me = me
        self._validators = validators
        self._round = 0
        self.is_open = False
        """Whether answers are waited for."""
        self._heard: dict[NodeId, Heard] = {}
        self.is_restarted = False
        self.is_by_headers = False
        """Whether this replica judges no block, and so has to be told of final ones."""
        self.may_lead = False
        """Whether heads have been asked for, or none can be known: a block on an old head would stand alone."""

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
        """The number of answers that are kept although nobody waits for any."""
        return 0 if self.is_open else len(self._heard)

    def hear(self, sender: NodeId, answer: HeadResponse) -> None:
        """Note an answer."""
        if self.is_open:
            self._heard[sender] = Heard(sender, answer.head, answer.final)

    def end(self, number: int) -> Heard | None:
        """End a round and return the greatest head that was named; the first validator's among equals."""
        if number != self._round or not self.is_open:
            return None
        self.is_open = False
        self.may_lead = True
        heard = [self._heard[node] for node in sorted(self._heard)]
        self._heard.clear()
        return max(heard, key=_height_of, default=None)

    def go_on(self, timeout_us: Micros) -> Iterator[Effect]:
        """Ask again where final blocks show by the answers alone."""
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
