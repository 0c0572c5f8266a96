"""Single values of drawn scenarios that are mostly defaults, each varied in a share of the seeds.

A key that no draw varies is tested at one value alone: a queue that drains slowly, a connection that is reset, long
work. This file has each of these keys with its values. A seed whose sequence states a key keeps that value, and a
script's times are its own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from cluster.swarm.engines.engine import DrawnEngine
from cluster.swarm.faults import is_sound
from faults import kind_of
from faults.kinds.drawing import CHANNELS, FAULTS_FROM_MS, FAULTS_UNTIL_MS, Plain
from faults.kinds.partitions import Partitions
from network.draw import Draw
from network.regions import REGIONS

PERCENT: Final = 20
"""Percentage of the seeds in which a key has another value than its default."""

TORN_PERCENT: Final = 25
"""Percentage of the seeds with crashes in which crashes leave a part of the unsynced data."""

RARE_PERCENT: Final = 4
"""Percentage of the seeds with links in order, with shared uplinks, or with partitions at random times."""

UPLINK_BYTES_EACH: Final = (6_000_000, 20_000_000)
"""Rates of a shared uplink, in bytes a second for each validator: a third of the lower rate sends a block of 1 MiB to
each in half a second, and a leader has two."""

UPLINK_SHARES: Final[Sequence[Mapping[str, int]]] = (
    {},
    {"consensus": 60, "sync": 20, "gossip": 20},
    {"consensus": 34, "sync": 33, "gossip": 33},
)

_CRASHES: Final = ("crash", "crash-at-boundary", "blackout")

VARIED: Final[Mapping[str, Mapping[str, Sequence[Any]]]] = {
    "network": {"regossip_ms": (400, 900, 5_000)},
    "costs": {
        "block_us": (0, 15_000, 120_000),
        "execute_us": (0, 100, 400),
        "hash_write_us": (0, 60, 300),
        "verify_signature_us": (1, 900, 4_000),
        "decode_kib_us": (0, 20, 100),
        "serve_block_us": (0, 5_000, 60_000),
    },
    "consensus": {"fetch_timeout_ms": (250, 600, 2_500), "fetch_grace_ms": (0, 60, 1_100)},
    "chain": {"max_skew_ms": (40, 1_500), "block_interval_ms": (500, 1_500)},
}
"""Values by section and key."""


def vary_sections(draw: Draw, raw: Plain, engine: DrawnEngine) -> Plain:
    """Return a drawn scenario with other values in some of its sections."""
    varied = dict(raw)
    for section, keys in VARIED.items():
        found = {
            key: draw.one_of(f"variation.{section}.{key}", values)
            for key, values in keys.items()
            if draw.chance(f"variation.{section}.{key}.is_on", PERCENT)
        }
        varied[section] = {**raw[section], **found}
    if "fifo-free" in (raw["chain"]["policy"], raw["chain"].get("activation", {}).get("previous")):
        # All of a storm may be due in one block; where nothing bounds it, it must still be in time.
        varied["costs"].pop("execute_us", None)
    if raw["network"]["loss_ppm"]:
        varied["costs"] = {key: cost for key, cost in varied["costs"].items() if key not in engine.settled_costs}
    if draw.chance("variation.network.reorder.is_on", PERCENT):
        late_ms = draw.one_of("variation.network.reorder", engine.overtaken_ms)
        varied["network"] |= {"reorder_ppm": 80_000, "reorder_extra_ms": late_ms}
    if draw.chance("variation.network.regions.is_on", PERCENT // 2):
        validators = raw["cluster"]["validators"]
        varied["network"]["regions"] = [
            draw.one_of(f"variation.network.regions.{node}", REGIONS) for node in range(validators)
        ]
    varied["network"] = {**varied["network"], **_draw_lines(draw, raw["cluster"]["validators"])}
    varied["validators"] = _vary_replicas(draw, raw)
    return varied


def _draw_lines(draw: Draw, validators: int) -> Plain:
    """Return, in a few seeds, links in order, or an uplink that all links of a replica share."""
    found: Plain = {}
    if draw.chance("variation.network.order.is_on", RARE_PERCENT):
        found["order"] = "fifo"
    if draw.chance("variation.network.uplink.is_on", RARE_PERCENT):
        found["uplink_bytes_per_second"] = draw.one_of("variation.network.uplink", UPLINK_BYTES_EACH) * validators
        found["uplink_shares"] = draw.one_of("variation.network.uplink_shares", UPLINK_SHARES)
    return found


def _vary_replicas(draw: Draw, raw: Plain) -> Plain:
    """Return the modes of validators, some with limits of their own for catching up and for retained data."""
    varied: Plain = {}
    for node in range(raw["cluster"]["validators"]):
        own: Plain = {}
        for key, values in _OF_ONE.items():
            if draw.chance(f"variation.{node}.{key}.is_on", PERCENT // 2):
                own[key] = draw.one_of(f"variation.{node}.{key}", values)
        if own or str(node) in raw["validators"]:
            varied[str(node)] = {**own, **raw["validators"].get(str(node), {})}
    return varied


_OF_ONE: Final[Mapping[str, Sequence[int]]] = {
    "snapshot_gap_blocks": (1, 2, 5, 256),
    "chunk_bytes": (8_000, 20_000, 1 << 20),
    "prune_every": (1, 3, 0),
    "rebuild_indexes_every": (2, 5),
}
"""Values that one validator has for itself."""


def vary_faults(draw: Draw, faults: Mapping[str, Plain], validators: int, engine: DrawnEngine) -> dict[str, Plain]:
    """Return drawn faults with other values of the keys that no draw of their kinds states."""
    varied = dict(faults)
    for name, fault in faults.items():
        vary = _BY_KIND.get(fault["kind"])
        changes = {} if vary is None else vary(draw, f"variation.{name}", fault)
        plan = {**varied, name: {**fault, **changes}}
        if changes and is_sound(plan, validators, engine):
            varied = plan
    return _part_some(draw, _tear_some(draw, varied, validators, engine), validators, engine)


def _part_some(draw: Draw, faults: dict[str, Plain], validators: int, engine: DrawnEngine) -> dict[str, Plain]:
    """Return drawn faults, in a few seeds with partitions at random times beside them."""
    if not draw.chance("variation.partitions.is_on", RARE_PERCENT):
        return faults
    (drawn,) = Partitions.draws()
    fault = {"kind": kind_of(Partitions), **drawn.make(draw, f"variation.{drawn.name}", validators)}
    plan = {**faults, drawn.name: engine.in_own_words(fault)}
    return plan if is_sound(plan, validators, engine) else faults


def _tear_some(draw: Draw, faults: dict[str, Plain], validators: int, engine: DrawnEngine) -> dict[str, Plain]:
    """Return drawn faults, in some seeds with crashes that leave parts of the unsynced data."""
    crashed = dict.fromkeys(
        node
        for fault in faults.values()
        if fault["kind"] in _CRASHES
        for node in (fault.get("validators") or [fault["validator"]])
    )
    if not crashed or not draw.chance("variation.torn.is_on", TORN_PERCENT):
        return faults
    span = {"start_ms": FAULTS_FROM_MS, "stop_ms": FAULTS_UNTIL_MS}
    plan = {**faults, "torn-by-crash": {"kind": "torn-writes", "validators": sorted(crashed), **span}}
    return plan if is_sound(plan, validators, engine) else faults


def _vary_cut(draw: Draw, name: str, fault: Plain) -> Plain:
    is_cut = fault.get("manner", "cut") == "cut" and "in_flight" not in fault
    return {"in_flight": "lost"} if is_cut and draw.chance(f"{name}.in_flight", 35) else {}


def _vary_rule(draw: Draw, name: str, fault: Plain) -> Plain:
    if fault["action"] not in {"hold", "replay"}:
        return {}
    changes: Plain = {"release_gap_ms": draw.one_of(f"{name}.release_gap_ms", (0, 3, 40))}
    receivers = fault.get("to") or []
    if len(receivers) != 1 and draw.chance(f"{name}.is_for_some", 50):
        # Some receivers get the messages in the middle of the window, the others at its end.
        first_ms = draw.between(f"{name}.first_ms", fault["start_ms"] + 1, fault["stop_ms"] - 1)
        changes |= {"first_to": [*(receivers or [0, 1])][:2], "first_ms": first_ms}
    return changes


def _vary_links(draw: Draw, name: str, _fault: Plain) -> Plain:
    if not draw.chance(f"{name}.is_one_way", PERCENT):
        return {}
    first = draw.between(f"{name}.from", 0, 3)
    return {"between": [[first, (first + draw.between(f"{name}.to", 1, 3)) % 4]], "one_way": True}


def _vary_swizzle(draw: Draw, name: str, _fault: Plain) -> Plain:
    changes: Plain = {"release_gap_ms": draw.one_of(f"{name}.release_gap_ms", (0, 3, 40))}
    if draw.chance(f"{name}.is_of_some", 60):
        changes["channels"] = draw.one_of(f"{name}.channels", CHANNELS)
    if draw.chance(f"{name}.is_stated", 40):
        changes["validators"] = [draw.between(f"{name}.validators", 0, 3)]
    return changes


def _vary_slow_disk(draw: Draw, name: str, fault: Plain) -> Plain:
    is_longer = not fault.get("extra_ms") and draw.chance(f"{name}.is_longer", 50)
    return {"extra_ms": draw.between(f"{name}.extra_ms", 1, 60)} if is_longer else {}


def _vary_rot(draw: Draw, name: str, fault: Plain) -> Plain:
    hits_journal = "journal" in (fault.get("files") or ["journal"])
    return {"both_copies": True} if hits_journal and draw.chance(f"{name}.both_copies", 20) else {}


_BY_KIND: Final[Mapping[str, Callable[[Draw, str, Plain], Plain]]] = {
    "partition": _vary_cut,
    "cut": _vary_cut,
    "links": _vary_links,
    "rule": _vary_rule,
    "swizzle-clog": _vary_swizzle,
    "slow-disk": _vary_slow_disk,
    "bit-rot": _vary_rot,
}
"""The functions that vary a fault, by its kind."""
