"""A block in numbers, counted by its run for people and checks; not part of any state or root."""

import msgspec


class BlockSummary(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """A block in numbers.

    `cycles_used` and `cells_used` are the transactions', `lane_cycles` and `lane_cells` the fired handlers'. Both
    include the gas given to messages, of which delivered messages used `mailbox_cycles`. `fired` includes `reverted`,
    `transactions` includes `transactions_reverted`, `messages_delivered` includes `messages_reverted`; `burned` and
    `tips` are in units of this block. `deferred` equals `waiting_live`: live timers held back, first attempt or not.
    `lane_burned` is the part of `burned` that is lane basefee, `lane_price` the lane's price of a cycle.
    """

    transactions: int
    transactions_reverted: int
    cycles_used: int
    cells_used: int
    lane_cycles: int
    lane_cells: int
    gc_cycles: int
    scheduled: int
    cancelled: int
    fired: int
    reverted: int
    expired: int
    insolvent: int
    deferred: int
    waiting_live: int
    waiting_dead: int
    messages_sent: int
    messages_delivered: int
    messages_reverted: int
    messages_waiting: int
    mailbox_cycles: int
    burned: int
    tips: int
    lane_burned: int
    lane_price: int
    cycle_basefee: int
    cell_basefee: int
