"""Engines that decide wrongly, as the trial sees them in which they agree on the names of blocks alone."""

import pytest

from checker.checks.parts.engines.bare_agenda import Agenda
from checker.checks.parts.engines.bare_agreement import bare_agreement
from checker.checks.parts.trial import draws_of
from checker.checks.rules.registry import RULES
from network.chance import Chance
from validators.consensus.hotstuff.casting import Voter
from validators.consensus.hotstuff.chain import CertifiedChain
from validators.consensus.longest_chain import engine as longest_chain
from validators.consensus.longest_chain.slots import SlotBook
from validators.consensus.registry import ENGINES
from validators.consensus.simplex import Simplex, resolver
from validators.consensus.simplex import engine as simplex
from validators.consensus.simplex.messages import CertificateResponse
from validators.consensus.simplex.rounds import Round
from validators.consensus.simplex.views import Views

SEEDS = 40


def faults_of(engine, seeds=range(SEEDS)):
    trial = bare_agreement(ENGINES[engine], RULES[engine])
    return [what for seed in seeds for what, holds in trial(draws_of(Chance(seed), trial.__name__)) if not holds]


def remember_nothing(_book, _view, *, is_own):
    return is_own


def serve_anything(views, peer, view, serve=resolver.serve):
    for kept in views.kept():
        if kept.notarization is not None:
            return [resolver.Send(peer, CertificateResponse(view, kept.notarization))]
    return serve(views, peer, view)


WRONG = {
    "a finalize beside a nullify": ("simplex", Round, "may_finalize", lambda _round: True, "wrote a finalize"),
    "views that are never given up": ("simplex", Simplex, "_time_out", lambda *_: None, "finality has not come back"),
    "an uncertified parent": ("simplex", Views, "_certified_parent", lambda *_: None, "finality has not come back"),
    "a notarization too early": ("simplex", simplex, "serve", serve_anything, "that it has not certified"),
    "two votes in a view": ("hotstuff", Voter, "may_vote", lambda *_: True, "wrote a vote"),
    "locks that stay": ("hotstuff", CertifiedChain, "_raise_lock", lambda *_: None, "and the lock was"),
    "slots sealed twice": ("longest-chain", SlotBook, "remember", remember_nothing, "begins in view 1"),
    "leaders that come a slot early": (
        "longest-chain",
        longest_chain,
        "leader_of",
        lambda view, count, _config: (view + 1) % count,
        "takes",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_engine_that_decides_wrongly_is_named(name, monkeypatch):
    engine, owner, attribute, replacement, pattern = WRONG[name]
    monkeypatch.setattr(owner, attribute, replacement)

    assert any(pattern in what for what in faults_of(engine))


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_that_decide_rightly_have_no_fault(engine):
    assert faults_of(engine) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_seed_asks_the_same(engine):
    trial = bare_agreement(ENGINES[engine], RULES[engine])

    asked = [list(trial(draws_of(Chance(7), trial.__name__))) for _ in range(2)]
    assert asked[0] == asked[1]


def test_engines_that_act_without_end_in_one_instant_are_stopped():
    agenda = Agenda()

    def again():
        agenda.post(0, again)

    agenda.post(0, again)
    with pytest.raises(RecursionError, match="engines do more than 200,000 things"):
        agenda.run_until(1)
