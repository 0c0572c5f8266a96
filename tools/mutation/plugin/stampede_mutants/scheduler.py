"""Mutants of the rules of timers: which timers wait, fire or expire, what a fire costs, and what a policy decides."""

import dataclasses
from functools import partial
from typing import Any, Final

import msgspec

from checker.mutants.mutant import mutant
from scheduler import Exit, PolicyInBlock, Watches, tally
from scheduler.calendar import CalendarQueue
from scheduler.events import TimerFired
from scheduler.policies import aptos, fifo, gba_auction
from scheduler.tally import Tally
from scheduler.watch_records import WATCHER, watcher_key
from validators.execution import run as block_run
from validators.execution.timers import StateTimers

_mutant = partial(mutant, area="scheduler")
_timer_mutant = partial(_mutant, is_of_timer=True)


@_timer_mutant(
    (fifo, "classify"), kills=("timer-delivery",), cause="clean-up", on_all=True, shows="TimerFired|waiting_dead"
)
def expired_fires_beside_a_full_gc_lane(classify: Any) -> Any:
    """Expired timers that the GC budget does not reach fire."""

    def classify_by_room(waiting: Any, *, config: Any, **rest: Any) -> Any:
        classes = classify(waiting, config=config, **rest)
        dead = classes.dead[: config.gc_budget]
        late = [timer for timer in classes.dead[config.gc_budget :] if timer.expires_at < rest["now"]]
        candidates = sorted([*classes.candidates, *late], key=lambda timer: (timer.due, timer.sequence))
        return dataclasses.replace(classes, candidates=candidates, dead=dead)

    return classify_by_room


@_timer_mutant((StateTimers, "collect"), kills=("timer-delivery",), cause="execution", on_all=True, shows="TimerFired")
def fires_a_slot_early(collect: Any) -> Any:
    """A block collects the timers of the next slot as well."""
    return lambda self, upto: collect(self, upto + 1)


@_timer_mutant(
    (PolicyInBlock, "cancel"), kills=("timer-delivery",), cause="execution", on_all=True, shows="TimerCancelled"
)
def cancelled_timer_fires(cancel: Any) -> Any:
    """A cancellation is reported and not carried out."""

    def cancel_in_words(self: Any, caller: bytes, timer_id: bytes) -> Any:
        view = self.block.timers._view  # noqa: SLF001 - a mutant may reach where it should not
        savepoint = view.savepoint()
        event = cancel(self, caller, timer_id)
        view.rollback(savepoint)
        return event

    return cancel_in_words


@_timer_mutant((tally, "settle"), kills=("equal-roots",), cause="execution", shows="TimerFired.*account")
def fee_from_the_actor(settle: Any) -> Any:
    """A fire is paid by its actor and not by its fee payer."""
    return lambda timer, **rest: settle(msgspec.structs.replace(timer, fee_payer=timer.actor), **rest)


@_timer_mutant(
    (CalendarQueue, "_take_ring"), kills=("timer-delivery",), cause="execution", on_all=True, shows="TimerFired"
)
def ring_place_off_by_one(take_ring: Any) -> Any:
    """The ring is read up to the place before the present's."""
    return lambda self, before, now: take_ring(self, before, max(before, now - 1))


@_mutant(
    (Tally, "result"),
    kills=("budgets", "oracle"),
    cause="execution",
    on_all=True,
    shows="fee market|lane_cycles",
)
def last_fire_uncounted(result: Any) -> Any:
    """A block's account leaves out the cycles of its last fire."""

    def result_without_the_last(self: Any, **counts: Any) -> Any:
        found = result(self, **counts)
        fires = [event.used_cycles for event in self.events if isinstance(event, TimerFired)]
        return dataclasses.replace(found, lane_cycles=found.lane_cycles - (fires[-1] if fires else 0))

    return result_without_the_last


