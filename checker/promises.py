"""What a scenario promises to show, in counts; a run that shows less than promised is inconclusive, never passed.

`[expect.counts]` is about timers, counted over the canonical chain, as the first validator to apply each block did.
`[expect.recovery]` is about what validators made of their disks, counted over all of them.
"""

from collections.abc import Mapping
from typing import Final, final

import msgspec

from checker.mirror import read_timer_config
from checker.observations import AppliedBlock
from checker.results import CheckResult, Tally
from checker.tables import TIMER_CONFIG_KEY
from scheduler import (
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerConfig,
    TimerConfigUpdated,
    TimerExtended,
    TimerExtendedByGovernance,
)
from validators.actors import Emitted
from validators.execution.errors import InvalidEncodingError
from validators.execution.receipts import TransactionReceipt, decode_receipt

NAME: Final = "promised-counts"

COUNTED_EVENTS: Final[dict[type[msgspec.Struct], str]] = {
    TimerCancelled: "cancelled",
    TimerExtended: "extended",
    TimerCancelledByGovernance: "cancelled_by_governance",
    TimerExtendedByGovernance: "extended_by_governance",
    TimerConfigUpdated: "config_updates",
    Emitted: "emitted",
}
"""Events that are counted one by one, with the name of the count; those of a timer that was gone do not count."""

COUNTS: Final = (
    "transactions_reverted",
    "fired",
    "fires_reverted",
    "expired",
    "insolvent",
    *COUNTED_EVENTS.values(),
    "waiting_live_peak",
    "blocks_execution_paused",
    "blocks_gc_paused",
)
"""Everything that can be promised of timers."""

RECOVERIES: Final = ("damaged", "repaired", "observers", "snapshots_joined", "snapshots_joined_in_storm")
"""Everything that can be promised of recoveries; in a storm means: of a state in which dead timers wait."""


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

    def __init__(self, minimums: Mapping[str, int], config: TimerConfig) -> None:
        self._minimums = dict(minimums)
        self._config = config
        self._height = 0
        self._counts = dict.fromkeys(COUNTS, 0)

    def applied(self, block: AppliedBlock) -> None:
        """See a block that a validator applied; each height counts once."""
        if block.height != self._height + 1:
            return
        self._height = block.height
        counts, summary = self._counts, block.summary
        counts["fired"] += summary.fired
        counts["fires_reverted"] += summary.reverted
        counts["expired"] += summary.expired
        counts["insolvent"] += summary.insolvent
        counts["waiting_live_peak"] = max(counts["waiting_live_peak"], summary.waiting_live)
        counts["blocks_execution_paused"] += self._config.execution_lane_paused
        counts["blocks_gc_paused"] += self._config.gc_lane_paused
        for encoded in block.receipts:
            self._count_receipt(encoded)
        self._config = read_timer_config(block.changes.get(TIMER_CONFIG_KEY), self._config)

    def result(self) -> CheckResult:
        """Say whether everything promised was there."""
        return judge_counts(NAME, self._minimums, self._counts)

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
