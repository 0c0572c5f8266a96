"""Variants of the rules of timers: who is dead, who comes first, what a fire costs, how prices move."""

import dataclasses
from typing import Any, Final

import msgspec

from checker.mutants.mutant import OtherLedger, Swap, Variant, original, swap
from scheduler import lifecycle, tally
from scheduler.policies import fifo
from scheduler.types import Moment, PhaseResult, TimerConfig
from validators.execution import run as block_run
from validators.execution import world
from validators.execution.timers import StateTimers

# -- who is dead, and who removes them ---------------------------------------------------------


def _shift_expiry(slots: int) -> list[Swap]:
    def make(classify: Any) -> Any:
        return lambda waiting, *, now, **rest: classify(waiting, now=now + slots, **rest)

    return [swap(fifo, "classify", make)]


def _funds_before_expiry() -> list[Swap]:
    def make(destroy: Any) -> Any:
        def destroy_for_funds_first(timer: Any, *, required: int, available: int, **rest: Any) -> Any:
            if available < required:
                timer = msgspec.structs.replace(timer, expires_at=rest["now"])
            return destroy(timer, required=required, available=available, **rest)

        return destroy_for_funds_first

    return [swap(tally, "destroy", make)]


def _fire_the_expired() -> list[Swap]:
    def make(classify: Any) -> Any:
        def classify_by_room(waiting: Any, *, config: Any, **rest: Any) -> Any:
            classes = classify(waiting, config=config, **rest)
            dead = classes.dead[: config.gc_budget]
            late = [timer for timer in classes.dead[config.gc_budget :] if timer.expires_at < rest["now"]]
            candidates = sorted([*classes.candidates, *late], key=lambda timer: (timer.due, timer.sequence))
            return dataclasses.replace(classes, candidates=candidates, dead=dead)

        return classify_by_room

    return [swap(fifo, "classify", make)]


def _less_gc() -> list[Swap]:
    def make(gc_budget: Any) -> Any:
        return property(lambda config: max(gc_budget.fget(config) - 1, 0))

    return [swap(TimerConfig, "gc_budget", make)]


def _saved_gc() -> list[Swap]:
    budget = original(TimerConfig, "gc_budget").fget
    extra, saved = [0], [0]

    def make(classify: Any) -> Any:
        def classify_and_save(waiting: Any, *, config: Any, **rest: Any) -> Any:
            classes = classify(waiting, config=config, **rest)
            extra[0] = saved[0]
            saved[0] = max(budget(config) + extra[0] - len(classes.dead), 0)
            return classes

        return classify_and_save

    # What the last block left unused is there beside this block's own budget.
    saving = property(lambda config: budget(config) + extra[0])
    return [swap(fifo, "classify", make), (TimerConfig, "gc_budget", saving)]


# -- who comes first, and when -----------------------------------------------------------------


def _reorder(make_order: Any) -> list[Swap]:
    def make(classify: Any) -> Any:
        def classify_in_another_order(waiting: Any, **rest: Any) -> Any:
            classes = classify(waiting, **rest)
            return dataclasses.replace(classes, candidates=make_order(classes.candidates))

        return classify_in_another_order

    return [swap(fifo, "classify", make)]


def _by_identifier() -> list[Swap]:
    return _reorder(lambda timers: sorted(timers, key=lambda timer: (timer.due, timer.timer_id)))


def _by_set() -> list[Swap]:
    def through_a_set(timers: Any) -> Any:
        by_id = {timer.timer_id: timer for timer in timers}
        # The order of a set of bytes is another one in every process.
        return [by_id[timer_id] for timer_id in set(by_id)]

    return _reorder(through_a_set)


def _small_first() -> list[Swap]:
    return _reorder(lambda timers: sorted(timers, key=lambda timer: timer.gas_limit))


def _collect_early() -> list[Swap]:
    return [swap(StateTimers, "collect", lambda collect: lambda self, upto: collect(self, upto + 1))]


def _fire_twice() -> list[Swap]:
    def make(run_timers: Any) -> Any:
        def run_timers_twice(self: Any, *, moment: Any, **rest: Any) -> Any:
            first = run_timers(self, moment=moment, **rest)
            later = dataclasses.replace(moment, height=moment.height + 1, slot=moment.slot + 1)
            return _add_up(first, run_timers(self, moment=later, **rest))

        return run_timers_twice

    return [swap(fifo.Fifo, "run_timers", make)]


def _add_up(first: Any, second: Any) -> PhaseResult:
    sums = {each.name: getattr(first, each.name) + getattr(second, each.name) for each in dataclasses.fields(first)}
    last = {name: getattr(second, name) for name in ("deferred", "waiting_live", "waiting_dead")}
    return PhaseResult(**{**sums, **last})


def _defer_again() -> list[Swap]:
    return [(Moment, "parent_now", property(lambda _moment: -1))]


