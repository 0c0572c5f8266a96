"""The contents of a chain's state as plain tables, and their encoding by docs/state.md.

A table is a dict. Every write goes through it, so that the writes of a call can be undone and the writes of a block
collected. Derived values are not kept: for example, a bucket's head is searched for at the end of the block.
"""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from checker.oracle.lane_config import Calendar, LaneConfig
from checker.oracle.operations import OperationLog
from checker.oracle.records import Genesis, TimerConfig, be8, keccak256, write

Key = TypeVar("Key")
Row = TypeVar("Row")

Fires = dict[bytes, int]
"""Number of fired timers by subject."""

LONGEST_PLAIN_STORAGE_KEY = 10


class Account(NamedTuple):
    """The units of an address, and the number of transactions it has sent."""

    balance: int
    nonce: int


class Actor(NamedTuple):
    """An actor's program and its owner."""

    program: str
    owner: bytes


class Quote(NamedTuple):
    """The fees that a timer's maker fixed; in every block `gba`, if set, is asked for a field that is None."""

    max_fee_per_cycle: int | None
    max_priority_fee_per_cycle: int | None
    gba: bytes | None


class Timer(NamedTuple):
    """A waiting timer, field by field as its record. A timer scheduled outside the timer lane has no quote."""

    timer_id: bytes
    actor: bytes
    due: int
    sequence: int
    payload: bytes
    handler: str
    fee_payer: bytes
    gas_limit: int
    gas_limit_is_default: bool
    expires_at: int
    quote: Quote | None = None


class Bucket(NamedTuple):
    """The timers of a due height: next sequence, number of live timers, whether it was made beyond the ring."""

    tail: int
    live: int
    queued: bool


class TimerCounts(NamedTuple):
    """An actor's timers: the number waiting, and the number ever scheduled."""

    live: int
    scheduled: int


class Message(NamedTuple):
    """A waiting message, field by field as its record."""

    sender: bytes
    actor: bytes
    handler: str
    payload: bytes
    cycles: int
    origin: bytes


class Basefees(NamedTuple):
    """Units burned for a cycle and for a cell."""

    cycle: int
    cell: int


class Market(NamedTuple):
    """The timer lane's market at the end of a block, field by field as its record."""

    basefee: int
    p50_tip: int
    used_cycles: int
    window_start: int
    activation_basefee: int
    burned: int


class Table(Generic[Key, Row]):
    """A table; the journal remembers the row that each write replaced.

    Args:
        journal: (table, key, row before) of each write, shared by all tables.
        place: The state key of a key.
        fields: The record of a row, or None for a row that has no entry.
    """

    def __init__(
        self,
        journal: list[tuple["Table[Any, Any]", Any, Any]],
        place: Callable[[Key], bytes],
        fields: Callable[[Key, Row], list[object] | None],
    ) -> None:
        self.rows: dict[Key, Row] = {}
        self._journal = journal
        self._place = place
        self._fields = fields

    def get(self, key: Key) -> Row | None:
        """Return the row of a key, or None."""
        return self.rows.get(key)

    def put(self, key: Key, row: Row | None) -> None:
        """Write a row; None removes it."""
        self._journal.append((self, key, self.rows.get(key)))
        self.restore(key, row)

    def restore(self, key: Key, row: Row | None) -> None:
        """Write a row without remembering the replaced row."""
        if row is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = row

    def entry(self, key: Key) -> tuple[bytes, bytes | None]:
        """Return the state key of a key, and its encoded value; None if the table has no entry for it."""
        row = self.rows.get(key)
        fields = None if row is None else self._fields(key, row)
        return self._place(key), None if fields is None else write(fields)


class OwnTable(NamedTuple):
    """A table of a policy, as its oracle declares it: the state key of a key, and the record of a row."""

    place: Callable[[Any], bytes]
    fields: Callable[[Any, Any], list[object] | None]


