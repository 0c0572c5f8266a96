"""Storms of restarts: validators lose their power in turn, again and again."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, NamedTuple

from faults.coverage.required import RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.steps import Edge
from faults.kinds.base import DOWN, Family, Loss, Occupied, Part, Plan, Windowed
from faults.kinds.drawing import Drawn, Plain, draw_window
from faults.kinds.fields import Milliseconds, Positive, Requirement, Validator, distinct, means
from faults.kinds.wording import seconds, who
from network.chance import Chance, below
from network.draw import Draw


class StormOutage(NamedTuple):
    """A validator without power, in virtual milliseconds."""

    node: int
    at_ms: int
    back_ms: int


class RestartStorm(Windowed, tag="restart-storm", kw_only=True, frozen=True):
    """Cut the power of validators in turn, again and again; without ``validators`` all are hit.

    The time between two cuts is drawn within ``every_ms``, and the time off within ``down_ms``. The fault skips a
    validator that is still off. Validators are hit in turn, or with ``is_drawn`` in a drawn order.
    """

    counts: ClassVar[str] = "restarts"
    cells: ClassVar[RequiredPoints] = (("awaiting-proposal", "voter"),)
    family: ClassVar[Family] = "machine"
    reaches: ClassVar[tuple[Part, ...]] = ("power",)
    draws_ahead: ClassVar[bool] = True

    validators: Annotated[
        tuple[Validator, ...],
        means("The validators, in the order of their turns; left out: all, observers too."),
    ] = ()
    start_ms: Annotated[Milliseconds, means("When power is cut first.")]
    stop_ms: Annotated[Milliseconds, means("When power is cut last. Every validator is back after the longest outage.")]
    every_ms: Annotated[tuple[Positive, Positive], means("`[least, most]` between two cuts; the time is drawn.")]
    down_ms: Annotated[
        tuple[Positive, Positive],
        means("`[least, most]` for which a validator is off; the fault skips a validator that is still off."),
    ]
    is_drawn: Annotated[bool, means("Whether the order is drawn; otherwise validators are hit in turn.")] = False

    def span(self) -> tuple[int, int]:
        return self.start_ms, self.stop_ms + self.down_ms[1]

    def occupies(self) -> Occupied | None:
        return DOWN

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield distinct("validators", self.validators)
        for key, (least, most) in (("every_ms", self.every_ms), ("down_ms", self.down_ms)):
            yield key, least <= most, "is [least, most], and the least must not be above the most"

    def describe(self) -> str:
        hit = who(self.validators) if self.validators else "all validators"
        order = "in a drawn order" if self.is_drawn else "in turn"
        every, down = (f"{seconds(least)} to {seconds(most)}" for least, most in (self.every_ms, self.down_ms))
        times = f"one every {every}, and restart from their disks {down} later"
        return f"{self.when()} {hit} lose their power {order}, {times}."

    def losses(self, nodes: int) -> Iterator[Loss]:
        yield Loss(*self.span(), off=self.validators or tuple(range(nodes)), is_sure=False)

    def drawn_outages(self, name: str, chance: Chance, nodes: int) -> Iterator[StormOutage]:
        """Yield the outages in the order of the cuts."""
        hit = self.validators or tuple(range(nodes))
        purpose = f"restart-storm {name}"
        back_ms = dict.fromkeys(hit, -1)
        at_ms, turn = self.start_ms, 0
        for cut in range(self.stop_ms - self.start_ms):
            if at_ms >= self.stop_ms:
                return
            drawn = chance.at(at_ms)
            on = [node for node in (*hit[turn:], *hit[:turn]) if back_ms[node] < at_ms]
            if on:
                place = below(drawn.draw(purpose, "machine", cut), len(on)) if self.is_drawn else 0
                node, turn = on[place], (hit.index(on[place]) + 1) % len(hit)
                back_ms[node] = at_ms + _within(self.down_ms, drawn.draw(purpose, "down", cut))
                yield StormOutage(node, at_ms, back_ms[node])
            at_ms += _within(self.every_ms, drawn.draw(purpose, "every", cut))

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        for node, at_ms, back_ms in self.drawn_outages(context.name, context.chance, context.nodes):
            yield from context.outage((at_ms, back_ms), (node,))

    def moments(self) -> int:
        """Return 0: it has outages only."""
        return 0

    def outages(self, replicas: int) -> int:
        """Return the approximate number of its outages; a validator that is still off has none."""
        doubled_ms, nodes = 2 * (self.stop_ms - self.start_ms), len(self.validators) or replicas
        return min(doubled_ms // sum(self.every_ms) + 1, nodes * (doubled_ms // sum(self.down_ms) + 1))

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(26, "restart-storm", _draw),)


def _within(bounds: tuple[int, int], draw: int) -> int:
    return bounds[0] + below(draw, bounds[1] - bounds[0] + 1)


def _draw(draw: Draw, name: str, validators: int) -> Plain:
    count = draw.between(f"{name}.count", 2, validators)
    return {
        "validators": draw.some_of(f"{name}.validators", range(validators), count),
        "every_ms": draw.one_of(f"{name}.every_ms", ([300, 900], [800, 2_500])),
        "down_ms": draw.one_of(f"{name}.down_ms", ([50, 600], [300, 4_000])),
        "is_drawn": draw.chance(f"{name}.is_drawn", 50),
        **draw_window(draw, name),
    }
