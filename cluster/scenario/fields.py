"""Types of the values that a scenario file may hold, and the sentence that says what a key means."""

from typing import Annotated

import msgspec

from faults.kinds.fields import Milliseconds, NotNegative, PartsPerMillion, Positive, means

Thousand = Annotated[int, msgspec.Meta(ge=1, le=1_000)]
TenThousand = Annotated[int, msgspec.Meta(ge=1, le=10_000)]
Million = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]

__all__ = [
    "Million",
    "Milliseconds",
    "NotNegative",
    "PartsPerMillion",
    "Positive",
    "Section",
    "TenThousand",
    "Thousand",
    "means",
]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The base of a section of a scenario file."""
