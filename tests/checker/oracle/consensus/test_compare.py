"""A comparison finds each change of a recorded call, names its part, and stops at the first."""

from functools import cache

import pytest

from checker.oracle.consensus import calls
from checker.oracle.consensus.compare import SAFETY_PARTS, compare_life
from checker.oracle.consensus.signatures import REMEMBERED_MAX, Signatures
from checker.oracle.consensus.simplex import NOTARIZE, Simplex
from cluster.scenario.load import load_scenario
from tests.support.consensus_calls import recorded_lives

SHORT = ("run.until_height=4",)


@cache
def recorded():
    """Return the arguments and the calls of one life of a calm run."""
    life = recorded_lives(load_scenario("calm", SHORT))[1][0]
    return life.life, tuple(life.calls())


def compared(change):
    """Return the first difference of a life whose calls are changed: (time, call) to a call, in their order."""
    life, kept = recorded()
    changed = [(at_us, change(place, call)) for place, (at_us, call) in enumerate(kept)]
    return compare_life(Simplex, life, changed).difference


def on_first(kind, replace, is_it=lambda _effect: True):
    """Return a change of the first effect of a kind."""
    _, kept = recorded()
    steps = [(place, call) for place, (_, call) in enumerate(kept) if isinstance(call, calls.Stepped)]
    found = next(place for place, call in steps if any(isinstance(each, kind) and is_it(each) for each in call.effects))

    def change(place, call):
        if place != found:
            return call
        at = next(at for at, each in enumerate(call.effects) if isinstance(each, kind) and is_it(each))
        effects = [*call.effects[:at], *replace(call.effects[at]), *call.effects[at + 1 :]]
        return call._replace(effects=tuple(effects))

    return change


def without(_effect):
    return ()


def is_vote(effect):
    return effect.message[1] == NOTARIZE


def is_certificate(effect):
    return effect.message[1] == NOTARIZE + 3


EFFECTS = {
    "no vote": (on_first, (calls.Send, without, is_vote), "vote"),
    "a vote to one": (on_first, (calls.Send, lambda it: [it._replace(to=2)], is_vote), "vote"),
    "no certificate": (on_first, (calls.Send, without, is_certificate), "certificate"),
    "no record": (on_first, (calls.Append, without), "record"),
    "no finality": (on_first, (calls.Finalized, without), "finality"),
    "another length": (on_first, (calls.SetTimer, lambda it: [it._replace(after_us=it.after_us + 1)]), "timer"),
    "no cancelling": (on_first, (calls.CancelTimer, without), "timer"),
    "another leader": (on_first, (calls.Entered, lambda it: [it._replace(leader=0)]), "timer"),
    "another parent": (on_first, (calls.Build, lambda it: [it._replace(parent=bytes(32))]), "request"),
    "a seal": (on_first, (calls.Relay, lambda it: [it._replace(seal=b"seal")]), "seal"),
    "no relay": (on_first, (calls.Relay, without), "request"),
    "an adoption": (on_first, (calls.Entered, lambda it: [it, calls.Adopt(1, bytes(32), 1, 0)]), "adoption"),
    "a report": (on_first, (calls.Entered, lambda it: [it, calls.ReportActivity("A", 1, 1, "", ())]), "report"),
    "an alarm": (on_first, (calls.SetTimer, lambda it: [calls.SetAlarm(*it)]), "timer"),
    "twice": (on_first, (calls.Send, lambda it: [it, it], is_vote), "vote"),
}


def test_a_recorded_life_has_no_difference():
    life, kept = recorded()

    found = compare_life(Simplex, life, kept)

    assert found.difference is None
    assert found.calls == len(kept)
    assert found.effects > 50


@pytest.mark.parametrize("name", EFFECTS)
def test_a_changed_effect_is_a_difference(name):
    make, arguments, part = EFFECTS[name]

    difference = compared(make(*arguments))

    assert difference.part == part
    assert difference.is_safety == (part in SAFETY_PARTS)
    assert difference.rules


def test_an_order_is_compared():
    """A record stands before the message that waits for it."""

    def swap(_place, call):
        if isinstance(call, calls.Stepped) and len(call.effects) > 1 and isinstance(call.effects[0], calls.Append):
            return call._replace(effects=(call.effects[1], call.effects[0], *call.effects[2:]))
        return call

    assert compared(swap).part in SAFETY_PARTS


def changed_answer(kind, **named):
    def change(_place, call):
        return call._replace(answer=call.answer._replace(**named)) if isinstance(call, kind) else call

    return change


def test_a_changed_answer_is_a_difference():
    assert compared(changed_answer(calls.Checked, reason="stale")).part == "report"
    assert compared(changed_answer(calls.Checked, signatures_verified=9)).part == "report"


def test_a_message_that_is_taken_against_the_rules_is_of_safety():
    """The first vote of another comes with a signature that nobody made."""
    life, kept = recorded()
    at_us, call = next(each for each in kept if isinstance(each[1], calls.Checked))
    forged = call._replace(message=call.message[:-1] + bytes([call.message[-1] ^ 1]))

    found = compare_life(Simplex, life, [(at_us, kept[0][1]), (at_us, forged)]).difference

    assert found.part == "vote"
    assert "invalid signature" in found.expected
    assert found.rules


def test_an_error_of_the_engine_is_a_difference():
    life, kept = recorded()

    found = compare_life(Simplex, life, [kept[0], (5, calls.Raised("step of Started()", "KeyError(3)"))]).difference

    assert (found.part, found.at_us, found.found) == ("report", 5, "KeyError(3)")


def test_a_call_that_no_rule_foresees_is_a_difference_and_no_error():
    life, kept = recorded()

    found = compare_life(Simplex, life, [kept[0], (5, calls.Stepped(calls.Received(1, b"\x93\x05"), ()))]).difference

    assert "no such call" in found.expected


def test_a_journal_of_another_is_refused():
    life, _ = recorded()
    vote = next(
        each.record
        for _, call in recorded()[1]
        if isinstance(call, calls.Stepped)
        for each in call.effects
        if isinstance(each, calls.Append)
    )
    replayed = calls.Replayed((vote,), None, "")

    found = compare_life(Simplex, life._replace(me=life.me + 1), [(0, replayed)]).difference

    assert found.part == "record"
    assert "is by" in found.expected


def test_results_that_are_shared_count_in_each_memory():
    life, _ = recorded()
    known = {}
    first, second = (Signatures(me, life.public_keys, known) for me in (0, 1))

    assert [each.verify(2, b"n", b"m", bytes(64)) for each in (first, second, second)] == [False] * 3
    assert (first.verified, second.verified, len(known)) == (1, 1, 1)


def test_the_oldest_results_are_forgotten():
    life, _ = recorded()
    signatures = Signatures(0, life.public_keys, {})
    key = (life.public_keys[1], b"\x01nm", bytes(64))
    for number in range(REMEMBERED_MAX + 1):
        signatures._known[life.public_keys[1], b"\x01n" + str(number).encode(), bytes(64)] = False
        signatures.verify(1, b"n", str(number).encode(), bytes(64))

    assert signatures.verified == REMEMBERED_MAX + 1
    assert key not in signatures._remembered
    assert signatures.verify(1, b"n", b"0", bytes(64)) is False
    assert signatures.verified == REMEMBERED_MAX + 2
    assert signatures.verify(1, b"n", b"8192", bytes(64)) is False
    assert signatures.verified == REMEMBERED_MAX + 2
