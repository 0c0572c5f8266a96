"""Draws a whole scenario from a seed: sizes, chain, network, workloads and a few faults out of many.

Swarm testing: most kinds of faults are off in a given run, so that none hides another, and every run is a different
mixture. A draw is keyed by (seed, what it is for), never streamed: adding a kind of fault to this file leaves every
other draw of every seed as it was. What is drawn becomes a resolved scenario, which is what a run directory keeps, so a
failure can be repeated and made smaller after this file has changed.

A fault that does not go with those drawn before it (the same validator twice without power, say) is left out by asking
the rules of `faults.plan`, not by repeating them here.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar, final

import msgspec

from cluster.scenario import Scenario, apply_setting, convert_scenario, encode_scenario
from faults import Fault, PlanError, check_plan
from network.chance import Chance, below

NAME: Final = "swarm"
"""The name of every drawn scenario; its seed tells it apart."""

FAULTS_FROM_MS: Final = 2_000
"""No fault begins before this, so that every cluster has begun."""

FAULTS_UNTIL_MS: Final = 16_000
"""Every fault is over by then."""

FAULTS_MAX: Final = 4
"""Most faults in one run."""

IDENTITY_SEEDS: Final = 16
"""So many drawn scenarios stand for all of them."""

_Value = TypeVar("_Value")
Plain = dict[str, Any]


@final
class Draw:
    """The chance of one seed, by names. Each name is drawn once."""

    def __init__(self, seed: int) -> None:
        self._chance = Chance(seed)

    def between(self, name: str, lowest: int, highest: int) -> int:
        """Return a whole number, both ends included."""
        return lowest + below(self._chance.draw(NAME, name, 0), highest - lowest + 1)

    def chance(self, name: str, percent: int) -> bool:
        """Return true for so many seeds of a hundred."""
        return self.between(name, 0, 99) < percent

    def one_of(self, name: str, values: Sequence[_Value]) -> _Value:
        """Return one of the values."""
        return values[self.between(name, 0, len(values) - 1)]

    def some_of(self, name: str, values: Sequence[_Value], count: int) -> list[_Value]:
        """Return so many different values, in an order that is drawn as well."""
        keyed = [(self._chance.draw(NAME, name, place), value) for place, value in enumerate(values)]
        return [value for _, value in sorted(keyed, key=lambda pair: pair[0])[:count]]


def draw_scenario(seed: int, settings: Sequence[str] = ()) -> Scenario:
    """Return the scenario of a seed, changed by ``key=value`` settings; raises ScenarioError for a bad one."""
    draw = Draw(seed)
    validators = draw.one_of("cluster.validators", (4, 4, 4, 4, 5, 6, 7))
    chain = _draw_chain(draw)
    raw: Plain = {
        "name": NAME,
        "title": f"drawn from seed {seed}",
        "cluster": {"validators": validators},
        "chain": chain,
        "network": _draw_network(draw),
        "costs": {"sync_us": draw.one_of("costs.sync_us", (100, 2_000, 15_000))},
        "workload": _draw_workloads(draw, chain),
        "faults": _draw_faults(draw, validators),
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
    return {
        "policy": draw.one_of("chain.policy", ("fifo", "fifo", "fifo", "fifo-free")),
        "timebase": timebase,
        "slot_ms": draw.one_of("chain.slot_ms", (500, 1_000, 1_000, 2_000)) if timebase == "slot" else 1_000,
        "block_cycles": draw.one_of("chain.block_cycles", (60_000, 10_000_000, 10_000_000)),
        "block_cells": draw.one_of("chain.block_cells", (8_000, 10_000_000, 10_000_000)),
        "timers": {
            "gc_cycles_per_block": 200 * gc_timers,
            "lane_timer_cycles": draw.one_of("chain.lane_timer_cycles", (40_000, 60_000, 2_000_000)),
            "max_timers_per_actor": draw.one_of("chain.max_timers_per_actor", (25, 1_024, 1_024, 1_024)),
        },
    }


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
        }
    }
    for name, (percent, make) in _WORKLOADS.items():
        if draw.chance(f"{name}.is_on", percent):
            found[name] = make(draw)
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
    payer = draw.one_of("storm.payer", ("actor", "actor", "actor", "sender"))
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
        "handler": draw.one_of("storm.handler", ("", "", "fail", "spin", "crash", "spend")),
        "payer": payer,
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
    "bots": (30, _draw_bots),
}
"""Workloads besides heartbeats: for how many seeds of a hundred they are on, and how each is drawn."""


# -- faults ------------------------------------------------------------------------------------


def _draw_faults(draw: Draw, validators: int) -> dict[str, Plain]:
    """Draw a few kinds and keep each fault that goes with those before it."""
    count = draw.one_of("faults.count", (0, 1, 1, 2, 3, 3, FAULTS_MAX))
    found: dict[str, Plain] = {}
    for drawn in draw.some_of("faults.kinds", list(_FAULTS), count):
        fault = {"kind": drawn, **_FAULTS[drawn](draw, drawn, validators)}
        plan = {**found, drawn: fault}
        try:
            check_plan({name: msgspec.convert(each, Fault) for name, each in plan.items()}, validators)
        except PlanError:
            continue
        found[drawn] = fault
    return found


def _span(draw: Draw, kind: str) -> tuple[int, int]:
    start_ms = draw.between(f"{kind}.start_ms", FAULTS_FROM_MS, FAULTS_UNTIL_MS - 1_500)
    return start_ms, draw.between(f"{kind}.stop_ms", start_ms + 1_000, FAULTS_UNTIL_MS)


def _spanned(draw: Draw, kind: str) -> Plain:
    start_ms, stop_ms = _span(draw, kind)
    return {"start_ms": start_ms, "stop_ms": stop_ms}


def _validator(draw: Draw, kind: str, validators: int) -> int:
    return draw.between(f"{kind}.validator", 0, validators - 1)


def _groups(draw: Draw, kind: str, validators: int) -> list[list[int]]:
    """Draw a partition of any shape: one alone, halves, a minority, three parts."""
    order = draw.some_of(f"{kind}.order", range(validators), validators)
    cut = draw.between(f"{kind}.cut", 1, validators - 1)
    groups = [order[:cut], order[cut:]]
    if len(groups[1]) > 1 and draw.chance(f"{kind}.is_three", 25):
        groups[1:] = [groups[1][:1], groups[1][1:]]
    return groups


def _draw_partition(draw: Draw, kind: str, validators: int) -> Plain:
    return {"groups": _groups(draw, kind, validators), **_spanned(draw, kind)}


def _draw_flapping(draw: Draw, kind: str, validators: int) -> Plain:
    cut_ms = draw.one_of(f"{kind}.cut_ms", (300, 600))
    open_ms = draw.one_of(f"{kind}.open_ms", (400, 900))
    return {**_draw_partition(draw, kind, validators), "cut_ms": cut_ms, "open_ms": open_ms}


def _draw_cut(draw: Draw, kind: str, validators: int) -> Plain:
    links = [[first, second] for first in range(validators) for second in range(validators) if first != second]
    count = draw.between(f"{kind}.count", 1, validators)
    return {"links": draw.some_of(f"{kind}.links", links, count), **_spanned(draw, kind)}


def _draw_isolate_leader(draw: Draw, kind: str, _validators: int) -> Plain:
    span = _spanned(draw, kind)
    return {**span, "cut_ms": 700, "open_ms": 1_300} if draw.chance(f"{kind}.is_flapping", 50) else span


def _draw_links(draw: Draw, kind: str, _validators: int) -> Plain:
    weather: Plain = {"loss_ppm": draw.one_of(f"{kind}.loss_ppm", (0, 50_000, 250_000))}
    if draw.chance(f"{kind}.is_reordering", 40):
        weather |= {"reorder_ppm": 200_000, "reorder_extra_ms": draw.one_of(f"{kind}.reorder_extra_ms", (50, 800))}
    if draw.chance(f"{kind}.is_duplicating", 40):
        weather["duplicate_ppm"] = 300_000
    if draw.chance(f"{kind}.is_corrupting", 40):
        weather["corrupt_ppm"] = 50_000
    latency_ms = draw.one_of(f"{kind}.latency_ms", (150, 400))
    return {**weather, "latency_ms": latency_ms, "jitter_ms": latency_ms // 3, **_spanned(draw, kind)}


def _draw_rule(draw: Draw, kind: str, validators: int) -> Plain:
    kinds = draw.one_of(
        f"{kind}.kinds",
        (["Notarize"], ["Finalize"], ["Notarization", "Finalization"], ["BlockRelay"], ["BlockResponse"], ["Nullify"]),
    )
    action = draw.one_of(f"{kind}.action", ("drop", "hold", "delay"))
    rule: Plain = {"action": action, "kinds": kinds, **_spanned(draw, kind)}
    if action == "delay":
        rule["delay_ms"] = draw.one_of(f"{kind}.delay_ms", (500, 2_500))
    if draw.chance(f"{kind}.is_narrow", 60):
        rule["to"] = sorted(draw.some_of(f"{kind}.to", range(validators), draw.between(f"{kind}.count", 1, 2)))
    return rule


def _draw_late_finality(draw: Draw, name: str, _validators: int) -> Plain:
    """Votes for finality are held: certified blocks pile up, and all become final, or are dropped, at once."""
    return {"kind": "rule", "action": "hold", "kinds": ["Finalize", "Finalization"], **_spanned(draw, name)}


def _draw_late_votes(draw: Draw, name: str, _validators: int) -> Plain:
    """Votes for blocks come about when the views time out: nullified blocks are notarized, and certified after all."""
    delay_ms = draw.between(f"{name}.delay_ms", 1_600, 3_400)
    return {"kind": "rule", "action": "delay", "kinds": ["Notarize"], "delay_ms": delay_ms, **_spanned(draw, name)}


def _draw_crash(draw: Draw, kind: str, validators: int) -> Plain:
    at_ms, restart_ms = _span(draw, kind)
    return {"validator": _validator(draw, kind, validators), "at_ms": at_ms, "restart_ms": restart_ms}


def _draw_blackout(draw: Draw, kind: str, validators: int) -> Plain:
    at_ms, restart_ms = _span(draw, kind)
    count = draw.one_of(f"{kind}.count", (2, validators))
    everybody = draw.some_of(f"{kind}.validators", range(validators), count)
    return {
        "validators": everybody,
        "at_ms": at_ms,
        "restart_ms": restart_ms,
        "restart_every_ms": draw.one_of(f"{kind}.restart_every_ms", (0, 700)),
    }


def _draw_brief_crash(draw: Draw, name: str, validators: int) -> Plain:
    """A restart so soon that the view in which the validator stopped may still go on."""
    at_ms = draw.between(f"{name}.at_ms", 4_000, FAULTS_UNTIL_MS - 2_000)
    down_ms = draw.between(f"{name}.down_ms", 100, 900)
    everybody = list(range(validators))
    return {"kind": "crash", "validator": draw.one_of(f"{name}.validator", everybody), **_until(at_ms, down_ms)}


def _draw_power_cut(draw: Draw, name: str, validators: int) -> Plain:
    """All lose their power for a moment: what nobody had synced is gone."""
    at_ms = draw.between(f"{name}.at_ms", 4_000, FAULTS_UNTIL_MS - 2_000)
    down_ms = draw.between(f"{name}.down_ms", 100, 900)
    return {"kind": "blackout", "validators": list(range(validators)), **_until(at_ms, down_ms)}


def _until(at_ms: int, down_ms: int) -> Plain:
    return {"at_ms": at_ms, "restart_ms": at_ms + down_ms}


def _draw_pause(draw: Draw, kind: str, validators: int) -> Plain:
    return {"validator": _validator(draw, kind, validators), **_spanned(draw, kind)}


def _draw_slow(draw: Draw, kind: str, validators: int) -> Plain:
    return {**_draw_pause(draw, kind, validators), "factor": draw.one_of(f"{kind}.factor", (5, 50, 300))}


_FAULTS: Final[Mapping[str, Callable[[Draw, str, int], Plain]]] = {
    "partition": _draw_partition,
    "flapping": _draw_flapping,
    "cut": _draw_cut,
    "isolate-leader": _draw_isolate_leader,
    "links": _draw_links,
    "rule": _draw_rule,
    "late-votes": _draw_late_votes,
    "late-finality": _draw_late_finality,
    "crash": _draw_crash,
    "brief-crash": _draw_brief_crash,
    "blackout": _draw_blackout,
    "power-cut": _draw_power_cut,
    "pause": _draw_pause,
    "slow": _draw_slow,
}
"""Faults by name and how each is drawn; the name is the kind as well, unless the draw says another."""