class Contents:
    """All tables, and the operation log that takes their changes at the end of a block."""

    def __init__(self) -> None:
        journal: list[tuple[Table[Any, Any], Any, Any]] = []
        self._journal = journal
        self._own: dict[OwnTable, Table[Any, Any]] = {}
        self.log = OperationLog()
        self.accounts = Table[bytes, Account](journal, lambda address: plain_key(1, address), _account_fields)
        self.actors = Table[bytes, Actor](journal, lambda address: plain_key(2, address), lambda _, row: list(row))
        self.storage = Table[tuple[bytes, bytes], bytes](journal, storage_key, _storage_fields)
        self.timers = Table[bytes, Timer](journal, lambda timer_id: hashed_key(5, timer_id), lambda _, row: list(row))
        self.buckets = Table[int, Bucket](
            journal, lambda due: plain_key(6, be8(due)), lambda due, row: [self._find_head(due, row), *row]
        )
        self.bucket_entries = Table[tuple[int, int], bytes](
            journal, lambda place: plain_key(7, be8(place[0]) + be8(place[1])), lambda _, timer_id: [timer_id]
        )
        self.counts = Table[bytes, TimerCounts](journal, lambda actor: plain_key(8, actor), lambda _, row: list(row))
        self.messages = Table[int, Message](
            journal, lambda sequence: plain_key(13, be8(sequence)), lambda _, row: list(row)
        )
        # Tables with a single row each.
        self.messages_sent = Table[None, int](journal, lambda _: plain_key(12, b""), lambda _, sent: self._queue(sent))
        self.basefees = Table[None, Basefees](journal, lambda _: plain_key(9, b""), lambda _, row: list(row))
        self.burned = Table[None, int](journal, lambda _: plain_key(10, b""), lambda _, total: [total])
        self.config = Table[None, TimerConfig](journal, lambda _: plain_key(11, b""), lambda _, row: list(row))
        self.calendar = Table[None, Calendar](journal, lambda _: plain_key(21, b""), lambda _, row: list(row))
        self._add_lane_tables(journal)

    def _add_lane_tables(self, journal: list[tuple[Table[Any, Any], Any, Any]]) -> None:
        self.lane_config = Table[None, LaneConfig](journal, lambda _: plain_key(14, b""), lambda _, row: list(row))
        self.market = Table[None, Market](journal, lambda _: plain_key(15, b""), lambda _, row: list(row))
        self.fires = Table[int, Fires](
            journal,
            lambda height: plain_key(16, be8(height)),
            lambda _, fires: [list(pair) for pair in sorted(fires.items())],
        )
        self.recent_fires = Table[bytes, int](journal, lambda subject: plain_key(17, subject), lambda _, count: [count])
        # The number of heights in each epoch and in the overflow tree, and the root of the tree.
        self.epochs = Table[int, int](journal, lambda epoch: plain_key(18, be8(epoch)), lambda _, heights: [heights])
        self.overflow = Table[None, tuple[int, bytes]](journal, lambda _: plain_key(19, b""), lambda _, row: list(row))
        self.gc_cursor = Table[None, tuple[int, int]](journal, lambda _: plain_key(20, b""), lambda _, row: list(row))

    def fork(self) -> "Contents":
        """Return an independent copy of the contents for another branch, taken between two blocks."""
        assert not self._journal, "a block is under way"
        other = Contents()
        for name, table in vars(self).items():
            if isinstance(table, Table):
                getattr(other, name).rows.update(table.rows)
        for kind, table in self._own.items():
            other.own(kind).rows.update(table.rows)
        other.log = self.log.fork()
        return other

    def own(self, kind: OwnTable) -> Table[Any, Any]:
        """Return a policy's own table, which is empty until the policy writes to it."""
        return self._own.setdefault(kind, Table(self._journal, kind.place, kind.fields))

    def account(self, address: bytes) -> Account:
        """Return an account; an account without an entry has no units."""
        return self.accounts.get(address) or Account(0, 0)

    def balance(self, address: bytes) -> int:
        """Return the units of an address."""
        return self.account(address).balance

    def credit(self, address: bytes, amount: int) -> None:
        """Add units to an address, or take them if the amount is negative."""
        account = self.account(address)
        assert account.balance + amount >= 0, f"{address.hex()} has {account.balance}, {-amount} were taken"
        self.accounts.put(address, account._replace(balance=account.balance + amount))

    def take_message(self, sequence: int) -> None:
        """Remove a message and rewrite the mailbox's record, which names the oldest waiting message."""
        self.messages.put(sequence, None)
        self.messages_sent.put(None, self.messages_sent.rows[None])

    def mark(self) -> int:
        """Return a mark: writes after it can be undone."""
        return len(self._journal)

    def take_back(self, mark: int) -> None:
        """Undo every write since a mark, the last first."""
        while len(self._journal) > mark:
            table, key, row = self._journal.pop()
            table.restore(key, row)

    def changed_values(self) -> list[bytes]:
        """Return the state keys of balances and stored values that changed since the block's start."""
        touched = dict.fromkeys(
            (table, key) for table, key, _ in self._journal if table is self.accounts or table is self.storage
        )
        found = []
        for table, key in touched:
            place, after = table.entry(key)
            before = self.log.values.get(place)
            if table is self.accounts:
                # The balance alone counts, and an account without an entry has the balance 0.
                is_same = self.balance(key) == (0 if before is None else msgspec.msgpack.decode(before)[0])
            else:
                is_same = before == after
            if not is_same:
                found.append(place)
        return found

    def settle(self) -> dict[bytes, bytes | None]:
        """End a block: return its changes, state key to encoded value, and append them to the log."""
        touched = dict.fromkeys((table, key) for table, key, _ in self._journal)
        self._journal.clear()
        changes: dict[bytes, bytes | None] = {}
        for table, key in touched:
            place, value = table.entry(key)
            if self.log.values.get(place) != value:
                changes[place] = value
        self.log.commit(changes)
        return changes

    def encode_all(self) -> dict[bytes, bytes]:
        """Return all entries, encoded again from the tables alone."""
        tables = [table for table in (*vars(self).values(), *self._own.values()) if isinstance(table, Table)]
        entries = (table.entry(key) for table in tables for key in table.rows)
        return {place: value for place, value in entries if value is not None}

    def units(self) -> int:
        """Return all units of all accounts and the burned total together."""
        return sum(account.balance for account in self.accounts.rows.values()) + (self.burned.get(None) or 0)

    def _queue(self, sent: int) -> list[object]:
        """Return the mailbox: the sequences of the oldest waiting message and of the next sent message."""
        return [min(self.messages.rows, default=sent), sent]

    def _find_head(self, due: int, bucket: Bucket) -> int:
        """Return the first sequence of a bucket that still has an entry; called only for a block's buckets."""
        entries = self.bucket_entries.rows
        return next(sequence for sequence in range(bucket.tail) if (due, sequence) in entries)


