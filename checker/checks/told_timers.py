"""Timers of an outside application, checked from the events that it tells for each final block.

`checker.timer_book` has the rules. An application may state how many timers it removes and fires in a block. Then the
check predicts the drain of a storm: each block that leaves due timers has used up one of the two rates.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from checker.applications import ApplicationFacts
from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.observations import AppliedBlock
from checker.results import CheckResult
from checker.timer_book import Exits, TimerBook
from validators.execution.blocks import Header

OF_TIMERS: Final = ("timer-set", "timer-fired", "timer-removed", "timer-deferred", "timer-moved")
"""Names of the events about timers."""

KEPT_HEIGHTS: Final = 64
"""Heights whose events are kept, for replicas that are behind."""

Told = Iterable[Mapping[str, object]]


class Drain(NamedTuple):
    """Consecutive blocks that left due timers, and the first block that left none: timers removed and fired there."""

    blocks: int = 0
    removed: int = 0
    fired: int = 0


class ToldTimerFigures(NamedTuple):
    """All timers of an application so far, in counts; `overdue` counts the waiting timers that are due."""

    set: int
    fired: int
    removed: int
    waiting: int
    overdue: int


class TimersTold(Check):
    """Each timer that an application reports leaves once, never early, and in the order that it states.

    No timer is forgotten, and all replicas report the same for a block. No block removes or fires more than the
    application states, and a block that leaves due timers behind has used up one of the stated rates.
    """

    name = "told-timers"
    needs = "events"
    compares_replicas = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._facts = run.application or ApplicationFacts()
        self._book = TimerBook(is_fifo=self._facts.order == "fifo")
        self._fired = self._removed = self._overdue = 0
        self._told: dict[int, tuple[int, list[Mapping[str, object]]]] = {}
        """By height, the first replica that applied it, and the events of timers that its application reported."""
        self._drain = Drain()
        self.longest_drain = Drain()
        first_slot = run.rules.timestamp_ms // run.rules.slot_ms
        self._follow(first_slot if run.rules.timebase == "slot" else 0, 0, self._facts.told_at_genesis)

    def figures(self) -> ToldTimerFigures:
        """Return the counts so far."""
        book = self._book
        return ToldTimerFigures(book.set_count, self._fired, self._removed, len(book.waiting), self._overdue)

    def not_asked(self) -> str:
        """Return a reason where there was no timer."""
        return "" if self._book.set_count or self.tally.has_failed else "the application told of no timer"

    def applied(self, block: AppliedBlock, header: Header) -> None:
        """Compare the events of timers with those of the first replica that applied the height."""
        told = [event for event in block.told if event["event"] in OF_TIMERS]
        first, expected = self._told.setdefault(block.height, (block.node, told))
        self._told.pop(block.height - KEPT_HEIGHTS, None)
        if first == block.node or not (told or expected):
            return
        self.tally.compared += 1
        if told != expected:
            pairs = zip([*expected, {}], [*told, {}], strict=False)
            mine, other = next((one, two) for one, two in pairs if one != two)
            self.tally.fail(
                f"height {header.height}: the application of validator {first} tells {_shown(mine)}, that of validator "
                f"{block.node} tells {_shown(other)}",
                height=header.height,
                validator=block.node,
                other_validator=first,
            )

    def settle(self, block: SettledBlock) -> None:
        """Follow the timers through one block, and compare its exits with the stated rates."""
        exits = self._follow(block.now, block.height, block.told)
        self._judge_rates(block, exits)
        drain = Drain(self._drain.blocks + 1, self._drain.removed + exits.dead, self._drain.fired + exits.fired)
        if self._overdue or self._drain.blocks:
            self.longest_drain = max(self.longest_drain, drain)
        self._drain = drain if self._overdue else Drain()

    def finish(self) -> CheckResult:
        """Return the result."""
        figures, drain = self.figures(), self.longest_drain
        told = (
            f"{figures.set:,} timers set, {figures.fired:,} fired, {figures.removed:,} removed, "
            f"{figures.waiting:,} wait, {figures.overdue:,} of them due"
        )
        if drain.blocks:
            length = f"{drain.blocks:,} block{'s' * (drain.blocks > 1)}"
            told += f"; the longest drain took {length}, with {drain.removed:,} removed and {drain.fired:,} fired"
        named = {f"drain_{name}": count for name, count in drain._asdict().items()}
        return self.tally.result(told, **figures._asdict(), **named)

    def _follow(self, now: int, height: int, told: Told) -> Exits:
        """Take the events of a block into the book, and fail for each broken rule."""
        events = [event for event in told if event["event"] in OF_TIMERS]
        was_due = self._book.overdue(now)
        exits, faults = self._book.follow(now, events)
        self.tally.compared += len(events) + was_due
        for fault in faults:
            self.tally.fail(f"height {height}: {fault}", height=height)
        self._fired += exits.fired
        self._removed += exits.dead + exits.cancelled
        self._overdue = self._book.overdue(now)
        return exits

    def _judge_rates(self, block: SettledBlock, exits: Exits) -> None:
        """Require that a block keeps to the stated rates, and uses a rate up where the block leaves due timers."""
        dead, live = self._facts.dead_per_block, self._facts.live_per_block
        for what, rate, count in (("removes", dead, exits.dead), ("fires", live, exits.fired)):
            if rate is not None and count:
                text = "the application {} {:,} timers, it states at most {:,} a block"
                self.require(count <= rate, block, text, what, count, rate)
        if self._overdue and (dead is not None or live is not None):
            is_used_up = (dead is not None and exits.dead >= dead) or (live is not None and exits.fired >= live)
            text = "{:,} due timers wait, expected none: {:,} dead of {} were removed and {:,} live of {} fired"
            shown = ["any number" if rate is None else f"{rate:,}" for rate in (dead, live)]
            self.require(is_used_up, block, text, self._overdue, exits.dead, shown[0], exits.fired, shown[1])


def _shown(event: Mapping[str, object]) -> str:
    return " ".join(f"{name}={event[name]}" for name in sorted(event)) if event else "nothing more"
