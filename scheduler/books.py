"""The orders of what waits in the lane by what it offers: books of timers that are alike, and counts of fees.

A book's blocks stay small, so that a timer comes and goes without moving all others.
"""

from bisect import bisect_left, bisect_right, insort
from typing import Final

from scheduler.types import Timer

BLOCK_TIMERS: Final = 256
"""A block of a book is split when it holds twice as many."""

Tie = bytes | tuple[int, int]
"""The rule between equal priorities: the identifier, or the place."""

Entry = tuple[int, Tie, Timer]
"""A timer in an order of a block: what it offers, negated; its tie; itself. Ties differ, so timers never compare."""


class Chunk:
    """Neighbours in a book, by tip and by greatest fee, best first."""

    __slots__ = ("by_fee", "by_tip")

    def __init__(self, by_tip: list[Entry], by_fee: list[Entry]) -> None:
        self.by_tip = by_tip
        self.by_fee = by_fee


Bound = tuple[int, int] | tuple[int, int, Tie]
"""Where a block begins: (max_fee - tip, -tip, tie) of its first timer; the first block begins below all."""

LOWEST: Final[Bound] = (-(1 << 64), 0)
"""Below every timer."""


class Book:
    """The timers of one actor and payer that leave the same fees open and have nearly the same gas limit.

    An open fee counts as 0 here; readers add what the block fills in. Blocks follow each other by (max_fee -
    tip, -tip, tie), and block i begins at `lows[i]`. `gas_min`, `max_tip` and `max_fee` are bounds.
    """

    __slots__ = ("actor", "blocks", "gas_min", "is_fee_open", "is_tip_open", "lows", "max_fee", "max_tip", "payer")

    def __init__(self, actor: bytes, payer: bytes, *, is_fee_open: bool, is_tip_open: bool) -> None:
        self.actor = actor
        self.payer = payer
        self.is_fee_open = is_fee_open
        self.is_tip_open = is_tip_open
        self.gas_min = 1 << 63
        self.max_tip = 0
        self.max_fee = 0
        self.lows: list[Bound] = [LOWEST]
        self.blocks = [Chunk([], [])]

    def add(self, fee: int, tip: int, tie: Tie, timer: Timer) -> None:
        """Put a timer in; `fee` and `tip` are 0 where they are open."""
        index = bisect_right(self.lows, (fee - tip, -tip, tie)) - 1
        block = self.blocks[index]
        # Ties differ within a book, so the comparison never reaches the timer.
        insort(block.by_tip, (-tip, tie, timer))
        insort(block.by_fee, (-fee, tie, timer))
        self.max_tip = max(self.max_tip, tip)
        self.max_fee = max(self.max_fee, fee)
        if len(block.by_tip) > 2 * BLOCK_TIMERS:
            self._split(index)

    def remove(self, fee: int, tip: int, tie: Tie) -> None:
        """Take a timer out that is in."""
        index = bisect_right(self.lows, (fee - tip, -tip, tie)) - 1
        block = self.blocks[index]
        del block.by_tip[bisect_left(block.by_tip, (-tip, tie))]
        del block.by_fee[bisect_left(block.by_fee, (-fee, tie))]
        if len(self.blocks) > 1 and not block.by_tip:
            # The first bound stays: it is below all that may come.
            del self.blocks[index], self.lows[index or 1]
        # Only then can the bound have fallen; looking at all blocks each time would cost as much as they are.
        if tip == self.max_tip or fee == self.max_fee:
            filled = [block for block in self.blocks if block.by_tip]
            self.max_tip = max((-block.by_tip[0][0] for block in filled), default=0)
            self.max_fee = max((-block.by_fee[0][0] for block in filled), default=0)

    def _split(self, index: int) -> None:
        """Divide a block at its middle."""
        block = self.blocks[index]
        fees = {tie: -negated for negated, tie, _ in block.by_fee}
        keys = sorted((fees[tie] + negated, negated, tie) for negated, tie, _ in block.by_tip)
        upper = dict.fromkeys(tie for _, _, tie in keys[len(keys) // 2 :])
        self.blocks[index : index + 1] = [
            Chunk(
                [entry for entry in block.by_tip if (entry[1] in upper) == is_upper],
                [entry for entry in block.by_fee if (entry[1] in upper) == is_upper],
            )
            for is_upper in (False, True)
        ]
        self.lows.insert(index + 1, keys[len(keys) // 2])


class FeeCounts:
    """The greatest fees of the live timers within the cap, to count those below a price. Open fees are not in it."""

    __slots__ = ("_counts", "_fees", "_lows", "_sizes")

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._fees: list[list[int]] = [[]]
        self._lows: list[int] = [-1]
        self._sizes = [0]

    def add(self, fee: int) -> None:
        """Count a fee."""
        index = bisect_right(self._lows, fee) - 1
        count = self._counts.get(fee, 0)
        self._counts[fee] = count + 1
        self._sizes[index] += 1
        # A fee that is there already: only its count changes, and counted fees stand in the list once.
        if count:
            return
        fees = self._fees[index]
        insort(fees, fee)
        if len(fees) > 2 * BLOCK_TIMERS:
            below, above = fees[:BLOCK_TIMERS], fees[BLOCK_TIMERS:]
            self._fees[index : index + 1] = [below, above]
            self._lows.insert(index + 1, above[0])
            self._sizes[index : index + 1] = [sum(self._counts[fee] for fee in part) for part in (below, above)]

    def remove(self, fee: int) -> None:
        """Count a fee no more."""
        index = bisect_right(self._lows, fee) - 1
        self._sizes[index] -= 1
        self._counts[fee] -= 1
        if self._counts[fee]:
            return
        del self._counts[fee]
        fees = self._fees[index]
        del fees[bisect_left(fees, fee)]
        if not fees and len(self._fees) > 1:
            # The first bound stays: it is below all that may come.
            del self._fees[index], self._sizes[index], self._lows[index or 1]

    def below(self, price: int) -> int:
        """Return how many fees are below a price."""
        index = bisect_right(self._lows, price) - 1
        if index < 0:
            return 0
        fees = self._fees[index]
        return sum(self._sizes[:index]) + sum(self._counts[fee] for fee in fees[: bisect_left(fees, price)])
