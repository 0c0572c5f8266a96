"""The check of state triggers: a sound chain passes, and each broken rule is named."""

from dataclasses import replace
from types import SimpleNamespace

import msgspec
import pytest

from checker.checks.triggers import StateTriggers
from scheduler import LaneConfig, TimerConfig, Watches
from scheduler.bias_records import BiasConfig
from scheduler.watch_records import WATCH, TriggerConfig, watcher_key
from scheduler.watch_records import WATCHER as PLACES
from tests.support.chain_harness import (
    ALICE,
    BALANCE,
    BOB,
    make_engine,
    make_genesis,
    policies_of,
    propose,
    transaction,
)
from tools.mutation.catalogue import CATALOGUE
from validators.execution import ExecuteActor, GenesisActor, PolicyEntry, run
from validators.execution.schema import storage_key

FEED, WATCHER = b"\xfe" * 20, b"\xfd" * 20
LONG = b"a key of some length"
PRICE = storage_key(FEED, b"price")


def ask(sender, nonce, actor, *steps):
    return transaction(sender, nonce, ExecuteActor(actor, "run", msgspec.msgpack.encode([steps, 1])))


def watch(name, *watched, ttl=50):
    return ("watch", name, watched, b"", None, 5_000, ttl)


def put_later(delay, key, value):
    return ("schedule", b"t", delay, msgspec.msgpack.encode([[("put", key, value)], 0]), None, 5_000)


PLAN = (
    [ask(1, 0, WATCHER, *(watch(name, [FEED, b"price"], [FEED, None]) for name in (b"a", b"b", b"c")))],
    [ask(1, 1, WATCHER, ("cancel", b"a"), watch(b"d", [FEED, LONG]), watch(b"e", [FEED, b"late"], ttl=1))],
    [ask(0, 0, FEED, ("put", b"price", b"2"), ("put", b"late", b"2"), put_later(1, LONG, b"2"))],
    [],
    [],
)
"""Of three timers that watch, one is cancelled, and two are triggered; a fire triggers the fourth, the last expires."""
LIMITS = {"max_watches_per_actor": 4, "max_triggers_per_block": 2}


def auction():
    own = BiasConfig(**LIMITS)
    return policies_of("bias-auction", lane=own), {"own": own, "lane": None}


def lane():
    own = [msgspec.msgpack.encode(LaneConfig()), msgspec.msgpack.encode(TriggerConfig(**LIMITS))]
    return (PolicyEntry(1, "eip1559", msgspec.msgpack.encode(own)),), {"own": LaneConfig(), "lane": LaneConfig()}


def judged(policies=auction, starts=0):
    """Run the plan, show the check its blocks from one on, and return the result."""
    entries, parameters = policies()
    actors = (
        GenesisActor(FEED, "script-actor", ALICE, BALANCE, ((b"price", b"1"), (LONG, b"1"))),
        GenesisActor(WATCHER, "script-actor", BOB, BALANCE),
    )
    engine = make_engine(
        make_genesis(policies=entries, actors=actors, timer_config=TimerConfig(max_cells_per_fire=2_000))
    )
    rules = SimpleNamespace(first_with=lambda table: table is WATCH and policies is auction)
    check = None
    for number, transactions in enumerate(PLAN):
        before = dict(engine.database.items())
        if number == starts:
            check = StateTriggers(SimpleNamespace(rules=rules, genesis_values=before))
        made = propose(engine, transactions)
        engine.finalize(made.digest)
        if check is not None:
            about = {"changes": made.changes, "before": before, "events": lambda made=made: made.events, **parameters}
            check.settle(SimpleNamespace(height=made.header.height, now=made.header.height, **about))
    return check.finish()


@pytest.mark.parametrize("policies", [auction, lane])
def test_a_sound_chain_passes_with_its_figures(policies):
    result = judged(policies)

    assert (result.status, result.summary) == ("passed", result.summary)
    assert dict(result.evidence) == {"watched": 5, "triggered": 3, "changes": 4, "hits_waiting": 1}


def test_timers_that_watched_before_the_run_are_read_from_its_state():
    result = judged(starts=2)

    assert (result.status, dict(result.evidence)["triggered"]) == ("passed", 3), result.summary


def hits_unseen(monkeypatch):
    monkeypatch.setattr(run, "changed_keys", lambda _view: [])


def hits_out_of_nothing(monkeypatch):
    changed_keys = run.changed_keys
    monkeypatch.setattr(run, "changed_keys", lambda view: sorted({PRICE, *changed_keys(view)}))


def watches_that_stay(monkeypatch):
    monkeypatch.setattr(Watches, "leave", lambda _self, _timer, _exit: ())
    watcher = Watches._watcher

    def of_the_living(self, key, sequence, now, found):
        known = self.state.get(PLACES, watcher_key(key, sequence))
        is_gone = known is not None and self.timers.timer(known.timer_id) is None
        return None if is_gone else watcher(self, key, sequence, now, found)

    monkeypatch.setattr(Watches, "_watcher", of_the_living)


def triggers_without_limit(monkeypatch):
    work_off = Watches._work_off
    monkeypatch.setattr(Watches, "_work_off", lambda self, now, _limit, found: work_off(self, now, 100, found))
    monkeypatch.setitem(LIMITS, "max_triggers_per_block", 1)


def watches_without_limit(monkeypatch):
    monkeypatch.setattr(Watches, "check", lambda *_: None)
    monkeypatch.setitem(LIMITS, "max_watches_per_actor", 2)


def hits_before_the_fires(monkeypatch):
    for target in CATALOGUE["hits-seen-before-the-fires"].swaps():
        monkeypatch.setattr(*target)


def hits_at_expiry(monkeypatch):
    for target in CATALOGUE["hit-at-expiry-announced"].swaps():
        monkeypatch.setattr(*target)


def other_key_told(monkeypatch):
    def trigger(self, now, *, is_paused):
        found = trigger_soundly(self, now, is_paused=is_paused)
        other = storage_key(FEED, b"other")
        return replace(found, events=tuple(msgspec.structs.replace(event, key=other) for event in found.events))

    trigger_soundly = Watches.trigger
    monkeypatch.setattr(Watches, "trigger", trigger)


@pytest.mark.parametrize(
    ("breaks", "told"),
    [
        (hits_unseen, "which changed, and was not triggered, nor does a hit of it wait"),
        (hits_out_of_nothing, "which had not changed"),
        (watches_that_stay, "has left, or was triggered"),
        (triggers_without_limit, "2 timers were triggered, at most 1"),
        (watches_without_limit, "has 3 timers that watch, at most 2"),
        (other_key_told, "which it does not watch"),
        (hits_before_the_fires, "which changed, and was not triggered, nor does a hit of it wait"),
        (hits_at_expiry, "as it expired"),
    ],
)
def test_a_broken_rule_is_named(monkeypatch, breaks, told):
    breaks(monkeypatch)
    result = judged()

    assert result.status == "failed"
    assert told in result.summary
