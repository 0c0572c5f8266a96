"""The rules of HotStuff that checks beside `consensus` ask for, restated from its document."""

from typing import Any, Final

from checker.checks.rules.engine_rules import EngineRules
from checker.observations import short
from validators.consensus.hotstuff.kind import HOTSTUFF
from validators.consensus.hotstuff.messages import BlockVote
from validators.events import Voted
from validators.messages import message_codec

_FINALITY_VIEWS_MAX: Final = 32
"""Four views make a block final; the rest allows for absent leaders, two views each, and views far apart."""


def _finality_gap_of_hotstuff(config: Any, down: int) -> int:  # noqa: ANN401 - the engine's own
    """Return the gap: each absent validator leads two views of the longest wait; four more views make a block final."""
    wait_us: int = config.view_timeout_max_us
    return (2 * down + 4) * wait_us


def _is_block_vote(vote: Voted) -> bool:
    return vote.vote == "vote"


def _describe_hotstuff_vote(encoded: bytes) -> str:
    vote = message_codec(HOTSTUFF).decode(encoded)
    kind: str = vote.traced_name.lower()
    return f"vote {short(vote.digest)}" if isinstance(vote, BlockVote) else kind


HOTSTUFF_RULES: Final = EngineRules(
    name=HOTSTUFF.name,
    finality="commit",
    leader_of=lambda view, validators, _plan: view // 2 % validators,
    finality_views_max=_FINALITY_VIEWS_MAX,
    finality_gap_max_us=_finality_gap_of_hotstuff,
    accepts_block=_is_block_vote,
    makes_final=_is_block_vote,
    reasons=("ViewExpired", "PeerTimeouts"),
    evidence=("ConflictingVotes",),
    describe_vote=_describe_hotstuff_vote,
)
