"""The order of the auction against sorting, and the pool's orders through every life that a branch can have."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import PoolRules, Timer, WaitingPool, books
from scheduler.ranking import Offer, Ranking, Scale
from scheduler.types import Quote
from tests.support.properties import examples

PRICE, DEFAULT_FEE, DEFAULT_TIP = 10, 20, 4
NUMERATORS = {b"a": 2, b"b": 3, b"c": 0}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Blocks of a book are split after four timers, so that few timers make many."""
    monkeypatch.setattr(books, "BLOCK_TIMERS", 2)


def scale_of(*, is_additive=False):
    return Scale(PRICE, DEFAULT_FEE, DEFAULT_TIP, 2, is_additive, NUMERATORS.__getitem__)


def timer_of(number, actor, gas_limit, fee, tip, expires_at):
    return Timer(
        bytes([number * 37 % 256, number]),
        actor,
        number % 3,
        number,
        b"",
        "tick",
        actor,
        gas_limit,
        False,
        expires_at,
        Quote(fee, tip, b"g" if None in (fee, tip) else None),
    )


FEES = st.none() | st.integers(6, 20)
TIMERS = st.lists(
    st.builds(
        lambda actor, gas_limit, fee, tip, expires_at: (actor, gas_limit, fee, tip, expires_at),
        st.sampled_from((b"a", b"b", b"c")),
        st.sampled_from((1, 2, 3, 50, 60, 90)),
        FEES,
        st.none() | st.integers(0, 9),
        st.integers(3, 8),
    ),
    max_size=40,
)


@dataclass(frozen=True)
class Sorted:
    """The answers that the pool should give, computed by sorting."""

    timers: tuple[Timer, ...]
    now: int
    is_by_age: bool

    def live(self):
        return [timer for timer in self.timers if timer.expires_at >= self.now]

    def priority(self, timer):
        fee, tip = timer.quote.max_fee_per_cycle, timer.quote.max_priority_fee_per_cycle
        return min(DEFAULT_TIP if tip is None else tip, (DEFAULT_FEE if fee is None else fee) - PRICE)

    def order(self, room, *, is_additive):
        def rank(timer):
            weight = NUMERATORS[timer.actor]
            priority = self.priority(timer)
            effective = 2 * priority + (weight - 2) * PRICE if is_additive else priority * weight
            return -effective, (timer.due, timer.sequence) if self.is_by_age else timer.timer_id

        found = [timer for timer in self.live() if self.priority(timer) >= 0 and timer.gas_limit <= min(room, 60)]
        return sorted(found, key=rank)


def taken(waiting, room, *, is_additive):
    ranking = Ranking(waiting, scale_of(is_additive=is_additive), answers={}, skipped={}, bankrupt={})
    found = []
    while (best := ranking.take(room)) is not None:
        found.append(best[0])
    return found


def assert_is_sorted(waiting, plain, room, *, is_additive=False):
    live = plain.live()
    over = [timer for timer in live if timer.gas_limit > 60]
    fixed = [timer.quote.max_fee_per_cycle for timer in live if timer not in over]
    assert taken(waiting, room, is_additive=is_additive) == plain.order(room, is_additive=is_additive)
    assert list(waiting.walk()) == sorted(plain.timers, key=lambda timer: (timer.due, timer.sequence))
    assert waiting.fixed_fees.below(PRICE) == sum(fee is not None and fee < PRICE for fee in fixed)
    assert sorted(waiting.over_cap) == sorted(timer.timer_id for timer in over)
    assert sorted(waiting.expired) == sorted(timer.timer_id for timer in plain.timers if timer not in live)
    agents = [timer for timer in waiting.walk() if timer in live and timer not in over and timer.quote.gba]
    assert list(waiting.agents()) == agents


@examples(100)
@given(
    TIMERS,
    st.lists(st.integers(0, 39)),
    st.integers(2, 9),
    st.integers(2, 9),
    st.booleans(),
    st.booleans(),
    st.integers(0, 70),
)
def test_the_pool_equals_sorting(timers, removed, now, later, is_by_age, is_additive, room):
    """Whatever came, went, came back, expired and revived, the pool is that of its timers and the present."""
    rules = PoolRules(gas_limit_cap=60, default_gas_limit=60, legacy_max_fee=0, is_by_age=is_by_age)
    known = [timer_of(number, *timer) for number, timer in enumerate(timers)]
    waiting = WaitingPool(rules)
    for timer in known:
        waiting.add(timer)
    gone = dict.fromkeys(number for number in removed if number < len(known))
    waiting.advance(now)
    assert_is_sorted(waiting, Sorted(tuple(known), now, is_by_age), room, is_additive=is_additive)
    for number in gone:
        waiting.discard(known[number])
    left = tuple(timer for number, timer in enumerate(known) if number not in gone)
    waiting.advance(later)
    assert_is_sorted(waiting, Sorted(left, later, is_by_age), room, is_additive=is_additive)
    for number in gone:
        waiting.add(known[number])
    waiting.advance(now)
    assert_is_sorted(waiting, Sorted(tuple(known), now, is_by_age), room, is_additive=is_additive)


def test_a_tip_that_just_fits_follows_the_order_of_tips():
    """A timer whose max fee less tip equals the price is bound by its tip, in any block."""
    waiting = WaitingPool(PoolRules(gas_limit_cap=60, default_gas_limit=60, legacy_max_fee=0, is_by_age=False))
    timers = [timer_of(number, b"a", 1, PRICE + number, number, 9) for number in range(20)]
    for timer in timers:
        waiting.add(timer)

    (book,) = waiting.books.values()

    assert len(book.blocks) > 4
    assert taken(waiting, 1, is_additive=False) == timers[::-1]


def test_an_answer_replaces_what_the_books_say():
    """A timer whose agent answered stands at its answer; one whose answer is below the price does not stand at all."""
    rules = PoolRules(gas_limit_cap=60, default_gas_limit=60, legacy_max_fee=0, is_by_age=False)
    waiting = WaitingPool(rules)
    timers = [timer_of(number, b"a", 1, None, None, 9) for number in range(4)]
    for timer in timers:
        waiting.add(timer)
    answers = {timers[2].timer_id: (timers[2], Offer(30, 9)), timers[1].timer_id: (timers[1], Offer(9, 9))}

    ranking = Ranking(waiting, scale_of(), answers=answers, skipped={}, bankrupt={})

    assert [ranking.take(1) for _ in range(4)] == [(timers[2], 9), (timers[0], 4), (timers[3], 4), None]


def test_under_a_weight_of_0_ties_alone_decide():
    waiting = WaitingPool(PoolRules(gas_limit_cap=60, default_gas_limit=60, legacy_max_fee=0, is_by_age=False))
    timers = [timer_of(number, b"c", 1, 20, tip, 8) for number, tip in enumerate((0, 9, 5))]
    for timer in timers:
        waiting.add(timer)

    assert taken(waiting, 60, is_additive=False) == timers
