"""Phrases shared by the sentences of several kinds."""

from collections.abc import Mapping, Sequence
from typing import Final

from faults.kinds.fields import Range


def seconds(milliseconds: int) -> str:
    """Return a time in seconds."""
    whole, rest = divmod(milliseconds, 1_000)
    return f"{whole}.{rest:03}".rstrip("0").rstrip(".") + " s"


def share(ppm: int) -> str:
    """Return parts per million as a percentage."""
    percent, rest = divmod(ppm, 10_000)
    return f"{percent}.{rest:04}".rstrip("0").rstrip(".") + " %"


def who(nodes: Sequence[int]) -> str:
    """Return validators by their numbers."""
    return f"validator{'s' if len(nodes) > 1 else ''} {join([str(node) for node in nodes])}"


def braced(group: Sequence[int]) -> str:
    """Return a group of validators in braces."""
    return "{" + ", ".join(str(node) for node in group) + "}"


def ranges(found: Sequence[Range]) -> str:
    """Return ranges of numbers, a single number by itself."""
    return join([str(first) if first == last else f"{first} to {last}" for first, last in found])


def messages(channels: Sequence[str]) -> str:
    """Return a phrase for the messages of these channels; for all messages, if no channel is named."""
    return join(channels) if channels else "all messages"


def join(parts: Sequence[str]) -> str:
    """Return a list with a comma between all but the last two, which an "and" joins."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


IN_FLIGHT: Final[Mapping[str, str]] = {"arrives": "", "lost": ", and what is on its way at the start is lost"}
"""The end of the sentence of a cut."""
