"""The order of the auction: live timers by effective priority, best first, read from the pool's books as far as needed.

A book enters the heap with a bound, its blocks do when the bound comes up, and their timers one by one. So a block
pays for each book once and for the timers that it takes, not for those that wait.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace

from scheduler.books import Book, Entry, Tie
from scheduler.pool import WaitingPool
from scheduler.types import Timer


@dataclass(frozen=True, slots=True)
class Offer:
    """A timer's greatest fee and tip in one block, in units per cycle, open fees filled in."""

    max_fee: int
    tip: int


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale by which priorities and weights make effective priorities that compare as integers.

    Multiplicative: `P * W`; additive: `P + (W - 1) * price`; both times the weights' denominator.
    """

    price: int
    default_fee: int
    default_tip: int
    denominator: int
    is_additive: bool
    numerator_of: Callable[[bytes], int]

    def effective(self, priority: int, numerator: int) -> int:
        """Return an effective priority, times the denominator."""
        if self.is_additive:
            return priority * self.denominator + (numerator - self.denominator) * self.price
        return priority * numerator

    def priority(self, offer: Offer) -> int:
        """Return the priority per cycle of an offer; negative when the offer is below the price (A-5, Q-8)."""
        return min(offer.tip, offer.max_fee - self.price)


class _Stream:
    """One order of a block, read from its best end. In a mixed block each timer is in the order that binds it."""

    __slots__ = ("book", "entries", "is_by_tip", "numerator", "position")

    def __init__(self, book: Book, entries: list[Entry], *, is_by_tip: bool, numerator: int) -> None:
        self.book = book
        self.entries = entries
        self.is_by_tip = is_by_tip
        self.numerator = numerator
        self.position = 0


class Ranking:
    """Takes timers out of the order of the auction, best first. The pool must not change meanwhile.

    Args:
        pool: The timers that wait.
        scale: The block's prices and weights.
        answers: What the agents that were asked offer for their timers.
        skipped: Timers that are no candidates.
        bankrupt: Payers none of whose timers is a candidate.
    """

    def __init__(
        self,
        pool: WaitingPool,
        scale: Scale,
        *,
        answers: Mapping[bytes, tuple[Timer, Offer]],
        skipped: Mapping[bytes, Timer],
        bankrupt: Mapping[bytes, int],
    ) -> None:
        self.has_misfit = False
        """Whether a candidate was passed over because of its gas limit."""
        self._rules = pool.rules
        self._scale = scale
        self._answers = answers
        self._skipped = skipped
        self._serial = 0
        self._lowest: Tie = () if pool.rules.is_by_age else b""  # type: ignore[assignment]
        self._heap: list[tuple[int, Tie, int, Book | _Stream | Timer]] = []
        self._numerators: dict[bytes, int] = {}
        for book in pool.books.values():
            # A whole book at once: not one timer of a bankrupt payer can be a candidate.
            if book.payer not in bankrupt:
                self._add_book(book)
        for timer, offer in answers.values():
            priority = scale.priority(offer)
            if priority >= 0:
                effective = scale.effective(priority, self._numerator(timer.actor))
                self._heap.append((-effective, self._rules.tie(timer), self._next_serial(), timer))
        # Serial numbers stand before the nodes: equal priority and tie must never compare two nodes.
        heapify(self._heap)

    @property
    def numerators(self) -> Collection[int]:
        """The weights of the actors that were looked at, times the denominator."""
        return self._numerators.values()

    def take(self, room: int) -> tuple[Timer, int] | None:
        """Return the best timer whose gas limit is at most `room`, and its priority; pass over what does not fit.

        `room` must not grow from call to call: what was passed over does not come back.
        """
        heap = self._heap
        while heap:
            node = heap[0][3]
            if isinstance(node, Book):
                heappop(heap)
                # A book in which nothing fits is left out for good, because the room only shrinks.
                if node.gas_min <= room:
                    self._open_book(node)
                else:
                    self.has_misfit = True
                continue
            if isinstance(node, _Stream):
                if node.book.gas_min > room:
                    heappop(heap)
                    self.has_misfit = True
                    continue
                found = self._read(node)
            else:
                heappop(heap)
                found = node, self._scale.priority(self._offer(node))
            if found is not None and self._is_candidate(found[0], node, room):
                return found
        return None

    def _is_candidate(self, timer: Timer, node: "_Stream | Timer | Book", room: int) -> bool:
        if timer.timer_id in self._skipped:
            return False
        if self._rules.gas_limit(timer) > room:
            self.has_misfit = True
            return False
        # A timer whose agent answered stands in the heap by itself.
        return node is timer or timer.timer_id not in self._answers

    def _numerator(self, actor: bytes) -> int:
        numerator = self._numerators.get(actor)
        if numerator is None:
            numerator = self._numerators[actor] = self._scale.numerator_of(actor)
        return numerator

    def _next_serial(self) -> int:
        self._serial += 1
        return self._serial

    def _fills(self, book: Book) -> tuple[int, int]:
        """Return what the block adds to the book's fees and tips."""
        return (
            self._scale.default_fee if book.is_fee_open else 0,
            self._scale.default_tip if book.is_tip_open else 0,
        )

    def _add_book(self, book: Book) -> None:
        fee_fill, tip_fill = self._fills(book)
        bound = min(book.max_tip + tip_fill, book.max_fee + fee_fill - self._scale.price)
        if bound >= 0:
            effective = self._scale.effective(bound, self._numerator(book.actor))
            # The lowest tie: a bound comes before every timer of the same priority.
            self._heap.append((-effective, self._lowest, self._next_serial(), book))

    def _open_book(self, book: Book) -> None:
        """Put the blocks of a book in its place."""
        if not self._scale.is_additive and self._numerator(book.actor) == 0:
            self._open_level_book(book)
            return
        fee_fill, tip_fill = self._fills(book)
        # max_fee - tip >= price, with what the block fills in brought to the other side.
        split = self._scale.price - fee_fill + tip_fill
        last = len(book.blocks) - 1
        for index, block in enumerate(book.blocks):
            # The block that the price falls into is in both orders; `_read` leaves each timer to the one that binds it.
            if index == last or book.lows[index + 1][0] >= split:
                self._open_stream(book, block.by_tip, is_by_tip=True)
            if book.lows[index][0] < split:
                self._open_stream(book, block.by_fee, is_by_tip=False)

    def _open_level_book(self, book: Book) -> None:
        """Put the timers of an actor of weight 0 in the place of its book: ties alone order them, in no stream."""
        for block in book.blocks:
            for _, tie, timer in block.by_tip:
                if timer.timer_id not in self._answers and self._scale.priority(self._offer(timer)) >= 0:
                    heappush(self._heap, (0, tie, self._next_serial(), timer))

    def _open_stream(self, book: Book, entries: list[Entry], *, is_by_tip: bool) -> None:
        if entries:
            stream = _Stream(book, entries, is_by_tip=is_by_tip, numerator=self._numerator(book.actor))
            head = self._head(stream)
            if head is not None:
                heappush(self._heap, head)

    def _head(self, stream: _Stream) -> tuple[int, Tie, int, _Stream] | None:
        """Return a stream's next timer as the heap holds it, or None when no eligible one is left."""
        entries, position, skipped = stream.entries, stream.position, self._skipped
        if skipped:
            while position < len(entries) and entries[position][2].timer_id in skipped:
                position += 1
            stream.position = position
        if position == len(entries):
            return None
        negated, tie, _ = entries[position]
        fee_fill, tip_fill = self._fills(stream.book)
        priority = tip_fill - negated if stream.is_by_tip else fee_fill - negated - self._scale.price
        if priority < 0:
            return None
        return -self._scale.effective(priority, stream.numerator), tie, self._next_serial(), stream

    def _offer(self, timer: Timer) -> Offer:
        """Return a timer's fees in this block, as its agent answered where it did."""
        if timer.timer_id in self._answers:
            return self._answers[timer.timer_id][1]
        fee, tip = self._rules.fees(timer)
        return Offer(self._scale.default_fee if fee is None else fee, self._scale.default_tip if tip is None else tip)

    def _read(self, stream: _Stream) -> tuple[Timer, int] | None:
        """Take the next timer of the stream on top of the heap; None if the other order binds it."""
        timer = stream.entries[stream.position][2]
        stream.position += 1
        head = self._head(stream)
        if head is None:
            heappop(self._heap)
        else:
            heapreplace(self._heap, head)
        offer = self._offer(timer)
        # Ties go to the tip: in both orders a timer would be taken twice, in neither never.
        is_by_tip = offer.tip <= offer.max_fee - self._scale.price
        return (timer, self._scale.priority(offer)) if is_by_tip == stream.is_by_tip else None
