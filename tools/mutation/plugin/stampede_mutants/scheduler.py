"""Mutants of the rules of timers: who is dead, who comes first, what a fire costs, how prices move."""

import dataclasses
from functools import partial
from typing import Any, Final

import msgspec

from checker.mutants.mutant import mutant, reordered, settle_with
from scheduler import PolicyInBlock, lifecycle, tally
from scheduler.policies import fifo
from scheduler.policies.fifo_free import FifoFreeInBlock
from scheduler.types import Moment, TimerConfig
from validators.execution import run as block_run
from validators.execution.timers import StateTimers

_mutant = partial(mutant, area="scheduler")
_timer_mutant = partial(_mutant, is_of_timer=True)


@_timer_mutant(
    (fifo, "classify"),
    kills=("timer-delivery", "oracle"),
    cause="clean-up",
    on_all=True,
    shows="TimerExpired|TimerCancelledInsufficientFunds",
)
def expiry_a_slot_early(classify: Any) -> Any:
    """A timer is dead in the last slot of its life."""
    return lambda waiting, *, now, **rest: classify(waiting, now=now + 1, **rest)


@_timer_mutant(
    (tally, "destroy"), kills=("oracle",), cause="clean-up", on_all=True, shows="TimerCancelledInsufficientFunds"
)
def insolvency_before_expiry(destroy: Any) -> Any:
    """A timer that is expired and unpaid is removed for its funds."""

    def destroy_for_funds_first(timer: Any, *, required: int, available: int, **rest: Any) -> Any:
        if available < required:
            timer = msgspec.structs.replace(timer, expires_at=rest["now"])
        return destroy(timer, required=required, available=available, **rest)

    return destroy_for_funds_first


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


@_timer_mutant(
    (fifo, "classify"),
    (TimerConfig, "gc_budget"),
    kills=("equal-roots", "agreement"),
    cause="clean-up",
    shows="TimerExpired|TimerCancelledInsufficientFunds|budget",
)
def gc_budget_carried_over(classify: Any, gc_budget: Any) -> Any:
    """The unused GC budget of a block is added to the next one's."""
    budget = gc_budget.fget
    extra = saved = 0

    def classify_and_save(waiting: Any, *, config: Any, **rest: Any) -> Any:
        nonlocal extra, saved
        classes = classify(waiting, config=config, **rest)
        extra = saved
        saved = max(budget(config) + extra - len(classes.dead), 0)
        return classes

    # The budget that the last block left unused is there beside this block's own.
    return classify_and_save, property(lambda config: budget(config) + extra)


@_timer_mutant((fifo, "classify"), kills=("timer-delivery",), cause="order", on_all=True, shows="TimerFired")
def small_limits_first(classify: Any) -> Any:
    """A timer with a smaller gas limit passes those before it."""
    return reordered(classify, lambda timers: sorted(timers, key=lambda timer: timer.gas_limit))


@_timer_mutant((StateTimers, "collect"), kills=("timer-delivery",), cause="execution", on_all=True, shows="TimerFired")
def fires_a_slot_early(collect: Any) -> Any:
    """A block collects the timers of the next slot as well."""
    return lambda self, upto: collect(self, upto + 1)


@_timer_mutant((fifo.FifoInBlock, "run"), kills=("timer-delivery",), cause="execution", on_all=True, shows="TimerFired")
def same_block_fire(run: Any) -> Any:
    """The timer phase goes on with what its own handlers scheduled for the next slot."""

    def run_twice(self: Any, phase: Any) -> Any:
        first, moment = run(self, phase), self.block.moment
        later = dataclasses.replace(moment, height=moment.height + 1, slot=moment.slot + 1)
        self.block = dataclasses.replace(self.block, moment=later)
        return first.then(run(self, phase))

    return run_twice


@_mutant((Moment, "parent_now"), kills=("oracle",), cause="execution", on_all=True, shows="TimerDeferred|EpochPromoted")
def deferred_in_every_block(_original: Any) -> Any:
    """A timer's deferral is reported in each block and not once."""
    return property(lambda _moment: -1)


@_timer_mutant((lifecycle, "timer_id_of"), kills=("equal-roots",), cause="execution", shows="TimerScheduled")
def identifier_without_counter(timer_id_of: Any) -> Any:
    """Two equal calls of one transaction have one timer identifier."""
    return lambda actor, due, payload, nonce, **_counter: timer_id_of(actor, due, payload, nonce)


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


@_timer_mutant((tally, "settle"), kills=("supply",), cause="execution", on_all=True, shows="TimerFired.*burned")
def burn_forgotten(settle: Any) -> Any:
    """The burned units of a fire are not added to the burned total."""
    return settle_with(settle, burn=lambda _ledger, _amount: None)


@_timer_mutant((tally, "settle"), kills=("oracle",), cause="execution", on_all=True, shows="TimerFired.*ok=False")
def revert_for_free(settle: Any) -> Any:
    """A fire whose handler fails costs no cycles."""

    def settle_for_success(timer: Any, *, run: Any, **rest: Any) -> Any:
        def run_for_success(given: Any) -> Any:
            outcome = run(given)
            return outcome if outcome.ok else dataclasses.replace(outcome, cycles=0)

        return settle(timer, run=run_for_success, **rest)

    return settle_for_success


@_mutant((block_run, "next_basefee"), kills=("equal-roots",), cause="execution", shows="fee market")
def basefee_in_floats(_original: Any) -> Any:
    """Basefees move by rounded floats."""

    def next_basefee(basefee: int, used: int, limit: int, minimum: int = 1) -> int:
        return max(round(basefee * (1 + min(2 * used - limit, limit) / (8 * limit))), minimum)

    return next_basefee


@_mutant((block_run, "next_basefee"), kills=("equal-roots",), cause="execution", shows="fee market")
def decay_skipped_on_empty_blocks(next_basefee: Any) -> Any:
    """A block that used nothing leaves the basefee where it was."""
    return lambda basefee, used, *rest: next_basefee(basefee, used, *rest) if used else basefee


@_mutant(
    (block_run.BlockRun, "_lane_used"),
    kills=("oracle",),
    cause="execution",
    on_all=True,
    shows="fee market|lane market|prices .*cycles",
)
def basefee_without_the_lane(_lane: Any) -> Any:
    """Basefees do not see what fired timers used."""
    return lambda _self: (0, 0)


IN_FREE: Final = (
    'chain.policy="fifo-free"',
    "chain.policy_parameters={deferred_calls_per_fire_max=2, deferred_call_cycles_max=3_000}",
    'workload.crowded={kind="games", games=2, players=3, may_be_idle=true}',
    'workload.wordy={kind="games", games=2, players=1, message_cycles=3_001, may_be_idle=true}',
)
"""Games whose ticks send a message too many, or messages with a cycle too many."""

_call_mutant = partial(_mutant, cause="execution", on_all=True, needs=IN_FREE, kills=("oracle",))


@_call_mutant((FifoFreeInBlock, "check_call"), shows="MessageSent|TimerFired|message")
def third_call_sent(check_call: Any) -> Any:
    """A fire of `fifo-free` may send one message more than its record allows."""
    return lambda self, sent, cycles: check_call(self, max(0, sent - 1), cycles)


@_call_mutant((FifoFreeInBlock, "check_call"), shows="MessageSent|TimerFired|message")
def call_without_a_limit(check_call: Any) -> Any:
    """A message of a fire of `fifo-free` may have any number of cycles."""
    return lambda self, sent, _cycles: check_call(self, sent, 0)
