"""State proofs at the end of a run: true claims hold, false ones do not, and a mistake in either is found."""

import inspect

import pytest

from checker.checks import proofs
from checker.checks.proofs import prove_database
from tests.support.checker_history import PROVABLE, assert_only, write_history
from validators.state import verify


def history_of(change):
    """Return a history in which one validator's proofs are changed."""
    history = write_history()
    proved = history.readbacks[2].proved
    history.readbacks[2] = history.readbacks[2]._replace(proved=proved._replace(**change(proved)))
    return history


def test_every_kind_of_claim_is_verified_and_falsified():
    result = write_history().judge()["proofs"]

    assert (result.status, result.compared) == ("passed", 4 * (4 + 8 * 6 + 4 * 5 + 4))


def wrong_value(proved):
    (key, _, proof), *rest = proved.keys
    return {"keys": ((key, b"another", proof), *rest)}


def wrong_operation(proved):
    (location, operation, _), (_, _, other), *rest = proved.operations
    return {"operations": ((location, operation, other), *rest)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (wrong_value, "its proof of"),
        (wrong_operation, "its proof of operation 0 does not hold"),
        (lambda _proved: {"root": b""}, "its proof of the root over its operations does not hold"),
    ],
)
def test_a_proof_that_does_not_hold_names_what_it_was_of(change, words):
    assert_only(history_of(change).judge(), "proofs", "validator 2", words)


def test_superseded_values_are_those_that_the_keys_have_no_more():
    proved = prove_database(PROVABLE)

    assert len(proved.superseded) == 4
    assert [key for key, value, proof in proved.superseded if PROVABLE.get(key) == value or not proof] == []


def test_a_verifier_that_does_not_ask_for_the_active_bit_is_found(monkeypatch):
    """A superseded value is claimed with every hash right: the bit alone refuses it."""
    source, asked = inspect.getsource(verify), "if not chunk[location % _CHUNK_BITS // 8] >> location % 8 & 1:"
    assert source.count(asked) == 1
    mutated = {}
    exec(source.replace(asked, "if not chunk:"), mutated)
    monkeypatch.setattr(proofs, "verify_key", mutated["verify_key"])

    proved = prove_database(PROVABLE)
    root = PROVABLE.canonical_root
    assert [mutated["verify_key"](proof, root, key, value) for key, value, proof in proved.superseded] == [True] * 4
    assert_only(write_history().judge(), "proofs", "a proof of a superseded value of", "holds")


@pytest.mark.parametrize("verifier", ["verify_key", "verify_operation", "verify_root"])
def test_a_verifier_that_believes_everything_is_found(monkeypatch, verifier):
    monkeypatch.setattr(proofs, verifier, lambda *_: True)

    assert_only(write_history().judge(), "proofs", "a falsified proof of", "holds")


def test_a_prover_that_fails_has_no_proof(monkeypatch):
    monkeypatch.setattr(type(PROVABLE), "prove_root", lambda _database: 1 // 0)

    assert prove_database(PROVABLE).root == b""
