"""Updates of parameters: by key, with values at the edge of what a running chain may be given.

A council of a drawn chain changes a few keys to values that hold; what is refused is tried by one group of edge cases,
which few chains have. What may stand is written here as docs/spec.md has it.
"""

from typing import Any, Final

import msgspec

from scheduler.bias_records import BiasConfig
from scheduler.errors import InvalidInput
from scheduler.gba_records import AuctionConfig
from scheduler.governance import decode_update
from scheduler.lane import LaneConfig
from scheduler.types import Parameters, TimerConfig
from tests.properties.draws import Asked, Draw

_ROUNDS: Final = 6

_KEYS: Final[dict[str, tuple[int, str, Any, Any]]] = {
    "system:bias:lambda_min": (3, "lambda_min", 0, 2),
    "system:bias:max_fires_per_block": (3, "max_fires_per_block", 0, 1),
    "system:cip1:fairness_window_blocks": (1, "fairness_window_blocks", 0, 1),
    "system:cip1:max_lane_basefee": (1, "max_lane_basefee", 2**62 + 1, 2**62),
    "system:cip1:min_lane_basefee": (1, "min_lane_basefee", 7, 8),
    "system:cip1:priority_tier_multipliers.fast": (1, "tier_fast", [3, 0], [3, 1]),
    "system:cip1:target_utilisation": (1, "target_utilisation", [1, 1], [2, 3]),
    "system:gba:starvation_deferrals": (2, "starvation_deferrals", 0, 1),
    "timer_config.gc_cost_per_timer": (0, "gc_cost_per_timer", 0, 1),
    "timer_config.lane_timer_cycles": (0, "lane_timer_cycles", 0, 1),
    "timer_config.max_ttl_blocks": (0, "max_ttl_blocks", -1, 0),
}
"""By key, ascending: which record of `_CURRENT` has it, its field, a value that is refused, one that stands."""

_CURRENT: Final[list[Parameters]] = [TimerConfig(), LaneConfig(), AuctionConfig(), BiasConfig()]


def check_updates(draw: Draw) -> Asked:
    """Yield whether an update is taken just where each of its keys is known and may have its value."""
    for _ in range(_ROUNDS):
        keys = [key for key in _KEYS if draw(4) == 0] or ["timer_config.max_ttl_blocks"]
        broken = keys[draw(len(keys))] if draw(2) else ""
        changes = {key: _KEYS[key][2 if key == broken else 3] for key in keys}
        found = _taken(msgspec.msgpack.encode(changes))
        yield "an update is refused that may stand, or taken that may not", (found is None) == bool(broken)
        if found is not None:
            yield "an update changes other parameters than it names", _fields(found) == _changed(changes)
        unknown = {**changes, "timer_config.zero": 1}
        yield "an update of an unknown key is taken", _taken(msgspec.msgpack.encode(unknown)) is None
        descending = dict(reversed(changes.items()))
        is_refused = len(changes) > 1 or bool(broken)
        yield (
            "an update whose keys do not ascend is taken",
            (_taken(msgspec.msgpack.encode(descending)) is None) == is_refused,
        )


def _taken(encoded: bytes) -> list[Parameters] | None:
    try:
        return decode_update(encoded, _CURRENT)
    except InvalidInput:
        return None


def _fields(records: list[Parameters]) -> list[dict[str, Any]]:
    return [msgspec.structs.asdict(record) for record in records]


def _changed(changes: dict[str, Any]) -> list[dict[str, Any]]:
    fields = _fields(_CURRENT)
    for key, value in changes.items():
        place, field, _, _ = _KEYS[key]
        fields[place][field] = tuple(value) if isinstance(value, list) else value
    return fields
