"""The powers of the validator set over timers: the system instructions 48, 49 and 50 (A-20, C-14).

They are transactions of a system deployer, so they stand in the order of the block's transactions and vanish with a
revert like any other. A new configuration is written at once and read by the next block: a block reads its own once, at
its start. It is replaced as a whole, or changed by key, as the documents name the keys (docs/spec.md, governance).
"""

from collections.abc import Collection, Sequence
from typing import Any, TypeVar

import msgspec

from scheduler.errors import InvalidInput, Unauthorized
from scheduler.rules import CallRule, CoveragePoint
from scheduler.types import Parameters, TimerConfig

Record = TypeVar("Record", bound=Parameters)


def require_deployer(sender: bytes, system_deployers: Collection[bytes]) -> None:
    """Check that a system instruction comes from one who may give it.

    Raises:
        Unauthorized: The sender is no system deployer.
    """
    if sender not in system_deployers:
        raise Unauthorized(sender, "is no system deployer")


def decode_update(encoded: bytes, current: Sequence[Parameters]) -> list[Parameters]:
    """Return all parameters of a chain as instruction 49 leaves them; the timer configuration is the first.

    Raises:
        InvalidInput: It is neither a timer configuration nor a map of keys, not in its one encoding, or nothing a chain
            can run on.
    """
    try:
        changes = msgspec.msgpack.decode(encoded)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError) as error:
        raise InvalidInput("config", str(error)) from None
    if not isinstance(changes, dict):
        return [decode_timer_config(encoded), *current[1:]]
    keys = list(changes)
    if not keys or not all(isinstance(key, str) for key in keys) or keys != sorted(keys, key=_utf8):
        raise InvalidInput("config", "keys are text, at least one of them, and ascend")
    if msgspec.msgpack.encode(changes) != encoded:
        raise InvalidInput("config", "not the canonical encoding")
    known = [{record.key_of(field): field for field in record.__struct_fields__} for record in current]
    for key in keys:
        if not any(key in fields for fields in known):
            raise InvalidInput(key, "no such key")
    return [
        _changed(record, {fields[key]: changes[key] for key in keys if key in fields})
        for record, fields in zip(current, known, strict=True)
    ]


def cell_of_update(encoded: bytes) -> CoveragePoint:
    """Return the coverage point of an update that was accepted: of a whole configuration, or of parameters by key."""
    is_by_key = isinstance(msgspec.msgpack.decode(encoded), dict)
    return CallRule.PARAMETERS_CHANGED if is_by_key else CallRule.CONFIG_REPLACED


def decode_timer_config(encoded: bytes) -> TimerConfig:
    """Return the configuration that a system instruction carries: the very bytes that the state is to hold.

    Raises:
        InvalidInput: It is no configuration, not its one encoding, or one that no chain can run on.
    """
    return decode_parameters(encoded, TimerConfig)


def decode_parameters(encoded: bytes, kind: type[Record]) -> Record:
    """Return parameters from the very bytes that the state is to hold.

    Raises:
        InvalidInput: They are not of this kind, not in their one encoding, or some that no chain can run on.
    """
    try:
        record = msgspec.msgpack.decode(encoded, type=kind)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InvalidInput("config", str(error)) from None
    if msgspec.msgpack.encode(record) != encoded:
        raise InvalidInput("config", "not the canonical encoding")
    record.check_update()
    return record


def _changed(record: Record, changes: dict[str, Any]) -> Record:
    """Return parameters with some fields changed, checked as a whole."""
    fields = msgspec.structs.asdict(record) | changes
    try:
        changed = msgspec.convert(list(fields.values()), type(record)) if changes else record
    except msgspec.ValidationError as error:
        raise InvalidInput("config", str(error)) from None
    changed.check_update()
    return changed


def _utf8(key: str) -> bytes:
    return key.encode("utf-8", "surrogatepass")
