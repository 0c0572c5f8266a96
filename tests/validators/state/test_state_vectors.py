"""The state database gives the published roots."""

from hashlib import sha256

import pytest

from tests.support.state_batches import commit, fork
from tools.fixtures.vectors import VECTORS, published_batches, section
from validators.state import Database

FIXED_AGGREGATE = "79c5de9509b38d619ea082cdee833f80eadfa0ef21211f69039ee2d37de07bad"


class TestPublishedRoots:
    @pytest.mark.parametrize("encoding", ["fixed", "variable"])
    def test_a_fresh_database_has_the_published_root(self, encoding):
        """One commit with floor 0 is all that a fresh log holds."""
        line = next(line for line in VECTORS.splitlines() if line.startswith(f"[INIT_ROOT unordered {encoding}]"))

        database = Database(encoding=encoding, bare_values=True)

        assert line.split("any=")[1].split()[0] == database.root.hex()
        assert (database.size, database.floor, database.active) == (1, 0, 0)

    @pytest.mark.parametrize(
        ("encoding", "title", "count"),
        [("fixed", "QMDB_ROOTS_UNORDERED_FIXED", 200), ("variable", "QMDB_ROOTS_UNORDERED_VARIABLE", 5)],
    )
    def test_every_published_seed_gives_its_root(self, encoding, title, count):
        """All seeds of the file, also when the four batches are applied as one pending chain."""
        seeds = section(title)

        assert count == len(seeds)
        for seed, root, _ in seeds:
            database = Database(encoding=encoding, bare_values=True)
            chained = Database(encoding=encoding, bare_values=True)
            tip = None
            for writes in published_batches(int(seed)):
                commit(database, writes)
                tip = fork(chained, tip, writes)
            chained.apply(tip)
            assert (root, root) == (database.root.hex(), chained.root.hex())

    def test_the_fixed_roots_aggregate_to_the_published_hash(self):
        """The hash over all 200 roots is the conformance value of the public implementation."""
        aggregate = sha256()
        for seed in range(200):
            database = Database(encoding="fixed")
            for writes in published_batches(seed):
                commit(database, writes)
            aggregate.update(len(database.root).to_bytes(8, "little") + database.root)

        assert aggregate.hexdigest() == FIXED_AGGREGATE

    def test_each_traced_batch_has_its_size_floor_and_root(self):
        """The published traces fix log size and floor after every batch, not only the last root."""
        traces = [dict(f.split("=") for f in line.split()[1:]) for line in VECTORS.splitlines() if line[:6] == "TRACE "]

        assert len(traces) == 8
        for seed in (0, 199):
            database = Database(encoding="fixed")
            for step, writes in enumerate(published_batches(seed), 1):
                batch = commit(database, writes)
                trace = next(t for t in traces if (t["seed"], t["batch"]) == (str(seed), str(step)))
                expected = (int(trace["ops"]), int(trace["floor"]), trace["any"])
                assert expected == (database.size, database.floor, database.root.hex())
                assert expected == (batch.size, batch.floor, batch.root.hex())
