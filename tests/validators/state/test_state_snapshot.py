"""Snapshots of the state: a copy that goes on as the original does, and every forged byte refused."""

from hashlib import sha256

import msgspec
import pytest

from checker.oracle.from_scratch import canonical_root_of
from tests.support.state_batches import commit, fork
from validators.state import CorruptLog, Database, DeadBranch, ForgedSnapshot, Snapshot, verify_key, verify_operation

MANY_KEYS = [sha256(b"%d" % number).digest() for number in range(160)]


def settled(rounds: int, *, encoding="variable", retain: int = 0) -> Database:
    """A database whose log has gone over all its keys several times; every 7th round deletes some."""
    database = Database(encoding=encoding, retain=retain)
    for round_ in range(rounds):
        value = None if round_ % 7 == 3 else sha256(b"%d" % round_).digest()
        commit(database, dict.fromkeys(MANY_KEYS[round_ % 5 :: 2], value))
    return database


def restore(database: Database, **changes) -> Database:
    return Database.from_snapshot(msgspec.structs.replace(database.snapshot(), **changes), database.canonical_root)


def sent(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot as it arrives over a wire."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(snapshot), type=Snapshot)


def observe(database: Database) -> tuple[object, ...]:
    start = database.floor // 256 * 256
    return (
        (database.root, database.canonical_root, database.size, database.floor, database.active),
        (list(database.items()), database.operations(start)),
        [database.prove_key(key) for key, _ in database.items()],
        [database.prove_operation(location) for location in range(start, database.size)],
    )


class TestRestored:
    @pytest.mark.parametrize("encoding", ["fixed", "variable"])
    def test_a_copy_forks_rewinds_and_prunes_as_the_original_does(self, encoding):
        """Two branches, the loser's tip taken back to, and the floor's chunk forgotten."""
        original = settled(20, encoding=encoding, retain=3)
        copy = Database.from_snapshot(original.snapshot(), original.canonical_root, encoding=encoding, retain=3)
        seen = []
        for database in (original, copy):
            for round_ in range(3):
                writes = dict.fromkeys(MANY_KEYS[round_::3], bytes([round_]) * 32)
                winner, loser = fork(database, None, writes), fork(database, None, dict.fromkeys(writes))
                heir = fork(database, winner, {MANY_KEYS[0]: None})
                database.apply(heir)
                with pytest.raises(DeadBranch):
                    loser.get(MANY_KEYS[0])
            before = database.canonical_root
            database.rewind(3)
            seen.append((before, database.prune(), *observe(database)))

        assert seen[0] == seen[1]

    def test_no_batch_from_before_can_be_taken_back(self):
        """Records for taking back batches are not sent."""
        original = settled(6, retain=4)

        assert (original.retained, restore(original).retained) == (4, 0)

    def test_proofs_of_a_copy_convince_the_verifier(self):
        """Keys and operations, whose paths meet the peaks that were sent."""
        copy = restore(settled(25))
        key, value = next(copy.items())

        assert copy.start > 0
        assert verify_key(copy.prove_key(key), copy.canonical_root, key, value)
        operation = copy.operations(copy.start)[0]
        assert verify_operation(copy.prove_operation(copy.start), copy.root, copy.start, operation)

    def test_a_tail_that_begins_with_an_active_update(self):
        """The floor lies on a chunk's boundary, and no commit stands before the update to lose its flag."""
        original = settled(30)
        commit(original, {})
        assert original.floor % 256 == 0

        assert observe(restore(original)) == observe(original)

    def test_the_root_of_a_copy_is_the_one_restated_from_the_whole_log(self):
        """Though the copy has never seen the log's beginning."""
        original = settled(30)
        copy = restore(original)
        whole = list(original.operations()) + list(commit(copy, {MANY_KEYS[3]: b"x"}).operations)

        assert canonical_root_of(whole, copy.floor) == copy.canonical_root


class TestTaken:
    def test_later_batches_rewinds_and_prunes_do_not_change_it(self):
        """It is data of its own."""
        database = settled(20, retain=2)
        snapshot, root = database.snapshot(), database.canonical_root
        before = sent(snapshot)
        database.rewind(1)
        for round_ in range(5):
            commit(database, dict.fromkeys(MANY_KEYS, b"%d" % round_))
        database.prune()

        assert before == snapshot
        assert Database.from_snapshot(snapshot, root).canonical_root == root

    def test_taking_it_prunes_nothing_and_changes_no_root(self):
        """The database goes on with its whole log."""
        database = settled(20)
        before = (database.start, database.operations(), database.root, database.canonical_root)
        database.snapshot()

        assert before == (database.start, database.operations(), database.root, database.canonical_root)

    def test_it_holds_no_operation_below_the_floors_chunk(self):
        """As small as chunks allow, however much the database itself keeps."""
        database = settled(40)
        snapshot = database.snapshot()

        assert database.start == 0
        assert 0 <= database.floor - snapshot.start < 256
        assert snapshot.operations == database.operations(snapshot.start)


class TestForged:
    def test_a_snapshot_of_another_state_is_refused(self):
        """It is genuine, but not what was asked for."""
        database = settled(9)
        earlier = database.snapshot()
        commit(database, {MANY_KEYS[0]: b"later"})

        with pytest.raises(ForgedSnapshot, match=r"^witness: "):
            Database.from_snapshot(earlier, database.canonical_root)

    @pytest.mark.parametrize(
        ("part", "changes"),
        [
            ("floor", {"floor": -1}),
            ("floor", {"size": 1 << 70, "floor": 1 << 69}),
            ("floor", {"start": -256}),
            ("floor", {"start": 0}),
            ("truncated", {"size": 1 << 61}),
            ("truncated", {"operations": ()}),
            ("peaks", {"peaks": ()}),
            ("peaks", {"peaks": (b"short",) * 2}),
            ("witness", {"witness": b""}),
            ("witness", {"root": bytes(32)}),
        ],
    )
    def test_what_does_not_fit_is_named(self, part, changes):
        """The message begins with the part."""
        with pytest.raises(ForgedSnapshot, match=f"^{part}: "):
            restore(settled(22), **changes)

    def test_operations_that_cannot_be_decoded_are_named(self):
        """Also where the last one, which states the floor, is meant."""
        database = settled(22)
        operations = database.snapshot().operations

        for wrong in ((b"", *operations[1:]), (*operations[:-1], b"\xd3\x00\xff")):
            with pytest.raises(ForgedSnapshot, match=r"^operations: "):
                restore(database, operations=wrong)

    @pytest.mark.parametrize("part", ["peaks", "operations"])
    def test_well_formed_parts_that_lead_to_another_root_are_named(self, part):
        """Another value, or another peak."""
        database = settled(22)
        first, *rest = getattr(database.snapshot(), part)
        wrong = (first[:-1] + bytes([first[-1] ^ 1]), *rest)

        with pytest.raises(ForgedSnapshot, match=r"^operations: they and the peaks lead to"):
            restore(database, **{part: wrong})

    def test_a_floor_above_what_the_last_commit_says_is_named(self):
        """Within the same chunk, so that nothing else need differ."""
        database = settled(22)

        with pytest.raises(ForgedSnapshot, match=r"^floor: .* is not that of the last commit"):
            restore(database, floor=database.floor ^ 1)

    def test_a_witness_of_another_bitmap_is_named(self):
        """Operations that lead to the root under a witness made for wrong activity: the last line of defence."""
        database = settled(22)
        snapshot = database.snapshot()
        witness = bytes(32) + snapshot.witness[32:]
        root = sha256(snapshot.root + witness).digest()

        with pytest.raises(ForgedSnapshot, match=r"^bitmap: "):
            Database.from_snapshot(msgspec.structs.replace(snapshot, witness=witness), root)

    def test_the_other_encoding_is_refused(self):
        """A joiner that expects another layout finds no operations."""
        database = settled(4)

        with pytest.raises(ForgedSnapshot, match=r"^operations: "):
            Database.from_snapshot(database.snapshot(), database.canonical_root, encoding="fixed")


class TestRebuild:
    def test_indexes_that_went_wrong_are_made_anew(self):
        """Nothing of them is read."""
        database = settled(12)
        before = observe(database)
        store = database._store
        store.flags[-3] ^= 1
        store.locations.clear()
        for row in store.levels.rows:
            row[:] = bytes(len(row))
        store.activity.rows[0][1] = bytes(32)
        database.rebuild()

        assert before == observe(database)

    def test_a_log_that_does_not_lead_to_the_root_is_refused(self):
        """And nothing has changed then."""
        database = settled(12)
        store = database._store
        kept = store.log[-2]
        store.log[-2] = kept[:-1] + bytes([kept[-1] ^ 1])

        with pytest.raises(CorruptLog, match="leads to the root"):
            database.rebuild()
        store.log[-2] = kept
        database.rebuild()
