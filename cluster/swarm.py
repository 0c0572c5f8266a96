"""Draws a whole scenario from a seed: sizes, chain, network, workloads and a few faults out of many.

Swarm testing: most kinds of faults are off in a given run, so that none hides another, and every run is a different
mixture. A draw is keyed by (seed, what it is for), never streamed: adding a kind of fault to this file leaves every
other draw of every seed as it was. What is drawn becomes a resolved scenario, which is what a run directory keeps, so a
failure can be repeated and made smaller after this file has changed.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from cluster.draws import NAME, Draw, Plain
from cluster.scenario import Scenario, apply_setting, convert_scenario, encode_scenario
from cluster.swarm_faults import draw_faults
from cluster.swarm_roads import draw_observer_fault, draw_observers, draw_roads

NARROW_LANE_CYCLES: Final = 9_000
NARROW_GAS_LIMIT: Final = 3_000
"""A lane for a few timers, and what each of them may use: enough for a heartbeat, too little for a bot."""

IDENTITY_SEEDS: Final = 16
"""So many drawn scenarios stand for all of them."""


def draw_scenario(seed: int, settings: Sequence[str] = ()) -> Scenario:
    """Return the scenario of a seed, changed by ``key=value`` settings; raises ScenarioError for a bad one."""
    draw = Draw(seed)
    validators = draw.one_of("cluster.validators", (4, 4, 4, 4, 5, 6, 7))
    chain = _draw_chain(draw)
    faults, observers = draw_faults(draw, validators), draw_observers(draw)
    raw: Plain = {
        "name": NAME,
        "title": f"drawn from seed {seed}",
        "cluster": {"validators": validators},
        "chain": chain,
        "network": _draw_network(draw),
        "costs": {"sync_us": draw.one_of("costs.sync_us", (100, 2_000, 15_000))},
        "sync": {"snapshot_gap_blocks": draw.one_of("sync.snapshot_gap_blocks", (3, 256, 256))},
        "validators": draw_roads(draw, validators),
        "observers": observers,
        "workload": _draw_workloads(draw, chain),
        "faults": {**faults, **draw_observer_fault(draw, faults, validators, len(observers))},
        "run": {"until_height": draw.between("run.until_height", 12, 22), "time_limit_ms": 240_000},
    }
    for setting in settings:
        apply_setting(raw, setting)
    return convert_scenario(raw, f"swarm seed {seed}")


def swarm_identity(settings: Sequence[str]) -> str:
    """Return what tells this swarm apart from that of another version of this file, or with other settings."""
    drawn = b"".join(encode_scenario(draw_scenario(seed, settings)) for seed in range(IDENTITY_SEEDS))
    return f"{NAME} {hashlib.sha256(drawn).hexdigest()}"


def banner(scenario: Scenario) -> Iterator[str]:
    """Yield every drawn parameter as ``key = value``, in the order of the scenario file."""
    plain: Plain = msgspec.to_builtins(scenario)
    yield from _flatten("", plain)


def _flatten(prefix: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flatten(f"{prefix}.{key}" if prefix else str(key), inner)
    else:
        yield f"{prefix} = {value}"


# -- chain, network, workloads -----------------------------------------------------------------


def _draw_chain(draw: Draw) -> Plain:
    """Lanes that are full and empty, blocks that are full and empty: what waits, dies and moves prices."""
    timebase = draw.one_of("chain.timebase", ("slot", "slot", "height"))
    gc_timers = draw.one_of("chain.gc_timers", (3, 20, 200))
    policy = draw.one_of("chain.policy", ("fifo", "fifo", "fifo", "fifo-free", *["eip1559"] * 4))
    # A lane as narrow as this makes timers compete for it in every block.
    is_narrow = policy == "eip1559" and draw.chance("chain.is_narrow", 60)
    return {
        "policy": policy,
        **(_draw_lane(draw) if policy == "eip1559" else {}),
        "timebase": timebase,
        "slot_ms": draw.one_of("chain.slot_ms", (500, 1_000, 1_000, 2_000)) if timebase == "slot" else 1_000,
        "block_cycles": draw.one_of("chain.block_cycles", (60_000, 10_000_000, 10_000_000)),
        "block_cells": draw.one_of("chain.block_cells", (8_000, 10_000_000, 10_000_000)),
        "mailbox_cycles": draw.one_of("chain.mailbox_cycles", (8_000, 2_000_000)),
        "timers": {
            "gc_cycles_per_block": 200 * gc_timers,
            "lane_timer_cycles": NARROW_LANE_CYCLES
            if is_narrow
            else draw.one_of("chain.lane_timer_cycles", (40_000, 40_000, 2_000_000)),
            "max_timers_per_actor": draw.one_of("chain.max_timers_per_actor", (25, 1_024, 1_024, 1_024)),
        },
    }


def _draw_lane(draw: Draw) -> Plain:
    """Small tiers, short windows, and every reading of the timer lane."""
    lane: Plain = {
        "fairness_window_blocks": draw.one_of("lane.fairness_window_blocks", (3, 5, 1_000)),
        "ring_size": draw.one_of("lane.ring_size", (2, 4, 4_096)),
        "epoch_length": draw.one_of("lane.epoch_length", (3, 4, 3_600)),
        "epoch_horizon": draw.one_of("lane.epoch_horizon", (0, 1, 24)),
        "gc_scan_per_block": draw.one_of("lane.gc_scan_per_block", (30, 25_000)),
        "max_gba_calls_per_block": draw.one_of("lane.max_gba_calls_per_block", (5, 1_000)),
    }
    lane |= {name: draw.one_of(f"lane.{name}", values) for name, values in _READINGS.items()}
    return {"activation": {"height": draw.one_of("chain.activation", (1, 1, 4, 8))}, "lane": lane}


_READINGS: Final[Mapping[str, Sequence[str]]] = {
    "slope": ("literal", "classic"),
    "settlement": ("additive", "literal"),
    "packing": ("interleaved", "reserved", "stop"),
    "classification": ("eager", "cursor"),
    "default_gba": ("schedule", "fire"),
    "tie_break": ("id", "age"),
    "weight": ("multiplicative", "additive"),
    "median": ("mean", "lower", "upper"),
    "fairness_subject": ("actor", "deployer"),
}
"""What the timer lane can be told to mean."""


def _draw_offer(draw: Draw, name: str) -> Plain:
    """What the timers of a workload offer for the lane; a chain without the lane does not ask."""
    if not draw.chance(f"{name}.is_offering", 60):
        return {}
    return {
        "max_fee": draw.one_of(f"{name}.max_fee", (1_200, 5_000, 100_000)),
        "tips": draw.one_of(f"{name}.tips", ([0, 40, 300], [5], [900, 10, 60, 2_000])),
        "agent": draw.one_of(f"{name}.agent", ("", "", "", "calm", "desperate", "revert", "garbage")),
    }


def _draw_games(draw: Draw) -> Plain:
    return {"kind": "games", "games": draw.between("games.games", 1, 3), "absent_players": 1, "gas_limit": 30_000}


def _draw_network(draw: Draw) -> Plain:
    latency_ms = draw.one_of("network.latency_ms", (5, 40, 40, 120))
    distribution = draw.one_of("network.distribution", ("fixed", "uniform", "normal", "exponential"))
    return {
        "distribution": distribution,
        "latency_ms": latency_ms,
        "jitter_ms": latency_ms // 4 if distribution in {"uniform", "normal"} else 0,
        "loss_ppm": draw.one_of("network.loss_ppm", (0, 0, 0, 20_000)),
    }


def _draw_workloads(draw: Draw, chain: Plain) -> dict[str, Plain]:
    """Heartbeats in every run, so that each has timers to judge; the rest by chance."""
    found: dict[str, Plain] = {
        "pulse": {
            "kind": "heartbeats",
            "actors": draw.between("pulse.actors", 2, 12),
            "interval_slots": draw.between("pulse.interval_slots", 1, 3),
            **_draw_offer(draw, "pulse"),
        }
    }
    for name, (percent, make) in _WORKLOADS.items():
        if draw.chance(f"{name}.is_on", percent):
            found[name] = make(draw)
    if chain["timers"]["lane_timer_cycles"] == NARROW_LANE_CYCLES:
        for workload in found.values():
            if "accounts" not in workload:
                workload["gas_limit"] = NARROW_GAS_LIMIT
    if draw.chance("council.is_on", 35):
        found["council"] = _draw_council(draw, chain["timers"], found.get("storm"))
    return found


def _draw_payments(draw: Draw) -> Plain:
    return {
        "kind": "transfers",
        "accounts": draw.between("payments.accounts", 2, 6),
        "count": draw.between("payments.count", 10, 60),
        "every_ms": draw.one_of("payments.every_ms", (100, 250, 400)),
    }


def _draw_storm(draw: Draw) -> Plain:
    """Timers of one height or a few, of which many die: by their time to live, by their payers, by cancellation."""
    actors = draw.between("storm.actors", 2, 4)
    payer = draw.one_of("storm.payer", ("actor", "actor", "sender"))
    shape: Plain = {
        "kind": "storm",
        "actors": actors,
        "timers_per_actor": draw.between("storm.timers_per_actor", 15, 80),
        "timers_per_transaction": draw.one_of("storm.timers_per_transaction", (10, 30)),
        "first_slot": draw.between("storm.first_slot", 5, 12),
        "spread_slots": draw.one_of("storm.spread_slots", (1, 1, 4)),
        "ttl_slots": draw.one_of("storm.ttl_slots", (0, 0, 1, 3, 100)),
        "unfunded_ttl_slots": draw.one_of("storm.unfunded_ttl_slots", (0, 2, 100_000)),
        "gas_limit": draw.one_of("storm.gas_limit", (20_000, 20_000, 35_000)),
        "unfunded_actors": 0 if payer == "sender" else draw.one_of("storm.unfunded_actors", (0, 1, 1, 2)),
        "handler": draw.one_of("storm.handler", ("", "", "fail", "fail", "spin", "crash", "spend")),
        "payer": payer,
        **_draw_offer(draw, "storm"),
    }
    if draw.chance("storm.is_cancelled", 40):
        shape["cancel_ms"] = draw.between("storm.cancel_ms", 2_000, 9_000)
        shape["cancels_per_actor"] = draw.between("storm.cancels_per_actor", 1, 10)
    elif draw.chance("storm.is_withdrawn", 40):
        shape["withdraw_ms"] = draw.between("storm.withdraw_ms", 2_000, 9_000)
    return shape


def _draw_council(draw: Draw, timers: Plain, storm: Plain | None) -> Plain:
    """Change one rule of the timers for a while, and reach into a storm; one council in four has no right to."""
    before = {"execution_lane_paused": False, "gc_lane_paused": False, **timers}
    key, value = draw.one_of(
        "council.change",
        (
            ("execution_lane_paused", True),
            ("gc_lane_paused", True),
            ("lane_timer_cycles", 25_000),
            ("gc_cycles_per_block", 400),
            ("max_timers_per_actor", 1),
        ),
    )
    at_ms = draw.between("council.at_ms", 3_000, 9_000)
    back_ms = at_ms + draw.between("council.for_ms", 1_500, 5_000)
    actions: list[Plain] = [
        {"do": "configure", "at_ms": at_ms, "set": {key: value}},
        {"do": "configure", "at_ms": back_ms, "set": {key: before[key]}},
    ]
    if storm is not None:
        its = {"workload": "storm", "actor": draw.between("council.actor", 0, storm["actors"] - 1)}
        cancel_ms, extend_ms = (draw.between(f"council.{what}_ms", 2_500, 11_000) for what in ("cancel", "extend"))
        expires_at = draw.between("council.expires_at", 6, 30)
        actions.append({"do": "cancel", "at_ms": cancel_ms, "first": 1, "count": 3, **its})
        actions.append({"do": "extend", "at_ms": extend_ms, "first": 5, "count": 4, "expires_at": expires_at, **its})
    return {
        "kind": "governance",
        "actions": sorted(actions, key=lambda action: int(action["at_ms"])),
        "is_deployer": draw.chance("council.is_deployer", 75),
    }


def _draw_feeds(draw: Draw) -> Plain:
    return {"kind": "oracle-feeds", "feeds": draw.between("feeds.feeds", 1, 4), "values": 6}


def _draw_bots(draw: Draw) -> Plain:
    return {
        "kind": "liquidations",
        "bots": draw.between("bots.bots", 1, 2),
        "positions": 5,
        "debt_step": draw.one_of("bots.debt_step", (1_000, 2_000)),
        "interval_slots": 2,
        "every_ms": 2_500,
    }


_WORKLOADS: Final[Mapping[str, tuple[int, Callable[[Draw], Plain]]]] = {
    "payments": (50, _draw_payments),
    "storm": (80, _draw_storm),
    "feeds": (25, _draw_feeds),
    "games": (35, _draw_games),
    "bots": (30, _draw_bots),
}
"""Workloads besides heartbeats: for how many seeds of a hundred they are on, and how each is drawn."""
