"""The storm of dead timers after an outage: its size, the length of its drain, and live fires in the meantime.

The check measures final blocks, by the first validator that applied each. The storm begins with the last block with the
most dead timers (removed in it or left waiting), and the drain lasts until no dead timer waits. Some policies let
insolvent timers wait until their expiry: these count towards the size of the storm, not towards the drain. A block
need not have a fire if its execution lane is paused or if it has its parent's slot (after a leader whose clock was
behind the parent's timestamp). A run with a smaller storm than expected is inconclusive, never passed.
"""

from dataclasses import dataclass
from typing import TypeGuard

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.results import CheckResult
from network.words import counted
from scheduler import (
    DeferralReason,
    DeferredSummary,
    TimerCancelledInsufficientFunds,
    TimerDeferred,
    TimerExpired,
    TimerScheduled,
)
from scheduler.events import FailureCode, TransactionFailed
from validators.execution.receipts import ChainEvent


@dataclass(frozen=True, slots=True)
class StormFigures:
    """A storm in numbers: dead timers at its peak, the drain's first height and length, fires during it.

    `actors` is the number of actors of which dead timers were removed, or held for their funds, over the whole chain.
    """

    dead_timers: int
    actors: int
    first_height: int
    drain_blocks: int
    fired_in_drain: int
    live_in_drain: int
    blocks_without_fire: int
    blocks_to_fire: int
    is_drained: bool


class StormDrained(Check):
    """The expected storm of dead timers came and was drained, and live timers went on firing meanwhile.

    A smaller storm than expected, or dead timers left at the end, makes the run inconclusive.
    """

    name = "storm"
    needs = "tables"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._dead: list[int] = []
        self._waiting_dead: list[int] = []
        self._waiting_live: list[int] = []
        self._fired: list[int] = []
        self._may_rest: list[bool] = []
        self._now = -1
        self._actors: dict[bytes, bytes] = {}
        self._dead_actors: dict[bytes, None] = {}

    def not_asked(self) -> str:
        """Return a reason where the scenario expects no storm."""
        return "" if self.run.expect.storm is not None else "no storm expected"

    def settle(self, block: SettledBlock) -> None:
        """Count a block's dead timers and its fires."""
        summary = block.summary
        unpaid = 0
        self._waiting_dead.append(summary.waiting_dead)
        self._waiting_live.append(summary.waiting_live)
        self._fired.append(summary.fired)
        # A slot may have two blocks.
        self._may_rest.append(block.config.execution_lane_paused or block.now == self._now)
        self._now = block.now
        for event in block.events():
            if isinstance(event, TimerScheduled):
                self._actors[event.timer_id] = event.actor
            elif isinstance(event, TimerExpired | TimerCancelledInsufficientFunds) or _is_unpaid(event):
                self._dead_actors[self._actors.get(event.timer_id, b"")] = None
            elif isinstance(event, TransactionFailed) and event.code is FailureCode.EXPIRED:
                self._dead_actors[event.sender] = None
            elif isinstance(event, DeferredSummary):
                unpaid = dict(event.counts).get(DeferralReason.FUNDS, 0)
        self._dead.append(summary.expired + summary.insolvent + summary.waiting_dead + unpaid)

    def figures(self) -> StormFigures:
        """Return the greatest storm of the chain."""
        peak = max(self._dead, default=0)
        first = max((index for index, dead in enumerate(self._dead) if dead == peak), default=0) if peak else 0
        drain = [index for index in range(first, len(self._dead)) if self._dead[index] > 0]
        end = next((index for index in range(first, len(self._dead)) if self._waiting_dead[index] == 0), None)
        last = drain[-1] if end is None and drain else end
        blocks = range(first, first if last is None or not peak else last + 1)
        fired = [self._fired[index] for index in blocks]
        return StormFigures(
            dead_timers=peak,
            actors=len(self._dead_actors),
            first_height=first + 1,
            drain_blocks=len(blocks),
            fired_in_drain=sum(fired),
            live_in_drain=sum(fired) + sum(self._waiting_live[index] for index in blocks),
            blocks_without_fire=sum(not self._fired[index] and not self._may_rest[index] for index in blocks),
            blocks_to_fire=sum(not self._may_rest[index] for index in blocks),
            is_drained=end is not None,
        )

    def finish(self) -> CheckResult:
        """Return the result; less than expected is inconclusive."""
        expected, figures, tally = self.run.expect.storm, self.figures(), self.tally
        if expected is None:
            return tally.inconclusive("no storm is expected")
        compared = (
            (figures.dead_timers, expected.dead_timers_min, "dead timers at once"),
            (figures.actors, expected.actors_min, "actors that they belong to"),
            (figures.drain_blocks, expected.drain_blocks_min, "blocks to drain them"),
        )
        for count, at_least, what in compared:
            if count < at_least:
                return tally.inconclusive(f"the expected storm did not come: {count:,} {what}, at least {at_least:,}")
        if not figures.is_drained:
            return tally.inconclusive(f"{self._waiting_dead[-1]:,} dead timers were left when the run ended")
        tally.compared = len(compared) + figures.blocks_to_fire
        if figures.blocks_without_fire and not figures.live_in_drain:
            # Where all waiting timers expire, as in the queue of `aptos`, an outage leaves no live timer.
            return tally.inconclusive("no live timer was due beside the dead ones")
        if figures.blocks_without_fire:
            tally.fail(f"no live timer fired in {figures.blocks_without_fire} of {figures.drain_blocks} drain blocks")
        return tally.result(
            f"{figures.dead_timers:,} dead timers of {counted(figures.actors, 'actors')} from height "
            f"{figures.first_height} on were drained in {counted(figures.drain_blocks, 'blocks')}; "
            f"{counted(figures.fired_in_drain, 'live timers')} fired meanwhile, some in each block with an open lane",
            dead_timers=figures.dead_timers,
            actors=figures.actors,
            first_height=figures.first_height,
            drain_blocks=figures.drain_blocks,
            fired_in_drain=figures.fired_in_drain,
        )


def _is_unpaid(event: ChainEvent) -> TypeGuard[TimerDeferred]:
    return isinstance(event, TimerDeferred) and event.reason is DeferralReason.FUNDS
