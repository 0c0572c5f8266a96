"""Draws for rules that a run meets at one value only, or where several conditions have to hold at once.

They are a part of the combinations (`cluster.swarm.combinations`): each is a workload beside the drawn workloads, for
chains that suit it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from cluster.swarm.life import ceiling_of, cycles_of
from cluster.swarm.policies.registry import DRAWN_POLICIES
from cluster.swarm.workloads import MISER_GAS_LIMIT, NARROW_GAS_LIMIT, NARROW_LANE_CYCLES, SHORT_TTL_SLOTS
from cluster.workloads.boundary.edge_cases import CASES
from cluster.workloads.boundary.scripts import CROWD
from faults.kinds.drawing import Plain
from network.draw import Draw
from scheduler import MIN_BASEFEE

Suited = tuple[int, Callable[[Plain], bool], Callable[[Draw, Plain], Plain]]
"""Percentage of the suitable chains on which a workload is on, the test of a suitable chain, and the draw."""

RESIZED_PERCENT: Final = 30
"""Percentage of the chains on which a council makes the ring shorter than the time to some waiting timers."""

DISMISSED_PERCENT: Final = 14
"""Percentage of the chains with the lane on which timers are cancelled after waiting too long."""

ASKED_PERCENT: Final = 45
"""Percentage of the chains with agents on which some agents fail, or bid an amount that nobody can pay."""

FAVOURED_PERCENT: Final = 75
"""Percentage of the chains with the lane on which agents bid for timers whose actors do not pay for them."""

SPENT_PERCENT: Final = 30
"""Percentage of the chains with fees on which a fire spends the cost of the next fires."""

CROWDED_BOOK_PERCENT: Final = 20
"""Percentage of the chains with the lane on which a book of bids is split, if they admit enough timers."""

CASES_PER_CHAIN: Final = 2
"""Groups of boundary cases that each chain tries, in rotation over the groups that suit its policy."""

SHORT_RING: Final = 8
"""The ring's length, in heights, on a chain that reuses emptied heights: longer than the heartbeats' interval."""

FAR_SLOTS: Final = 36
"""Slots over which timers are spread, so that a shortened ring cannot hold them: more than most runs have left."""

BAD_AGENTS: Final = (
    *("nothing", "low", "revert", "spin", "crash", "write", "negative", "great", "garbage", "short", "nobody"),
)
"""Agents that fail, or whose answers are invalid."""

CASES_OF_POLICY: Final[Mapping[str, Sequence[int]]] = {
    policy: tuple(number for number, case in enumerate(CASES) if case.__name__.strip("_") in names.split())
    for policy, names in {
        "eip1559": "ceilings thin fees late_income terms agents payers spending again",
        "gba-auction": "ceilings thin agents spending services remainders again",
        "bias-auction": "ceilings thin fees agents spending services changes payers again",
        "aptos": "ladder fees services changes messages money gas again",
        "fifo": "ceilings thin fees spending services changes payers money",
    }.items()
}
"""Groups of boundary cases by policy: groups whose rules few seeds of the policy would meet."""


def draw_few(draw: Draw, name: str, *, max_fee: int, tips: list[int]) -> Plain:
    """Timers with one offer each, of which a lane leaves some waiting."""
    return {
        "kind": "storm",
        "actors": 1,
        "timers_per_actor": draw.between(f"{name}.timers_per_actor", 6, 14),
        "first_slot": draw.between(f"{name}.first_slot", 6, 9),
        "spread_slots": 2,
        "ttl_slots": 20,
        "gas_limit": NARROW_GAS_LIMIT,
        "max_fee": max_fee,
        "tips": tips,
    }


def _draw_resized(draw: Draw, chain: Plain) -> dict[str, Plain]:
    """Timers far ahead, some of them after the run's end, and a ring that becomes too short for most of them."""
    timers, first_slot = chain["timers"], draw.between("ring-resize.first_slot", 6, 9)
    spread_slots = min(FAR_SLOTS, timers["max_ttl_blocks"] - SHORT_TTL_SLOTS - first_slot)
    count = min(spread_slots, timers["max_timers_per_actor"])
    far: Plain = {
        "kind": "storm",
        "actors": 1,
        "timers_per_actor": count,
        "timers_per_transaction": count,
        "first_slot": first_slot,
        "spread_slots": spread_slots,
        "ttl_slots": SHORT_TTL_SLOTS,
        "unfunded_actors": 0,
        "gas_limit": min(MISER_GAS_LIMIT, ceiling_of(chain)),
        "start_ms": draw.one_of("ring-resize.start_ms", (0, 600)),
    }
    if "lane" in chain:
        far["max_fee"], far["tips"] = 100_000, [3]
    if chain["policy"] in DRAWN_POLICIES:
        far = DRAWN_POLICIES[chain["policy"]].fit(draw, "ring-resize", far, chain) or far
    # A long ring first, so that the buckets are made within its range.
    long_ring = {"ring_size": 4_096}
    short = {
        "ring_size": draw.one_of("ring-resize.ring_size", (2, 3, 8)),
        "epoch_length": draw.one_of("ring-resize.epoch", (2, 5)),
    }
    actions = [
        {"do": "govern", "at_ms": at_ms, "set": {f"system:cip1:{key}": size for key, size in sizes.items()}}
        for at_ms, sizes in ((0, long_ring), (draw.between("ring-resize.at_ms", 3_500, 6_000), short))
    ]
    return {"distant-timers": far, "ring-resize": {"kind": "governance", "actions": actions, "is_deployer": True}}


