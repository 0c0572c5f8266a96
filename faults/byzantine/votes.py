"""Tampering with votes: two of them where one is allowed, other ones, old ones, or no vote at all."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from faults.byzantine.adversary import Adversary, Behaviour, Orders, Outgoing
from network.types import Label, NodeId
from validators.consensus.simplex import (
    CertificateResponse,
    ConsensusMessage,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
    view_of,
)
from validators.messages import Message

VOTES_REPEATED: Final = 3
"""The number of old messages that go along with a new one."""

_MESSAGES_KEPT: Final = 64


def label_of(message: ConsensusMessage, height: int | None = None) -> Label:
    """Return the label of a consensus message."""
    subject = message.certificate if isinstance(message, CertificateResponse) else message
    return Label(message.traced_name, view_of(subject), height)


def other_digest(digest: bytes) -> bytes:
    """Return the digest of no block."""
    return bytes(byte ^ 0xFF for byte in digest)


class DoubleVote(Behaviour):
    """Notarizes and finalizes two blocks of a view: one half of the honest gets votes for one, the other for the other.

    Where the leader has made two, it votes for these as soon as it knows both; else for one that does not exist.
    """

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        self._voted: dict[int, None] = {}

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Split votes."""
        message = outgoing.message
        if not isinstance(message, Notarize | Finalize):
            return (outgoing,)
        view = message.proposal.view
        if len(self.adversary.votes.proposals(view)) < 2:
            return self._invent(outgoing, message) if self.is_time() else (outgoing,)
        # Accomplices must learn of the leader's two blocks; the honest get each half its votes.
        colluders = tuple(node for node in outgoing.to if node in self.adversary.colluders)
        return (outgoing._replace(to=colluders), *self._vote_for_both(view))

    def hear(self, _source: NodeId, message: Message) -> None:
        """Vote as soon as the second block of a view is known."""
        if isinstance(message, Notarize) and len(self.adversary.votes.proposals(message.proposal.view)) > 1:
            self.adversary.wire.send_all(self._vote_for_both(message.proposal.view))

    def _vote_for_both(self, view: int) -> Iterator[Outgoing]:
        if view in self._voted:
            return
        self._voted[view] = None
        for half, proposal in zip(self.adversary.halves, self.adversary.votes.proposals(view), strict=False):
            for vote in (self.adversary.votes.notarize(proposal), self.adversary.votes.finalize(proposal)):
                self.note(vote.traced_name, half)
                yield Outgoing(half, vote, label_of(vote))

    def _invent(self, outgoing: Outgoing, vote: Notarize | Finalize) -> Iterator[Outgoing]:
        true = vote.proposal
        invented = Proposal(true.view, true.parent_view, other_digest(true.payload))
        make = self.adversary.votes.notarize if isinstance(vote, Notarize) else self.adversary.votes.finalize
        deceived = tuple(node for node in outgoing.to if node in self.adversary.halves[1])
        yield outgoing._replace(to=tuple(node for node in outgoing.to if node not in deceived))
        self.note(vote.traced_name, deceived)
        yield Outgoing(deceived, make(invented), outgoing.label)


class ConflictingVotes(Behaviour):
    """Notarizes and finalizes two blocks of a view before everybody: a block that does not exist, then the true one."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Put a vote for another block in front of a vote."""
        message = outgoing.message
        if not isinstance(message, Notarize | Finalize) or not self.is_time():
            return (outgoing,)
        proposal = msgspec.structs.replace(message.proposal, payload=other_digest(message.proposal.payload))
        invented = (
            self.adversary.votes.notarize(proposal)
            if isinstance(message, Notarize)
            else self.adversary.votes.finalize(proposal)
        )
        self.note(outgoing.label.kind, outgoing.to)
        return (outgoing._replace(message=invented), outgoing)


