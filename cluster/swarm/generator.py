"""Draws a whole scenario from a seed: sizes, chain, network, workloads and a few faults out of many.

Swarm testing: most kinds of faults are off in a given run, so that none hides another, and every run is a different
mixture. A draw is keyed by seed and purpose, never streamed: a new kind of fault in this file leaves every other draw
of every seed unchanged. The result is a resolved scenario, and a run directory keeps it. So a failure can be repeated
and made smaller after this file has changed.
"""

import hashlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from checker.oracle.policies import POLICY_ORACLES
from cluster.scenario.load import apply_setting, apply_settings, convert_scenario, encode_scenario
from cluster.scenario.model import Scenario
from cluster.swarm.anchors import anchor_some, draw_faults_after
from cluster.swarm.byzantine import draw_cut_off
from cluster.swarm.combinations import combine, consult_feed, draw_combined
from cluster.swarm.engines.engine import DrawnEngine
from cluster.swarm.engines.registry import DRAWN_ENGINES, draw_engine, draw_engine_stratum
from cluster.swarm.fault_sequences import draw_beside, draw_fault_sequence, draw_own
from cluster.swarm.faults import FAULTS_MAX, draw_faults, is_just_away, is_sound
from cluster.swarm.pace import sooner
from cluster.swarm.policies.policy import draw_calendar, draw_parameters
from cluster.swarm.policies.registry import DRAWN_POLICIES, draw_policy, draw_stratum
from cluster.swarm.prefixes.prefix import Prefix
from cluster.swarm.prefixes.registry import AFTER_PREFIX, PREFIXES, VALIDATORS, draw_prefix, with_prefix
from cluster.swarm.replicas import draw_apply_modes, draw_observer_fault, draw_observers
from cluster.swarm.sequences.sequence import FaultSequence
from cluster.swarm.variations import vary_faults, vary_sections
from cluster.swarm.workloads import NARROW_LANE_CYCLES, READINGS, draw_crowd, draw_workloads
from cluster.workloads.boundary.scripts import NARROW_MAILBOX
from faults import kind_of
from faults.kinds.drawing import Plain
from network.draw import SWARM, Draw
from scheduler import MIN_BASEFEE, POLICIES

IDENTITY_SEEDS: Final = 16
"""Drawn scenarios whose bytes identify the swarm."""


BLOCKS_AFTER_ACTIVATION: Final = 3

POLICY_KEY: Final = "chain.policy"
ENGINE_KEY: Final = "consensus.engine"
"""The settings by which a sweep has one policy, or one engine, in all seeds."""

KINDS_SEEDS: Final = 400
"""Seeds from which the kinds of faults that the swarm draws are read."""


def draw_scenario(seed: int, settings: Sequence[str] = ()) -> Scenario:
    """Return the scenario of a seed, changed by `key=value` settings; raises ScenarioError for a bad setting.

    A stated policy is drawn as if chance had chosen it, with its parameters, and with workloads that it admits. A
    stated engine is drawn likewise, with faults that it can have.
    """
    draw, stated = Draw(seed), _stated(settings, POLICY_KEY, POLICIES)
    engine = draw_engine(draw, stated_engine := _stated(settings, ENGINE_KEY, DRAWN_ENGINES))
    own = draw_engine_stratum(draw, stated_engine)
    scripted = "" if stated else draw_prefix(draw, engine.without_prefixes)
    validators = VALIDATORS.get(scripted, own.stratified(f"cluster.validators.{engine.name}", engine.sizes))
    prefix = PREFIXES[scripted](draw, validators) if scripted else None
    policy = stated or draw_policy(draw)
    stratum, observers = draw_stratum(draw, policy, stated), draw_observers(draw)
    chain = _draw_chain(stratum, policy) if scripted else combine(stratum, _draw_chain(stratum, policy))
    disturbed = _draw_disturbances(draw, own, engine, prefix=prefix, validators=validators, observers=len(observers))
    raw: Plain = {
        "name": SWARM,
        "title": f"drawn from seed {seed}{f'{AFTER_PREFIX}{scripted}' * bool(scripted)}",
        "cluster": {"validators": validators},
        "chain": chain,
        "network": _draw_network(draw),
        "consensus": _draw_consensus(draw, engine),
        "costs": _draw_costs(draw),
        "sync": {"snapshot_gap_blocks": draw.one_of("sync.snapshot_gap_blocks", (3, 256, 256))},
        "validators": draw_apply_modes(draw, validators),
        "observers": observers,
        "workload": draw_workloads(stratum, chain),
        "faults": disturbed.faults,
        "run": {
            "until_height": draw.between("run.until_height", *engine.heights),
            "audit_reorgs": draw.chance("run.audit_reorgs", 25),
        },
    }
    raw["workload"] |= draw_crowd(draw, raw["network"])
    raw["workload"] |= {} if scripted else consult_feed(stratum, raw["workload"], chain) | draw_combined(stratum, chain)
    raw = raw if scripted or is_just_away(draw) else vary_sections(draw, raw, engine)
    if prefix is not None:
        raw = with_prefix(raw, prefix)
    # A policy that is activated needs final blocks of its own for the checks, some of them random after a script.
    judged_at = raw["chain"].get("activation", {"height": 0})["height"] + BLOCKS_AFTER_ACTIVATION * (prefix is not None)
    raw["run"]["until_height"] = max(raw["run"]["until_height"], judged_at)
    for section, values in disturbed.settings.items():
        raw[section] = _merged(raw.get(section, {}), values)
    raw["consensus"] |= draw_cut_off(draw, raw["faults"])
    _lower_expectations(raw)
    apply_settings(raw, settings)
    return convert_scenario(raw, f"swarm seed {seed}")


