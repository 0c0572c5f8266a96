"""The engine `longest-chain` of drawn scenarios: slots of several lengths, with the depth that the faults need.

Validators take turns, or a lottery names the leader of each slot, or no leader.
"""

from typing import Final

from cluster.scenario.sections.longest_chain import LongestChainSection
from cluster.swarm.engines.engine import DrawnEngine
from cluster.swarm.sequences.longest_chain import LATER_LONGEST_CHAIN_SEQUENCES, LONGEST_CHAIN_SEQUENCES
from faults.kinds.drawing import Plain
from faults.kinds.simplex_messages import ANSWERS, BLOCK_CERTIFICATES, LAST_VOTES, LEAVING, VOTES
from network.draw import Draw
from validators.consensus.longest_chain.kind import LONGEST_CHAIN
from validators.consensus.longest_chain.messages import Announcement, HeadResponse
from validators.messages import BlockRelay

_HEADS: Final = (Announcement.traced_name, BlockRelay.traced_name)


LOTTERY_PERCENT: Final = 30
"""Percentage of its scenarios in which a lottery draws the leaders."""

LOTTERY_SLOT_MS: Final = 1_000
"""The longest slot of a lottery: many blocks have to become final, and longer slots would outlast a run."""


def _draw_section(draw: Draw) -> Plain:
    own: Plain = {"slot_ms": draw.one_of("longest-chain.slot_ms", (500, 1_000, 1_000, 2_000))}
    if draw.chance("longest-chain.is_lottery", LOTTERY_PERCENT):
        own = {
            "slot_ms": min(own["slot_ms"], LOTTERY_SLOT_MS),
            "leaders": "lottery",
            "lottery_key": draw.between("longest-chain.lottery_key", 0, 999),
            "empty_slot_share_ppm": draw.one_of("longest-chain.empty_ppm", (0, 100_000, 300_000)),
        }
    # A section with only defaults is left out, as a person would.
    return {} if LongestChainSection(**own) == LongestChainSection() else {"longest_chain": own}


DRAWN_LONGEST_CHAIN: Final = DrawnEngine(
    LONGEST_CHAIN.name,
    share=5,
    # The engine counts no votes: more validators only build more branches, and every validator executes each branch.
    sizes=(4, 4, 4, 4, 4, 4, 5, 6),
    # Above a final block there are several blocks, all of them executed.
    heights=(6, 10),
    section=_draw_section,
    messages={
        # Only messages that carry a block or its header tell of the block.
        **dict.fromkeys((*VOTES, *LAST_VOTES, *BLOCK_CERTIFICATES), _HEADS),
        **dict.fromkeys(LEAVING, (Announcement.traced_name,)),
        **dict.fromkeys(ANSWERS, (HeadResponse.traced_name,)),
    },
    proposing=("private-branch", "propose-ahead", "forge-head", "forge-head", "forge-head"),
    sequences=LONGEST_CHAIN_SEQUENCES,
    later=LATER_LONGEST_CHAIN_SEQUENCES,
    without_prefixes=("rewinding", "half-joined"),
    without_moments=("timeout",),
    # A lost block is requested together with many ancestors; serving them would keep the leaders from their slots.
    settled_costs=("serve_block_us",),
    # Where every twelfth message is late by more than a slot, branches end no sooner than they begin.
    overtaken_ms=(60, 300),
)
