"""The coverage points of a block, apart from its timers: calls, messages, tiers, prices and storage.

Points that a block's results show are read off them (`checker.coverage`), so that execution pays nothing for them.
"""

import enum

from scheduler import UNPROMISED, CoveragePoint


@enum.unique
class BlockRule(CoveragePoint):
    """Branches of the rules of a block that belong to no policy."""

    SCHEDULED_BY_FIRE = "C-13", "A fired handler schedules a timer."
    SCHEDULED_BY_MESSAGE = "C-13", "The handler of a message schedules a timer."
    HANDLER_IN_PAYLOAD = "Q-29", "A fire calls the handler that its payload names, and keeps its effects."
    LIMIT_ABOVE_LANE = "A-21", "Before the lane's activation a timer states a gas limit above the lane's.", UNPROMISED
    NO_TRANSACTIONS = "Q-7", "A block holds no transaction."
    TRANSACTION_REVERTED = "C-6", "A transaction reverts and stays in its block."
    TRANSACTION_OUT_OF_GAS = "C-6", "A transaction reaches its limit and stays in its block."
    PROGRAM_FAULTED = "C-6", "A program fails with an error of its own, and its call's writes are dropped."
    TRANSACTION_TIPPED = "X-6", "A transaction pays its block's proposer."
    CYCLE_PRICE_ROSE = "Q-2", "The cycle basefee rises."
    CYCLE_PRICE_FELL = "Q-2", "The cycle basefee falls."
    CYCLE_PRICE_ROSE_BY_ONE = "Q-3", "The cycle basefee rises by 1, the least that it rises."
    CELL_PRICE_ROSE = "X-6", "The cell basefee rises."
    CELL_PRICE_FELL = "X-6", "The cell basefee falls."
    PRICES_PARTED = "X-6", "One basefee rises while the other falls."
    MESSAGE_DELIVERED = "C-12", "A message is delivered and its call keeps its effects."
    MESSAGE_REVERTED = "C-12", "A message is delivered and its call fails."
    MESSAGE_WAITS = "C-12", "A message waits because the mailbox' budget is used."
    MESSAGE_SENT_MEANWHILE = "C-12", "The handler of a message sends another message, which waits for the next block."
    EPOCH_BEGAN = "A-1", "An epoch begins."
    EPOCH_SKIPPED = "A-1", "A block begins an epoch after an epoch without a block."
    EPOCH_QUEUE_FILLED = "Q-32", "A height waits in the epoch queue."
    EPOCH_QUEUE_EMPTIED = "K-32", "The last height of an epoch leaves the epoch queue."
    OVERFLOW_FILLED = "E-3", "A height waits in the overflow tree."
    OVERFLOW_SHRANK = "E-3", "Heights come nearer out of the overflow tree."
    OVERFLOW_EMPTIED = "Q-35", "The last height leaves the overflow tree."
    CALENDAR_RESIZED = "K-14", "A system deployer changes the sizes of the tiers."
    TIMER_CONFIG_CHANGED = "A-20", "The timer configuration of the next block differs."
    SLOT_REPEATED = "Q-45", "A block has its parent's slot."
    SLOTS_SKIPPED = "Q-45", "A block serves more than one slot."
    LONG_KEY_STORED = "C-2", "An actor stores a value under a key that does not fit its state key."
    LONG_KEY_DELETED = "C-2", "An actor deletes a value under such a key."
    VALUE_DELETED = "C-2", "An actor deletes a value."
    ACCOUNT_EMPTIED = "C-2", "An account has nothing any more and leaves the state."
