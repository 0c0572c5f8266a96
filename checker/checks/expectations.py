"""What a scenario promises to show, in counts; a run that shows less than promised is inconclusive, never passed.

`[expect.counts]` and `[expect.fired_by]` are about timers, counted over the canonical chain, as the first validator to
apply each block did; a run that shows more than `[expect.at_most]` allows has failed. `[expect.recovery]` is about what
validators made of their disks, counted over all of them.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, final

import msgspec

from checker.checks.observations import AppliedBlock
from checker.mirror import read_timer_config
from checker.results import CheckResult, Tally
from checker.tables import TIMER_CONFIG_KEY
from scheduler import (
    DeferralReason,
    DeferredSummary,
    EpochPromoted,
    GbaFailed,
    Timebase,
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerCancelledForDelay,
    TimerConfig,
    TimerConfigUpdated,
    TimerExtended,
    TimerExtendedByGovernance,
    TimerFired,
    TimerPriorityClampedAtSchedule,
)
from validators.actors import Emitted
from validators.execution.blocks import decode_block
from validators.execution.errors import InvalidEncodingError
from validators.execution.receipts import ChainEvent, TransactionReceipt, decode_receipt

NAME: Final = "promised-counts"

LIMITS_NAME: Final = "promised-limits"

COUNTED_EVENTS: Final[dict[type[msgspec.Struct], str]] = {
    TimerCancelled: "cancelled",
    TimerExtended: "extended",
    TimerCancelledByGovernance: "cancelled_by_governance",
    TimerCancelledForDelay: "cancelled_for_delay",
    TimerExtendedByGovernance: "extended_by_governance",
    TimerConfigUpdated: "config_updates",
    TimerPriorityClampedAtSchedule: "tips_clamped",
    EpochPromoted: "epochs_promoted",
    Emitted: "emitted",
}
"""Events that are counted one by one, with the name of the count; those of a timer that was gone do not count."""

COUNTS: Final = (
    "transactions_reverted",
    "fired",
    "fires_reverted",
    "fires_tipped",
    "expired",
    "insolvent",
    *COUNTED_EVENTS.values(),
    "heights_promoted",
    "agents_failed",
    "waiting_live_peak",
    "priced_out_peak",
    "tipped_wait_peak",
    "lane_price_peak",
    "messages_delivered",
    "messages_reverted",
    "messages_waiting_peak",
    "blocks_lane_full",
    "blocks_execution_paused",
    "blocks_gc_paused",
)
"""Everything that can be promised of timers. `tipped_wait_peak`: the blocks in which a tipped timer was passed over."""

RECOVERIES: Final = ("damaged", "repaired", "observers", "snapshots_joined", "snapshots_joined_in_storm")
"""Everything that can be promised of recoveries; in a storm means: of a state in which dead timers wait."""


@final
@dataclass(frozen=True, slots=True)
class Promised:
    """What a scenario promises: least and greatest counts, and by workload the least fires of each of its actors."""

    counts: Mapping[str, int] = field(default_factory=dict)
    at_most: Mapping[str, int] = field(default_factory=dict)
    fired_by: Mapping[str, tuple[int, tuple[bytes, ...]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether anything is promised."""
        return bool(self.counts or self.at_most or self.fired_by)


def judge_counts(name: str, minimums: Mapping[str, int], counts: Mapping[str, int]) -> CheckResult:
    """Return whether everything promised was there."""
    tally = Tally(name, "inconclusive")
    tally.compared = len(minimums)
    lacking = [f"{key} {counts[key]:,} (at least {least:,})" for key, least in minimums.items() if counts[key] < least]
    if lacking:
        return tally.inconclusive(f"less than promised: {', '.join(lacking)}")
    shown = {key: counts[key] for key in minimums}
    return tally.result(", ".join(f"{key} {count:,}" for key, count in shown.items()), **shown)


