"""The check of the test bed itself, from the plan and the trace alone.

Other checks trust the test bed: a cut link is cut, a crashed machine is off, a slow disk is slow. This check does not.
"""

from collections.abc import Callable

from checker.checks.audit.clients import AuditedClients
from checker.checks.audit.fault_steps import KNOWN_KINDS, fault_of
from checker.checks.audit.machines import AuditedMachines, Owed
from checker.checks.audit.messages import AuditedMessages
from checker.checks.audit.plan import MILLISECOND_US, TestBedPlan
from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.results import CheckResult
from faults.events import Crashed, FaultEdge, Healed, Restarted
from network.events import Event, EventRouter, Handlers, Reseeded, TraceEvent
from validators.events import Entered


class Audit(Check):
    """The log of the run follows from its plan: messages, power, work, clocks, disks, clients and every draw.

    The check works out each of them from the plan alone, without the bus and the injection of faults. It leaves out
    the parts that a plug-in's fault may reach.
    """

    name = "audit"
    exit_class = "determinism"
    sees_earlier_events = False
    sees_everybody = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        plan = run.test_bed
        is_asked = plan is not None and plan.is_whole
        self._followed = FollowedRun(plan, self.tally.fail) if plan is not None and is_asked else None

    @property
    def handlers(self) -> Handlers:
        """Everything that messages, machines, clients and faults show, leaders, and the moments of anchors."""
        return {} if self._followed is None else self._followed.handlers

    def not_asked(self) -> str:
        """Return a reason where there is no plan, or the run lacks its beginning."""
        return "another process began the run, or there is no plan" if self._followed is None else ""

    def finish(self) -> CheckResult:
        """Return the result."""
        assert self._followed is not None, "a check that is not asked has no end"
        self.tally.compared, told = self._followed.finish()
        return self.tally.result(told)


