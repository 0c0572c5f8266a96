"""The coverage points of the final blocks: points that execution noted, and points read off its results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from scheduler import POLICIES, Basefees, CoveragePoint, EpochPromoted, LaneConfig, Timebase, Timer
from validators.actors import Status
from validators.execution import Executed, PolicyEntry
from validators.execution.genesis import own_parameters
from validators.execution.receipts import TransactionReceipt, decode_receipt, is_of_transaction
from validators.execution.rules import BlockRule
from validators.execution.schema import (
    ACCOUNTS,
    CALENDAR,
    EPOCHS,
    LONG_STORAGE,
    OVERFLOW,
    STORAGE,
    TIMER_CONFIG,
    TIMERS,
    decode_entry,
)

Reach = Callable[[CoveragePoint], None]
"""Counts a point as reached."""

_OF_STATUS: Final[Mapping[Status, CoveragePoint]] = {
    Status.REVERTED: BlockRule.TRANSACTION_REVERTED,
    Status.OUT_OF_GAS: BlockRule.TRANSACTION_OUT_OF_GAS,
}

_OF_WRITE: Final[Mapping[int, CoveragePoint]] = {
    EPOCHS.code: BlockRule.EPOCH_QUEUE_FILLED,
    OVERFLOW.code: BlockRule.OVERFLOW_FILLED,
    CALENDAR.code: BlockRule.CALENDAR_RESIZED,
    TIMER_CONFIG.code: BlockRule.TIMER_CONFIG_CHANGED,
    LONG_STORAGE.code: BlockRule.LONG_KEY_STORED,
}
"""The point of a written value, by its table."""

_OF_DELETION: Final[Mapping[int, CoveragePoint]] = {
    EPOCHS.code: BlockRule.EPOCH_QUEUE_EMPTIED,
    OVERFLOW.code: BlockRule.OVERFLOW_EMPTIED,
    LONG_STORAGE.code: BlockRule.LONG_KEY_DELETED,
    STORAGE.code: BlockRule.VALUE_DELETED,
    ACCOUNTS.code: BlockRule.ACCOUNT_EMPTIED,
}


class BlockPoints:
    """Reads the points of one chain, block by block."""

    def __init__(self, timebase: Timebase, reach: Reach, policies: Sequence[PolicyEntry] = ()) -> None:
        self._is_in_slots = timebase == "slot"
        self._reach = reach
        self._lane_from, self._lane_limit = _lane_to_come(policies)
        self._slot: int | None = None
        self._epoch: int | None = None
        self._prices: Basefees | None = None

    def add(self, executed: Executed) -> None:
        """Read one block; each of its points counts once."""
        for point in dict.fromkeys(self._points(executed)):
            self._reach(point)
        self._slot = executed.header.slot
        self._prices = _prices(executed)

    def _points(self, executed: Executed) -> Iterator[CoveragePoint]:
        yield from executed.reached
        yield from _points_of_transactions(executed)
        yield from _points_of_messages(executed)
        yield from _points_of_changes(executed.changes)
        yield from self._points_of_time(executed)
        yield from self._points_of_limits(executed)
        if self._prices is not None:
            yield from _points_of_prices(self._prices, _prices(executed))

    def _points_of_time(self, executed: Executed) -> Iterator[CoveragePoint]:
        if self._is_in_slots and self._slot is not None:
            step = executed.header.slot - self._slot
            if step != 1:
                yield BlockRule.SLOTS_SKIPPED if step else BlockRule.SLOT_REPEATED
        # Epoch maintenance comes before everything else in a block.
        for event in executed.events[:1]:
            if isinstance(event, EpochPromoted):
                yield BlockRule.EPOCH_BEGAN
                if self._epoch is not None and event.epoch > self._epoch + 1:
                    yield BlockRule.EPOCH_SKIPPED
                self._epoch = event.epoch
        if any(key[0] == CALENDAR.code for key in executed.changes):
            # Epochs of another length have other numbers.
            self._epoch = None

    def _points_of_limits(self, executed: Executed) -> Iterator[CoveragePoint]:
        if executed.header.height >= self._lane_from:
            return
        for key, value in executed.changes.items():
            if key[0] == TIMERS.code and value is not None:
                timer = decode_entry(key, value).record
                assert isinstance(timer, Timer), "the table of timers holds nothing else"
                if not timer.gas_limit_is_default and timer.gas_limit > self._lane_limit:
                    yield BlockRule.LIMIT_ABOVE_LANE


def _lane_to_come(policies: Sequence[PolicyEntry]) -> tuple[int, int]:
    """Return the height from which a later policy is the timer lane, and its greatest cycles per fire; else 0 and 0."""
    for entry in policies[1:]:
        if entry.policy == "eip1559":
            ((_, lane), *_options) = own_parameters(entry, POLICIES)
            assert isinstance(lane, LaneConfig), "the lane's parameters come first"
            return entry.height, lane.max_cycles_per_fire_auction_phase
    return 0, 0


def _prices(executed: Executed) -> Basefees:
    return Basefees(executed.summary.cycle_basefee, executed.summary.cell_basefee)


def _points_of_transactions(executed: Executed) -> Iterator[CoveragePoint]:
    if not executed.block.transactions:
        yield BlockRule.NO_TRANSACTIONS
    # A storm has thousands of receipts of timers, which need no decoding here.
    for receipt in map(decode_receipt, filter(is_of_transaction, executed.receipts)):
        if isinstance(receipt, TransactionReceipt):
            point = _OF_STATUS.get(Status(receipt.status))
            if point is not None:
                yield point
            if receipt.tip:
                yield BlockRule.TRANSACTION_TIPPED


def _points_of_messages(executed: Executed) -> Iterator[CoveragePoint]:
    summary = executed.summary
    if summary.messages_delivered > summary.messages_reverted:
        yield BlockRule.MESSAGE_DELIVERED
    if summary.messages_reverted:
        yield BlockRule.MESSAGE_REVERTED
    for entry in executed.phases:
        if entry.phase == "mailbox":
            if entry.counts["left"]:
                yield BlockRule.MESSAGE_WAITS
            if entry.counts["sent_meanwhile"]:
                yield BlockRule.MESSAGE_SENT_MEANWHILE
        elif entry.phase == "promotion" and entry.counts["left_overflow"] > 0:
            yield BlockRule.OVERFLOW_SHRANK


def _points_of_changes(changes: Mapping[bytes, bytes | None]) -> Iterator[CoveragePoint]:
    for key, value in changes.items():
        point = (_OF_DELETION if value is None else _OF_WRITE).get(key[0])
        if point is not None:
            yield point


def _points_of_prices(before: Basefees, after: Basefees) -> Iterator[CoveragePoint]:
    cycle, cell = after.cycle - before.cycle, after.cell - before.cell
    if cycle:
        yield BlockRule.CYCLE_PRICE_ROSE if cycle > 0 else BlockRule.CYCLE_PRICE_FELL
    if cycle == 1:
        yield BlockRule.CYCLE_PRICE_ROSE_BY_ONE
    if cell:
        yield BlockRule.CELL_PRICE_ROSE if cell > 0 else BlockRule.CELL_PRICE_FELL
    if cycle * cell < 0:
        yield BlockRule.PRICES_PARTED
