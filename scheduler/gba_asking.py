"""The asking of the GBA auction: for which timers agents bid in a block, and what they are told (B-3, Q-48).

A timer that its payer could not cover at any bid costs no ask. Such timers would otherwise use up the asks of a block,
and timers that can pay would wait behind them.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import chain, islice
from typing import NamedTuple

import msgspec

from scheduler.gba_records import AuctionCursor
from scheduler.rules import AuctionRule, CoveragePoint
from scheduler.tables import Ledger
from scheduler.types import Basefees, Timer, TimerConfig


class AuctionContext(msgspec.Struct, frozen=True, array_like=True):
    """The context that an agent is given: six fields, heights in the timebase, fees per cycle or cell (B-3)."""

    trigger_block_height: int
    current_block_height: int
    basefee_cycle: int
    basefee_cell: int
    last_block_cycle_usage: int
    owner_actor_balance: int


class AskList(NamedTuple):
    """The timers of one block to ask for, in the order of asking, and those passed over since nobody can pay them."""

    asked: list[Timer]
    unpayable: list[Timer]
    reached: list[CoveragePoint]


def place_of(timer: Timer) -> tuple[int, int]:
    """Return a timer's place in the waiting order."""
    return timer.due, timer.sequence


def next_to_ask(
    live: Sequence[Timer],
    cursor: AuctionCursor | None,
    most: int,
    *,
    config: TimerConfig,
    basefees: Basefees,
    ledger: Ledger,
) -> AskList:
    """Return the timers to ask for: those behind the last one that was asked, then from the first on (Q-48)."""
    found = AskList([], [], [])
    first = 0 if cursor is None else bisect_right(live, (cursor.due, cursor.sequence), key=place_of)
    first = first if first < len(live) else 0
    spendable: dict[bytes, int] = {}
    cells_cost, price = config.max_cells_per_fire * basefees.cell, basefees.cycle
    for timer in chain(islice(live, first, None), islice(live, first)):
        if len(found.asked) >= most:
            break
        payer = timer.fee_payer
        # Once for each payer: nothing is charged meanwhile, and this looks at all that waits where nobody can pay.
        if payer not in spendable:
            spendable[payer] = ledger.balance(payer) - cells_cost
        (found.unpayable if timer.gas_limit * price > spendable[payer] else found.asked).append(timer)
    if found.asked and first:
        found.reached.append(AuctionRule.ASKING_RESUMED)
        if place_of(found.asked[-1]) < place_of(live[first]):
            found.reached.append(AuctionRule.ASKING_WRAPPED)
    if found.unpayable:
        found.reached.append(AuctionRule.UNPAYABLE_UNASKED)
    return found
