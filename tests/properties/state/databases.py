"""A state: batches that are applied, taken back and left, and lives that begin from a log or a snapshot.

A run rewinds by as much as its forks are deep, and a replica that has joined is rarely led astray before its next
start. Here one state goes through all of that within a few batches; it has to hold what a dictionary holds, and to have
the root of a state that was only ever led straight on.
"""

from collections.abc import Mapping
from typing import Final

from tests.properties.draws import Asked, Draw
from validators.state import Batch, Database, DeadBranch, Snapshot

_KEYS: Final = 12
_STEPS: Final = 12
_RETAIN: Final = 3
_CHAIN_MAX: Final = 4

Writes = Mapping[bytes, bytes | None]


class _Led:
    """A state, and the batches that lead straight to it."""

    def __init__(self) -> None:
        self.database = Database(retain=_RETAIN)
        self.batches: list[Writes] = []
        self.roots = [self.database.canonical_root]
        self.retained = 0
        self.base: Snapshot | None = None
        self.operations: tuple[bytes, ...] = self.database.operations()
        """Those of the log above the base, which a disk would hold."""
        self.held: list[tuple[bytes, ...]] = []
        """Operations that may be taken back, by batch."""

    @property
    def values(self) -> dict[bytes, bytes]:
        """The keys and values that the batches lead to."""
        values: dict[bytes, bytes] = {}
        for writes in self.batches:
            for key, value in writes.items():
                values.pop(key, None)
                values |= {} if value is None else {key: value}
        return values

    def apply(self, batches: list[Writes], tip: Batch) -> None:
        """Apply a chain of batches at once."""
        appended = self.database.apply(tip)
        self.operations += appended
        self.batches += batches
        self.roots += [b""] * (len(batches) - 1) + [self.database.canonical_root]
        self.retained = min(self.retained + len(batches), _RETAIN)

    def rewind(self, count: int) -> None:
        """Take batches back."""
        before = self.database.size
        self.database.rewind(count)
        self.operations = self.operations[: len(self.operations) - (before - self.database.size)]
        del self.batches[len(self.batches) - count :], self.roots[len(self.roots) - count :]
        self.retained -= count


def _open(led: _Led, parent: Batch | None, draw: Draw) -> tuple[Writes, Batch]:
    """Return a few writes, and the batch that has them."""
    batch = led.database.batch(parent)
    writes: dict[bytes, bytes | None] = {}
    for _ in range(1 + draw(5)):
        key = bytes([draw(_KEYS)] * 32)
        writes[key] = bytes([draw(256)] * draw(4)) if draw(4) else None
    for key, value in writes.items():
        batch.write(key, value)
    batch.merkleize()
    return writes, batch


def check_states(draw: Draw) -> Asked:
    """Yield what is asked of a state, and whether it is so."""
    led = _Led()
    for _ in range(_STEPS):
        step = draw(8)
        if step <= 3:
            yield from _lead_on(led, draw)
        elif step <= 5:
            led.rewind(draw(led.retained + 1))
        elif step == 6:
            led.database.prune()
            if draw(2):
                led.database.rebuild()
        elif draw(2):
            led.base, led.operations = led.database.snapshot(), ()
            led.database = Database.from_snapshot(led.base, led.database.canonical_root, retain=_RETAIN)
            led.retained = 0
        else:
            led.database = Database.from_operations(led.operations, base=led.base, retain=_RETAIN)
            led.retained = 0
        yield from _compare(led)
    straight = Database()
    for writes in led.batches:
        batch = straight.batch()
        for key, value in writes.items():
            batch.write(key, value)
        batch.merkleize()
        straight.apply(batch)
    yield "a state has another root than one that was led straight to it", led.roots[-1] == straight.canonical_root


def _lead_on(led: _Led, draw: Draw) -> Asked:
    """Let a branch lose or be given up, and apply a chain of batches at once."""
    loser = _open(led, None, draw)[1]
    losers = [loser, _open(led, loser, draw)[1]]
    if draw(2):
        loser.drop()
    chain = [_open(led, None, draw)]
    for _ in range(draw(_CHAIN_MAX)):
        chain.append(_open(led, chain[-1][1], draw))
    batches, tip = [writes for writes, _ in chain], chain[-1][1]
    read = {bytes([key] * 32): tip.get(bytes([key] * 32)) for key in range(_KEYS)}
    led.apply(batches, tip)
    values = led.values
    yield "a pending state reads otherwise than it is applied", read == {key: values.get(key) for key in read}
    yield "a branch that lost or was given up can still be read", all(_is_dead(batch) for batch in losers)


def _is_dead(batch: Batch) -> bool:
    try:
        batch.get(bytes(32))
    except DeadBranch:
        return True
    return False


def _compare(led: _Led) -> Asked:
    database = led.database
    yield "a state holds other values than were written", dict(database.items()) == led.values
    yield "a state cannot take back what it should, or more", database.retained == led.retained
    root = led.roots[-1]
    yield "a state has another root than when it was there before", root in {b"", database.canonical_root}
    audit = database.audit()
    yield "a state in memory is not that of its log", not audit.deviations
    led.roots[-1] = database.canonical_root
