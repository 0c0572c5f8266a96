"""Reads the blocks of a trial: which timer was ordered by whom, when it was due, when it left, and what it paid."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import islice
from typing import Any, Final

from cluster.scenario.model import Scenario
from cluster.studies.figures import BlockFigures, TimerStory, TrialLog, knapsack
from cluster.studies.study import Study
from cluster.workloads.planned import recurring_actors, sites_of
from scheduler import (
    BiasWindowClosed,
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerCancelledForDelay,
    TimerCancelledInsufficientFunds,
    TimerExpired,
    TimerFired,
    TimerScheduled,
    TimerTriggered,
    TimerWatches,
    TransactionCancelled,
    TransactionFailed,
)
from scheduler.events import FailureCode, ShutdownEvent
from validators.actors.world import Emitted
from validators.execution import Executed

LEFT: Final = (
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerCancelledForDelay,
    TimerCancelledInsufficientFunds,
    TransactionCancelled,
    TransactionFailed,
)
"""Events with which a timer leaves without a fire and before its expiry."""

REFUSED: Final = "refused"
"""The topic under which a script actor tells of a step that the chain refused."""


_NOTHING: Final[Iterator[TimerStory]] = iter(())


class BlockWatcher:
    """Follows the timers of a trial through its final blocks.

    Args:
        log: Where the trial's figures are counted.
        scenario: The scenario; each of its workloads is a group.
        study: The study.
    """

    def __init__(self, log: TrialLog, scenario: Scenario, study: Study) -> None:
        self.log: Final = log
        self.clearing = 0
        """The lowest winning bid of the last block, if that block left a live timer waiting; otherwise 0."""
        self._chain = scenario.chain
        self._now = 0
        self._reads = {name: group.reads for name, group in study.bidders.items() if group.reads}
        self._workload_of = {
            actor: site.name
            for site, workload in sites_of(scenario)
            for actor in (*workload.firing_actors(site), *recurring_actors(site, workload))
        }
        self._wants_optimum = "efficiency" in study.figures
        self._known: dict[bytes, TimerStory] = {}
        self._coming: list[tuple[int, int, bytes]] = []
        self._waiting: dict[bytes, TimerStory] = {}
        self._last_input: dict[str, int] = {}
        self._done: list[int] = []
        self._height = 0
        self._ordered: Mapping[bytes, Iterator[TimerStory]] = {}
        self._fired: list[tuple[TimerStory, TimerFired]] = []
        self._triggers = 0
        self._lambda = int(scenario.chain.resolved_parameters().get("bias_lambda", 0))
        self._watching: dict[bytes, int] = {}
        """The block in which a timer began to watch."""
        self._changes: dict[bytes, list[int]] = {}
        """The blocks that changed a watched value, by its key."""
        self._heeded: Mapping[type, Callable[[Any], None]] = {
            TimerScheduled: self._schedule,
            Emitted: self._emit,
            TimerWatches: self._watch,
            TimerTriggered: self._trigger,
            BiasWindowClosed: self._close_window,
            TimerFired: self._fire,
            TimerExpired: self._expire,
            ShutdownEvent: self._shut_down,
            **dict.fromkeys(LEFT, self._leave),
        }

    def note_call(self, group: str, now: int) -> None:
        """Note that a group calls its actor in the block to come: an input of groups that read it."""
        self._last_input[group] = now

    def take_done(self) -> list[int]:
        """Return the tasks whose timers fired since the last call, and forget them."""
        done, self._done = self._done, []
        return done

    def note(self, executed: Executed, orders: Mapping[bytes, Iterable[TimerStory]]) -> None:
        """Note a final block; `orders` are the timers that each actor was asked to schedule in it, in order."""
        header, summary = executed.header, executed.summary
        height = self._height = header.height
        self._now = header.timestamp_ms // self._chain.slot_ms if self._chain.timebase == "slot" else height
        self._promote(height)
        possible = self._possible() if self._wants_optimum else 0
        self._ordered = {actor: iter(stories) for actor, stories in orders.items()}
        self._fired, self._triggers, lambda_ = [], 0, self._lambda
        for event in executed.events:
            if (heed := self._heeded.get(type(event))) is not None:
                heed(event)
        for key, heights in self._changes.items():
            if key in executed.changes:
                heights.append(height)
        for stories in self._ordered.values():
            # The rest of a transaction that broke off.
            self._refuse(stories)
        fired = [story for story, _ in self._fired]
        for story, event in self._fired:
            self._note_fired(event, story, (summary.cycle_basefee, summary.cell_basefee))
        bids = [story.bid for story in fired if story.bid is not None]
        self.clearing = min(bids, default=0) if summary.waiting_live else 0
        worth = sum(story.worth_after(height - (story.due_block or height)) * story.gas_limit for story in fired)
        self.log.blocks.append(
            BlockFigures(
                height=height,
                lane_cycles=summary.lane_cycles,
                gc_cycles=summary.gc_cycles,
                waiting_live=summary.waiting_live,
                waiting_dead=summary.waiting_dead,
                price=summary.lane_price,
                clearing=self.clearing,
                tips=summary.tips,
                burned=summary.burned,
                triggers=self._triggers,
                worth_fired=worth,
                worth_possible=possible,
                lambda_=lambda_,
            )
        )

    def _promote(self, height: int) -> None:
        """Note the timers that can fire in this block for the first time."""
        while self._coming and self._coming[0][0] <= self._now:
            due, _, timer_id = heappop(self._coming)
            story = self._known.get(timer_id)
            if story is not None and story.due == due and story.due_block is None:
                story.due_block = height
                self._waiting[timer_id] = story

    def _possible(self) -> int:
        """Return the most worth that the lane has room for among the timers that wait."""
        height = self.log.blocks[-1].height + 1 if self.log.blocks else 1
        items = [
            (story.gas_limit, story.worth_after(height - (story.due_block or height)) * story.gas_limit)
            for story in self._waiting.values()
        ]
        return knapsack(items, self.log.lane) if items else 0

    def _schedule(self, event: TimerScheduled) -> None:
        story = next(self._ordered.get(event.actor, _NOTHING), None)
        if story is None:
            group = self._workload_of.get(event.actor)
            if group is None:
                return
            story = TimerStory(group, event.actor, event.due, event.gas_limit, event.gas_limit)
        story.due = event.due
        self._known[event.timer_id] = story
        self.log.timers.append(story)
        heappush(self._coming, (event.due, len(self.log.timers), event.timer_id))

    def _emit(self, event: Emitted) -> None:
        if event.topic == REFUSED:
            self._refuse(islice(self._ordered.get(event.actor, _NOTHING), 1))

    def _refuse(self, stories: Iterable[TimerStory]) -> None:
        for story in stories:
            self.log.refused[story.group] = self.log.refused.get(story.group, 0) + 1

    def _close_window(self, event: BiasWindowClosed) -> None:
        self._lambda = event.next_lambda

    def _watch(self, event: TimerWatches) -> None:
        self._watching[event.timer_id] = self._height
        for key in event.keys:
            self._changes.setdefault(key, [])

    def _trigger(self, event: TimerTriggered) -> None:
        self._triggers += 1
        if (story := self._known.get(event.timer_id)) is not None:
            changes = self._changes[event.key]
            first = bisect_left(changes, self._watching[event.timer_id])
            # The block's own changes are noted behind its events.
            story.changed_block = changes[first] if first < len(changes) else self._height
            story.triggered_block = self._height
            story.due, story.due_block = event.due, None
            heappush(self._coming, (event.due, len(self.log.timers), event.timer_id))

    def _fire(self, event: TimerFired) -> None:
        if (story := self._forget(event.timer_id)) is None:
            return
        self._fired.append((story, event))
        if (source := self._reads.get(story.group)) is not None:
            story.input_age = self._now - self._last_input.get(source, 0)
        self._last_input[story.group] = self._now
        if story.task >= 0:
            self._done.append(story.task)

    def _expire(self, event: TimerExpired) -> None:
        if (story := self._forget(event.timer_id)) is not None:
            story.left = story.expired = True

    def _leave(self, event: Any) -> None:  # noqa: ANN401 - any of LEFT
        if (story := self._forget(event.timer_id)) is not None:
            story.left = True
            story.expired = isinstance(event, TransactionFailed) and event.code is FailureCode.EXPIRED

    def _shut_down(self, event: ShutdownEvent) -> None:
        self.log.shutdown[event.complete] = self._height

    def _forget(self, timer_id: bytes) -> TimerStory | None:
        self._waiting.pop(timer_id, None)
        return self._known.pop(timer_id, None)

    def _note_fired(self, event: TimerFired, story: TimerStory, basefees: tuple[int, int]) -> None:
        cycle, cell = basefees
        story.fired_block, story.used = self._height, event.used_cycles
        story.cost = event.burned + event.tip
        # Under a policy with its own prices a fire may pay less than the basefees.
        story.paid = max(0, event.burned + event.tip - event.used_cycles * cycle - event.used_cells * cell)
        if story.due_block is None:
            story.due_block = self._height
