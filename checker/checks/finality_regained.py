"""Liveness: finality comes back after healing, and within the views and times that the scenario states."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.rules.registry import RULES
from checker.observations import name_validators
from checker.results import CheckResult, ExitClass
from faults.events import ApplicationLost, Crashed, Healed, Restarted
from network.events import Event, Handlers, WorkFinished
from network.words import counted
from validators.consensus.quorum import quorum_of
from validators.events import BlockFinalized, Booted, Entered, Halted, SnapshotJoined, StoppedVoting, Voted
from validators.identity import NEVER_VOTED
from validators.stats import DISK

STOPPED: Final = "stopped"
"""The outcome of a run that reached its own goal; any other outcome means that it was ended from outside."""


@dataclass(slots=True)
class _Healing:
    """The start of the measured phase: virtual time, the greatest view entered, the greatest height."""

    at_us: int
    view: int
    height: int


class FinalityRegained(Check):
    """After the last fault each live honest replica finalizes a new block within a stated number of views.

    Views are counted for the whole cluster: from the greatest view that an honest validator had entered when the last
    fault was over, to the greatest view entered when this replica finalizes a block that is new to all. Without a fault
    the count begins at the start of the run. Where views are slots of the clock, slots that went by while no validator
    was up are over as well when the last fault is. Observers have to follow finality like validators. A disk may cost a
    validator its vote or stop it. If a fault of the plan explains that, the validator counts towards f; otherwise it is
    a failure. A validator that loses its application is down until it is restarted. From the first loss on no gap is
    judged, and replicas without a new block are measured from the loss, and again from the restart. A validator is
    measured from the end of work that a fault has made longer, and counts as down if the run ends before. A replica
    that joins from a snapshot is measured from its join. `finality_gap_max_us` is given if nothing happens except that
    at most f validators are down for a while. Then two new blocks are never further apart than this time. A validator
    that joins from a snapshot counts as down until it has joined.
    """

    name = "finality-regained"
    exit_class: ClassVar[ExitClass] = "liveness"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._progress_us = 0
        self._validators = run.validators
        self._quorum = quorum_of(run.validators)
        self._views_max = run.expect.finality_views_max or RULES[run.engine].finality_views_max
        self._observers: dict[int, str] = {}
        self._stopped: dict[int, str] = {}
        self._is_up = dict.fromkeys(run.honest, True)
        self._halted: dict[int, str] = {}
        self._healing = _Healing(0, 0, 0)
        self._view = 0
        self._height = 0
        self._progress_view = 0
        self._regained: dict[int, tuple[int, int]] = {}
        self._lost: dict[int, None] = {}
        """Validators that are down because they lost their applications."""
        self._busy: dict[int, int] = {}
        """By replica, the greatest view as it joined from a snapshot, or as its last slowed work ended."""

    @property
    def handlers(self) -> Handlers:
        """Events of views, new blocks, power, and validators that lose their votes."""
        return {
            Entered: self.entered,
            Voted: self.vote,
            Booted: self.boot,
            BlockFinalized: self.finalized,
            Halted: self.halted,
            StoppedVoting: self.observer,
            Crashed: self.crashed,
            ApplicationLost: self.lost,
            Restarted: self.restarted,
            Healed: self.healed,
            WorkFinished: self.worked,
            SnapshotJoined: self.joined,
        }

    def entered(self, _event: Event, entered: Entered) -> None:
        """Follow the greatest view."""
        self._view = max(self._view, entered.view)

    def vote(self, _event: Event, vote: Voted) -> None:
        """Take a view from a vote too: an earlier process may have entered it."""
        self._view = max(self._view, vote.view)

    def boot(self, _event: Event, boot: Booted) -> None:
        """Take a restarted validator's final block, which it may have had no time to report."""
        self._height = max(self._height, boot.finalized_height)

    def finalized(self, event: Event, block: BlockFinalized) -> None:
        """Note the first new block of each validator."""
        if block.height > self._healing.height:
            views = max(self._view, block.view) - self._busy.get(event.node, self._healing.view)
            self._regained.setdefault(event.node, (views, event.at_us - self._healing.at_us))
        if block.height > self._height:
            self._judge_gap(event.at_us, block.height)
            self._height = block.height
            self._progress_view = max(self._view, block.view)

    def halted(self, event: Event, halted: Halted) -> None:
        """Note that a validator stopped: until its disk is repaired, or for good."""
        reason = halted.reason
        is_explained = reason.startswith(DISK) and event.node in self.run.disk_faults.touched
        (self._stopped if is_explained else self._halted)[event.node] = reason

    def observer(self, event: Event, observer: StoppedVoting) -> None:
        """Note that a validator lost its vote, or that a replica without a vote began to follow."""
        reason = observer.reason
        if event.node < self._validators:
            self._observers[event.node] = reason
        elif reason == NEVER_VOTED:
            return
        self.tally.compared += 1
        if event.node not in self.run.disk_faults.destroyed:
            self.tally.fail(
                f"validator {event.node} has become an observer, but no fault destroyed its disk: {reason}",
                validator=event.node,
            )

    def joined(self, event: Event, _joined: SnapshotJoined) -> None:
        """Count a replica as down until it has joined from a snapshot: it judges no proposal before."""
        if event.node < self._validators:
            self._progress_us = event.at_us
        if event.node not in self._regained:
            self._busy[event.node] = self._view

    def crashed(self, _event: Event, crashed: Crashed) -> None:
        """Note that the supervisor cut a validator's power."""
        self._set_up(crashed.machine, is_up=False)

    def restarted(self, event: Event, restarted: Restarted) -> None:
        """Note that a validator has power again; a stop because of its disk is over as well."""
        self._stopped.pop(restarted.machine, None)
        self._set_up(restarted.machine, is_up=True)
        if restarted.machine in self._lost:
            del self._lost[restarted.machine]
            self._begin_anew(event.at_us)

    def lost(self, event: Event, lost: ApplicationLost) -> None:
        """Measure a validator that loses its application from its return on."""
        self._lost[lost.machine] = None
        self._regained.pop(lost.machine, None)
        self._begin_anew(event.at_us)

    def healed(self, event: Event, _healed: Healed) -> None:
        """Start the measurement again: the last fault is over."""
        self._regained.clear()
        self._begin_anew(event.at_us)

    def _begin_anew(self, at_us: int) -> None:
        """Measure replicas without a new block from this moment on."""
        slot_us = self.run.plan.slot_us
        # In a blackout no validator enters a slot, but the clock goes on.
        view = max(self._view, at_us // slot_us) if slot_us else self._view
        self._healing = _Healing(at_us, view, self._height)
        self._busy.clear()

    def worked(self, event: Event, work: WorkFinished) -> None:
        """Measure a validator from the end of work that a fault had made longer."""
        begun_us = event.at_us - work.base_us - work.extra_us
        if work.extra_us and begun_us < self._healing.at_us < event.at_us and event.node not in self._regained:
            self._busy[event.node] = self._view

    def finish(self) -> CheckResult:
        """Return the result; a run that did not reach its goal was ended from outside."""
        run_reason = self.run.end.reason
        if self.run.plan.no_view_ends and not self._height:
            return self.tally.inconclusive(self.run.plan.no_view_ends)
        gone = {**self._halted, **self._stopped, **self.run.world.left_behind}
        running = [node for node, is_up in self._is_up.items() if is_up and node not in gone]
        slowed = [node for node in running if self._is_slowed(node)]
        live = [node for node in running if node not in slowed]
        for node, reason in sorted(self._halted.items()):
            self.tally.compared += 1
            self.tally.fail(f"validator {node} halted: {reason}", validator=node)
        lost = [node for node in sorted({**self._observers, **self._stopped}) if node < self._validators]
        byzantine = self._validators - sum(node < self._validators for node in self._is_up)
        if lost and len(lost) + byzantine > self._validators - self._quorum:
            return self.tally.inconclusive(
                f"{name_validators(lost)} lost their votes to their disks"
                f"{f' beside {byzantine} Byzantine' if byzantine else ''}; f = {self._validators - self._quorum}"
            )
        voters = [node for node in live if node < self._validators and node not in self._observers]
        if len(voters) < self._quorum:
            return self.tally.inconclusive(f"{len(voters)} honest validators were live; a quorum is {self._quorum}")
        waiting = [node for node in live if node not in self._regained]
        elapsed = self._view - self._healing.view
        if waiting and elapsed <= self._views_max and run_reason == STOPPED:
            return self.tally.inconclusive(
                f"run over {counted(elapsed, 'views')} after healing, before a new block of {name_validators(waiting)}"
            )
        for node in live:
            self._judge(node, elapsed, run_reason)
        return self._result(slowed) if run_reason == STOPPED else self._judge_unfinished(run_reason)

    def _is_slowed(self, node: int) -> bool:
        """Return whether a validator is still at work that a fault has made longer."""
        begun_us = self.run.end.slowed.get(node)
        return begun_us is not None and begun_us < self._healing.at_us and node not in self._regained

    def _judge_gap(self, at_us: int, height: int) -> None:
        """Require finality within the greatest gap: with at most f validators down, the other validators go on."""
        gap_us, self._progress_us = at_us - self._progress_us, at_us
        gap_max_us = self.run.expect.finality_gap_max_us
        if gap_max_us is None or self.run.world.outages:
            return
        self.tally.compared += 1
        if gap_us > gap_max_us:
            self.tally.fail(
                f"no new block was final for {gap_us // 1_000:,} ms before height {height}; expected at most "
                f"{gap_max_us // 1_000:,} ms while a quorum is up",
                height=height,
            )

    def _judge_unfinished(self, run_reason: str) -> CheckResult:
        """Return the result of a run ended from outside: failed if it stood still, inconclusive if it still moved."""
        idle_views = self._view - self._progress_view
        self.tally.compared += 1
        if run_reason == "deadlock" or idle_views > self._views_max:
            self.tally.fail(
                f"no new block was final in the last {counted(idle_views, 'views')}: the run ended by {run_reason} at "
                f"height {self._height}, before its goal",
                views=idle_views,
                height=self._height,
            )
        return self.tally.inconclusive(f"the run ended by {run_reason} at height {self._height}, before its goal")

    def _judge(self, node: int, elapsed: int, run_reason: str) -> None:
        self.tally.compared += 1
        views, _ = self._regained.get(node, (elapsed, 0))
        place = f"after healing at {self._healing.at_us / 1_000_000:.3f} s"
        if node not in self._regained:
            self.tally.fail(
                f"validator {node} finalized no new block in {counted(elapsed, 'views')} {place} (end: {run_reason})",
                validator=node,
                views=elapsed,
            )
        elif views > self._views_max:
            self.tally.fail(
                f"validator {node} finalized a new block {counted(views, 'views')} {place}; expected at most "
                f"{self._views_max}",
                validator=node,
                views=views,
            )

    def _result(self, slowed: Sequence[int]) -> CheckResult:
        if slowed:
            return self.tally.inconclusive(f"{name_validators(slowed)} had not ended work that a fault had made longer")
        views = max((views for views, _ in self._regained.values()), default=0)
        time_us = max((time_us for _, time_us in self._regained.values()), default=0)
        start = "healing" if self._healing.at_us else "the start"
        return self.tally.result(
            f"each validator finalized a new block within {time_us // 1_000:,} ms of {start} (views it took: {views})",
            views=views,
            time_us=time_us,
        )

    def _set_up(self, node: int, *, is_up: bool) -> None:
        if node in self._is_up:
            self._is_up[node] = is_up
