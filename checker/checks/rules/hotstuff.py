"""The rules of HotStuff: the order of entries in a journal, and the meaning of votes and certificates.

Restated from docs/spec.md and not from the engine, of which only the types of messages and records come in. The profile
is read off the journal itself, once a block is final: its proof has three headers or two. Only three-chain has locks.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

import msgspec

from checker.checks.journals import Said
from checker.checks.observations import short
from checker.checks.rules.engine_rules import EngineRules, Proposed, Signed
from validators.consensus.hotstuff.finality import Commit
from validators.consensus.hotstuff.journal import CastVote, HotStuffRecord, Lock
from validators.consensus.hotstuff.kind import HOTSTUFF
from validators.consensus.hotstuff.messages import (
    BlockVote,
    QuorumCertificate,
    TimeoutCertificate,
    ViewTimeout,
)
from validators.consensus.interface import Finality
from validators.consensus.signing import encode_varint, signed_bytes
from validators.events import Voted
from validators.messages import message_codec

_FINALITY_VIEWS_MAX: Final = 32
"""Four views make a block final; the others are for leaders that are away, two views each, and views far apart."""

_NAMESPACES: Final = {
    BlockVote: b"stampede_HOTSTUFF_VOTE",
    ViewTimeout: b"stampede_HOTSTUFF_TIMEOUT",
}

"""The names of a vote for a block, as it is sent and as its event has it."""

_TWO_CHAIN, _THREE_CHAIN = 2, 3
"""Blocks of a proof, in the profile without locks and in that with them."""

_VIEW, _PARENT = 3, 4
"""The places of two fields of a header (docs/chain.md)."""


class HotStuffJournal:
    """One validator's journal: the last voted view over all lives, its lock, and its certificates."""

    def __init__(self, node: int) -> None:
        self._node = node
        self._voted = 0
        self._left = 0
        self.forget()

    def forget(self) -> None:
        """Note the loss of the journal with all certificates; votes stay cast."""
        self._high = 0
        self._locked = 0
        self._proved = 0
        self._final = 0
        self._entries: dict[int, int] = {}
        self._parents: dict[bytes, int] = {}
        self._certified: dict[int, bytes] = {}
        self._chain = 0

    def begin_after(self, floor: Finality) -> None:
        """Begin with a floor alone: the journal comes from a process that was not watched."""
        assert isinstance(floor, Commit), "the engine's own"
        self._chain = len(floor.headers)
        self._final = floor.view
        # The certificate of the proof, of a later view, may stand among the entries that were carried over.
        self._high = floor.view

    def find_fault(self, record: HotStuffRecord) -> str:
        """Return the rule that an entry here breaks, or an empty string."""
        match record:
            case CastVote(vote, parent_view):
                return self._find_vote_fault(vote, parent_view)
            case ViewTimeout():
                return self._find_timeout_fault(record) or self._find_entry_fault(record)
            case QuorumCertificate(view):
                return f"its highest certificate was of view {self._high}" if view <= self._high else ""
            case TimeoutCertificate(view):
                return "it had a later one" if view < max(self._entries, default=0) else ""
            case Lock(view):
                return self._find_lock_fault(view)
            case Commit():
                return self._find_commit_fault(record)

    def take_in(self, record: HotStuffRecord) -> None:
        """Note an entry, allowed or not."""
        match record:
            case CastVote(vote, parent_view):
                self._voted = max(self._voted, vote.view)
                self._parents[vote.digest] = parent_view
            case ViewTimeout(view=view):
                self._left = max(self._left, view)
            case QuorumCertificate(view, digest):
                self._high = max(self._high, view)
                self._certified[view] = digest
            case TimeoutCertificate(view):
                # Several quorums can give up one view; the last certificate before a vote is that of the vote's block.
                self._entries[view] = max(record.high_views, default=0)
            case Lock(view):
                self._locked = max(self._locked, view)
                self._chain = _THREE_CHAIN
            case Commit(certificate=certificate):
                self._final = max(self._final, record.view)
                self._chain = len(record.headers)
                self._high = max(self._high, certificate.view)
                if self._chain == _THREE_CHAIN:
                    self._proved = max(self._proved, msgspec.msgpack.decode(record.headers[1])[_VIEW])

    def _find_lock_fault(self, view: int) -> str:
        if view <= self._locked:
            return f"the lock was at view {self._locked}, and moves back"
        # The parent of a certified block is locked, and never that block itself.
        return f"its highest certificate was of view {self._high}" if view >= self._high else ""

    def _find_vote_fault(self, vote: BlockVote, parent_view: int) -> str:  # noqa: PLR0911 - one line per rule
        view = vote.view
        if vote.signer != self._node:
            return f"it is by {vote.signer}"
        if view <= self._voted:
            return f"it had voted in view {self._voted}"
        if view <= self._left:
            return f"it had given up view {self._left}"
        if parent_view > self._high:
            return f"the parent, of view {parent_view}, had no certificate"
        if parent_view < self._locked:
            return f"the parent is of view {parent_view}, and the lock was at view {self._locked}"
        if self._proved > self._locked:
            return f"a proof of finality locks view {self._proved}, and the lock was at view {self._locked}"
        # Only of a block that it has voted for itself does the journal say what its certificate locks; of a leader's
        # two blocks the other one may be certified.
        lock = self._parents.get(self._certified.get(parent_view, b""), 0)
        if self._chain == _THREE_CHAIN and lock > self._locked:
            return f"the certificate of view {parent_view} locks view {lock}, and the lock was at view {self._locked}"
        if self._chain != _TWO_CHAIN or parent_view == view - 1:
            return ""
        shown = self._entries.get(view - 1)
        if shown is None:
            return f"the parent is of view {parent_view}, and no timeout certificate of view {view - 1} was there"
        return "" if parent_view >= shown else f"the parent is of view {parent_view}, and a timeout shows view {shown}"

    def _find_timeout_fault(self, timeout: ViewTimeout) -> str:
        if timeout.signer != self._node:
            return f"it is by {timeout.signer}"
        if timeout.view <= self._left:
            return f"it had given up view {self._left}"
        if timeout.high.view != self._high:
            return f"it shows a certificate of view {timeout.high.view}, and its highest was of view {self._high}"
        return ""

    def _find_entry_fault(self, timeout: ViewTimeout) -> str:
        before = timeout.view - 1
        # Where a block's certificate let it in, that is shown; f + 1 others, which let one in as well, are no proof.
        is_needed = timeout.high.view != before and before in self._entries
        if not is_needed or (timeout.entry is not None and timeout.entry.view == before):
            return ""
        return f"it shows no timeout certificate of view {before}, and had one"

    def _find_commit_fault(self, commit: Commit) -> str:
        chain = [msgspec.msgpack.decode(header) for header in commit.headers]
        digests = [sha256(header).digest() for header in commit.headers]
        views: list[int] = [header[_VIEW] for header in chain]
        if self._final >= views[0]:
            return f"view {self._final} was final"
        if self._locked and len(chain) != _THREE_CHAIN:
            return f"it is proved by a chain of {len(chain)} blocks, and three-chain takes {_THREE_CHAIN}"
        if any(header[_PARENT] != digest for header, digest in zip(chain[1:], digests, strict=False)):
            return "its blocks are no chain"
        if views != list(range(views[0], views[0] + len(views))):
            return f"its blocks are of views {', '.join(map(str, views))}, which do not follow each other"
        certificate = commit.certificate
        is_last = (certificate.view, certificate.digest) == (views[-1], digests[-1])
        return "" if is_last else f"its certificate is of {short(certificate.digest)} and not of the last block"


