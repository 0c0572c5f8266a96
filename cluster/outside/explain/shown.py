"""Bytes and events of an application as text for a person."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from checker.record.errors import on_one_line

BYTES_MAX: Final = 120
"""Most bytes of a key, value or transaction that are shown."""

BEFORE: Final = 40
"""Bytes shown before the first byte that differs, if it lies further behind."""


_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*")


def shown_bytes(content: bytes, start: int = 0) -> str:
    """Return bytes from a place on: as text where all are printable, else in hexadecimal; long ones are cut."""
    try:
        text = content.decode()
        is_text = text.isprintable() and bool(text)
    except UnicodeDecodeError:
        is_text = False
    piece = content[start : start + BYTES_MAX]
    shown = piece.decode(errors="replace") if is_text else piece.hex()
    front = f"... from byte {start:,}: " if start else ""
    end = f"... ({len(content):,} bytes)" if len(content) > start + BYTES_MAX else ""
    return f"{front}{shown}{end}" or "nothing"


def shown_value(content: bytes, start: int = 0) -> str:
    """Return a value; a JSON object of plain values as fields with their names, so that the differing field shows."""
    if start == 0 and len(content) <= BYTES_MAX and content[:1] == b"{":
        with suppress(ValueError, RecursionError):
            fields = json.loads(content)
            if all(_NAME.fullmatch(name) and _is_plain(value) for name, value in fields.items()):
                return on_one_line(" ".join(f"{name}={value}" for name, value in fields.items()))
    return shown_bytes(content, start)


def _is_plain(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and "=" not in value and value != "")


def shown_pair(mine: bytes | None, other: bytes | None) -> list[str | None]:
    """Return two values; of long values the part around the first byte that differs."""
    start = 0
    if mine is not None and other is not None and max(len(mine), len(other)) > BYTES_MAX:
        pairs = zip(mine, other, strict=False)
        first = next((place for place, (one, two) in enumerate(pairs) if one != two), min(len(mine), len(other)))
        start = max(first - BEFORE, 0)
    return [None if value is None else shown_value(value, start) for value in (mine, other)]


def shown_event(event: Mapping[str, object]) -> str:
    """Return an event: its kind, then its fields with their names."""
    fields = " ".join(f"{name}={event[name]}" for name in sorted(event) if name != "event")
    return on_one_line(f"{event['event']} {fields}".rstrip())
