"""The events that validators trace about themselves: lives, views, votes, blocks, damage and refusals.

A type whose `kind` differs from its name keeps the word that logs and digests have had from the start.
"""

from typing import ClassVar, Final

from network.events import TraceEvent


class Booted(TraceEvent, frozen=True):
    """A validator read its disk and starts to serve. `root` is the state root at `finalized_height`."""

    kind: ClassVar[str] = "boot"
    incarnation: int
    view: int
    finalized_height: int
    root: bytes


class Halted(TraceEvent, frozen=True):
    """A validator stopped for good, for a reason."""

    kind: ClassVar[str] = "halted"
    reason: str


class StoppedVoting(TraceEvent, frozen=True):
    """A validator follows without a vote from now on, because its vote journal is lost, for a reason."""

    kind: ClassVar[str] = "observer"
    reason: str


class Entered(TraceEvent, frozen=True):
    """A validator entered a view; `leader` is -1 if the view has no leader."""

    kind: ClassVar[str] = "enter"
    view: int
    leader: int


class Voted(TraceEvent, frozen=True):
    """A validator sent a vote, or found it in its journal: `notarize`, `nullify` (empty payload) or `finalize`."""

    kind: ClassVar[str] = "vote"
    vote: str
    view: int
    payload: bytes


class CertificateHeld(TraceEvent, frozen=True):
    """A validator holds a `notarization`, `nullification` (empty payload) or `finalization`."""

    kind: ClassVar[str] = "certificate"
    certificate: str
    view: int
    payload: bytes
    signers: tuple[int, ...]


class Reported(TraceEvent, frozen=True):
    """A validator gave up a view (`TimedOut`; `signer` leads it, `detail` is the reason), or holds evidence."""

    kind: ClassVar[str] = "report"
    activity: str
    signer: int
    view: int
    detail: str


class EvidenceReported(Reported, frozen=True):
    """A validator holds two signed votes of `signer`, encoded, that exclude each other.

    The log has one kind for both reports: read this type only where `activity` names evidence.
    """

    first: bytes
    second: bytes


class HeadAdopted(TraceEvent, frozen=True):
    """A validator follows another head before it is final, and leaves `abandoned` blocks of its previous head."""

    kind: ClassVar[str] = "head"
    height: int
    view: int
    digest: bytes
    abandoned: int


class Uncertified(TraceEvent, frozen=True):
    """A validator refused to certify the notarized payload of a view."""

    kind: ClassVar[str] = "uncertified"
    view: int
    payload: bytes


DIVERGED: Final = "diverged"
"""The mode of an execution whose roots are not those of the block's header."""


class BlockExecuted(TraceEvent, frozen=True):
    """A validator executed a block, speculatively or again after a restart; `mode` is the purpose."""

    kind: ClassVar[str] = "executed"
    height: int
    view: int
    digest: bytes
    root: bytes
    mode: str


class BlockFinalized(TraceEvent, frozen=True):
    """A validator applied a finalized block."""

    kind: ClassVar[str] = "finalized"
    height: int
    view: int
    digest: bytes
    root: bytes


class BlockRolledBack(TraceEvent, frozen=True):
    """A validator dropped an executed block, because a competing block became final."""

    kind: ClassVar[str] = "rolled-back"
    height: int
    digest: bytes


class BlockUndone(TraceEvent, frozen=True):
    """A validator rewound a block that it had applied before it was final, for another branch; latest ones first."""

    kind: ClassVar[str] = "rewound"
    height: int
    digest: bytes


class SnapshotJoined(TraceEvent, frozen=True):
    """A validator replaced its state by a peer's snapshot: the snapshot's block, and the root that it computed."""

    kind: ClassVar[str] = "snapshot-joined"
    height: int
    digest: bytes
    root: bytes


class DamageFound(TraceEvent, frozen=True):
    """A validator found that its disk does not hold what it wrote: the file, the place in it, and the fault."""

    kind: ClassVar[str] = "damage"
    file: str
    place: int
    what: str


class DamageRepaired(TraceEvent, frozen=True):
    """A validator repaired a place of its disk."""

    kind: ClassVar[str] = "repaired"
    file: str
    place: int
    how: str


class MessageRefused(TraceEvent, frozen=True):
    """A validator refused a message or request: its kind, and the reason."""

    kind: ClassVar[str] = "refused"
    message: str
    reason: str


class PeerBlocked(TraceEvent, frozen=True):
    """A validator cut off a peer for `blocked_us` of its own clock, because of a message or vote of the peer."""

    kind: ClassVar[str] = "peer-blocked"
    peer: int
    blocked_us: int
    reason: str


class PeerAdmitted(TraceEvent, frozen=True):
    """A validator hears and serves a peer again, because the time of its block is over."""

    kind: ClassVar[str] = "peer-admitted"
    peer: int
