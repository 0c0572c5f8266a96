"""A rule that all validators break alike is broken unseen by each other; the oracle sees it and names the place."""

import pytest

import cluster.verdict.pipeline
from checker.record.cold_replay import replay_directory
from tests.support.cluster_runs import check_named, result_of
from tests.support.oracle_breaks import BREAKS
from tests.support.oracle_runs import assert_named, consult, run_chain, write_crowded
from validators.actors import PROGRAMS, Heartbeat
from validators.settings import ValidatorFactory, make_engine
from validators.state.draft import Draft


@pytest.fixture
def crowded(tmp_path):
    return write_crowded(tmp_path)


def shift_expiry(blocks):
    """Return a classification that takes the present for another one."""

    def break_rule(monkeypatch):
        def shifted(waiting, *, now, **rest):
            return classify(waiting, now=now + blocks, **rest)

        monkeypatch.setattr(fifo, "classify", shifted)

    return break_rule


def remove_one_fewer(monkeypatch):
    budget = TimerConfig.gc_budget.fget
    monkeypatch.setattr(TimerConfig, "gc_budget", property(lambda config: budget(config) - 1))


def fire_before_cleaning_up(monkeypatch):
    def run_phase(self, _phase):
        counts, block = tally.Tally.of(self), self.block
        moment, config, basefees, ledger = block.moment, block.config, block.basefees, block.ledger
        waiting = block.timers.collect(moment.now)
        classes = classify(waiting, now=moment.now, config=config, basefees=basefees, ledger=ledger)
        attempted, unpaid = fifo._fire(counts, classes.candidates)
        dead = classes.dead[: config.gc_budget]
        for timer in dead:
            counts.destroy(timer, max_cost(timer, config, basefees), ledger.balance(timer.fee_payer))
        held = classes.candidates[attempted:]
        fifo._report(counts, held, classes.over_cap)
        waiting_live = len(held) + len(classes.over_cap)
        return counts.result(waiting_live=waiting_live, waiting_dead=len(classes.dead) - len(dead) + unpaid)

    monkeypatch.setattr(fifo.FifoInBlock, "run", run_phase)


def fire_the_latest_first(monkeypatch):
    fire = fifo._fire
    monkeypatch.setattr(fifo, "_fire", lambda counts, candidates: fire(counts, candidates[::-1]))


def let_others_pass_the_head_of_the_line(monkeypatch):
    fire = fifo._fire

    def fire_each(counts, candidates):
        # Each on its own: one that does not fit stops no other timer.
        attempts = [fire(counts, [timer]) for timer in candidates]
        return sum(attempted for attempted, _ in attempts), sum(unpaid for _, unpaid in attempts)

    monkeypatch.setattr(fifo, "_fire", fire_each)


def fire_in_the_block_that_made_it(monkeypatch):
    run_phase = fifo.FifoInBlock.run

    def one_too_far(self, phase):
        moment = dataclasses.replace(self.block.moment, slot=self.block.moment.slot + 1)
        self.block = dataclasses.replace(self.block, moment=moment)
        return run_phase(self, phase)

    monkeypatch.setattr(fifo.FifoInBlock, "run", one_too_far)


def call_the_expired_insolvent(monkeypatch):
    def destroy(timer, *, now, required, available, tables):
        tables.remove(timer)
        if available < required or not is_expired(timer, now):
            return TimerCancelledInsufficientFunds(timer.timer_id, timer.fee_payer, required, available)
        return TimerExpired(timer.timer_id, timer.expires_at, now)

    monkeypatch.setattr(tally, "destroy", destroy)


def round_refunds_down(monkeypatch):
    def rounded(timer, *, ledger, **rest):
        paid = settle(timer, ledger=ledger, **rest)
        ledger.charge(timer.fee_payer, 7)
        ledger.burn(7)
        burned = paid.burned + 7
        return dataclasses.replace(paid, burned=burned, event=msgspec.structs.replace(paid.event, burned=burned))

    monkeypatch.setattr(tally, "settle", rounded)


def forget_to_burn_cells(monkeypatch):
    def required(timer, config, basefees):
        return timer.gas_limit * basefees.cycle

    monkeypatch.setattr(fifo, "max_cost", required)


def tip_all_that_the_maximum_allows(monkeypatch):
    monkeypatch.setattr(
        transactions, "tip_per_cycle", lambda transaction, basefees: transaction.max_fee_per_cycle - basefees.cycle
    )


