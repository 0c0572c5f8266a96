"""Rules of governance and of the free policy that all validators break alike: the oracle names each."""

import dataclasses

import msgspec
import pytest

from scheduler import FifoFree, Moment, PolicyInBlock, UnknownTimer
from scheduler.lifecycle import move_expiry
from scheduler.policies import fifo, fifo_free
from scheduler.settlement import classify
from tests.support.keystones import first_of
from tests.support.oracle_runs import assert_named, consult, run_chain, write_free, write_governed
from validators.execution import (
    SystemCancelTimer,
    SystemExtendTimer,
    SystemUpdateTimerConfig,
    decode_receipt,
    run,
)
from validators.execution.schema import TIMER_CONFIG
from validators.execution.world import ChainWorld


@pytest.fixture
def governed(tmp_path):
    return write_governed(tmp_path)


@pytest.fixture
def free(tmp_path):
    return write_free(tmp_path)


def obey_anyone(kind):
    """Return a chain on which everybody may give one kind of instruction."""

    def break_rule(monkeypatch):
        obey = ChainWorld.obey

        def obeyed(self, sender, instruction):
            is_let_in = isinstance(instruction, kind)
            return obey(self, self._system_deployers[0] if is_let_in else sender, instruction)

        monkeypatch.setattr(ChainWorld, "obey", obeyed)

    return break_rule


def read_the_configuration_again_before_the_timers(monkeypatch):
    run_timers = run.BlockRun._run_timers

    def reread(self):
        config = self._view.get(TIMER_CONFIG, TIMER_CONFIG.key())
        self._policy.block = dataclasses.replace(self._policy.block, config=config)
        run_timers(self)

    monkeypatch.setattr(run.BlockRun, "_run_timers", reread)


def configure_phase(**changes):
    """Return a timer phase that goes by another configuration than the block's."""

    def break_rule(monkeypatch):
        run_phase = fifo.FifoInBlock.run

        def run_otherwise(self, phase):
            config = msgspec.structs.replace(self.block.config, **changes)
            self.block = dataclasses.replace(self.block, config=config)
            return run_phase(self, phase)

        monkeypatch.setattr(fifo.FifoInBlock, "run", run_otherwise)

    return break_rule


def treat_over_cap(keep_over_cap):
    """Return a classification in which timers above the lane are candidates, or nothing at all."""

    def break_rule(monkeypatch):
        def classified(waiting, **rest):
            classes = classify(waiting, **rest)
            above = {timer.timer_id: True for timer in classes.over_cap}
            candidates = [
                timer for timer in waiting if timer in classes.candidates or (keep_over_cap and timer.timer_id in above)
            ]
            return dataclasses.replace(classes, candidates=candidates, over_cap=[])

        monkeypatch.setattr(fifo, "classify", classified)

    return break_rule


def extend_without_clamp(monkeypatch):
    def moved(self, timer, new_expires_at):
        move_expiry(self.context, timer, new_expires_at)
        self.block.timers.replace(msgspec.structs.replace(timer, expires_at=new_expires_at))
        return new_expires_at

    monkeypatch.setattr(PolicyInBlock, "move_expiry", moved)


def revive_the_expired(monkeypatch):
    monkeypatch.setattr("scheduler.lifecycle.is_expired", lambda _timer, _now: False)


def refuse_to_cancel_what_is_gone(monkeypatch):
    cancel_by_governance = PolicyInBlock.cancel_by_governance

    def cancelled(self, timer_id):
        if self.block.timers.timer(timer_id) is None:
            raise UnknownTimer(timer_id)
        return cancel_by_governance(self, timer_id)

    monkeypatch.setattr(PolicyInBlock, "cancel_by_governance", cancelled)


def count_slots_in_height_time(monkeypatch):
    monkeypatch.setattr(Moment, "now", property(lambda moment: moment.slot))


