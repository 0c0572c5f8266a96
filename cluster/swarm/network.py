"""Clogs, narrow links and storms of restarts of a drawn scenario, and what else faults of links and machines may be.

What a fault may be besides is drawn under names of its own, so that all other draws of a seed are as they were.
"""

from collections.abc import Callable, Mapping
from typing import Final

from cluster.swarm.draw import Draw, Plain

_CHANNELS: Final = (["votes"], ["certificates"], ["blocks"], ["transactions"], ["votes", "certificates"])


def vary(draw: Draw, name: str, fault: Plain, validators: int) -> Plain:
    """Return a drawn fault, in some seeds as another of its kind; ``name`` is what it was drawn as."""
    change = _VARIANTS.get(name)
    return fault if change is None else {**fault, **change(draw, name, fault, validators)}


def _vary_partition(draw: Draw, name: str, _fault: Plain, _validators: int) -> Plain:
    manner = draw.one_of(f"{name}.manner", ("cut", "cut", "cut", "cut", "cut", "jammed", "jammed", "slowed"))
    one_way = {"one_way": True} if draw.chance(f"{name}.one_way", 15) else {}
    if manner == "slowed":
        return {"manner": manner, "delay_ms": draw.one_of(f"{name}.delay_ms", (300, 1_200)), **one_way}
    if manner == "jammed":
        return {"manner": manner, "release_gap_ms": draw.one_of(f"{name}.release_gap_ms", (0, 20)), **one_way}
    return {**_vary_cut(draw, name, _fault, _validators), **one_way}


def _vary_cut(draw: Draw, name: str, _fault: Plain, _validators: int) -> Plain:
    return {"in_flight": "lost"} if draw.chance(f"{name}.is_torn", 30) else {}


def _vary_links(draw: Draw, name: str, _fault: Plain, _validators: int) -> Plain:
    return {"channels": draw.one_of(f"{name}.channels", _CHANNELS)} if draw.chance(f"{name}.is_partial", 25) else {}


def _vary_rule(draw: Draw, name: str, fault: Plain, _validators: int) -> Plain:
    if not draw.chance(f"{name}.is_replay", 15):
        return {}
    release_ms = fault["stop_ms"] + draw.between(f"{name}.release_ms", 0, 3_000)
    return {"action": "replay", "delay_ms": 0, "release_ms": release_ms}


def _vary_pause(draw: Draw, name: str, fault: Plain, validators: int) -> Plain:
    change = _with_another(draw, name, fault, validators, 30)
    if draw.chance(f"{name}.is_throttled", 35):
        change["pause_ms"] = draw.one_of(f"{name}.pause_ms", (40, 150, 600))
        change["run_ms"] = draw.one_of(f"{name}.run_ms", (20, 60, 200))
    return change


def _vary_boundary(draw: Draw, name: str, fault: Plain, validators: int) -> Plain:
    return _with_another(draw, name, fault, validators, 30)


def _with_another(draw: Draw, name: str, fault: Plain, validators: int, percent: int) -> Plain:
    others = [node for node in range(validators) if node != fault["validator"]]
    return {"also": [draw.one_of(f"{name}.also", others)]} if draw.chance(f"{name}.is_two", percent) else {}


_VARIANTS: Final[Mapping[str, Callable[[Draw, str, Plain, int], Plain]]] = {
    "partition": _vary_partition,
    "cut": _vary_cut,
    "links": _vary_links,
    "rule": _vary_rule,
    "pause": _vary_pause,
    "boundary": _vary_boundary,
}


def _draw_clog(draw: Draw, name: str, validators: int) -> Plain:
    if draw.chance(f"{name}.is_pair", 25):
        return {"between": [draw.some_of(f"{name}.between", range(validators), 2)]}
    return {
        "validators": draw.some_of(f"{name}.validators", range(validators), draw.between(f"{name}.count", 1, 2)),
        "way": draw.one_of(f"{name}.way", ("in", "out", "both")),
        "channels": draw.one_of(f"{name}.channels", ([], [], *_CHANNELS)),
        "release_gap_ms": draw.one_of(f"{name}.release_gap_ms", (0, 10)),
    }


def _draw_swizzle(draw: Draw, name: str, _validators: int) -> Plain:
    return {"pairs": draw.between(f"{name}.pairs", 0, 4)}


def _draw_narrow(draw: Draw, name: str, _validators: int) -> Plain:
    weather: Plain = {
        "kind": "links",
        "bytes_per_second": draw.one_of(f"{name}.bytes_per_second", (0, 8_000, 40_000, 400_000)),
        "queue_max": draw.one_of(f"{name}.queue_max", (3, 12)),
    }
    if draw.chance(f"{name}.is_bursting", 40):
        weather |= {"burst_ppm": 150_000, "burst_ms": draw.one_of(f"{name}.burst_ms", (100, 900))}
    return weather


def _draw_storm(draw: Draw, name: str, validators: int) -> Plain:
    return {
        "validators": draw.some_of(
            f"{name}.validators", range(validators), draw.between(f"{name}.count", 2, validators)
        ),
        "every_ms": draw.one_of(f"{name}.every_ms", ([300, 900], [800, 2_500])),
        "down_ms": draw.one_of(f"{name}.down_ms", ([50, 600], [300, 4_000])),
        "is_drawn": draw.chance(f"{name}.is_drawn", 50),
    }


NETWORK_FAULTS: Final[Mapping[str, Callable[[Draw, str, int], Plain]]] = {
    "clog": _draw_clog,
    "swizzle-clog": _draw_swizzle,
    "narrow": _draw_narrow,
    "restart-storm": _draw_storm,
}
"""Faults by name and how each is drawn but for its span; the name is the kind unless the draw says another."""
