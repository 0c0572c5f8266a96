"""Proofs are accepted as they are made, and refused after any change."""

import ast
from hashlib import sha256
from pathlib import Path

import pytest

import validators.state.verify
from tests.support.proof_bytes import flip
from tests.support.state_batches import commit
from validators.state import AbsentKey, BadKey, Database, PrunedLocation, verify_key, verify_operation, verify_root

KEYS = [sha256(b"%d" % number).digest() for number in range(120)]


def make_database(rounds: int, *, encoding: str = "variable", bare_values: bool = False) -> Database:
    database = Database(encoding=encoding, bare_values=bare_values)
    for round_ in range(rounds):
        value = sha256(b"%d" % round_).digest() if bare_values else b"%d" % round_ * (round_ % 5 * 40 + 1)
        commit(database, dict.fromkeys(KEYS[round_ % 7 :: 3 if round_ % 4 else 1], value))
    return database


DATABASES = [make_database(rounds) for rounds in (1, 3, 9, 25)]
PRUNED = make_database(25)
PRUNED.prune()
DATABASES.append(PRUNED)


@pytest.mark.parametrize("database", DATABASES, ids=lambda database: f"{database.start}-{database.size}")
def test_every_key_and_every_operation_has_a_proof(database):
    """In full chunks and in the partial one, below tall peaks and short ones, pruned or not."""
    assert database.active > 100
    for key, value in database.items():
        assert verify_key(database.prove_key(key), database.canonical_root, key, value)
    for location, operation in enumerate(database.operations(database.start), database.start):
        assert verify_operation(database.prove_operation(location), database.root, location, operation)
    assert verify_root(database.prove_root(), database.canonical_root, database.root)


@pytest.mark.parametrize("encoding", ["variable", "fixed"])
def test_bare_values_are_proved_as_they_are_encoded(encoding):
    """A verifier that takes the values for another encoding refuses."""
    database = make_database(9, encoding=encoding, bare_values=True)
    key, value = next(database.items())
    proof, root = database.prove_key(key), database.canonical_root

    assert verify_key(proof, root, key, value, encoding=encoding, bare_values=True)
    assert not verify_key(proof, root, key, value)


def test_a_log_that_ends_on_a_chunk_has_proofs_without_a_partial_one():
    """The number of operations is a multiple of a chunk's bits."""
    database = Database()
    number = 0
    while database.size % 256 or database.size < 512:
        missing = 256 - database.size % 256
        # A batch of n new keys appends n creates, one moved operation and the commit.
        count = min(50, missing - 2) if missing > 2 else 1
        commit(database, {sha256(b"%d" % (number + i)).digest(): b"v" for i in range(count)})
        number += count

    for key, value in database.items():
        assert verify_key(database.prove_key(key), database.canonical_root, key, value)
    assert len(database.prove_root()) == 32
    assert verify_root(database.prove_root(), database.canonical_root, database.root)


@pytest.mark.parametrize("database", [DATABASES[0], DATABASES[3]], ids=["low", "tall"])
def test_every_bit_of_one_proof_of_each_kind_counts(database):
    """All of them, one after the other."""
    key, value = list(database.items())[7]
    location = database.size - 3
    operation = database.operations(location)[0]
    cases = [
        (database.prove_key(key), lambda proof: verify_key(proof, database.canonical_root, key, value)),
        (database.prove_operation(location), lambda proof: verify_operation(proof, database.root, location, operation)),
        (database.prove_root(), lambda proof: verify_root(proof, database.canonical_root, database.root)),
    ]

    for proof, verify in cases:
        assert verify(proof)
        assert [bit for bit in range(8 * len(proof)) if verify(flip(proof, bit))] == []


@pytest.mark.parametrize("rounds", [0, 25], ids=["partial chunk", "full chunk"])
def test_a_superseded_value_is_refused_though_its_operation_is_logged(rounds):
    """A prover that points at the old operation, with every hash right, fails on the bit that is not set."""
    database = make_database(rounds)
    commit(database, {bytes(32): b"old"})
    location = (
        database.size
        - 1
        - next(back for back, operation in enumerate(reversed(database.operations())) if operation[1:33] == bytes(32))
    )
    if rounds:
        for round_ in range(4):
            commit(database, {KEYS[number]: b"%d" % round_ for number in range(100)})
    commit(database, {bytes(32): b"new"})
    operation = database.operations(location)[0]
    database._store.locations[bytes(32)] = location

    assert verify_operation(database.prove_operation(location), database.root, location, operation)
    assert not verify_key(database.prove_key(bytes(32)), database.canonical_root, bytes(32), b"old")


def test_what_is_not_there_is_not_proved():
    """Absent keys, keys of another length, pruned operations and operations after the end, each by name."""
    with pytest.raises(AbsentKey, match="no key 0000"):
        PRUNED.prove_key(bytes(32))
    with pytest.raises(BadKey):
        PRUNED.prove_key(b"")
    for location in (0, PRUNED.start - 1, PRUNED.size, -1):
        with pytest.raises(PrunedLocation, match=str(location)):
            PRUNED.prove_operation(location)


def test_the_verifier_imports_nothing_of_the_project():
    """It shares no mistake with the prover that is not made twice."""
    tree = ast.parse(Path(validators.state.verify.__file__).read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert imported == {"collections.abc", "hashlib", "typing"}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import)]


@pytest.mark.parametrize("length", range(16))
def test_a_number_that_is_cut_short_proves_nothing(length):
    """Of a log of one operation both numbers would be read as they are."""
    database = Database()
    proof = database.prove_operation(0)
    (operation,) = database.operations()

    assert len(proof) == 16
    assert verify_operation(proof, database.root, 0, operation)
    assert not verify_operation(proof[:length], database.root, 0, operation)