def _draw_disturbances(
    draw: Draw, stratum: Draw, engine: DrawnEngine, *, prefix: Prefix | None, validators: int, observers: int
) -> FaultSequence:
    """Return all faults and their sequence's settings; a script has no settings besides its own."""
    if prefix is not None:
        return FaultSequence(draw_faults_after(draw, stratum, validators, prefix=prefix, engine=engine))
    sequence = draw_fault_sequence(stratum, validators, engine)
    own = () if is_just_away(draw) else draw_own(stratum, validators, engine)
    together = _added(sequence, own, validators, engine)
    room = FAULTS_MAX + len(together.faults) - len(sequence.faults)
    faults = draw_faults(draw, stratum, validators, sequence=together.faults, engine=engine, faults_max=room)
    faults = anchor_some(draw, faults, together.faults, validators, engine=engine)
    beside = () if is_just_away(draw) else (draw_beside(stratum, validators, engine),)
    faults, settings = _added(FaultSequence(faults, together.settings), beside, validators, engine)
    faults = faults if is_just_away(draw) else vary_faults(draw, faults, validators, engine)
    faults |= draw_observer_fault(draw, faults, validators, observers)
    return FaultSequence(_at_pace(faults, validators, engine), settings)


def _at_pace(faults: Mapping[str, Plain], validators: int, engine: DrawnEngine) -> dict[str, Plain]:
    """Return faults at the pace of a run, without the few that no longer go with an earlier fault's length."""
    paced, found = {name: sooner(fault) for name, fault in faults.items()}, dict[str, Plain]()
    if is_sound(paced, validators, engine):
        return paced
    for name, fault in paced.items():
        if is_sound({**found, name: fault}, validators, engine):
            found[name] = fault
    return found


def _added(
    sequence: FaultSequence, more: Iterable[FaultSequence], validators: int, engine: DrawnEngine
) -> FaultSequence:
    """Return a sequence merged with more sequences: as much of each as the plan tolerates, no differing settings."""
    faults, settings = dict(sequence.faults), dict(sequence.settings)
    for beside in more:
        if {*faults} & {*beside.faults} or not _agree(FaultSequence({}, settings), beside):
            continue
        for name, fault in beside.faults.items():
            if is_sound({**faults, name: fault}, validators, engine):
                faults[name] = fault
        settings |= {name: {**settings.get(name, {}), **own} for name, own in beside.settings.items()}
    return FaultSequence(faults, settings)


def _agree(one: FaultSequence, other: FaultSequence) -> bool:
    """Return whether two sequences' settings are compatible: each key has one value."""
    return all(
        one.settings.get(section, {}).get(key, value) == value
        for section, own in other.settings.items()
        for key, value in own.items()
    )


def _merged(drawn: Plain, stated: Plain) -> Plain:
    """Return a drawn section with stated values; in a table within it only the stated keys change."""
    tables = {
        key: {**drawn[key], **value}
        for key, value in stated.items()
        if isinstance(value, dict) and isinstance(drawn.get(key), dict)
    }
    return {**drawn, **stated, **tables}


def _lower_expectations(raw: Plain) -> None:
    """Allow drawn faults and workloads without effect, and no oracle where a policy has none."""
    for table in ("validators", "observers", "workload", "faults"):
        # By chance some draws have no effect; a campaign's promises say what all seeds together have to reach.
        raw[table] = {name: {**entry, "may_be_idle": True} for name, entry in raw[table].items()}
    if raw["chain"]["policy"] not in POLICY_ORACLES:
        raw["oracle"] = "off"


