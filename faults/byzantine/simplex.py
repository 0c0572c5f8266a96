"""Behaviours of Byzantine validators that only Simplex has: two votes of a view, changed votes and certificates."""

from collections.abc import Iterable, Iterator

import msgspec

from faults.byzantine.adversary import Adversary, Orders, Outgoing
from faults.byzantine.engine_adversaries import EngineAdversaries
from faults.byzantine.simplex_behaviour import SimplexBehaviour
from faults.byzantine.simplex_chains import ForgeParent, Misshape, SkipView
from faults.byzantine.simplex_votes import Certificate, SimplexVotes, padded, strayed, thinned
from faults.byzantine.votes import other_digest
from network.types import NodeId
from validators.consensus.quorum import encode_signers
from validators.consensus.simplex import (
    CertificateResponse,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullify,
    Proposal,
)
from validators.consensus.simplex.kind import SIMPLEX
from validators.messages import Message


class DoubleVote(SimplexBehaviour):
    """Notarizes and finalizes two blocks of a view: each half of the honest validators gets votes for another block.

    If the leader has made two blocks, it votes for both as soon as it knows them. Otherwise its second vote is for a
    block that does not exist.
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
        if len(self.votes.proposals(view)) < 2:
            return self._invent(outgoing, message) if self.is_time() else (outgoing,)
        # Colluding adversaries must learn the leader's two blocks; each half of the honest validators gets its votes.
        colluders = tuple(node for node in outgoing.to if node in self.adversary.colluders)
        return (outgoing._replace(to=colluders), *self._vote_for_both(view))

    def hear(self, _source: NodeId, message: Message) -> None:
        """Vote as soon as the second block of a view is known."""
        if isinstance(message, Notarize) and len(self.votes.proposals(message.proposal.view)) > 1:
            self.adversary.wire.send_all(self._vote_for_both(message.proposal.view))

    def _vote_for_both(self, view: int) -> Iterator[Outgoing]:
        if view in self._voted:
            return
        self._voted[view] = None
        for half, proposal in zip(self.adversary.halves, self.votes.proposals(view), strict=False):
            for vote in (self.votes.notarize(proposal), self.votes.finalize(proposal)):
                self.note(vote.traced_name, half)
                yield Outgoing(half, vote, self.adversary.label_of(vote))

    def _invent(self, outgoing: Outgoing, vote: Notarize | Finalize) -> Iterator[Outgoing]:
        invented = self.votes.vote_for(vote, other_digest(vote.proposal.payload))
        deceived = tuple(node for node in outgoing.to if node in self.adversary.halves[1])
        yield outgoing._replace(to=tuple(node for node in outgoing.to if node not in deceived))
        self.note(vote.traced_name, deceived)
        yield Outgoing(deceived, invented, outgoing.label)


class BlindVote(SimplexBehaviour):
    """Notarizes the first block that it hears of in a view without executing it, and finalizes each notarized block.

    It never nullifies a view after its vote to finalize. Its own validator counts the blind votes as well, so that it
    can complete a certificate. `what` selects the blind vote; by default both votes are blind.
    """

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        self._voted: dict[tuple[str, int], None] = {}

    def hear(self, _source: NodeId, message: Message) -> None:
        """Vote at once for a block that its leader has voted for, and for the finality of a notarized block."""
        if isinstance(message, Notarize) and not self.votes.is_leader(message.proposal.view):
            for proposal in self.votes.proposals(message.proposal.view)[:1]:
                self._vote(self.votes.notarize(proposal))
        elif isinstance(message, Notarization):
            self._vote(self.votes.finalize(message.proposal))

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Drop own votes after a blind vote of the kind, and votes to nullify a view that it finalizes."""
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
        self.adversary.wire.send_all([Outgoing(everybody, vote, self.adversary.label_of(vote))])


