"""A waiting set: timers with fees, limits and payers as a seed draws them, ranked and found insolvent.

A drawn chain has rarely more than a few payers, and rarely a timer whose stated limit, default limit, open fee and
payer's balance all matter at once. Here each of them lies near the others, and the order of the auction, the insolvent
and all other orders of the set are sorted out of a plain list. So are slices by largest remainder, and meters of gas.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Final

from scheduler.bidding import Prices
from scheduler.gba_selection import share_out
from scheduler.pool import PoolRules, WaitingPool
from scheduler.ranking import Ranking, Scale
from scheduler.solvency import Insolvent, find_insolvent
from scheduler.types import Quote, Timer
from tests.properties.draws import Asked, Draw
from validators.actors.metering import GasMeter, OutOfGas

_TIMERS_MIN: Final = 8
_TIMERS_MAX: Final = 30
_NOW_MAX: Final = 12
_CAP: Final = 40
_BALANCES: Final = 4
_SHARES: Final = 4
_ACTS: Final = 8


def check_waiting(draw: Draw) -> Asked:
    """Yield what is asked of a waiting set, of slices and of meters, and whether it is so."""
    yield from _check_set(draw)
    for _ in range(_SHARES):
        yield from _check_shares(draw)
        yield from _check_meter(draw)


class _Plain:
    """A list of timers, and what the rules make of each."""

    def __init__(self, rules: PoolRules, prices: Prices, timers: Sequence[Timer], now: int) -> None:
        self.rules, self.prices = rules, prices
        self.waiting = sorted(timers, key=lambda timer: (timer.due, timer.sequence))
        self.expired = {timer.timer_id: timer for timer in timers if timer.expires_at < now}
        alive = [timer for timer in self.waiting if timer.timer_id not in self.expired]
        self.over_cap = {timer.timer_id: timer for timer in alive if self.gas(timer) > rules.gas_limit_cap}
        self.live = [timer for timer in alive if timer.timer_id not in self.over_cap]

    def gas(self, timer: Timer) -> int:
        """Return the gas limit as it is read now."""
        stated, default = timer.gas_limit, self.rules.default_gas_limit
        return default if timer.gas_limit_is_default and stated > default else stated

    def priority(self, timer: Timer) -> int:
        """Return the priority per cycle, negative below the price."""
        fee, tip = self.rules.legacy_max_fee, 0
        if timer.quote is not None:
            stated_fee, stated_tip = timer.quote.max_fee_per_cycle, timer.quote.max_priority_fee_per_cycle
            fee = 2 * self.prices.lane if stated_fee is None else stated_fee
            tip = self.prices.p50_tip if stated_tip is None else stated_tip
        return min(tip, fee - self.prices.lane)

    def tie(self, timer: Timer) -> tuple[object, ...]:
        """Return what decides between timers of one priority."""
        if not self.rules.is_by_age:
            return (timer.timer_id,)
        return (-timer.due if self.rules.is_appended else timer.due), timer.sequence

    def cost(self, timer: Timer) -> int:
        """Return the cost of a timer at its priority."""
        return self.gas(timer) * (self.prices.cycle + self.priority(timer))

    def is_dead(self, timer: Timer, spendable: Mapping[bytes, int]) -> bool:
        """Return whether a timer costs more than its payer can spend."""
        return self.cost(timer) > spendable[timer.fee_payer]


def _draw_timer(number: int, draw: Draw) -> Timer:
    quote = None
    if draw(5):
        quote = Quote(draw(30) if draw(3) else None, draw(12) if draw(3) else None, b"agent" if draw(4) == 0 else None)
    return Timer(
        timer_id=bytes([draw(256), number]),
        actor=bytes([draw(3)]),
        due=draw(4),
        sequence=number,
        payload=b"",
        handler="",
        fee_payer=bytes([draw(3)]),
        gas_limit=1 + draw(_CAP + 5),
        gas_limit_is_default=draw(2) == 0,
        expires_at=1 + draw(_NOW_MAX),
        quote=quote,
    )


def _check_set(draw: Draw) -> Asked:
    is_by_age = draw(2) == 0
    rules = PoolRules(
        gas_limit_cap=_CAP - draw(8),
        default_gas_limit=5 + draw(30),
        legacy_max_fee=draw(25),
        is_by_age=is_by_age,
        is_appended=is_by_age and draw(2) == 0,
    )
    prices = Prices(cycle=1 + draw(9), cell=0, lane=draw(18), p50_tip=draw(10))
    timers = [_draw_timer(number, draw) for number in range(_TIMERS_MIN + draw(_TIMERS_MAX - _TIMERS_MIN))]
    pool = WaitingPool(rules)
    for timer in timers:
        pool.add(timer)
    # The present goes on while timers leave, and back where a branch is left.
    for now in (draw(_NOW_MAX // 2), draw(_NOW_MAX), draw(_NOW_MAX)):
        pool.advance(now)
        for _ in range(draw(3)):
            pool.discard(timers.pop(draw(len(timers))))
    plain = _Plain(rules, prices, timers, now)
    yield from _compare_orders(pool, plain, draw)
    for _ in range(_BALANCES):
        # Just what one of the payer's timers costs, or a unit less.
        costs = {timer.fee_payer: plain.cost(timer) for timer in timers if draw(3)}
        spendable = {payer: costs.get(payer, draw(1_200)) - draw(2) for payer in (bytes([each]) for each in range(3))}
        found = find_insolvent(pool.payers, spendable, cycle=prices.cycle, prices=prices)
        dead = [timer for timer in plain.live if plain.priority(timer) >= 0 and plain.is_dead(timer, spendable)]
        yield (
            "other timers are insolvent than cost more than there is",
            found.dead == {timer.timer_id: timer for timer in dead},
        )
        yield (
            "a payer is bankrupt that can pay for a timer of its own",
            all(
                plain.gas(timer) * prices.cycle > spendable[timer.fee_payer]
                for timer in plain.live
                if timer.fee_payer in found.bankrupt
            ),
        )
    yield from _check_ranking(pool, plain, found, draw)


def _compare_orders(pool: WaitingPool, plain: _Plain, draw: Draw) -> Asked:
    yield "timers wait in another order than they are due", [*pool.walk()] == plain.waiting
    after = draw(4), draw(_TIMERS_MAX)
    behind = [timer for timer in plain.waiting if (timer.due, timer.sequence) > after]
    yield "other timers wait behind a place than are due there", [*pool.walk(after)] == behind
    yield "the timers that wait are miscounted", len(pool) == len(plain.waiting)
    first = plain.waiting[0].due if plain.waiting else None
    yield "another height is the first that timers wait for", pool.first_due == first
    yield "other timers are expired than should be", pool.expired == plain.expired
    yield "other timers are over the cap than should be", pool.over_cap == plain.over_cap
    asked = [timer for timer in plain.live if timer.quote is not None and timer.quote.gba is not None]
    yield "other timers name an agent than do", [*pool.agents()] == asked and pool.agent_count() == len(asked)
    fees = [
        plain.rules.legacy_max_fee if timer.quote is None else timer.quote.max_fee_per_cycle for timer in plain.live
    ]
    price = draw(30)
    low = sum(fee is not None and fee < price for fee in fees)
    yield "fees below a price are miscounted", pool.fixed_fees.below(price) == low


def _check_ranking(
    pool: WaitingPool,
    plain: _Plain,
    insolvent: Insolvent,
    draw: Draw,
) -> Asked:
    denominator, numerators = 1 + draw(9), [1 + draw(9) for _ in range(3)]
    is_additive = draw(2) == 0

    def effective(timer: Timer) -> Fraction:
        weight = Fraction(numerators[timer.actor[0]], denominator)
        priority = plain.priority(timer)
        return priority + (weight - 1) * plain.prices.lane if is_additive else priority * weight

    scale = Scale(
        price=plain.prices.lane,
        default_fee=2 * plain.prices.lane,
        default_tip=plain.prices.p50_tip,
        denominator=denominator,
        is_additive=is_additive,
        numerator_of=lambda actor: numerators[actor[0]],
    )
    ranking = Ranking(pool, scale, answers={}, skipped=insolvent.dead, bankrupt=insolvent.bankrupt)
    left = [
        timer
        for timer in plain.live
        if plain.priority(timer) >= 0
        and timer.timer_id not in insolvent.dead
        and timer.fee_payer not in insolvent.bankrupt
    ]
    left.sort(key=lambda timer: (-effective(timer), plain.tie(timer)))
    room = plain.rules.gas_limit_cap + draw(2 * _CAP)
    taken: list[tuple[Timer, int]] = []
    expected: list[tuple[Timer, int]] = []
    for timer in left:
        if plain.gas(timer) <= room:
            expected.append((timer, plain.priority(timer)))
            room -= plain.gas(timer)
    room += sum(plain.gas(timer) for timer, _ in expected)
    while (found := ranking.take(room)) is not None:
        taken.append(found)
        room -= plain.gas(found[0])
    yield "the order of the auction is another one than that of priorities", taken == expected


def _check_shares(draw: Draw) -> Asked:
    weights = {bytes([255 - actor]): draw(9) for actor in range(1 + draw(5))}
    budget, total = draw(60), sum(weights.values())
    exact = {actor: Fraction(budget * weight, total or 1) for actor, weight in weights.items()}
    shares = {actor: int(share) for actor, share in exact.items()}
    left = budget - sum(shares.values()) if total else 0
    for actor in sorted(exact, key=lambda actor: (shares[actor] - exact[actor], actor))[:left]:
        shares[actor] += 1
    yield "a budget is shared otherwise than by largest remainder", share_out(budget, weights) == shares


def _check_meter(draw: Draw) -> Asked:
    limit, rate = draw(40), (1 + draw(5), 1 + draw(5))
    meter = GasMeter(limit, 30, rate)
    cycles = cells = 0
    is_out = False
    for _ in range(_ACTS):
        wanted = draw(8), draw(6)
        gas = cycles + wanted[0] + ceil(Fraction((cells + wanted[1]) * rate[0], rate[1]))
        is_out = is_out or gas > limit or cells + wanted[1] > 30
        if not is_out:
            cycles, cells = cycles + wanted[0], cells + wanted[1]
        try:
            meter.use(*wanted)
            has_failed = False
        except OutOfGas:
            has_failed = True
        yield "gas ends sooner or later than work and cells use it up", has_failed == is_out
    used = limit if is_out else cycles
    yield (
        "a meter counts otherwise than was used",
        (meter.cycles, meter.cells, meter.exhausted) == (used, cells, is_out),
    )
