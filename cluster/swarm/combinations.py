"""Draws of rules that meet in one block only on a chain made for it; the other draws hardly ever combine them.

Each combination has a share of the seeds that begin without a script, under a key of its own. The chain is changed
first, because workloads are fitted to it; the rest is a workload beside the drawn workloads.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from cluster.swarm.boundary_values import (
    BOUNDARY_WORKLOADS,
    Suited,
    dismiss,
    draw_boundary_cases,
    draw_few,
    draw_resized,
    suit_boundary_cases,
)
from cluster.swarm.life import AGENT_CYCLES, FEED_AGENT_CYCLES, NEEDS, ceiling_of, cycles_of, may_be_precise
from cluster.swarm.policies.aptos import CELL_GAS
from cluster.swarm.policies.gba_auction import SLICED_CYCLES
from cluster.swarm.workloads import MISER_GAS_LIMIT, NARROW_GAS_LIMIT, NARROW_LANE_CYCLES, fit
from cluster.workloads.boundary.queue import QUEUE_CASES
from cluster.workloads.boundary.reads import READ_CASES
from faults.kinds.drawing import Plain
from network.draw import Draw

HURRIED_PERCENT: Final = 16
"""Percentage of the chains with the lane on which timers are forced after an agent has answered for them."""

PRECISE_PERCENT: Final = 14
"""Percentage of the chains with heartbeats whose gas limit is exactly the cycles that they need."""

WATCHING_PERCENT: Final = 30
"""Percentage of the chains with the lane that have state triggers."""

WATCHED_PERCENT: Final = 60
"""Percentage of the chains with state triggers on which timers watch."""

TINY_PERCENT: Final = 25
"""Percentage of the chains with the lane with timers at the ends of the range of gas limits."""

SHORT_PERCENT: Final = 25
"""Percentage of the queues with entries whose gas pays for all of their cycles and for some of their cells."""

FIXED_PRICE_PERCENT: Final = 16
"""Percentage of the chains with the lane whose price is fixed, with timers that offer exactly this price."""

CAPPED_TIPS_PERCENT: Final = 70
"""Percentage of the GBA auctions behind a lane with timers whose tips are cut to what their fees leave."""

UNDERFUNDED_PERCENT: Final = 35
"""Percentage of the chains on which some actors can pay for a fire's cycles, but not for its cells."""

QUEUE_REFUSALS_PERCENT: Final = 60
"""Percentage of the queues that get calls which the queue must refuse."""

CROWDED_PERCENT: Final = 50
"""Percentage of the queues with small blocks and large entries, if entries run between transactions."""

SLICED_PERCENT: Final = 35
"""Percentage of the GBA auctions whose slices are whole multiples of some gas limits."""

CONSULTED_PERCENT: Final = 75
"""Percentage of the chains on which an agent reads a price feed, if an agent has the cycles for it."""

PRYING_PERCENT: Final = 50
"""Percentage of these chains on which agents and calls read other actors' storage in each possible way."""

CROWDED_CELLS: Final = 24_000
"""The cells of a small block."""

FIXED_PRICE: Final = 800
"""The fixed price of a lane, in units per cycle."""

TINY_LIMITS: Final = (1, 7, 8, 0, 0)
"""Gas limits, in cycles, around the first class of the books of bids; 0 stands for the greatest limit."""

WATCH_LIMITS: Final[Sequence[Plain]] = (
    {},
    {"max_triggers_per_block": 2},
    {"max_watches_per_actor": 3},
    {"max_keys_per_watch": 1},
)
"""Limits of state triggers that a run meets, where they are parameters of the policy."""


def combine(draw: Draw, chain: Plain) -> Plain:
    """Return a drawn chain on which certain rules can meet."""
    return suit_boundary_cases(draw, _combine(draw, chain))


