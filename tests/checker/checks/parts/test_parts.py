"""Parts of a validator that are wrong in what few drawn runs bring about, tried on specimens."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from checker.checks.parts.execution import choices
from checker.checks.parts.execution.guaranteed import GUARANTEED
from checker.checks.parts.parts import TRIALS, Parts, find_trials
from checker.checks.rules.registry import RULES
from scheduler import POLICIES, Guarantees, solvency
from scheduler.bias_selection import Walk
from scheduler.policies import eip1559
from scheduler.policies.fifo_free import FifoFree
from scheduler.pool import PoolRules
from scheduler.settlement import classify
from tests.support.checks import finish, make_run
from validators.actors.metering import GasMeter, Meter
from validators.consensus.hotstuff import sealing as hotstuff_sealing
from validators.consensus.hotstuff.casting import Voter
from validators.consensus.hotstuff.config import HotStuffConfig
from validators.consensus.longest_chain import sealing
from validators.consensus.longest_chain.joining import Joining
from validators.consensus.registry import ENGINES
from validators.consensus.simplex import recovery, resolver
from validators.consensus.simplex.election import LeaderActivity
from validators.consensus.simplex.messages import view_of
from validators.consensus.simplex.rounds import Certified, Round
from validators.consensus.simplex.screening import Screen
from validators.consensus.simplex.views import Missing, Ready, Views
from validators.execution.timers import StateTimers
from validators.finalizer import Finalizer
from validators.state import database
from validators.state.store import rebuild_store
from validators.storage import Barrier, JournalLostError, journal, records
from validators.storage.files import BlockFile, FinalizedLog
from validators.storage.records import RecordFile
from validators.sync.follower import Fetch, Follower, Settled
from validators.sync.seals import Seals

SEEDS = range(40)
"""Seeds that have each trial several times."""


def judged(seed, engine="simplex"):
    return finish(Parts(make_run(test_bed=SimpleNamespace(seed=seed), chain=[None], engine=engine)))


def ask_the_stored_limit(self, timer):
    return timer.gas_limit


def keep_damaged(self, digest):
    place = self._places.get(digest)
    payload = None if place is None else self._file.read_at(place.offset)
    return None if payload is None else payload[-9:]


def count_anew(self, recover=FinalizedLog.recover):
    found = recover(self)
    self._generation = 0
    return found


def use_floored(self, cycles, cells=0):
    numerator, denominator = self._rate
    taken = (self.cells + cells) * numerator // denominator
    Meter.use(self, self.cycles_limit + 1 if self.cycles + cycles + taken > self.cycles_limit else cycles, cells)


def rebuild_without_undos(codec, log, retain=0, **base):
    return rebuild_store(codec, log, retain=0 if base else retain, **base)


def step_past_finality(self, digest, step=Follower._next_step):
    """Look for the parent of any block that is here, be its branch lost or not."""
    found = step(self, digest)
    return Fetch(digest) if isinstance(found, Settled) and "lost" in found.reason else found


def by_the_market(*, legacy_max_fee, **rules):
    return PoolRules(legacy_max_fee=legacy_max_fee + 1, **rules)


def skip_by_others(self, leader, me, quorum, is_skippable=LeaderActivity.is_skippable):
    return is_skippable(self, leader, me, quorum + 1)


def forget_own_votes(kept, vote, me):
    kept.own_notarize = kept.own_notarize or vote


def pass_what_failed(kept, artifact, me, restore=recovery._restore_one):
    restore(kept, artifact, me)
    kept.certified = Certified.PASSED if kept.certified is Certified.FAILED else kept.certified


def extend_for_good(self, timer):
    self._view.set(self._keys.key_of(timer.timer_id), timer)
    if timer.due <= self._reach:
        self._touched[timer.due, timer.sequence] = timer


def end_by_headers(self, number, end=Joining.end):
    self.is_by_headers = True
    return end(self, number)


def check_all_but_the_last(self, proposal, check=Views.check_ancestry):
    found = check(self, proposal)
    return Ready(self.select_parent) if found == Missing(proposal.view - 1) else found


def want_one_a_view(self, certificate):
    return self._views.get(view_of(certificate)) is None


def hold_what_is_notarized(views, view):
    found = views.get(view)
    return [found.notarization] if found is not None and found.notarization is not None else []


def read_no_head(*_):
    raise JournalLostError("its head is damaged in both copies")


def run_at_once(self, advance=Barrier._advance):
    self._is_advancing = False
    advance(self)


def write_beside_a_snapshot(self, join=Finalizer.join_if_far_behind):
    self._is_finalizing, was = False, self._is_finalizing
    join(self)
    self._is_finalizing = was


def spend_all_but_one(timers, *, ledger, **rest):
    return classify(timers, ledger=SimpleNamespace(balance=lambda payer: ledger.balance(payer) - 1), **rest)


def follow_with_the_last(walk, one, can_pay, visit=Walk.visit):
    walk.runner_up, before = None, walk.runner_up
    visit(walk, one, can_pay)
    walk.runner_up = walk.runner_up or before


WRONG = {
    "a generation without its last record": (
        journal,
        "_carried",
        lambda _record: -1,
        "other votes than it holds",
    ),
    "ends that stay torn": (RecordFile, "cut", lambda *_: None, "is not mended by a start"),
    "damage that is not missed": (journal, "_synced_bytes", lambda _record: 0, "is damaged in both copies"),
    "empty disks that are damaged": (journal, "_read_head", read_no_head, "without a journal is told to be damaged"),
    "prunings that fail of a read": (journal, "DiskReadError", KeyError, "breaks"),
    "records of any place": (RecordFile, "_seed", lambda self, _offset: self._checksum, "where it was not"),
    "damaged blocks that are held": (BlockFile, "get", keep_damaged, "a block reads otherwise"),
    "torn ends that count as damage": (records, "TORN", records.DAMAGED, "otherwise than it is told"),
    "bases that are numbered anew": (FinalizedLog, "recover", count_anew, "another base than the last one"),
    "states that take nothing back": (database, "rebuild_store", rebuild_without_undos, "cannot take back"),
    "lost branches that are fetched": (Follower, "_next_step", step_past_finality, "than its branch asks for"),
    "seals of no use": (Seals, "find_fault", lambda *_: "", "a seal is taken"),
    "legacy timers that follow the market": (eip1559, "PoolRules", by_the_market, "by other limits, fees or ties"),
    "limits as they were stored": (PoolRules, "gas_limit", ask_the_stored_limit, "over the cap"),
    "payers that are cleared": (solvency, "_note_insolvent", lambda *_, **__: None, "other timers are insolvent"),
    "gas rounded down": (GasMeter, "use", use_floored, "gas ends sooner or later"),
    "silence of one more": (LeaderActivity, "is_skippable", skip_by_others, "a leader is waited for"),
    "certificates as they come": (resolver, "_find_held", hold_what_is_notarized, "others are given than are held"),
    "actions within actions": (Barrier, "_advance", run_at_once, "within the one that handed it over"),
    "guarantees that are taken back": (FifoFree, "guarantees", lambda *_: Guarantees(), "policy fifo-free guarantees"),
    "snapshots beside operations": (
        Finalizer,
        "join_if_far_behind",
        write_beside_a_snapshot,
        "on their way to the disk",
    ),
    "payers that keep a unit": (choices, "classify", spend_all_but_one, "other timers are dead"),
    "runners-up that come last": (Walk, "visit", follow_with_the_last, "another one is the runner-up"),
    "payments of the reserve": (choices, "payment", lambda *_, reserve, **__: reserve, "winners pay otherwise"),
    "nullifies beside finalizes": (
        Round,
        "may_nullify",
        lambda one: not one.own_nullify,
        "beside another or a finalize",
    ),
    "failures that a restart forgets": (recovery, "_restore_one", pass_what_failed, "a certification for another one"),
    "extensions of calls that fail": (StateTimers, "replace", extend_for_good, "other timers than wait"),
    "a gap below a proposal": (Views, "check_ancestry", check_all_but_the_last, "ancestry is judged otherwise"),
    "one certificate a view": (Screen, "_is_certificate_wanted", want_one_a_view, "a certificate is of use, or not"),
    "votes of an earlier life": (recovery, "_restore_vote", forget_own_votes, "earlier life does not count"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_part_that_is_wrong_is_named(name, monkeypatch):
    owner, attribute, replacement, pattern = WRONG[name]
    monkeypatch.setattr(owner, attribute, replacement)

    failed = (result.summary for result in map(judged, SEEDS) if result.status == "failed")
    assert any(pattern in summary for summary in failed)


def test_votes_below_a_lock_are_named(monkeypatch):
    monkeypatch.setattr(Voter, "may_vote_for", lambda voter, memory, block: voter.may_vote(memory, block.facts.view))

    assert "a block gets a vote where" in judged(0, "hotstuff").summary


def test_waits_that_do_not_double_are_named(monkeypatch):
    monkeypatch.setattr(HotStuffConfig, "wait_us", lambda config, _given_up: config.view_timeout_us)

    assert "does not double up to the longest" in judged(0, "hotstuff").summary


@pytest.mark.parametrize(
    ("replaced", "seal"),
    [
        ("find_timeout_certificate_fault", "timeouts that nobody signed"),
        ("find_block_certificate_fault", "a certificate that nobody signed"),
        ("_find_form_fault", "a block on another parent"),
    ],
)
def test_a_seal_of_what_is_not_looked_at_is_named(replaced, seal, monkeypatch):
    monkeypatch.setattr(hotstuff_sealing, replaced, lambda *_: "")

    assert f"{seal} is sound" in judged(0, "hotstuff").summary


def test_a_proof_of_depth_that_nobody_sealed_is_named(monkeypatch):
    monkeypatch.setattr(sealing, "find_burial_fault", lambda *_: "")

    assert "is believed in a proof of depth" in judged(0, "longest-chain").summary


def test_a_final_block_that_is_taken_on_trust_is_named(monkeypatch):
    monkeypatch.setattr(Joining, "end", end_by_headers)

    assert any("a final block that was not followed" in judged(seed, "longest-chain").summary for seed in range(9))


def test_a_specimen_that_computes_for_ever_would_show():
    """As a count of answers that stands still while the check is at work."""
    seen = []

    @contextmanager
    def watched(count, what):
        seen.append((what, count()))
        yield
        seen.append((what, count()))

    result = finish(Parts(make_run(test_bed=SimpleNamespace(seed=1), chain=[None], engine="simplex", watched=watched)))
    assert seen == [("a specimen of the check parts", 0), ("a specimen of the check parts", result.compared)]


def test_each_policy_has_its_guarantees_restated():
    assert list(GUARANTEED) == list(POLICIES)


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_are_right_for_every_seed(engine):
    results = [judged(seed, engine) for seed in range(20)]

    assert [result.summary for result in results if result.status != "passed"] == []


@pytest.mark.parametrize("engine", ENGINES)
def test_every_seed_tries_a_part_and_ten_try_all(engine):
    tried = [find_trials(seed, engine) for seed in range(10)]

    assert all(tried)
    assert len(dict.fromkeys(trial for trials in tried for trial in trials)) == len(TRIALS) + len(RULES[engine].trials)
