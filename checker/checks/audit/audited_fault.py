"""A fault of the plan as the audit follows it: its steps, its effects, and the steps that are drawn again."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple, TypeAlias

from checker.checks.audit.links import Link, LinkCondition
from checker.checks.audit.machines import AuditedMachines
from checker.checks.audit.plan import MILLISECOND_US, Plain

Act = Callable[[int], object]
"""The effect of a step, at a virtual time."""


class PlannedStep(NamedTuple):
    """A moment of a fault: its time, its name in the trace, and its effect."""

    at_us: int
    edge: str
    act: Act


Steps = Iterator[PlannedStep]

MakeSteps: TypeAlias = "Callable[[AuditedFault, Plain], Steps]"


class AuditedFault:
    """A fault of the plan; `make` yields its steps in its own time, and `is_drawn` says whether they are drawn.

    Attributes:
        steps: The steps that are left, in the order of their times.
        reactions: By name, the effects of edges whose time depends on the run.
        leader: The leader of the greatest view that a validator has entered, if this view has a leader.
        on_leader: The effect of another leader.
    """

    def __init__(self, machines: AuditedMachines, name: str, fault: Plain, make: MakeSteps, *, is_drawn: bool) -> None:
        self.machines, self.messages = machines, machines.messages
        self.name, self.fault, self.nodes = name, fault, machines.plan.nodes
        self.reactions: dict[str, Act] = {}
        self.leader: int | None = None
        self.on_leader: Act = no_effect
        self.origin_us = 0
        self._make, self._is_drawn = make, is_drawn
        self.steps = self._planned()

    def _planned(self) -> list[PlannedStep]:
        steps = sorted(self._make(self, self.fault), key=time_of)
        return [step._replace(at_us=self.origin_us + step.at_us) for step in steps]

    def count_from(self, origin_us: int) -> None:
        """Count its times from the moment of its anchor."""
        self.origin_us = origin_us
        self.steps = self._planned()

    def draw_again(self, now_us: int) -> None:
        """Plan the steps again that are still to come: draws have another seed."""
        if self._is_drawn:
            later = [step for step in self._planned() if step.at_us > now_us]
            self.steps = [step for step in self.steps if step.at_us <= now_us] + later

    def targets(self) -> tuple[int, ...]:
        """Return the validators that a fault of machines or disks names."""
        return tuple(self.fault.get("validators") or (self.fault["validator"], *self.fault.get("also", ())))

    def us(self, key: str) -> int:
        """Return a time of the plan in microseconds; 0 where the fault has none of this name."""
        return int(self.fault.get(key) or 0) * MILLISECOND_US

    def drawn(self, at_ms: int, subject: str, ordinal: int = 0) -> int:
        """Return a draw of the fault's own, for a moment in its time."""
        at_us = self.origin_us + at_ms * MILLISECOND_US
        return self.machines.seeds.draw_for(at_us, f"{self.fault['kind']} {self.name}", subject, ordinal)

    def window(self, begin: Act, end: Act, span_ms: tuple[int, int] | None = None) -> Steps:
        """Yield each start and stop: in a part's time, in the rhythm of the fault, or once."""
        start_ms, stop_ms = span_ms or (self.fault["start_ms"], self.fault["stop_ms"])
        on_ms, off_ms = stop_ms - start_ms, self.fault.get("open_ms") or self.fault.get("run_ms", 0)
        if off_ms:
            on_ms = self.fault.get("cut_ms") or self.fault["pause_ms"]
        for at_ms in range(start_ms, stop_ms, on_ms + off_ms):
            yield PlannedStep(at_ms * MILLISECOND_US, "start", begin)
            yield PlannedStep(min(at_ms + on_ms, stop_ms) * MILLISECOND_US, "stop", end)

    def impose(self, condition: LinkCondition, links: Iterable[Link], span_ms: tuple[int, int] | None = None) -> Steps:
        """Yield the steps of a condition on links; the end of a clog or a jam releases what it holds."""
        messages, name, resets = self.messages, condition.name, self.fault.get("in_flight") == "lost"

        def lift(now_us: int) -> None:
            messages.lift(name)
            if condition.action == "hold" and self.fault["kind"] != "rule":
                messages.release(name, now_us, self.us("release_gap_ms"))

        yield from self.window(lambda _now_us: messages.impose(condition, links, resets=resets), lift, span_ms)

    def outage(self, span_ms: tuple[int, int], nodes: tuple[int, ...]) -> Steps:
        """Yield the steps of machines that lose their power and get it back."""
        cut, give = self.machines.cut_power, self.machines.give_power
        begin = partial(cut, self.name, nodes=nodes, is_wiped=self.fault["kind"] == "wipe")
        yield from self.window(begin, partial(give, self.name, nodes=nodes), span_ms)


def time_of(step: PlannedStep) -> int:
    """Return when a step is due."""
    return step.at_us


def no_effect(_now_us: int) -> None:
    """Change nothing that a log shows."""
