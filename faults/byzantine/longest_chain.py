"""Behaviours of Byzantine validators that only the longest chain has: secret branches, and other leaders' slots."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from faults.byzantine.adversary import Adversary, Behaviour, Orders, Outgoing
from faults.byzantine.engine_adversaries import EngineAdversaries
from faults.byzantine.longest_chain_heads import ForgeHead
from faults.byzantine.longest_chain_votes import LongestChainVotes
from validators.consensus.longest_chain import HeadResponse
from validators.consensus.longest_chain.kind import LONGEST_CHAIN
from validators.consensus.longest_chain.messages import facts_of
from validators.execution import (
    ExecutedBlock,
    ExecutionLayer,
    InvalidBlockError,
    ProposalContext,
    UnknownParentError,
)
from validators.execution.blocks import block_digest, decode_sealed, encode_sealed
from validators.messages import BlockRelay, block_label


class PrivateBranch(Behaviour):
    """Builds its blocks on each other in secret, and publishes them all with each `every`-th block.

    Its own validator knows the secret blocks, and follows the public branch as soon as it is better. The secret branch
    continues to grow. The next secret branch begins at the head.
    """

    def __init__(self, adversary: Adversary, name: str, fault: Orders) -> None:
        super().__init__(adversary, name, fault)
        self._tip = b""
        self._secret: dict[bytes, list[Outgoing]] = {}

    def propose(
        self, layer: ExecutionLayer, context: ProposalContext, candidates: Sequence[Any]
    ) -> ExecutedBlock | None:
        """Build on the last secret block, or begin a secret branch."""
        parent = self._tip if layer.executed(self._tip) is not None else context.parent
        try:
            built = layer.propose(replace(context, parent=parent), candidates)
        except InvalidBlockError:
            return None
        if parent != self._tip:
            self._secret.clear()
        self._tip = built.digest
        self._secret[built.digest] = []
        return built

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Keep a secret block and its announcement until the block with which all are published."""
        digest = self._subject_of(outgoing)
        if digest is None or digest not in self._secret:
            return (outgoing,)
        self.note(outgoing.label.kind, outgoing.to)
        if isinstance(outgoing.message, HeadResponse):
            return ()
        self._secret[digest].append(outgoing)
        if not self.adversary.votes.proposes(outgoing.message) or not self.is_time():
            return ()
        # The announcement leaves last, after the block itself: the branch is complete.
        published = [each for kept in self._secret.values() for each in kept]
        self._secret.clear()
        self._tip = b""
        return published

    def _subject_of(self, outgoing: Outgoing) -> bytes | None:
        message = outgoing.message
        if isinstance(message, HeadResponse):
            facts = facts_of(message.head)
            return None if facts is None else facts.digest
        if isinstance(message, BlockRelay):
            return block_digest(decode_sealed(message.block).block)
        return self.adversary.votes.block_of(message)


class Usurp(Behaviour):
    """Sends a block of another leader's next slot along with its block: valid except for its leader."""

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Send a further block, built on the own block."""
        message, layer, votes = outgoing.message, self.adversary.layer, self.adversary.votes
        if not isinstance(message, BlockRelay) or not self.is_time():
            return (outgoing,)
        assert layer is not None, "who proposes has a layer"
        assert isinstance(votes, LongestChainVotes), "the registry gives this behaviour to no other engine"
        below = decode_sealed(message.block).block
        view = below.header.view + 1
        while votes.leader(view) == self.adversary.node:
            view += 1
        context = ProposalContext(
            parent=block_digest(below),
            view=view,
            proposer=self.adversary.node,
            timestamp_ms=votes.first_time_ms(view),
        )
        try:
            block = layer.propose(context, ()).block
        except (InvalidBlockError, UnknownParentError):
            # No block can be built on a block that another behaviour has forged before.
            return (outgoing,)
        seal = votes.seal_for(block.header, b"")
        self.adversary.keep(block, seal)
        self.note("BlockRelay", outgoing.to)
        relay = BlockRelay(encode_sealed(block, seal))
        return (outgoing, Outgoing(outgoing.to, relay, block_label(relay, block.header)))


LONGEST_CHAIN_ADVERSARIES = EngineAdversaries(
    kind=LONGEST_CHAIN,
    make_votes=LongestChainVotes,
    finality_forms=LongestChainVotes.FINALITY_FORMS,
    behaviours={"private-branch": PrivateBranch, "propose-ahead": Usurp, "forge-head": ForgeHead},
    forms={"forge-head": ForgeHead.FORMS},
)
