"""The workloads of a drawn scenario, and what their timers offer for the timer lane."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from cluster.swarm.life import exact_cost, may_be_exact, mend
from cluster.swarm.policies.policy import COUNCIL_PERCENT
from cluster.swarm.policies.registry import DRAWN_POLICIES
from cluster.workloads.boundary.edge_cases import CASES
from faults.kinds.drawing import Plain
from network.draw import Draw

NARROW_LANE_CYCLES: Final = 9_000
NARROW_GAS_LIMIT: Final = 3_000
"""A lane for a few timers, and the gas limit of each: enough for a heartbeat, too little for a bot."""


def draw_workloads(draw: Draw, chain: Plain) -> dict[str, Plain]:
    """Return heartbeats in every run, so that each has timers to judge; other workloads by chance."""
    found: dict[str, Plain] = {
        "heartbeats": {
            "kind": "heartbeats",
            "actors": draw.between("heartbeats.actors", 2, 6),
            "interval_slots": draw.between("heartbeats.interval_slots", 1, 3),
            **_draw_offer(draw, "heartbeats"),
        }
    }
    if ("lane" in chain or "policy_parameters" in chain) and draw.chance("competing-heartbeats.is_on", 60):
        found["competing-heartbeats"] = _draw_rivals(draw)
    for name, (percent, make) in _WORKLOADS.items():
        if draw.chance(f"{name}.is_on", percent):
            found[name] = make(draw)
    found = fit(draw, found, chain)
    if draw.chance("exact-balance.is_on", 30) and may_be_exact(chain):
        found["exact-balance"] = _draw_misers(draw, chain)
    if draw.chance("exact-price.is_on", 50) and may_be_exact(chain):
        found |= _draw_spenders(draw, chain)
    if chain["timers"]["max_ttl_blocks"] < LONG_TTL_SLOTS and "storm" in found:
        # Longer lives than the chain allows would be refused, and there would be no storm.
        for key in ("ttl_slots", "unfunded_ttl_slots"):
            found["storm"][key] = min(found["storm"][key], SHORT_TTL_SLOTS)
    policy = DRAWN_POLICIES.get(chain["policy"])
    if draw.chance("governance.is_on", COUNCIL_PERCENT if policy is None else policy.council_percent):
        is_known = policy is None or policy.knows_identifiers(chain)
        found["governance"] = _draw_council(draw, chain, found.get("storm") if is_known else None)
    return found


def fit(draw: Draw, drawn: dict[str, Plain], chain: Plain) -> dict[str, Plain]:
    """Return the workloads that can live on the chain; in a narrow lane their fires have small gas limits."""
    if chain["timers"]["lane_timer_cycles"] == NARROW_LANE_CYCLES:
        for workload in drawn.values():
            if workload["kind"] not in {"transfers", "boundary-cases"}:
                workload["gas_limit"] = NARROW_GAS_LIMIT
    policy, found = DRAWN_POLICIES.get(chain["policy"]), {}
    for name, workload in drawn.items():
        mended = mend(workload, chain)
        if mended is not None and policy is not None:
            mended = policy.fit(draw, name, mended, chain)
        if mended is not None:
            found[name] = mended
    return found


LONG_TTL_SLOTS: Final = 200
SHORT_TTL_SLOTS: Final = 9
"""Lives that storms are given, and their values where the chain allows no long lives."""

AGENTS: Final = (
    *("calm", "alarmed", "desperate", "calm", "alarmed", "desperate", *["sum"] * 8),
    *("nobody", "revert", "spin", "crash"),
    *("write", "negative", "great", "garbage", "short", "low"),
    *["nothing"] * 3,
)
"""The agents that bid for a workload's timers: by risk, or badly in one of many ways."""

FEES: Final = (1_200, 5_000, 100_000)
"""Greatest fees, in units per cycle. A storm may also offer the lowest price: it asks once."""

MISER_GAS_LIMIT: Final = 2_000

TIERS: Final = ("economy", "standard", "fast", "urgent")


