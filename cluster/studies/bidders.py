"""The groups of a study: the actors whose timers compete, their worths, and the rule by which each bids.

A bidder sees what anybody sees on the chain: whether the last block left a timer waiting, and its lowest winning bid.
Bids and worths are in units per cycle, on top of the block's own basefees; times are in blocks.
"""

from typing import Annotated, Final, Literal

import msgspec

from cluster.scenario.fields import NotNegative, Positive, Section, TenThousand, means

Share = Annotated[tuple[NotNegative, Positive], means("A fraction: numerator and denominator.")]

Strategy = Literal["worth", "shade", "respond", "outbid", "underbid", "nothing", "fixed", "tier", "wait"]

STRATEGIES: Final = {
    "worth": "bids its worth",
    "shade": "bids `percent` of its worth",
    "respond": "bids a step above the lowest winning bid of the last block, at most its worth; else its worth",
    "outbid": "as `respond`, and starts again from the reserve where a step would exceed its worth",
    "underbid": "bids a step below the lowest winning bid of the last block: at least a step, at most its worth",
    "nothing": "bids nothing and waits",
    "fixed": "bids `fixed`",
    "tier": "names a priority tier, and leaves the bid to the chain",
    "wait": "bids `percent` of its worth and only for every second timer; the other timers wait for their bias",
}
"""The rule of each word of `bids`."""


class BidderGroup(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A group of actors with one demand: it schedules timers block by block, in the name of its actors in turn."""

    actors: Annotated[TenThousand, means("Actors over which the group spreads its timers.")] = 1
    deployer: Annotated[
        Literal["one", "each"], means("Whether one account owns all actors of the group, or each has its own owner.")
    ] = "each"
    per_block: Annotated[Share, means("Timers that the whole group schedules in a block, on average.")] = (1, 1)
    every: Annotated[
        Positive, means("Blocks between bursts; a burst schedules all tasks that came up since the last burst.")
    ] = 1
    gas_limit: Annotated[
        tuple[Positive, ...], msgspec.Meta(min_length=1), means("Gas limits of its timers, drawn from this list.")
    ] = (100_000,)
    used_percent: Annotated[
        tuple[Annotated[int, msgspec.Meta(ge=1, le=100)], ...],
        msgspec.Meta(min_length=1),
        means("The share of the gas limit that a fire uses, drawn from this list."),
    ] = (90,)
    worth: Annotated[
        tuple[NotNegative, NotNegative], means("The worth of a fire in units a cycle: drawn between the two, evenly.")
    ] = (100, 100)
    tail: Annotated[
        Literal["even", "doubling"],
        means("With `doubling` a worth is doubled while coins show heads, at most ten times: a heavy tail."),
    ] = "even"
    decay: Annotated[NotNegative, means("Units a cycle that the worth loses with each block of waiting.")] = 0
    bids: Annotated[Strategy, means("The rule by which the group bids.")] = "worth"
    percent: Annotated[int, msgspec.Meta(ge=0, le=1_000), means("For `shade` and `wait`: per cent of the worth.")] = 100
    fixed: Annotated[NotNegative, means("For `fixed`: the bid, in units a cycle.")] = 0
    step: Annotated[Positive, means("For `respond`, `outbid` and `underbid`: the step, in units a cycle.")] = 1
    tier: Annotated[Literal["economy", "standard", "fast", "urgent"], means("For `tier`: the tier.")] = "standard"
    lead: Annotated[Positive, means("Blocks from the order to the timer's due height.")] = 1
    lead_max: Annotated[NotNegative, means("Due heights are drawn evenly from `lead` to this; 0: always `lead`.")] = 0
    ttl: Annotated[NotNegative, means("Blocks after its due height in which a timer may still fire.")] = 100_000
    first_block: Annotated[Positive, means("The first block in which the group schedules.")] = 1
    last_block: Annotated[NotNegative, means("The last block with new tasks; 0: to the end.")] = 0
    resume_blocks: Annotated[NotNegative, means("Blocks after an outage in which the group sends nothing.")] = 0
    resubmit_after: Annotated[
        NotNegative,
        means("Blocks after its due height at which a task that has not run is scheduled once more; 0: never."),
    ] = 0
    back_off: Annotated[bool, means("Whether that wait doubles with each further timer of a task.")] = False
    reads: Annotated[str, means("A group whose last fire or call is the input of this group's fires.")] = ""
    stale_blocks: Annotated[Positive, means("The age in blocks at which that input counts as stale.")] = 10
    sends: Annotated[
        Literal["timers", "calls"], means("Whether the group schedules timers, or calls its actor at once.")
    ] = "timers"


def bid_of(group: BidderGroup, worth: int, *, clearing: int, ordinal: int) -> int | None:
    """Return the bid of a timer in units per cycle; None where the group leaves it to the chain.

    Args:
        group: The group.
        worth: The timer's worth.
        clearing: The lowest winning bid of the last block if that block left a timer waiting, otherwise 0.
        ordinal: The number of the timer within its group.
    """
    reply = clearing + group.step
    return {
        "worth": worth,
        "shade": worth * group.percent // 100,
        "respond": min(reply, worth),
        "outbid": reply if reply <= worth else group.step,
        "underbid": min(max(clearing - group.step, group.step), worth),
        "nothing": 0,
        "fixed": group.fixed,
        "tier": None,
        "wait": worth * group.percent // 100 if ordinal % 2 else 0,
    }[group.bids]
