"""Taking applied batches back, and forgetting what nothing needs."""

from hashlib import sha256

import pytest

from checker.oracle.from_scratch import canonical_root_of
from tests.support.state_batches import KEYS, commit, fork
from validators.state import Database, DeadBranch, NotRetained, PrunedLocation, StaleBatch
from validators.state.activity import CHUNK_BITS

MANY_KEYS = [sha256(b"%d" % number).digest() for number in range(200)]


def grow(database: Database, rounds: range) -> None:
    for round_ in rounds:
        commit(database, dict.fromkeys(MANY_KEYS[round_ % 7 :: 3], b"%d" % round_))


class TestRewind:
    def test_the_first_branch_can_be_returned_to(self):
        """Apply early, rewind ten blocks, apply another branch, rewind that, and apply the first one's writes again."""
        database = Database(retain=10)
        grow(database, range(20))
        start = (database.root, database.canonical_root, list(database.items()))
        grow(database, range(20, 30))
        first = (database.root, database.canonical_root, list(database.items()))
        database.rewind(10)
        assert start == (database.root, database.canonical_root, list(database.items()))
        grow(database, range(40, 47))
        database.rewind(7)
        grow(database, range(20, 30))

        assert first == (database.root, database.canonical_root, list(database.items()))

    def test_a_branch_that_lost_is_alive_again_on_the_tip_it_stands_on(self):
        """Its batches were never wrong, only unusable; they need not be executed again."""
        database = Database(retain=1)
        loser = fork(database, None, {KEYS[0]: b"loser"})
        heir = fork(database, loser, {KEYS[1]: b"heir"})
        commit(database, {KEYS[0]: b"winner"})
        with pytest.raises(DeadBranch):
            heir.get(KEYS[0])
        database.rewind(1)

        assert heir.get(KEYS[0]) == b"loser"
        database.apply(heir)
        assert canonical_root_of(database.operations(), database.floor) == heir.canonical_root

    def test_a_batch_taken_back_is_gone_with_all_that_stands_on_it(self):
        """Equal writes applied again make another tip, and do not revive it."""
        database = Database(retain=2)
        batch = commit(database, {KEYS[0]: b"a"})
        child = fork(database, batch, {KEYS[1]: b"b"})
        database.rewind(1)
        again = commit(database, {KEYS[0]: b"a"})
        assert again.root == batch.root

        for use in (batch, child):
            with pytest.raises(DeadBranch):
                use.get(KEYS[0])
            with pytest.raises(StaleBatch):
                database.apply(use)

    @pytest.mark.parametrize("count", [-1, 3])
    def test_more_than_is_retained_is_refused(self, count):
        """And nothing has changed then."""
        database = Database(retain=2)
        grow(database, range(5))
        root = database.root

        with pytest.raises(NotRetained, match=f"cannot undo {count} batches, expected 0 to 2"):
            database.rewind(count)
        assert (root, 2) == (database.root, database.retained)

    def test_nothing_is_retained_unless_asked_for(self):
        """A database that never rewinds pays nothing for it."""
        database = Database()
        grow(database, range(3))

        assert database.retained == 0
        with pytest.raises(NotRetained):
            database.rewind(1)


class TestPrune:
    def test_the_oldest_state_that_can_be_returned_to_stays_whole(self):
        """Pruning stops at its floor, whatever was asked for, and the rewind gives the very same state."""
        database = Database(retain=3)
        grow(database, range(40))
        tips = []
        for round_ in range(40, 44):
            tips.append((database.root, database.floor, list(database.items())))
            grow(database, range(round_, round_ + 1))
        _ = database.canonical_root

        assert tips[1][1] // 256 * 256 == database.prune() > 0
        database.rewind(3)
        assert (tips[1][0], tips[1][2]) == (database.root, list(database.items()))
        assert database.prune() == tips[1][1] // 256 * 256

    def test_a_pruned_database_goes_on_as_a_whole_one_does(self):
        """Roots, values and operations from the pruned location on are equal, forks included."""
        whole, pruned = Database(), Database()
        for round_ in range(60):
            for database in (whole, pruned):
                grow(database, range(round_, round_ + 1))
            pruned.prune()
            if round_ % 9 == 0:
                assert whole.canonical_root == pruned.canonical_root

        assert 0 < pruned.start <= pruned.floor
        assert whole.operations(pruned.start) == pruned.operations(pruned.start)
        assert (whole.root, list(whole.items())) == (pruned.root, list(pruned.items()))
        tips = [fork(database, None, {MANY_KEYS[0]: None}) for database in (whole, pruned)]
        tips = [fork(database, tip, {MANY_KEYS[0]: b"x"}) for database, tip in zip((whole, pruned), tips, strict=True)]
        assert tips[0].canonical_root == tips[1].canonical_root

    def test_the_bitmap_can_be_asked_for_first_after_pruning(self):
        """The siblings below the pruned location come from the tree."""
        database = Database()
        grow(database, range(60))
        expected = canonical_root_of(database.operations(), database.floor)
        database.prune()

        assert expected == database.canonical_root

    def test_what_was_pruned_is_refused_by_name(self):
        """Also when the whole log is asked for."""
        database = Database()
        grow(database, range(40))
        start = database.prune()

        with pytest.raises(PrunedLocation, match=f"0 was pruned; the oldest kept operation is {start}"):
            database.operations()

    def test_memory_is_bounded_by_what_is_retained(self):
        """With the keys a constant number, nothing that the database holds grows with the number of blocks."""
        database = Database(retain=5)
        store = database._store
        peaks = []
        for rounds in (range(200), range(200, 400)):
            sizes = []
            for round_ in rounds:
                grow(database, range(round_, round_ + 1))
                _ = database.canonical_root
                database.prune()
                held = (len(store.log), sum(map(len, store.levels.rows)), sum(map(len, store.activity.rows)))
                sizes.append((*held, len(store.undos)))
            peaks.append([max(column) for column in zip(*sizes, strict=True)])

        # Twice the blocks: only the heights of the tree may have grown.
        assert all(late <= early + early // 4 + 4 for early, late in zip(*peaks, strict=True)), peaks


class TestAfterARebuild:
    """The bitmap is to be made again then, and is when it is asked for."""

    def test_a_rewind_keeps_the_rows_that_it_is_made_in(self):
        database = Database(retain=1)
        while database.size < 2 * CHUNK_BITS:
            commit(database, {KEYS[0]: b"%d" % database.size})
        expected = database.canonical_root
        commit(database, {KEYS[0]: b"taken back"})
        database.rebuild()
        database.rewind(1)

        assert database.canonical_root == expected

    def test_a_pruning_comes_after_what_needs_the_pruned_chunks(self):
        database = Database()
        while database.size < 3 * CHUNK_BITS:
            commit(database, {KEYS[0]: b"%d" % database.size})
        expected = database.canonical_root
        database.rebuild()
        database.prune()

        assert database.start > 0
        assert database.canonical_root == expected
