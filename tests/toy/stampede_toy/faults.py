"""Two toy faults: one that does something, and one that only says so."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from stampede_testbed.plugin.faults import (
    Edge,
    Family,
    FaultContext,
    Validator,
    Windowed,
    all_links,
    cut_window,
    means,
)


class Mute(Windowed, tag="mute", frozen=True, kw_only=True):
    """No validator hears one of them."""

    family: ClassVar[Family] = "network"
    counts: ClassVar[str] = "messages lost"

    validator: Annotated[Validator, means("The validator that is not heard.")]

    def targets(self) -> tuple[int, ...]:
        """Return the validator."""
        return (self.validator,)

    def describe(self) -> str:
        """Return which validator is not heard, and when."""
        return f"{self.when()} no validator hears validator {self.validator}."

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        """Yield the start and the end of the cut."""
        links = [link for link in all_links(context.nodes) if link[0] == self.validator]
        yield from cut_window(context, self.span(), links)


class Harmless(Mute, tag="harmless", frozen=True, kw_only=True):
    """A fault that cuts no link."""

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        """Yield a start and an end, and nothing that could take effect between them."""
        yield from cut_window(context, self.span(), [])