def _combine(draw: Draw, chain: Plain) -> Plain:
    if chain["policy"] == "aptos":
        return _crowd_queue(draw, chain)
    if chain["policy"] == "gba-auction" and draw.chance("equal-slices.is_on", SLICED_PERCENT):
        equal = {"weight_min": [1, 1], "weight_max": [1, 1], "starvation_floor": [1, 1]}
        timers = {**chain["timers"], "lane_timer_cycles": SLICED_CYCLES}
        chain = {**chain, "policy_parameters": {**chain["policy_parameters"], **equal}, "timers": timers}
    if "lane" not in chain:
        return _limit_watches(draw, chain)
    dismissing = dismiss(draw, chain)
    if dismissing is not None:
        return dismissing
    if draw.chance("forced-timers.is_on", HURRIED_PERCENT):
        lane = {
            "max_allowed_delays": 1,
            "excessive_delay": "force",
            "gba_call_cycles": 10_000,
            "max_gba_calls_per_block": 1_000,
        }
        timers = {**chain["timers"], "lane_timer_cycles": NARROW_LANE_CYCLES}
        chain = {**chain, "lane": {**chain["lane"], **lane}, "timers": timers}
    if draw.chance("fixed-basefee.is_on", FIXED_PRICE_PERCENT):
        lane = {
            "min_lane_basefee": FIXED_PRICE,
            "initial_lane_basefee": FIXED_PRICE,
            "max_lane_basefee": FIXED_PRICE,
        }
        timers = {**chain["timers"], "lane_timer_cycles": NARROW_LANE_CYCLES}
        chain = {**chain, "lane": {**chain["lane"], **lane, "lane_multiplier": (1, 1)}, "timers": timers}
    if draw.chance("state-triggers.is_on", WATCHING_PERCENT):
        chain = {**chain, "state_triggers": True}
    return chain


def draw_combined(draw: Draw, chain: Plain) -> dict[str, Plain]:
    """Return the workloads of combinations, by name."""
    found = {
        name: make(draw, chain)
        for name, (percent, suits, make) in _COMBINED.items()
        if suits(chain) and draw.chance(f"{name}.is_on", percent)
    }
    found |= draw_boundary_cases(draw, chain) | draw_resized(draw, chain)
    if (
        "lane" in chain
        and chain["lane"]["max_allowed_delays"] == 1
        and chain["lane"]["excessive_delay"] == "force"
        and draw.chance("forced-timers.is_on", HURRIED_PERCENT)
    ):
        found["forced-timers"] = {
            "kind": "heartbeats",
            "actors": draw.between("forced-timers.actors", 4, 7),
            "interval_slots": 1,
            "gas_limit": NARROW_GAS_LIMIT,
            "agent": "sum",
        }
    return found


def consult_feed(draw: Draw, drawn: dict[str, Plain], chain: Plain) -> dict[str, Plain]:
    """Return drawn workloads; on some chains one of them has an agent that bids by a price feed (K-40).

    Only agents that are meant to answer are replaced; without a feed that can run nothing changes.
    """
    cycles = {**chain.get("policy_parameters", {}), **chain.get("lane", {})}.get("gba_call_cycles", 0)
    asking = [name for name, workload in drawn.items() if workload.get("agent") in AGENT_CYCLES]
    if not asking or cycles < FEED_AGENT_CYCLES or not draw.chance("feed-agent.is_on", CONSULTED_PERCENT):
        return drawn
    found = drawn if "oracle-feeds" in drawn else drawn | fit(draw, {"oracle-feeds": _draw_feed(draw)}, chain)
    if "oracle-feeds" not in found:
        return drawn
    name = draw.one_of("feed-agent.of", asking)
    bidding = {key: value for key, value in drawn[name].items() if key != "agent"} | {"feed": "oracle-feeds"}
    prying = {"foreign-reads": _draw_prying(draw)} if draw.chance("foreign-reads.is_on", PRYING_PERCENT) else {}
    return found | {name: bidding} | prying


def _draw_feed(draw: Draw) -> Plain:
    """A feed that publishes at once, and goes on for as long as most runs."""
    interval = draw.between("feed-agent.interval_slots", 1, 2)
    return {"kind": "oracle-feeds", "feeds": 1, "values": 12, "interval_slots": interval}


def _draw_prying(draw: Draw) -> Plain:
    return {
        "kind": "boundary-cases",
        "about": "reads",
        "count": len(READ_CASES),
        "start_ms": draw.between("foreign-reads.start_ms", 0, 4_000),
        "every_ms": draw.one_of("foreign-reads.every_ms", (20, 60)),
    }


