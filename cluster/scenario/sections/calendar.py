"""`[chain.calendar]` of a scenario: the sizes of the calendar queue, which every chain has, on top of a profile."""

from typing import Annotated, Final, Literal

import msgspec

from cluster.scenario.fields import Section, means
from scheduler import INTRO_CALENDAR, CalendarProfile

PROFILES: Final[dict[Literal["default", "intro"], CalendarProfile]] = {
    "default": CalendarProfile(),
    "intro": INTRO_CALENDAR,
}
"""Sizes of the calendar queue by name."""


class CalendarSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Sizes of the calendar queue (docs/state.md, tiers); a size that is left out has the profile's value."""

    profile: Annotated[Literal["default", "intro"], means("The default sizes.")] = "default"
    ring_size: Annotated[int | None, means("Heights in the ring.")] = None
    epoch_length: Annotated[int | None, means("Heights in an epoch.")] = None
    epoch_horizon: Annotated[int | None, means("Epochs ahead in the queue, before the overflow tree.")] = None

    def record(self) -> CalendarProfile:
        """Return the record that genesis holds.

        Raises:
            InvalidInput: A number is out of its range.
        """
        stated = {name: getattr(self, name) for name in CalendarProfile.__struct_fields__}
        given = {name: value for name, value in stated.items() if value is not None}
        return msgspec.structs.replace(PROFILES[self.profile], **given)

    def resolved(self, profile: Literal["default", "intro"]) -> "CalendarSection":
        """Return the section with every value written out; its own profile overrides the chain's profile."""
        own = self if self.profile != "default" else msgspec.structs.replace(self, profile=profile)
        return CalendarSection(profile=own.profile, **msgspec.structs.asdict(own.record()))