def charge_for_free_fires(monkeypatch):
    monkeypatch.setattr(fifo_free.FifoFreeInBlock, "run", fifo.FifoInBlock.run)


def let_free_timers_expire(monkeypatch):
    monkeypatch.setattr(FifoFree, "has_ttl", True)


def let_free_fires_weigh_nothing(monkeypatch):
    run_phase = fifo_free.FifoFreeInBlock.run

    def run_weightless(self, phase):
        return dataclasses.replace(run_phase(self, phase), lane_cycles=0)

    monkeypatch.setattr(fifo_free.FifoFreeInBlock, "run", run_weightless)


GOVERNED_BREAKS = {
    "instruction 48 from anyone": (obey_anyone(SystemCancelTimer), "receipts"),
    "instruction 49 from anyone": (obey_anyone(SystemUpdateTimerConfig), "receipts"),
    "instruction 50 from anyone": (obey_anyone(SystemExtendTimer), "receipts"),
    "a configuration that holds at once": (read_the_configuration_again_before_the_timers, "receipts"),
    "a paused execution lane that fires": (configure_phase(execution_lane_paused=False), "receipts"),
    "a paused GC lane that removes": (configure_phase(gc_lane_paused=False), "receipts"),
    "timers above the lane that stop it": (treat_over_cap(keep_over_cap=True), "receipts"),
    "timers above the lane that are not counted": (treat_over_cap(keep_over_cap=False), "receipts"),
    "an extension without clamp": (extend_without_clamp, "receipts"),
    "an extension that revives the expired": (revive_the_expired, "receipts"),
    "a cancellation that fails where nothing is": (refuse_to_cancel_what_is_gone, "receipts"),
    "slots counted in height time": (count_slots_in_height_time, "receipts"),
}

FREE_BREAKS = {
    "a fee for a free fire": (charge_for_free_fires, "receipts"),
    "a free timer that expires": (let_free_timers_expire, "receipts"),
    "free fires that weigh nothing": (let_free_fires_weigh_nothing, "budgets"),
}


def events_of(chain):
    """Return the names of all events, and the errors of all transactions."""
    named = {}
    for executed in chain:
        for receipt in map(decode_receipt, executed.receipts):
            events = receipt.events if hasattr(receipt, "events") else [receipt.event]
            named.update((type(event).__name__, True) for event in events)
            named[getattr(receipt, "error", "")] = True
    return named


def test_the_governed_chain_has_everything_that_the_rules_speak_of(governed):
    """Every instruction obeyed and refused, both lanes paused, dead and live timers waiting, an extension clamped."""
    _, chain = run_chain(governed)
    reported = events_of(chain)

    for name in ("Unauthorized", "InvalidInput", "TimerCancelledByGovernance", "TimerConfigUpdated"):
        assert name in reported, name
    assert "TimerExtendedByGovernance" in reported
    assert any(executed.summary.waiting_live and executed.summary.waiting_dead for executed in chain)
    assert consult(governed).status == "passed"


def test_on_the_free_chain_all_due_timers_fire_in_one_block_for_nothing(free):
    """The lane has no budget there, and fires are free."""
    _, chain = run_chain(free)

    assert sum(executed.summary.fired for executed in chain) == 24
    assert [executed.summary.fired > 0 for executed in chain].count(True) == 1
    assert consult(free).status == "passed"


@pytest.mark.parametrize("name", first_of(GOVERNED_BREAKS))
def test_a_rule_of_governance_that_all_validators_break_is_named(monkeypatch, governed, name):
    """The same for system instructions, paused lanes and height time."""
    assert_named(monkeypatch, governed, GOVERNED_BREAKS[name])


@pytest.mark.parametrize("name", FREE_BREAKS)
def test_a_rule_of_the_free_policy_that_all_validators_break_is_named(monkeypatch, free, name):
    """The same for `fifo-free`."""
    assert_named(monkeypatch, free, FREE_BREAKS[name])
