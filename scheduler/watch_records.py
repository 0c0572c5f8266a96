"""The tables of watches and the limits of state triggers (docs/state.md, watches)."""

from typing import Final, NamedTuple

import msgspec

from scheduler.errors import InvalidInput
from scheduler.tables import StateTable
from scheduler.types import MAX_U63, Parameters


class WatchLimits(NamedTuple):
    """The limits of state triggers in a block: timers that watch, keys that each watches, watchers looked at."""

    max_watches_per_actor: int
    max_keys_per_watch: int
    max_triggers_per_block: int


class TriggerConfig(Parameters, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The limits of state triggers as parameters of their own, where the policy's have none; it switches them on."""

    max_watches_per_actor: int = 64
    max_keys_per_watch: int = 8
    max_triggers_per_block: int = 1_000

    def __post_init__(self) -> None:
        """Refuse what no chain can run on.

        Raises:
            InvalidInput: A number is out of its range.
        """
        for name in self.__struct_fields__:
            value, least = getattr(self, name), int(name == "max_keys_per_watch")
            if not least <= value <= MAX_U63:
                raise InvalidInput(name, f"{value} must be within {least}..2^63-1")

    @classmethod
    def key_of(cls, field: str) -> str:
        """Return the key by which governance knows a field."""
        return "system:watch:" + field


class TimerWatch(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The keys that a timer watches, and its sequence among the watchers of each."""

    timer_id: bytes
    keys: tuple[bytes, ...]
    sequences: tuple[int, ...]


class WatchedKey(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A key that timers watch: `head` is the lowest live sequence, `tail` the next free one, `count` the live.

    `hit` is the index of its hit in the queue; None where none waits.
    """

    key: bytes
    head: int
    tail: int
    count: int
    hit: int | None


class Watcher(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The timer at one place among the watchers of a key."""

    key: bytes
    sequence: int
    timer_id: bytes


class WatchCount(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The number of an actor's timers that watch."""

    watching: int


class WatchBooks(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The number of timers that watch, and the indexes of the first hit in the queue and of the one to come."""

    watching: int
    head: int
    tail: int


class Hit(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A change of a key whose watchers with the sequences from `next_` on, below `end`, are still to trigger."""

    key: bytes
    next_: int
    end: int


WATCH: Final = StateTable(0x22, "watch", TimerWatch)
WATCHED_KEY: Final = StateTable(0x23, "watched key", WatchedKey)
WATCHER: Final = StateTable(0x24, "watcher", Watcher)
WATCH_COUNT: Final = StateTable(0x25, "watch count", WatchCount)
WATCH_BOOKS: Final = StateTable(0x26, "watch books", WatchBooks)
HIT: Final = StateTable(0x27, "hit", Hit)
TRIGGER_CONFIG: Final = StateTable(0x28, "trigger configuration", TriggerConfig)

WATCH_TABLES: Final = (WATCH, WATCHED_KEY, WATCHER, WATCH_COUNT, WATCH_BOOKS, HIT)
"""The tables of watches, which blocks of every policy write as timers that watch leave."""


def watch_key(timer_id: bytes) -> bytes:
    """Return the key of a timer's watch."""
    return WATCH.hashed_key(timer_id)


def watched_key_key(key: bytes) -> bytes:
    """Return the key of a watched key's record."""
    return WATCHED_KEY.hashed_key(key)


def watcher_key(key: bytes, sequence: int) -> bytes:
    """Return the key of a place among the watchers of a key."""
    return WATCHER.hashed_key(key + sequence.to_bytes(8, "big"))


def watch_count_key(actor: bytes) -> bytes:
    """Return the key of an actor's count."""
    return WATCH_COUNT.key(actor)


def hit_key(index: int) -> bytes:
    """Return the key of a hit."""
    return HIT.key(index.to_bytes(8, "big"))