def _has_triggers(chain: Plain) -> bool:
    # Under the bias auction timers may always watch; its parameters hold the limits.
    return bool(chain.get("state_triggers")) or "bias_lambda" in chain.get("policy_parameters", {})


def _crowd_queue(draw: Draw, chain: Plain) -> Plain:
    """Return a queue whose entries run between transactions, in some runs with room for hardly one of each."""
    if chain["policy_parameters"].get("position") != "price" or not draw.chance("small-blocks.is_on", CROWDED_PERCENT):
        return chain
    timers = {**chain["timers"], "max_cells_per_fire": CROWDED_CELLS - 4_000}
    return {**chain, "block_cells": CROWDED_CELLS, "timers": timers}


def _limit_watches(draw: Draw, chain: Plain) -> Plain:
    if not _has_triggers(chain) or not draw.chance("watchers.is_on", WATCHED_PERCENT):
        return chain
    limits = draw.one_of("watchers.limits", WATCH_LIMITS)
    return {**chain, "policy_parameters": {**chain["policy_parameters"], **limits}}


def _draw_fixed_price(draw: Draw, _chain: Plain) -> Plain:
    return draw_few(draw, "fixed-basefee", max_fee=FIXED_PRICE, tips=[0])


def _draw_capped_tips(draw: Draw, _chain: Plain) -> Plain:
    return draw_few(draw, "capped-tips", max_fee=1_000, tips=[700])


def _draw_underfunded(draw: Draw, chain: Plain) -> Plain:
    """Heartbeats that can pay for all cycles of a fire and some of its cells; if they bid, for just the bid."""
    gas_limit = min(MISER_GAS_LIMIT, ceiling_of(chain))
    cells = chain["timers"]["max_cells_per_fire"] * draw.between("underfunded.share", 1, 9) // 10
    underfunded: Plain = {
        "kind": "heartbeats",
        "actors": draw.between("underfunded.actors", 1, 3),
        "gas_limit": gas_limit,
        "funds": (gas_limit + cells) * max(chain["min_basefee"], 800),
        "start_ms": draw.between("underfunded.start_ms", 1_500, 6_000),
    }
    if "bias_lambda" in chain.get("policy_parameters", {}):
        bid = max(chain["policy_parameters"]["reserve"], 4_000)
        underfunded |= {"bid": bid, "funds": bid - draw.one_of("underfunded.less", (0, 0, 1))}
    return underfunded


def _draw_tiny(draw: Draw, chain: Plain) -> Plain:
    """Timers with a very small gas limit, or with the greatest gas limit of a fire."""
    first_slot = draw.between("extreme-gas-limits.first_slot", 4, 9)
    return {
        "kind": "storm",
        "actors": 1,
        "timers_per_actor": draw.between("extreme-gas-limits.timers_per_actor", 3, 8),
        "first_slot": first_slot,
        "spread_slots": 2,
        "ttl_slots": 5,
        "gas_limit": draw.one_of("extreme-gas-limits.gas_limit", TINY_LIMITS) or ceiling_of(chain),
        "max_fee": 100_000,
        "tips": [60],
    }


def _draw_precise(draw: Draw, chain: Plain) -> Plain:
    """Heartbeats with exactly the cycles that a beat takes, or one less."""
    precise: Plain = {
        "kind": "heartbeats",
        "actors": draw.between("exact-gas-limits.actors", 1, 2),
        "interval_slots": draw.between("exact-gas-limits.interval_slots", 1, 2),
        "gas_limit": cycles_of("heartbeats", chain) - draw.one_of("exact-gas-limits.less", (0, 0, 0, 1)),
    }
    if "bias_lambda" in chain.get("policy_parameters", {}):
        precise["bid"] = max(draw.one_of("exact-gas-limits.bid", (700, 4_000)), chain["policy_parameters"]["reserve"])
    return precise