def _draw_offer(draw: Draw, name: str) -> Plain:
    """Return the fees that a workload's timers offer for the lane; a chain without the lane ignores them.

    An agent is asked for the fees that the timer leaves open, so nothing is drawn for them.
    """
    if not draw.chance(f"{name}.is_offering", 85):
        return {}
    offer: Plain = {
        "max_fee": draw.one_of(f"{name}.max_fee", (800, *FEES) if name == "storm" else FEES),
        "tips": draw.one_of(f"{name}.tips", ([0, 40, 300], [5], [900, 10, 60, 2_000])),
    }
    if draw.chance(f"{name}.has_agent", 45):
        offer["agent"] = draw.one_of(f"{name}.agent", AGENTS)
        for left_open in draw.one_of(f"{name}.left_open", (["max_fee", "tips"], ["max_fee", "tips"], ["tips"])):
            del offer[left_open]
    elif draw.chance(f"{name}.has_tier", 40):
        offer["tier"] = draw.one_of(f"{name}.tier", TIERS)
        if draw.chance(f"{name}.is_tier_alone", 80):
            del offer["tips"]
    elif draw.chance(f"{name}.is_fee_open", 25):
        del offer["max_fee"]
    if draw.chance(f"{name}.has_bid", 30):
        offer["bid"] = 7
    return offer


def _draw_rivals(draw: Draw) -> Plain:
    """A few heartbeats with different bids against each other: they show an order and a median."""
    rivals: Plain = {
        "kind": "heartbeats",
        "actors": draw.between("competing-heartbeats.actors", 3, 5),
        "interval_slots": draw.between("competing-heartbeats.interval_slots", 1, 2),
    }
    if draw.chance("competing-heartbeats.has_agent", 30):
        # Bids that differ from block to block, of timers that a narrow lane defers and a hook forces.
        return {**rivals, "agent": "sum"}
    rivals["max_fee"] = draw.one_of("competing-heartbeats.max_fee", (5_000, 100_000))
    rivals["tips"] = draw.one_of("competing-heartbeats.tips", ([3, 251, 91, 33, 7], [901, 11, 61, 2_003, 407]))
    return rivals


def _draw_games(draw: Draw) -> Plain:
    games = {"kind": "games", "games": draw.between("games.games", 1, 3), "absent_players": 1, "gas_limit": 30_000}
    return {**games, "foreign_moves": 2} if draw.chance("games.has_strangers", 50) else games


def _draw_payments(draw: Draw) -> Plain:
    """Payments, in some runs resubmitted: to the next validator, or around to the first, immediately or too late."""
    copies = draw.one_of("transfers.copies", (1, 1, 2, 8))
    again: Plain = (
        {} if copies == 1 else {"copies": copies, "copy_ms": draw.one_of("transfers.copy_ms", (0, 90, 2_500))}
    )
    return {
        "kind": "transfers",
        "accounts": draw.between("transfers.accounts", 2, 6),
        "count": draw.between("transfers.count", 8, 25),
        "every_ms": draw.one_of("transfers.every_ms", (100, 250, 400)),
        "tips": draw.one_of("transfers.tips", ([1], [1, 300, 7], [0, 2, 900, 40])),
        **again,
    }


def draw_crowd(draw: Draw, network: Plain) -> dict[str, Plain]:
    """Return, where messages are lost, sometimes enough senders for each mempool to re-offer several transactions."""
    if not network["loss_ppm"] or not draw.chance("transfer-burst.is_on", 40):
        return {}
    accounts = draw.between("transfer-burst.accounts", 70, 90)
    crowd: Plain = {
        "kind": "transfers",
        "accounts": accounts,
        "count": accounts + draw.between("transfer-burst.more", 0, 30),
    }
    pace: Plain = {"every_ms": draw.one_of("transfer-burst.every_ms", (1, 8)), "tips": [1, 300, 7]}
    return {"transfer-burst": {**crowd, **pace, "start_ms": draw.between("transfer-burst.start_ms", 1_500, 7_000)}}