def _said_by(record: HotStuffRecord) -> Said:
    match record:
        case CastVote(vote):
            return Said("vote", vote.view, vote.digest)
        case ViewTimeout(view=view):
            return Said("timeout", view, b"")
        case QuorumCertificate(view, digest):
            return Said("quorum-certificate", view, digest)
        case TimeoutCertificate(view):
            return Said("timeout-certificate", view, b"")
        case Lock(view, digest):
            return Said("lock", view, digest)
        case Commit():
            return Said("commit", record.view, record.digest)


def _signers_of(bitmap: bytes) -> list[int]:
    return [place for place in range(8 * len(bitmap)) if bitmap[place // 8] >> place % 8 & 1]


def _signatures_of_certificate(certificate: QuorumCertificate | TimeoutCertificate) -> list[Signed]:
    signers, view = _signers_of(certificate.signers), encode_varint(certificate.view)
    if isinstance(certificate, QuorumCertificate):
        messages = [signed_bytes(_NAMESPACES[BlockVote], view + certificate.digest)] * len(signers)
    else:
        namespace = _NAMESPACES[ViewTimeout]
        messages = [signed_bytes(namespace, view + encode_varint(high)) for high in certificate.high_views]
    triples = zip(signers, messages, certificate.signatures, strict=False)
    return [Signed(signer, message, signature) for signer, message, signature in triples]


def _signatures_of(record: HotStuffRecord) -> list[Signed]:
    match record:
        case CastVote(vote):
            message = encode_varint(vote.view) + vote.digest
            return [Signed(vote.signer, signed_bytes(_NAMESPACES[BlockVote], message), vote.signature)]
        case ViewTimeout(signer, view, high):
            message = encode_varint(view) + encode_varint(high.view)
            return [Signed(signer, signed_bytes(_NAMESPACES[ViewTimeout], message), record.signature)]
        case QuorumCertificate() | TimeoutCertificate():
            return _signatures_of_certificate(record)
        case Commit(certificate=certificate):
            return _signatures_of_certificate(certificate)
    return []


def _find_next_view(journal: Sequence[HotStuffRecord]) -> int:
    """Return the view after the highest certificate of either kind, but none below a vote or TIMEOUT."""
    views = [1]
    for record in journal:
        match record:
            case CastVote(vote):
                views.append(vote.view)
            case ViewTimeout(view=view):
                views.append(view)
            case QuorumCertificate(view) | TimeoutCertificate(view):
                views.append(view + 1)
            case Commit(certificate=certificate):
                views.append(certificate.view + 1)
    return max(views)


def _finality_gap_max_us(config: Any, down: int) -> int | None:  # noqa: ANN401 - the engine's own
    """Each of those that are down leads two views that may wait their longest; four more make a block final."""
    wait_us: int = config.view_timeout_max_us
    return (2 * down + 4) * wait_us


def _proposal_of(record: HotStuffRecord) -> Proposed | None:
    if not isinstance(record, CastVote):
        return None
    return Proposed(record.vote.view, record.vote.digest, record.parent_view)


def _read_vote(encoded: bytes) -> HotStuffRecord | None:
    vote = message_codec(HOTSTUFF).decode(encoded)
    # Its parent stands in no vote, only in the voter's own journal.
    return CastVote(vote, 0) if isinstance(vote, BlockVote) else None


def _describe_vote(encoded: bytes) -> str:
    vote = message_codec(HOTSTUFF).decode(encoded)
    return f"vote {short(vote.digest)}" if isinstance(vote, BlockVote) else vote.traced_name.lower()


def _accepts_block(vote: Voted) -> bool:
    return vote.vote == "vote"


HOTSTUFF_RULES: Final = EngineRules(
    name=HOTSTUFF.name,
    finality="commit",
    journal=HotStuffJournal,
    said_by=_said_by,
    signatures_of=_signatures_of,
    find_next_view=_find_next_view,
    leader_of=lambda view, validators, _plan: view // 2 % validators,
    finality_views_max=_FINALITY_VIEWS_MAX,
    finality_gap_max_us=_finality_gap_max_us,
    accepts_block=_accepts_block,
    makes_final=_accepts_block,
    proposal_of=_proposal_of,
    reasons=("ViewExpired", "PeerTimeouts"),
    evidence={"ConflictingVotes": ("vote", "vote")},
    read_vote=_read_vote,
    describe_vote=_describe_vote,
)
