"""The operation log, restated over lists and dicts by the words of docs/state.md alone.

A state is judged by it, so nothing here comes from the state's code. It hashes nothing: the root of its operations is
the oracle's to say.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from tests.properties.draws import Draw
from validators.state import Encoding

CHUNK: Final = 256
"""Operations under a chunk."""

DIGEST: Final = 32
"""Length of keys, digests and bare values."""

_FIXED_BYTES: Final = 65
_STRIDES: Final = (1, 3, 5, 7)
_GAPS: Final = (40, 70, 110)
"""Distances of the keys in a log where they lie far apart: a scan for active operations looks at 64 at once."""

_COMMITS: Final = 4

Writes = Mapping[bytes, bytes | None]


def varint(number: int) -> bytes:
    """Return a number in groups of seven bits, the lowest first, with the high bit set in all but the last."""
    groups = [number & 127]
    while number := number >> 7:
        groups.append(number & 127)
    return bytes([group | 128 for group in groups[:-1]] + groups[-1:])


class Form(NamedTuple):
    """The way in which operations are written; values are bare where they stand without their length."""

    encoding: Encoding
    is_bare: bool

    @property
    def says_bare(self) -> bool:
        """Return whether a state has to be told; the fixed encoding knows no others."""
        return self.is_bare and self.encoding == "variable"

    def update(self, key: bytes, value: bytes) -> bytes:
        """Return the operation that gives a key its value."""
        return b"\xd2" + key + self._valued(value)

    def delete(self, key: bytes) -> bytes:
        """Return the operation that deletes a key."""
        return self._padded(b"\xd1" + key)

    def commit(self, metadata: bytes | None, floor: int) -> bytes:
        """Return the operation that ends a batch."""
        if self.encoding == "fixed":
            option = b"\0" + bytes(DIGEST) if metadata is None else b"\1" + metadata
            return self._padded(b"\xd3" + option + floor.to_bytes(8, "big"))
        return b"\xd3" + (b"\0" if metadata is None else b"\1" + self._valued(metadata)) + varint(floor)

    def value(self, number: int) -> bytes:
        """Return a value, some of them as long as need two bytes for their length."""
        if self.is_bare:
            return bytes([number % 3] * DIGEST)
        return bytes([number % 3] * (number % 3 if number % 8 else 126 + number % 5))

    def _valued(self, value: bytes) -> bytes:
        return value if self.is_bare else varint(len(value)) + value

    def _padded(self, operation: bytes) -> bytes:
        return operation.ljust(_FIXED_BYTES, b"\0") if self.encoding == "fixed" else operation


FORMS: Final = (Form("variable", is_bare=False), Form("variable", is_bare=True), Form("fixed", is_bare=True))


class ReferenceLog:
    """A log after one batch: another object for every batch, as two of them may look alike.

    Attributes:
        form: How its operations are written.
        log: All operations.
        floor: The place below which none is active.
        values: Each live key's value.
        places: The place of each live key's latest update.
        root: Its canonical root, once somebody has asked the oracle.
    """

    def __init__(self, form: Form) -> None:
        self.form = form
        self.log = [form.commit(None, 0)]
        self.floor = 0
        self.values: dict[bytes, bytes] = {}
        self.places: dict[bytes, int] = {}
        self.root = b""

    @property
    def size(self) -> int:
        """The number of operations."""
        return len(self.log)

    @property
    def oldest(self) -> int:
        """The place of the oldest active update; that of the next operation without any."""
        return min(self.places.values(), default=self.size)

    def copy(self) -> "ReferenceLog":
        """Return a log of its own with the same operations."""
        copy = ReferenceLog(self.form)
        copy.log, copy.floor = list(self.log), self.floor
        copy.values, copy.places = dict(self.values), dict(self.places)
        return copy

    def set(self, key: bytes, value: bytes | None) -> None:
        """Append the update or the delete of a key."""
        if value is None:
            del self.values[key], self.places[key]
            self.log.append(self.form.delete(key))
        else:
            self.values[key], self.places[key] = value, self.size
            self.log.append(self.form.update(key, value))

    def end(self, floor: int, metadata: bytes | None = None) -> None:
        """Append the end of a batch."""
        self.floor = floor
        self.log.append(self.form.commit(metadata, floor))

    def changed_by(self, writes: Writes, *, keeps_unchanged: bool = False) -> Writes:
        """Return the writes that a batch of them makes operations of."""
        values = self.values
        return {
            key: value
            for key, value in writes.items()
            if values.get(key) != value or (keeps_unchanged and value is not None)
        }

    def after(self, writes: Writes, metadata: bytes | None = None, *, keeps_unchanged: bool = False) -> "ReferenceLog":
        """Return the log after a batch with these writes."""
        new, values = self.copy(), self.values
        changed = self.changed_by(writes, keeps_unchanged=keeps_unchanged)
        known = sorted((key for key in changed if key in values), key=self.places.__getitem__)
        for key in (*known, *sorted(key for key in changed if key not in values)):
            new.set(key, changed[key])
        floor, end, moves = self.floor, new.size, len(known) + 1
        if not new.places:
            floor = end
        while moves and floor < end:
            key = new.log[floor][1:33]
            # The key of an update alone has its latest one here.
            if new.places.get(key) == floor:
                new.set(key, new.values[key])
                moves -= 1
            floor += 1
        new.end(floor, metadata)
        return new


def draw_log(form: Form, keys: Sequence[bytes], size: int, draw: Draw) -> ReferenceLog:
    """Return a log of a size that no batches have led to: what is active, and the floor, lie at drawn places."""
    log = ReferenceLog(form)
    # From here on each key is written again, so that nothing before it stays active.
    turn = 1 + draw(max(size - len(keys) - 1, 1)) if draw(3) else 1
    ends = [1 + draw(size) for _ in range(_COMMITS)]
    # Some keys lie far apart: what is between them is the first key's, again and again.
    stride, gap = _STRIDES[draw(4)], _GAPS[draw(3)] if draw(4) == 0 else 1
    again: list[bytes] = []
    while log.size < size - 1:
        place = log.size
        if place == turn:
            again = [*log.places]
        if place in ends:
            log.end(_draw_floor(log, draw))
            continue
        key = again.pop() if again else keys[place // gap * stride % len(keys) if place % gap == 0 else 0]
        log.set(key, None if place % 11 == 5 and key in log.values else form.value(place))
    log.end(_draw_floor(log, draw))
    return log


def _draw_floor(log: ReferenceLog, draw: Draw) -> int:
    """Return a floor that the end of a batch may state, often one beside the end of a chunk."""
    places = [log.floor, log.oldest]
    places += [place for place in range(log.floor + 1, log.oldest) if (place + 1) % CHUNK <= 2]
    return places[draw(len(places))]
