"""State keys as a person writes them on the command line: `account:ADDRESS`, `bucket:DUE`, or 64 hexadecimal digits."""

import re
from collections.abc import Callable
from typing import Final

from network.words import counted
from scheduler import MAX_U63
from validators.execution.schema import (
    BURNED,
    FEE_MARKET,
    SHORT_STORAGE_KEY_BYTES,
    TIMER_CONFIG,
    account_key,
    actor_key,
    bucket_entry_key,
    bucket_key,
    long_storage_key,
    storage_key,
    timer_counts_key,
    timer_key,
)

_HEXADECIMAL: Final = re.compile(r"(?:[0-9A-Fa-f]{2})*")
_NUMBER: Final = re.compile(r"[0-9]{1,19}")


def parse_state_key(text: str) -> bytes:
    """Return the 32-byte key that a text names.

    Raises:
        ValueError: It names none; the message says what is allowed.
    """
    if ":" not in text and text not in _FORMS:
        return _parse_bytes(text, 32, "KEY")
    table, *parts = text.split(":")
    if table not in _FORMS:
        raise ValueError(f"{_shorten(text)} names no table; a key is {KEY_FORMS}")
    names, make_key = _FORMS[table]
    if len(parts) != len(names):
        raise ValueError(f"{_shorten(text)} has {counted(len(parts), 'parts')} after the table; write {_form(table)}")
    return make_key(*(_parse_part(part, name) for part, name in zip(parts, names, strict=True)))


def _storage_key(actor: bytes, key: bytes) -> bytes:
    return storage_key(actor, key) if len(key) <= SHORT_STORAGE_KEY_BYTES else long_storage_key(actor, key)


_FORMS: Final[dict[str, tuple[tuple[str, ...], Callable[..., bytes]]]] = {
    "account": (("ADDRESS",), account_key),
    "actor": (("ADDRESS",), actor_key),
    "storage": (("ADDRESS", "BYTES"), _storage_key),
    "timer": (("TIMER_ID",), timer_key),
    "bucket": (("DUE",), bucket_key),
    "bucket-entry": (("DUE", "SEQUENCE"), bucket_entry_key),
    "timer-counts": (("ADDRESS",), timer_counts_key),
    "fee-market": ((), FEE_MARKET.key),
    "burned": ((), BURNED.key),
    "timer-configuration": ((), TIMER_CONFIG.key),
}

_LENGTHS: Final[dict[str, int | None]] = {"ADDRESS": 20, "TIMER_ID": 32, "BYTES": None}
"""Bytes of a part that is written in hexadecimal digits; None for any number of them."""


def _form(table: str) -> str:
    return ":".join((table, *_FORMS[table][0]))


KEY_FORMS: Final = f"64 hexadecimal digits, or one of {', '.join(map(_form, _FORMS))}"
"""The forms that `parse_state_key` reads, in words."""


def _parse_part(text: str, name: str) -> bytes | int:
    if name in _LENGTHS:
        return _parse_bytes(text, _LENGTHS[name], name)
    if not _NUMBER.fullmatch(text) or int(text) > MAX_U63:
        raise ValueError(f"{name} {_shorten(text)} is not a whole number from 0 to 2^63 - 1")
    return int(text)


def _parse_bytes(text: str, length: int | None, name: str) -> bytes:
    if not _HEXADECIMAL.fullmatch(text) or (length is not None and len(text) != 2 * length):
        digits = "an even number of" if length is None else str(2 * length)
        also = f"; a key is {KEY_FORMS}" if name == "KEY" else ""
        raise ValueError(f"{name} {_shorten(text)} is not {digits} hexadecimal digits{also}")
    return bytes.fromhex(text)


def _shorten(text: str) -> str:
    return ascii(text if len(text) <= 80 else f"{text[:77]}...")
