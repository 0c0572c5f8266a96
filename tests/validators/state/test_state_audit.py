"""A byte changed in any structure of the database is found, in that structure and at its place."""

from hashlib import sha256

import pytest

from tests.support.state_batches import commit
from validators.state import Database, Rebuilds, audit

KEYS = [sha256(b"%d" % number).digest() for number in range(150)]


def settled(*, pruned: bool, retain: int = 0) -> Database:
    database = Database(retain=retain)
    for round_ in range(24):
        commit(database, dict.fromkeys(KEYS[round_ % 5 :: 2], b"%d" % round_))
    if pruned:
        assert database.prune() > 0
    _ = database.canonical_root
    return database


def flip(data: bytes | bytearray, place: int = -1) -> bytes:
    changed = bytearray(data)
    changed[place] ^= 1
    return bytes(changed)


def tamper_operation(store):
    store.log[70] = flip(store.log[70])
    return f"operation {store.start + 70}"


def tamper_operation_into_none(store):
    store.log[70] = b"\xff" + store.log[70][1:]
    return f"operation {store.start + 70}"


def tamper_chunk(store):
    index = max(store.activity.rows[0]) - 1
    store.activity.rows[0][index] = flip(store.activity.rows[0][index], 3)
    return f"chunk {index}"


def tamper_grafted_node(store):
    index = max(store.activity.rows[2])
    store.activity.rows[2][index] = flip(store.activity.rows[2][index])
    return f"grafted node of height 8, {index}"


def tamper_missing_chunk(store):
    index = max(store.activity.rows[0])
    del store.activity.rows[0][index]
    return f"chunk {index}"


def tamper_canonical_root(store):
    store.activity.root = flip(store.activity.root)
    return "root"


def tamper_flag(store):
    store.flags[-7] ^= 1
    return f"activity flag of operation {store.tip.size - 7}"


def tamper_location(store):
    store.locations[KEYS[5]] ^= 1
    return "location of a key"


def tamper_absent_location(store):
    del store.locations[KEYS[5]]
    return "location of a key"


def tamper_tree(store):
    store.levels.rows[2][-1] ^= 1
    return f"tree node of height 2, {(store.tip.size >> 2) - 1}"


TAMPERED = [
    ("operation-log", tamper_operation),
    ("operation-log", tamper_operation_into_none),
    ("bitmap", tamper_chunk),
    ("bitmap", tamper_missing_chunk),
    ("bitmap", tamper_grafted_node),
    ("bitmap", tamper_canonical_root),
    ("indexes", tamper_flag),
    ("indexes", tamper_location),
    ("indexes", tamper_absent_location),
    ("indexes", tamper_tree),
]


@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize(("structure", "tamper"), TAMPERED)
def test_one_change_is_found_in_its_structure_and_at_its_place(structure, tamper, pruned):
    """And in no other structure."""
    database = settled(pruned=pruned)
    place = tamper(database._store)

    found = database.audit().deviations

    assert [(deviation.structure, deviation.place) for deviation in found] == [(structure, place)]
    assert found[0].kept != found[0].expected


def test_a_bitmap_that_was_never_made_is_not_compared():
    """Nothing is claimed of it."""
    database = Database()
    commit(database, {KEYS[0]: b"x"})

    assert database.audit().compared["bitmap"] == 0


class TestSharedRebuilds:
    """Audits of several databases take one rebuilt store where their logs are equal, and only there."""

    @pytest.mark.parametrize("pruned", [False, True])
    def test_an_equal_log_is_rebuilt_once(self, pruned, monkeypatch):
        """The second database is compared with the rebuilt store all the same."""
        rebuilt = []
        plain = audit.rebuild_store
        monkeypatch.setattr(audit, "rebuild_store", lambda *given, **named: rebuilt.append(0) or plain(*given, **named))
        rebuilds = Rebuilds()
        sound, damaged = settled(pruned=pruned), settled(pruned=pruned)
        damaged._store.locations[KEYS[0]] += 1

        assert sound.audit(rebuilds).deviations == ()
        (found,) = damaged.audit(rebuilds).deviations
        assert (found.structure, found.key) == ("indexes", KEYS[0])
        assert len(rebuilt) == 1

    def test_another_log_is_rebuilt_by_itself(self):
        """One byte of one operation differs, and the lengths do not."""
        rebuilds = Rebuilds()
        sound, damaged = settled(pruned=False), settled(pruned=False)
        place = tamper_operation(damaged._store)

        assert sound.audit(rebuilds).deviations == ()
        (found,) = damaged.audit(rebuilds).deviations
        assert (found.structure, found.place) == ("operation-log", place)

    def test_another_encoding_is_rebuilt_by_itself(self):
        """The same bytes are other operations to another codec, or none at all."""
        rebuilds = Rebuilds()
        fixed, variable = Database(encoding="fixed"), Database()
        fixed._store.log = list(variable._store.log)

        assert variable.audit(rebuilds).deviations == ()
        (found,) = fixed.audit(rebuilds).deviations
        assert found.structure == "operation-log"

    def test_few_rebuilt_stores_are_kept(self):
        """A run has a hundred replicas or more, and each may have a log of its own."""
        rebuilds = Rebuilds()
        for rounds in range(2 * audit.REBUILDS_KEPT):
            database = Database()
            commit(database, dict.fromkeys(KEYS[: 1 + rounds], b"value"))
            assert database.audit(rebuilds).deviations == ()

        assert len(rebuilds._kept) == audit.REBUILDS_KEPT
