"""Timer lengths: every timer of a replica, beside those of its engine, is set to the time that its settings say.

A timer that is too long is missed by nobody while others act, and one that is too short costs messages. The trace has
the time that each was set to, whatever the machine's clock made of it. Timers of the engine are its specification's
(`checker.checks.consensus`). A request for a block that does not come is followed by its timer
(`checker.checks.asked_blocks`).
"""

from collections.abc import Collection
from typing import ClassVar, Final

from checker.checks.asked_blocks import ANSWER, RELAY, REQUEST, AskedBlocks
from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.results import CheckResult, ExitClass
from faults.events import ClockSet, Crashed
from network.events import Delivered, Event, Handlers, OfLabels, Sent, TimerElapsed
from validators.events import BlockExecuted, Booted, Halted, SnapshotJoined

SECOND_US: Final = 1_000_000

_SENT: Final = (REQUEST, RELAY)
_TAKEN: Final = (RELAY, ANSWER)


class TimerLengths(Check):
    """Every timer of an honest replica, beside its engine's, was set to the time of the settings; none is missing."""

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
        self._asked_blocks = AskedBlocks(run, self.tally)

    @property
    def handlers(self) -> Handlers:
        """Timers, and the blocks that are asked for."""
        return {
            Booted: self.booted,
            Crashed: self.crashed,
            Halted: self.halted,
            SnapshotJoined: self.joined,
            ClockSet: self.clock_set,
            TimerElapsed: self.elapsed,
            Sent: OfLabels(_SENT.__contains__, self.sent),
            Delivered: OfLabels(_TAKEN.__contains__, self.delivered),
            BlockExecuted: self.executed,
        }

    def not_asked(self) -> str:
        """Return a reason where no timer of a known name ran out."""
        return "" if self.tally.compared else "no timer of a known name ran out"

    def booted(self, event: Event, _booted: Booted) -> None:
        """Begin a life."""
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

    def elapsed(self, event: Event, timer: TimerElapsed) -> None:
        """Compare the time that a timer was set to."""
        key = timer.key if isinstance(timer.key, tuple) else (timer.key,)
        if key[0] == "fetch" and isinstance(key[1], bytes):
            self._asked_blocks.elapse(event.node, event.at_us, key[1], timer.asked_us)
        name = key[0]
        allowed = self._lengths.get(name)
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
        return self.tally.result(f"{self.tally.compared:,} timers were set to the times of the settings")
