"""The check of the test bed itself, from the plan and the trace alone.

The other checks believe the test bed: that a cut was a cut, a crash a crash and a slow disk slow. This one does not.
"""

from bisect import insort
from typing import Final

from checker.checks.audit.clients import AuditedClients
from checker.checks.audit.draws import AuditedChance
from checker.checks.audit.machines import Machines
from checker.checks.audit.moments import SeenMoments, with_both
from checker.checks.audit.moving import MOVE, BoundaryCrash, CurrentLeader, Isolation
from checker.checks.audit.plan import MILLISECOND_US, TestBedPlan
from checker.checks.audit.specimens import find_faults
from checker.checks.audit.steps import KNOWN_KINDS, AuditBench, PlannedStep, steps_of
from checker.checks.audit.traffic import MessageLedger
from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.results import CheckResult
from faults.events import FaultEdge
from network.events import Event, Handlers, TraceEvent
from validators.events import (
    BlockExecuted,
    BlockFinalized,
    Booted,
    CertificateHeld,
    Entered,
    Halted,
    MessageRefused,
    Reported,
    Voted,
)

ANCHOR: Final = "anchor"
"""The edge of a fault whose times count from there."""

_DEEDS: Final = (Booted, Halted, Voted, CertificateHeld, Reported, BlockExecuted, BlockFinalized, MessageRefused)
"""Acts of a validator that gets an event, besides sending and syncing."""


