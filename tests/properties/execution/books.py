"""Books of bids: more timers of one kind than a block of a book holds, that come and go at its ends.

A book is split where one actor has five hundred timers alike, which few chains admit; one that empties at its lower end
and is filled there again is rarer still. What has to come out is sorted out of a plain list.
"""

from bisect import bisect_right
from typing import Any, Final, NamedTuple, cast

from scheduler.books import BLOCK_TIMERS, Book, FeeCounts
from tests.properties.draws import Asked, Draw

_STEPS: Final = 4
_FEES: Final = 2_000
_TIPS: Final = 300


class _Bid(NamedTuple):
    """A timer's place in a book: what decides first, then the greatest tip, then the tie."""

    room: int
    negated_tip: int
    tie: bytes

    @property
    def tip(self) -> int:
        return -self.negated_tip

    @property
    def fee(self) -> int:
        return self.room + self.tip


def check_books(draw: Draw) -> Asked:
    """Yield whether a book and the counts of fees hold what was put into them, in order, after blocks came and went."""
    book, counts = Book(b"", b"", is_fee_open=False, is_tip_open=False), FeeCounts()
    plain: list[_Bid] = []
    ties = 0
    for step in range(_STEPS):
        # At first several blocks of bids; then a part of the list goes, mostly from an end, and others come there.
        added = 3 * BLOCK_TIMERS if step == 0 else draw(BLOCK_TIMERS // 2)
        start = (0, 0, len(plain) // 2, max(len(plain) - 2 * BLOCK_TIMERS, 0))[draw(4)]
        gone = plain[start : start + draw(2 * BLOCK_TIMERS)]
        lowest = plain[0].room if plain else 0
        for bid in gone:
            book.remove(bid.fee, bid.tip, bid.tie)
            counts.remove(bid.fee)
        del plain[start : start + len(gone)]
        for _ in range(added):
            tip = draw(_TIPS)
            room = draw(_FEES) if step == 0 else lowest - _TIPS + draw(2 * _TIPS)
            ties += 1
            bid = _Bid(max(room, -tip), -tip, ties.to_bytes(4, "big"))
            book.add(bid.fee, bid.tip, bid.tie, cast("Any", bid))
            counts.add(bid.fee)
            plain.append(bid)
        plain.sort()
        yield from _compare(book, plain)
        for price in (0, draw(_FEES + _TIPS), draw(_FEES + _TIPS)):
            below = sum(bid.fee < price for bid in plain)
            yield "another number of fees is below a price", counts.below(price) == below


def _compare(book: Book, plain: list[_Bid]) -> Asked:
    by_tip = [[cast("_Bid", entry[2]) for entry in block.by_tip] for block in book.blocks]
    by_fee = [[cast("_Bid", entry[2]) for entry in block.by_fee] for block in book.blocks]
    yield "a book holds other timers than were put into it", [bid for block in by_tip for bid in sorted(block)] == plain
    places = [bisect_right(book.lows, bid) - 1 for bid in plain]
    held = [place for place, block in enumerate(by_tip) for _ in block]
    yield "a timer is in another block than its bounds say", places == held
    yield "a block has other timers by fee than by tip", [sorted(block) for block in by_fee] == [*map(sorted, by_tip)]
    yield (
        "a block is not in the order of its tips, or of its fees",
        all(block == sorted(block, key=lambda bid: (-bid.tip, bid.tie)) for block in by_tip)
        and all(block == sorted(block, key=lambda bid: (-bid.fee, bid.tie)) for block in by_fee),
    )
    greatest = max((bid.tip for bid in plain), default=0), max((bid.fee for bid in plain), default=0)
    yield "the bounds of a book are others than its greatest offers", (book.max_tip, book.max_fee) == greatest