def _draw_storm(draw: Draw) -> Plain:
    """Timers of one or a few heights, many of which die: by time to live, by their payers, by cancellation."""
    actors = draw.between("storm.actors", 2, 4)
    payer = draw.one_of("storm.payer", ("actor", "actor", "sender"))
    shape: Plain = {
        "kind": "storm",
        "actors": actors,
        "timers_per_actor": draw.between("storm.timers_per_actor", 12, 40),
        "timers_per_transaction": draw.one_of("storm.timers_per_transaction", (10, 30)),
        "first_slot": draw.between("storm.first_slot", 4, 9),
        "spread_slots": draw.one_of("storm.spread_slots", (1, 1, 4)),
        "ttl_slots": draw.one_of("storm.ttl_slots", (0, 0, 1, 3, 100)),
        "unfunded_ttl_slots": draw.one_of("storm.unfunded_ttl_slots", (0, 2, 100_000)),
        "gas_limit": draw.one_of("storm.gas_limit", (20_000, 20_000, 35_000)),
        "unfunded_actors": 0 if payer == "sender" else draw.one_of("storm.unfunded_actors", (0, 1, 1, 2)),
        "handler": draw.one_of("storm.handler", ("", "", "fail", "fail", "spin", "crash", "spend")),
        "payer": payer,
        "tips_by": draw.one_of("storm.tips_by", ("actor", "order", "order")),
        **_draw_offer(draw, "storm"),
    }
    if draw.chance("storm.is_cancelled", 40):
        shape["cancel_ms"] = draw.between("storm.cancel_ms", 2_000, 7_000)
        shape["cancels_per_actor"] = draw.between("storm.cancels_per_actor", 1, 10)
    elif draw.chance("storm.is_withdrawn", 40):
        shape["withdraw_ms"] = draw.between("storm.withdraw_ms", 2_000, 7_000)
    return shape


def _draw_misers(draw: Draw, chain: Plain) -> Plain:
    """A heartbeat that can pay for exactly one fire at floor prices, or lacks 1 unit."""
    cost = exact_cost(chain, MISER_GAS_LIMIT) + draw.one_of("exact-balance.more", (0, 0, 0, 1, -1))
    start_ms = draw.between("exact-balance.start_ms", 2_500, 6_000)
    return {"kind": "heartbeats", "actors": 1, "gas_limit": MISER_GAS_LIMIT, "funds": cost, "start_ms": start_ms}


def _draw_spenders(draw: Draw, chain: Plain) -> dict[str, Plain]:
    """A subscription left with exactly its price at its first renewal, or with 1 unit less; none if impossible."""
    price = draw.one_of("exact-price.price", (1_000_000, 300_000_000))
    plan: Plain = {"kind": "subscriptions", "subscriptions": 1, "price": price, "interval_slots": 1}
    fitted = mend({**plan, "gas_limit": 0, "start_ms": draw.between("exact-price.start_ms", 2_500, 6_000)}, chain)
    if fitted is None:
        return {}
    more = draw.one_of("exact-price.more", (0, 0, 0, 1, -1))
    return {"exact-price": {**fitted, "funds": price + exact_cost(chain, fitted["gas_limit"]) + more}}


def _draw_council(draw: Draw, chain: Plain, storm: Plain | None) -> Plain:
    """Change one rule of the timers for a while, and act on a storm; one council in four lacks the right."""
    timers, has_lane = chain["timers"], "lane" in chain
    before = {"execution_lane_paused": False, "gc_lane_paused": False, **timers}
    key, value = draw.one_of(
        "governance.change",
        (
            ("execution_lane_paused", True),
            ("gc_lane_paused", True),
            ("lane_timer_cycles", 25_000),
            ("gc_cycles_per_block", 400),
            ("max_timers_per_actor", 1),
        ),
    )
    at_ms = draw.between("governance.at_ms", 2_500, 6_500)
    back_ms = at_ms + draw.between("governance.for_ms", 1_500, 3_500)
    actions: list[Plain] = [
        {"do": "configure", "at_ms": at_ms, "set": {key: value}},
        {"do": "configure", "at_ms": back_ms, "set": {key: before[key]}},
    ]
    if storm is not None:
        its = {"workload": "storm", "actor": draw.between("governance.actor", 0, storm["actors"] - 1)}
        cancel_ms, extend_ms = (draw.between(f"governance.{what}_ms", 2_500, 8_000) for what in ("cancel", "extend"))
        expires_at = draw.between("governance.expires_at", 6, 30)
        actions.append({"do": "cancel", "at_ms": cancel_ms, "first": 1, "count": 3, **its})
        actions.append({"do": "extend", "at_ms": extend_ms, "first": 5, "count": 4, "expires_at": expires_at, **its})
        if has_lane and draw.chance("governance.is_capping", 35):
            # Just before the storm: its timers wait above the cap, also timers of payers without funds.
            cap_ms = max(500, storm["first_slot"] * chain["slot_ms"] - 700)
            change = {"system:cip1:max_cycles_per_fire_auction_phase": 2_000}
            actions.append({"do": "govern", "at_ms": cap_ms, "set": change})
    if draw.chance("governance.is_governing", 75):
        actions += _draw_parameters(draw, chain, has_lane=has_lane)
    if chain["policy"] in DRAWN_POLICIES:
        actions += DRAWN_POLICIES[chain["policy"]].actions(draw)
    return {
        "kind": "governance",
        "actions": sorted(actions, key=lambda action: int(action["at_ms"])),
        "is_deployer": draw.chance("governance.is_deployer", 75),
    }


