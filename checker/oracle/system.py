"""System instructions: what the validator set may do to timers (docs/chain.md, section of that name)."""

from checker.oracle.calls import Gas, OutOfGasError, Present, RevertedError, new_expiry, remove_timer
from checker.oracle.contents import Contents
from checker.oracle.programs import OK, OUT_OF_GAS, REVERTED, Ending
from checker.oracle.records import MalformedError, TimerConfig, read_timer_config

INSTRUCTION_CYCLES = 200
CANCEL_TIMER, UPDATE_TIMER_CONFIG, EXTEND_TIMER = 48, 49, 50
"""Kinds of calls."""

CANCELLED_BY_GOVERNANCE, CONFIG_UPDATED, EXTENDED_BY_GOVERNANCE = 8, 9, 10
"""Tags of the events that instructions make."""


def run_instruction(contents: Contents, present: Present, gas: Gas, call: list[object], *, is_deployer: bool) -> Ending:
    """Carry a system instruction out; nothing is written unless it ends well."""
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
        contents.config.put(None, _config_of(subject))
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


def _config_of(encoded: bytes) -> TimerConfig:
    try:
        config = read_timer_config(encoded)
    except MalformedError:
        raise RevertedError("InvalidInput") from None
    if config.gc_cost_per_timer == 0 or config.lane_timer_cycles == 0:
        raise RevertedError("InvalidInput")
    return config
