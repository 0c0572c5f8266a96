"""Types of the values that a scenario file may hold, and the sentence that explains a key."""

from typing import Annotated, Final

import msgspec

from faults.kinds.fields import Milliseconds, NotNegative, PartsPerMillion, Positive, means

NAME_CHARACTERS_MAX: Final = 64
"""The longest name of a scenario, and of an entry of a table (a fault or a workload)."""

EntryName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_. -]*\Z", max_length=NAME_CHARACTERS_MAX)]
Thousand = Annotated[int, msgspec.Meta(ge=1, le=1_000)]
TenThousand = Annotated[int, msgspec.Meta(ge=1, le=10_000)]
Million = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]

__all__ = [
    "NAME_CHARACTERS_MAX",
    "EntryName",
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
