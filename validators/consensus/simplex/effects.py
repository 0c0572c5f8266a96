"""What the state machine wants done, and what it answers to a check.

The order of the effects of one step is meant: the shell performs them in order, with one exception that carries the
whole safety of a restart. Every `Append` of a step is appended and synced before any `Broadcast` or `Send` of that step
leaves (specification of Simplex, section 1.4). `RelayPayload` does not wait: a block is not a promise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from network.types import Digest, Micros, NodeId
from validators.consensus.simplex.artifacts import Artifact
from validators.consensus.simplex.messages import ConsensusMessage, Finalization, Proposal, Vote

LEADER_TIMER: Final = "leader"
CERTIFICATION_TIMER: Final = "certification"
RETRY_TIMER: Final = "retry"
FETCH_TIMER: Final = "fetch"
ACTIVITY_TIMER: Final = "activity"
"""Its `view` is the number of the tick, not a view."""

TIMED_OUT: Final = "TimedOut"
"""The activity of a report that this validator gives a view up."""

STALE: Final = "stale"
"""The reason of a refusal that blames nobody: late, already known, or too far ahead to be of use."""


class Parent(NamedTuple):
    """What a proposal builds on."""

    view: int
    payload: Digest


class Verdict(NamedTuple):
    """Whether a message may be given to `receive`, why not, and how many signatures were really verified."""

    ok: bool
    reason: str
    signatures_verified: int


@dataclass(frozen=True, slots=True)
class Append:
    """Append the artifact to the journal; the step's messages wait for the sync."""

    artifact: Artifact


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Send the message to every other validator, once the step's artifacts are durable."""

    message: ConsensusMessage


@dataclass(frozen=True, slots=True)
class Send:
    """Send the message to one validator, once the step's artifacts are durable."""

    to: NodeId
    message: ConsensusMessage


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Call `timer(name, view)` in `after_us` virtual microseconds; replaces a pending timer of that name and view."""

    name: str
    view: int
    after_us: Micros


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """The timer is not needed any more; it may have fired."""

    name: str
    view: int


@dataclass(frozen=True, slots=True)
class Propose:
    """Build a payload on `parent` and answer with `proposed`."""

    view: int
    parent: Parent


@dataclass(frozen=True, slots=True)
class Verify:
    """Judge the leader's proposal, whose parent is `parent`, and answer with `verified`."""

    proposal: Proposal
    parent: Parent


@dataclass(frozen=True, slots=True)
class Certify:
    """Judge a notarized proposal, which may never have been verified here, and answer with `certified`."""

    proposal: Proposal


@dataclass(frozen=True, slots=True)
class Finalized:
    """The proposal and all its ancestors are final; it may never have been verified or certified here."""

    proposal: Proposal
    certificate: Finalization


@dataclass(frozen=True, slots=True)
class Entered:
    """The validator is in `view` now; answers about earlier views' proposals are not needed any more."""

    view: int
    leader: NodeId


@dataclass(frozen=True, slots=True)
class Report:
    """Something that an observer wants to know.

    `activity` is ConflictingNotarize, ConflictingFinalize or NullifyFinalize (evidence against `signer`: two `votes`),
    or TimedOut (then `signer` is the leader of the view and `detail` the reason).
    """

    activity: str
    signer: NodeId
    view: int
    detail: str
    votes: tuple[Vote, ...] = ()


@dataclass(frozen=True, slots=True)
class RelayPayload:
    """Send the bytes of our own payload to everybody, at once."""

    payload: Digest


Effect: TypeAlias = (
    Append
    | Broadcast
    | Send
    | SetTimer
    | CancelTimer
    | Propose
    | Verify
    | Certify
    | Finalized
    | Entered
    | Report
    | RelayPayload
)
