"""The messages of an adversary in HotStuff: votes and seals signed with its key, and invented messages.

The leader of a view is restated here, because an adversary does not ask the engine.
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

import msgspec

from faults.byzantine.engine_votes import Junk
from faults.byzantine.hotstuff_timeouts import MISSHAPES, Timeouts, misshapen
from network.types import NodeId
from validators.consensus.hotstuff.finality import Commit
from validators.consensus.hotstuff.messages import (
    TIMEOUT_NAMESPACE,
    VIEW_LIMIT,
    VOTE_NAMESPACE,
    BlockSeal,
    BlockVote,
    HotStuffMessage,
    QuorumCertificate,
    TimeoutCertificate,
    ViewTimeout,
    timeout_bytes,
    vote_bytes,
)
from validators.consensus.hotstuff.sealing import decode_seal, encode_seal
from validators.consensus.interface import EngineConfig, Finality
from validators.consensus.quorum import decode_signers, encode_signers, quorum_of
from validators.consensus.signing import Scheme
from validators.execution import InvalidEncodingError
from validators.execution.blocks import Header, decode_header, decode_sealed, header_digest
from validators.messages import BlockRelay

_CERTIFICATES_KEPT = 64


class HotStuffVotes:
    """Signs any vote, and remembers the latest certificates that were sent or heard, by certified block."""

    FINALITY_FORMS: ClassVar[tuple[str, ...]] = ("short", "gap", "other", *MISSHAPES)

    def __init__(self, node: NodeId, validators: int, scheme: Scheme, config: EngineConfig) -> None:
        del config  # both profiles say the same things
        self.timeouts: Final = Timeouts(validators)
        self._node = node
        self._validators = validators
        self._scheme = scheme
        self._certificates: dict[bytes, QuorumCertificate] = {}

    # -- for general behaviours ----------------------------------------------------------------

    def observe(self, message: object) -> None:
        """Remember the certificates of a message."""
        if isinstance(message, ViewTimeout):
            self._keep(message.high)
            self.timeouts.add(message)
        elif isinstance(message, BlockRelay):
            try:
                seal = decode_seal(decode_sealed(message.block).seal)
            except InvalidEncodingError:
                return
            if seal is not None:
                self._keep(seal.justify)

    def remember(self, vote: BlockVote) -> None:
        """Do nothing: HotStuff needs no memory of votes."""

    def proposes(self, _message: object) -> bool:
        """Whether a message proposes: only a relayed block does."""
        return False

    def block_of(self, message: object) -> bytes | None:
        """Return the digest of the block that a message is a vote for, None for another message."""
        return message.digest if isinstance(message, BlockVote) else None

    def vote_for(self, vote: BlockVote, digest: bytes) -> BlockVote:
        """Return the same vote for another block, signed."""
        return self.vote(vote.view, digest)

    def impersonated(self, vote: HotStuffMessage, victim: NodeId) -> HotStuffMessage:
        """Return a vote or TIMEOUT with another signer's number and this validator's signature."""
        return msgspec.structs.replace(vote, signer=victim)

    def seal_for(self, header: Header, seal: bytes) -> bytes:
        """Return a seal for a block in place of another block: with its own vote, and its parent's certificate."""
        true = decode_seal(seal)
        if true is None:
            return seal
        justify = self._certificates.get(header.parent, true.justify)
        vote = self.vote(header.view, header_digest(header))
        # Timeouts with a later certificate would reveal the forgery.
        shown = true.timeout if true.timeout is not None and true.timeout.high_view <= justify.view else None
        return encode_seal(BlockSeal(justify, vote.signature, shown))

    def thinned(self, finality: Finality) -> Commit:
        """Return a proof whose certificate lacks its last signer."""
        assert isinstance(finality, Commit), "the engine's own"
        certificate = finality.certificate
        signers = encode_signers(decode_signers(certificate.signers)[:-1], self._validators)
        thin = msgspec.structs.replace(certificate, signers=signers, signatures=certificate.signatures[:-1])
        return msgspec.structs.replace(finality, certificate=thin)

    def broken_finality(self, form: str, finality: Finality) -> Commit | None:
        """Return a proof that lacks or repeats a header, or has a certificate of its first block or without a quorum.

        Except in the last form, all certificates are true.
        """
        assert isinstance(finality, Commit), "the engine's own"
        headers, certificate = finality.headers, finality.certificate
        if form in MISSHAPES:
            return Commit(headers, misshapen(certificate, form, self._validators))
        last = headers[-2 if form == "short" else 0]
        known = self._certificates.get(header_digest(decode_header(last)))
        chains = {"short": headers[:-1], "gap": (last,) * len(headers), "other": headers}
        # A proof of two-chain has no header to spare.
        return None if known is None or len(chains[form]) < 2 else Commit(chains[form], known)

    def old_requests(self, _junk: Junk, _until_view: int) -> Iterator[BlockVote]:
        """Yield nothing: no message of HotStuff asks for anything."""
        yield from ()

    def old_votes(self, junk: Junk, until_view: int) -> Iterator[BlockVote]:
        """Yield a vote of a view that was left."""
        yield self.vote(1 + junk.draw(until_view), junk.junk(32))

    def unsigned_finalities(self, junk: Junk, views: Iterable[int]) -> Iterator[ViewTimeout]:
        """Yield a signed TIMEOUT of each view, with an invented certificate."""
        for view in views:
            yield self.timeout(view + 1, self._forged(junk, view), None)

    def senseless_requests(self) -> Iterator[BlockVote]:
        """Yield nothing: no message of HotStuff asks for anything."""
        yield from ()

    def senseless_finality(self, junk: Junk) -> Commit:
        """Return a proof with invalid headers."""
        return Commit((junk.junk(40), junk.junk(40), junk.junk(40)), self._forged(junk, VIEW_LIMIT - 1))

    def senseless_answers(self) -> Iterator[BlockVote]:
        """Yield nothing: no message of HotStuff answers anything."""
        yield from ()

    def senseless_votes(self, junk: Junk) -> Iterator[BlockVote | ViewTimeout]:
        """Yield votes of other validators and of itself, unsigned or without a view."""
        victim = junk.draw(self._validators)
        yield BlockVote(victim, 1 + junk.draw(40), junk.junk(32), junk.junk(64))
        yield BlockVote(self._node, 0, junk.junk(32), b"")
        yield ViewTimeout(victim, 1 + junk.draw(40), self._forged(junk, 0), None, junk.junk(64))

    # -- for HotStuff's own behaviours ---------------------------------------------------------

    def is_leader(self, view: int) -> bool:
        """Whether this validator leads a view."""
        return view >= 1 and view // 2 % self._validators == self._node

    def vote(self, view: int, digest: bytes) -> BlockVote:
        """Sign a vote."""
        signature = self._scheme.sign(VOTE_NAMESPACE, vote_bytes(view, digest))
        return BlockVote(self._node, view, digest, signature)

    def timeout(self, view: int, high: QuorumCertificate, entry: TimeoutCertificate | None) -> ViewTimeout:
        """Sign a TIMEOUT."""
        signature = self._scheme.sign(TIMEOUT_NAMESPACE, timeout_bytes(view, high.view))
        return ViewTimeout(self._node, view, high, entry, signature)

    def with_oldest(self, message: ViewTimeout) -> ViewTimeout | None:
        """Return the same message with the oldest remembered certificate, signed; None if that changes nothing."""
        oldest = min(self._certificates.values(), key=lambda each: each.view, default=message.high)
        if oldest.view >= message.high.view:
            return None
        signature = self._scheme.sign(TIMEOUT_NAMESPACE, timeout_bytes(message.view, oldest.view))
        return msgspec.structs.replace(message, high=oldest, entry=None, signature=signature)

    def has_certificate(self, digest: bytes) -> bool:
        """Whether the certificate of a block is remembered."""
        return digest in self._certificates

    def certificate_of(self, digest: bytes) -> QuorumCertificate | None:
        """Return the certificate of a block, None where it is not remembered."""
        return self._certificates.get(digest)

    def certificate_below(self, view: int) -> QuorumCertificate | None:
        """Return the highest remembered certificate of a lower view; the certificate of genesis does not count."""
        below = [each for each in self._certificates.values() if 0 < each.view < view]
        return max(below, key=lambda each: each.view, default=None)

    def _keep(self, certificate: QuorumCertificate) -> None:
        self._certificates[certificate.digest] = certificate
        while len(self._certificates) > _CERTIFICATES_KEPT:
            del self._certificates[next(iter(self._certificates))]

    def _forged(self, junk: Junk, view: int) -> QuorumCertificate:
        quorum = quorum_of(self._validators)
        signers = encode_signers(range(quorum), self._validators)
        return QuorumCertificate(view, junk.junk(32), signers, (junk.junk(64),) * quorum)