def _draw_short(draw: Draw, chain: Plain) -> Plain:
    """A heartbeat that runs out of gas as it writes, or just after its last cell."""
    need, base_gas = NEEDS["heartbeats"], chain["policy_parameters"].get("base_gas", 100)
    most = CELL_GAS * need.cells
    # Exactly enough, a unit less, or any lower amount.
    more = draw.one_of("insufficient-gas.is_exact", (most, most - 1, draw.between("insufficient-gas.more", 0, most)))
    gas_limit = cycles_of("heartbeats", chain) + base_gas + more
    start_ms = draw.between("insufficient-gas.start_ms", 500, 4_000)
    return {"kind": "heartbeats", "actors": 1, "gas_limit": min(gas_limit, ceiling_of(chain)), "start_ms": start_ms}


def _draw_refused_calls(draw: Draw, _chain: Plain) -> Plain:
    """Calls that the queue refuses: a few groups of boundary cases."""
    return {
        "kind": "boundary-cases",
        "about": "queue",
        "first": draw.one_of("queue-refusals.first", range(len(QUEUE_CASES))),
        "count": draw.between("queue-refusals.count", 2, len(QUEUE_CASES)),
        "start_ms": draw.between("queue-refusals.start_ms", 1_000, 5_000),
        "every_ms": draw.one_of("queue-refusals.every_ms", (30, 100, 400)),
    }


def _draw_watchers(draw: Draw, chain: Plain) -> Plain:
    """Timers that wait for changes of a few values, and writes that come in time, immediately or too late."""
    watchers: Plain = {
        "kind": "watchers",
        "actors": draw.between("watchers.actors", 2, 4),
        "timers": draw.between("watchers.timers", 2, 6),
        # Together with the balance, this count is the most that a timer may watch.
        "keys": draw.one_of("watchers.keys", (1, 2, 3, 7)),
        "rounds": draw.between("watchers.rounds", 1, 3),
        "every_ms": draw.one_of("watchers.every_ms", (3_000, 6_000)),
        "start_ms": draw.between("watchers.start_ms", 500, 3_000),
        "write_ms": draw.one_of("watchers.write_ms", (1_200, 2_500, 5_500)),
        "writes": draw.between("watchers.writes", 1, 4),
        "write_every_ms": draw.one_of("watchers.write_every_ms", (200, 1_000)),
        "cancels": draw.between("watchers.cancels", 0, 2),
        "ttl_slots": draw.one_of("watchers.ttl_slots", (3, 20, 20)),
        "gas_limit": min(draw.one_of("watchers.gas_limit", (3_000, 5_000)), ceiling_of(chain)),
        "probes": draw.chance("watchers.probes", 50),
        "payer": draw.one_of("watchers.payer", ("actor", "sender")),
    }
    if "lane" not in chain:
        watchers["bid"] = max(draw.one_of("watchers.bid", (12, 400, 4_000)), chain["policy_parameters"]["reserve"])
    return watchers


def _has_lane(chain: Plain) -> bool:
    return "lane" in chain


def _has_fixed_price(chain: Plain) -> bool:
    return "lane" in chain and chain["lane"]["max_lane_basefee"] == FIXED_PRICE


def _has_queue(chain: Plain) -> bool:
    return bool(chain["policy"] == "aptos")


def _follows_lane(chain: Plain) -> bool:
    return bool(chain["policy"] == "gba-auction" and chain["activation"]["previous"] == "eip1559")


def _charges_poor(chain: Plain) -> bool:
    return chain["policy"] in {"fifo", "gba-auction", "bias-auction"}


_COMBINED: Final[Mapping[str, Suited]] = {
    "extreme-gas-limits": (TINY_PERCENT, _has_lane, _draw_tiny),
    "fixed-basefee": (FIXED_PRICE_PERCENT, _has_fixed_price, _draw_fixed_price),
    "capped-tips": (CAPPED_TIPS_PERCENT, _follows_lane, _draw_capped_tips),
    "underfunded": (UNDERFUNDED_PERCENT, _charges_poor, _draw_underfunded),
    "exact-gas-limits": (PRECISE_PERCENT, may_be_precise, _draw_precise),
    "insufficient-gas": (SHORT_PERCENT, _has_queue, _draw_short),
    "queue-refusals": (QUEUE_REFUSALS_PERCENT, _has_queue, _draw_refused_calls),
    "watchers": (WATCHED_PERCENT, _has_triggers, _draw_watchers),
    **BOUNDARY_WORKLOADS,
}
"""Percentage of the suitable chains on which each is on, the test of a suitable chain, and the draw."""
