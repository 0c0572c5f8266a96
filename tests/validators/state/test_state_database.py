"""The batch interface of the state database, and the rebuild from its log."""

from hashlib import sha256

import pytest

from tests.support.state_batches import KEYS, commit, fork
from validators.state import (
    BadKey,
    BadValue,
    CorruptLog,
    Database,
    DeadBranch,
    NotMerkleized,
    SealedBatch,
    StaleBatch,
)


def digest_of(number: int) -> bytes:
    return sha256(number.to_bytes(8, "big")).digest()


class TestMerkleize:
    def test_a_write_of_the_same_value_is_no_change(self):
        """Neither an equal value, nor a delete of an absent key, nor a value written away and back is an operation."""
        database = Database()
        commit(database, {KEYS[0]: b"same", KEYS[1]: b"other"})
        empty = fork(database, None, {})

        batch = database.batch()
        batch.write(KEYS[1], b"away")
        for key, value in ((KEYS[0], b"same"), (KEYS[1], b"other"), (KEYS[2], None)):
            batch.write(key, value)
        batch.merkleize()

        assert batch.changes == {}
        assert empty.operations == batch.operations

    def test_changes_compare_with_the_pending_parent(self):
        """A value set by the parent already is no change of the child; a return to the older value is one."""
        database = Database()
        commit(database, {KEYS[0]: b"a", KEYS[1]: b"b"})
        parent = fork(database, None, {KEYS[0]: b"new", KEYS[1]: None})

        child = fork(database, parent, {KEYS[0]: b"new", KEYS[1]: b"b", KEYS[2]: None})

        assert {KEYS[1]: b"b"} == child.changes

    def test_metadata_is_part_of_the_root_and_survives_a_rebuild(self):
        """Two batches that differ only in metadata have different roots."""
        database = Database()
        plain = fork(database, None, {KEYS[0]: b"a"})
        marked = fork(database, None, {KEYS[0]: b"a"}, b"block 7")

        assert plain.root != marked.root
        database.apply(marked)
        assert marked.root == Database.from_operations(database.operations()).root

    def test_results_are_refused_before_the_root_exists(self):
        """An open batch has no root, size, floor, operations or changes, and nothing may stand on it."""
        database = Database()
        batch = database.batch()

        for name in ("root", "size", "floor", "active", "operations", "changes"):
            with pytest.raises(NotMerkleized):
                getattr(batch, name)
        with pytest.raises(NotMerkleized):
            database.batch(batch)
        with pytest.raises(NotMerkleized):
            database.apply(batch)

    def test_an_open_batch_does_not_get_its_ancestors_applied(self):
        """A refused apply changes nothing, not even for the ancestors that could have been applied."""
        database = Database()
        parent = fork(database, None, {KEYS[0]: b"a"})
        before = database.operations()

        with pytest.raises(NotMerkleized):
            database.apply(database.batch(parent))

        assert before == database.operations()

    def test_a_batch_with_a_root_takes_no_more_writes(self):
        """Merkleizing seals a batch, for writes and for a second root."""
        batch = fork(Database(), None, {KEYS[0]: b"a"})

        with pytest.raises(SealedBatch):
            batch.write(KEYS[0], b"b")
        with pytest.raises(SealedBatch):
            batch.merkleize()

    @pytest.mark.parametrize("key", [b"", bytes(31), bytes(33)])
    def test_keys_of_another_length_are_refused(self, key):
        """Keys have 32 bytes wherever one is given."""
        database = Database()
        batch = database.batch()

        for use in (database.get, batch.get, lambda k: batch.write(k, b"")):
            with pytest.raises(BadKey, match=f"{len(key)} bytes"):
                use(key)

    @pytest.mark.parametrize("encoding", ["fixed", "variable"])
    def test_a_bare_value_of_another_length_is_refused_when_written(self, encoding):
        """A database of digests takes values of 32 bytes only, metadata included."""
        database = Database(encoding=encoding, bare_values=True)
        batch = database.batch()

        with pytest.raises(BadValue):
            batch.write(KEYS[0], bytes(31))
        with pytest.raises(BadValue):
            batch.merkleize(bytes(33))


