"""`[chain.lane]` of a scenario: the lane configuration at genesis, by name."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

import msgspec

from cluster.scenario.fields import Section
from scheduler import LaneConfig


class _Lane(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Fields of the lane configuration (docs/state.md), with their defaults. A ratio is two numbers."""

    def config(self, profile: str = "default") -> LaneConfig:
        """Return the record that genesis holds; fields that are left out have the profile's values.

        Raises:
            InvalidInput: A number is out of its range.
        """
        stated = msgspec.structs.asdict(self)
        given = {name: value for name, value in stated.items() if value is not None}
        return LaneConfig(**{**LaneConfig.profiles.get(profile, {}), **given})

    def resolved(self, profile: str) -> "LaneSection":
        """Return the section with every value written out."""
        return msgspec.structs.replace(self, **msgspec.structs.asdict(self.config(profile)))


def _left_open() -> Iterator[tuple[str, Any, None]]:
    """Yield the fields of the configuration with their sentences; a scenario may leave out each field."""
    for each in msgspec.structs.fields(LaneConfig):
        kind, *notes = get_args(each.type)
        yield each.name, Annotated[(kind | None, *notes)], None


if TYPE_CHECKING:
    LaneSection: TypeAlias = _Lane
else:
    # The record is the only place that names the fields.
    LaneSection = msgspec.defstruct(
        "LaneSection",
        _left_open(),
        bases=(_Lane,),
        namespace={"__doc__": _Lane.__doc__},
        frozen=True,
        forbid_unknown_fields=True,
        kw_only=True,
    )
