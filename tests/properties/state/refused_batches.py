"""Acts that no batch may do: on a branch that is lost, before its root, and with keys and values of another length."""

from typing import Final

from tests.properties.draws import Asked
from tests.properties.state.reference_log import Form
from tests.properties.state.state_proofs import is_refused
from validators.state import BadKey, BadValue, Batch, Database, DeadBranch, NotMerkleized, StaleBatch

_RESULTS: Final = ("root", "canonical_root", "size", "floor", "active", "operations", "changes")


def ask_lost(database: Database, batch: Batch, key: bytes) -> Asked:
    """Ask whether a batch, open or with its root, stands still since its branch is lost."""
    yield "a batch is applied whose branch is lost", is_refused(StaleBatch, database.apply, batch)
    yield (
        "a batch goes on whose branch is lost",
        is_refused(DeadBranch, batch.get, key)
        and is_refused(DeadBranch, batch.write, key, None)
        and is_refused(DeadBranch, database.batch, batch)
        and is_refused(DeadBranch, batch.merkleize),
    )


def ask_open(database: Database, key: bytes, form: Form) -> Asked:
    """Ask what a batch without a root refuses."""
    batch = database.batch()
    yield (
        "a batch has a result before its root",
        all(is_refused(NotMerkleized, getattr, batch, name) for name in _RESULTS)
        and is_refused(NotMerkleized, database.batch, batch),
    )
    yield "a batch is applied before its root", is_refused(NotMerkleized, database.apply, batch)
    yield (
        "a key of another length is taken",
        is_refused(BadKey, database.get, key[1:])
        and is_refused(BadKey, batch.get, key[1:])
        and is_refused(BadKey, batch.write, key[1:], None),
    )
    if form.is_bare:
        yield "a value of another length is taken", is_refused(BadValue, batch.write, key, key[1:])
