"""Mutants of the bias auction: its walk, its payments, its waits, the escrow and the lambda loop."""

import math
from functools import partial
from typing import Any, Final

import msgspec

from checker.mutants.mutant import mutant
from scheduler import Exit, Watches, bias_loop, bias_pool, bias_selection
from scheduler.bias_selection import Walk
from scheduler.bias_waits import WaitClock
from scheduler.escrow import ESCROW_ADDRESS, Escrow
from scheduler.policies import bias_auction
from scheduler.policies.bias_auction import BiasAuctionInBlock
from scheduler.watch_records import WATCHER, watcher_key
from validators.execution import run, watchable

_STORM: Final = 'kind="storm", actors=2, start_ms=1_500, spread_slots=1, gas_limit=2_100, may_be_idle=true'

IN_AUCTION: Final = (
    'chain.policy="bias-auction"',
    "chain.activation.height=1",
    "chain.lane={}",
    'chain.policy_parameters={payment="vcg-critical", lambda_window_blocks=4, target_wait=1, max_fires_per_actor=1}',
    "chain.timers={lane_timer_cycles=6_000, max_cells_per_fire=2_000}",
    'workload.bidders={kind="heartbeats", actors=3, gas_limit=2_000, bid=9_001, may_be_idle=true}',
    'workload.others={kind="heartbeats", actors=3, gas_limit=2_300, bid=3_007, may_be_idle=true}',
    'workload.waiting={kind="heartbeats", actors=2, gas_limit=1_900, may_be_idle=true}',
)
"""A lane with room for fewer fires than bid for it."""

IN_STORM: Final = (
    *IN_AUCTION,
    f"workload.hoards={{{_STORM}, timers_per_actor=8, first_slot=7, ttl_slots=3, bid=12_001}}",
    f"workload.broke={{{_STORM}, timers_per_actor=4, first_slot=9, ttl_slots=30, bid=20_003, withdraw_ms=5_000}}",
)
"""Beside these, actors with more timers than their cap, and payers that run dry."""

_bid_mutant = partial(mutant, area="scheduler", on_all=True, needs=IN_STORM)


@_bid_mutant((Walk, "visit"), kills=("oracle",), cause="execution", shows="TimerFired.*tip|account")
def runner_up_of_a_capped_actor(visit: Any) -> Any:
    """A timer that its actor's cap left out sets the price."""

    def visit_and_price(self: Any, one: Any, can_pay: Any) -> None:
        if self.is_capped(one.timer.actor) and self.runner_up is None:
            self.runner_up = one
        visit(self, one, can_pay)

    return visit_and_price


@_bid_mutant((bias_auction, "payment"), kills=("oracle",), needs=IN_AUCTION, cause="execution", shows="TimerFired")
def payment_below_the_reserve(payment: Any) -> Any:
    """A winner pays what the runner-up sets even where that is below the reserve."""
    return lambda winner, runner_up, *, rule, reserve: payment(winner, runner_up, rule=rule, reserve=0 * reserve)


@_bid_mutant((bias_selection, "SCALE"), kills=("oracle",), cause="execution", shows="TimerFired")
def scores_without_their_scale(scale: Any) -> Any:
    """Bids and biases are added up in different units when they set a price."""
    return scale // 10


@_bid_mutant((bias_auction, "payment"), kills=("oracle",), cause="execution", shows="TimerFired|account")
def payments_rounded_up(payment: Any) -> Any:
    """A payment with a fraction of a unit is rounded up."""

    def round_up(winner: Any, runner_up: Any, *, rule: Any, reserve: int) -> Any:
        exact: int = payment(winner, runner_up, rule=rule, reserve=reserve)
        parts = bias_selection.price(winner, runner_up, rule) % 10**18
        return min(winner.bid, exact + bool(parts and exact > reserve))

    return round_up