def _stated(settings: Sequence[str], key: str, known: Container[str]) -> str:
    """Return the known name that settings state under a key; empty if they state none."""
    raw: Plain = {}
    for setting in settings:
        if setting.partition("=")[0].strip() == key:
            apply_setting(raw, setting)
    section, _, name = key.partition(".")
    stated = raw.get(section, {}).get(name)
    return stated if isinstance(stated, str) and stated in known else ""


def swarm_identity(settings: Sequence[str]) -> str:
    """Return the identity of this swarm: other versions of this file, or other settings, have another identity."""
    drawn = b"".join(encode_scenario(draw_scenario(seed, settings)) for seed in range(IDENTITY_SEEDS))
    return f"{SWARM} {hashlib.sha256(drawn).hexdigest()}"


def drawn_kinds() -> tuple[str, ...]:
    """Return every kind of fault that at least 1 in 100 seeds draws, in alphabetical order."""
    counts: dict[str, int] = {}
    for seed in range(KINDS_SEEDS):
        for kind in dict.fromkeys(kind_of(fault) for fault in draw_scenario(seed).faults.values()):
            counts[kind] = counts.get(kind, 0) + 1
    return tuple(sorted(kind for kind, count in counts.items() if count * 100 >= KINDS_SEEDS))


def banner(scenario: Scenario) -> Iterator[str]:
    """Yield every drawn parameter as `key = value`, in the order of the scenario file."""
    plain: Plain = msgspec.to_builtins(scenario)
    yield from _flatten("", plain)