_STORM: Final = "timers_per_actor=40, first_slot=6, spread_slots=3, ttl_slots=60, gas_limit=4_000, start_ms=300"
NARROW_AUCTION: Final = (
    *('chain.policy="gba-auction"', "chain.lane={}", "chain.activation={height=1}"),
    *("chain.policy_parameters={starvation_deferrals=1}", "chain.calendar={epoch_length=3}"),
    "chain.timers.lane_timer_cycles=5_000",
    'workload.governance={kind="governance", may_be_idle=true, actions=[{do="cancel", at_ms=9, workload="eager"}]}',
    f'workload.eager={{kind="storm", agent="desperate", actors=1, {_STORM}, may_be_idle=true}}',
    f'workload.competing-heartbeats={{kind="storm", agent="alarmed", actors=2, {_STORM}, may_be_idle=true}}',
)
"""Actors whose agents bid differently, with more timers than the budget has room for."""


@_timer_mutant(
    (gba_auction, "has_room"),
    (gba_auction.GbaAuction, "guarantees"),
    kills=("budgets", "oracle"),
    cause="execution",
    on_all=True,
    needs=NARROW_AUCTION,
    shows="TimerFired",
)
def budget_exceeded_by_the_last(has_room: Any, guarantees: Any) -> Any:
    """The hard cap of the budget is read as the literal one."""

    def guarantee_less(policy: Any, own: Any) -> Any:
        # Else the block's own guard would stop the validator before any check sees it.
        return dataclasses.replace(guarantees(policy, own), overshoots=True)

    return lambda *numbers, **_reading: has_room(*numbers, reading="literal"), guarantee_less


_WATCHING: Final = 'kind="watchers", actors=3, rounds=3, every_ms=4_000, writes=3, write_ms=1_500, may_be_idle=true'
WATCHES: Final = (
    'chain.policy="bias-auction"',
    "chain.activation.height=1",
    "chain.lane={}",
    'chain.policy_parameters={payment="vcg-critical", lambda_window_blocks=4, target_wait=1, max_fires_per_actor=1}',
    "chain.timers={lane_timer_cycles=6_000, max_cells_per_fire=2_000}",
    'workload.bidders={kind="heartbeats", actors=3, gas_limit=2_000, bid=9_001, may_be_idle=true}',
    'workload.others={kind="heartbeats", actors=3, gas_limit=2_300, bid=3_007, may_be_idle=true}',
    'workload.waiting={kind="heartbeats", actors=2, gas_limit=1_900, may_be_idle=true}',
    f"workload.watchers={{{_WATCHING}, start_ms=1_000, cancels=2, cancel_ms=800}}",
    f'workload.woken={{{_WATCHING}, start_ms=1_400, written_by="fire", ttl_slots=4, bid=20_011}}',
)
"""Timers of a bias auction that wait for changes by calls and by fires; some are cancelled before."""

_watch_mutant = partial(_mutant, kills=("oracle",), on_all=True, needs=WATCHES)


@_watch_mutant(
    (block_run, "changed_keys"),
    cause="execution",
    shows="TimerTriggered|hit",
)
def hits_seen_before_the_transactions(_changed_keys: Any) -> Any:
    """Hits are looked for before the transactions of a block, when nothing has changed yet."""
    return lambda _view: []


@_watch_mutant(
    (Watches, "leave"),
    (Watches, "_watcher"),
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


_CROWD: Final = 'kind="storm", actors=3, timers_per_actor=12, start_ms=1_500, first_slot=5, spread_slots=3'
FULL_QUEUE: Final = (
    'chain.policy="aptos"',
    'chain.timebase="slot"',
    "chain.activation.height=1",
    "chain.lane={}",
    "chain.policy_parameters={ready_limit=6, expire_limit=3, expiry_ms=4_000}",
    "chain.timers={max_cells_per_fire=2_000}",
    # What a swarm seed draws besides may need another policy: a common payer, parameters of the lane.
    "workload={}",
    'workload.dear={kind="heartbeats", actors=3, gas_limit=5_000, max_fee=2_000, may_be_idle=true}',
    f"workload.crowd={{{_CROWD}, ttl_slots=20, gas_limit=3_000, max_fee=300, may_be_idle=true}}",
)
"""A queue of scheduled transactions with more due entries than a block takes: they run at different prices."""


@_mutant(
    (aptos, "price_charged"),
    kills=("oracle",),
    cause="execution",
    on_all=True,
    needs=FULL_QUEUE,
    shows="TimerFired",
)
def own_price_charged(price_charged: Any) -> Any:
    """An entry pays a unit less than the highest price of the other transactions."""
    return lambda maximum, others, least: max(price_charged(maximum, others, least) - 1, 1)
