"""States, their proofs and their logs that are wrong, as the trials of roots and of reopened logs see them."""

from collections import deque

import pytest

from checker.checks.parts.state.state_roots import try_state_roots
from checker.checks.parts.storage.reopened_logs import try_reopened_logs
from checker.checks.parts.trial import draws_of
from network.chance import Chance
from validators import recovery
from validators.recovery import RepairLog
from validators.state import activity, database, history, proofs, store, verify
from validators.state.batch import Batch
from validators.state.draft import Draft
from validators.state.history import prune_store
from validators.state.view import StateView
from validators.storage.files import FinalizedLog
from validators.storage.records import TORN

SEEDS = 12


def faults_of(trial, seeds=range(SEEDS)):
    return [fault for seed in seeds for fault in faults_of_seed(trial, seed)]


def faults_of_seed(trial, seed):
    faults = []
    try:
        for what, holds in trial(draws_of(Chance(seed), trial.__name__)):
            faults += [] if holds else [what]
    # A part that is wrong may raise anything, and the check tells it as the failure that it is.
    except Exception as error:  # noqa: BLE001
        faults.append(repr(error))
    return faults


def move_one_less(self, steps, pending, raise_floor=Draft.raise_floor):
    return raise_floor(self, max(steps - 1, 1), pending)


def prune_to_the_tip(state, location):
    """Take no heed of what may be taken back."""
    undos, state.undos = state.undos, deque()
    start = prune_store(state, location)
    state.undos = undos
    return start


def read_the_newest(self, entries, operations, end, stack=StateView.stack):
    return stack(StateView(self.store), entries, operations, end)


def take_the_first(joined, count):
    return [joined[start : start + 32] for start in range(0, 32 * count, 32)] if len(joined) >= 32 * count else None


def tell_twice(self, file, place, how, repaired=RepairLog.repaired):
    repaired(self, file, place, how)
    repaired(self, file, place, how)


def tell_torn(self, damage, found=RepairLog.found):
    found(self, damage._replace(what="torn") if damage.what == TORN else damage)


WRONG = {
    "floors that rise by less": (
        try_state_roots,
        Draft,
        "raise_floor",
        move_one_less,
        "a batch makes other operations than its writes",
    ),
    "bits that stay below the floor": (
        try_state_roots,
        activity,
        "clear_below_floor",
        lambda *_: {},
        "another root than its operations",
    ),
    "bits that a rewind leaves": (
        try_state_roots,
        history,
        "list_cleared_chunks",
        lambda undos: [],
        "another root than its operations",
    ),
    "prunings that take too much": (try_state_roots, database, "prune_store", prune_to_the_tip, "another start"),
    "batches that never die": (try_state_roots, Batch, "is_alive", lambda _self: True, "whose branch is lost"),
    "ancestors that are not read": (try_state_roots, StateView, "stack", read_the_newest, "a batch"),
    "proofs without the partial chunk": (
        try_state_roots,
        proofs,
        "digest_partial",
        lambda *_: b"",
        "a proof of a key does not hold",
    ),
    "proofs with bytes left over": (try_state_roots, verify, "_split_digests", take_the_first, "a false proof of"),
    "bases of any shape": (try_state_roots, database, "check_shape", lambda _base: None, "a base is taken"),
    "floors of any height": (try_state_roots, store, "check_commit", lambda *_: None, "whose floor none may state"),
    "indexes that are not made anew": (try_state_roots, database, "rebuild_indexes", lambda _store: None, "a rebuild"),
    "an entry too few": (
        try_reopened_logs,
        FinalizedLog,
        "keep",
        lambda self, entries, keep=FinalizedLog.keep: keep(self, max(entries - 1, 0)),
        "keeps other entries than are sound",
    ),
    "bases that take the one before with them": (
        try_reopened_logs,
        FinalizedLog,
        "discard",
        FinalizedLog.erase,
        "keeps other entries than are sound",
    ),
    "errors that stop a start": (try_reopened_logs, recovery, "_UNSOUND", recovery._UNSOUND[:-1], "ValidationError"),
    "repairs that are told twice": (try_reopened_logs, RepairLog, "repaired", tell_twice, "a repair is told otherwise"),
    "torn ends that are damage": (try_reopened_logs, RepairLog, "found", tell_torn, "a torn end is told otherwise"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_state_or_start_that_is_wrong_is_named(name, monkeypatch):
    trial, owner, attribute, replacement, pattern = WRONG[name]
    monkeypatch.setattr(owner, attribute, replacement)

    faults = faults_of(trial)
    assert any(pattern in fault for fault in faults), faults


@pytest.mark.parametrize("trial", [try_state_roots, try_reopened_logs])
def test_states_and_starts_are_right_for_every_seed(trial):
    assert faults_of(trial, range(20)) == []


@pytest.mark.parametrize("trial", [try_state_roots, try_reopened_logs])
def test_a_seed_asks_the_same_again(trial):
    asked = [list(trial(draws_of(Chance(7), trial.__name__))) for _ in range(2)]

    assert asked[0] == asked[1]
