"""The engine `longest-chain` of drawn scenarios: slots of several lengths, at the depth that the faults ask for.

Validators take turns, or a lottery names the leader of each slot, or nobody.
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
"""Percentage of its scenarios whose leaders a lottery draws."""

LOTTERY_SLOT_MS: Final = 1_000
"""The longest slot of a lottery: it asks for so many blocks to be final that longer ones outlast a run."""


def _draw_section(draw: Draw) -> Plain:
    own: Plain = {"slot_ms": draw.one_of("longest-chain.slot_ms", (500, 1_000, 1_000, 2_000))}
    if draw.chance("longest-chain.is_lottery", LOTTERY_PERCENT):
        own = {
            "slot_ms": min(own["slot_ms"], LOTTERY_SLOT_MS),
            "leaders": "lottery",
            "lottery_key": draw.between("longest-chain.lottery_key", 0, 999),
            "empty_slot_share_ppm": draw.one_of("longest-chain.empty_ppm", (0, 100_000, 300_000)),
        }
    # A section that is as by default is left out, as a person would.
    return {} if LongestChainSection(**own) == LongestChainSection() else {"longest_chain": own}


DRAWN_LONGEST_CHAIN: Final = DrawnEngine(
    LONGEST_CHAIN.name,
    share=5,
    # It counts no votes: more validators only build more branches, each of which all of them execute.
    sizes=(4, 4, 4, 4, 4, 4, 5, 6),
    # What is final at a height has a branch of several blocks on top, all of them executed.
    heights=(6, 10),
    section=_draw_section,
    messages={
        # Whatever carries a block, or its header, is all that is ever said of it.
        **dict.fromkeys((*VOTES, *LAST_VOTES, *BLOCK_CERTIFICATES), _HEADS),
        **dict.fromkeys(LEAVING, (Announcement.traced_name,)),
        **dict.fromkeys(ANSWERS, (HeadResponse.traced_name,)),
    },
    proposing=("private-branch", "propose-ahead", "forge-head", "forge-head", "forge-head"),
    sequences=LONGEST_CHAIN_SEQUENCES,
    later=LATER_LONGEST_CHAIN_SEQUENCES,
    without_prefixes=("rewinding", "half-joined"),
    without_moments=("timeout",),
    # A lost block is asked for with many before it; serving these would keep the leaders from their slots.
    settled_costs=("serve_block_us",),
    # Where every twelfth message is late by more than a slot, branches end no sooner than they begin.
    overtaken_ms=(60, 300),
)
