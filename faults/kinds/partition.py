"""Partitions: links between groups of validators are cut, held or delayed."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, assert_never

from faults.coverage.required import CUTS, RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.links import clog_window, crossing_links, cut_window, rule_window
from faults.injection.steps import Edge
from faults.kinds.base import Family, Loss, Part, Plan, Windowed
from faults.kinds.drawing import Drawn, Plain, draw_groups, draw_in_flight, draw_window
from faults.kinds.fields import InFlight, Milliseconds, Requirement, Validator, distinct, means
from faults.kinds.wording import IN_FLIGHT, braced, join, seconds
from network.conditions import MessageRule
from network.draw import Draw
from network.types import MILLISECOND_US


class Partition(Windowed, tag="partition", kw_only=True, frozen=True):
    """Cut, jam or slow every link between different groups; a validator in no group is a group of its own.

    ``one_way``: only from earlier groups to later groups, in the order of `groups`.
    """

    counts: ClassVar[str] = "messages lost, held or delayed"
    cells: ClassVar[RequiredPoints] = CUTS
    family: ClassVar[Family] = "network"
    reaches: ClassVar[tuple[Part, ...]] = ("links",)

    groups: Annotated[
        tuple[tuple[Validator, ...], ...],
        means(
            "Lists of validators, at least two, each validator once; a validator in no group, or an observer, is alone."
        ),
    ]
    manner: Annotated[
        Literal["cut", "held", "delayed"],
        means(
            "`cut`: messages are lost; `held`: messages wait, and arrive in their order at the end; "
            "`delayed`: messages arrive `delay_ms` later."
        ),
    ] = "cut"
    one_way: Annotated[bool, means("Only from earlier groups to later groups.")] = False
    delay_ms: Annotated[Milliseconds, means("With `delayed`, at least 1.")] = 0
    release_gap_ms: Annotated[
        Milliseconds,
        means("With `held`, the time between two released messages of one receiver."),
    ] = 0
    in_flight: Annotated[
        InFlight,
        means(
            "With `cut`, `lost` resets the connection: messages that are on their way or held at the "
            "start are lost too."
        ),
    ] = "arrives"

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield distinct("groups", self.targets())
        yield split("groups", self.groups)
        is_slow = self.manner == "delayed"
        yield "delay_ms", is_slow == bool(self.delay_ms), "belongs to the manner delayed, at least 1"
        yield "release_gap_ms", self.manner == "held" or not self.release_gap_ms, "belongs to the manner held"
        yield "in_flight", self.manner == "cut" or self.in_flight == "arrives", "belongs to the manner cut"

    def describe(self) -> str:
        if self.one_way:
            links = f"all links from {' to '.join(map(braced, self.groups))}"
        else:
            links = f"all links between {join([braced(group) for group in self.groups])}"
        match self.manner:
            case "cut":
                fate = f"{links} are cut{IN_FLIGHT[self.in_flight]}"
            case "held":
                fate = f"{links} are held: messages wait, and arrive in their order at the end"
            case "delayed":
                fate = f"messages on {links} arrive {seconds(self.delay_ms)} later"
        return f"{self.when()} {fate}."

    def losses(self, nodes: int) -> Iterator[Loss]:
        if self.manner != "delayed":
            yield Loss(*self.span(), links=crossing_links(self.groups, nodes, one_way=self.one_way))

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        links = crossing_links(self.groups, context.nodes, one_way=self.one_way)
        match self.manner:
            case "cut":
                yield from cut_window(context, self.span(), links, self.in_flight)
            case "held":
                yield from clog_window(context, self.span(), links, gap_ms=self.release_gap_ms)
            case "delayed":
                rule = MessageRule("delay", delay_us=self.delay_ms * MILLISECOND_US)
                yield from rule_window(context, self.span(), links, rule)
            case _:
                assert_never(self.manner)

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(0, "partition", _draw),)


def split(key: str, groups: tuple[tuple[int, ...], ...]) -> Requirement:
    """Require at least two groups with a validator in each."""
    is_split = len(groups) >= 2 and all(groups)
    return key, is_split, "needs at least two groups, none of them empty"


def _draw(draw: Draw, name: str, validators: int) -> Plain:
    fault = {"groups": draw_groups(draw, name, validators), **draw_window(draw, name)}
    fault["manner"] = draw.one_of(f"{name}.manner", ("cut", "cut", "cut", "cut", "cut", "held", "held", "delayed"))
    fault["one_way"] = draw.chance(f"{name}.one_way", 15)
    if fault["manner"] == "delayed":
        return {**fault, "delay_ms": draw.one_of(f"{name}.delay_ms", (300, 1_200))}
    if fault["manner"] == "held":
        return {**fault, "release_gap_ms": draw.one_of(f"{name}.release_gap_ms", (0, 20))}
    return {**fault, **draw_in_flight(draw, name)}
