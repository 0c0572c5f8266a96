"""Operation logs of a few operations, right and wrong by one of them: which a start may take, and to which root.

The disks of a run hold logs that a state has written, or bytes that no checksum covers. An operation that is well
framed and none, and a floor that lies one place beside those that are allowed, come there never.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from checker.oracle.from_scratch import canonical_root_of
from tests.properties.draws import Asked, Draw
from tests.properties.state.reference_log import CHUNK, DIGEST, FORMS, Form, ReferenceLog, draw_log
from tests.properties.state.state_proofs import is_refused, open_log
from validators.state import CorruptLog, Snapshot
from validators.state.tree import hash_leaves

_KEYS: Final = 3
_LEAST: Final = 2
_MORE: Final = 9
_ABSENT: Final = bytes(DIGEST)


def check_log_forms(draw: Draw) -> Asked:
    """Yield what is asked of small logs, and whether it is so."""
    form = FORMS[draw(len(FORMS))]
    keys = [bytes([number] * DIGEST) for number in range(1, 2 + draw(_KEYS))]
    plain = draw_log(form, keys, _LEAST + draw(_MORE), draw)
    lowest = plain.floor
    for key in keys:
        if draw(2):
            plain.set(key, None if key in plain.values and draw(2) else form.value(draw(256)))
    highest = plain.oldest
    for floor in (lowest, highest):
        log = [*plain.log, form.commit(None, floor)]
        database = open_log(log, form, 0)
        yield "a log leads to another floor than its last commit states", database.floor == floor
        yield (
            "a log leads to another root than its operations",
            database.canonical_root == canonical_root_of(log, floor),
        )
    for floor in (highest + 1, plain.size + 1, lowest - 1):
        if floor >= 0:
            log = [*plain.log, form.commit(None, floor)]
            yield "a log is taken whose floor none may state", is_refused(CorruptLog, open_log, log, form, 0)
    for what, log in _wrong_logs(plain, lowest, draw):
        if draw(2):
            yield f"a log is taken that {what}", is_refused(CorruptLog, open_log, log, form, 0)
    yield from _check_tails(form, keys, draw)
    yield from _check_rebuilds(plain, draw)


def _check_tails(form: Form, keys: Sequence[bytes], draw: Draw) -> Asked:
    """Ask for logs above a base, with the floors that they may state, and others."""
    start = CHUNK * (1 + draw(3))
    # In a tail the update of a deleted key may have been forgotten.
    log = [form.delete(_ABSENT)] * draw(3)
    places = {key: start + len(log) + number for number, key in enumerate(keys)}
    log += [form.update(key, form.value(number)) for number, key in enumerate(keys)]
    first = start + draw(places[keys[0]] - start + 1)
    log.append(form.commit(None, first))
    for key in keys:
        if draw(2):
            places[key] = start + len(log)
            log.append(form.update(key, form.value(draw(256))))
    oldest = min(places.values())
    floors = {first: True, oldest: True, oldest + 1: False, first - 1: False, start + len(log) + 1: False}
    for floor, is_right in floors.items():
        operations = (*log, form.commit(None, floor))
        size = start + len(operations)
        # The base's own floor is a right one: what its last operation states is another matter.
        said = max(min(floor, size - 1), start)
        base = Snapshot(size, start, said, b"", b"", (bytes(DIGEST),) * start.bit_count(), operations)
        if is_right:
            database = open_log((), form, 0, base)
            found = database.size, database.start, database.floor, database.active
            yield "a log above a base is another one than it says", found == (size, start, floor, len(keys))
        else:
            yield (
                "a log above a base is taken whose floor none may state",
                is_refused(CorruptLog, open_log, (), form, 0, base),
            )


def _check_rebuilds(plain: ReferenceLog, draw: Draw) -> Asked:
    """Spoil what is made of a log, and then the log, and have it made anew."""
    log = [*plain.log, plain.form.commit(None, plain.floor)]
    database = open_log(log, plain.form, 0)
    root, store, place = database.canonical_root, database.batch().store, draw(len(log))
    store.flags[place] ^= 1
    store.locations[_ABSENT] = place
    store.levels.rows[0][DIGEST * place] ^= 1
    store.require_activity().rows[0][0] = _ABSENT
    # By place, as they are compared: bits, flags, locations and nodes.
    found = [each.structure for each in database.audit().deviations]
    yield "what is wrong in memory is not found", found == ["bitmap", "indexes", "indexes", "indexes"]
    database.rebuild()
    active = sorted([*plain.places.values(), len(log) - 1])
    yield "a rebuild leaves wrong locations", store.locations == plain.places
    yield "a rebuild leaves wrong flags", [at for at in range(len(log)) if store.flags[at]] == active
    yield "a rebuild leaves wrong nodes", bytes(store.levels.rows[0]) == b"".join(hash_leaves(0, log))
    bits = sum(1 << at for at in active).to_bytes(DIGEST, "little")
    yield "a rebuild leaves another root", database.canonical_root == root == canonical_root_of(log, plain.floor)
    yield "a rebuild leaves wrong bits", store.require_activity().rows[0] == {0: bits}
    store.log[place] = plain.form.update(_ABSENT, plain.form.value(draw(256))) if place else b""
    yield "a log is rebuilt that leads elsewhere", is_refused(CorruptLog, database.rebuild)
    yield "a rebuild that was refused has changed something", store.locations == plain.places
    found = [each.structure for each in database.audit().deviations]
    yield "a log that leads elsewhere is not found", found == ["operation-log"]


def _wrong_logs(plain: ReferenceLog, floor: int, draw: Draw) -> Iterator[tuple[str, list[bytes]]]:
    """Yield logs that no state has written, each with what is wrong."""
    form, log, end = plain.form, plain.log, plain.form.commit(None, floor)
    update = form.update(_ABSENT, form.value(draw(256)))
    yield "is empty", []
    yield "does not end with a commit", [*log, update]
    yield "begins with an update", [update, *log[1:], end]
    yield "begins with another commit than the first", [form.commit(form.value(draw(256)), 0), *log[1:], end]
    yield "deletes an absent key", [*log, form.delete(_ABSENT), end]
    for operation in _wrong_operations(plain, update):
        yield f"has no operation at its end: {operation[:1].hex()}", [*log, operation, end]
    for commit in _wrong_commits(plain, end):
        yield "has no commit at its end", [*log, commit]


def _wrong_operations(plain: ReferenceLog, update: bytes) -> Iterator[bytes]:
    yield from (b"", update + b"\0", update[:-1], b"\xd0" + update[1:], b"\xd4" + update[1:], update[: DIGEST // 2])
    key = next(iter(plain.places), None)
    if key is not None:
        delete = plain.form.delete(key)
        yield from (delete + b"\0", delete[:-1])
        if plain.form.encoding == "fixed":
            yield delete[:-1] + b"\1"
    if not plain.form.is_bare:
        # A length in more bytes than it needs, and one of more bytes than there are.
        yield b"\xd2" + _ABSENT + b"\x81\0" + b"v"
        yield b"\xd2" + _ABSENT + b"\x80"
        yield b"\xd2" + _ABSENT + b"\x81\1" + bytes(128)


def _wrong_commits(plain: ReferenceLog, commit: bytes) -> Iterator[bytes]:
    yield from (commit + b"\0", commit[:-1], commit[:1], commit[:1] + b"\2" + commit[2:])
    if plain.form.encoding == "fixed":
        yield commit[:-1] + b"\1"
        yield commit[:2] + b"\1" + commit[3:]
    else:
        yield commit[:-1] + bytes([commit[-1] | 0x80]) + b"\0"
        yield commit[:1] + b"\1"
