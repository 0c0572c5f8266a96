"""Votes and TIMEOUTs of HotStuff that each break one rule, signed with the true key."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

import msgspec

from faults.byzantine.adversary import Adversary, Orders, Outgoing
from faults.byzantine.hotstuff_seals import HotStuffBehaviour
from faults.byzantine.hotstuff_timeouts import MISSHAPES, misshapen
from network.types import NodeId
from validators.consensus.hotstuff.messages import (
    HotStuffMessage,
    QuorumCertificate,
    TimeoutCertificate,
    ViewTimeout,
)
from validators.messages import Message

VIEWS_AHEAD: Final = 128
"""The smallest distance in views of votes of the form `ahead`: farther ahead than any counted vote."""

VOTES_AHEAD: Final = 100
"""The number of votes `ahead` at each occasion, each of another view: together more views than may be kept."""

_ENTRY: Final = "entry-"
"""The prefix of forms about the timeout certificate of a TIMEOUT."""


class ForgeVote(HotStuffBehaviour):
    """Sends a forged message to everybody before each own vote or TIMEOUT; `what` selects the form, or all take turns.

    A vote of another validator (`signer`), of view 0 (`view`), over another block (`signature`), or many votes of views
    far ahead (`ahead`). A TIMEOUT over another view (`leaving`), or with a certificate of its own view (`high`), of
    genesis with signers (`genesis`), or with wrong signers (`bitmap`, `stray`, `quorum`, `signatures`, `forged`).
    If timeouts have been heard, also a TIMEOUT with the timeout certificate of another view (`entry-view`), of a
    quorum that knew a higher certificate (`entry-high`), with a view too many (`entry-views`), or misshapen.
    """

    FORMS: ClassVar[tuple[str, ...]] = (
        *("signer", "view", "signature", "ahead", "leaving", "high", "genesis", *MISSHAPES),
        *(_ENTRY + each for each in ("view", "high", "views", *MISSHAPES)),
    )

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        self._heard: HotStuffMessage | None = None
        self._ahead = 0

    def hear(self, _source: NodeId, message: Message) -> None:
        """Remember the last message of another validator, which has its signature."""
        if isinstance(message, HotStuffMessage):
            self._heard = message

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Send a forged message before a true message."""
        message = outgoing.message
        if not isinstance(message, HotStuffMessage) or not self.is_time():
            return (outgoing,)
        form = self.fault.what or self.FORMS[self.take_turn("form", len(self.FORMS))]
        return (*self._say(form, message.view), outgoing)

    def _say(self, form: str, view: int) -> Iterator[Outgoing]:
        everybody = self.adversary.everybody()
        for forged in self._forge(form, view):
            self.note(f"{forged.traced_name} {form}", everybody)
            yield Outgoing(everybody, forged, self.adversary.label_of(forged))

    def _forge(self, form: str, view: int) -> Iterator[HotStuffMessage]:
        """Yield the messages of a form; none if their parts have not been heard."""
        votes = self.votes
        vote = votes.vote(view + 1, bytes(32))
        if form == "signer":
            yield from () if self._heard is None else (self._heard,)
        elif form == "view":
            yield votes.vote(0, bytes(32))
        elif form == "signature":
            yield msgspec.structs.replace(vote, digest=bytes(31) + b"\1")
        elif form == "ahead":
            self._ahead = max(self._ahead, view + VIEWS_AHEAD) + VOTES_AHEAD
            yield from (votes.vote(self._ahead - each, bytes(32)) for each in range(VOTES_AHEAD))
        elif form.startswith(_ENTRY):
            yield from self._forge_entry(form.removeprefix(_ENTRY), view)
        elif (high := votes.certificate_below(view + 1)) is not None:
            yield self._forge_timeout(form, view + 1, high)

    def _forge_timeout(self, form: str, view: int, high: QuorumCertificate) -> ViewTimeout:
        votes = self.votes
        if form == "leaving":
            return msgspec.structs.replace(votes.timeout(view + 1, high, None), view=view)
        if form == "high":
            return votes.timeout(high.view, high, None)
        if form == "genesis":
            return votes.timeout(view, msgspec.structs.replace(high, view=0), None)
        return votes.timeout(view, misshapen(high, form, self.adversary.validators), None)

    def _forge_entry(self, form: str, view: int) -> Iterator[ViewTimeout]:
        """Yield a TIMEOUT of a view that no validator has left, with a forged certificate of the timeouts before it."""
        votes = self.votes
        high = votes.certificate_below(view)
        true = votes.timeouts.certificate(view - 1)
        entry: TimeoutCertificate | None = None
        if high is not None and form == "view":
            entry = votes.timeouts.latest_but(view - 1, high.view)
        elif true is not None and form == "high":
            high, entry = votes.certificate_below(true.high_view), true
        elif true is not None and form == "views":
            entry = msgspec.structs.replace(true, high_views=(*true.high_views, 0))
        elif true is not None:
            entry = misshapen(true, form, self.adversary.validators)
        if high is not None and entry is not None:
            yield votes.timeout(view, high, entry)
