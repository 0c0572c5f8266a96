"""The coverage points of the longest chain: switches of heads, ties, slots, evidence, joining."""

import enum

from scheduler import CoveragePoint


@enum.unique
class LongestChainRule(CoveragePoint):
    """Branches of the rules of the longest chain."""

    HEAD_SWITCHED = "longest-chain.md", "A validator leaves blocks that it followed for a better branch.", "pivot-again"
    HEAD_SWITCHED_DEEP = "longest-chain.md", "A validator leaves eight blocks or more at once.", "deep-reorg-longest"
    TIE_BY_DIGEST = (
        "longest-chain.md",
        "Of two branches of one height the block with the lower digest wins.",
        "pivot-again",
    )
    SEVERAL_FOLLOWED_AT_ONCE = (
        "longest-chain.md",
        "A validator follows a head several blocks above its own.",
        "longest-chain-eclipse",
    )
    BLOCK_OF_NEXT_SLOT = (
        "longest-chain.md",
        "A block of the slot after the validator's own is followed.",
        "longest-chain-joiners",
    )
    SLOTS_SLEPT_THROUGH = (
        "longest-chain.md",
        "A validator continues in a slot that is not the next slot.",
        "longest-chain-joiners",
    )
    SLOT_WITHOUT_LEADER = "longest-chain.md", "The lottery gives a slot to nobody.", "longest-chain-lottery"
    LED_TWICE_RUNNING = (
        "longest-chain.md",
        "The lottery draws a validator for two slots in a row.",
        "longest-chain-lottery",
    )
    CONFLICTING_BLOCKS = (
        "longest-chain.md",
        "A validator holds two sealed blocks of one leader and slot.",
        "longest-chain-private-branch",
    )
    HEAD_NAMED = (
        "longest-chain.md",
        "A validator tells a peer that joins the head that it follows.",
        "longest-chain-joiners",
    )
    TRUSTED_ON_FIRST_SIGHT = (
        "longest-chain.md",
        "A replica without a final block takes the final block of the greatest head.",
        "longest-chain-joiners",
    )
