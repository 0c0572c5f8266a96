"""The engine `longest-chain` of drawn scenarios: slots of several lengths, at the depth that the faults ask for."""

from typing import Final

from cluster.scenario.sections.longest_chain import LongestChainSection
from cluster.swarm.engines.engine import DrawnEngine
from faults.kinds.drawing import Plain
from faults.kinds.simplex_messages import ANSWERS, BLOCK_CERTIFICATES, LAST_VOTES, LEAVING, VOTES
from network.draw import Draw
from validators.consensus.longest_chain.kind import LONGEST_CHAIN
from validators.consensus.longest_chain.messages import Announcement, HeadResponse
from validators.messages import BlockRelay

_HEADS: Final = (Announcement.traced_name, BlockRelay.traced_name)


def _draw_section(draw: Draw) -> Plain:
    slot_ms = draw.one_of("longest-chain.slot_ms", (500, 1_000, 1_000, 2_000))
    # A section that is as by default is left out, as a person would.
    return {} if slot_ms == LongestChainSection().slot_ms else {"longest_chain": {"slot_ms": slot_ms}}


DRAWN_LONGEST_CHAIN: Final = DrawnEngine(
    LONGEST_CHAIN.name,
    percent=10,
    purpose="engine.is_longest_chain",
    section=_draw_section,
    messages={
        # Whatever carries a block, or its header, is all that is ever said of it.
        **dict.fromkeys((*VOTES, *LAST_VOTES, *BLOCK_CERTIFICATES), _HEADS),
        **dict.fromkeys(LEAVING, (Announcement.traced_name,)),
        **dict.fromkeys(ANSWERS, (HeadResponse.traced_name,)),
    },
    behaviours=("private-branch", "usurp"),
    without_prefixes=("rewinding",),
    without_moments=("timeout",),
)
