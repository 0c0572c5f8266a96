"""The engine `hotstuff` of drawn scenarios: both commit rules, and timeouts that are long or grow long."""

from typing import Final

from cluster.scenario.model import HotstuffSection
from cluster.swarm.engines.engine import DrawnEngine
from cluster.swarm.sequences.hotstuff import HOTSTUFF_SEQUENCES, LATER_HOTSTUFF_SEQUENCES
from faults.kinds.drawing import Plain
from faults.kinds.simplex_messages import ANSWERS, BLOCK_CERTIFICATES, LAST_VOTES, LEAVING, VOTES
from network.draw import Draw
from validators.consensus.hotstuff.kind import HOTSTUFF
from validators.consensus.hotstuff.messages import BlockVote, ViewTimeout
from validators.messages import BlockRelay, BlockResponse

_VOTES: Final = (BlockVote.traced_name,)
_LEAVING: Final = (ViewTimeout.traced_name,)


def _draw_section(draw: Draw) -> Plain:
    own: Plain = {
        "profile": draw.one_of("hotstuff.profile", ("three-chain", "two-chain")),
        "view_timeout_max_ms": draw.one_of("hotstuff.view_timeout_max_ms", (5_000, 12_000, 12_000)),
    }
    # A section with only defaults is left out, as a person would.
    section = {} if HotstuffSection(**own) == HotstuffSection() else {"hotstuff": own}
    wait_ms = draw.one_of("hotstuff.certification_timeout_ms", (2_100, 3_000, 3_000, 5_000))
    return {"certification_timeout_ms": wait_ms, **section}


DRAWN_HOTSTUFF: Final = DrawnEngine(
    HOTSTUFF.name,
    share=6,
    section=_draw_section,
    messages={
        **dict.fromkeys((*VOTES, *LAST_VOTES), _VOTES),
        **dict.fromkeys(LEAVING, _LEAVING),
        # Certificates travel in the seals of blocks.
        **dict.fromkeys(BLOCK_CERTIFICATES, (BlockRelay.traced_name,)),
        **dict.fromkeys(ANSWERS, (BlockResponse.traced_name,)),
    },
    proposing=("hide-certificate", "mismatched-certificate", "forge-seal", "forge-seal", "forge-seal", "many-blocks"),
    speaking=("stale-certificate", "forge-vote", "forge-vote", "forge-vote"),
    sequences=HOTSTUFF_SEQUENCES,
    later=LATER_HOTSTUFF_SEQUENCES,
    without_prefixes=("rewinding", "half-joined"),
)