READINGS: Final[Mapping[str, Sequence[str]]] = {
    "slope": ("literal", "classic"),
    "settlement": ("additive", "literal", "intro"),
    "packing_account": ("use", "limit"),
    "packing_misfit": ("skip", "stop"),
    "classification": ("eager", "cursor"),
    "default_gba": ("schedule", "fire"),
    "tie_break": ("id", "age", "append"),
    "weight": ("multiplicative", "additive"),
    "median": ("mean", "lower", "upper"),
    "fairness_subject": ("actor", "deployer"),
}
"""Readings of the timer lane's rules that a scenario can choose."""

LANE_CHANGES: Final[Mapping[str, Sequence[Any]]] = {
    "max_cycles_per_fire_auction_phase": (2_000, 15_000),
    "ring_size": (2, 3, 8, 4_096),
    "epoch_length": (2, 5, 3_600),
    "epoch_horizon": (0, 2, 24),
    "fairness_window_blocks": (2, 4, 1_000),
    **READINGS,
    "lane_multiplier": ([2, 1], [1, 1]),
    "max_basefee_step": ([1, 4],),
    "min_lane_basefee": (900, 8),
    "max_gba_calls_per_block": (0, 2),
    "gba_call_cycles": (600, 10_000),
    "excessive_delay": ("off", "force", "cancel"),
    "max_allowed_delays": (0, 1),
    "priority_tier_multipliers.fast": ([7, 2],),
    "priority_tier_multipliers.economy": ([0, 1],),
}
"""Parameters of the lane that a council may change by key, and their values."""

TIER_KEYS: Final = ("ring_size", "epoch_length", "epoch_horizon")
"""Keys of the calendar profile: where the heights of timers wait."""

TIMER_CHANGES: Final[Mapping[str, Sequence[Any]]] = {
    "gc_cost_per_timer": (150, 700),
    "lane_timer_cycles": (9_000, 30_000),
    "max_cells_per_fire": (260, 550_000),
    "max_cycles_per_fire": (15_000, 550_000),
    "max_ttl_blocks": (3, 50),
    "schedule_cycles": (100, 300),
}
"""Keys of the timer configuration: where the heights of timers wait."""


def _draw_parameters(draw: Draw, chain: Plain, *, has_lane: bool) -> list[Plain]:
    """Change a few parameters by their keys, permanently or until the next change."""
    keys = {f"timer_config.{key}": values for key, values in TIMER_CHANGES.items() if key in chain["timers"]}
    if chain["policy"] in DRAWN_POLICIES:
        keys |= DRAWN_POLICIES[chain["policy"]].changes
    if has_lane:
        keys |= {f"system:cip1:{key}": values for key, values in LANE_CHANGES.items()}
    actions: list[Plain] = []
    if has_lane and draw.chance("governance.is_resizing", 75):
        sizes = {f"system:cip1:{key}": draw.one_of(f"governance.{key}", LANE_CHANGES[key]) for key in TIER_KEYS}
        actions.append({"do": "govern", "at_ms": draw.between("governance.resize_ms", 1_500, 5_000), "set": sizes})
    for batch in range(draw.between("governance.batches", 1, 3)):
        chosen = draw.some_of(f"governance.{batch}.keys", list(keys), draw.between(f"governance.{batch}.count", 1, 3))
        change = {key: draw.one_of(f"governance.{batch}.{key}", keys[key]) for key in chosen}
        actions.append(
            {"do": "govern", "at_ms": draw.between(f"governance.{batch}.govern_ms", 1_500, 8_500), "set": change}
        )
    return actions