@_bid_mutant(
    (WaitClock, "first_height"),
    kills=("oracle",),
    cause="execution",
    shows="TimerFired|bias",
)
def waits_from_the_block_after(first_height: Any) -> Any:
    """The first block in which a timer may compete counts as none that deferred it, and so does the second."""
    return lambda self, timer: min(first_height(self, timer) + 1, self._moment.height)


@_bid_mutant((Escrow, "give_back"), kills=("oracle",), cause="execution", shows="account")
def escrow_kept_from_the_cancelled(_give_back: Any) -> Any:
    """A bid whose timer leaves without a fire stays in escrow."""
    return lambda self, timer: self.withdraw(timer) and None


@_bid_mutant((bias_auction, "close_books"), kills=("oracle",), cause="execution", shows="bias")
def lambda_window_a_block_longer(close_books: Any) -> Any:
    """A window of the lambda loop closes one block late."""

    def close_late(state: Any, books: Any, config: Any, **rest: Any) -> Any:
        longer = msgspec.structs.replace(config, lambda_window_blocks=config.lambda_window_blocks + 1)
        return close_books(state, books, longer, **rest)

    return close_late


@_bid_mutant((bias_loop, "step"), kills=("oracle",), cause="execution", shows="bias")
def lambda_stepped_by_a_quarter(step: Any) -> Any:
    """Lambda moves by a quarter of itself where it should by an eighth."""

    def step_far(books: Any, worst: int, config: Any) -> Any:
        moved: int = step(books, worst, config)
        return min(max(2 * moved - books.lambda_, config.lambda_min), config.lambda_max)

    return step_far


@_bid_mutant((BiasAuctionInBlock, "_charge"), kills=("oracle", "supply"), cause="clean-up", shows="account|TimerFired")
def walk_stops_for_the_poor(charge: Any) -> Any:
    """A timer whose payer cannot pay takes the room that it would have had."""

    def charge_and_block(self: Any, tally: Any, state: Any, one: Any) -> bool:
        can_pay: bool = charge(self, tally, state, one)
        if not can_pay:
            state.walk.room = max(0, state.walk.room - one.timer.gas_limit)
        return can_pay

    return charge_and_block


_WHALES: Final = 'kind="heartbeats", actors=6, bid=10_000_000_000_000_000, funds=500_000_000_000_000_000'
IN_FLOATS: Final = (
    *IN_AUCTION[:3],
    "chain.policy_parameters={lambda_window_blocks=0, bias_lambda=18_100_000, lambda_max=80_000_000}",
    "chain.timers={lane_timer_cycles=4_100, max_cells_per_fire=2_000}",
    f"workload.whales={{{_WHALES}, gas_limit=2_000, may_be_idle=true}}",
)
"""Bids so high that what they pay shows every unit of the bias of two blocks, e^36.2."""

IN_SHORT_SLOTS: Final = (*IN_AUCTION, "chain.slot_ms=300", 'chain.timebase="slot"')
"""Slots so short that every block serves several."""

_WATCHING: Final = 'kind="watchers", actors=3, rounds=3, every_ms=4_000, writes=3, write_ms=1_500, may_be_idle=true'
IN_CHANGES: Final = (
    *IN_AUCTION,
    f"workload.watchers={{{_WATCHING}, start_ms=1_000, cancels=2, cancel_ms=800}}",
    f'workload.woken={{{_WATCHING}, start_ms=1_400, written_by="fire", ttl_slots=4, bid=20_011}}',
)
"""Timers that wait for changes by calls and by fires; some are cancelled before, some have just one slot too little."""


@_bid_mutant(
    (bias_pool, "bias"), kills=("oracle",), needs=IN_FLOATS, cause="execution", shows="TimerFired.*tip|account"
)
def bias_by_float(_bias: Any) -> Any:
    """The bias is worked out in floating point, and is off by a unit once it is great."""
    return lambda waited, lambda_: int(math.exp(min(waited * lambda_ / 1e6, 80)) * 1e18)