def _draw_dismissed(draw: Draw, _chain: Plain) -> Plain:
    """Timers that a narrow lane makes wait until they are cancelled; their actors or their sender pay for them."""
    few = draw_few(draw, "cancelled-for-delay", max_fee=100_000, tips=[1])
    return {**few, "payer": draw.one_of("cancelled-for-delay.payer", ("actor", "sender"))}


def _draw_favoured(draw: Draw, _chain: Plain) -> Plain:
    """Timers whose sender pays for them, and whose agent bids by the actor's balance."""
    few = draw_few(draw, "sponsored-timers", max_fee=0, tips=[])
    del few["max_fee"], few["tips"]
    return {**few, "payer": "sender", "agent": "sum"}


def _draw_asked(draw: Draw, chain: Plain) -> Plain:
    """Heartbeats whose agent fails, or bids an absurd or too small amount."""
    asked: Plain = {
        "kind": "heartbeats",
        "actors": draw.between("failing-agents.actors", 1, 3),
        "interval_slots": 1,
        "gas_limit": max(min(NARROW_GAS_LIMIT, ceiling_of(chain)), cycles_of("heartbeats", chain)),
        "agent": draw.one_of("failing-agents.agent", BAD_AGENTS),
        "start_ms": draw.between("failing-agents.start_ms", 500, 4_000),
    }
    if "lane" in chain and draw.chance("failing-agents.states_fee", 50):
        asked["max_fee"] = 100_000
    return asked


def _draw_spent(draw: Draw, chain: Plain) -> Plain:
    """Fires of one block, of which the first fire spends the cost of the next fires."""
    spent: Plain = {
        "kind": "storm",
        "actors": draw.between("drained-payers.actors", 1, 2),
        "timers_per_actor": draw.between("drained-payers.timers_per_actor", 5, 12),
        "first_slot": draw.between("drained-payers.first_slot", 6, 10),
        "spread_slots": 2,
        "ttl_slots": SHORT_TTL_SLOTS,
        "gas_limit": min(MISER_GAS_LIMIT, ceiling_of(chain)),
        "handler": "spend",
    }
    if "lane" in chain:
        spent["max_fee"], spent["tips"] = 100_000, [17]
    if chain["policy"] == "bias-auction":
        spent["bid"] = max(chain["policy_parameters"]["reserve"], 4_000)
    return spent


def draw_boundary_cases(draw: Draw, chain: Plain) -> dict[str, Plain]:
    """Return some groups of transactions at the limits of the policy's rules, by name."""
    return {
        f"policy-boundaries-{place}": {
            "kind": "boundary-cases",
            "first": number,
            "count": 1,
            "start_ms": draw.between(f"policy-boundaries.{place}.start_ms", 300, 5_000),
            "every_ms": draw.one_of(f"policy-boundaries.{place}.every_ms", (30, 100)),
        }
        for place, number in enumerate(_cases_of(draw, chain), 1)
    }


