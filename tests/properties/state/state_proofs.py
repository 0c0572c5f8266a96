"""Proofs and snapshots, which a state shows to others: as they are, and with one part of them false.

A run proves some keys of its last states and flips some bits there. Here a byte anywhere in a proof is another one, a
value is proved that has gone, and a snapshot is wrong in each of its parts in turn; sizes and floors are those that a
property has led its state to.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from msgspec.structs import replace

from tests.properties.draws import Asked, Draw
from tests.properties.state.reference_log import CHUNK, DIGEST, Form, ReferenceLog
from validators.state import (
    AbsentKey,
    BadKey,
    CorruptLog,
    Database,
    ForgedSnapshot,
    PrunedLocation,
    Snapshot,
    verify_key,
    verify_operation,
    verify_root,
)

_PROVED: Final = 2
_FORGED: Final = 3


def is_refused(error: type[Exception], action: Callable[..., object], *subject: object) -> bool:
    """Return whether an action is refused by this error and no other."""
    try:
        action(*subject)
    except error as refusal:
        return type(refusal) is error
    return False


def ask_proofs(database: Database, plain: ReferenceLog, draw: Draw) -> Asked:
    """Yield what is asked of a state's proofs."""
    root, inside = database.canonical_root, database.root
    proof = database.prove_root()
    yield "a proof of the root over the operations does not hold", verify_root(proof, root, inside)
    # All bytes that the hash covers, but parted elsewhere; and what is none of them.
    false = [(proof[cut:], root, inside + proof[:cut]) for cut in (1, len(proof) - DIGEST) if cut]
    false += [(inside[-1:] + proof, root, inside[:-1]), (_spoil(proof, draw), root, inside)]
    false += [(proof, _spoil(root, draw), inside), (proof, root, _spoil(inside, draw)), (b"", root, inside)]
    yield "a false proof of the root holds", not any(verify_root(*each) for each in false)
    yield from _ask_keys(database, plain, draw)
    yield from _ask_operations(database, plain, draw)


def _ask_keys(database: Database, plain: ReferenceLog, draw: Draw) -> Asked:
    form, root = plain.form, database.canonical_root

    def holds(proof: bytes, root: bytes, key: bytes, value: bytes) -> bool:
        return verify_key(proof, root, key, value, encoding=form.encoding, bare_values=form.says_bare)

    keys = [*plain.values]
    for key in [keys[draw(len(keys))] for _ in range(_PROVED) if keys]:
        value, proof = plain.values[key], database.prove_key(key)
        yield "a proof of a key does not hold", holds(proof, root, key, value)
        yield "a proof of a key is that of another place", proof[:8] == plain.places[key].to_bytes(8, "big")
        false = [(each, root, key, value) for each in _false_proofs(proof, draw)]
        false += [(proof, _spoil(root, draw), key, value), (proof, root, _spoil(key, draw), value)]
        # The last one has the same bytes, parted elsewhere, where the key ends with the length of the longer value.
        false += [(proof, root, key, value + b"\0"), (proof, root, key, value[:-1]), (proof, root, key[:-1], value)]
        false.append((proof, root, key[:-1], bytes([len(value)]) + value))
        yield (
            "a false proof of a key holds",
            not any(holds(*each) for each in false if each != (proof, root, key, value)),
        )
    gone = {operation[1:33]: None for operation in plain.log if operation[:1] == b"\xd1"}
    absent = [key for key in (*gone, bytes(32)) if key not in plain.values]
    yield (
        "a key that is absent is proved",
        all(is_refused(AbsentKey, database.prove_key, key) for key in absent),
    )
    yield "a key of another length is proved", is_refused(BadKey, database.prove_key, b"short")
    old = [
        place
        for place in range(database.start, plain.size)
        if plain.log[place][:1] == b"\xd2" and plain.places.get(plain.log[place][1:33]) != place
    ]
    for place in [old[draw(len(old))] for _ in range(_PROVED) if old]:
        update = plain.log[place]
        value = update[33:] if form.is_bare else update[34 if update[33] < 0x80 else 35 :]
        yield "a value is proved that has gone", not holds(database.prove_update(place), root, update[1:33], value)


def _ask_operations(database: Database, plain: ReferenceLog, draw: Draw) -> Asked:
    root, start, size = database.root, database.start, plain.size
    for place in (start, size - 1, start + draw(size - start)):
        operation, proof = plain.log[place], database.prove_operation(place)
        yield "a proof of an operation does not hold", verify_operation(proof, root, place, operation)
        false = [(each, root, place, operation) for each in _false_proofs(proof, draw)]
        false += [(proof, root, other, operation) for other in (place - 1, place + 1, place + size, -1)]
        false += [(proof, _spoil(root, draw), place, operation), (proof, root, place, operation + b"\0")]
        yield "a false proof of an operation holds", not any(verify_operation(*each) for each in false)
    yield "the oldest operation cannot be shown", database.prove_update(start)[:8] == start.to_bytes(8, "big")
    proofs = (database.prove_operation, database.prove_update)
    places = [place for place in (start - 1, size, -1) if place < start or place >= size]
    yield (
        "an operation is proved that is not kept",
        all(is_refused(PrunedLocation, prove, place) for prove in proofs for place in places),
    )


