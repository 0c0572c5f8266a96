"""A run of a test bed, followed event by event: what its plan asks of messages, machines, clients and faults."""

from bisect import insort
from typing import Final, NamedTuple

from checker.checks.audit.clients import AuditedClients
from checker.checks.audit.draws import AuditedChance
from checker.checks.audit.left_out import LeftOut
from checker.checks.audit.machines import Machines
from checker.checks.audit.moments import SeenMoments, with_both
from checker.checks.audit.moving import MOVE, BoundaryCrash, CurrentLeader, Isolation
from checker.checks.audit.plan import MILLISECOND_US, TestBedPlan
from checker.checks.audit.steps import KNOWN_KINDS, AuditBench, PlannedStep, steps_of
from checker.checks.audit.traffic import Fail, MessageLedger
from faults.events import FaultEdge, Healed
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


class FollowedCounts(NamedTuple):
    """The number of comparisons, and the sentence that says of what."""

    compared: int
    told: str


class FollowedRun:
    """One run, and the plan that its log has to follow from.

    Args:
        plan: The plan; what its faults of other kinds may reach is left out.
        fail: Notes a failure.
    """

    def __init__(self, plan: TestBedPlan, fail: Fail) -> None:
        self._fail = fail
        chance = AuditedChance(plan.seed)
        self._left_out = LeftOut(plan, KNOWN_KINDS)
        self._traffic = MessageLedger(plan, chance, self._left_out, fail)
        self._machines = Machines(plan, self._traffic, self._left_out, fail)
        self._clients = AuditedClients(plan.validators, self._traffic, fail)
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
        self._healed_us: int | None = None

    @property
    def handlers(self) -> Handlers:
        """Everything that messages and machines show; what validators do only where one may be paused."""
        deeds: Handlers = dict.fromkeys(_DEEDS, self._act) if self._has_pauses else {}
        moves: Handlers = {Entered: self._enter} if self._isolations else {}
        followed: Handlers = {
            **self._traffic.handlers,
            **self._machines.handlers,
            **self._clients.handlers,
            FaultEdge: self._reach_edge,
            Healed: self._heal,
            **deeds,
            **moves,
        }
        return with_both(followed, self._moments.handlers)

    def _act(self, event: Event, deed: TraceEvent) -> None:
        """Require that a validator is not paused."""
        if self._traffic.is_paused[event.node]:
            what = f"validator {event.node} had {deed.kind!r} at {event.at_us:,} us while it was paused"
            self._fail(what, validator=event.node, at_us=event.at_us)

    def _enter(self, event: Event, entered: Entered) -> None:
        if self._has_pauses:
            self._act(event, entered)
        if self._leaders.enter(entered.view, entered.leader):
            for isolation in self._isolations.values():
                isolation.see_leader(event.at_us, self._fail)

    def _heal(self, event: Event, _healed: Healed) -> None:
        """Note from when on no fault is said to be at work, which is said once."""
        if self._healed_us is not None:
            self._fail(f"the run was whole again at {event.at_us:,} us, and at {self._healed_us:,} us before")
        self._healed_us = event.at_us

    def _reach_edge(self, event: Event, edge: FaultEdge) -> None:
        """Compare an edge of a fault with the plan, and do what follows from it."""
        name, now_us = edge.fault, event.at_us
        self._edges += 1
        self._last_us = now_us
        self._machines.settle(now_us)
        if self._healed_us is not None and now_us > self._healed_us:
            told = (
                f"fault {name} came to {edge.edge} at {now_us:,} us, after the run was whole at {self._healed_us:,} us"
            )
            self._fail(told, fault=name, at_us=now_us)
        if edge.edge == ANCHOR and name in self._anchored:
            self._count_from(name, now_us)
            return
        if edge.edge == MOVE and name in self._isolations:
            self._isolations[name].move(now_us, self._fail)
            return
        if name in self._boundaries and edge.edge == self._boundaries[name].boundary:
            insort(self._steps[name], self._boundaries[name].strike(now_us, self._fail), key=_time_of)
            return
        if self._left_out.is_foreign(name):
            self._left_out.begin(name, now_us)
            self._traffic.leave_out()
            return
        steps = self._steps.get(name, [])
        step = steps.pop(0) if steps else None
        if step is None or (step.at_us, step.edge) != (now_us, edge.edge):
            planned = "nothing" if step is None else f"{step.edge} at {step.at_us:,} us"
            self._fail(f"fault {name} came to {edge.edge} at {now_us:,} us; the plan has {planned}", fault=name)
        if step is not None:
            step.act(now_us)

    def _count_from(self, name: str, now_us: int) -> None:
        """Let a fault's steps begin: its anchor has come, in the time in which it is awaited."""
        anchor, steps = self._anchored.pop(name)
        if not anchor["from_ms"] * MILLISECOND_US <= now_us <= anchor["by_ms"] * MILLISECOND_US:
            self._fail(f"the anchor of fault {name} came at {now_us:,} us, when it was not awaited", fault=name)
        if fault := self._moments.find_fault(anchor, now_us):
            self._fail(f"the anchor of fault {name} came at {now_us:,} us, and {fault}", fault=name)
        self._steps[name] = [step._replace(at_us=now_us + step.at_us) for step in steps]

    def finish(self) -> FollowedCounts:
        """Require what was owed until the end, and return what has been compared."""
        traffic, machines, left_out = self._traffic, self._machines, self._left_out
        end_us = max(self._last_us, traffic.last_us)
        machines.settle(end_us)
        for isolation in self._isolations.values():
            isolation.settle(end_us, self._fail)
        for name, steps in self._steps.items():
            if steps and steps[0].at_us < end_us:
                missed = f"fault {name} did not come to {steps[0].edge} at {steps[0].at_us:,} us"
                self._fail(missed, fault=name, at_us=steps[0].at_us)
        under_way = traffic.finish(end_us)
        self._clients.finish(end_us)
        counts, done = traffic.counts, machines.counts
        compared = counts["sent"] + sum(done.values()) + self._edges + self._clients.submitted
        ends = f"{counts['delivered']:,} delivered, {counts['dropped']:,} dropped"
        if "links" not in left_out.since:
            ends += f", {counts['held']:,} held, {under_way:,} on their way, {counts['copied']:,} copies"
        return FollowedCounts(
            compared,
            f"{counts['sent']:,} messages: {ends}; "
            f"{done['work']:,} pieces of work, {done['timers']:,} timers, {done['starts']:,} starts "
            f"and {self._edges:,} edges of faults as planned{left_out.told()}",
        )


def _time_of(step: PlannedStep) -> int:
    return step.at_us