def _cases_of(draw: Draw, chain: Plain) -> list[int]:
    """Return the numbers of a chain's groups: no group comes again before every other group has come."""
    stratified = draw.next_of(
        "policy-boundaries", CASES_OF_POLICY.get(chain["policy"], CASES_OF_POLICY["fifo"]), CASES_PER_CHAIN
    )
    # The last group of one rotation may be the first of the next.
    return list(dict.fromkeys(stratified))


def suit_boundary_cases(draw: Draw, chain: Plain) -> Plain:
    """Return a chain on which its groups meet their limits."""
    stratified = {CASES[number].__name__.strip("_") for number in _cases_of(draw, chain)}
    if "thin" in stratified:
        # Prices that stay at their floors: the cost of a fire is known in advance.
        floors = dict.fromkeys(("min_basefee", "cycle_basefee", "cell_basefee"), MIN_BASEFEE)
        chain = {**chain, **floors, "block_cycles": 10_000_000, "block_cells": 10_000_000}
    if "ladder" in stratified:
        # A price of cycles that falls for long, above the price of cells: their ratio is hardly ever whole.
        own = {**chain["policy_parameters"], "ready_limit": 100, "expiry_ms": 10_000, "expiry_blocks": 100}
        chain = {**chain, "min_basefee": 8, "cycle_basefee": 60, "cell_basefee": 8, "policy_parameters": own}
    if "remainders" in stratified:
        unequal = {"weight_min": [1, 2], "weight_max": [2, 1], "max_gba_calls_per_block": 1_000}
        timers = {**chain["timers"], "max_timers_per_actor": 1_024}
        chain = {**chain, "policy_parameters": {**chain["policy_parameters"], **unequal}, "timers": timers}
    if "again" in stratified and "calendar" in chain:
        chain = {**chain, "calendar": {**chain["calendar"], "ring_size": SHORT_RING}}
    return chain


def _draw_crowd(draw: Draw, _chain: Plain) -> Plain:
    """Enough timers of one actor for a book of several blocks, which empty again."""
    first = next(number for number, case in enumerate(CASES) if case.__name__ == "_crowd")
    return {
        "kind": "boundary-cases",
        "first": first,
        "count": 1,
        "start_ms": draw.between("large-book.start_ms", 300, 2_500),
    }


def _has_lane(chain: Plain) -> bool:
    return "lane" in chain


def _has_long_books(chain: Plain) -> bool:
    return "lane" in chain and chain["timers"]["max_timers_per_actor"] > CROWD


def _dismisses(chain: Plain) -> bool:
    return "lane" in chain and chain["lane"]["excessive_delay"] == "cancel" and chain["lane"]["max_allowed_delays"] == 1


def _asks_agents(chain: Plain) -> bool:
    # Under the bias auction an agent is asked as a timer is scheduled: a failing agent leaves nothing behind.
    has_room = ceiling_of(chain) >= cycles_of("heartbeats", chain)
    return has_room and ("lane" in chain or chain["policy"] == "gba-auction")


def _has_fees(chain: Plain) -> bool:
    return chain["policy"] not in {"fifo-free", "aptos"}


def dismiss(draw: Draw, chain: Plain) -> Plain | None:
    """Return a chain with the lane that cancels timers that have waited too long; None for most chains."""
    if not draw.chance("cancelled-for-delay.is_on", DISMISSED_PERCENT):
        return None
    lane = {"max_allowed_delays": 1, "excessive_delay": "cancel"}
    timers = {**chain["timers"], "lane_timer_cycles": NARROW_LANE_CYCLES}
    return {**chain, "lane": {**chain["lane"], **lane}, "timers": timers}


def draw_resized(draw: Draw, chain: Plain) -> dict[str, Plain]:
    """Return the workloads of a ring that is made shorter, for some chains."""
    return _draw_resized(draw, chain) if draw.chance("ring-resize.is_on", RESIZED_PERCENT) else {}


BOUNDARY_WORKLOADS: Final[Mapping[str, Suited]] = {
    "cancelled-for-delay": (DISMISSED_PERCENT * 5, _dismisses, _draw_dismissed),
    "failing-agents": (ASKED_PERCENT, _asks_agents, _draw_asked),
    "sponsored-timers": (FAVOURED_PERCENT, _has_lane, _draw_favoured),
    "drained-payers": (SPENT_PERCENT, _has_fees, _draw_spent),
    "large-book": (CROWDED_BOOK_PERCENT, _has_long_books, _draw_crowd),
}
"""By name."""
