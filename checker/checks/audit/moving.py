"""Faults whose moments depend on the run: a leader that is isolated wherever it goes, a crash in the midst of a step.

The trace says when such a moment comes. Here stands what it may be, and what follows.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from checker.checks.audit.conditions import LinkCondition
from checker.checks.audit.plan import MILLISECOND_US, Plain, windows_of
from checker.checks.audit.steps import AuditBench, PlannedStep, between_groups
from checker.checks.audit.traffic import Fail

MOVE: Final = "move"
RESTART: Final = "restart"


class CurrentLeader:
    """The leader of the greatest view that a validator has entered, as the trace shows it."""

    def __init__(self) -> None:
        self.view = 0
        self.leader: int | None = None

    def enter(self, view: int, leader: int) -> bool:
        """See a view begin; return whether it is the greatest so far."""
        is_new = view > self.view
        if is_new:
            # A slot that a lottery gives to nobody has a negative one.
            self.view, self.leader = view, leader if leader >= 0 else None
        return is_new


class Isolation:
    """One `isolate-leader` fault."""

    def __init__(self, bench: AuditBench, name: str, fault: Plain, leaders: CurrentLeader) -> None:
        self._traffic, self._nodes = bench.traffic, bench.plan.nodes
        self._name, self._leaders = name, leaders
        self._isolated: int | None = None
        self._is_following = False
        self._owed_us: int | None = None
        self.steps: Final[list[PlannedStep]] = []
        for start_ms, stop_ms in windows_of(fault, "cut_ms", "open_ms"):
            self.steps.append(PlannedStep(start_ms * MILLISECOND_US, "start", self._begin))
            self.steps.append(PlannedStep(stop_ms * MILLISECOND_US, "stop", self._end))

    def _begin(self, _now_us: int) -> None:
        self._is_following = True
        self._cut_off(self._leaders.leader)

    def _end(self, _now_us: int) -> None:
        self._is_following, self._owed_us = False, None
        self._cut_off(None)

    def _cut_off(self, leader: int | None) -> None:
        if self._isolated is not None:
            self._traffic.lift(self._name)
        self._isolated = leader
        if leader is not None:
            others = [node for node in range(self._nodes) if node != leader]
            links = between_groups([[leader], others], self._nodes)
            self._traffic.impose(LinkCondition(name=self._name, is_cut=True), links)

    def see_leader(self, now_us: int, fail: Fail) -> None:
        """See that the leader may have changed: then the cut has to move in this instant."""
        self.settle(now_us, fail)
        if self._is_following and self._leaders.leader != self._isolated and self._owed_us is None:
            self._owed_us = now_us

    def move(self, now_us: int, fail: Fail) -> None:
        """See the cut move."""
        if self._owed_us != now_us:
            fail(f"fault {self._name} moved at {now_us:,} us although no other validator began to lead")
        self._owed_us = None
        self._cut_off(self._leaders.leader)

    def settle(self, now_us: int, fail: Fail) -> None:
        """Require that a move that was owed in an earlier instant has come."""
        if self._owed_us is not None and self._owed_us < now_us:
            fail(f"fault {self._name} had to move to validator {self._leaders.leader} at {self._owed_us:,} us")
            self._owed_us = None


class BoundaryCrash:
    """One `crash-at-boundary` fault."""

    def __init__(self, bench: AuditBench, name: str, fault: Plain) -> None:
        self._machines, self._name = bench.machines, name
        self._after_us = fault["restart_after_ms"] * MILLISECOND_US
        self._nodes = (fault["validator"], *fault["also"])
        self._is_watching = False
        self._every, self._has_struck = fault["every"], False
        self.boundary: Final = fault["boundary"]
        start_us, stop_us = fault["start_ms"] * MILLISECOND_US, fault["stop_ms"] * MILLISECOND_US
        self.steps: Final = [
            PlannedStep(start_us, "start", partial(self._watch, is_watching=True)),
            PlannedStep(stop_us, "stop", partial(self._watch, is_watching=False)),
        ]

    def _watch(self, _now_us: int, *, is_watching: bool) -> None:
        self._is_watching = is_watching

    def strike(self, now_us: int, fail: Callable[..., None]) -> PlannedStep:
        """See the power go; return when it comes back."""
        if not self._is_watching or (self._has_struck and not self._every):
            fail(f"fault {self._name} struck at {now_us:,} us, outside of its time or once too often")
        self._has_struck = True
        self._machines.cut_power(self._name, now_us, self._nodes)
        return PlannedStep(now_us + self._after_us, RESTART, self._give_back)

    def _give_back(self, now_us: int) -> None:
        self._machines.give_power(self._name, now_us, self._nodes)