class TestLineage:
    def test_a_sibling_of_equal_size_and_root_is_stale(self):
        """Lineage is identity: two siblings with the very same operations are still two branches."""
        database = Database()
        winner = fork(database, None, {KEYS[0]: b"a"})
        sibling = fork(database, None, {KEYS[0]: b"a"})
        heir = fork(database, sibling, {KEYS[1]: b"b"})
        database.apply(winner)
        assert (winner.size, winner.root) == (sibling.size, sibling.root)

        for batch in (sibling, heir):
            with pytest.raises(StaleBatch):
                database.apply(batch)
            with pytest.raises(DeadBranch):
                batch.get(KEYS[0])
            with pytest.raises(DeadBranch):
                database.batch(batch)
        assert winner.root == database.root

    def test_a_batch_is_applied_once(self):
        """The second apply of a batch is refused."""
        database = Database()
        batch = commit(database, {KEYS[0]: b"a"})

        with pytest.raises(StaleBatch):
            database.apply(batch)

    def test_a_batch_of_another_database_is_refused(self):
        """Databases of equal content do not take each other's batches, neither to apply nor as parents."""
        batch = fork(Database(), None, {KEYS[0]: b"a"})
        other = Database()

        with pytest.raises(StaleBatch):
            other.apply(batch)
        with pytest.raises(StaleBatch):
            other.batch(batch)

    def test_apply_commits_pending_ancestors_first(self):
        """Applying a grandchild appends the operations of the whole chain, oldest first, and returns them."""
        database = Database()
        first = fork(database, None, {KEYS[0]: b"a"})
        second = fork(database, first, {KEYS[0]: b"b"})
        third = fork(database, second, {KEYS[1]: b"c"})

        appended = database.apply(third)

        assert first.operations + second.operations + third.operations == appended == database.operations(1)
        assert (third.root, third.size, third.floor) == (database.root, database.size, database.floor)

    def test_a_child_outlives_the_apply_of_its_parent(self):
        """A pending child of what was applied stays readable and keeps its root; so does an open one."""
        database = Database()
        parent = fork(database, None, {KEYS[0]: b"a"})
        child = fork(database, parent, {KEYS[1]: b"b"})
        early = database.batch(parent)
        database.apply(parent)
        early.write(KEYS[1], b"b")

        assert child.root == early.merkleize() == fork(database, parent, {KEYS[1]: b"b"}).root
        assert (child.get(KEYS[0]), child.get(KEYS[1])) == (b"a", b"b")
        database.apply(child)
        assert child.root == database.root

    def test_nothing_of_a_dropped_branch_can_be_used(self):
        """Reads, writes, roots, children and apply of a dropped batch and of its descendants are refused."""
        database = Database()
        parent = fork(database, None, {KEYS[0]: b"a"})
        child = database.batch(parent)
        grandchild = fork(database, fork(database, parent, {}), {})
        parent.drop()
        parent.drop()

        for use in (lambda: child.get(KEYS[0]), lambda: child.write(KEYS[0], b""), child.merkleize):
            with pytest.raises(DeadBranch):
                use()
        with pytest.raises(DeadBranch):
            grandchild.get(KEYS[0])
        for batch in (parent, child, grandchild):
            with pytest.raises(StaleBatch):
                database.apply(batch)

    def test_dropping_a_sibling_leaves_the_others_alone(self):
        """A drop ends one branch, whichever was opened first."""
        database = Database()
        one = fork(database, None, {KEYS[0]: b"a"})
        two = fork(database, None, {KEYS[0]: b"b"})
        one.drop()

        assert two.get(KEYS[0]) == b"b"
        database.apply(two)

    def test_an_applied_batch_cannot_be_dropped_and_ages(self):
        """An applied batch reads as the tip while it is the tip, and refuses to answer once it is history."""
        database = Database()
        batch = commit(database, {KEYS[0]: b"a"})
        with pytest.raises(StaleBatch):
            batch.drop()
        assert batch.get(KEYS[0]) == b"a"
        commit(database, {KEYS[0]: b"b"})

        with pytest.raises(DeadBranch):
            batch.get(KEYS[0])

    def test_a_long_pending_chain_reads_every_ancestor_and_lets_go_of_it(self):
        """Fifty pending ancestors, each with a key of its own, are visible from the end through a few layers."""
        database = Database()
        keys = [digest_of(i) for i in range(50)]
        tips = [fork(database, None, {keys[0]: b"0"})]
        for i in range(1, 50):
            tips.append(fork(database, tips[-1], {keys[i]: b"%d" % i, keys[i // 2]: None if i % 7 == 0 else b"%d" % i}))
        expected = {key: tips[-1].get(key) for key in keys}
        assert len(tips[-1]._view.layers) <= 6
        database.apply(tips[24])
        end = fork(database, tips[-1], {})

        assert expected == {key: end.get(key) for key in keys}
        database.apply(end)
        assert all(batch.parent is None and not batch._view.layers for batch in [*tips, end])
        assert {k: v for k, v in expected.items() if v is not None} == dict(database.items())


class TestFromOperations:
    @staticmethod
    def written() -> tuple[bytes, ...]:
        database = Database()
        commit(database, {key: key[:3] for key in KEYS})
        commit(database, {KEYS[0]: None, KEYS[1]: b"changed"}, b"metadata")
        return database.operations()

    @pytest.mark.parametrize("count", [0, 3])
    def test_a_log_that_does_not_end_with_a_commit_is_refused(self, count):
        """A log cut inside a batch is not a database, nor is no log at all."""
        with pytest.raises(CorruptLog, match="does not end with a commit"):
            Database.from_operations(self.written()[:count])

    @pytest.mark.parametrize(
        ("operations", "message"),
        [
            ([b"\xd2" + KEYS[0] + b"\0", b"\xd3\0\0"], "starts with"),
            ([b"\xd3\0\1"], "starts with"),
            ([b"\xd3\0\0", b"\xd1" + KEYS[0], b"\xd3\0\1"], "deletes the absent key 0000"),
            ([b"\xd3\0\0", b"\xd2" + KEYS[0] + b"\0", b"\xd3\0\2"], "above the active operation 1"),
            ([b"\xd3\0\0", b"\xd3\0\1", b"\xd3\0\0"], "floor from 1 to 0"),
            ([b"\xd3\0\0", b"\xd3\0\2"], "floor from 0 to 2"),
        ],
    )
    def test_a_log_that_no_database_wrote_is_refused(self, operations, message):
        """The rules about keys and floors are checked, not only the bytes of each operation."""
        with pytest.raises(CorruptLog, match=message):
            Database.from_operations(operations)

    def test_the_encodings_do_not_read_each_other(self):
        """A log must be opened as it was written."""
        fixed = Database(encoding="fixed")
        commit(fixed, {KEYS[0]: KEYS[1]})

        assert fixed.root == Database.from_operations(fixed.operations(), encoding="fixed").root
        with pytest.raises(CorruptLog):
            Database.from_operations(fixed.operations())


def test_databases_share_nothing():
    """Changing one of two databases that were built alike leaves the other as it was."""
    one, two = Database(), Database()
    commit(one, {KEYS[0]: b"a"})

    assert (two.get(KEYS[0]), two.size, len(two.operations())) == (None, 1, 1)
