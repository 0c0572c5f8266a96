"""Lies about votes: two of them where one is allowed, other ones, old ones, none at all."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, final

import msgspec

from faults.byzantine.adversary import Liar, Lie, Orders, Post
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
"""So many old messages go along with a new one."""

_MESSAGES_KEPT: Final = 64


def label_of(message: ConsensusMessage, height: int | None = None) -> Label:
    """Return what a consensus message is about."""
    subject = message.certificate if isinstance(message, CertificateResponse) else message
    return Label(type(message).__name__, view_of(subject), height)


def other_digest(digest: bytes) -> bytes:
    """Return the digest of no block."""
    return bytes(byte ^ 0xFF for byte in digest)


@final
class DoubleVote(Lie):
    """Notarizes and finalizes two blocks of a view: one half of the honest gets votes for one, the other for the other.

    Where the leader has made two, it votes for these as soon as it knows both; else for one that does not exist.
    """

    def __init__(self, liar: Liar, name: str, fault: Orders) -> None:
        super().__init__(liar, name, fault)
        self._voted: dict[int, None] = {}

    def tell(self, post: Post) -> Iterable[Post]:
        """Split votes."""
        message = post.message
        if not isinstance(message, Notarize | Finalize):
            return (post,)
        view = message.proposal.view
        if len(self.liar.proposals(view)) < 2:
            return self._invent(post, message) if self.is_time() else (post,)
        # Accomplices must learn of the leader's two blocks; the honest get each half its votes.
        accomplices = tuple(node for node in post.to if node in self.liar.accomplices)
        return (post._replace(to=accomplices), *self._vote_for_both(view))

    def hear(self, _source: NodeId, message: Message) -> None:
        """Vote as soon as the second block of a view is known."""
        if isinstance(message, Notarize) and len(self.liar.proposals(message.proposal.view)) > 1:
            self.liar.wire.post(self._vote_for_both(message.proposal.view))

    def _vote_for_both(self, view: int) -> Iterator[Post]:
        if view in self._voted:
            return
        self._voted[view] = None
        for half, proposal in zip(self.liar.halves, self.liar.proposals(view), strict=False):
            for vote in (self.liar.notarize(proposal), self.liar.finalize(proposal)):
                self.note(type(vote).__name__, half)
                yield Post(half, vote, label_of(vote))

    def _invent(self, post: Post, vote: Notarize | Finalize) -> Iterator[Post]:
        true = vote.proposal
        invented = Proposal(true.view, true.parent_view, other_digest(true.payload))
        make = self.liar.notarize if isinstance(vote, Notarize) else self.liar.finalize
        deceived = tuple(node for node in post.to if node in self.liar.halves[1])
        yield post._replace(to=tuple(node for node in post.to if node not in deceived))
        self.note(type(vote).__name__, deceived)
        yield Post(deceived, make(invented), post.label)


@final
class ConflictingVotes(Lie):
    """Notarizes and finalizes two blocks of a view before everybody: a block that does not exist, then the true one."""

    def tell(self, post: Post) -> Iterable[Post]:
        """Put a vote for another block in front of a vote."""
        message = post.message
        if not isinstance(message, Notarize | Finalize) or not self.is_time():
            return (post,)
        proposal = msgspec.structs.replace(message.proposal, payload=other_digest(message.proposal.payload))
        invented = self.liar.notarize(proposal) if isinstance(message, Notarize) else self.liar.finalize(proposal)
        self.note(post.label.kind, post.to)
        return (post._replace(message=invented), post)


@final
class BlindVote(Lie):
    """Notarizes the first block that it hears of in a view, whatever it claims, and finalizes what is notarized.

    What it has voted to finalize it does not vote to leave. Its own validator counts the blind votes as well, so that
    it can complete a certificate. `what` says which of the two votes is blind; by default both.
    """

    def __init__(self, liar: Liar, name: str, fault: Orders) -> None:
        super().__init__(liar, name, fault)
        self._voted: dict[tuple[str, int], None] = {}

    def hear(self, _source: NodeId, message: Message) -> None:
        """Vote at once for what a leader has voted for, and for the finality of what a quorum has."""
        if isinstance(message, Notarize) and not self.liar.is_leader(message.proposal.view):
            for proposal in self.liar.proposals(message.proposal.view)[:1]:
                self._vote(self.liar.notarize(proposal))
        elif isinstance(message, Notarization):
            self._vote(self.liar.finalize(message.proposal))

    def tell(self, post: Post) -> Iterable[Post]:
        """Leave out own votes where a blind one of the kind has left, and those to leave what it finalizes."""
        message = post.message
        if isinstance(message, Notarize | Finalize):
            return () if (post.label.kind, message.proposal.view) in self._voted else (post,)
        if isinstance(message, Nullify) and ("Finalize", message.view) in self._voted:
            return ()
        return (post,)

    def _vote(self, vote: Notarize | Finalize) -> None:
        kind = type(vote).__name__
        view = vote.proposal.view
        if self.fault.what not in {"", kind.lower()} or (kind, view) in self._voted or not self.is_time():
            return
        self._voted[kind, view] = None
        everybody = self.liar.everybody()
        self.note(kind, everybody)
        self.liar.wire.give(vote)
        self.liar.wire.post([Post(everybody, vote, label_of(vote))])


@final
class NullifyAndFinalize(Lie):
    """Says of a view both that it is to be left and that it is final."""

    def tell(self, post: Post) -> Iterable[Post]:
        """Add the contrary of a vote."""
        contrary = self._contrary(post.message)
        if contrary is None or not self.is_time():
            return (post,)
        self.note(type(contrary).__name__, post.to)
        return (post, Post(post.to, contrary, label_of(contrary)))

    def _contrary(self, message: Message | bytes) -> Nullify | Finalize | None:
        if isinstance(message, Finalize):
            return self.liar.nullify(message.proposal.view)
        if isinstance(message, Nullify) and (proposals := self.liar.proposals(message.view)):
            return self.liar.finalize(proposals[0])
        return None


@final
class Withhold(Lie):
    """Sends some kinds of messages not at all, or not to some; by default no votes and no certificates to anybody."""

    KINDS: Final = ("Notarize", "Nullify", "Finalize", "Notarization", "Nullification", "Finalization")

    def tell(self, post: Post) -> Iterable[Post]:
        """Leave out whoever is not to know."""
        if post.label.kind not in (self.fault.kinds or self.KINDS):
            return (post,)
        deprived = tuple(node for node in post.to if not self.fault.to or node in self.fault.to)
        if not deprived or not self.is_time():
            return (post,)
        self.note(post.label.kind, deprived)
        return (post._replace(to=tuple(node for node in post.to if node not in deprived)),)


@final
class StaleVotes(Lie):
    """Sends its vote of an earlier view again in the place of the new one."""

    def __init__(self, liar: Liar, name: str, fault: Orders) -> None:
        super().__init__(liar, name, fault)
        self._last: dict[str, Post] = {}

    def tell(self, post: Post) -> Iterable[Post]:
        """Replace a vote by the last true one of its kind."""
        if not isinstance(post.message, Notarize | Nullify | Finalize):
            return (post,)
        kind = post.label.kind
        earlier = self._last.get(kind)
        self._last[kind] = post
        if earlier is None or not self.is_time():
            return (post,)
        self.note(kind, post.to)
        return (earlier._replace(to=post.to),)


@final
class MutatedVotes(Lie):
    """Changes view, parent's view or block of a vote, by as little as can be, and signs that."""

    def tell(self, post: Post) -> Iterable[Post]:
        """Change a vote."""
        message = post.message
        if not isinstance(message, Notarize | Nullify | Finalize) or not self.is_time():
            return (post,)
        step = 1 - 2 * self.draw(2)
        changed: Notarize | Nullify | Finalize
        if isinstance(message, Nullify):
            changed = self.liar.nullify(max(message.view + step, 0))
        else:
            sign = self.liar.notarize if isinstance(message, Notarize) else self.liar.finalize
            changed = sign(self._mutate(message.proposal, step))
        self.note(post.label.kind, post.to)
        return (post._replace(message=changed, label=label_of(changed)),)

    def _mutate(self, proposal: Proposal, step: int) -> Proposal:
        what = self.fault.what or ("view", "parent", "digest")[self.draw(3)]
        if what == "view":
            return msgspec.structs.replace(proposal, view=max(proposal.view + step, 0))
        if what == "parent":
            return msgspec.structs.replace(proposal, parent_view=max(proposal.parent_view + step, 0))
        return msgspec.structs.replace(proposal, payload=other_digest(proposal.payload))


@final
class Replay(Lie):
    """Sends old messages again along with each vote: its own, and those that it has heard from others."""

    def __init__(self, liar: Liar, name: str, fault: Orders) -> None:
        super().__init__(liar, name, fault)
        self._kept: deque[Message] = deque(maxlen=_MESSAGES_KEPT)

    def tell(self, post: Post) -> Iterable[Post]:
        """Add old messages to a vote."""
        message = post.message
        if not isinstance(message, Notarize | Nullify | Finalize) or not self.is_time():
            return (post,)
        old = [self._kept[self.draw(len(self._kept))] for _ in range(VOTES_REPEATED) if self._kept]
        self._kept.append(message)
        again = [Post(post.to, each, Label(type(each).__name__)) for each in old]
        for each in again:
            self.note(each.label.kind, each.to)
        return (post, *again)

    def hear(self, _source: NodeId, message: Message) -> None:
        """Keep votes and certificates of others."""
        if isinstance(message, Notarize | Nullify | Finalize | Notarization | Nullification | Finalization):
            self._kept.append(message)
