"""The state as a running block sees and changes it: decoded records over a speculative batch.

Invariants: a record is immutable, so forks share decoded records. Writes reach the batch once, at `flush`, which is the
only place where records are encoded. Every change made since a savepoint can be rolled back.
"""

from collections.abc import Iterator
from typing import Any, Final, cast

import msgspec

from scheduler.tables import Record
from validators.execution.errors import CorruptStateError
from validators.execution.schema import Table
from validators.state import Batch

_ABSENT: Final = msgspec.UNSET
"""Marks in the journal that a mapping had no entry for a key."""


class DecodedCache:
    """A validator's decoded records, each with the stored bytes that it decodes.

    A record is used only where the state holds exactly these bytes, so the cache may serve any fork, and nothing in it
    can go stale. It belongs to one validator and is not shared.
    """

    def __init__(self) -> None:
        self._records: dict[bytes, tuple[bytes, object]] = {}
        self._decoders: dict[int, msgspec.msgpack.Decoder[Any]] = {}
        self.encode = msgspec.msgpack.Encoder().encode

    def decode(self, table: Table[Record], key: bytes, stored: bytes) -> Record:
        """Return the record that `stored` encodes, decoded at most once.

        Raises:
            CorruptStateError: The bytes are not a record of the table.
        """
        known = self._records.get(key)
        # Compared by bytes, not by key alone: another fork may hold a different record there.
        if known is not None and known[0] == stored:
            return known[1]  # type: ignore[return-value]  # a call of `cast` costs as much as the look-up
        decoder = self._decoders.get(table.code)
        if decoder is None:
            decoder = self._decoders[table.code] = msgspec.msgpack.Decoder(table.record)
        try:
            record = decoder.decode(stored)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise CorruptStateError(f"{table.name} {key.hex()}: {error}") from None
        self._records[key] = (stored, record)
        return cast("Record", record)

    def remember(self, key: bytes, stored: bytes, record: object) -> None:
        """Keep a record that was just encoded."""
        self._records[key] = (stored, record)

    def forget(self, key: bytes) -> None:
        """Forget a record whose key was deleted for good."""
        self._records.pop(key, None)

    def kept(self) -> list[bytes]:
        """Return the keys of the kept records."""
        return list(self._records)

    def reencode(self, key: bytes, stored: bytes) -> bytes:
        """Return the bytes of a live record as this validator holds it; a decoded record is encoded again."""
        known = self._records.get(key)
        if known is None or known[0] != stored:
            return stored
        return self.encode(known[1])


class View:
    """Reads and writes of one block. Used once, until `flush`."""

    __slots__ = ("_batch", "_cache", "_journal", "_read", "_written")

    def __init__(self, batch: Batch, cache: DecodedCache) -> None:
        self._batch = batch
        self._cache = cache
        self._written: dict[bytes, object] = {}
        self._read: dict[bytes, object] = {}
        self._journal: list[tuple[dict[Any, Any], Any, Any]] = []

    def get(self, table: Table[Record], key: bytes) -> Record | None:
        """Return the record under a key of a table, or None."""
        # Without `cast`, which is a call: this runs for every field of every timer.
        if key in self._written:
            return self._written[key]  # type: ignore[return-value]
        if key in self._read:
            return self._read[key]  # type: ignore[return-value]
        stored = self._batch.get(key)
        record = None if stored is None else self._cache.decode(table, key, stored)
        # Absence, the most frequent answer, is remembered too.
        self._read[key] = record
        return record

    def at_start(self, table: Table[Record], key: bytes) -> Record | None:
        """Return the record that a key had at the block's start, whatever the block wrote."""
        if key in self._read:
            return cast("Record | None", self._read[key])
        stored = self._batch.get(key)
        return None if stored is None else self._cache.decode(table, key, stored)

    def set(self, key: bytes, record: object) -> None:
        """Put a record under a key; None deletes."""
        # Does what `change` does, without calling it: a storm writes three records for each timer.
        self._journal.append((self._written, key, self._written.get(key, _ABSENT)))
        self._written[key] = record

    def change(self, mapping: dict[Any, Any], key: object, value: object) -> None:
        """Put a value into a mapping of derived data that must follow rollbacks like the state itself."""
        # Either the old value or its absence is noted: a rollback must leave no key behind that was not there before.
        self._journal.append((mapping, key, mapping.get(key, _ABSENT)))
        mapping[key] = value

    def written_keys(self) -> Iterator[bytes]:
        """Yield the written keys, in the order of their first write."""
        yield from self._written

    def written(self) -> Iterator[tuple[bytes, bytes | None]]:
        """Yield all writes so far, encoded, None for deleted keys."""
        for key, record in self._written.items():
            yield key, None if record is None else self._cache.encode(record)

    def savepoint(self) -> int:
        """Return a mark to which `rollback` can go back."""
        return len(self._journal)

    def rollback(self, savepoint: int) -> None:
        """Undo every change since the mark, latest first."""
        journal = self._journal
        # Latest first: a key that was written twice must end with its first old value.
        while len(journal) > savepoint:
            mapping, key, before = journal.pop()
            if before is _ABSENT:
                del mapping[key]
            else:
                mapping[key] = before

    def flush(self) -> None:
        """Encode the writes into the batch, which leaves out unchanged values."""
        write, encode, remember = self._batch.write, self._cache.encode, self._cache.remember
        for key, record in self._written.items():
            if record is None:
                write(key, None)
            else:
                stored = encode(record)
                write(key, stored)
                # Kept even if this branch loses: an entry counts only where a state holds exactly these bytes.
                remember(key, stored, record)