def report_deferrals_in_every_block(monkeypatch):
    monkeypatch.setattr(fifo, "newly_due", lambda counts, timers, reason: [(timer, reason) for timer in timers])


def let_basefees_creep(monkeypatch):
    monkeypatch.setattr(run, "next_basefee", lambda basefee, *_: basefee + 1)


def leave_the_counter_out_of_identifiers(monkeypatch):
    monkeypatch.setattr(
        "scheduler.lifecycle.timer_id_of",
        lambda actor, due, payload, nonce, **_counter: timer_id_of(actor, due, payload, nonce),
    )


BREAKS = {
    "an expiry one block early": (shift_expiry(1), "receipts"),
    "an expiry one block late": (shift_expiry(-1), "receipts"),
    "a GC budget of one timer less": (remove_one_fewer, "receipts"),
    "fires before the clean-up": (fire_before_cleaning_up, "receipts"),
    "insolvency before expiry": (call_the_expired_insolvent, "receipts"),
    "a refund that is rounded down": (round_refunds_down, "receipts"),
    "a maximum cost without cells": (forget_to_burn_cells, "receipts"),
    "a fire in the block that made the timer": (fire_in_the_block_that_made_it, "receipts"),
    "last in, first out": (fire_the_latest_first, "receipts"),
    "a head of the line that others pass": (let_others_pass_the_head_of_the_line, "receipts"),
    "a tip above the stated priority": (tip_all_that_the_maximum_allows, "receipts"),
    "a deferral reported twice": (report_deferrals_in_every_block, "receipts"),
    "a basefee that creeps": (let_basefees_creep, "changes"),
    "an identifier without counter": (leave_the_counter_out_of_identifiers, "receipts"),
}


def test_the_crowded_chain_has_everything_that_the_rules_speak_of(crowded):
    """Fires, expiries, insolvencies and waiting of both kinds: without them a broken rule could not show."""
    _, chain = run_chain(crowded)

    for figure in ("fired", "expired", "insolvent", "waiting_live", "waiting_dead"):
        assert any(getattr(executed.summary, figure) for executed in chain), figure


def test_the_oracle_agrees_with_the_chain_as_it_is(crowded):
    """Nothing is broken, and every height was compared."""
    result = consult(crowded)

    assert result.status == "passed", result.summary
    assert dict(result.evidence)["heights"] >= 14


@pytest.mark.parametrize("name", BREAKS)
def test_a_rule_that_all_validators_break_is_named(monkeypatch, crowded, name):
    """The validators agree with each other in a whole run; the oracle does not."""
    assert_named(monkeypatch, crowded, BREAKS[name])


class LazyHeart(Heartbeat):
    """Beats without counting."""

    def handle_timer(self, payload):
        self._schedule_next()


def test_a_program_changed_on_all_validators_is_found_by_the_oracle_alone(monkeypatch, crowded):
    """Every validator gets the variant from its factory, the cold replay as well: all other checks pass."""
    programs = {**PROGRAMS, "heartbeat": LazyHeart}
    factory = ValidatorFactory(engine=lambda *arguments: make_engine(*arguments, programs=programs))
    monkeypatch.setattr("checker.record.cold_replay.PROGRAMS", programs)
    monkeypatch.setattr(
        cluster.verdict.pipeline,
        "run_cold_replay",
        lambda directory, _seed, heights: replay_directory(directory, heights),
    )

    result = result_of(crowded, factories=dict.fromkeys(range(4), factory))

    assert [check.name for check in result.checks if check.status != "passed"] == ["oracle"]
    assert result.exit_code == 1
    check = check_named(result, "oracle")
    assert "TimerFired" in check.summary
    assert dict(check.evidence)["timer"] in check.summary


def test_validators_that_seal_another_root_are_seen(monkeypatch, crowded):
    """Contents alike, log not: a floor that is raised one step too far shows in the root and nowhere else."""
    raise_floor = Draft.raise_floor
    monkeypatch.setattr(Draft, "raise_floor", lambda self, steps, pending: raise_floor(self, steps + 1, pending))

    result = consult(crowded)

    # Genesis' own batch is raised too far as well, so block 1 already stands on another block 0.
    assert result.status == "failed"
    assert dict(result.evidence)["what"] in {"header", "roots"}
    assert "parent" in result.summary or "state_root" in result.summary
