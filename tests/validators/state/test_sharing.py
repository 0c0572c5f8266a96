"""Databases of one process keep equal data once, and stay databases of their own."""

import pytest

from validators.state import Database, Sharing


def key(number):
    return bytes([number]) * 32


def written(database, *writes):
    batch = database.batch()
    for number, value in writes:
        batch.write(key(number), value)
    batch.merkleize()
    return batch


@pytest.fixture
def pair():
    sharing = Sharing()
    databases = Database(retain=4), Database(retain=4)
    for database in databases:
        database.share(sharing)
    return databases


def test_equal_batches_keep_one_copy_of_their_operations_and_keys(pair):
    first, second = (written(database, (1, b"a"), (2, b"b")) for database in pair)

    assert first.result.operations is second.result.operations
    assert first.result.entries is second.result.entries
    assert first.root == second.root


def test_batches_with_other_values_share_nothing(pair):
    first, second = (written(database, (1, value)) for database, value in zip(pair, (b"a", b"b"), strict=True))

    assert (first.result.operations[0][-1:], second.result.operations[0][-1:]) == (b"a", b"b")


def test_an_outcome_that_differs_below_its_root_is_kept_apart(pair):
    """A wrong list beside the right root must stay with the database that made it."""
    first = written(pair[0], (1, b"a"))
    first.result.created.append(key(9))
    second = written(pair[1], (1, b"a"))

    assert second.result.created == [key(1)]


def test_rewinding_one_database_leaves_the_other(pair):
    roots = []
    for database in pair:
        database.apply(written(database, (1, b"a")))
        roots.append(database.canonical_root)
        database.apply(written(database, (1, b"b"), (2, None), (3, b"c")))
    after = pair[1].canonical_root
    pair[0].rewind(1)

    assert pair[0].canonical_root == roots[0]
    assert pair[1].canonical_root == after
    assert dict(pair[1].items()) == {key(1): b"b", key(3): b"c"}


def test_a_batch_on_a_tip_that_was_rewound_stays_dead(pair):
    """Tips are not shared: the same block again has another tip."""
    first, second = pair
    for database in pair:
        database.apply(written(database, (1, b"a")))
    child = second.batch()
    second.rewind(1)
    second.apply(written(second, (1, b"a")))

    assert first.canonical_root == second.canonical_root
    assert not child.is_alive()


@pytest.mark.parametrize("pruned", [False, True])
def test_a_reopened_database_takes_over_equal_operations_and_keys(pair, pruned):
    first, _ = pair
    for value in range(600):
        first.apply(written(first, (value % 7, b"%d" % value)))
    operations = tuple(bytes(bytearray(each)) for each in first.operations())
    if pruned:
        first.prune()
    reopened = Database.from_operations(operations)
    reopened.share(sharing := Sharing())
    assert reopened._store.log[-2] is not first._store.log[-2]
    sharing.adopt(first._store)
    again = Database.from_operations(tuple(bytes(bytearray(each)) for each in operations))
    again.share(sharing)

    assert first.start > 0 if pruned else first.start == 0
    assert again._store.log[-2] is first._store.log[-2]
    assert {id(each) for each in again._store.locations} == {id(each) for each in first._store.locations}
    assert again.canonical_root == first.canonical_root
    assert not again.audit().deviations
