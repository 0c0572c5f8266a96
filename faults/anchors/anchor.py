"""The table `anchor` of a fault, and of a moment that a scenario expects."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from faults.anchors.catalogue import MOMENTS
from faults.kinds.fields import Milliseconds, Positive, Requirement, Validator, means
from faults.kinds.wording import seconds
from faults.nearest import did_you_mean


class Anchor(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A moment of the run.

    ``of`` names the validator whose moment counts. If it is left out, the moment of any validator counts, and a moment
    of the chain comes with the first validator that finalizes the block. Moments outside ``from_ms`` to ``by_ms`` do
    not count.
    """

    event: Annotated[str, means("The moment, by its name.")]
    of: Annotated[Validator | None, means("The validator whose moment it is.", left_out="any")] = None
    nth: Annotated[Positive, means("The occurrence that counts, from 1 on.")] = 1
    after: Annotated[
        str | None,
        means(
            "Another moment, of any validator: occurrences count from the first occurrence of that moment.",
            left_out="none, they count from `from_ms` on",
        ),
    ] = None
    from_ms: Annotated[Milliseconds, means("When occurrences begin to count, in the time of the run.")] = 0
    by_ms: Annotated[Milliseconds, means("Until when the run waits for the moment, in the time of the run.")]

    def check(self, place: str, replicas: int) -> Iterator[Requirement]:
        """Yield the rules of an anchor: the key, whether the rule holds, the allowed values."""
        for key, name in (("event", self.event), ("after", self.after or self.event)):
            named = f"{name[:40]!r}{did_you_mean(name[:40], MOMENTS)}"
            reason = f"no moment is called {named}; there are {', '.join(MOMENTS)}"
            yield f"{place}.{key}", name in MOMENTS, reason
        is_there = self.of is None or self.of < replicas
        yield f"{place}.of", is_there, f"unknown validator {self.of}; this cluster has 0 to {replicas - 1}"
        yield f"{place}.by_ms", self.from_ms < self.by_ms, f"{self.by_ms} is not after from_ms, which is {self.from_ms}"

    def bounds(self, start_ms: int, stop_ms: int) -> tuple[int, int]:
        """Return the time of the run that can contain a span counted from this moment."""
        return self.from_ms + start_ms, self.by_ms + stop_ms

    def describe(self) -> str:
        """Return a clause for the time of the moment."""
        who = "any validator" if self.of is None else f"validator {self.of}"
        times = f" for the {_ordinal(self.nth)} time" if self.nth > 1 else ""
        since = f", counted from when {MOMENTS[self.after].clause('any validator')}" if self.after else ""
        start = f"from {seconds(self.from_ms)} " if self.from_ms else ""
        return f"{MOMENTS[self.event].clause(who)}{times}{since} (awaited {start}until {seconds(self.by_ms)})"


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in {11, 12, 13} else ending}"
