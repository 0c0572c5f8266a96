"""The exits of timers: classification of the waiting set, destruction of dead timers, payment for a fire.

Shared by every policy. Classification is the one step whose cost grows with all waiting timers (20,000 after an outage,
in each of thirty blocks). So it is one plain loop that looks up a payer's balance once and makes events only for timers
that leave. Rejected: a generator per timer with an enum for its class, three times slower.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scheduler.events import TimerCancelledInsufficientFunds, TimerExpired, TimerFired
from scheduler.lifecycle import is_expired
from scheduler.tables import Ledger, Runner, TimerTables
from scheduler.types import MAX_U63, Basefees, RunOutcome, Timer, TimerConfig


@dataclass(frozen=True, slots=True)
class WaitingSet:
    """The timers due by now, split by their class; each part keeps the order (due, sequence)."""

    candidates: list[Timer]
    """Live, solvent, and small enough for the lane."""
    over_cap: list[Timer]
    """Live and solvent, with a gas limit above the whole lane: passed over (Q-30)."""
    dead: list[Timer]
    """Expired or insolvent."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """A paid fire: the run's outcome, the units that were burned, and the event."""

    outcome: RunOutcome
    burned: int
    event: TimerFired


def classify(
    waiting: Sequence[Timer], *, now: int, config: TimerConfig, basefees: Basefees, ledger: Ledger
) -> WaitingSet:
    """Split the waiting set by the balances of this moment, expiry before solvency.

    Eager (Q-20): every waiting timer is looked at, in every block.
    """
    candidates: list[Timer] = []
    over_cap: list[Timer] = []
    dead: list[Timer] = []
    spendable: dict[bytes, int] = {}
    cells_cost = config.max_cells_per_fire * basefees.cell
    lane, price = config.lane_timer_cycles, basefees.cycle
    for timer in waiting:
        # is_expired, written out: the call would cost as much as the rest of the loop.
        if timer.expires_at < now:
            dead.append(timer)
            continue
        payer = timer.fee_payer
        # Once for each payer: nothing is charged while the set is split, and looking it up for each timer took most of
        # the time.
        if payer not in spendable:
            spendable[payer] = ledger.balance(payer) - cells_cost
        gas_limit = timer.gas_limit
        if gas_limit * price > spendable[payer]:
            dead.append(timer)
        elif gas_limit > lane:
            over_cap.append(timer)
        else:
            candidates.append(timer)
    return WaitingSet(candidates, over_cap, dead)


def max_cost(timer: Timer, config: TimerConfig, basefees: Basefees, priority: int = 0) -> int:
    """Return the most that a fire can cost, in units, with `priority` as the tip per cycle: charged before it runs."""
    return timer.gas_limit * (basefees.cycle + priority) + config.max_cells_per_fire * basefees.cell


def destroy(
    timer: Timer, *, now: int, required: int, available: int, tables: TimerTables
) -> TimerExpired | TimerCancelledInsufficientFunds:
    """Remove a dead timer without firing it and return the event that says why.

    `required` is its greatest cost, `available` the balance by which it was judged.
    """
    tables.remove(timer)
    if is_expired(timer, now):
        return TimerExpired(timer.timer_id, timer.expires_at, now)
    # No price has a bound, a record's integers have one; and no balance reaches this.
    stated = min(required, MAX_U63)
    return TimerCancelledInsufficientFunds(timer.timer_id, timer.fee_payer, stated, available)


def settle(
    timer: Timer,
    *,
    required: int,
    basefees: Basefees,
    tables: TimerTables,
    ledger: Ledger,
    run: Runner,
    priority: int = 0,
    proposer: bytes = b"",
    payment: int | None = None,
) -> Settlement:
    """Charge the greatest cost, remove the timer, run its handler, burn, give the tip to the proposer, refund the rest.

    The payer must have `required`. With a `payment`, which the event states as the tip and other policies make, the
    cost was charged before. The timer is removed before its handler runs, so that its place under the cap is free for
    the handler. It stays removed when the handler reverts. A `fifo` timer has no tip field: its tip is 0.
    """
    # The greatest cost before the run: its handler must not spend what the fire may still cost.
    if payment is None:
        ledger.charge(timer.fee_payer, required)
    tables.remove(timer)
    # After the removal, so that a handler that schedules its successor finds the place under the cap free.
    outcome = run(timer)
    assert outcome.cycles <= timer.gas_limit, "a handler used more cycles than its gas limit"
    burned = outcome.cycles * basefees.cycle + outcome.cells * basefees.cell
    tip = outcome.cycles * priority
    # The last guard before a refund that would create units.
    assert 0 <= burned + tip <= required, f"a fire cost {burned + tip}, more than the {required} charged for it"
    # After the run and by what it used; the rest goes back below, so that charge, burn, tip and refund add up to
    # nothing.
    ledger.burn(burned)
    if tip:
        ledger.credit(proposer, tip)
    ledger.credit(timer.fee_payer, required - burned - tip)
    stated = tip if payment is None else payment
    about = timer.timer_id, timer.actor, timer.due
    event = TimerFired(*about, outcome.ok, outcome.cycles, outcome.cells, burned, stated)
    return Settlement(outcome, burned, event)
