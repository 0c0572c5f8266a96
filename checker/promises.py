"""What a scenario promises to show of its timers, in counts: `[expect.counts]`.

Counted over the canonical chain, as the first validator to apply each block did. A run that shows less than promised is
inconclusive, never passed.
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
    "messages_delivered",
    "messages_reverted",
    "messages_waiting_peak",
    "blocks_execution_paused",
    "blocks_gc_paused",
)
"""Everything that can be promised."""


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
        counts["messages_delivered"] += summary.messages_delivered
        counts["messages_reverted"] += summary.messages_reverted
        counts["messages_waiting_peak"] = max(counts["messages_waiting_peak"], summary.messages_waiting)
        counts["blocks_execution_paused"] += self._config.execution_lane_paused
        counts["blocks_gc_paused"] += self._config.gc_lane_paused
        for encoded in block.receipts:
            self._count_receipt(encoded)
        self._config = read_timer_config(block.changes.get(TIMER_CONFIG_KEY), self._config)

    def result(self) -> CheckResult:
        """Say whether everything promised was there."""
        tally = Tally(NAME, "inconclusive")
        tally.compared = len(self._minimums)
        lacking = [
            f"{name} {self._counts[name]:,} (at least {least:,})"
            for name, least in self._minimums.items()
            if self._counts[name] < least
        ]
        if lacking:
            return tally.inconclusive(f"less than promised: {', '.join(lacking)}")
        shown = {name: self._counts[name] for name in self._minimums}
        return tally.result(", ".join(f"{name} {count:,}" for name, count in shown.items()), **shown)

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
