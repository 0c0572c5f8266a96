"""System instructions: operations of the validator set on timers (docs/chain.md, section of that name)."""

from typing import Any

import msgspec

from checker.oracle.calls import Gas, OutOfGasError, Present, RevertedError, new_expiry, remove_timer
from checker.oracle.contents import Contents
from checker.oracle.lane_config import Calendar, LaneConfig, calendar_of, lane_config_of, lane_key_of
from checker.oracle.programs import OK, OUT_OF_GAS, REVERTED, Ending
from checker.oracle.records import MalformedError, TimerConfig, read_timer_config, write

INSTRUCTION_CYCLES = 200
CANCEL_TIMER, UPDATE_TIMER_CONFIG, EXTEND_TIMER = 48, 49, 50
"""Kinds of calls."""

CANCELLED_BY_GOVERNANCE, CONFIG_UPDATED, EXTENDED_BY_GOVERNANCE = 8, 9, 10
"""Tags of the events that instructions make."""


def run_instruction(contents: Contents, present: Present, gas: Gas, call: list[object], *, is_deployer: bool) -> Ending:
    """Run a system instruction; it writes nothing unless it succeeds."""
    own_cells = gas.cells
    try:
        gas.use(INSTRUCTION_CYCLES)
        event = _carry_out(contents, present, call, is_deployer=is_deployer)
    except OutOfGasError:
        return Ending(OUT_OF_GAS, "OutOfGas", gas.cycles_limit, own_cells, [])
    except RevertedError as error:
        return Ending(REVERTED, str(error), gas.cycles, own_cells, [])
    return Ending(OK, "", gas.cycles, own_cells, [event])


def _carry_out(contents: Contents, present: Present, call: list[object], *, is_deployer: bool) -> list[object]:
    if not is_deployer:
        raise RevertedError("Unauthorized")
    kind, subject = call[0], call[1]
    assert isinstance(subject, bytes), "a call's fields were checked when it was read"
    if kind == CANCEL_TIMER:
        return _cancel(contents, subject)
    if kind == UPDATE_TIMER_CONFIG:
        config, calendar, lane_config = _configs_of(subject, contents)
        contents.config.put(None, config)
        contents.calendar.put(None, calendar)
        if lane_config is not None:
            contents.lane_config.put(None, lane_config)
        return [CONFIG_UPDATED, subject]
    expires_at = call[2]
    assert isinstance(expires_at, int), "a call's fields were checked when it was read"
    return _extend(contents, present, subject, expires_at)


def _cancel(contents: Contents, timer_id: bytes) -> list[object]:
    timer = contents.timers.get(timer_id)
    if timer is not None:
        remove_timer(contents, timer)
    return [CANCELLED_BY_GOVERNANCE, timer_id, timer is not None]


def _extend(contents: Contents, present: Present, timer_id: bytes, expires_at: int) -> list[object]:
    timer = contents.timers.get(timer_id)
    if timer is None:
        raise RevertedError("UnknownTimer")
    moved = new_expiry(timer, present, expires_at)
    contents.timers.put(timer_id, timer._replace(expires_at=moved))
    return [EXTENDED_BY_GOVERNANCE, timer_id, moved]


def _configs_of(encoded: bytes, contents: Contents) -> tuple[TimerConfig, Calendar, LaneConfig | None]:
    """Return all configurations after an instruction, which carries a whole timer configuration or a map of changes."""
    calendar: Calendar | None = contents.calendar.rows[None]
    lane_config = contents.lane_config.get(None)
    assert calendar is not None, "genesis has one"
    changes = _read_changes(encoded)
    try:
        if changes is None:
            return _checked(read_timer_config(encoded)), calendar, lane_config
        of_timers = {f"timer_config.{name}": name for name in TimerConfig._fields}
        of_calendar = {f"system:cip1:{name}": name for name in Calendar._fields}
        of_lane = {lane_key_of(name): name for name in LaneConfig._fields} if lane_config is not None else {}
        config = contents.config.rows[None]._replace(**_taken(changes, of_timers))
        if any(key not in of_timers | of_calendar | of_lane for key in changes):
            raise RevertedError("InvalidInput")
        calendar = calendar_of(calendar._replace(**_taken(changes, of_calendar)))
        if calendar is None:
            raise RevertedError("InvalidInput")
        if lane_config is not None:
            lane_config = lane_config_of(lane_config._replace(**_taken(changes, of_lane)))
            if lane_config is None:
                raise RevertedError("InvalidInput")
        return _checked(read_timer_config(write(config))), calendar, lane_config
    except MalformedError:
        raise RevertedError("InvalidInput") from None


def _taken(changes: dict[str, object], names: dict[str, str]) -> dict[str, Any]:
    return {names[key]: value for key, value in changes.items() if key in names}


def _checked(config: TimerConfig) -> TimerConfig:
    if config.gc_cost_per_timer == 0 or config.lane_timer_cycles == 0:
        raise RevertedError("InvalidInput")
    return config


def _read_changes(encoded: bytes) -> dict[str, object] | None:
    """Return the map of changes of an instruction, or None without a map; raises RevertedError for a bad map."""
    try:
        changes = msgspec.msgpack.decode(encoded)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError):
        return None
    if not isinstance(changes, dict):
        return None
    are_keys = changes and all(isinstance(key, str) for key in changes)
    if not are_keys or list(changes) != sorted(changes) or msgspec.msgpack.encode(changes) != encoded:
        raise RevertedError("InvalidInput")
    return changes
