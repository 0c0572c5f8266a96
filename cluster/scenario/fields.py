"""Types of the values that a scenario file may hold, and the sentence that says what a key means."""

from typing import Annotated

import msgspec

from scheduler import MAX_U63

Milliseconds = Annotated[int, msgspec.Meta(ge=0, le=MAX_U63)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=MAX_U63)]
NotNegative = Annotated[int, msgspec.Meta(ge=0, le=MAX_U63)]
PartsPerMillion = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
Thousand = Annotated[int, msgspec.Meta(ge=1, le=1_000)]
TenThousand = Annotated[int, msgspec.Meta(ge=1, le=10_000)]
Million = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


def means(sentence: str) -> msgspec.Meta:
    """Return the annotation of a key that says in a sentence what it means; docs/reference.md prints it."""
    return msgspec.Meta(description=sentence)


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The base of a section of a scenario file."""
