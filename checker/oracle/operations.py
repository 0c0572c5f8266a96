"""The operation log and its roots, by the rules of docs/state.md."""

from collections.abc import Mapping
from copy import copy

from checker.oracle.activity import ActivityTree
from checker.oracle.from_scratch import canonical_root_of
from checker.oracle.merkle import Mountains, log_root
from checker.oracle.records import varint

_DELETE = b"\xd1"
_UPDATE = b"\xd2"
_COMMIT = b"\xd3"
_NO_METADATA = b"\0"


class OperationLog:
    """All operations since genesis, the last value of each key, and its location in the log."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.floor = 0
        self._locations: dict[bytes, int] = {}
        # The key that each operation updates; None for the other kinds, which a scan for live keys skips.
        self._updates: list[bytes | None] = []
        self._commit = 0
        self._operations: list[bytes] = []
        self._mountains = Mountains()
        self._activity = ActivityTree()
        self._append(_COMMIT + _NO_METADATA + varint(0), None)

    def fork(self) -> "OperationLog":
        """Return an independent copy of the log."""
        other = copy(self)
        vars(other).update(
            values=dict(self.values),
            _locations=dict(self._locations),
            _updates=list(self._updates),
            _operations=list(self._operations),
            _mountains=self._mountains.fork(),
            _activity=self._activity.fork(),
        )
        return other

    @property
    def size(self) -> int:
        """The number of operations."""
        return len(self._updates)

    def operations(self, start: int) -> tuple[bytes, ...]:
        """Return the encoded operations from a location on."""
        return tuple(self._operations[start:])

    @property
    def operations_root(self) -> bytes:
        """The root over the operations alone after the last batch."""
        return log_root(self._mountains, self.floor)

    def canonical_root(self) -> bytes:
        """Return the root over the operations and their activity bits, after the last batch."""
        return self._activity.root(self._mountains, self.floor)

    def canonical_root_from_scratch(self) -> bytes:
        """Return the same root, computed from the operations alone."""
        return canonical_root_of(self._operations, self.floor)

    def commit(self, changes: Mapping[bytes, bytes | None]) -> None:
        """Append a batch: existing keys by location, new keys by key, the floor raise, the end of the batch."""
        existing = sorted((key for key in changes if key in self._locations), key=self._locations.__getitem__)
        created = sorted(key for key in changes if key not in self._locations)
        for key in [*existing, *created]:
            value = changes[key]
            if value is not None:
                self._update(key, value)
            elif key in self._locations:
                self._activity.clear(self._locations[key])
                del self.values[key], self._locations[key]
                self._append(_DELETE + key, None)
        self._raise_floor(len(existing) + 1)
        self._activity.clear(self._commit)
        self._commit = self.size
        self._append(_COMMIT + _NO_METADATA + varint(self.floor), None)

    def _raise_floor(self, moves: int) -> None:
        # An operation moved here is not visited again: with few live keys each of them is moved once.
        end = self.size
        while moves and self.floor < end:
            key = self._updates[self.floor]
            if key is not None and self._locations.get(key) == self.floor:
                self._update(key, self.values[key])
                moves -= 1
            self.floor += 1

    def _update(self, key: bytes, value: bytes) -> None:
        self.values[key] = value
        if key in self._locations:
            self._activity.clear(self._locations[key])
        self._locations[key] = self.size
        self._append(_UPDATE + key + varint(len(value)) + value, key)

    def _append(self, operation: bytes, key: bytes | None) -> None:
        self._updates.append(key)
        self._operations.append(operation)
        self._mountains.append(operation)
        self._activity.append(is_active=operation[:1] != _DELETE)
