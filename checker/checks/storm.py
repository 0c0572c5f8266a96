"""The storm after an outage: was there one, how long did it take to drain, did live timers go on firing?

Judged from the blocks of the canonical chain alone, as the first validator to apply each one did. The storm begins with
the last block in which the most dead timers were at hand (removed in it or left waiting), and the drain lasts until no
dead timer waits. A block whose execution lane is paused need not have a fire, nor one that serves no slot of its own
(in slot time, where a leader's clock was behind the parent's timestamp). A run that promised a storm and had less
of one is inconclusive, never passed.
"""

from dataclasses import dataclass
from typing import final

from checker.checks.observations import AppliedBlock
from checker.mirror import read_timer_config
from checker.results import CheckResult, Tally
from checker.tables import TIMER_CONFIG_KEY
from scheduler import Timebase, TimerCancelledInsufficientFunds, TimerConfig, TimerExpired, TimerScheduled
from validators.execution.errors import InvalidEncodingError
from validators.execution.receipts import TimerReceipt, decode_receipt

NAME = "storm"


@dataclass(frozen=True, slots=True)
class StormFigures:
    """A storm in numbers: dead timers at its peak, the drain's first height and length, fires during it.

    ``actors`` is of how many actors timers were removed dead, over the whole chain.
    """

    dead_timers: int
    actors: int
    first_height: int
    drain_blocks: int
    fired_in_drain: int
    blocks_without_fire: int
    blocks_to_fire: int
    is_drained: bool


@final
class StormWatch:
    """Follows the canonical chain and remembers the greatest storm on it."""

    def __init__(
        self, *, dead_timers_min: int, actors_min: int, drain_blocks_min: int, config: TimerConfig, timebase: Timebase
    ) -> None:
        self._dead_timers_min = dead_timers_min
        self._actors_min = actors_min
        self._drain_blocks_min = drain_blocks_min
        self._height = 0
        self._dead: list[int] = []
        self._waiting_dead: list[int] = []
        self._fired: list[int] = []
        self._may_rest: list[bool] = []
        self._timebase = timebase
        self._slot = -1
        self._config = config
        self._actors: dict[bytes, bytes] = {}
        self._dead_actors: dict[bytes, None] = {}

    def applied(self, block: AppliedBlock, *, slot: int) -> None:
        """See a block that a validator applied, and its slot; each height counts once."""
        if block.height != self._height + 1:
            return
        self._height = block.height
        summary = block.summary
        self._dead.append(summary.expired + summary.insolvent + summary.waiting_dead)
        self._waiting_dead.append(summary.waiting_dead)
        self._fired.append(summary.fired)
        is_in_parents_slot = self._timebase == "slot" and slot == self._slot
        self._slot = slot
        self._may_rest.append(self._config.execution_lane_paused or is_in_parents_slot)
        self._config = read_timer_config(block.changes.get(TIMER_CONFIG_KEY), self._config)
        for encoded in block.receipts:
            try:
                receipt = decode_receipt(encoded)
            except InvalidEncodingError:
                # Other checks say so; here it holds no timer.
                continue
            for event in (receipt.event,) if isinstance(receipt, TimerReceipt) else receipt.events:
                if isinstance(event, TimerScheduled):
                    self._actors[event.timer_id] = event.actor
                elif isinstance(event, TimerExpired | TimerCancelledInsufficientFunds):
                    self._dead_actors[self._actors.get(event.timer_id, b"")] = None

    def figures(self) -> StormFigures:
        """Return the greatest storm of the chain."""
        peak = max(self._dead, default=0)
        first = max((index for index, dead in enumerate(self._dead) if dead == peak), default=0) if peak else 0
        drain = [index for index in range(first, self._height) if self._dead[index] > 0]
        end = next((index for index in range(first, self._height) if self._waiting_dead[index] == 0), None)
        last = drain[-1] if end is None and drain else end
        blocks = range(first, first if last is None or not peak else last + 1)
        fired = [self._fired[index] for index in blocks]
        return StormFigures(
            dead_timers=peak,
            actors=len(self._dead_actors),
            first_height=first + 1,
            drain_blocks=len(blocks),
            fired_in_drain=sum(fired),
            blocks_without_fire=sum(not self._fired[index] and not self._may_rest[index] for index in blocks),
            blocks_to_fire=sum(not self._may_rest[index] for index in blocks),
            is_drained=end is not None,
        )

    def result(self) -> CheckResult:
        """Judge the storm."""
        figures = self.figures()
        tally = Tally(NAME, "safety")
        promised = (
            (figures.dead_timers, self._dead_timers_min, "dead timers at once"),
            (figures.actors, self._actors_min, "actors that they belong to"),
            (figures.drain_blocks, self._drain_blocks_min, "blocks to drain them"),
        )
        for count, at_least, what in promised:
            if count < at_least:
                return tally.inconclusive(f"the promised storm did not come: {count:,} {what}, at least {at_least:,}")
        if not figures.is_drained:
            return tally.inconclusive(f"{self._waiting_dead[-1]:,} dead timers were left when the run ended")
        tally.compared = len(promised) + figures.blocks_to_fire
        if figures.blocks_without_fire:
            tally.fail(f"no live timer fired in {figures.blocks_without_fire} of {figures.drain_blocks} drain blocks")
        return tally.result(
            f"{figures.dead_timers:,} dead timers of {figures.actors} actors from height {figures.first_height} on, "
            f"drained in {figures.drain_blocks} blocks; {figures.fired_in_drain:,} live timers fired, "
            "some in each block whose lane was open",
            dead_timers=figures.dead_timers,
            actors=figures.actors,
            first_height=figures.first_height,
            drain_blocks=figures.drain_blocks,
            fired_in_drain=figures.fired_in_drain,
        )
