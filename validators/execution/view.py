"""The state as a running block sees and changes it: decoded records over a speculative batch.

Invariants: a record is decoded at most once a block. Writes reach the batch once, at `flush`, which is the only place
where records are encoded. Every change made since a savepoint can be rolled back.
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


class StateCodec:
    """A validator's codec of records. It keeps no record: a decoded copy of the state took a quarter of the memory."""

    def __init__(self) -> None:
        self._decoders: dict[int, msgspec.msgpack.Decoder[Any]] = {}
        self.encode = msgspec.msgpack.Encoder().encode

    def decode(self, table: Table[Record], key: bytes, stored: bytes) -> Record:
        """Return the record that `stored` encodes.

        Raises:
            CorruptStateError: The bytes are not a record of the table.
        """
        decoder = self._decoders.get(table.code)
        if decoder is None:
            decoder = self._decoders[table.code] = msgspec.msgpack.Decoder(table.record)
        try:
            return cast("Record", decoder.decode(stored))
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise CorruptStateError(f"{table.name} {key.hex()}: {error}") from None


class View:
    """Reads and writes of one block. Used once, until `flush`."""

    __slots__ = ("_batch", "_codec", "_journal", "_read", "_written")

    def __init__(self, batch: Batch, codec: StateCodec) -> None:
        self._batch = batch
        self._codec = codec
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
        record = None if stored is None else self._codec.decode(table, key, stored)
        # Absence, the most frequent answer, is remembered too.
        self._read[key] = record
        return record

    def at_start(self, table: Table[Record], key: bytes) -> Record | None:
        """Return the record that a key had at the block's start, whatever the block wrote."""
        if key in self._read:
            return cast("Record | None", self._read[key])
        stored = self._batch.get(key)
        return None if stored is None else self._codec.decode(table, key, stored)

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
            yield key, None if record is None else self._codec.encode(record)

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
        write, encode = self._batch.write, self._codec.encode
        for key, record in self._written.items():
            write(key, None if record is None else encode(record))