# -- admission and cancellation ----------------------------------------------------------------


def _plain_identifier() -> list[Swap]:
    def make(timer_id_of: Any) -> Any:
        return lambda actor, due, payload, nonce, _counter: timer_id_of(actor, due, payload, nonce)

    return [swap(lifecycle, "timer_id_of", make)]


def _keep_cancelled() -> list[Swap]:
    def make(cancel: Any) -> Any:
        def cancel_in_words(desk: Any, caller: bytes, timer_id: bytes) -> Any:
            savepoint = desk.tables._view.savepoint()  # noqa: SLF001 - a bad variant may reach where it should not
            event = cancel(desk, caller, timer_id)
            desk.tables._view.rollback(savepoint)  # noqa: SLF001
            return event

        return cancel_in_words

    return [swap(world, "cancel", make)]


# -- what a fire costs -------------------------------------------------------------------------


def _charge_the_actor() -> list[Swap]:
    def make(settle: Any) -> Any:
        return lambda timer, **rest: settle(msgspec.structs.replace(timer, fee_payer=timer.actor), **rest)

    return [swap(tally, "settle", make)]


def _settle_with(**ways: Any) -> list[Swap]:
    def make(settle: Any) -> Any:
        def settle_in_another_way(timer: Any, *, ledger: Any, **rest: Any) -> Any:
            own = {name: (lambda *given, way=way: way(ledger, *given)) for name, way in ways.items()}
            return settle(timer, ledger=OtherLedger(ledger, **own), **rest)

        return settle_in_another_way

    return [swap(tally, "settle", make)]


