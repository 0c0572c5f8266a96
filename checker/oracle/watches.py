"""State-triggered timers: the watches of keys, and the queue of hits (docs/bias-auction.md, "State-triggered timers").

Tables are as in docs/state.md, "Watches".
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from checker.oracle import escrow
from checker.oracle.contents import Bucket, Contents, OwnTable, Timer, hashed_key, plain_key, storage_key
from checker.oracle.parameters import hold, whole
from checker.oracle.records import be8

WATCHES, TRIGGERED = 17, 18
"""Tags of the events of a watch that begins and of a watch that ends with a change."""

CELLS_OF_KEY = 64


class Limits(NamedTuple):
    """The limits of state triggers: watching timers of an actor, keys of a timer, places that a block visits."""

    watches: int
    keys: int
    looks: int


class Watched(NamedTuple):
    """A watched key: lowest live place, next place, live places, and the number of its hit in the queue."""

    head: int = 0
    tail: int = 0
    live: int = 0
    hit: int | None = None


class TriggerConfig(NamedTuple):
    """The limits of state triggers as parameters of their own, field by field as their record."""

    max_watches_per_actor: int
    max_keys_per_watch: int
    max_triggers_per_block: int


CONFIG: Final = OwnTable(lambda _: plain_key(0x28, b""), lambda _, row: list(row))
WATCH: Final = OwnTable(
    lambda timer_id: hashed_key(0x22, timer_id),
    lambda timer_id, places: [timer_id, [key for key, _ in places], [place for _, place in places]],
)
WATCHED: Final = OwnTable(lambda key: hashed_key(0x23, key), lambda key, row: [key, *row])
WATCHER: Final = OwnTable(
    lambda place: hashed_key(0x24, place[0] + be8(place[1])), lambda place, timer_id: [*place, timer_id]
)
COUNT: Final = OwnTable(lambda actor: plain_key(0x25, actor), lambda _, count: [count])
BOOKS: Final = OwnTable(lambda _: plain_key(0x26, b""), lambda _, row: list(row))
HIT: Final = OwnTable(lambda index: plain_key(0x27, be8(index)), lambda _, row: list(row))


def trigger_config_of(fields: Sequence[Any]) -> TriggerConfig | None:
    """Return the limits of these fields, or None if a field breaks its rule."""
    return TriggerConfig(*fields) if hold((whole(), whole(1), whole()), fields) else None


def key_of(address: bytes, key: bytes | None) -> bytes:
    """Return the key of the state under which a balance, or a value of an actor's storage, is or would be."""
    return plain_key(1, address) if key is None else storage_key((address, key))


def refusal(contents: Contents, actor: bytes, keys: Sequence[bytes], limits: Limits | None) -> str:
    """Return the error of a timer that is to watch these keys, or an empty string."""
    if limits is None or not 1 <= len(keys) <= limits.keys or len(keys) != len(frozenset(keys)):
        return "InvalidInput"
    return "TooManyWatches" if (contents.own(COUNT).get(actor) or 0) >= limits.watches else ""


def is_watching(contents: Contents, timer_id: bytes) -> bool:
    """Return whether a timer watches."""
    return contents.own(WATCH).get(timer_id) is not None


def begin(contents: Contents, timer: Timer, keys: Sequence[bytes]) -> None:
    """Write a new timer's watch, at the last place of each key; without keys there is no watch."""
    if not keys:
        return
    places = []
    for key in keys:
        watched = contents.own(WATCHED).get(key) or Watched()
        place = watched.tail
        contents.own(WATCHER).put((key, place), timer.timer_id)
        head = watched.head if watched.live else place
        _put(contents, key, watched._replace(head=head, tail=place + 1, live=watched.live + 1))
        places.append((key, place))
    contents.own(WATCH).put(timer.timer_id, tuple(places))
    _count(contents, timer.actor, 1)


def end(contents: Contents, timer: Timer) -> None:
    """Remove a timer's watch, if any."""
    places = contents.own(WATCH).get(timer.timer_id)
    if places is None:
        return
    for key, place in places:
        contents.own(WATCHER).put((key, place), None)
        watched = contents.own(WATCHED).rows[key]
        live = watched.live - 1
        head = watched.tail
        if live:
            head = next(it for it in range(watched.head, watched.tail) if (key, it) in contents.own(WATCHER).rows)
        _put(contents, key, watched._replace(head=head, live=live))
    contents.own(WATCH).put(timer.timer_id, None)
    _count(contents, timer.actor, -1)