class Audit(Check):
    """The log of the run follows from its plan: messages, power, work, clocks, disks, clients and every draw."""

    name = "audit"
    exit_class = "determinism"
    sees_earlier_events = False
    sees_everybody = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        plan = run.test_bed
        self._plan = plan
        self._is_asked = plan is not None and plan.is_whole and _is_known(plan)
        if plan is None or not self._is_asked:
            return
        chance = AuditedChance(plan.seed)
        self._traffic = MessageLedger(plan, chance, self.tally.fail)
        self._machines = Machines(plan, self._traffic, self.tally.fail)
        self._clients = AuditedClients(plan.validators, self._traffic, self.tally.fail)
        bench = AuditBench(plan, chance, self._traffic, self._machines)
        faults = plan.enabled()
        self._leaders = CurrentLeader()
        self._isolations = {
            name: Isolation(bench, name, fault, self._leaders)
            for name, fault in faults.items()
            if fault["kind"] == "isolate-leader"
        }
        self._boundaries = {
            name: BoundaryCrash(bench, name, fault)
            for name, fault in faults.items()
            if fault["kind"] == "crash-at-boundary"
        }
        self._steps: dict[str, list[PlannedStep]] = {
            name: steps_of(bench, name, fault) for name, fault in faults.items()
        }
        self._steps |= {name: list(isolation.steps) for name, isolation in self._isolations.items()}
        self._steps |= {name: list(crash.steps) for name, crash in self._boundaries.items()}
        # The steps of an anchored fault count from its anchor, which the trace tells.
        self._anchored = {
            name: (fault["anchor"], self._steps.pop(name)) for name, fault in faults.items() if fault["anchor"]
        }
        self._moments = SeenMoments(anchor for anchor, _ in self._anchored.values())
        self._has_pauses = any(fault["kind"] == "pause" for fault in faults.values())
        self._edges = 0
        self._last_us = 0

    @property
    def handlers(self) -> Handlers:
        """Everything that messages and machines show; what validators do only where one may be paused."""
        if not self._is_asked:
            return {}
        deeds: Handlers = dict.fromkeys(_DEEDS, self._act) if self._has_pauses else {}
        moves: Handlers = {Entered: self._enter} if self._isolations else {}
        followed: Handlers = {
            **self._traffic.handlers,
            **self._machines.handlers,
            **self._clients.handlers,
            FaultEdge: self._reach_edge,
            **deeds,
            **moves,
        }
        return with_both(followed, self._moments.handlers)

    @property
    def is_asked(self) -> bool:
        """Whether all of the plan can be audited, and the run has its beginning."""
        return self._is_asked

    def _act(self, event: Event, deed: TraceEvent) -> None:
        """Require that a validator is not paused."""
        if self._traffic.is_paused[event.node]:
            what = f"validator {event.node} had {deed.kind!r} at {event.at_us:,} us while it was paused"
            self.tally.fail(what, validator=event.node, at_us=event.at_us)

    def _enter(self, event: Event, entered: Entered) -> None:
        if self._has_pauses:
            self._act(event, entered)
        if self._leaders.enter(entered.view, entered.leader):
            for isolation in self._isolations.values():
                isolation.see_leader(event.at_us, self.tally.fail)

    def _reach_edge(self, event: Event, edge: FaultEdge) -> None:
        """Compare an edge of a fault with the plan, and do what follows from it."""
        name, now_us = edge.fault, event.at_us
        self._edges += 1
        self._last_us = now_us
        self._machines.settle(now_us)
        if edge.edge == ANCHOR and name in self._anchored:
            self._count_from(name, now_us)
            return
        if edge.edge == MOVE and name in self._isolations:
            self._isolations[name].move(now_us, self.tally.fail)
            return
        if name in self._boundaries and edge.edge == self._boundaries[name].boundary:
            insort(self._steps[name], self._boundaries[name].strike(now_us, self.tally.fail), key=_time_of)
            return
        steps = self._steps.get(name, [])
        step = steps.pop(0) if steps else None
        if step is None or (step.at_us, step.edge) != (now_us, edge.edge):
            planned = "nothing" if step is None else f"{step.edge} at {step.at_us:,} us"
            self.tally.fail(f"fault {name} came to {edge.edge} at {now_us:,} us; the plan has {planned}", fault=name)
        if step is not None:
            step.act(now_us)

    def _count_from(self, name: str, now_us: int) -> None:
        """Let a fault's steps begin: its anchor has come, in the time in which it is awaited."""
        anchor, steps = self._anchored.pop(name)
        if not anchor["from_ms"] * MILLISECOND_US <= now_us <= anchor["by_ms"] * MILLISECOND_US:
            self.tally.fail(f"the anchor of fault {name} came at {now_us:,} us, when it was not awaited", fault=name)
        if fault := self._moments.find_fault(anchor, now_us):
            self.tally.fail(f"the anchor of fault {name} came at {now_us:,} us, and {fault}", fault=name)
        self._steps[name] = [step._replace(at_us=now_us + step.at_us) for step in steps]

    def finish(self) -> CheckResult:
        """Return the result."""
        for fault in find_faults(0 if self._plan is None else self._plan.seed):
            self.tally.fail(f"tried on a specimen, an instrument is wrong: {fault}")
        traffic, machines = self._traffic, self._machines
        end_us = max(self._last_us, traffic.last_us)
        machines.settle(end_us)
        for isolation in self._isolations.values():
            isolation.settle(end_us, self.tally.fail)
        for name, steps in self._steps.items():
            if steps and steps[0].at_us < end_us:
                missed = f"fault {name} did not come to {steps[0].edge} at {steps[0].at_us:,} us"
                self.tally.fail(missed, fault=name, at_us=steps[0].at_us)
        under_way = traffic.finish(end_us)
        self._clients.finish(end_us)
        counts, done = traffic.counts, machines.counts
        self.tally.compared += counts["sent"] + sum(done.values()) + self._edges + self._clients.submitted
        return self.tally.result(
            f"{counts['sent']:,} messages: {counts['delivered']:,} delivered, {counts['dropped']:,} dropped, "
            f"{counts['held']:,} held, {under_way:,} on their way, {counts['copied']:,} copies; "
            f"{done['work']:,} pieces of work, {done['timers']:,} timers, {done['starts']:,} starts "
            f"and {self._edges:,} edges of faults as planned"
        )


def _is_known(plan: TestBedPlan) -> bool:
    """Return whether every fault of the plan is of a kind that can be audited."""
    return all(fault["kind"] in KNOWN_KINDS for fault in plan.enabled().values())


def _time_of(step: PlannedStep) -> int:
    return step.at_us