class FollowedRun:
    """A run of a test bed, followed event by event: its messages, machines, clients and faults, by the plan.

    A fault of a plug-in says only what it may reach. From its first edge on, failures of these parts do not count.
    """

    def __init__(self, plan: TestBedPlan, fail: Callable[..., None]) -> None:
        self._plan = plan
        self._note = fail
        self._left_out: dict[str, tuple[str, int]] = {}
        """By part of the test bed, the fault of a plug-in that reached it first, and the time."""
        self._messages = AuditedMessages(plan, self._fail)
        self._owed: Owed = {}
        self._machines = AuditedMachines(plan, self._messages, self._owed, self._fail)
        self._clients = AuditedClients(plan.validators, self._messages, self._fail)
        enabled = {name: fault for name, fault in plan.faults.items() if fault["enabled"]}
        self._faults = {name: fault_of(self._machines, name, fault) for name, fault in enabled.items()}
        self._anchors = {name: fault["anchor"] for name, fault in enabled.items() if fault["anchor"]}
        """The anchors that have not come yet."""
        self._seen: dict[tuple[type[TraceEvent], int | None], tuple[int, int]] = {}
        """By event that an anchor is read off, and by its validator or for all: the last time, and the count."""
        self._view = 0
        self._edges = 0
        self._last_us = 0
        self._healed_us: int | None = None

    def _fail(self, part: str, what: str, at_us: int) -> None:
        """Note a failure, unless its part of the test bed is left out."""
        if part not in self._left_out or at_us < self._left_out[part][1]:
            self._note(what, at_us=at_us)

    @property
    def handlers(self) -> Handlers:
        """Everything that messages, machines, clients and faults show, leaders, and the moments of anchors."""
        own: Handlers = {
            FaultEdge: self._reach_edge,
            Healed: self._heal,
            Entered: self._enter,
            Reseeded: self._reseed,
        }
        followed = {**self._messages.handlers, **self._machines.handlers, **self._clients.handlers, **own}
        moments = dict.fromkeys(self._plan.anchor_events.values(), self._see_moment)
        router = EventRouter(followed, moments)
        return {**followed, **dict.fromkeys(moments, lambda event, _body: router.route(event))}

    def _enter(self, event: Event, entered: Entered) -> None:
        """See who leads the greatest view that a validator has entered."""
        self._settle(event.at_us)
        if entered.view > self._view:
            self._view = entered.view
            for fault in self._faults.values():
                # A slot that a lottery gives to nobody has a negative leader.
                fault.leader = entered.leader if entered.leader >= 0 else None
                fault.on_leader(event.at_us)

    def _settle(self, now_us: int) -> None:
        """Require that all events have come that were owed in an earlier instant."""
        for event, (at_us, sentence) in list(self._owed.items()):
            if at_us < now_us:
                del self._owed[event]
                self._fail("", f"{sentence} at {at_us:,} us", at_us)

    def _see_moment(self, event: Event, body: TraceEvent) -> None:
        """Count an event that an anchor may be read off."""
        subject = body.machine if isinstance(body, Crashed | Restarted) else event.node
        for about in ((type(body), subject), (type(body), None)):
            _, count = self._seen.get(about, (0, 0))
            self._seen[about] = event.at_us, count + 1

    def _heal(self, event: Event, _healed: Healed) -> None:
        """Note the time from which no fault is active, which the trace states once."""
        if self._healed_us is not None:
            self._fail("", f"the run was whole again at {event.at_us:,} us", event.at_us)
        self._healed_us = event.at_us

    def _reseed(self, event: Event, reseeded: Reseeded) -> None:
        """Take another seed for all later draws, as the plan has it."""
        if lack := self._machines.seeds.change(reseeded.turn, reseeded.seed, event.at_us):
            self._fail("", lack, event.at_us)
        self._messages.reseed(reseeded.seed)
        for fault in self._faults.values():
            fault.draw_again(event.at_us)

    def _reach_edge(self, event: Event, edge: FaultEdge) -> None:
        """Compare an edge of a fault with the plan, and apply its effect."""
        name, now_us = edge.fault, event.at_us
        fault = self._faults.get(name)
        came = f"fault {name} came to {edge.edge} at {now_us:,} us"
        self._edges += 1
        self._last_us = now_us
        self._settle(now_us)
        if self._healed_us is not None and now_us > self._healed_us:
            self._fail("", f"{came}, after the run was whole at {self._healed_us:,} us", now_us)
        if edge.edge == "anchor" and name in self._anchors:
            self._count_from(name, now_us)
        elif fault is not None and fault.fault["kind"] not in KNOWN_KINDS:
            for part in self._plan.reaches[name]:
                self._left_out.setdefault(part, (name, now_us))
        elif fault is not None and edge.edge in fault.reactions:
            fault.reactions[edge.edge](now_us)
        else:
            steps = [] if fault is None or name in self._anchors else fault.steps
            step = steps.pop(0) if steps else None
            if step is None or (step.at_us, step.edge) != (now_us, edge.edge):
                planned = "nothing" if step is None else f"{step.edge} at {step.at_us:,} us"
                self._fail("", f"{came}; the plan has {planned}", now_us)
            if step is not None:
                step.act(now_us)

    def _count_from(self, name: str, now_us: int) -> None:
        """Let a fault's steps begin: its anchor has come, at its moment and in the time in which it is awaited."""
        anchor, fault, kind = self._anchors.pop(name), self._faults[name], self._plan.anchor_events[name]
        last_us, count = self._seen.get((kind, anchor["of"]), (-1, 0))
        lack = ""
        if not anchor["from_ms"] * MILLISECOND_US <= now_us <= anchor["by_ms"] * MILLISECOND_US:
            lack = "when it was not awaited"
        elif last_us != now_us:
            whose = "any validator" if anchor["of"] is None else f"validator {anchor['of']}"
            lack = f"and no {kind.kind!r} of {whose} is there"
        elif count < anchor["nth"]:
            lack = f"and it counts {anchor['nth']} of them, and there were {count}"
        if lack:
            self._fail("", f"the anchor of fault {name} came at {now_us:,} us, {lack}", now_us)
        fault.count_from(now_us)

    def finish(self) -> tuple[int, str]:
        """Require the events that are still due; return the number of comparisons, and the sentence about them."""
        end_us = max(self._last_us, self._messages.last_us)
        self._settle(end_us)
        for name, fault in self._faults.items():
            step = fault.steps[0] if fault.steps and name not in self._anchors else None
            if step is not None and step.at_us < end_us:
                self._fail("", f"fault {name} did not come to {step.edge} at {step.at_us:,} us", step.at_us)
        self._messages.finish(end_us)
        self._clients.settle(end_us)
        sent, done = self._messages.counts, self._machines.counts
        told = (
            f"{sent['sent']:,} messages: {sent['delivered']:,} delivered, {sent['dropped']:,} dropped; "
            f"{done['work']:,} pieces of work, {done['timers']:,} timers, {done['starts']:,} starts "
            f"and {self._edges:,} edges of faults as planned"
        )
        parts = [f"{part} from {at_us:,} us on (fault {fault})" for part, (fault, at_us) in self._left_out.items()]
        left_out = f"; not audited: {', '.join(parts)}" if parts else ""
        return sent["sent"] + sum(done.values()) + self._edges + self._clients.submitted, told + left_out
