"""System instructions: operations of the validator set on timers (docs/chain.md, section of that name)."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from checker.oracle.calls import Present, RevertedError, new_expiry, require_extensible
from checker.oracle.contents import Contents, Table
from checker.oracle.gas import Gas, OutOfGasError
from checker.oracle.lane_config import calendar_of
from checker.oracle.policies import POLICY_ORACLES
from checker.oracle.programs import OK, OUT_OF_GAS, REVERTED, Ending
from checker.oracle.records import MalformedError, TimerConfig, read_timer_config, write
from checker.oracle.timer_tables import remove_timer

INSTRUCTION_CYCLES = 200
CANCEL_TIMER, UPDATE_TIMER_CONFIG, EXTEND_TIMER, SERVICE, CANCEL_ALL = 48, 49, 50, 67, 68
"""Kinds of calls."""

CANCELLED_BY_GOVERNANCE, CONFIG_UPDATED, EXTENDED_BY_GOVERNANCE = 8, 9, 10
"""Tags of the events that instructions make."""


def run_instruction(
    contents: Contents, present: Present, gas: Gas, call: list[object], *, sender: bytes, is_deployer: bool
) -> Ending:
    """Run a system instruction, or a call on the queue; it writes nothing unless it succeeds."""
    own_cells = gas.cells
    try:
        gas.use(INSTRUCTION_CYCLES)
        may = _owns(contents, sender, call[1]) if call[0] == CANCEL_ALL else is_deployer
        events = _carry_out(contents, present, call, may=may)
    except OutOfGasError:
        return Ending(OUT_OF_GAS, "OutOfGas", gas.cycles_limit, own_cells, [])
    except RevertedError as error:
        return Ending(REVERTED, str(error), gas.cycles, own_cells, [])
    return Ending(OK, "", gas.cycles, own_cells, events)


def _owns(contents: Contents, sender: bytes, actor: object) -> bool:
    assert isinstance(actor, bytes), "a call's fields were checked when it was read"
    record = contents.actors.get(actor)
    return record is not None and record.owner == sender


def _carry_out(contents: Contents, present: Present, call: list[object], *, may: bool) -> list[list[object]]:
    if not may:
        raise RevertedError("Unauthorized")
    if call[0] in (SERVICE, CANCEL_ALL):
        served = present.admission.serve(call)
        if isinstance(served, str):
            raise RevertedError(served)
        return served
    return [_govern(contents, present, call)]


def _govern(contents: Contents, present: Present, call: list[object]) -> list[object]:
    kind, subject = call[0], call[1]
    assert isinstance(subject, bytes), "a call's fields were checked when it was read"
    if kind == CANCEL_TIMER:
        return _cancel(contents, present, subject)
    if kind == UPDATE_TIMER_CONFIG:
        for table, config in _configs_of(subject, contents):
            table.put(None, config)
        return [CONFIG_UPDATED, subject]
    assert kind == EXTEND_TIMER, f"a call of an unknown kind: {kind}"
    expires_at = call[2]
    assert isinstance(expires_at, int), "a call's fields were checked when it was read"
    return _extend(contents, present, subject, expires_at)


def _cancel(contents: Contents, present: Present, timer_id: bytes) -> list[object]:
    timer = contents.timers.get(timer_id)
    if timer is not None:
        present.admission.release(timer)
        remove_timer(contents, timer)
    return [CANCELLED_BY_GOVERNANCE, timer_id, timer is not None]


def _extend(contents: Contents, present: Present, timer_id: bytes, expires_at: int) -> list[object]:
    require_extensible(contents, present, timer_id)
    timer = contents.timers.rows[timer_id]
    moved = new_expiry(contents, timer, present, expires_at)
    contents.timers.put(timer_id, timer._replace(expires_at=moved))
    return [EXTENDED_BY_GOVERNANCE, timer_id, moved]


class _Configured(NamedTuple):
    """A configuration in the state: its table, the key of a field, and its form; None if a field breaks its rule."""

    table: Table[None, Any]
    key_of: Callable[[str], str]
    form: Callable[[Sequence[Any]], Any]


def _configured(contents: Contents) -> list[_Configured]:
    """Return every configuration that the state holds: of timers, of the calendar and of its policies."""
    policies = POLICY_ORACLES.values()
    own = [
        _Configured(table, policy.key_of, policy.config_of)
        for policy in policies
        if (table := policy.config_table(contents))
    ]
    options = [
        _Configured(table, policy.option_key_of, policy.option_of)
        for policy in policies
        if (table := policy.option_table(contents))
    ]
    return [
        _Configured(contents.config, lambda name: f"timer_config.{name}", _timer_config_of),
        _Configured(contents.calendar, lambda name: f"system:cip1:{name}", calendar_of),
        *(configured for configured in (*own, *options) if configured.table.rows),
    ]


def _configs_of(encoded: bytes, contents: Contents) -> list[tuple[Table[None, Any], Any]]:
    """Return all configurations after an instruction, which carries a whole timer configuration or a map of changes."""
    changes = _read_changes(encoded)
    try:
        if changes is None:
            found = [(contents.config, _timer_config_of(read_timer_config(encoded)))]
        else:
            configured = _configured(contents)
            names = [{item.key_of(name): name for name in item.table.rows[None]._fields} for item in configured]
            if any(not any(key in keys for keys in names) for key in changes):
                raise RevertedError("InvalidInput")
            found = [
                (item.table, item.form(item.table.rows[None]._replace(**_taken(changes, keys))))
                for item, keys in zip(configured, names, strict=True)
            ]
    except MalformedError:
        raise RevertedError("InvalidInput") from None
    if any(config is None for _, config in found):
        raise RevertedError("InvalidInput")
    return found


def _taken(changes: dict[str, object], names: dict[str, str]) -> dict[str, Any]:
    return {names[key]: value for key, value in changes.items() if key in names}


def _timer_config_of(fields: Sequence[Any]) -> TimerConfig | None:
    config = read_timer_config(write(fields))
    return config if config.gc_cost_per_timer and config.lane_timer_cycles else None


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