def contents_at_genesis(genesis: Genesis) -> Contents:
    """Return the state of block 0 before it is settled, without the tables of policies."""
    contents = Contents()
    for address, balance in genesis.accounts:
        contents.credit(address, balance)
    for address, program, owner, balance, storage in genesis.actors:
        contents.credit(address, balance)
        contents.actors.put(address, Actor(program, owner))
        for key, value in storage:
            contents.storage.put((address, key), value)
    contents.basefees.put(None, Basefees(genesis.cycle_basefee, genesis.cell_basefee))
    contents.burned.put(None, 0)
    contents.config.put(None, genesis.timer_config)
    contents.calendar.put(None, genesis.calendar)
    return contents


def plain_key(table: int, raw: bytes) -> bytes:
    """Return the state key of a raw key of at most 31 bytes: padded with zeros."""
    return (bytes([table]) + raw).ljust(32, b"\0")


def hashed_key(table: int, raw: bytes) -> bytes:
    """Return the state key of a longer raw key: hashed and cut."""
    return bytes([table]) + keccak256(raw)[:31]


def storage_key(place: tuple[bytes, bytes]) -> bytes:
    """Return the state key of an actor's storage."""
    actor, key = place
    if len(key) <= LONGEST_PLAIN_STORAGE_KEY:
        return plain_key(3, actor + bytes([len(key)]) + key)
    return hashed_key(4, actor + key)


def _account_fields(_address: bytes, account: Account) -> list[object] | None:
    return list(account) if account != (0, 0) else None


def _storage_fields(place: tuple[bytes, bytes], value: bytes) -> list[object]:
    actor, key = place
    return [value] if len(key) <= LONGEST_PLAIN_STORAGE_KEY else [actor, key, value]
