"""A choice: which of the due timers are dead, and which win a bias auction, at what payment.

In a run a payer rarely has just what a fire of the plain policy costs, and a lane rarely has room for one timer behind
several that do not fit. Here balances and limits lie next to each other, and lists are sorted out by the steps of
docs/bias-auction.md and docs/chain.md.
"""

from collections.abc import Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Final, cast

import msgspec

from scheduler.bias import SCALE
from scheduler.bias_selection import Competitor, PaymentRule, Walk, payment, walk_all
from scheduler.settlement import classify
from scheduler.tables import Ledger
from scheduler.types import Basefees, Timer, TimerConfig
from tests.properties.draws import Asked, Draw

_TIMERS: Final = 9
_PAYERS: Final = 3
_ROUNDS: Final = 2
_RULES: Final[Sequence[PaymentRule]] = ("vcg-literal", "vcg-critical", "first-price")


def check_choices(draw: Draw) -> Asked:
    """Yield what is asked of the classes of timers and of the auction's walk, and whether it is so."""
    for _ in range(_ROUNDS):
        yield from _check_classes(draw)
        yield from _check_walk(draw)


def _timer(number: int, draw: Draw) -> Timer:
    return Timer(
        timer_id=bytes([number]),
        actor=bytes([draw(3)]),
        due=1,
        sequence=number,
        payload=b"",
        handler="",
        fee_payer=bytes([draw(_PAYERS)]),
        gas_limit=1 + draw(20),
        gas_limit_is_default=False,
        expires_at=3 + draw(4),
        quote=None,
    )


def _check_classes(draw: Draw) -> Asked:
    timers = [_timer(number, draw) for number in range(_TIMERS)]
    cells = 1 + draw(5)
    config = msgspec.structs.replace(TimerConfig(), lane_timer_cycles=1 + draw(20), max_cells_per_fire=cells)
    basefees, now = Basefees(1 + draw(5), 1 + draw(5)), 3 + draw(4)

    def cost(timer: Timer) -> int:
        return timer.gas_limit * basefees.cycle + cells * basefees.cell

    # Just what one of the payer's timers costs, or a unit less.
    balances = {timer.fee_payer: cost(timer) - draw(2) for timer in timers}
    found = classify(
        timers,
        now=now,
        config=config,
        basefees=basefees,
        ledger=cast("Ledger", SimpleNamespace(balance=balances.__getitem__)),
    )
    dead = [timer for timer in timers if timer.expires_at < now or cost(timer) > balances[timer.fee_payer]]
    live = [timer for timer in timers if timer not in dead]
    over_cap = [timer for timer in live if timer.gas_limit > config.lane_timer_cycles]
    yield "other timers are dead than are expired or cost more than there is", found.dead == dead
    yield "other timers are over the lane's cap than should be", found.over_cap == over_cap
    candidates = [timer for timer in live if timer not in over_cap]
    yield "other timers may fire than are alive and fit the lane", found.candidates == candidates


def _check_walk(draw: Draw) -> Asked:
    order = [
        Competitor(_timer(number, draw), draw(60), draw(3), draw(4) * SCALE + draw(3)) for number in range(_TIMERS)
    ]
    broke = [one.timer.timer_id for one in order if draw(5) == 0]
    room, fires, of_one = 10 + draw(60), 1 + draw(6), 1 + draw(3)
    walk = walk_all(order, Walk(room, fires, of_one), lambda one: one.timer.timer_id not in broke)
    winners: list[Competitor] = []
    left_out: list[Competitor] = []
    for one in order:
        gas_limit = one.timer.gas_limit
        if sum(each.timer.actor == one.timer.actor for each in winners) >= of_one:
            continue
        if len(winners) >= fires or gas_limit > room:
            left_out.append(one)
        elif one.timer.timer_id not in broke:
            winners.append(one)
            room -= gas_limit
    runner_up = left_out[0] if left_out else None
    yield "others win the auction than come first and fit", walk.winners == winners
    yield "another one is the runner-up than the first that is left out", walk.runner_up == runner_up
    reserve, rule = draw(30), _RULES[draw(3)]
    paid = [payment(winner, walk.runner_up, rule=rule, reserve=reserve) for winner in walk.winners]
    expected = [_payment(winner, runner_up, rule, reserve) for winner in winners]
    yield f"winners pay otherwise than by {rule}", paid == expected


def _payment(winner: Competitor, runner_up: Competitor | None, rule: PaymentRule, reserve: int) -> int:
    """Return what a winner pays (docs/bias-auction.md, step 6)."""
    if rule == "first-price":
        return winner.bid
    asked = 0
    if runner_up is not None and rule == "vcg-literal":
        asked = runner_up.bid * SCALE - winner.bias
    elif runner_up is not None:
        share = Fraction(winner.timer.gas_limit, runner_up.timer.gas_limit)
        asked = int(share * (runner_up.bid * SCALE + runner_up.bias)) - winner.bias
    return min(winner.bid, max(reserve, asked // SCALE))