def _draw_feeds(draw: Draw) -> Plain:
    return {"kind": "oracle-feeds", "feeds": draw.between("oracle-feeds.feeds", 1, 4), "values": 6}


def _draw_bots(draw: Draw) -> Plain:
    return {
        "kind": "liquidations",
        "bots": draw.between("liquidations.bots", 1, 2),
        "positions": 5,
        # Near their limits, over them in the end, over them at once.
        "debt_step": draw.one_of("liquidations.debt_step", (1_000, 1_500, 2_000)),
        "gas_limit": 40_000,
        # A bot that looks in every slot has no reason to hurry when a position is near its limit.
        "interval_slots": draw.one_of("liquidations.interval_slots", (1, 2, 2, 3)),
        "every_ms": 2_500,
    }


def _draw_plans(draw: Draw) -> Plain:
    """Subscriptions that end during the run, insolvent or lapsed, and one in two begins anew."""
    return {
        "kind": "subscriptions",
        "subscriptions": draw.between("subscriptions.subscriptions", 1, 3),
        "price": draw.one_of("subscriptions.price", (1_000_000, 300_000_000, 900_000_000)),
        "funds": draw.one_of("subscriptions.funds", (1_500_000_000, 100_000_000_000)),
        "interval_slots": draw.between("subscriptions.interval_slots", 1, 2),
        **(
            {"again_ms": draw.between("subscriptions.again_ms", 3_500, 7_500)}
            if draw.chance("subscriptions.is_again", 50)
            else {}
        ),
    }


def _draw_oddities(draw: Draw) -> Plain:
    """A few groups of transactions that try the rules at their limits."""
    return {
        "kind": "boundary-cases",
        "first": draw.between("boundary-cases.first", 0, len(CASES) - 1),
        "count": draw.between("boundary-cases.count", 3, 6),
        "start_ms": draw.between("boundary-cases.start_ms", 0, 5_000),
        "every_ms": draw.one_of("boundary-cases.every_ms", (30, 100, 400)),
        "is_deployer": draw.chance("boundary-cases.is_deployer", 75),
    }


def _draw_crashing(draw: Draw) -> Plain:
    """A few timers whose program writes, and then fails with an unintended error."""
    return {
        "kind": "storm",
        "actors": 1,
        "timers_per_actor": draw.between("program-faults.timers_per_actor", 2, 6),
        "first_slot": draw.between("program-faults.first_slot", 4, 9),
        "spread_slots": 2,
        "ttl_slots": 20,
        "unfunded_actors": 0,
        "payer": "actor",
        "gas_limit": 4_000,
        "handler": "crash",
        "max_fee": 5_000,
    }


def _draw_resubmitters(draw: Draw) -> Plain:
    return {
        "kind": "resubmitters",
        "actors": draw.between("resubmitters.actors", 1, 4),
        "attempts": draw.between("resubmitters.attempts", 4, 30),
        "retry_ms": draw.one_of("resubmitters.retry_ms", (100, 500, 1_500)),
    }


_WORKLOADS: Final[Mapping[str, tuple[int, Callable[[Draw], Plain]]]] = {
    "transfers": (50, _draw_payments),
    "storm": (80, _draw_storm),
    "oracle-feeds": (25, _draw_feeds),
    "games": (35, _draw_games),
    "liquidations": (30, _draw_bots),
    "subscriptions": (25, _draw_plans),
    "boundary-cases": (75, _draw_oddities),
    "program-faults": (12, _draw_crashing),
    "resubmitters": (4, _draw_resubmitters),
}
"""Percentage of seeds on which each workload besides heartbeats is on, and how it is drawn."""
