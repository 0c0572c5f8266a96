"""The state database in any order of everything it can do, against a model of lists and dicts.

10,000 steps and more, in runs of at most 200; the draws are derived from the code, so that every run of the tests makes
the same ones. Refusals are part of it: each that the model expects has to come, by its name, and has to change nothing.
"""

from collections import Counter
from typing import ClassVar

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.support.properties import examples
from tests.support.state_model import Model
from validators.state import (
    Database,
    DeadBranch,
    NotMerkleized,
    NotRetained,
    PrunedLocation,
    SealedBatch,
    StaleBatch,
)

STEPS = 10_000
STEPS_PER_RUN = 200
RUNS = 70
RETAIN = 4
STEPS_BETWEEN_OPENINGS = 20
KEYS = [bytes([n]) * 32 for n in range(5)]
VALUES = st.none() | st.sampled_from([b"a", b"b", b"long" * 40])
WRITES = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4)
PICKS = st.integers(0, 9)
OPEN, SEALED, APPLIED, DROPPED = "open", "sealed", "applied", "dropped"


class Handle:
    """A batch, and what the model knows of it; `base` and `state` are tips before and after."""

    def __init__(self, batch, database, parent, base):
        self.batch = batch
        self.database = database
        self.parent = parent
        self.base = base
        self.state = None
        self.status = OPEN
        self.writes = {}


