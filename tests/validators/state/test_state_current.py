"""The canonical root: published values, and a from-scratch restatement over many chunks."""

from hashlib import sha256

import pytest

from checker.oracle.from_scratch import canonical_root_of
from tests.support.state_batches import commit, fork
from tools.fixtures.vectors import VECTORS, published_batches, section
from validators.state import BadValue, Database, DeadBranch, NotMerkleized, qmdb_root

FIXED_AGGREGATE = "8ce052fef8ce8e4d817a2961144cf3a28aec4bd6eb75d32b013499116a6981da"
MANY_KEYS = [sha256(b"%d" % number).digest() for number in range(300)]


def roots_of(seed: int, encoding: str) -> tuple[bytes, bytes]:
    return qmdb_root([list(writes.items()) for writes in published_batches(seed)], encoding)


class TestPublishedRoots:
    @pytest.mark.parametrize("encoding", ["fixed", "variable"])
    def test_no_batch_gives_the_published_initial_roots(self, encoding):
        """A fresh database has one partial chunk with one bit."""
        line = next(line for line in VECTORS.splitlines() if line.startswith(f"[INIT_ROOT unordered {encoding}]"))
        expected = [bytes.fromhex(field.split("=")[1]) for field in line.split()[-2:]]

        assert expected == list(qmdb_root([], encoding))

    @pytest.mark.parametrize(
        ("encoding", "title", "count"),
        [("fixed", "QMDB_ROOTS_UNORDERED_FIXED", 200), ("variable", "QMDB_ROOTS_UNORDERED_VARIABLE", 5)],
    )
    def test_every_published_seed_gives_both_roots(self, encoding, title, count):
        """All seeds of the file."""
        seeds = section(title)

        assert count == len(seeds)
        for seed, any_root, current_root in seeds:
            assert (any_root, current_root) == tuple(root.hex() for root in roots_of(int(seed), encoding))

    def test_the_fixed_roots_aggregate_to_the_published_hash(self):
        """The conformance value of the public implementation."""
        aggregate = sha256()
        for seed in range(200):
            root = roots_of(seed, "fixed")[1]
            aggregate.update(len(root).to_bytes(8, "little") + root)

        assert aggregate.hexdigest() == FIXED_AGGREGATE

    @pytest.mark.parametrize("kept", [True, False])
    def test_each_traced_batch_has_its_canonical_root(self, kept):
        """Asked of the pending batch, or first of the database after it was applied."""
        traces = [dict(f.split("=") for f in line.split()[1:]) for line in VECTORS.splitlines() if line[:6] == "TRACE "]

        assert len(traces) == 8
        for seed in (0, 199):
            database = Database(encoding="fixed")
            for step, writes in enumerate(published_batches(seed), 1):
                batch = fork(database, None, writes)
                expected = next(t["current"] for t in traces if (t["seed"], t["batch"]) == (str(seed), str(step)))
                if kept:
                    assert batch.canonical_root.hex() == expected
                database.apply(batch)
                assert batch.canonical_root.hex() == expected
                database = database if kept else Database.from_operations(database.operations(), encoding="fixed")
                assert database.canonical_root.hex() == expected

    def test_a_write_of_the_value_that_a_key_has_is_an_update(self):
        """One step of the floor raise as well; only the delete of an absent key vanishes."""
        update = b"\xd2" + bytes(32) + b"v" * 32
        first, second = (b"\xd3\x00\x00", update, update, b"\xd3\x00\x02"), (update, update, b"\xd3\x00\x05")
        write = (bytes(32), b"v" * 32)

        assert qmdb_root([[write], [write, (b"k" * 32, None)]])[1] == canonical_root_of([*first, *second], 5)

    def test_values_of_another_length_are_refused(self):
        """The function speaks of digests only, in both encodings."""
        with pytest.raises(BadValue):
            qmdb_root([[(bytes(32), b"short")]])


class TestManyChunks:
    def test_the_first_request_may_come_at_any_time(self):
        """From a pending grandchild, after half of its chain was applied, or from a database rebuilt from the log."""
        early, late = Database(), Database()
        _ = early.canonical_root
        chains = []
        for database in (early, late):
            tip = None
            for round_ in range(4):
                tip = fork(database, tip, dict.fromkeys(MANY_KEYS[: 300 - round_], b"%d" % round_))
                if round_ == 1:
                    half = tip
            database.apply(half)
            chains.append(tip)

        assert chains[0].canonical_root == chains[1].canonical_root
        early.apply(chains[0])
        assert early.canonical_root == Database.from_operations(early.operations()).canonical_root

    def test_a_tall_log_with_nothing_active_below_its_floor(self):
        """Peaks above the grafting height are inactive, and the grafted tree is the plain one there."""
        database = Database()
        commit(database, dict.fromkeys(MANY_KEYS, b"a"))
        for round_ in range(6):
            commit(database, dict.fromkeys(MANY_KEYS, b"%d" % round_))
        commit(database, dict.fromkeys(MANY_KEYS))

        assert database.floor == database.size - 1
        assert canonical_root_of(database.operations(), database.floor) == database.canonical_root


class TestRequests:
    def test_a_batch_without_a_root_has_no_canonical_root(self):
        """As with the root over the operations."""
        with pytest.raises(NotMerkleized):
            _ = Database().batch().canonical_root

    def test_a_dead_batch_is_not_hashed_anymore(self):
        """A root that was asked for in time stays known."""
        database = Database()
        asked, late = fork(database, None, {MANY_KEYS[0]: b"a"}), fork(database, None, {MANY_KEYS[0]: b"a"})
        known = asked.canonical_root
        commit(database, {MANY_KEYS[1]: b"b"})

        assert known == asked.canonical_root
        with pytest.raises(DeadBranch):
            _ = late.canonical_root

    def test_asking_changes_neither_the_root_nor_the_operations(self):
        """The canonical root is an observation."""
        asked, silent = Database(), Database()
        for round_ in range(3):
            writes = dict.fromkeys(MANY_KEYS, b"%d" % round_)
            batch = fork(asked, None, writes)
            _ = batch.canonical_root
            asked.apply(batch)
            commit(silent, writes)

        assert (asked.root, asked.operations()) == (silent.root, silent.operations())