class BlindVote(Behaviour):
    """Notarizes the first block that it hears of in a view, whatever it claims, and finalizes what is notarized.

    What it has voted to finalize it does not vote to leave. Its own validator counts the blind votes as well, so that
    it can complete a certificate. `what` says which of the two votes is blind; by default both.
    """

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        self._voted: dict[tuple[str, int], None] = {}

    def hear(self, _source: NodeId, message: Message) -> None:
        """Vote at once for what a leader has voted for, and for the finality of what a quorum has."""
        if isinstance(message, Notarize) and not self.adversary.votes.is_leader(message.proposal.view):
            for proposal in self.adversary.votes.proposals(message.proposal.view)[:1]:
                self._vote(self.adversary.votes.notarize(proposal))
        elif isinstance(message, Notarization):
            self._vote(self.adversary.votes.finalize(message.proposal))

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Leave out own votes where a blind one of the kind has left, and those to leave what it finalizes."""
        message = outgoing.message
        if isinstance(message, Notarize | Finalize):
            return () if (outgoing.label.kind, message.proposal.view) in self._voted else (outgoing,)
        if isinstance(message, Nullify) and ("Finalize", message.view) in self._voted:
            return ()
        return (outgoing,)

    def _vote(self, vote: Notarize | Finalize) -> None:
        kind = vote.traced_name
        view = vote.proposal.view
        if self.fault.what not in {"", kind.lower()} or (kind, view) in self._voted or not self.is_time():
            return
        self._voted[kind, view] = None
        everybody = self.adversary.everybody()
        self.note(kind, everybody)
        self.adversary.wire.give(vote)
        self.adversary.wire.send_all([Outgoing(everybody, vote, label_of(vote))])


class NullifyAndFinalize(Behaviour):
    """Says of a view both that it is to be left and that it is final."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Add the contrary of a vote."""
        contrary = self._contrary(outgoing.message)
        if contrary is None or not self.is_time():
            return (outgoing,)
        self.note(contrary.traced_name, outgoing.to)
        return (outgoing, Outgoing(outgoing.to, contrary, label_of(contrary)))

    def _contrary(self, message: Message | bytes) -> Nullify | Finalize | None:
        if isinstance(message, Finalize):
            return self.adversary.votes.nullify(message.proposal.view)
        if isinstance(message, Nullify) and (proposals := self.adversary.votes.proposals(message.view)):
            return self.adversary.votes.finalize(proposals[0])
        return None


class Withhold(Behaviour):
    """Sends some kinds of messages not at all, or not to some; by default no votes and no certificates to anybody."""

    KINDS: Final = ("Notarize", "Nullify", "Finalize", "Notarization", "Nullification", "Finalization")

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Leave out whoever is not to know."""
        if outgoing.label.kind not in (self.fault.kinds or self.KINDS):
            return (outgoing,)
        deprived = tuple(node for node in outgoing.to if not self.fault.to or node in self.fault.to)
        if not deprived or not self.is_time():
            return (outgoing,)
        self.note(outgoing.label.kind, deprived)
        return (outgoing._replace(to=tuple(node for node in outgoing.to if node not in deprived)),)


class StaleVotes(Behaviour):
    """Sends its vote of an earlier view again in the place of the new one."""

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        self._last: dict[str, Outgoing] = {}

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Replace a vote by the last true one of its kind."""
        if not isinstance(outgoing.message, Notarize | Nullify | Finalize):
            return (outgoing,)
        kind = outgoing.label.kind
        earlier = self._last.get(kind)
        self._last[kind] = outgoing
        if earlier is None or not self.is_time():
            return (outgoing,)
        self.note(kind, outgoing.to)
        return (earlier._replace(to=outgoing.to),)


class MutatedVotes(Behaviour):
    """Changes view, parent's view or block of a vote, by as little as can be, and signs that."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Change a vote."""
        message = outgoing.message
        if not isinstance(message, Notarize | Nullify | Finalize) or not self.is_time():
            return (outgoing,)
        step = 1 - 2 * self.draw(2)
        changed: Notarize | Nullify | Finalize
        if isinstance(message, Nullify):
            changed = self.adversary.votes.nullify(max(message.view + step, 0))
        else:
            sign = self.adversary.votes.notarize if isinstance(message, Notarize) else self.adversary.votes.finalize
            changed = sign(self._mutate(message.proposal, step))
        self.note(outgoing.label.kind, outgoing.to)
        return (outgoing._replace(message=changed, label=label_of(changed)),)

    def _mutate(self, proposal: Proposal, step: int) -> Proposal:
        what = self.fault.what or ("view", "parent", "digest")[self.draw(3)]
        if what == "view":
            return msgspec.structs.replace(proposal, view=max(proposal.view + step, 0))
        if what == "parent":
            return msgspec.structs.replace(proposal, parent_view=max(proposal.parent_view + step, 0))
        return msgspec.structs.replace(proposal, payload=other_digest(proposal.payload))


class Replay(Behaviour):
    """Sends old messages again along with each vote: its own, and those that it has heard from others."""

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        self._kept: deque[Message] = deque(maxlen=_MESSAGES_KEPT)

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Add old messages to a vote."""
        message = outgoing.message
        if not isinstance(message, Notarize | Nullify | Finalize) or not self.is_time():
            return (outgoing,)
        old = [self._kept[self.draw(len(self._kept))] for _ in range(VOTES_REPEATED) if self._kept]
        self._kept.append(message)
        again = [Outgoing(outgoing.to, each, Label(each.traced_name)) for each in old]
        for each in again:
            self.note(each.label.kind, each.to)
        return (outgoing, *again)

    def hear(self, _source: NodeId, message: Message) -> None:
        """Keep votes and certificates of others."""
        if isinstance(message, Notarize | Nullify | Finalize | Notarization | Nullification | Finalization):
            self._kept.append(message)
