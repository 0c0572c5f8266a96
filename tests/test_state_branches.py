"""The state database in any order of forks, applies and drops, against plain restatements of it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from tests.state_batches import KEYS, WRITES, commit, fork
from validators.state import Database, DeadBranch, StaleBatch


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


class Branches(RuleBasedStateMachine):
    """Batches opened, applied and dropped in any order, against dicts and a database that only ever applies."""

    batches = Bundle("batches")

    def __init__(self):
        super().__init__()
        self.database = Database()
        self.applied = ()
        self.dropped = set()
        self.lineages = []
        self.contents = []

    def alive(self, number):
        lineage = self.lineages[number]
        return self.dropped.isdisjoint(lineage) and lineage[: len(self.applied)] == self.applied

    def content(self, lineage):
        content = {}
        for number in lineage:
            content |= self.contents[number]
        return {key: value for key, value in content.items() if value is not None}

    @rule(target=batches, parent=st.none() | batches, writes=WRITES, applied_first=st.booleans())
    def open(self, parent, writes, applied_first):
        base = None
        lineage = self.applied
        if parent is not None:
            number, base = parent
            lineage = self.lineages[number]
            if not self.alive(number):
                with pytest.raises(DeadBranch):
                    self.database.batch(base)
                return multiple()
        batch = self.database.batch(base)
        for key, value in writes.items():
            batch.write(key, value)
        if applied_first and base is not None and lineage != self.applied:
            self.database.apply(base)
            self.applied = lineage
        batch.merkleize()
        self.lineages.append((*lineage, len(self.lineages)))
        self.contents.append(writes)
        assert self.replay(self.lineages[-1]).root == batch.root
        return (len(self.lineages) - 1, batch)

    def replay(self, lineage):
        database = Database()
        for number in lineage:
            commit(database, self.contents[number])
        return database

    @rule(batch=batches)
    def apply(self, batch):
        number, handle = batch
        if number in self.applied or not self.alive(number):
            with pytest.raises(StaleBatch):
                self.database.apply(handle)
            return
        start = self.database.size
        appended = self.database.apply(handle)
        self.applied = self.lineages[number]
        assert appended == self.database.operations(start)
        assert handle.root == self.database.root

    @rule(batch=batches)
    def drop(self, batch):
        number, handle = batch
        if number in self.applied:
            with pytest.raises(StaleBatch):
                handle.drop()
            return
        handle.drop()
        self.dropped.add(number)

    @rule(batch=batches, key=st.sampled_from(KEYS))
    def read(self, batch, key):
        number, handle = batch
        if self.alive(number):
            assert self.content(self.lineages[number]).get(key) == handle.get(key)
        else:
            with pytest.raises(DeadBranch):
                handle.get(key)

    @invariant()
    def the_log_alone_gives_the_database_back(self):
        rebuilt = Database.from_operations(self.database.operations())
        expected = sorted(self.content(self.applied).items())
        assert expected == list(self.database.items()) == list(rebuilt.items())
        for name in ("root", "size", "floor", "active"):
            assert getattr(self.database, name) == getattr(rebuilt, name)
        assert self.database.root == self.replay(self.applied).root
        # The root does not show all of these, so they are compared by themselves.
        for name in ("log", "nodes", "flags", "locations"):
            assert getattr(self.database._store, name) == getattr(rebuilt._store, name)
        probe = {KEYS[0]: b"probe", KEYS[1]: None}
        assert fork(self.database, None, probe).operations == fork(rebuilt, None, probe).operations


TestBranches = Branches.TestCase
TestBranches.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