class Machine(RuleBasedStateMachine):
    """Batches opened, chained, forked, written, applied and dropped; tips taken back, pruned, sent, lost and reopened.

    The model: a chain of tips, of which the last is the database's; and the operation log as a disk would hold it,
    from what `apply` returned.
    """

    counts: ClassVar[Counter[str]] = Counter()

    @initialize(fixed=st.booleans(), rounds=st.sampled_from([0, 50, 70, 90]))
    def begin(self, fixed, rounds):
        self.format = {"encoding": "fixed" if fixed else "variable"}
        self.database = Database(**self.format, retain=RETAIN)
        self.tips = [Model.fresh(fixed=fixed)]
        self.disk = list(self.database.operations())
        self.handles = []
        self.retained = 0
        self.start = 0
        self.age = 0
        for round_ in range(rounds):
            self.commit(dict.fromkeys(KEYS[round_ % 3 :], b"%d" % round_))

    # -- what the model says ---------------------------------------------------------------------------

    def fit(self, value):
        """A value of 32 bytes where the encoding knows no others."""
        return value if value is None or self.format["encoding"] == "variable" else value[:32].ljust(32, b".")

    def pick(self, number):
        """One of the last handles, or None for the committed tip."""
        return self.handles[-number] if 0 < number <= len(self.handles) else None

    def is_own(self, handle):
        return handle.database is self.database

    def is_alive(self, handle):
        while handle.status in (OPEN, SEALED):
            if handle.base is self.tips[-1]:
                return True
            handle = handle.parent
            if handle is None:
                return False
        return handle.status == APPLIED and handle.state is self.tips[-1]

    def refuse(self, error, action, *arguments):
        self.counts[error.__name__] += 1
        with pytest.raises(error):
            action(*arguments)

    def reopen(self, database):
        """The handles so far belong to a database that is gone; some are kept, to be refused."""
        self.database = database
        self.handles = self.handles[-2:]
        self.age = 0
        self.tips = self.tips[-1:]
        self.retained = 0
        self.start = database.start

    # -- what is done -----------------------------------------------------------------------------------

    def open(self, parent):
        base = self.tips[-1] if parent is None else parent.state or parent.base
        if parent is None:
            batch = self.database.batch()
        elif not self.is_own(parent):
            self.counts["foreign"] += 1
            return self.refuse(StaleBatch, self.database.batch, parent.batch)
        elif not self.is_alive(parent):
            return self.refuse(DeadBranch, self.database.batch, parent.batch)
        elif parent.status == OPEN:
            return self.refuse(NotMerkleized, self.database.batch, parent.batch)
        else:
            batch = self.database.batch(parent.batch)
        self.handles.append(Handle(batch, self.database, parent, base))
        return self.handles[-1]

    def put(self, handle, writes):
        for key, value in writes.items():
            handle.batch.write(key, self.fit(value))
            handle.writes[key] = self.fit(value)

    def seal(self, handle, metadata=None):
        handle.state = handle.base.after(handle.writes, metadata)
        handle.status = SEALED
        assert handle.batch.merkleize(metadata) == handle.state.roots[0]
        assert (handle.batch.size, handle.batch.floor) == (handle.state.size, handle.state.floor)

    def take_over(self, handle):
        chain = []
        while handle is not None and handle.status == SEALED:
            chain.insert(0, handle)
            handle = handle.parent
        appended = self.database.apply(chain[-1].batch)
        self.disk += appended
        for member in chain:
            member.status = APPLIED
            self.tips.append(member.state)
        self.retained = min(RETAIN, self.retained + len(chain))

    def commit(self, writes):
        handle = self.open(None)
        self.put(handle, writes)
        self.seal(handle)
        self.take_over(handle)

    @rule(number=PICKS)
    def open_a_batch(self, number):
        self.open(self.pick(number))

    @rule(number=PICKS, writes=WRITES)
    def write(self, number, writes):
        handle = self.pick(number)
        if handle is None or not self.is_own(handle):
            return
        if not self.is_alive(handle):
            self.refuse(DeadBranch, handle.batch.write, KEYS[0], None)
        elif handle.status != OPEN:
            self.refuse(SealedBatch, handle.batch.write, KEYS[0], None)
        else:
            self.put(handle, writes)

    @rule(number=PICKS, metadata=st.none() | st.just(b"note"))
    def merkleize(self, number, metadata):
        handle = self.pick(number)
        if handle is None or not self.is_own(handle):
            return
        if not self.is_alive(handle):
            self.refuse(DeadBranch, handle.batch.merkleize)
        elif handle.status != OPEN:
            self.refuse(SealedBatch, handle.batch.merkleize)
        else:
            self.seal(handle, self.fit(metadata))

    @rule(number=PICKS, writes=WRITES)
    def chain(self, number, writes):
        """A whole batch at once, on the committed tip or on another."""
        if handle := self.open(self.pick(number)):
            self.put(handle, writes)
            self.seal(handle)

    @rule(number=PICKS, key=st.sampled_from(KEYS), late=st.booleans())
    def fork(self, number, key, late):
        """Siblings of equal size, of which one is applied; the other one is stale, whenever it got its root."""
        parent = self.pick(number)
        twins = [self.open(parent), self.open(parent)]
        if None in twins:
            return
        for twin, mark in zip(twins, (b"x", b"y"), strict=True):
            # A value never written before, so that each writes exactly one operation for it.
            self.put(twin, {key: mark + b"%d" % self.counts["steps"]})
        self.seal(twins[0])
        if not late:
            self.seal(twins[1])
            assert twins[0].batch.size == twins[1].batch.size
        self.take_over(twins[0])
        self.counts["equal size"] += not late
        self.refuse(StaleBatch, self.database.apply, twins[1].batch)

    @rule(number=PICKS)
    def apply(self, number):
        handle = self.pick(number)
        if handle is None:
            return
        if not self.is_own(handle) or handle.status == APPLIED or not self.is_alive(handle):
            self.refuse(StaleBatch, self.database.apply, handle.batch)
        elif handle.status == OPEN:
            self.refuse(NotMerkleized, self.database.apply, handle.batch)
        else:
            self.take_over(handle)

    @rule(number=PICKS)
    def drop(self, number):
        handle = self.pick(number)
        if handle is None:
            return
        if handle.status == APPLIED:
            self.refuse(StaleBatch, handle.batch.drop)
        else:
            handle.batch.drop()
            handle.status = DROPPED

    @rule(number=PICKS, key=st.sampled_from(KEYS))
    def read(self, number, key):
        handle = self.pick(number)
        if handle is None or not self.is_own(handle):
            return
        if not self.is_alive(handle):
            self.refuse(DeadBranch, handle.batch.get, key)
        else:
            content = self.tips[-1].content if handle.status == APPLIED else handle.base.content | handle.writes
            assert handle.batch.get(key) == content.get(key)

    @rule(number=PICKS)
    def ask_the_canonical_root_of_a_batch(self, number):
        alive = [handle for handle in self.handles if self.is_own(handle) and handle.state and self.is_alive(handle)]
        pending = [handle for handle in alive if handle.status == SEALED]
        # Batches not applied yet come first: which numbers are drawn must not decide whether any is asked.
        for handle in (pending or alive)[-1 - number :][:1]:
            self.counts["pending canonical roots"] += handle.status == SEALED
            assert handle.batch.canonical_root == handle.state.roots[1]

    @rule()
    def ask_the_canonical_root(self):
        assert self.database.canonical_root == self.tips[-1].roots[1]

    @rule(count=st.integers(0, RETAIN + 1))
    def rewind(self, count):
        if count > self.retained:
            self.refuse(NotRetained, self.database.rewind, count)
            return
        self.counts["batches taken back"] += count
        del self.tips[len(self.tips) - count :]
        del self.disk[self.tips[-1].size :]
        self.retained -= count
        assert self.database.rewind(count) == self.tips[-1].roots[0]

    @rule(share=st.none() | st.integers(0, 8))
    def prune(self, share):
        self.prune_to(None if share is None else self.database.size * share // 8)

    def prune_to(self, location):
        oldest = self.tips[-1 - self.retained]
        expected = max(self.start, min(oldest.floor, oldest.size if location is None else location) // 256 * 256)
        self.counts["held back by a state to return to"] += oldest.floor // 256 < self.tips[-1].floor // 256
        self.counts["pruned"] += expected > self.start
        assert self.database.prune(location) == expected
        self.start = expected
        if expected:
            self.refuse(PrunedLocation, self.database.operations, expected - 1)

    @rule(rounds=st.integers(1, 6))
    def prune_often(self, rounds):
        """The floor crosses the chunks' boundaries at every distance from the states that can be returned to."""
        for round_ in range(rounds):
            self.commit(dict.fromkeys(KEYS, b"%d" % (self.counts["steps"] + round_)))
            self.prune_to(None)

    @precondition(lambda self: self.age > STEPS_BETWEEN_OPENINGS)
    @rule()
    def restore_a_snapshot(self):
        snapshot, root = self.database.snapshot(), self.tips[-1].roots[1]
        self.counts["snapshots above their peaks"] += snapshot.start > 0
        self.reopen(Database.from_snapshot(snapshot, root, **self.format, retain=RETAIN))

    @precondition(lambda self: self.age > STEPS_BETWEEN_OPENINGS)
    @rule()
    def crash_and_reopen(self):
        self.counts["crashes with a pruned past"] += self.start > 0
        self.reopen(Database.from_operations(self.disk, **self.format, retain=RETAIN))

    @rule()
    def rebuild(self):
        """Every index is made anew from the kept operations, and is what it was."""
        store = self.database._store
        kept = (store.locations, store.flags, store.levels.rows)
        rows = None if store.activity is None else store.require_activity().rows
        self.database.rebuild()
        assert kept == (store.locations, store.flags, store.levels.rows)
        assert rows == (None if rows is None else store.require_activity().rows)
        self.counts["rebuilt with a pruned past"] += self.start > 0

    # -- what holds after each step ------------------------------------------------------------------------

    @invariant()
    def the_database_is_what_the_model_says(self):
        database, tip = self.database, self.tips[-1]
        self.counts["steps"] += 1
        self.age += 1
        assert (database.root, database.size, database.floor) == (tip.roots[0], tip.size, tip.floor)
        assert list(database.items()) == sorted(tip.content.items())
        assert (database.start, database.retained) == (self.start, self.retained)

    def teardown(self):
        assert self.disk == self.tips[-1].log
        assert self.database.operations(self.start) == tuple(self.disk[self.start :])
        assert self.database.canonical_root == self.tips[-1].roots[1]


@pytest.mark.long
def test_everything_in_any_order_is_what_a_model_of_lists_and_dicts_says():
    """At least 10,000 steps, and everything that matters happened in them, refusals included."""
    Machine.counts.clear()
    run_state_machine_as_test(
        Machine,
        settings=examples(RUNS, stateful_step_count=STEPS_PER_RUN, suppress_health_check=list(HealthCheck)),
    )

    counts = Machine.counts
    # The invariant also holds after the beginning of each run, which is no step.
    assert counts["steps"] - RUNS >= STEPS
    assert {name for name, count in counts.items() if count} == {
        "steps",
        "StaleBatch",
        "DeadBranch",
        "SealedBatch",
        "NotMerkleized",
        "NotRetained",
        "PrunedLocation",
        "foreign",
        "equal size",
        "pending canonical roots",
        "batches taken back",
        "pruned",
        "held back by a state to return to",
        "snapshots above their peaks",
        "crashes with a pruned past",
        "rebuilt with a pruned past",
    }
