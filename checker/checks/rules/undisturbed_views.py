"""Undisturbed views: while no fault is active and the network is calm, a view whose leader is up ends in its block.

A nullified view costs only a timeout: the next leader proposes instead, so no other check sees it. A *calm stretch*
lies outside the time of every fault of the plan, and two certification timeouts after it. By then every validator that
was cut off or down has been heard again, and every timer of the fault's time has run out. A view is judged if

- it was entered and left within one calm stretch, and later views have final blocks;
- its leader is honest, votes, was not restarted within the margin, and has applied every block that is final when the
  view is first entered: a leader that lacks a block fetches it or joins from a snapshot before it builds;
- work leaves room: the leader's timeout has time for the block interval, six latencies, ten syncs, and three times the
  longest work of a block or of a message with transactions.
"""

from typing import ClassVar, Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.checks.world import NEVER_US
from checker.results import CheckResult, ExitClass
from faults.events import Crashed, Restarted
from network.events import Event, Handlers, OfLabels, Sent, WorkFinished
from validators.events import BlockFinalized, Booted, CertificateHeld, Entered, Halted, Reported, StoppedVoting

LARGE: Final = ("BlockRelay", "BlockResponse", "TransactionGossip")
"""Messages that carry transactions, and take long to decode where these are long."""

KIB: Final = 1_024
BLOCK_COSTS: Final = 3
LATENCIES: Final = 6
SYNCS: Final = 10
"""The leader and the other validators execute a view's block, and send and sync votes and certificates."""

UNFINAL_BLOCKS: Final = 4
"""A block that is proposed is at most so far above the final one, as long as finality goes on."""


class UndisturbedViews(Check):
    """No view is nullified while no fault is at work, the network is calm and the view's leader is up.

    Two certification timeouts after a fault are left out.
    """

    name = "undisturbed-views"
    exit_class: ClassVar[ExitClass] = "liveness"
    engines = ("simplex",)
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._margin_us = 2 * run.plan.certification_timeout_us
        # Where a run goes on from disks, no leader is up before it has booted: its view may be older than the process.
        up_us = 0 if run.test_bed is None or run.test_bed.is_whole else NEVER_US
        self._up_us = dict.fromkeys((node for node in run.honest if node < run.validators), up_us)
        self._heights: dict[int, int] = {}
        self._height = 0
        self._views: dict[int, tuple[int, int]] = {}
        self._nullified: dict[int, int] = {}
        self._reasons: dict[int, str] = {}
        self._has_prices = "tables" in run.offers
        self._cost_us = 0
        self._final_view = 0

    @property
    def handlers(self) -> Handlers:
        """Views, their ends, and whether their leaders are up."""
        return {
            Entered: self.entered,
            CertificateHeld: self.certificate_held,
            Reported: self.reported,
            BlockFinalized: self.finalized,
            Booted: self.booted,
            Restarted: self.restarted,
            Crashed: self.crashed,
            Halted: self.gone,
            StoppedVoting: self.gone,
            Sent: OfLabels(LARGE.__contains__, self.sent),
            **({} if self._has_prices else {WorkFinished: self.worked}),
        }

    def not_asked(self) -> str:
        """Return a reason where the network is never calm, or no view was entered while it was."""
        return "" if not self._views or self._judged() else "no view was entered in a calm stretch"

    def entered(self, event: Event, entered: Entered) -> None:
        """Note when a view was first entered, if its leader was fit to lead it."""
        view, leader = entered.view, entered.leader
        if view not in self._views:
            is_fit = leader in self._up_us and event.at_us - self._up_us[leader] >= self._margin_us * bool(
                self._up_us[leader]
            )
            # A leader that has just joined from a snapshot still lacks the blocks that came meanwhile.
            is_fit = is_fit and self._heights.get(leader, 0) >= self._height
            # Where builds of an application may differ, their leaders' blocks are refused by the others.
            is_fit = is_fit and not self.run.world.has_outdated(self._height + UNFINAL_BLOCKS)
            self._views[view] = event.at_us, leader if is_fit else -1

    def certificate_held(self, event: Event, held: CertificateHeld) -> None:
        """Note that a view was nullified."""
        if held.certificate == "nullification":
            self._nullified.setdefault(held.view, event.at_us)

    def reported(self, _event: Event, report: Reported) -> None:
        """Note why a view was given up first."""
        self._reasons.setdefault(report.view, report.detail)

    def finalized(self, event: Event, block: BlockFinalized) -> None:
        """Follow the chain."""
        self._heights[event.node] = block.height
        self._height = max(self._height, block.height)
        self._final_view = max(self._final_view, block.view)

    def booted(self, event: Event, booted: Booted) -> None:
        """Note a leader's height after its start, which is no restart in a run that goes on from disks."""
        self._heights[event.node] = booted.finalized_height
        self._note_power(event, event.node)

    def restarted(self, event: Event, restarted: Restarted) -> None:
        """Note a leader's start."""
        self._note_power(event, restarted.machine)

    def crashed(self, event: Event, crashed: Crashed) -> None:
        """Note that a leader is down."""
        self._note_power(event, crashed.machine)

    def gone(self, event: Event, _event: Halted | StoppedVoting) -> None:
        """Note that a validator leads no more."""
        self._up_us.pop(event.node, None)

    def sent(self, _event: Event, sent: Sent) -> None:
        """Work out the time to decode the message."""
        self._cost_us = max(self._cost_us, sent.length // KIB * self.run.plan.costs.decode_kib_us)

    def worked(self, _event: Event, work: WorkFinished) -> None:
        """Take the longest piece of work for a block's: an outside application's blocks have no price."""
        self._cost_us = max(self._cost_us, work.base_us)

    def settle(self, block: SettledBlock) -> None:
        """Work out the time to execute the block."""
        if not self._has_prices:
            return
        costs, summary = self.run.plan.costs, block.summary
        cycles = summary.cycles_used + summary.lane_cycles + summary.mailbox_cycles + summary.gc_cycles
        cost_us = costs.of_execution(cycles, len(block.changes), len(block.transactions))
        self._cost_us = max(self._cost_us, cost_us)

    def finish(self) -> CheckResult:
        """Return the result."""
        for view, (entered_us, leader) in self._judged().items():
            self.tally.compared += 1
            if view in self._nullified:
                self.tally.fail(
                    f"view {view} of validator {leader}, entered at {entered_us // 1_000:,} ms, was nullified but no "
                    f"fault was at work: {self._reasons.get(view, 'nobody gave it up')}",
                    view=view,
                    leader=leader,
                )
        return self.tally.result(f"{self.tally.compared:,} views in calm stretches ended in their leaders' blocks")

    def _note_power(self, event: Event, node: int) -> None:
        if node in self._up_us:
            self._up_us[node] = event.at_us

    def _judged(self) -> dict[int, tuple[int, int]]:
        """Return the views that have to end in a block."""
        plan = self.run.plan
        needed_us = BLOCK_COSTS * self._cost_us + LATENCIES * plan.latency_max_us + SYNCS * plan.costs.sync_us
        if plan.is_lossy or plan.block_interval_us + needed_us >= plan.leader_timeout_us:
            return {}
        return {
            view: (at_us, leader)
            for view, (at_us, leader) in self._views.items()
            if leader >= 0 and view <= self._final_view and self._is_calm(at_us, self._nullified.get(view, at_us))
        }

    def _is_calm(self, start_us: int, end_us: int) -> bool:
        faults = (*self.run.plan.faults, *self.run.world.outages)
        return not any(fault.start_us <= end_us and start_us <= fault.stop_us + self._margin_us for fault in faults)
