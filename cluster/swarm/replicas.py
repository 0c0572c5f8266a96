"""The modes of a drawn scenario: for validators, and for the observers that follow some of them."""

from collections.abc import Callable, Mapping
from typing import Final

from cluster.swarm.faults import FAULTS_MAX
from faults.kinds.drawing import FAULTS_FROM_MS, FAULTS_UNTIL_MS, Plain
from network.draw import Draw


def draw_apply_modes(draw: Draw, validators: int) -> dict[str, Plain]:
    """Return an apply mode other than the default for every second validator."""
    modes: dict[str, Plain] = {}
    for node in range(validators):
        if draw.chance(f"replicas.{node}.is_other", 50):
            modes[str(node)] = {
                "apply": draw.one_of(f"replicas.{node}.apply", ("finalized", "certified", "certified")),
                "retain_blocks": draw.one_of(f"replicas.{node}.retain_blocks", (2, 8)),
                "prune_every": draw.one_of(f"replicas.{node}.prune_every", (0, 1, 4)),
                "rebuild_indexes_every": draw.one_of(f"replicas.{node}.rebuild_indexes_every", (0, 0, 3)),
            }
            _let_execute_again(draw, f"replicas.{node}", modes[str(node)])
    return modes


def _let_execute_again(draw: Draw, name: str, mode: Plain) -> None:
    """Make every second early-applying validator execute returning blocks again."""
    if mode["apply"] == "certified" and draw.chance(f"{name}.is_reexecuting", 50):
        mode["reapply"] = "execute"


def draw_observers(draw: Draw) -> dict[str, Plain]:
    """Return one or two observers behind every fourth cluster; the name is the kind."""
    if not draw.chance("observers.is_on", 25):
        return {}
    kinds = draw.some_of("observers.kinds", list(_OBSERVERS), draw.one_of("observers.count", (1, 1, 1, 2)))
    return {kind: {"kind": kind, **_OBSERVERS[kind](draw, f"observers.{kind}")} for kind in kinds}


def draw_observer_fault(draw: Draw, faults: Mapping[str, Plain], first: int, observers: int) -> dict[str, Plain]:
    """Return, in some seeds, a fault of one observer's machine, disk or links; `first` is the lowest observer."""
    if not observers or len(faults) >= FAULTS_MAX or not draw.chance("observer-fault.is_on", 40):
        return {}
    node = first + draw.between("observer-fault.node", 0, observers - 1)
    start_ms = draw.between("observer-fault.start_ms", FAULTS_FROM_MS, FAULTS_UNTIL_MS - 4_000)
    stop_ms = draw.between("observer-fault.stop_ms", start_ms + 1_000, FAULTS_UNTIL_MS)
    off = {"validator": node, "at_ms": start_ms, "restart_ms": stop_ms}
    on = {"validator": node, "start_ms": start_ms, "stop_ms": stop_ms}
    fault = draw.one_of(
        "observer-fault.kind",
        (
            {"kind": "crash", **off},
            {"kind": "wipe", **off},
            {"kind": "pause", **on},
            {"kind": "bit-rot", "ppm": 100_000, "files": ["operations", "blocks"], **on},
            {"kind": "rule", "action": "drop", "to": [node], "start_ms": start_ms, "stop_ms": stop_ms},
        ),
    )
    return {"observer-fault": fault}


def _draw_nothing(_draw: Draw, _name: str) -> Plain:
    return {}


def _draw_early(draw: Draw, name: str) -> Plain:
    early = {"apply": "certified", "retain_blocks": draw.one_of(f"{name}.retain_blocks", (2, 8))}
    _let_execute_again(draw, name, early)
    return early


def _draw_rounds(draw: Draw, name: str) -> Plain:
    return {
        "every_blocks": draw.between(f"{name}.every_blocks", 3, 9),
        "down_ms": draw.one_of(f"{name}.down_ms", (10, 300, 2_500)),
        "apply": draw.one_of(f"{name}.apply", ("finalized", "certified")),
    }


def _draw_replay(draw: Draw, name: str) -> Plain:
    return {
        **_draw_rounds(draw, name),
        "every_blocks": draw.between(f"{name}.every_blocks", 5, 9),
        "blocks": draw.one_of(f"{name}.blocks", ("own", "own", "peers")),
    }


def _draw_cadence(draw: Draw, name: str) -> Plain:
    return {
        "retain_blocks": draw.one_of(f"{name}.retain_blocks", (0, 2)),
        "snapshot_gap_blocks": draw.one_of(f"{name}.snapshot_gap_blocks", (2, 4)),
    }


_OBSERVERS: Final[Mapping[str, Callable[[Draw, str], Plain]]] = {
    "finalized-only": _draw_nothing,
    "apply-early": _draw_early,
    "restart": _draw_rounds,
    "snapshot-join": _draw_rounds,
    "cold-replay": _draw_replay,
    "rebuild-indexes": _draw_nothing,
    "own-cadence": _draw_cadence,
}
"""Observers by kind, and how each is drawn."""
