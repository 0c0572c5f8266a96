"""Messages that an adversary makes up for each engine: proposals on any block, proofs of finality, and requests."""

from validators.consensus.hotstuff.finality import Commit
from validators.consensus.hotstuff.messages import VOTE_NAMESPACE, BlockSeal, QuorumCertificate, vote_bytes
from validators.consensus.hotstuff.sealing import decode_seal, encode_seal
from validators.consensus.longest_chain import Announcement, Burial, HeadRequest, HeadResponse, SealedHeader
from validators.consensus.longest_chain.sealing import SEAL_NAMESPACE
from validators.consensus.simplex import CertificateRequest, CertificateResponse, Finalization, Notarize, Proposal

_LATE_SEALS = 12
_LONG_SIGNATURE = b"\xc4\x40", b"\xc5\x00\x40"
"""The head of 64 bytes in msgpack, and one that says the same with more bytes."""


class _Craft:
    """Messages that are made up; `requests` are messages that anybody may send.

    Args:
        chain: The blocks.
        forger: Signs with the keys that are known.
        config: The configuration of the engines.
        draw: Draws what is made up.
    """

    requests = ()

    def __init__(self, chain, forger, config, draw):
        self.chain, self.forger, self.config, self.draw = chain, forger, config, draw


class _SimplexCraft(_Craft):
    requests = (CertificateRequest(1), CertificateRequest(4))

    def propose(self, facts):
        """Return the leader's vote, whose parent is said to be of any view of late in most cases."""
        late = max(facts.view - (1, 1, 2, 3, 0)[self.draw(5)], 0)
        parent_view = late if self.draw(3) else self.chain.blocks[facts.parent].view
        return self.forger.signed(Notarize(facts.proposer, Proposal(facts.view, parent_view, facts.digest), b""))

    def prove(self, path):
        """Return a finalization of the first block, by all whose keys are known."""
        proposal = Proposal(path[0].view, self.chain.blocks[path[0].parent].view, path[0].digest)
        return self.forger.certified(Finalization(proposal, b"", ()))

    def answer(self, finality):
        """Return a message that brings a finality."""
        return CertificateResponse(finality.view, finality)


class _HotStuffCraft(_Craft):
    def propose(self, facts):
        """Seal a block with a certificate of its parent, and with any timeout certificate or none."""
        seals = [decode_seal(seal) for seal in list(self.chain.seals.values())[-_LATE_SEALS:]]
        parent = self.chain.blocks[facts.parent]
        made_up = QuorumCertificate(parent.view, parent.digest, b"", ())
        justify = next((each.justify for each in seals if each.justify.digest == parent.digest), None)
        justify = justify or (self.forger.certified(made_up) if parent.view else made_up)
        timeouts = [None, *(each.timeout for each in seals if each.timeout is not None)]
        vote = self.forger.schemes[facts.proposer].sign(VOTE_NAMESPACE, vote_bytes(facts.view, facts.digest))
        seal = BlockSeal(justify, vote, timeouts[-1 - self.draw(len(timeouts))])
        self.chain.seals[facts.digest] = encode_seal(seal)

    def prove(self, path):
        """Return a proof with the first blocks, certified by all whose keys are known."""
        certificate = self.forger.certified(QuorumCertificate(path[0].view, path[0].digest, b"", ()))
        return Commit(tuple(facts.header for facts in path[: self.config.chain_length][::-1]), certificate)

    def answer(self, _finality):
        """Return None: no message brings a finality."""

    def changed_seal(self, _facts, seal):
        """Return a seal that differs in one part, or in its encoding."""
        if self.draw(6) == 0:
            return seal.replace(*_LONG_SIGNATURE, 1)
        return encode_seal(self.forger.changed(decode_seal(seal)))


class _LongestChainCraft(_Craft):
    requests = (HeadRequest(),)

    def propose(self, facts):
        """Seal a block; return an announcement, or None where it comes by itself."""
        seal = self.forger.schemes[facts.proposer].sign(SEAL_NAMESPACE, facts.digest)
        self.chain.seals[facts.digest] = seal
        return Announcement(SealedHeader(facts.header, seal)) if self.draw(2) else None

    def prove(self, path):
        """Return the burial of a block by those on it, which may be one too few, or the highest of them a wrong one."""
        buried = path[: self.config.finality_depth + self.draw(3)][::-1]
        chain = [SealedHeader(facts.header, self.chain.seals.get(facts.digest, b"")) for facts in buried]
        if self.draw(3) == 0:
            chain[-1] = self.forger.signed(SealedHeader(self.forger.changed_header(chain[-1].header), b""))
        return Burial(tuple(chain))

    def answer(self, finality):
        """Return a message that brings a finality under its highest header."""
        return HeadResponse(finality.chain[-1], finality)

    def changed_seal(self, facts, seal):
        """Return other bytes than a seal."""
        return self.forger.changed(SealedHeader(facts.header, seal)).seal


CRAFTS = {"simplex": _SimplexCraft, "hotstuff": _HotStuffCraft, "longest-chain": _LongestChainCraft}
"""By engine."""