class NullifyAndFinalize(SimplexBehaviour):
    """Votes both to nullify and to finalize a view."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Send the contrary vote as well."""
        contrary = self._contrary(outgoing.message)
        if contrary is None or not self.is_time():
            return (outgoing,)
        self.note(contrary.traced_name, outgoing.to)
        return (outgoing, Outgoing(outgoing.to, contrary, self.adversary.label_of(contrary)))

    def _contrary(self, message: Message | bytes) -> Nullify | Finalize | None:
        if isinstance(message, Finalize):
            return self.votes.nullify(message.proposal.view)
        if isinstance(message, Nullify) and (proposals := self.votes.proposals(message.view)):
            return self.votes.finalize(proposals[0])
        return None


class MutatedVotes(SimplexBehaviour):
    """Changes view, parent's view or block of a vote by the smallest step, and signs the changed vote."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Change a vote."""
        message = outgoing.message
        if not isinstance(message, Notarize | Nullify | Finalize) or not self.is_time():
            return (outgoing,)
        step = 1 - 2 * self.draw(2)
        changed: Notarize | Nullify | Finalize
        if isinstance(message, Nullify):
            changed = self.votes.nullify(max(message.view + step, 0))
        else:
            changed = self.votes.cast_like(message, self._mutate(message.proposal, step))
        self.note(outgoing.label.kind, outgoing.to)
        return (outgoing._replace(message=changed, label=self.adversary.label_of(changed)),)

    def _mutate(self, proposal: Proposal, step: int) -> Proposal:
        what = self.fault.what or ("view", "parent", "digest")[self.draw(3)]
        if what == "view":
            return msgspec.structs.replace(proposal, view=max(proposal.view + step, 0))
        if what == "parent":
            return msgspec.structs.replace(proposal, parent_view=max(proposal.parent_view + step, 0))
        if what == "digest":
            return msgspec.structs.replace(proposal, payload=other_digest(proposal.payload))
        raise ValueError(f"no form of mutate-votes: {what!r}")


class ThinCertificates(SimplexBehaviour):
    """Sends certificates with too few signers, with signers that did not sign, or with its own signature alone."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Forge a certificate in place of a true certificate, or add a certificate to a vote."""
        message = outgoing.message
        if isinstance(message, Notarize):
            return self._add(outgoing, message) if self.is_time() else (outgoing,)
        certificate = message.certificate if isinstance(message, CertificateResponse) else message
        if not isinstance(certificate, Certificate) or not self.is_time():
            return (outgoing,)
        forged = self._forge(certificate)
        self.note(outgoing.label.kind, outgoing.to)
        whole = CertificateResponse(message.view, forged) if isinstance(message, CertificateResponse) else forged
        return (outgoing._replace(message=whole),)

    def _forge(self, certificate: Certificate) -> Certificate:
        choice, validators = self.draw(3), self.adversary.validators
        if choice == 0:
            return thinned(certificate, validators)
        return padded(certificate, validators) if choice == 1 else strayed(certificate)

    def _add(self, outgoing: Outgoing, vote: Notarize) -> Iterator[Outgoing]:
        """Claim that all validators have finalized a block for which this validator alone has voted."""
        yield outgoing
        everybody = range(self.adversary.validators)
        signatures = (self.votes.finalize(vote.proposal).signature,) * self.adversary.validators
        forged = Finalization(vote.proposal, encode_signers(everybody, self.adversary.validators), signatures)
        self.note("Finalization", outgoing.to)
        yield Outgoing(outgoing.to, forged, self.adversary.label_of(forged))


SIMPLEX_ADVERSARIES = EngineAdversaries(
    kind=SIMPLEX,
    make_votes=SimplexVotes,
    finality_forms=SimplexVotes.FINALITY_FORMS,
    behaviours={
        "double-vote": DoubleVote,
        "blind-vote": BlindVote,
        "nullify-and-finalize": NullifyAndFinalize,
        "mutate-votes": MutatedVotes,
        "invalid-certificates": ThinCertificates,
        "skip-view": SkipView,
        "malformed-votes": Misshape,
        "forge-parent": ForgeParent,
    },
    forms={
        "blind-vote": ("notarize", "finalize"),
        "mutate-votes": ("view", "parent", "digest"),
        "malformed-votes": Misshape.NAMED_FORMS,
        "forge-parent": ForgeParent.FORMS,
        "skip-view": SkipView.FORMS,
    },
)