def trigger(contents: Contents, now: int, limits: Limits) -> tuple[list[Timer], list[list[object]]]:
    """Queue the hits of an ended block, process the queue, and return the triggered timers as they wait, with events.

    All changes of the block count: by transactions, fires, payments and messages.
    """
    _queue_hits(contents)
    watching, head, tail = _books(contents)
    hit_timers: list[tuple[Timer, bytes]] = []
    looks = limits.looks
    while looks and head < tail:
        key, place, behind = contents.own(HIT).rows[head]
        while looks and place < behind:
            looks -= 1
            timer_id = contents.own(WATCHER).get((key, place))
            place += 1
            timer = None if timer_id is None else contents.timers.rows[timer_id]
            # By the next block it would have expired: it continues to watch until the clean-up.
            if timer is not None and timer.expires_at > now:
                end(contents, timer)
                hit_timers.append((timer, key))
        if place < behind:
            contents.own(HIT).put(head, (key, place, behind))
        else:
            contents.own(HIT).put(head, None)
            _put(contents, key, contents.own(WATCHED).rows[key]._replace(hit=None))
            head += 1
    watching = _books(contents)[0]
    _put_books(contents, watching, *((0, 0) if head == tail else (head, tail)))
    moved = [_move(contents, timer, now) for timer, _ in hit_timers]
    events: list[list[object]] = [
        [TRIGGERED, timer.timer_id, timer.due, timer.sequence, key]
        for timer, (_, key) in zip(moved, hit_timers, strict=True)
    ]
    return moved, events


def audit(contents: Contents) -> str:
    """Return the contradiction of the tables of watches with each other or the timers, empty if they agree."""
    places: dict[tuple[bytes, int], bytes] = {}
    for timer_id, watched in contents.own(WATCH).rows.items():
        if timer_id not in contents.timers.rows:
            return f"timer {timer_id.hex()} watches and is gone"
        places |= dict.fromkeys(watched, timer_id)
    if places != contents.own(WATCHER).rows:
        return f"{len(contents.own(WATCHER).rows)} places have a watcher, timers name {len(places)}"
    live: dict[bytes, int] = {}
    for key, _ in places:
        live[key] = live.get(key, 0) + 1
    for key, row in contents.own(WATCHED).rows.items():
        if row.live != live.get(key, 0):
            return f"key {key.hex()} has {live.get(key, 0)} watchers and counts {row.live}"
    return ""


def _queue_hits(contents: Contents) -> None:
    """Add a hit for each watched key that the block changed; a present hit is widened."""
    watching, head, tail = _books(contents)
    for key in sorted(contents.changed_values()):
        watched = contents.own(WATCHED).get(key)
        if watched is None or not watched.live:
            continue
        if watched.hit is None:
            contents.own(HIT).put(tail, (key, watched.head, watched.tail))
            _put(contents, key, watched._replace(hit=tail))
            tail += 1
        else:
            _, place, _ = contents.own(HIT).rows[watched.hit]
            contents.own(HIT).put(watched.hit, (key, place, watched.tail))
    _put_books(contents, watching, head, tail)


def _move(contents: Contents, timer: Timer, now: int) -> Timer:
    """Move a timer, with its bid, to the end of the bucket of the present."""
    bid = escrow.release(contents, timer)
    contents.bucket_entries.put((timer.due, timer.sequence), None)
    left = contents.buckets.rows[timer.due]
    contents.buckets.put(timer.due, left._replace(live=left.live - 1) if left.live > 1 else None)
    bucket = contents.buckets.get(now) or Bucket(0, 0, queued=False)
    moved = timer._replace(due=now, sequence=bucket.tail)
    contents.buckets.put(now, bucket._replace(tail=bucket.tail + 1, live=bucket.live + 1))
    contents.bucket_entries.put((now, moved.sequence), moved.timer_id)
    contents.timers.put(moved.timer_id, moved)
    if bid:
        contents.own(escrow.BIDS).put((moved.due, moved.sequence), (moved.timer_id, bid))
    return moved


def _put(contents: Contents, key: bytes, watched: Watched) -> None:
    """Write a watched key, which is kept while a timer watches it or its hit waits."""
    contents.own(WATCHED).put(key, watched if watched.live or watched.hit is not None else None)


def _count(contents: Contents, actor: bytes, change: int) -> None:
    count = (contents.own(COUNT).get(actor) or 0) + change
    contents.own(COUNT).put(actor, count or None)
    watching, head, tail = _books(contents)
    _put_books(contents, watching + change, head, tail)


def _books(contents: Contents) -> tuple[int, int, int]:
    """Return the number of timers that watch, and the first and the next number of a hit."""
    row: Any = contents.own(BOOKS).get(None)
    return row or (0, 0, 0)


def _put_books(contents: Contents, watching: int, head: int, tail: int) -> None:
    contents.own(BOOKS).put(None, (watching, head, tail) if watching or tail else None)