def _flatten(prefix: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flatten(f"{prefix}.{key}" if prefix else str(key), inner)
    else:
        yield f"{prefix} = {value}"


# -- chain, apply modes, network ---------------------------------------------------------------------


def _draw_chain(draw: Draw, policy: str) -> Plain:
    """Lanes and blocks that are full or empty, so that timers wait and die, and prices move."""
    drawn = DRAWN_POLICIES.get(policy)
    timebase = draw.one_of("chain.timebase", ("slot", "slot", "height"))
    if timebase not in POLICIES[policy].timebases:
        timebase = POLICIES[policy].timebases[0]
    min_basefee = draw.one_of("chain.min_basefee", (800, 800, 800, 8))
    is_low = min_basefee < MIN_BASEFEE
    # A lane as narrow as this makes timers compete for it in every block.
    may_be_narrow = policy == "eip1559" if drawn is None else drawn.may_be_narrow
    timers = _draw_timers(draw, is_narrow=may_be_narrow and draw.chance("chain.is_narrow", 60))
    return {
        "policy": policy,
        **(_draw_lane(draw) if policy == "eip1559" else {}),
        **({} if drawn is None else drawn.draw(draw)),
        **(_draw_before_fifo(draw) if policy == "fifo" else {}),
        "timebase": timebase,
        "slot_ms": draw.one_of("chain.slot_ms", (500, 1_000, 1_000, 2_000)) if timebase == "slot" else 1_000,
        "block_cycles": draw.one_of("chain.block_cycles", (60_000, 10_000_000, 10_000_000)),
        "block_cells": draw.one_of("chain.block_cells", (24_000, 10_000_000, 10_000_000)),
        # Prices that begin above their floor fall in blocks that use nothing; a low floor lets them go on falling.
        "min_basefee": min_basefee,
        # With a low floor, a price of a few units rises by less than 1 unit, which counts as 1 unit.
        "cycle_basefee": draw.one_of("chain.cycle_basefee", (800, 9, 1_000) if is_low else (800, 800, 1_000)),
        "cell_basefee": draw.one_of("chain.cell_basefee", (8, 30, 1_300) if is_low else (800, 800, 1_300)),
        "mailbox_cycles": draw.one_of("chain.mailbox_cycles", (NARROW_MAILBOX, 2_000_000)),
        "timers": timers if drawn is None else {**timers, **draw_parameters(draw, policy, drawn.timers)},
    }


def _draw_before_fifo(draw: Draw) -> Plain:
    """In some chains another policy comes first, and `fifo` takes over its timers."""
    previous = draw.one_of("fifo.previous", ("", "fifo-free", "bias-auction"))
    return {"activation": {"height": draw.one_of("fifo.activation", (4, 7)), "previous": previous}} if previous else {}


def _draw_timers(draw: Draw, *, is_narrow: bool) -> Plain:
    """Limits and prices of timers, most of them defaults."""
    gc_timers = draw.one_of("chain.gc_timers", (3, 20, 200))
    gc_cost = draw.one_of("timers.gc_cost_per_timer", (200, 200, 200, 7, 3_000))
    return {
        # A remainder that does not pay for one more timer.
        "gc_cycles_per_block": gc_cost * gc_timers + draw.one_of("timers.gc_remainder", (0, gc_cost - 1)),
        "gc_cost_per_timer": gc_cost,
        "lane_timer_cycles": NARROW_LANE_CYCLES
        if is_narrow
        else draw.one_of("chain.lane_timer_cycles", (40_000, 40_000, 2_000_000)),
        "max_timers_per_actor": draw.one_of("chain.max_timers_per_actor", (25, 1_024, 1_024, 1_024)),
        "max_ttl_blocks": draw.one_of("timers.max_ttl_blocks", (2_592_000, 2_592_000, 2_592_000, 2_592_000, 25, 40)),
        "max_cycles_per_fire": draw.one_of("timers.max_cycles_per_fire", (550_000, 550_000, 550_000, 36_000)),
        "max_cells_per_fire": draw.one_of("timers.max_cells_per_fire", (550_000, 550_000, 550_000, 20_000, 340)),
        "schedule_cycles": draw.one_of("timers.schedule_cycles", (200, 200, 350)),
        "extend_cycles": draw.one_of("timers.extend_cycles", (200, 200, 170)),
        "cancel_cycles": draw.one_of("timers.cancel_cycles", (200, 200, 90)),
        "charges_index_cells": draw.one_of("timers.charges_index_cells", (True, True, True, False)),
    }


def _draw_lane(draw: Draw) -> Plain:
    """Small tiers, short windows, and every reading of the timer lane."""
    lane: Plain = {
        "fairness_window_blocks": draw.one_of("lane.fairness_window_blocks", (3, 5, 1_000)),
        "gc_scan_per_block": draw.one_of("lane.gc_scan_per_block", (30, 25_000)),
        "max_gba_calls_per_block": draw.one_of("lane.max_gba_calls_per_block", (5, 1_000)),
        **_draw_prices(draw),
    }
    lane |= {name: draw.one_of(f"lane.{name}", values) for name, values in READINGS.items()}
    activation: Plain = {"height": draw.one_of("chain.activation", (1, 1, 4, 8))}
    if activation["height"] > 1:
        activation["previous"] = draw.one_of(
            "chain.previous", ("fifo", "fifo", "fifo-free", "gba-auction", "bias-auction")
        )
    return {"activation": activation, "calendar": draw_calendar(draw, (3, 4, 3_600)), "lane": lane}


def _draw_prices(draw: Draw) -> Plain:
    """Return the keys of the lane's price, of bids, and of timers that wait too long."""
    weight_min, weight_max = draw.one_of("lane.weights", _WEIGHTS)
    drawn: dict[str, Sequence[Any]] = {
        "min_lane_basefee": (800, 800, 8),
        "max_lane_basefee": (2**62, 2**62, 2_500),
        # From a price of a few units on, a step is less than 1 unit and counts as 1 unit.
        "initial_lane_basefee": (0, 0, 2_000, 9),
        "target_utilisation": ((1, 2), (1, 2), (1, 5), (2, 3)),
        "max_basefee_step": ((1, 8), (1, 8), (1, 3)),
        "lane_multiplier": ((1, 1), (1, 1), (3, 2), (1, 3)),
        # The last two are the exact cycles that an agent of the workloads uses.
        "gba_call_cycles": (10_000, 10_000, 10_000, 750, 250),
        "bid_deprecation_blocks": (0, 0, 604_800, 4, 7),
        "max_allowed_delays": (100, 1, 3, 1),
        "excessive_delay": ("off", "force", "force", "cancel"),
    }
    found = {name: draw.one_of(f"lane.{name}", values) for name, values in drawn.items()}
    if found["initial_lane_basefee"] < found["min_lane_basefee"] and draw.chance("lane.is_cheap", 67):
        # Below its least price a lane stays for one block only.
        found["min_lane_basefee"] = 8
    return {**found, "weight_min": weight_min, "weight_max": weight_max}


_WEIGHTS: Final = (((1, 1), (2, 1)), ((1, 1), (2, 1)), ((1, 2), (5, 3)), ((1, 1), (1, 1)))
"""The least and the greatest weight; where they are equal, fairness changes nothing."""


def _draw_consensus(draw: Draw, engine: DrawnEngine) -> Plain:
    """In one seed of six, journals keep so few views that they are pruned within the run."""
    own = {"engine": engine.name, **engine.section(draw)}
    if not draw.chance("consensus.prunes_early", 17):
        return own
    return {**own, "view_retention": draw.between("consensus.view_retention", 4, 8)}


def _draw_costs(draw: Draw) -> Plain:
    return {
        "sync_us": draw.one_of("costs.sync_us", (100, 2_000, 15_000)),
        # With few answers a second, the run shows which validator counts them, and which asks another peer meanwhile.
        "answers_per_second": draw.one_of("costs.answers_per_second", (8, 8, 8, 2)),
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
