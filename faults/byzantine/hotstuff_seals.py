"""Invalid block seals of HotStuff: each breaks one rule, and is signed with the leader's true key."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import msgspec

from faults.byzantine.adversary import Adversary, Behaviour, Orders, Outgoing
from faults.byzantine.hotstuff_timeouts import MISSHAPES, misshapen
from faults.byzantine.hotstuff_votes import HotStuffVotes
from faults.byzantine.votes import other_digest
from validators.consensus.hotstuff.messages import VIEW_LIMIT, BlockSeal, QuorumCertificate, TimeoutCertificate
from validators.consensus.hotstuff.sealing import decode_seal, encode_seal
from validators.execution import (
    ExecutedBlock,
    ExecutionLayer,
    InvalidBlockError,
    ProposalContext,
    UnknownParentError,
)
from validators.execution.blocks import Block, block_digest, decode_sealed, encode_sealed
from validators.messages import BlockRelay, block_label

_OF_TIMEOUTS: Final = "timeout-"
"""The prefix of forms about a timeout certificate; three-chain has no timeout certificates."""


class HotStuffBehaviour(Behaviour):
    """A behaviour of an adversary that votes in HotStuff."""

    @property
    def votes(self) -> HotStuffVotes:
        """The votes of its adversary."""
        votes = self.adversary.votes
        assert isinstance(votes, HotStuffVotes), "the registry gives these behaviours to no other engine"
        return votes


class ForgeSeal(HotStuffBehaviour):
    """Seals its block with a fault; `what` selects the form, or all forms take turns.

    The leader's vote is over another block (`vote`). The parent's certificate has wrong signers (`bitmap`, `stray`,
    `quorum`, `signatures`, `forged`), is of an older block (`parent`), or of genesis far above genesis (`genesis`). The
    block has a view not above its parent's (`late`), an impossible view (`view`), or the next view of another leader,
    sent along with the true block (`leader`). The timeout certificate is of another view (`timeout-view`), of a quorum
    that knew a higher certificate than the parent's (`timeout-high`), has a view too many (`timeout-views`), or is
    misshapen. If no timeout has been heard, the block is held back, so that its view ends by timeouts.
    """

    FORMS: ClassVar[tuple[str, ...]] = (
        *("vote", *MISSHAPES, "parent", "genesis", "late", "view", "leader"),
        *(_OF_TIMEOUTS + each for each in ("view", "high", "views", *MISSHAPES)),
    )

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        self._form = ""
        self._view = 0

    def propose(
        self, layer: ExecutionLayer, context: ProposalContext, candidates: Sequence[Any]
    ) -> ExecutedBlock | None:
        """Choose the form; for `timeout-high`, build below the highest certificate."""
        self._form, self._view = "", context.view
        if not self.is_time():
            return None
        self._form = self.fault.what or self.FORMS[self.take_turn("form", len(self.FORMS))]
        parent = layer.executed(context.parent) if self._form == "timeout-high" else None
        if parent is None or self.votes.timeouts.certificate(context.view - 1) is None:
            return None
        if not self.votes.has_certificate(parent.header.parent):
            return None
        try:
            return layer.propose(replace(context, parent=parent.header.parent), candidates)
        except (InvalidBlockError, UnknownParentError):
            return None

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Replace the true seal by a forged seal."""
        if not self._form or not isinstance(outgoing.message, BlockRelay):
            return (outgoing,)
        block, encoded = decode_sealed(outgoing.message.block)
        seal, form = decode_seal(encoded), self._form
        if seal is None or (block.header.proposer, block.header.view) != (self.adversary.node, self._view):
            return (outgoing,)
        self._form = ""
        if form.startswith(_OF_TIMEOUTS):
            return self._with_timeout(outgoing, form.removeprefix(_OF_TIMEOUTS), block, seal)
        if form == "leader":
            ahead = self._of_other_view(block)
            return (outgoing,) if ahead is None else (outgoing, self._relay(outgoing, form, ahead, true=seal))
        forged = self._forge(form, block, seal)
        return (outgoing,) if forged is None else (self._relay(outgoing, form, forged, true=seal),)

    def _relay(
        self, outgoing: Outgoing, form: str, forged: tuple[Block, QuorumCertificate], *, true: BlockSeal
    ) -> Outgoing:
        block, justify = forged
        digest = block_digest(block)
        vote = self.votes.vote(block.header.view, other_digest(digest) if form == "vote" else digest)
        return self._sealed(outgoing, form, block, BlockSeal(justify, vote.signature, true.timeout))

    def _sealed(self, outgoing: Outgoing, form: str, block: Block, seal: BlockSeal) -> Outgoing:
        self.note(f"BlockRelay {form}", outgoing.to)
        relay = BlockRelay(encode_sealed(block, encode_seal(seal)))
        return Outgoing(outgoing.to, relay, block_label(relay, block.header))

    def _forge(self, form: str, block: Block, seal: BlockSeal) -> tuple[Block, QuorumCertificate] | None:
        justify, header = seal.justify, block.header
        makers: dict[str, Callable[[], QuorumCertificate | None]] = {
            "vote": lambda: justify,
            "parent": lambda: self.votes.certificate_below(justify.view),
            "genesis": lambda: QuorumCertificate(0, header.parent, b"", ()) if header.height > 1 else None,
        }
        if form in ("late", "view"):
            view = self._own_view_until(justify.view) if form == "late" else (0, VIEW_LIMIT)[self.draw(2)]
            return None if not view and form == "late" else (_of_view(block, view), justify)
        if form in MISSHAPES:
            is_signed = justify.view > 0
            return (block, misshapen(justify, form, self.adversary.validators)) if is_signed else None
        other = makers[form]()
        return None if other is None else (block, other)

    def _own_view_until(self, view: int) -> int:
        """Return the latest own view up to a view, 0 if there is none."""
        return next((each for each in range(view, 0, -1) if self.votes.is_leader(each)), 0)

    def _of_other_view(self, block: Block) -> tuple[Block, QuorumCertificate] | None:
        """Build a block beside the own block, of the next view that another validator leads."""
        layer, header, justify = self.adversary.layer, block.header, self.votes.certificate_of(block.header.parent)
        assert layer is not None, "who proposes has a layer"
        if justify is None:
            return None
        view = header.view + 1
        while self.votes.is_leader(view):
            view += 1
        context = ProposalContext(
            parent=header.parent, view=view, proposer=self.adversary.node, timestamp_ms=header.timestamp_ms
        )
        try:
            return layer.propose(context, ()).block, justify
        except (InvalidBlockError, UnknownParentError):
            # Another behaviour has forged the own block, or its parent is final already.
            return None

    def _with_timeout(self, outgoing: Outgoing, form: str, block: Block, seal: BlockSeal) -> Iterable[Outgoing]:
        votes, view = self.votes, block.header.view
        justify = votes.certificate_of(block.header.parent) or seal.justify
        before = votes.timeouts.certificate(view - 1)
        forged: TimeoutCertificate | None
        if form == "view":
            forged = votes.timeouts.latest_but(view - 1, justify.view)
        elif before is None or form == "high":
            forged = before if before is not None and before.high_view > justify.view else None
        elif form == "views":
            forged = msgspec.structs.replace(before, high_views=(*before.high_views, 0))
        else:
            forged = misshapen(before, form, self.adversary.validators)
        if forged is not None:
            vote = votes.vote(view, block_digest(block)).signature
            sealed = BlockSeal(justify, vote, forged)
            return (self._sealed(outgoing, f"{_OF_TIMEOUTS}{form}", block, sealed),)
        if before is not None:
            return (outgoing,)
        # Without this block its view ends by timeouts; the next own block needs them.
        self.note("BlockRelay withheld", outgoing.to)
        return ()


def _of_view(block: Block, view: int) -> Block:
    return Block(msgspec.structs.replace(block.header, view=view), block.transactions)