def _false_proofs(proof: bytes, draw: Draw) -> list[bytes]:
    """Return proofs with another byte, bytes too many, and bytes too few."""
    other = [_spoil(proof, draw), _spoil(proof[:24], draw) + proof[24:]]
    # A size or a number of peaks that no log has is refused before anything is counted by it.
    other += [proof[:at] + b"\xff" + proof[at + 1 :] for at in (0, 8, 16)]
    other += [proof + bytes(DIGEST), proof[:-DIGEST], proof + b"\0", b""]
    # Of a log of one operation a number that is cut off would be read as 0, which it is.
    other.append(proof[: draw(len(proof))])
    return [each for each in other if each != proof]


def _spoil(data: bytes, draw: Draw) -> bytes:
    """Return bytes of which one has one bit that is another."""
    place = draw(len(data))
    return data[:place] + bytes([data[place] ^ 1 << draw(8)]) + data[place + 1 :]


class _Forgery(NamedTuple):
    """A snapshot that is wrong in a part, and the root that it is taken for."""

    part: str
    snapshot: Snapshot
    root: bytes


def open_snapshot(snapshot: Snapshot, root: bytes, form: Form, retain: int) -> Database:
    """Return the state that a snapshot leads to."""
    return Database.from_snapshot(snapshot, root, encoding=form.encoding, bare_values=form.says_bare, retain=retain)


def open_log(operations: Sequence[bytes], form: Form, retain: int, base: Snapshot | None = None) -> Database:
    """Return the state that operations lead to."""
    return Database.from_operations(
        operations, encoding=form.encoding, bare_values=form.says_bare, retain=retain, base=base
    )


def ask_snapshot(database: Database, plain: ReferenceLog, draw: Draw) -> Asked:
    """Yield what is asked of a state's snapshot."""
    form, snapshot, root = plain.form, database.snapshot(), database.canonical_root
    start = plain.floor // CHUNK * CHUNK
    yield (
        "a snapshot says otherwise than the state is",
        (snapshot.size, snapshot.start, snapshot.floor, snapshot.operations)
        == (plain.size, start, plain.floor, tuple(plain.log[start:])),
    )
    again = open_snapshot(snapshot, root, form, 0)
    yield "a state that a snapshot leads to has another root", again.canonical_root == root
    yield "a state that a snapshot leads to gives another one", again.snapshot() == snapshot
    # All of the log is no snapshot where less will do: a state has one.
    whole = replace(snapshot, start=0, peaks=(), operations=tuple(plain.log))
    forgeries = [*_forge(snapshot, root, draw), *([_Forgery("start", whole, root)] if start else [])]
    for forgery in [forgeries[draw(len(forgeries))] for _ in range(_FORGED)]:
        yield (
            f"a snapshot is taken whose {forgery.part} is false",
            is_refused(ForgedSnapshot, open_snapshot, forgery.snapshot, forgery.root, form, 0),
        )
    # The floor of the last operation is not looked at before the log is: it may lie below the log's start.
    if start:
        low = replace(snapshot, operations=(*snapshot.operations[:-1], form.commit(None, start - 1)))
        yield "a log is taken whose floor lies below its start", is_refused(CorruptLog, open_log, (), form, 0, low)
    other = replace(snapshot, size=snapshot.size + 1)
    yield (
        "a base is taken that has another length than it says",
        is_refused(ForgedSnapshot, open_log, (), form, 0, other),
    )


def _forge(snapshot: Snapshot, root: bytes, draw: Draw) -> Iterator[_Forgery]:
    """Yield snapshots that are wrong in one part each."""
    size, start, floor, operations = snapshot.size, snapshot.start, snapshot.floor, snapshot.operations
    for shift in (-1, 1):
        yield _Forgery("floor", replace(snapshot, floor=floor + shift), root)
        yield _Forgery("size", replace(snapshot, size=size + shift), root)
        yield _Forgery("start", replace(snapshot, start=start + shift * CHUNK), root)
    yield _Forgery("size", replace(snapshot, size=size ^ 1 << draw(62)), root)
    yield _Forgery("root", snapshot, _spoil(root, draw))
    yield _Forgery("inner root", replace(snapshot, root=_spoil(snapshot.root, draw)), root)
    yield _Forgery("witness", replace(snapshot, witness=_spoil(snapshot.witness, draw)), root)
    yield _Forgery("witness", replace(snapshot, witness=snapshot.witness + b"\0"), root)
    # A root that the witness does lead to, and the operations do not.
    witness = _spoil(snapshot.witness, draw)
    yield _Forgery("bitmap", replace(snapshot, witness=witness), sha256(snapshot.root + witness).digest())
    place = draw(len(operations))
    spoilt = (*operations[:place], _spoil(operations[place], draw), *operations[place + 1 :])
    cut = (*operations[:place], operations[place][:-1], *operations[place + 1 :])
    for other in (operations[1:], operations[:-1], (*operations, operations[-1]), spoilt, cut):
        yield _Forgery("operations", replace(snapshot, operations=other), root)
    peaks = snapshot.peaks
    for false in ((*peaks, bytes(DIGEST)), peaks[1:], (b"", *peaks[1:]), tuple(_spoil(each, draw) for each in peaks)):
        if false != peaks:
            yield _Forgery("peaks", replace(snapshot, peaks=false), root)