def _round_refunds() -> list[Swap]:
    return _settle_with(credit=lambda ledger, address, amount: ledger.credit(address, amount // 1_000 * 1_000))


def _forget_burned() -> list[Swap]:
    return _settle_with(burn=lambda _ledger, _amount: None)


def _free_reverts() -> list[Swap]:
    def make(settle: Any) -> Any:
        def settle_for_success(timer: Any, *, run: Any, **rest: Any) -> Any:
            def run_for_success(given: Any) -> Any:
                outcome = run(given)
                return outcome if outcome.ok else dataclasses.replace(outcome, cycles=0)

            return settle(timer, run=run_for_success, **rest)

        return settle_for_success

    return [swap(tally, "settle", make)]


# -- prices ------------------------------------------------------------------------------------


def _float_basefee() -> list[Swap]:
    def next_basefee(basefee: int, used: int, limit: int, minimum: int) -> int:
        return max(round(basefee * (1 + min(2 * used - limit, limit) / (8 * limit))), minimum)

    return [(block_run, "next_basefee", next_basefee)]


def _no_decay_when_empty() -> list[Swap]:
    def make(next_basefee: Any) -> Any:
        return lambda basefee, used, *rest: next_basefee(basefee, used, *rest) if used else basefee

    return [swap(block_run, "next_basefee", make)]


def _market_without_lane() -> list[Swap]:
    return [swap(block_run.BlockRun, "_lane_used", lambda _lane: lambda _self: (0, 0))]


SCHEDULER: Final = (
    Variant(
        name="expiry-a-slot-late",
        what="a timer lives one slot longer than its time to live",
        area="scheduler",
        caught_by=("equal-roots",),
        swaps=lambda: _shift_expiry(-1),
        cause="clean-up",
        shows="TimerExpired",
        is_of_timer=True,
    ),
    Variant(
        name="expiry-a-slot-early",
        what="a timer is dead in the last slot of its life",
        area="scheduler",
        caught_by=("timer-delivery", "oracle"),
        swaps=lambda: _shift_expiry(1),
        cause="clean-up",
        on_all=True,
        shows="TimerExpired|TimerCancelledInsufficientFunds",
        is_of_timer=True,
    ),
    Variant(
        name="insolvency-before-expiry",
        what="a timer that is expired and unpaid is removed for its funds",
        area="scheduler",
        caught_by=("oracle",),
        swaps=_funds_before_expiry,
        cause="clean-up",
        on_all=True,
        shows="TimerCancelledInsufficientFunds",
        is_of_timer=True,
    ),
    Variant(
        name="expired-fires-beside-a-full-gc-lane",
        what="expired timers that the GC budget does not reach fire",
        area="scheduler",
        caught_by=("timer-delivery",),
        swaps=_fire_the_expired,
        cause="clean-up",
        on_all=True,
        shows="TimerFired|waiting_dead",
        is_of_timer=True,
    ),
    Variant(
        name="gc-budget-one-less",
        what="each block removes one dead timer less than its budget allows",
        area="scheduler",
        caught_by=("storm-accounting",),
        swaps=_less_gc,
        cause="clean-up",
        on_all=True,
        shows="TimerExpired|TimerCancelledInsufficientFunds",
        is_of_timer=True,
    ),
    Variant(
        name="gc-budget-carried-over",
        what="what a block leaves of its GC budget is added to the next one's",
        area="scheduler",
        caught_by=("equal-roots", "agreement"),
        swaps=_saved_gc,
        cause="clean-up",
        shows="TimerExpired|TimerCancelledInsufficientFunds|budget",
        is_of_timer=True,
    ),
    Variant(
        name="tie-break-by-identifier",
        what="timers of one height fire by identifier and not as they were scheduled",
        area="scheduler",
        caught_by=("timer-delivery",),
        swaps=_by_identifier,
        cause="order",
        on_all=True,
        shows="TimerFired",
        is_of_timer=True,
    ),
    Variant(
        name="order-of-a-set",
        what="timers fire in the order of a hash set",
        area="scheduler",
        caught_by=("equal-roots",),
        swaps=_by_set,
        cause="order",
        shows="TimerFired",
        is_of_timer=True,
    ),
    Variant(
        name="small-limits-first",
        what="a timer with a smaller gas limit passes those before it",
        area="scheduler",
        caught_by=("timer-delivery",),
        swaps=_small_first,
        cause="order",
        on_all=True,
        shows="TimerFired",
        is_of_timer=True,
    ),
    Variant(
        name="fires-a-slot-early",
        what="a block collects the timers of the next slot as well",
        area="scheduler",
        caught_by=("timer-delivery",),
        swaps=_collect_early,
        cause="execution",
        on_all=True,
        shows="TimerFired",
        is_of_timer=True,
    ),
    Variant(
        name="same-block-fire",
        what="the timer phase goes on with what its own handlers scheduled for the next slot",
        area="scheduler",
        caught_by=("timer-delivery",),
        swaps=_fire_twice,
        cause="execution",
        on_all=True,
        shows="TimerFired",
        is_of_timer=True,
    ),
    Variant(
        name="deferred-in-every-block",
        what="a timer's deferral is told in each block and not once",
        area="scheduler",
        caught_by=("oracle",),
        swaps=_defer_again,
        cause="execution",
        on_all=True,
        shows="TimerDeferred|EpochPromoted",
    ),
    Variant(
        name="identifier-without-counter",
        what="two equal calls of one transaction have one timer identifier",
        area="scheduler",
        caught_by=("equal-roots",),
        swaps=_plain_identifier,
        cause="execution",
        shows="TimerScheduled",
        is_of_timer=True,
    ),
    Variant(
        name="cancelled-timer-fires",
        what="a cancellation is told and not carried out",
        area="scheduler",
        caught_by=("timer-delivery",),
        swaps=_keep_cancelled,
        cause="execution",
        on_all=True,
        shows="TimerCancelled",
        is_of_timer=True,
    ),
    Variant(
        name="fee-from-the-actor",
        what="a fire is paid by its actor whoever was to pay",
        area="scheduler",
        caught_by=("equal-roots",),
        swaps=_charge_the_actor,
        cause="execution",
        shows="TimerFired.*account",
        is_of_timer=True,
    ),
    Variant(
        name="refund-rounded-down",
        what="what comes back from a fire's charge is cut to whole thousands",
        area="scheduler",
        caught_by=("supply",),
        swaps=_round_refunds,
        cause="execution",
        on_all=True,
        shows="TimerFired.*account",
        is_of_timer=True,
    ),
    Variant(
        name="burn-forgotten",
        what="what a fire burns is not added to the burned total",
        area="scheduler",
        caught_by=("supply",),
        swaps=_forget_burned,
        cause="execution",
        on_all=True,
        shows="TimerFired.*burned",
        is_of_timer=True,
    ),
    Variant(
        name="revert-for-free",
        what="a fire whose handler fails costs no cycles",
        area="scheduler",
        caught_by=("oracle",),
        swaps=_free_reverts,
        cause="execution",
        on_all=True,
        shows="TimerFired.*ok=False",
        is_of_timer=True,
    ),
    Variant(
        name="basefee-in-floats",
        what="basefees move by rounded floats",
        area="scheduler",
        caught_by=("equal-roots",),
        swaps=_float_basefee,
        cause="execution",
        shows="fee market",
    ),
    Variant(
        name="decay-skipped-on-empty-blocks",
        what="a block that used nothing leaves the basefee where it was",
        area="scheduler",
        caught_by=("equal-roots",),
        swaps=_no_decay_when_empty,
        cause="execution",
        shows="fee market",
    ),
    Variant(
        name="basefee-without-the-lane",
        what="basefees do not see what fired timers used",
        area="scheduler",
        caught_by=("oracle",),
        swaps=_market_without_lane,
        cause="execution",
        on_all=True,
        shows="fee market|lane market",
    ),
)
"""Variants of the scheduler's rules."""
