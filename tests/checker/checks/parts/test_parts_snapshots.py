"""Joiners and servers of snapshots that are wrong, as the trials see them."""

import pytest

from checker.checks.parts.sync.snapshot_joins import try_snapshot_joins
from checker.checks.parts.sync.snapshot_servers import try_serving
from checker.checks.parts.trial import draws_of
from network.chance import Chance
from validators.state import Database
from validators.sync import serving, snapshots
from validators.sync.serving import Serving
from validators.sync.snapshots import SnapshotJoin, SnapshotSource

SEEDS = 40


def first_fault(trial, seed):
    return next((what for what, holds in trial(draws_of(Chance(seed), trial.__name__)) if not holds), None)


def is_any_peer_asked(self, _peer):
    return bool(self._peers) and not self._is_checking


def keep_what_was_asked(self, reason, go_on=SnapshotJoin._go_on):
    """Leave a peer, and count what it left unanswered for the next one too."""
    before = self._attempts
    go_on(self, reason)
    self._attempts = before


def ask_on(self, retry=SnapshotJoin.retry):
    was_checking, self._is_checking = self._is_checking, False
    retry(self)
    self._is_checking = was_checking


def give_up_quietly(self, reason, go_on=SnapshotJoin._go_on):
    """Leave the timer of the last peer set."""
    cancel, self._port.cancel_timer = self._port.cancel_timer, lambda _key: None
    go_on(self, reason)
    self._port.cancel_timer = cancel


def cut_short(operations, chunk_bytes, cut=snapshots.cut_operations):
    yield from list(cut(operations, chunk_bytes))[:-1] or [()]


def keep_the_first(self, above_height, refresh=SnapshotSource._refresh):
    return refresh(self, above_height) if self._cut is None else self._settings.costs.block_us


def end_all(self):
    self._answered.clear()
    self._under_way.clear()


def refuse_late(self, peer, kind, may_answer=Serving.may_answer):
    """Answer one more a second than may be."""
    self._answers_per_second += 1
    is_due = may_answer(self, peer, kind)
    self._answers_per_second -= 1
    return is_due


WRONG = {
    "peers that were not asked": (
        try_snapshot_joins,
        SnapshotJoin,
        "_is_asked",
        is_any_peer_asked,
        "a joiner takes what",
    ),
    "attempts that are not reset": (
        try_snapshot_joins,
        SnapshotJoin,
        "_go_on",
        keep_what_was_asked,
        "a peer that may answer yet is not asked again",
    ),
    "a peer that is asked four times": (
        try_snapshot_joins,
        snapshots,
        "ATTEMPTS",
        4,
        "a silent peer is not left for the next one",
    ),
    "requests while it recomputes": (
        try_snapshot_joins,
        SnapshotJoin,
        "retry",
        ask_on,
        "a peer is asked again while its snapshot is recomputed",
    ),
    "a timer without a request": (
        try_snapshot_joins,
        SnapshotJoin,
        "_go_on",
        give_up_quietly,
        "which is forged",
    ),
    "witnesses that are believed": (
        try_snapshot_joins,
        snapshots,
        "verify_root",
        lambda *_: True,
        "an offer is not taken for what it is, which is forged (witness",
    ),
    "a piece too many": (try_snapshot_joins, snapshots, "CHUNKS_MAX", 65_537, "forged (outline: 65537 pieces"),
    "operations that are believed": (
        try_snapshot_joins,
        Database,
        "from_snapshot",
        lambda *_: None,
        "a snapshot is not taken for what it is, which is forged",
    ),
    "work without its cost": (
        try_snapshot_joins,
        SnapshotJoin,
        "_check_cost_us",
        lambda *_: 1,
        "a snapshot that is here is not recomputed at its cost",
    ),
    "a last piece that is not served": (
        try_snapshot_joins,
        snapshots,
        "cut_operations",
        cut_short,
        "a snapshot is served otherwise than its state has it",
    ),
    "a snapshot that is never replaced": (
        try_serving,
        SnapshotSource,
        "_refresh",
        keep_the_first,
        "a snapshot is offered otherwise",
    ),
    "answers that the second ends": (try_serving, Serving, "begin_second", end_all, "as the limits have it"),
    "an answer too many": (try_serving, Serving, "may_answer", refuse_late, "as the limits have it"),
    "a second that is too short": (try_serving, serving, "_SECOND_US", 999_999, "as the limits have it"),
    "answers all at once": (try_serving, Serving, "is_free", lambda *_: True, "as the limits have it"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_joiner_or_server_that_is_wrong_is_named(name, monkeypatch):
    trial, owner, attribute, replacement, pattern = WRONG[name]
    monkeypatch.setattr(owner, attribute, replacement)

    assert any(pattern in (first_fault(trial, seed) or "") for seed in range(SEEDS))


@pytest.mark.parametrize("trial", [try_snapshot_joins, try_serving])
def test_joiners_and_servers_are_right_for_every_seed(trial):
    assert [first_fault(trial, seed) for seed in range(20)] == [None] * 20


@pytest.mark.parametrize("trial", [try_snapshot_joins, try_serving])
def test_the_same_seed_tries_the_same(trial):
    asked = [list(trial(draws_of(Chance(7), trial.__name__))) for _ in range(2)]

    assert asked[0] == asked[1]
