"""Upgrades: validators come back with another build of the application on their old directories."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, ClassVar, Self

import msgspec

from faults.injection.context import FaultContext
from faults.injection.steps import Edge, window
from faults.kinds.base import Loss, Outage, Part, Plan
from faults.kinds.fields import Milliseconds, NotNegative, Requirement, Validator, distinct, means
from faults.kinds.wording import seconds, who
from network.regions import Region


class Replace(Outage, tag="replace", kw_only=True, frozen=True):
    """Stop validators, and start each with another build of the application on its old directory.

    ``every_ms`` lies between two validators: they are upgraded one by one, or with 0 all at once. A validator that is
    not named keeps its build. A second fault upgrades a late validator, or brings ``main`` back.
    """

    counts: ClassVar[str] = "restarts"
    reaches: ClassVar[tuple[Part, ...]] = ("power",)
    only_stops: ClassVar[bool] = True

    build: Annotated[str, means("A name among `[application.builds]`, or `main`, the build of `[application]`.")]
    validators: Annotated[
        tuple[Validator, ...], means("The validators, in the order of their turns; left out: all of them.")
    ] = ()
    at_ms: Annotated[Milliseconds, means("When the first stops.")]
    restart_ms: Annotated[Milliseconds, means("When the first restarts, with the build.")]
    every_ms: Annotated[Milliseconds, means("Between the stops of two validators; 0 is all at once.")] = 0
    from_height: Annotated[
        NotNegative,
        means(
            "The height from which the build may differ from earlier ones: replicas that still run an earlier one are "
            "reported and not judged from there on. 0: builds may never differ."
        ),
    ] = 0

    def span(self) -> tuple[int, int]:
        return self.at_ms, self.restart_ms + self._delay_ms(len(self.validators) - 1)

    def span_at(self, node: int) -> tuple[int, int]:
        """Return when a validator is off."""
        delay_ms = self._delay_ms(self.validators.index(node)) if node in self.validators else 0
        return self.at_ms + delay_ms, self.restart_ms + delay_ms

    def _delay_ms(self, turn: int) -> int:
        return self.every_ms * max(turn, 0)

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield distinct("validators", self.validators)

    def resolved(self, regions: Sequence[Region], validators: int) -> Self:
        """Return the upgrade with all validators by number, unless it names some."""
        return msgspec.structs.replace(self, validators=self.validators or tuple(range(validators)))

    def installs(self) -> tuple[tuple[str, int], ...]:
        return ((self.build, self.from_height),)

    def runs_on_real_disks(self) -> bool:
        # A later process of the run would not know which build is installed.
        return False

    def describe(self) -> str:
        named = who(self.validators) if self.validators else "all validators"
        down = seconds(self.restart_ms - self.at_ms)
        pace = f"one every {seconds(self.every_ms)}" if self.every_ms else "all at once"
        rules = f", whose rules may differ from height {self.from_height} on" if self.from_height else ""
        return (
            f"At {seconds(self.at_ms)} {named} stop, {pace}, and come back {down} later with build {self.build}{rules}."
        )

    def losses(self, nodes: int) -> Iterator[Loss]:
        for node in self.validators:
            yield Loss(*self.span_at(node), off=(node,))

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        for node in self.validators:
            begin, end = partial(context.switch_off, (node,)), partial(self._switch_on, context, node)
            yield from window(*self.span_at(node), begin, end)

    def _switch_on(self, context: FaultContext, node: int) -> None:
        # Also where another fault keeps the machine off: it then comes back with the build.
        context.power.replace(node, self.build)
        context.switch_on((node,))

    def moments(self) -> int:
        """Return the number of its moments: a stop and a start of each validator."""
        return 2 * len(self.validators)
