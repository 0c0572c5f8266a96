"""The state database in any order of forks, applies and drops, against plain restatements of it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from tests.state_batches import KEYS, WRITES, canonical_plainly, commit, fork
from validators.state import Database, DeadBranch, NotRetained, PrunedLocation, StaleBatch


def append_plainly(log: list[bytes], floor: int, writes: dict[bytes, bytes | None]) -> int:
    """The specification of a batch restated without any index: every lookup searches the log. Returns the floor."""

    def encode(key, value):
        length = bytes([len(value)]) if len(value) < 128 else bytes([len(value) % 128 + 128, len(value) // 128])
        return b"\xd2" + key + length + value

    def live():
        found = {}
        for location, operation in enumerate(log):
            if operation[0] == 0xD1:
                found.pop(operation[1:33])
            elif operation[0] == 0xD2:
                found[operation[1:33]] = location
        return found

    before = live()
    changed = {k: v for k, v in writes.items() if v is None or k not in before or log[before[k]] != encode(k, v)}
    existing = sorted((k for k in changed if k in before), key=before.get)
    log += [b"\xd1" + k if changed[k] is None else encode(k, changed[k]) for k in existing]
    log += [encode(k, changed[k]) for k in sorted(changed) if k not in before and changed[k] is not None]
    steps = len(existing) + 1
    tip = len(log)
    if not live():
        floor = tip
    while steps and floor < tip:
        operation = log[floor]
        if operation[0] == 0xD2 and live().get(operation[1:33]) == floor:
            log.append(operation)
            steps -= 1
        floor += 1
    log.append(b"\xd3\x00" + (bytes([floor]) if floor < 128 else bytes([floor % 128 + 128, floor // 128])))
    return floor


@given(st.lists(WRITES, max_size=8))
def test_the_log_is_the_one_that_the_specification_describes(batches):
    """Order of operations and floor raise agree with a plain restatement that keeps no index."""
    database = Database()
    log = list(database.operations())
    floor = 0

    for writes in batches:
        floor = append_plainly(log, floor, writes)
        commit(database, writes)

    assert (tuple(log), floor) == (database.operations(), database.floor)


RETAIN = 4


def make_prefix() -> tuple[bytes, ...]:
    """A log of several chunks, so that what follows crosses their boundaries and has something to prune."""
    database = Database()
    for round_ in range(70):
        commit(database, dict.fromkeys(KEYS[round_ % 3 :], b"%d" % round_))
    return database.operations()


PREFIX = make_prefix()
CONTENT = dict(Database.from_operations(PREFIX).items())


class Branches(RuleBasedStateMachine):
    """Batches opened, applied, dropped, taken back, pruned and reopened in any order.

    The model: dicts, a log that nothing is pruned from, and databases that only ever apply.
    """

    batches = Bundle("batches")

    def __init__(self):
        super().__init__()
        self.database = Database.from_operations(PREFIX, retain=RETAIN)
        self.log = list(PREFIX)
        self.applied = ()
        self.retained = 0
        self.closed = 0
        self.dead = set()
        self.lineages = []
        self.contents = []
        self.handles = []

    def alive(self, number):
        lineage = self.lineages[number]
        depth = len(self.applied)
        is_own = number >= self.closed
        return is_own and self.dead.isdisjoint(lineage[depth:]) and lineage[:depth] == self.applied

    def content(self, lineage):
        content = dict(CONTENT)
        for number in lineage:
            content |= self.contents[number]
        return {key: value for key, value in content.items() if value is not None}

    def replay(self, lineage):
        database = Database.from_operations(PREFIX)
        for number in lineage:
            commit(database, self.contents[number])
        return database

    @rule(target=batches, parent=st.none() | batches, writes=WRITES, applied_first=st.booleans(), asked=st.booleans())
    def open(self, parent, writes, applied_first, asked):
        base = None
        lineage = self.applied
        if parent is not None:
            number, base = parent
            lineage = self.lineages[number]
            if not self.alive(number):
                with pytest.raises((DeadBranch, StaleBatch)):
                    self.database.batch(base)
                return multiple()
        batch = self.database.batch(base)
        for key, value in writes.items():
            batch.write(key, value)
        if applied_first and base is not None and lineage != self.applied:
            self.take_over(base, lineage)
        batch.merkleize()
        self.lineages.append((*lineage, len(self.lineages)))
        self.contents.append(writes)
        self.handles.append(batch)
        replayed = self.replay(self.lineages[-1])
        assert replayed.root == batch.root
        if asked:
            assert canonical_plainly(list(replayed.operations()), batch.floor) == batch.canonical_root
        return (len(self.lineages) - 1, batch)

    def take_over(self, handle, lineage):
        appended = self.database.apply(handle)
        self.retained = min(RETAIN, self.retained + len(lineage) - len(self.applied))
        self.log += appended
        self.applied = lineage

    @rule(batch=batches)
    def apply(self, batch):
        number, handle = batch
        if number in self.applied or not self.alive(number):
            with pytest.raises(StaleBatch):
                self.database.apply(handle)
            return
        self.take_over(handle, self.lineages[number])
        assert handle.root == self.database.root

    @rule(batch=batches)
    def drop(self, batch):
        number, handle = batch
        if handle.status.value == "applied":
            with pytest.raises(StaleBatch):
                handle.drop()
            return
        handle.drop()
        self.dead.add(number)

    @rule(count=st.integers(0, RETAIN + 1))
    def rewind(self, count):
        assert self.retained == self.database.retained
        if count > self.retained:
            with pytest.raises(NotRetained):
                self.database.rewind(count)
            return
        kept = len(self.applied) - count
        self.dead.update(self.applied[kept:])
        del self.log[len(self.log) - sum(len(self.handles[n].operations) for n in self.applied[kept:]) :]
        self.applied = self.applied[:kept]
        self.retained -= count
        assert self.replay(self.applied).root == self.database.rewind(count)

    @rule(share=st.none() | st.integers(0, 8))
    def prune(self, share):
        oldest = self.applied[: len(self.applied) - self.retained]
        floor = self.replay(oldest).floor
        asked = self.database.size if share is None else self.database.size * share // 8
        expected = max(self.database.start, min(floor, asked) // 256 * 256)
        assert expected == self.database.prune(None if share is None else asked)
        assert expected == self.database.start
        if expected:
            with pytest.raises(PrunedLocation):
                self.database.operations(expected - 1)

    @rule()
    def reopen(self):
        self.database = Database.from_operations(self.log, retain=RETAIN)
        # The handles so far belong to the database that is gone.
        self.closed = len(self.lineages)
        self.retained = 0

    @rule(batch=batches, key=st.sampled_from(KEYS))
    def read(self, batch, key):
        number, handle = batch
        if self.alive(number):
            assert self.content(self.lineages[number]).get(key) == handle.get(key)
        elif number >= self.closed:
            with pytest.raises(DeadBranch):
                handle.get(key)

    @rule()
    def ask_the_canonical_root(self):
        assert canonical_plainly(self.log, self.database.floor) == self.database.canonical_root

    @invariant()
    def the_log_alone_gives_the_database_back(self):
        database = self.database
        rebuilt = Database.from_operations(self.log)
        expected = sorted(self.content(self.applied).items())
        assert expected == list(database.items()) == list(rebuilt.items())
        for name in ("root", "size", "floor", "active"):
            assert getattr(database, name) == getattr(rebuilt, name)
        assert tuple(self.log[database.start :]) == database.operations(database.start)
        # The root does not show all of these, so they are compared by themselves.
        mine, fresh = database._store, rebuilt._store
        assert (mine.locations, mine.flags) == (fresh.locations, fresh.flags[database.start :])
        fresh.levels.prune(database.start)
        assert mine.levels.rows == fresh.levels.rows
        if mine.activity is not None and not mine.activity.stale:
            whole = Database.from_operations(self.log)._store.require_activity()
            whole.prune(0, database.start)
            assert mine.activity.rows == whole.rows
        probe = {KEYS[0]: b"probe", KEYS[1]: None}
        assert fork(database, None, probe).operations == fork(rebuilt, None, probe).operations


TestBranches = Branches.TestCase
TestBranches.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
