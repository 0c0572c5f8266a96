"""The policy `aptos` of a drawn chain: scheduled transactions by the text's rules, a profile's, or any mixture."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cluster.swarm.life import NEEDS
from cluster.swarm.policies.policy import QUOTING, draw_calendar, draw_parameters
from faults.kinds.drawing import Plain
from network.draw import Draw
from scheduler.aptos_keys import KEY_PARTS_BYTES

_PROFILES: Final = ("early", "latest", "", "", "")
"""A profile unchanged, or no profile: then each switch is drawn, also from the specification's own values."""

_SWITCHES: Final[Mapping[str, Sequence[Any]]] = {
    "position": ("price", "before"),
    "charge": ("second_price", "maximum"),
    "expiry": ("own_limit", "counted", "at_run"),
    "time_unit_ms": (1, 100),
    "cancel_lead_ms": (0, 2_000),
    "authorization": ("none", "token", "token"),
    "token_lifetime_ms": (0, 0, 4_000),
    "base_gas": (0, 100),
    "removal_slots": (100, 1),
    "ready_order": ("key", "key", "price"),
}
"""Switches and their values."""

_LIMITS: Final[Mapping[str, Sequence[Any]]] = {
    "ready_limit": (4, 10, 100),
    "expiry_ms": (10_000, 4_000, 2_500),
    "expiry_blocks": (100, 4, 2),
    "expire_limit": (3, 200),
    "min_price": (100, 100, 1_000),
    "shutdown_batch": (200, 5, 2),
}
"""Limits of every profile, small enough for a run to meet them."""

CHANGES: Final[Mapping[str, Sequence[Any]]] = {
    "system:aptos:ready_limit": (1, 20),
    "system:aptos:expiry_ms": (1_000, 20_000),
    "system:aptos:expiry_blocks": (1, 20),
    "system:aptos:expire_limit": (1, 50),
    "system:aptos:min_price": (50, 2_000),
    "system:aptos:cancel_lead_ms": (0, 3_000),
    "system:aptos:authorization": ("none", "token"),
    "system:aptos:shutdown_batch": (1, 4),
    "system:aptos:charge": ("second_price", "maximum"),
    "system:aptos:position": ("price", "before"),
    "system:aptos:ready_order": ("key", "price"),
}
"""Parameters that a council may change by key, and their values."""

TIMERS: Final[Mapping[str, Sequence[Any]]] = {"max_cells_per_fire": (2_000, 20_000)}
"""A run takes its cells from the block's cells: a larger run would never fit into a small block."""

CELL_GAS: Final = 2
"""Gas of a cell, rounded up, where the basefees are as drawn."""

UNCOUNTED_PERCENT: Final = 25
"""Percentage of these chains on which a re-inserted entry keeps its identifier."""

_BATCHES: Final = (300, 0, 3, 300, 0)
"""The most entries that a council asks each batch of a shutdown to remove: too many, all allowed, or a few."""

_UNUSED: Final = ("tips", "tier", "bid", "agent")


def draw_queue(draw: Draw) -> Plain:
    """Return the calendar and the parameters of a chain that has this policy from its first block on."""
    profile = draw.one_of("queue.profile", _PROFILES)
    own: Plain = {"profile": profile} if profile else draw_parameters(draw, "queue", _SWITCHES)
    if profile != "latest" and own.get("expiry") != "at_run":
        # Else each entry has an expiry of its own, in time.
        own["expiry_by"] = draw.one_of("queue.expiry_by", ("time", "blocks"))
    if draw.chance("queue.is_uncounted", UNCOUNTED_PERCENT):
        own["counts_ids"] = False
    return {
        "calendar": draw_calendar(draw, (3, 4, 3_600)),
        "policy_parameters": {**own, **draw_parameters(draw, "queue", _LIMITS)},
    }


def fit_to_queue(draw: Draw, name: str, workload: Plain, chain: Plain) -> Plain | None:
    """Return a workload whose entries can be paid for, with gas for their cells as well."""
    own, timers = chain["policy_parameters"], chain["timers"]
    fitted = {key: value for key, value in workload.items() if key not in _UNUSED}
    need = NEEDS.get(workload["kind"])
    if need is not None:
        gas = need.cycles + CELL_GAS * (need.cells + KEY_PARTS_BYTES) + 2 * own.get("base_gas", 100)
        if gas > timers["max_cycles_per_fire"]:
            return None
        fitted["gas_limit"] = max(gas, fitted["gas_limit"])
    if workload["kind"] not in QUOTING:
        return fitted
    fitted.pop("max_fee", None)
    price = draw.one_of(f"{name}.price", (0, 300, 1_500, 5_000))
    if price:
        fitted["max_fee"] = max(price, own["min_price"])
    if fitted["kind"] == "storm":
        # The sender pays for its own entries, immediately: a sender without funds gets no entry in.
        fitted |= {"payer": "actor", "unfunded_actors": 0}
        if not knows_identifiers(chain):
            for key in ("cancel_ms", "cancels_per_actor"):
                fitted.pop(key, None)
        if _is_authorized(own) and draw.chance(f"{name}.is_revoked", 50):
            fitted["cancel_all_ms"] = draw.between(f"{name}.cancel_all_ms", 3_000, 7_500)
    return fitted


def knows_identifiers(chain: Plain) -> bool:
    """Return whether a storm's entries can be named in advance: with a token's expiry they depend on the time."""
    own = chain["policy_parameters"]
    return not (_is_authorized(own) and own.get("token_lifetime_ms", 0))


def draw_service(draw: Draw) -> list[Plain]:
    """Return a council's actions on the queue's service: a pause, a batched shutdown and a restart, or none."""
    at_ms = draw.between("service.at_ms", 4_000, 6_500)
    story = draw.one_of("service.instructions", ("", "pause", "shutdown", "shutdown"))
    if not story:
        return []
    later_ms = at_ms + draw.between("service.for_ms", 1_500, 3_000)
    if story == "pause":
        return [_tell("pause", at_ms), _tell("unpause", later_ms)]
    batches = [
        _tell("continue_shutdown", at_ms + 600 * turn) | {"batch": batch}
        for turn, batch in enumerate(draw.some_of("service.batches", _BATCHES, len(_BATCHES)), 1)
    ]
    return [_tell("start_shutdown", at_ms), *batches, _tell("re_initialize", at_ms + 3_000)]


def _tell(action: str, at_ms: int) -> Plain:
    return {"do": "service", "action": action, "at_ms": at_ms}


def _is_authorized(own: Plain) -> bool:
    return bool(own.get("authorization", "token" if own.get("profile") == "latest" else "none") == "token")
