"""Twins: one identity on two machines, each with its own disk."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, ClassVar, Final, TypeAlias

from faults.injection.context import FaultContext
from faults.injection.links import both_ways
from faults.injection.steps import Edge, window
from faults.kinds.base import Family, Loss, Part, Plan, Windowed, moments_of
from faults.kinds.fields import Positive, Requirement, Validator, distinct, means
from faults.kinds.wording import seconds
from network.chance import below
from network.conditions import Condition
from network.topology import MILLION

Sides: TypeAlias = tuple[bool, bool]
"""Whether a replica reaches the validator's own machine, and whether it reaches the twin."""

DRAWN: Final[tuple[Sides, ...]] = (*[(True, False)] * 3, *[(False, True)] * 3, (True, True), (False, False))
"""The outcomes of a draw, of one likelihood each: mostly one machine of the two, now and then both or neither."""


class Twin(Windowed, tag="twin", kw_only=True, frozen=True):
    """A second machine runs the honest code with the key and the number of a validator; no check covers the validator.

    The twin starts with an empty disk at `start_ms` and is off from `stop_ms` on. In each round a rule says which of
    the two machines each replica reaches and hears: by `first` and `second`, which repeat, or else drawn. The two
    machines do not hear each other. Of two validators with twins, the own machines hear each other, and the twins do.
    """

    counts: ClassVar[str] = "messages lost between a replica and one of the two machines"
    family: ClassVar[Family] = "validator"
    reaches: ClassVar[tuple[Part, ...]] = ("links", "power")
    is_byzantine: ClassVar[bool] = True
    draws_ahead: ClassVar[bool] = True

    validator: Annotated[Validator, means("The validator; it has one twin, so no other fault of this kind names it.")]
    round_ms: Annotated[Positive, means("The length of a round.")] = 1_000
    first: Annotated[
        tuple[tuple[Validator, ...], ...], means("By round, the replicas that reach the validator's own machine.")
    ] = ()
    second: Annotated[tuple[tuple[Validator, ...], ...], means("By round, the replicas that reach the twin.")] = ()
    above_f: Annotated[bool, means("Allows more than f Byzantine validators in the plan.")] = False

    def targets(self) -> tuple[int, ...]:
        return (self.validator,)

    def twinned(self) -> tuple[int, ...]:
        """Return the validator."""
        return (self.validator,)

    def exceeds_f(self) -> bool:
        """Whether the fault sets `above_f`."""
        return self.above_f

    def runs_on_real_disks(self) -> bool:
        """Whether there is a directory for the twin: there is none."""
        return False

    def losses(self, nodes: int) -> Iterator[Loss]:
        yield Loss(*self.span(), off=self.targets(), is_sure=False)

    def lost_views_ppm(self, validators: int) -> int:
        """Return all views that it leads."""
        return MILLION // validators

    def moments(self) -> int:
        return 2 + moments_of(self.stop_ms - self.start_ms, self.round_ms)

    def check(self, plan: Plan) -> Iterator[Requirement]:
        has_vote = self.validator < plan.validators
        yield "validator", has_vote, "an observer has no vote to give twice; validators alone have twins"
        twinned = [node for fault in plan.faults.values() if fault.enabled for node in fault.twinned()]
        yield "validator", twinned.count(self.validator) <= 1, "has another twin already"
        yield "second", len(self.first) == len(self.second), "needs as many rounds as first"
        for key, rounds in (("first", self.first), ("second", self.second)):
            for reaching in rounds:
                yield distinct(key, reaching)
                is_known = all(node < plan.replicas and node != self.validator for node in reaching)
                yield key, is_known, f"may name the replicas 0 to {plan.replicas - 1} without {self.validator}"

    def describe(self) -> str:
        rule = "a script says" if self.first else "chance draws"
        return (
            f"{self.when()} validator {self.validator} has a twin, with its key and an empty disk; {rule} every "
            f"{seconds(self.round_ms)} which of the two machines each replica reaches."
        )

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        machine = context.machinery.twins[self.validator]
        yield Edge(self.start_ms, self.stop_ms, "boot", partial(_boot, context, machine))
        for place, start_ms in enumerate(range(self.start_ms, self.stop_ms, self.round_ms)):
            stop_ms = min(start_ms + self.round_ms, self.stop_ms)
            links = both_ways(self._cut_pairs(context, machine, place))
            begin, end = partial(_cut, context, str(place), links), partial(_lift, context, str(place))
            yield from window(start_ms, stop_ms, begin, end)
        yield Edge(self.stop_ms, self.stop_ms, "end", partial(_end, context, machine))

    def _cut_pairs(self, context: FaultContext, machine: int, place: int) -> Iterator[tuple[int, int]]:
        """Yield the pairs of machines that do not hear each other in a round."""
        twins = context.machinery.twins
        for node in range(context.nodes):
            if node == self.validator:
                continue
            if node in twins:
                yield self.validator, twins[node]
                continue
            reaches_own, reaches_twin = self._sides(context, node, place)
            if not reaches_own:
                yield self.validator, node
            if not reaches_twin:
                yield machine, node

    def _sides(self, context: FaultContext, node: int, place: int) -> Sides:
        if not self.first:
            chance = context.chance.at(self.start_ms + place * self.round_ms)
            word = chance.draw(f"twin {context.name}", f"round {place}", node)
            return DRAWN[below(word, len(DRAWN))]
        turn = place % len(self.first)
        return node in self.first[turn], node in self.second[turn]


def _boot(context: FaultContext, machine: int) -> None:
    context.machinery.on_restart(machine)
    context.power.restart(machine)


def _end(context: FaultContext, machine: int) -> None:
    context.power.crash(machine)


def _cut(context: FaultContext, part: str, links: tuple[tuple[int, int], ...]) -> None:
    context.bus.impose(Condition(name=context.condition(part), is_cut=True), links)


def _lift(context: FaultContext, part: str) -> None:
    context.bus.lift(context.condition(part))
