"""State proofs: each validator's proofs hold against the final header, and falsified ones do not.

The verifier shares no code with the prover (`validators/state/verify.py`), so that a mistake in either shows here: the
verifier refuses a valid proof, or accepts a false proof. In a false proof of a superseded value every hash is right;
only the bitmap of active operations refutes it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from checker.checks.check import Check
from checker.observations import ProvedState
from checker.results import CheckResult
from checker.tables import describe_key
from network.words import counted
from validators.state import Database, verify_key, verify_operation, verify_root

KEYS_PROVED: Final = 8
OPERATIONS_PROVED: Final = 4
"""Operations proved, spread over the whole log with both ends included."""

SUPERSEDED_PROVED: Final = 4
"""Superseded updates that the prover claims to be active, spread over the log as well."""

DIGEST_BYTES: Final = 32

_UPDATE: Final = b"\xd2"
_KEY_BYTES: Final = 32
"""First byte and key of a logged update (docs/state.md)."""

_Item = TypeVar("_Item")


class _Claim(NamedTuple):
    """A claim: its name, its verifier, and the verifier's arguments, both true and falsified."""

    what: str
    verify: Callable[..., bool]
    stated: tuple[object, ...]
    falsified: tuple[tuple[object, ...], ...]


def prove_database(database: Database) -> ProvedState:
    """Return proofs of some keys and operations of a committed state; where proving fails, an empty proof."""
    values = dict(database.items())
    locations = range(database.start, database.size)
    return ProvedState(
        log_root=database.root,
        root=_prove(database.prove_root),
        keys=tuple(
            (key, database.get(key) or b"", _prove(database.prove_key, key))
            for key in _spread(list(values), KEYS_PROVED)
        ),
        operations=tuple(
            (location, database.operations(location)[0], _prove(database.prove_operation, location))
            for location in _spread(locations, OPERATIONS_PROVED)
        ),
        superseded=tuple(
            (key, value, _prove(database.prove_update, location))
            for location, key, value in _spread(_superseded(database, values), SUPERSEDED_PROVED)
        ),
    )


def _superseded(database: Database, values: Mapping[bytes, bytes]) -> list[tuple[int, bytes, bytes]]:
    """Return the logged updates whose keys have another value now, or none: location, key and value.

    An update that was moved when the floor rose is left out: the key still has its value.
    """
    found = []
    for location, operation in enumerate(database.operations(database.start), database.start):
        key = operation[1 : 1 + _KEY_BYTES]
        if operation[:1] == _UPDATE and values.get(key) != (value := _value_of(operation)):
            found.append((location, key, value))
    return found


def _value_of(update: bytes) -> bytes:
    """Return the value of an update: what is left after its key and a length whose last byte has no high bit."""
    start = 1 + _KEY_BYTES
    while update[start : start + 1] >= b"\x80":
        start += 1
    return update[start + 1 :]


class Proofs(Check):
    """At the end a replica's proofs hold under its final header's root, and falsified proofs are refused."""

    name = "proofs"
    needs = "tables"

    def finish(self) -> CheckResult:
        """Return the result; where a replica's operations lead to another root, `operation-log` says so."""
        proving = [each for each in self.run.end.readbacks if each.proved and each.audit.canonical_root == each.root]
        verified: dict[tuple[ProvedState, bytes], tuple[int, list[str]]] = {}
        for readback in proving:
            assert readback.proved is not None, "the run asked for proofs"
            stated = readback.proved, readback.root
            # Replicas that agree give equal proofs, so each proof is verified once.
            if stated not in verified:
                verified[stated] = _verify(*stated)
            compared, faults = verified[stated]
            self.tally.compared += compared
            for fault in faults:
                where = f"validator {readback.node}, height {readback.height}"
                self.tally.fail(f"{where}: {fault}", validator=readback.node, height=readback.height)
        proofs = counted(self.tally.compared, "proofs")
        return self.tally.result(f"{proofs} of {counted(len(proving), 'validators')}, true and falsified")


def _verify(proved: ProvedState, root: bytes) -> tuple[int, list[str]]:
    """Return the number of proofs verified, true and falsified, and the faults found."""
    compared, faults = 0, []
    for claim in _claims(proved, root):
        compared += 1 + len(claim.falsified)
        if not claim.verify(*claim.stated):
            faults.append(f"its proof of {claim.what} does not hold")
        elif any(claim.verify(*falsified) for falsified in claim.falsified):
            faults.append(f"a falsified proof of {claim.what} holds")
    for key, value, proof in proved.superseded:
        compared += 1
        if verify_key(proof, root, key, value):
            faults.append(f"a proof of a superseded value of {describe_key(key)} holds")
    return compared, faults


def _claims(proved: ProvedState, root: bytes) -> Iterator[_Claim]:
    proof, inside, other = proved.root, proved.log_root, _flip(root)
    yield _Claim(
        "the root over its operations",
        verify_root,
        (proof, root, inside),
        ((proof, other, inside), (proof, root, other), (_flip(proof), root, inside)),
    )
    for key, value, proof in proved.keys:
        false_contents = (
            (proof, root, key, value + b"\0"),
            (proof, root, _flip(key), value),
            (proof, other, key, value),
        )
        false_proofs = ((_flip(proof), root, key, value), (proof[:-DIGEST_BYTES], root, key, value))
        yield _Claim(describe_key(key), verify_key, (proof, root, key, value), (*false_contents, *false_proofs))
    for at, operation, proof in proved.operations:
        yield _Claim(
            f"operation {at}",
            verify_operation,
            (proof, inside, at, operation),
            (
                *((proof, inside, at + 1, operation), (proof, inside, at, operation + b"\0")),
                *((proof, root, at, operation), (proof + bytes(DIGEST_BYTES), inside, at, operation)),
            ),
        )


def _prove(prove: Callable[..., bytes], *subject: object) -> bytes:
    try:
        return prove(*subject)
    except Exception:  # noqa: BLE001 - after any error there is no proof, and this is a finding
        return b""


def _spread(items: Sequence[_Item], count: int) -> list[_Item]:
    """Return `count` evenly spread items with both ends, or all items if there are fewer."""
    if len(items) <= count:
        return list(items)
    return [items[place * (len(items) - 1) // (count - 1)] for place in range(count)]


def _flip(data: bytes) -> bytes:
    """Return the bytes with the last bit flipped."""
    return data[:-1] + bytes((data[-1] ^ 1,)) if data else b"\0"
