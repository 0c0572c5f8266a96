"""Types of the fields of faults, which refuse values out of range, and the rules that several kinds share."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, Literal, TypeAlias, TypeVar

import msgspec

from faults.nearest import did_you_mean
from scheduler import MAX_U63
from scheduler.types import means as means  # noqa: PLC0414 - all kinds take it from here
from validators.messages import MESSAGE_KINDS, kinds_in

Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=MAX_U63)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=MAX_U63)]
NotNegative = Annotated[int, msgspec.Meta(ge=0, le=MAX_U63)]
PartsPerMillion = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]

Start = Annotated[Milliseconds, means("When it begins.")]
Stop = Annotated[Milliseconds, means("When it ends.")]
VALIDATOR_TITLE: Final = "validator"
"""The mark of a validator's number in the type of a value."""

Validator = Annotated[int, msgspec.Meta(ge=0, title=VALIDATOR_TITLE)]
Link = tuple[Validator, Validator]
Range = tuple[NotNegative, NotNegative]
FileGroup = Literal["journal", "blocks", "operations", "snapshot"]
Factor = Annotated[int, msgspec.Meta(ge=2, le=1_000_000)]
InFlight = Literal["arrives", "lost"]
"""The fate of messages that are on their way when a cut begins."""

_Value = TypeVar("_Value", int, str, Link)

Requirement: TypeAlias = tuple[str, bool, str]
"""A rule about a fault: the key, whether the rule holds, and the allowed values."""


def distinct(key: str, named: Sequence[int]) -> Requirement:
    """Require that no validator is named twice."""
    twice = _second(named)
    return key, not twice, f"validator {twice[0] if twice else ''} is named twice"


def no_repeats(key: str, names: Sequence[str]) -> Requirement:
    """Require that no word is named twice."""
    twice = _second(names)
    return key, not twice, f"{twice[0] if twice else ''} is named twice"


def sound_links(key: str, links: Sequence[Link], *, is_directed: bool = False) -> Iterator[Requirement]:
    """Require that no link leads from a validator to itself, and that no link is named twice."""
    loops = [first for first, second in links if first == second]
    yield key, not loops, f"validator {loops[0] if loops else ''} has no link to itself"
    twice = _second(links if is_directed else [(min(pair), max(pair)) for pair in links])
    yield key, not twice, f"the link {list(twice[0]) if twice else ''} is named twice"


def known_messages(kinds: Sequence[str], engine: str, *, may_be_idle: bool) -> Iterator[Requirement]:
    """Require that `kinds` are kinds of messages, and that the engine has one of them unless the fault may be idle.

    A list may name messages of several engines, so that a plan works for all of them.
    """
    for kind in kinds:
        named = f"{kind!r}{did_you_mean(kind, MESSAGE_KINDS)}"
        reason = f"no message is called {named}; there are {', '.join(MESSAGE_KINDS)}"
        yield "kinds", kind in MESSAGE_KINDS, reason
    if kinds and not may_be_idle:
        own = kinds_in(engine)
        reason = f"{engine} has no {' and no '.join(kinds)}; it has {', '.join(own)}"
        yield "kinds", any(kind in own for kind in kinds), reason


def both_or_neither(key: str, **numbers: int) -> Requirement:
    """Require that two numbers are both given or both left out."""
    reason = f"{' and '.join(numbers)} go together, both at least 1 or both left out"
    return key, all(numbers.values()) or not any(numbers.values()), reason


def _second(values: Sequence[_Value]) -> list[_Value]:
    return [value for place, value in enumerate(values) if value in values[:place]]
