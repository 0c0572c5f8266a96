"""What the validator set may do to timers: the system instructions 48, 49 and 50 (A-20, C-14).

They are transactions of a system deployer, so they stand in the order of the block's transactions and vanish with a
revert like any other. A new configuration is written at once and read by the next block: a block reads its own once, at
its start. It is replaced as a whole, or changed by key, as the documents name the keys (docs/spec.md, governance).
"""

from collections.abc import Collection
from typing import Any, Final, TypeVar

import msgspec

from scheduler.errors import InvalidInput, Unauthorized, UnknownTimer
from scheduler.events import TimerCancelledByGovernance, TimerExtendedByGovernance
from scheduler.lane import LaneConfig
from scheduler.lifecycle import Desk, move_expiry
from scheduler.types import TimerConfig

TIMER_PREFIX: Final = "timer_config."
"""Precedes the fields of the timer configuration in their keys."""

LANE_PREFIX: Final = "system:cip1:"
"""Precedes the fields of the lane configuration in theirs."""

_TIER: Final = "tier_"
_TIER_KEY: Final = "priority_tier_multipliers."

Config = TypeVar("Config", TimerConfig, LaneConfig)


def require_deployer(sender: bytes, system_deployers: Collection[bytes]) -> None:
    """Check that a system instruction comes from one who may give it.

    Raises:
        Unauthorized: The sender is no system deployer.
    """
    if sender not in system_deployers:
        raise Unauthorized(sender, "is no system deployer")


def cancel_by_governance(desk: Desk, timer_id: bytes) -> TimerCancelledByGovernance:
    """Remove a timer whoever owns it; when it is gone already nothing happens, and the event says so."""
    timer = desk.tables.timer(timer_id)
    if timer is not None:
        desk.tables.remove(timer)
    return TimerCancelledByGovernance(timer_id, was_live=timer is not None)


def extend_by_governance(desk: Desk, timer_id: bytes, new_expires_at: int) -> TimerExtendedByGovernance:
    """Move the expiry of a timer whoever owns it, under the same rules as for its owner.

    Raises:
        UnknownTimer: There is no such timer.
        InvalidInput: The new expiry is not in the future, or the timer has expired.
    """
    timer = desk.tables.timer(timer_id)
    if timer is None:
        raise UnknownTimer(timer_id)
    return TimerExtendedByGovernance(timer_id, move_expiry(desk, timer, new_expires_at))


def lane_key_of(field: str) -> str:
    """Return the governance key of a field of the lane configuration."""
    return LANE_PREFIX + (_TIER_KEY + field.removeprefix(_TIER) if field.startswith(_TIER) else field)


def decode_update(
    encoded: bytes, timers: TimerConfig, lane: LaneConfig | None
) -> tuple[TimerConfig, LaneConfig | None]:
    """Return both configurations as instruction 49 leaves them; `lane` is None on a chain that has none.

    Raises:
        InvalidInput: It is neither a configuration nor a map of keys, not in its one encoding, or nothing a chain can
            run on.
    """
    try:
        changes = msgspec.msgpack.decode(encoded)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError) as error:
        raise InvalidInput("config", str(error)) from None
    if not isinstance(changes, dict):
        return decode_timer_config(encoded), lane
    keys = list(changes)
    if not keys or not all(isinstance(key, str) for key in keys) or keys != sorted(keys, key=_utf8):
        raise InvalidInput("config", "keys are text, at least one of them, and ascend")
    if msgspec.msgpack.encode(changes) != encoded:
        raise InvalidInput("config", "not the canonical encoding")
    own = {TIMER_PREFIX + field: field for field in TimerConfig.__struct_fields__}
    lanes = {} if lane is None else {lane_key_of(field): field for field in LaneConfig.__struct_fields__}
    for key in keys:
        if key not in own and key not in lanes:
            raise InvalidInput(key, "no such key")
    timers = _changed(timers, {own[key]: changes[key] for key in keys if key in own})
    if lane is not None:
        lane = _changed(lane, {lanes[key]: changes[key] for key in keys if key in lanes})
        lane.check_minimum()
    return timers, lane


def decode_timer_config(encoded: bytes) -> TimerConfig:
    """Return the configuration that a system instruction carries: the very bytes that the state is to hold.

    Raises:
        InvalidInput: It is no configuration, not its one encoding, or one that no chain can run on.
    """
    try:
        config = msgspec.msgpack.decode(encoded, type=TimerConfig)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InvalidInput("config", str(error)) from None
    if msgspec.msgpack.encode(config) != encoded:
        raise InvalidInput("config", "not the canonical encoding")
    return config


def _changed(config: Config, changes: dict[str, Any]) -> Config:
    """Return a configuration with some fields changed, checked as a whole."""
    if not changes:
        return config
    fields = msgspec.structs.asdict(config) | changes
    try:
        return msgspec.convert(list(fields.values()), type(config))
    except msgspec.ValidationError as error:
        raise InvalidInput("config", str(error)) from None


def _utf8(key: str) -> bytes:
    return key.encode("utf-8", "surrogatepass")
