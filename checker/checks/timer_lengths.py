"""Timer lengths: every timer of a replica is set to the time that its settings say, and runs out in its own view.

A timer that is too long is missed by nobody while others act, and one that is too short costs messages. The trace has
the time that each was set to, whatever the machine's clock made of it. A timer of a view that was left, or of a wait
that ended with giving the view up, was not cancelled: an engine passes over it, so that it shows nowhere else. And a
request for a block that does not come is followed by its timer (`checker.checks.asked_blocks`).
"""

from collections.abc import Collection
from typing import ClassVar, Final

from checker.checks.asked_blocks import ANSWER, RELAY, REQUEST, AskedBlocks
from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.rules.registry import RULES
from checker.results import CheckResult, ExitClass
from faults.events import ClockSet, Crashed
from network.events import Delivered, Event, Handlers, OfLabels, Sent, TimerElapsed
from network.types import NodeId
from validators.events import BlockExecuted, Booted, Entered, Halted, Reported, SnapshotJoined

SECOND_US: Final = 1_000_000

VIEW_TIMERS: Final = ("leader", "certification", "retry", "view")
"""Timers of an engine whose number is that of a view; they end with it."""

ENDED_BY_GIVING_UP: Final = ("leader", "certification")
TIMED_OUT: Final = "TimedOut"

_SENT: Final = (REQUEST, RELAY)
_TAKEN: Final = (RELAY, ANSWER)


class TimerLengths(Check):
    """Every timer of an honest replica was set to its time of the settings; none is missing or outlives its wait."""

    name = "timer-lengths"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        plan = run.plan
        self._lengths: dict[object, Collection[int]] = {
            "regossip": (plan.regossip_us,),
            "answers": (SECOND_US,),
            "snapshot": (plan.fetch_timeout_us,),
            "fetch": (plan.fetch_grace_us, plan.fetch_timeout_us),
            # The rest of the interval, as the wall clock shows it.
            "pace": range(1, plan.block_interval_us + 1),
        }
        timers = RULES[run.engine].timers(plan)
        self._of_engine: dict[object, Collection[int]] = {name: (length_us,) for name, length_us in timers.items()}
        self._views: dict[NodeId, int] = {}
        self._given_up: dict[NodeId, int] = {}
        self._of_views = 0
        self._asked_blocks = AskedBlocks(run, self.tally)

    @property
    def handlers(self) -> Handlers:
        """Timers, the views that they are of, and the blocks that are asked for."""
        return {
            Booted: self.booted,
            Crashed: self.crashed,
            Halted: self.halted,
            SnapshotJoined: self.joined,
            ClockSet: self.clock_set,
            Entered: self.entered,
            Reported: self.reported,
            TimerElapsed: self.elapsed,
            Sent: OfLabels(_SENT.__contains__, self.sent),
            Delivered: OfLabels(_TAKEN.__contains__, self.delivered),
            BlockExecuted: self.executed,
        }

    def not_asked(self) -> str:
        """Return a reason where no timer of a known name ran out."""
        return "" if self.tally.compared else "no timer of a known name ran out"

    def booted(self, event: Event, booted: Booted) -> None:
        """Begin with the first view of a life, which nobody has given up in it."""
        self._views[event.node] = booted.view
        self._given_up.pop(event.node, None)
        self._asked_blocks.begin(event.node, event.at_us)

    def crashed(self, event: Event, crashed: Crashed) -> None:
        """End a life, and with it the waits for blocks."""
        self._asked_blocks.end(crashed.machine, event.at_us)

    def halted(self, event: Event, _halted: Halted) -> None:
        """End a life."""
        self._asked_blocks.end(event.node, event.at_us)

    def joined(self, event: Event, _joined: SnapshotJoined) -> None:
        """Note that a replica asks for other blocks from now on."""
        self._asked_blocks.begin(event.node, event.at_us)

    def clock_set(self, _event: Event, clock: ClockSet) -> None:
        """Note a clock that is slow."""
        if clock.ppm < 0:
            self._asked_blocks.slow_down(clock.machine)

    def sent(self, event: Event, sent: Sent) -> None:
        """Note a request for a block, or a block that is sent unasked."""
        if sent.label == REQUEST:
            self._asked_blocks.ask(event.node, event.at_us, sent.destination)
        elif sent.view is not None:
            self._asked_blocks.relay(sent.checksum, sent.view)

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Note blocks that come."""
        self._asked_blocks.take(event.node, event.at_us, delivered.label, delivered.checksum)

    def executed(self, _event: Event, block: BlockExecuted) -> None:
        """Note the view of a block."""
        self._asked_blocks.execute(block.digest, block.view)

    def entered(self, event: Event, entered: Entered) -> None:
        """Note the view of a replica."""
        self._views[event.node] = entered.view

    def reported(self, event: Event, report: Reported) -> None:
        """Note the view that a replica gives up."""
        if report.activity == TIMED_OUT:
            self._given_up[event.node] = report.view

    def elapsed(self, event: Event, timer: TimerElapsed) -> None:
        """Compare the time that a timer was set to, and its view with that of the replica."""
        key = timer.key if isinstance(timer.key, tuple) else (timer.key,)
        is_of_engine = key[0] == "consensus"
        if key[0] == "fetch" and isinstance(key[1], bytes):
            self._asked_blocks.elapse(event.node, event.at_us, key[1], timer.asked_us)
        name = key[1] if is_of_engine else key[0]
        if is_of_engine and name in VIEW_TIMERS:
            self._compare_view(event, str(name), key[2])
        allowed = (self._of_engine if is_of_engine else self._lengths).get(name)
        if allowed is None:
            return
        self.tally.compared += 1
        if timer.asked_us not in allowed:
            lengths = (
                f"1 to {allowed[-1]:,}" if isinstance(allowed, range) else " or ".join(f"{us:,}" for us in allowed)
            )
            self.tally.fail(
                f"validator {event.node} set its timer {name} to {timer.asked_us:,} us, and not to {lengths}",
                validator=event.node,
                at_us=event.at_us,
            )

    def finish(self) -> CheckResult:
        """Return the result."""
        self._asked_blocks.finish(self.run.end.now_us)
        return self.tally.result(
            f"{self.tally.compared - self._of_views:,} timers were set to the times of the settings, and "
            f"{self._of_views:,} ran out in their own view"
        )

    def _compare_view(self, event: Event, name: str, number: object) -> None:
        view = self._views.get(event.node)
        if view is None:
            return
        self.tally.compared += 1
        self._of_views += 1
        is_over = name in ENDED_BY_GIVING_UP and self._given_up.get(event.node) == number
        if number != view or is_over:
            since = "had given it up" if is_over else f"was in view {view:,}"
            self.tally.fail(
                f"validator {event.node}: the timer {name} of view {number} ran out as the replica {since}",
                validator=event.node,
                at_us=event.at_us,
            )
