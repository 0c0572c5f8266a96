"""The rules of Simplex that checks beside `consensus` ask for, restated from its document."""

from typing import Final

from checker.checks.planned import PlannedRun
from checker.checks.rules.engine_rules import EngineRules
from checker.observations import short
from validators.consensus.simplex import Finalize, Notarize, SimplexConfig
from validators.consensus.simplex.kind import SIMPLEX
from validators.consensus.simplex.timeouts import TimeoutReason
from validators.messages import message_codec

_EPOCH: Final = 0
"""The consensus epoch of every block: the validators never change."""

_FINALITY_VIEWS_MAX: Final = 20
"""A block is final in the view after its own; the rest allows for absent leaders and overlapping views."""


def _leader_by_turns(view: int, validators: int, _plan: PlannedRun) -> int:
    return (_EPOCH + view) % validators


def _finality_gap_of_simplex(config: SimplexConfig, down: int) -> int:
    """Return the gap: absent validators may lead consecutive views, each as long as its certification may take."""
    return (down + 1) * config.certification_timeout_us


def _describe_simplex_vote(encoded: bytes) -> str:
    vote = message_codec(SIMPLEX).decode(encoded)
    kind: str = vote.traced_name.lower()
    return f"{kind} {short(vote.proposal.payload)}" if isinstance(vote, Notarize | Finalize) else kind


SIMPLEX_RULES: Final = EngineRules(
    name=SIMPLEX.name,
    finality="finalization",
    leader_of=_leader_by_turns,
    finality_views_max=_FINALITY_VIEWS_MAX,
    finality_gap_max_us=_finality_gap_of_simplex,
    accepts_block=lambda vote: vote.vote == "notarize",
    certified_by="notarization",
    makes_final=lambda vote: vote.vote == "finalize",
    reasons=tuple(reason.value for reason in TimeoutReason),
    evidence=("ConflictingNotarize", "ConflictingFinalize", "NullifyFinalize"),
    describe_vote=_describe_simplex_vote,
)
