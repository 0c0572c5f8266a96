"""The faults of a drawn scenario: a few out of many, at drawn times.

A fault that does not go with those drawn before it (the same validator twice without power, say) is left out by asking
the rules of `faults.plan`, not by repeating them here.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from cluster.swarm.byzantine import draw_dishonest
from cluster.swarm.draw import Draw, Plain
from cluster.swarm.network import NETWORK_FAULTS, vary
from faults import Fault, PlanError, check_plan
from validators.consensus.quorum import faults_of

FAULTS_FROM_MS: Final = 2_000
"""No fault begins before this, so that every cluster has begun."""

FAULTS_UNTIL_MS: Final = 16_000
"""Every fault is over by then."""

AWAY_PERCENT: Final = 10
"""In so many seeds of a hundred as many validators as the cluster can bear are away, and nothing else is wrong."""

FAULTS_MAX: Final = 4
"""Most faults in one run."""


def draw_faults(draw: Draw, validators: int, drama: Mapping[str, Plain]) -> dict[str, Plain]:
    """Draw a few kinds and keep each fault that goes with those before it; beside a drama, one at most."""
    if draw.chance("away.is_alone", AWAY_PERCENT):
        return _draw_away(draw, validators)
    count = draw.one_of("faults.count", (0, 1, 1, 2, 3, 3, FAULTS_MAX))
    found = dict(drama)
    count = min(count, 1) if drama else count
    for drawn in draw.some_of("faults.kinds", list(_FAULTS), count):
        fault = vary(draw, drawn, {"kind": drawn, **_FAULTS[drawn](draw, drawn, validators)}, validators)
        if _keep_if_sound(found, drawn, fault, validators) and drawn in _NEEDING_CRASH:
            name = f"{drawn}-crash"
            _keep_if_sound(found, name, _NEEDING_CRASH[drawn](draw, name, fault, validators), validators)
    for name, fault in draw_dishonest(draw, validators, FAULTS_FROM_MS, FAULTS_UNTIL_MS).items():
        _keep_if_sound(found, name, fault, validators)
    return found


def _draw_away(draw: Draw, validators: int) -> dict[str, Plain]:
    """Draw nothing but that f validators are down for long: where one more vote is missed, finality stands still."""
    return {
        f"away-{node}": {
            "kind": "crash",
            "validator": node,
            "at_ms": FAULTS_FROM_MS + 500,
            "restart_ms": FAULTS_UNTIL_MS,
        }
        for node in draw.some_of("away.validators", range(validators), faults_of(validators))
    }


def _keep_if_sound(found: dict[str, Plain], name: str, fault: Plain, validators: int) -> bool:
    plan = {**found, name: fault}
    try:
        check_plan({name: msgspec.convert(each, Fault) for name, each in plan.items()}, validators)
    except PlanError:
        return False
    if len(found) == FAULTS_MAX:
        return False
    found[name] = fault
    return True


def _span(draw: Draw, kind: str) -> tuple[int, int]:
    start_ms = draw.between(f"{kind}.start_ms", FAULTS_FROM_MS, FAULTS_UNTIL_MS - 1_500)
    return start_ms, draw.between(f"{kind}.stop_ms", start_ms + 1_000, FAULTS_UNTIL_MS)


def _spanned(draw: Draw, kind: str) -> Plain:
    start_ms, stop_ms = _span(draw, kind)
    return {"start_ms": start_ms, "stop_ms": stop_ms}


def _spanning(make: Callable[[Draw, str, int], Plain]) -> Callable[[Draw, str, int], Plain]:
    return lambda draw, name, validators: {**make(draw, name, validators), **_spanned(draw, name)}


def _validator(draw: Draw, kind: str, validators: int) -> int:
    return draw.between(f"{kind}.validator", 0, validators - 1)


def _groups(draw: Draw, kind: str, validators: int) -> list[list[int]]:
    """Draw a partition of any shape: one alone, halves, a minority, three parts."""
    order = draw.some_of(f"{kind}.order", range(validators), validators)
    # Every second cut leaves no side with a quorum.
    cut = draw.one_of(f"{kind}.cut", (validators // 2, validators // 2, 1, validators - 1))
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
    delay_ms = draw.between(f"{name}.delay_ms", 1_300, 2_100)
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


def _draw_boundary(draw: Draw, name: str, validators: int) -> Plain:
    """A crash in the midst of a step, between what is written, what is durable and what is sent."""
    return {
        "kind": "crash-at-boundary",
        "validator": _validator(draw, name, validators),
        "boundary": draw.one_of(f"{name}.boundary", ("before-append", "after-append", "after-sync", "after-send")),
        "occurrence": draw.between(f"{name}.occurrence", 1, 12),
        "every": draw.one_of(f"{name}.every", (0, 15)),
        "restart_after_ms": draw.between(f"{name}.restart_after_ms", 100, 1_500),
        **_spanned(draw, name),
    }


def _draw_slow_disk(draw: Draw, name: str, validators: int) -> Plain:
    return {
        "validator": _validator(draw, name, validators),
        "factor": draw.one_of(f"{name}.factor", (2, 20)),
        "extra_ms": draw.one_of(f"{name}.extra_ms", (0, 150)),
        **_spanned(draw, name),
    }


def _draw_torn_writes(draw: Draw, name: str, validators: int) -> Plain:
    return {"validators": list(range(validators)), **_spanned(draw, name)}


def _draw_bit_rot(draw: Draw, name: str, validators: int) -> Plain:
    """Damage of what can be had again from peers."""
    return {
        "validator": _validator(draw, name, validators),
        "ppm": draw.one_of(f"{name}.ppm", (20_000, 200_000)),
        "files": draw.one_of(f"{name}.files", (["blocks"], ["operations"])),
        **_spanned(draw, name),
    }


def _draw_restart_during(draw: Draw, name: str, fault: Plain, _validators: int) -> Plain:
    """A restart while a fault of the disk is at work: a validator reads most of its disk then."""
    at_ms = draw.between(f"{name}.at_ms", fault["start_ms"] + 100, fault["stop_ms"] - 500)
    down_ms = draw.between(f"{name}.down_ms", 100, 400)
    return {"kind": "crash", "validator": fault["validator"], **_until(at_ms, down_ms)}


def _draw_cut_during(draw: Draw, name: str, fault: Plain, validators: int) -> Plain:
    """A crash with something written and not synced: only that can be torn."""
    return {
        "kind": "crash-at-boundary",
        "validator": _validator(draw, name, validators),
        "boundary": "after-append",
        "occurrence": draw.between(f"{name}.occurrence", 1, 6),
        "restart_after_ms": draw.between(f"{name}.restart_after_ms", 100, 1_500),
        "start_ms": fault["start_ms"],
        "stop_ms": fault["stop_ms"],
    }


def _draw_wipe(draw: Draw, name: str, validators: int) -> Plain:
    at_ms, restart_ms = _span(draw, name)
    return {"validator": _validator(draw, name, validators), "at_ms": at_ms, "restart_ms": restart_ms}


def _until(at_ms: int, down_ms: int) -> Plain:
    return {"at_ms": at_ms, "restart_ms": at_ms + down_ms}


def _draw_pause(draw: Draw, kind: str, validators: int) -> Plain:
    return {"validator": _validator(draw, kind, validators), **_spanned(draw, kind)}


def _draw_slow(draw: Draw, kind: str, validators: int) -> Plain:
    return {**_draw_pause(draw, kind, validators), "factor": draw.one_of(f"{kind}.factor", (5, 50, 300))}


def _draw_clocks(draw: Draw, name: str, validators: int) -> Plain:
    """Whose clocks are wrong and when: one machine's as often as a minority's, half of them, a quorum's or all."""
    faulty = faults_of(validators)
    count = draw.one_of(f"{name}.count", (1, 1, faulty, validators // 2, validators - faulty, validators))
    order = draw.some_of(f"{name}.order", range(validators), validators)
    return {"validators": order[:count], **_spanned(draw, name)}


def _draw_offset_ms(draw: Draw, name: str) -> int:
    """Jepsen's range, a few milliseconds to minutes, and both sides of the skew that voters allow.

    Ahead not as far as back: a chain that is ahead of true time stands still until that has come.
    """
    ahead = (4, 60, 250, 480, 540, 600, 2_000, 8_000, 30_000)
    back = (4, 60, 480, 540, 4_000, 64_000, 262_000)
    is_ahead = draw.chance(f"{name}.is_ahead", 60)
    return draw.one_of(f"{name}.ahead_ms", ahead) if is_ahead else -draw.one_of(f"{name}.back_ms", back)


def _draw_clock_offset(draw: Draw, name: str, validators: int) -> Plain:
    return {**_draw_clocks(draw, name, validators), "offset_ms": _draw_offset_ms(draw, name)}


def _draw_clock_drift(draw: Draw, name: str, validators: int) -> Plain:
    ppm = draw.one_of(f"{name}.ppm", (200, 50_000, 1_000_000, 4_000_000, -200, -50_000, -500_000, -800_000))
    return {**_draw_clocks(draw, name, validators), "ppm": ppm}


def _draw_clock_swing(draw: Draw, name: str, validators: int) -> Plain:
    ppm = draw.one_of(f"{name}.ppm", (20_000, 400_000, -20_000, -400_000))
    period_ms = draw.one_of(f"{name}.period_ms", (500, 3_000))
    return {**_draw_clocks(draw, name, validators), "ppm": ppm, "period_ms": period_ms}


def _draw_clock_strobe(draw: Draw, name: str, validators: int) -> Plain:
    period_ms = draw.one_of(f"{name}.period_ms", (1, 30, 1_000, 2_700))
    return {
        **_draw_clocks(draw, name, validators),
        "offset_ms": _draw_offset_ms(draw, name),
        "period_ms": period_ms,
    }


_NEEDING_CRASH: Final[Mapping[str, Callable[[Draw, str, Plain, int], Plain]]] = {
    "torn-writes": _draw_cut_during,
    "bit-rot": _draw_restart_during,
}
"""Faults that do nothing, or hardly anything, unless a validator loses its power meanwhile, and how that is drawn."""

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
    "boundary": _draw_boundary,
    "slow-disk": _draw_slow_disk,
    "torn-writes": _draw_torn_writes,
    "bit-rot": _draw_bit_rot,
    "wipe": _draw_wipe,
    "pause": _draw_pause,
    "slow": _draw_slow,
    "clock-offset": _draw_clock_offset,
    "clock-drift": _draw_clock_drift,
    "clock-swing": _draw_clock_swing,
    "clock-strobe": _draw_clock_strobe,
    **{name: _spanning(make) for name, make in NETWORK_FAULTS.items()},
}
"""Faults by name and how each is drawn; the name is the kind as well, unless the draw says another."""