@_bid_mutant(
    (bias_auction, "payment"),
    (Escrow, "pay"),
    kills=("oracle",),
    needs=IN_AUCTION,
    cause="execution",
    shows="TimerFired",
)
def payment_above_the_bid(_payment: Any, pay: Any) -> Any:
    """A winner pays what the runner-up sets, or the reserve, even where that is above its bid."""

    def ask(winner: Any, runner_up: Any, *, rule: Any, reserve: int) -> int:
        return max(reserve, bias_selection.price(winner, runner_up, rule) // 10**18)

    def pay_what_is_there(self: Any, address: bytes, amount: int) -> None:
        pay(self, address, max(0, min(amount, self.ledger.balance(ESCROW_ADDRESS))))

    return ask, pay_what_is_there


@_bid_mutant(
    (WaitClock, "first_height"),
    kills=("oracle",),
    needs=IN_SHORT_SLOTS,
    cause="execution",
    shows="TimerFired|bias|account",
)
def waits_in_slots(first_height: Any) -> Any:
    """A wait counts the slots since a timer was due, and not the blocks."""

    def first_slot(self: Any, timer: Any) -> int:
        height: int = first_height(self, timer)
        waited: int = self._moment.now - timer.due
        return min(height, int(self._moment.height) - waited)

    return first_slot


@_bid_mutant(
    (WaitClock, "first_height"),
    kills=("oracle",),
    needs=(*IN_CHANGES, "chain.slot_ms=3_000", 'chain.timebase="slot"'),
    cause="execution",
    shows="TimerFired|bias|account",
)
def triggered_waits_with_its_slot(first_height: Any) -> Any:
    """A timer that a later block of a slot triggers waits since the first one."""
    return lambda self, timer: first_height(self, msgspec.structs.replace(timer, sequence=0))


@_bid_mutant(
    (run, "changed_keys"),
    kills=("oracle",),
    needs=IN_CHANGES,
    cause="execution",
    shows="TimerTriggered|hit",
)
def hits_seen_before_the_transactions(_changed_keys: Any) -> Any:
    """Hits are looked for before the transactions of a block, when nothing has changed yet."""
    return lambda _view: []


@_bid_mutant(
    (run.BlockRun, "_run_timers"),
    kills=("oracle",),
    needs=IN_CHANGES,
    cause="execution",
    shows="TimerTriggered|hit",
)
def hits_seen_before_the_fires(run_timers: Any) -> Any:
    """A block is compared with its start before its timers fire: what fires and messages change wakes nobody."""

    def note_and_run(self: Any) -> None:
        found = watchable.changed_keys(self._view)
        object.__setattr__(self._policy.block.watches, "changed", lambda: found)
        run_timers(self)

    return note_and_run


@_bid_mutant(
    (Watches, "_watcher"),
    kills=("oracle",),
    needs=IN_CHANGES,
    cause="execution",
    shows="TimerTriggered|hit",
)
def hit_at_expiry_announced(watcher: Any) -> Any:
    """A change in the last block of a timer's life triggers it, which then expires without a turn."""
    return lambda self, key, sequence, now, reached: watcher(self, key, sequence, now - 1, reached)


@_bid_mutant(
    (Watches, "leave"),
    (Watches, "_watcher"),
    kills=("oracle",),
    needs=IN_CHANGES,
    cause="clean-up",
    shows="watch",
)
def watch_survives_a_cancellation(leave: Any, watcher: Any) -> Any:
    """A timer that is cancelled leaves its watch behind."""

    def leave_watching(self: Any, timer: Any, exit_: Any) -> Any:
        return () if exit_ is Exit.BY_OWNER else leave(self, timer, exit_)

    def watcher_if_there(self: Any, key: bytes, sequence: int, now: int, found: Any) -> Any:
        known = self.state.get(WATCHER, watcher_key(key, sequence))
        is_gone = known is not None and self.timers.timer(known.timer_id) is None
        return None if is_gone else watcher(self, key, sequence, now, found)

    return leave_watching, watcher_if_there
