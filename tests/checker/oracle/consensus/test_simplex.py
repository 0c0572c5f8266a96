"""Simplex and its specification agree call by call, and a specification with a broken rule is seen to differ."""

from functools import cache

import pytest

from checker.oracle.consensus import calls
from checker.oracle.consensus.simplex import FINALIZE, NAMESPACES, Parent, Simplex
from cluster.scenario.load import load_scenario
from tests.support.consensus_calls import differences, recorded_lives
from tests.support.drawn import draw_once
from tests.support.keystones import third_of

ON_SIMPLEX = 'consensus.engine="simplex"'

SEEDS = (3, 7)
"""Drawn scenarios with crashes, restarts, and views that are given up."""

SCENARIOS = ("conflicting-votes", "lone-torn-nullify", "lossy", "minority-isolated", "rolling-restart")
"""Scenarios with evidence, restarts, lost messages, silent leaders, and certificates that are fetched."""


@cache
def lives_of(run):
    """Return the lives of a scenario, or of a drawn one by its seed."""
    is_drawn = isinstance(run, int)
    return recorded_lives(draw_once(run, ON_SIMPLEX) if is_drawn else load_scenario(run, ()), run if is_drawn else 0)


@pytest.mark.parametrize("run", third_of([*SEEDS, *SCENARIOS]))
def test_a_run_has_no_difference(run):
    found, compared, effects = differences(Simplex, lives_of(run))

    assert [str(each) for each in found] == []
    assert compared > 100
    assert effects > 100


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_drawn_runs_have_no_difference(seed):
    found, _, _ = differences(Simplex, recorded_lives(draw_once(seed, ON_SIMPLEX), seed))

    assert [str(each) for each in found] == []


def with_rule(name, function):
    """Return the specification with one rule replaced; the function gets the rule itself as its second argument."""
    own = getattr(Simplex, name)
    return type("Broken", (Simplex,), {name: lambda self, *args, **named: function(self, own, *args, **named)})


BROKEN = {
    "leaders": (3, "leader", lambda self, own, view: own(self, view + 1), "timer"),
    "activity": ("minority-isolated", "is_active", lambda *_: True, "vote"),
    "ticks": (3, "count_tick", lambda *_: None, "timer"),
    "quorum": (3, "quorum", lambda self, own: own(self) + 1, "report"),
    "signed bytes": (3, "signed_message", lambda self, own, content: own(self, content) + b"x", "vote"),
    "use of votes": (3, "is_vote_of_use", lambda *_: True, "report"),
    "use of certificates": (3, "is_certificate_of_use", lambda *_: True, "report"),
    "help": (3, "is_help_due", lambda *_: False, "vote"),
    "entry certificate": ("minority-isolated", "entry_certificate", lambda *_: None, "retry"),
    "retries": ("minority-isolated", "repeat_nullify", lambda *_: None, "retry"),
    "giving up": (3, "give_up", lambda *_: None, "vote"),
    "waits": (3, "begin_view", lambda *_: None, "timer"),
    "verification": (3, "request_verification", lambda *_: None, "request"),
    "certification": (3, "request_certification", lambda *_: None, "request"),
    "parents": (3, "parent_to_build_on", lambda self, _own, _view: Parent(0, self.genesis), "request"),
    "fetching": ("lossy", "fetch", lambda *_: None, "request"),
    "peers in turn": ("lossy", "ask_next_peer", lambda self, _own, _view: self.request_certificate(), "retry"),
    "evidence": ("conflicting-votes", "convictions", lambda self, own, vote: own(self, vote) and [], "report"),
    "finalizing": (3, "may_finalize", lambda *_: False, "vote"),
    "finality": (3, "complete", lambda self, own, it: None if it.kind == FINALIZE else own(self, it), "certificate"),
    "restart": ("rolling-restart", "first_view", lambda *_: 1, "timer"),
    "journal": ("lone-torn-nullify", "restore", lambda *_: "", "vote"),
}
"""By family of rules: a run, the rule that is broken, how, and the part of a first difference."""


@pytest.mark.parametrize("family", third_of(BROKEN))
def test_a_broken_rule_differs(family):
    run, name, function, part = BROKEN[family]

    found, _, _ = differences(with_rule(name, function), lives_of(run))

    assert part in {each.part for each in found}


def test_a_difference_names_place_and_rule():
    later = with_rule("take_block", lambda *_: None)

    found, _, _ = differences(later, lives_of(3))

    first = str(min(found, key=lambda each: each.at_us))
    assert "replica" in first
    assert "Built(" in first
    assert "expected nothing" in first
    assert "SX-20" in first


def test_no_signature_is_made_that_the_replica_has_not_made():
    """A vote over other bytes is a difference: the specification holds no key."""
    other = with_rule("cast", lambda self, own, kind, subject: own(self, kind, (subject[0] + 1, *subject[1:])))

    found, _, _ = differences(other, lives_of(3))

    assert {each.part for each in found} <= {"record", "vote"}
    assert found


def test_namespaces_differ():
    assert len(set(NAMESPACES)) == len(NAMESPACES)


def test_seals_are_refused():
    life = calls.Life(0, [bytes(32)] * 4, is_observer=False, genesis=bytes(32), config={})
    block = calls.Facts(1, bytes(32), bytes(32), 1, 1, b"")

    assert Simplex(life, None).check_seal(block, b"seal").reason == "no seals"