@final
class Promises:
    """Counts what happens on the canonical chain."""

    def __init__(self, promised: Promised, config: TimerConfig, timebase: Timebase) -> None:
        self._promised = promised
        self._config = config
        self._timebase = timebase
        self._height = 0
        self._presents: list[int] = []
        self._counts = dict.fromkeys(COUNTS, 0)
        self._fires: dict[bytes, int] = {}

    def applied(self, block: AppliedBlock) -> None:
        """See a block that a validator applied; each height counts once."""
        if block.height != self._height + 1:
            return
        self._height = block.height
        header = decode_block(block.block).header
        self._presents.append(header.slot if self._timebase == "slot" else header.height)
        counts, summary = self._counts, block.summary
        counts["fired"] += summary.fired
        counts["fires_reverted"] += summary.reverted
        counts["expired"] += summary.expired
        counts["insolvent"] += summary.insolvent
        counts["messages_delivered"] += summary.messages_delivered
        counts["messages_reverted"] += summary.messages_reverted
        self._peak("waiting_live_peak", summary.waiting_live)
        self._peak("messages_waiting_peak", summary.messages_waiting)
        self._peak("lane_price_peak", summary.lane_price)
        counts["blocks_execution_paused"] += self._config.execution_lane_paused
        counts["blocks_gc_paused"] += self._config.gc_lane_paused
        for encoded in block.receipts:
            self._count_receipt(encoded)
        self._config = read_timer_config(block.changes.get(TIMER_CONFIG_KEY), self._config)

    def results(self) -> list[CheckResult]:
        """Say whether everything promised was there, and nothing beyond its limit."""
        promised, results = self._promised, []
        if promised.counts or promised.fired_by:
            results.append(self._judge_least())
        if promised.at_most:
            results.append(self._judge_most())
        return results

    def _judge_least(self) -> CheckResult:
        counts, minimums = dict(self._counts), dict(self._promised.counts)
        for workload, (least, actors) in self._promised.fired_by.items():
            name = f"fires of each of {workload}"
            minimums[name] = least
            counts[name] = min((self._fires.get(actor, 0) for actor in actors), default=0)
        return judge_counts(NAME, minimums, counts)

    def _judge_most(self) -> CheckResult:
        tally = Tally(LIMITS_NAME, "safety")
        for name, most in self._promised.at_most.items():
            count = self._counts[name]
            tally.require(count <= most, f"{name} is {count:,}, at most {most:,} is promised")
        return tally.result(", ".join(f"{name} {self._counts[name]:,}" for name in self._promised.at_most))

    def _peak(self, name: str, value: int) -> None:
        self._counts[name] = max(self._counts[name], value)

    def _count_receipt(self, encoded: bytes) -> None:
        try:
            receipt = decode_receipt(encoded)
        except InvalidEncodingError:
            # That it is none is for the other checks to say; here it counts for nothing.
            return
        if isinstance(receipt, TransactionReceipt):
            self._counts["transactions_reverted"] += receipt.status != 0
            events = receipt.events
        else:
            events = (receipt.event,)
        for event in events:
            name = COUNTED_EVENTS.get(type(event))
            if name is not None:
                self._counts[name] += getattr(event, "was_live", True)
            self._count_event(event)

    def _count_event(self, event: ChainEvent) -> None:
        counts = self._counts
        if isinstance(event, TimerFired):
            self._fires[event.actor] = self._fires.get(event.actor, 0) + 1
            if event.tip:
                counts["fires_tipped"] += 1
                # The blocks since the first one in which it was due, this one not counted.
                self._peak("tipped_wait_peak", len(self._presents) - 1 - bisect_left(self._presents, event.due))
        elif isinstance(event, DeferredSummary):
            held = dict(event.counts)
            counts["blocks_lane_full"] += DeferralReason.LANE_FULL in held
            self._peak("priced_out_peak", held.get(DeferralReason.BELOW_BASEFEE, 0))
        elif isinstance(event, GbaFailed):
            counts["agents_failed"] += event.count
        elif isinstance(event, EpochPromoted):
            counts["heights_promoted"] += event.heights
