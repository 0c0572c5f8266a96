"""Lists in which timers wait: those that forks share, calendars, trees, buckets, and the queue by keys.

A drawn chain has few timers beside a piece of the list or an epoch of the calendar, and its parameters rarely change
while heights wait in all tiers. Here lists go over many pieces and lose whole ones, rings are shorter than epochs, the
present jumps over both, and forks go on from any block. What has to come out is sorted out of dictionaries, and a
tier is what docs/state.md says.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from scheduler import buckets
from scheduler.buckets import Bucket
from scheduler.calendar import CalendarProfile, Tier
from scheduler.errors import InvalidInput
from scheduler.height_tree import EMPTY, HeightTree
from scheduler.ready_queue import QueueRules, ReadyQueue
from scheduler.types import MAX_U63, Quote, Timer
from tests.properties.draws import Asked, Draw
from validators.execution.heights import BranchHeights, scan_buckets
from validators.execution.timer_list import NO_TIMERS, PIECE, TimerList

_LISTS: Final = 2
_LIST_STEPS: Final = 7
_BLOCKS: Final = 9
_TREE_STEPS: Final = 14
_BUCKET_STEPS: Final = 24
_QUEUE_STEPS: Final = 4
_NEAR: Final = 8
_FAR: Final = 10**6
_QUEUED, _UNQUEUED = b"\xc3", b"\xc2"


def check_waiting_lists(draw: Draw) -> Asked:
    """Yield what is asked of lists, calendars, trees, buckets and queues, and whether it is so."""
    for _ in range(_LISTS):
        yield from _check_list(draw)
    yield from _check_calendars(draw)
    yield from _check_profiles(draw)
    yield from _check_tree(draw)
    yield from _check_buckets(draw)
    for is_price_first in (False, True):
        yield from _check_queue(draw, is_price_first=is_price_first)


def _timer(due: int, sequence: int, *, timer_id: bytes = b"", price: int = 0) -> Timer:
    return Timer(
        timer_id=timer_id,
        actor=b"",
        due=due,
        sequence=sequence,
        payload=b"",
        handler="",
        fee_payer=b"",
        gas_limit=1,
        gas_limit_is_default=False,
        expires_at=MAX_U63,
        quote=Quote(price, 0),
    )


def _place(timer: Timer) -> tuple[int, int]:
    return timer.due, timer.sequence


def _check_list(draw: Draw) -> Asked:
    """Change a list and extend it, and look at every version of it at the end: forks share them."""
    plain = _later([], draw(4 * PIECE) if draw(2) else PIECE * draw(5) + draw(2), draw)
    versions = [(TimerList.of(plain), plain)]
    for _ in range(_LIST_STEPS):
        listed, plain = versions[draw(len(versions))] if draw(4) == 0 else versions[-1]
        if draw(2):
            more = _later(plain, (0, 1, 1 + draw(PIECE + 2))[draw(3)], draw)
            versions.append((listed.extended(more), [*plain, *more]))
            continue
        changes = _draw_changes(plain, draw)
        kept = [changes.get(_place(timer), timer) for timer in plain]
        versions.append((listed.changed(changes), [timer for timer in kept if timer is not None]))
    for listed, plain in versions:
        yield "a list has other timers than were put into it", [*listed] == plain
        yield "a list miscounts its timers", len(listed) == len(plain)
    yield from _compare_places(*versions[draw(len(versions))], draw)
    yield from _compare_places(*versions[-1], draw)
    yield "the list without timers has some", [*NO_TIMERS] == [] and len(NO_TIMERS) == 0


def _later(plain: Sequence[Timer], count: int, draw: Draw) -> list[Timer]:
    """Return timers behind all of a list, some at the last one's height."""
    due, sequence = _place(plain[-1]) if plain else (1, 0)
    more: list[Timer] = []
    for _ in range(count):
        step = draw(6)
        due, sequence = (due, sequence + 1 + step % 2) if step < 4 else (due + 1 + step % 2, step % 2)
        more.append(_timer(due, sequence))
    return more


def _draw_changes(plain: Sequence[Timer], draw: Draw) -> dict[tuple[int, int], Timer | None]:
    """Return what a block does to a run of a list's timers, and to places where there is none."""
    start, count = draw(len(plain) + 1), 1 + draw(PIECE)
    is_all_gone = draw(2) == 0
    if is_all_gone:
        # Whole pieces, as long as no other change has moved them.
        start, count = PIECE * draw(len(plain) // PIECE + 1), PIECE * (1 + draw(2))
    changes: dict[tuple[int, int], Timer | None] = {}
    for timer in plain[start : start + count]:
        what = 0 if is_all_gone else draw(3)
        if what < 2:
            changes[_place(timer)] = None if what == 0 else _timer(*_place(timer), price=1)
    places = {_place(timer): None for timer in plain}
    for place in ((0, 0), (_FAR, 0), (1 + draw(40), draw(9))):
        if place not in places and draw(2):
            changes[place] = _timer(*place) if draw(2) else None
    return changes


def _compare_places(listed: TimerList, plain: Sequence[Timer], draw: Draw) -> Asked:
    found = [listed.at(_place(timer)) for timer in plain]
    yield "a place of a list has another timer", found == [*plain]
    held = {_place(timer): timer for timer in plain}
    for place in ((0, 0), (_FAR, 0), *((1 + draw(60), draw(6)) for _ in range(4))):
        yield "a place of a list has another timer", listed.at(place) == held.get(place)
    start, stop = draw(len(plain) + 2), draw(len(plain) + 2)
    yield "a part of a list has other timers", listed[start:stop] == tuple(plain[start:stop])
    yield "the last timer of a list is another one", not plain or listed[-1] == plain[-1] == listed[len(plain) - 1]


class _Block(NamedTuple):
    """A block's present, profile and buckets, and the heights that it derives from these."""

    heights: BranchHeights
    now: int
    profile: CalendarProfile
    records: dict[int, bytes]

    def tiers(self, now: int | None = None) -> dict[int, Tier]:
        """Return the tier of every height that is not due, at the block's present or at another one."""
        present = self.now if now is None else now
        length, tiers = self.profile.epoch_length, dict[int, Tier]()
        for height, record in self.records.items():
            ahead = height // length - present // length
            if height <= present:
                continue
            if height - present < self.profile.ring_size and (record.endswith(_UNQUEUED) or ahead <= 0):
                tiers[height] = Tier.RING
            else:
                tiers[height] = Tier.EPOCH if ahead <= self.profile.epoch_horizon else Tier.OVERFLOW
        return tiers


def _record(draw: Draw, *, is_queued: bool) -> bytes:
    """Return the record of some bucket."""
    return bytes((0x94, draw(9), 9 + draw(9), 1 + draw(9))) + (_QUEUED if is_queued else _UNQUEUED)


def _draw_profile(draw: Draw) -> CalendarProfile:
    return CalendarProfile(1 + draw(7), 1 + draw(6), draw(4))


def _check_calendars(draw: Draw) -> Asked:
    """Lead calendars on, each from some block before it, and make each anew from the buckets alone."""
    profile, now = _draw_profile(draw), draw(20)
    records: dict[int, bytes] = {}
    for _ in range(4 + draw(10)):
        records[draw(now + 40)] = _record(draw, is_queued=draw(2) == 0)
    blocks = [_Block(BranchHeights(profile, now, records.items()), now, profile, records)]
    for _ in range(_BLOCKS):
        parent = blocks[draw(len(blocks))] if draw(3) == 0 else blocks[-1]
        now = parent.now + (draw(3), draw(5), draw(30))[draw(3)]
        heights, left = parent.heights.next_block(now)
        tiers, after = parent.tiers(), parent.tiers(now)
        beyond = [height for height, tier in tiers.items() if tier is Tier.OVERFLOW]
        yield (
            "other heights leave the overflow tree than come within the horizon",
            left == sum(after.get(height) is not Tier.OVERFLOW for height in beyond),
        )
        yield from _compare_calendar(parent._replace(heights=heights, now=now), draw)
        child = _run(parent._replace(heights=heights, now=now), draw)
        yield from _compare_calendar(child, draw)
        yield "a block that is over has heights that it has yet to look at", heights.touched == {}
        blocks.append(child)
        asked = now + draw(2 * parent.profile.ring_size + 1)
        yield (
            "a bucket is queued, or not, otherwise than by the ring's reach",
            parent.profile.is_queued(asked, now) == (asked - now >= parent.profile.ring_size),
        )
    for place, block in enumerate(blocks):
        # Every other one made anew, from buckets in another order than they came in.
        anew = BranchHeights(block.profile, block.now, reversed(block.records.items()))
        yield from _compare_calendar(block._replace(heights=anew if place % 2 else block.heights), draw)
    yield from _check_scan(blocks[-1].records, draw)


def _run(block: _Block, draw: Draw) -> _Block:
    """Let a block change buckets, and now and then the profile, and its calendar take that over."""
    heights, records = block.heights, {**block.records}
    for _ in range(draw(10)):
        # Often one near the end of the ring, where a bucket that is made anew changes its tier.
        known = [height for height in records if 0 < height - block.now < _NEAR] if draw(2) else [*records]
        is_known = len(known) > 0 and draw(3) > 0
        height = known[draw(len(known))] if is_known else max(0, block.now - 3) + draw((8, 40)[draw(2)])
        before = records.get(height)
        if height not in heights.touched:
            heights.touched[height] = None if before is None else before.endswith(_QUEUED)
        # Gone, written again, or gone and made anew, by the present of this block.
        what = draw(3)
        if what == 0 and before is not None:
            del records[height]
        elif what == 1 and before is not None:
            records[height] = _record(draw, is_queued=before.endswith(_QUEUED))
        else:
            records[height] = _record(draw, is_queued=height - block.now >= block.profile.ring_size)
    profile = block.profile if draw(4) else _draw_profile(draw)
    heights.settle(profile, records.get)
    return block._replace(records=records, profile=profile)


def _compare_calendar(block: _Block, draw: Draw) -> Asked:
    heights, tiers = block.heights, block.tiers()
    yield "a calendar has another present or profile", (heights.now, heights.profile) == (block.now, block.profile)
    epochs: dict[int, int] = {}
    for height, tier in tiers.items():
        if tier is Tier.EPOCH:
            epoch = height // block.profile.epoch_length
            epochs[epoch] = epochs.get(epoch, 0) + 1
    yield "an epoch has other heights than wait for it", heights.epochs == epochs
    beyond = sorted(height for height, tier in tiers.items() if tier is Tier.OVERFLOW)
    yield "other heights are beyond the horizon", [*heights.overflow] == beyond and len(heights.overflow) == len(beyond)
    if beyond and draw(3) == 0:
        yield (
            "the tree of heights beyond the horizon has another root",
            heights.overflow.root() == _tree_root(beyond, block.records),
        )
    held = sorted(block.records)
    yield "a calendar has other heights than have buckets", heights.due_heights(_FAR) == held
    after, upto = block.now - 3 + draw(7), block.now + (draw(2), draw(9) - 4, draw(40))[draw(3)]
    due = [height for height in held if after < height <= upto]
    yield "other heights are due", heights.due_heights(upto, after) == due
    asked = block.now + block.profile.ring_size - draw(2)
    yield (
        "a bucket is queued, or not, otherwise than by the ring's reach",
        heights.is_queued(asked) == (asked - block.now >= block.profile.ring_size),
    )


def _check_scan(records: Mapping[int, bytes], draw: Draw) -> Asked:
    """Find buckets among entries of other tables, whatever order these come in."""
    items = [(b"\x06" + height.to_bytes(8, "big") + bytes(23), record) for height, record in records.items()]
    items += [(bytes((code,)) + draw(99).to_bytes(8, "big") + bytes(23), b"other") for code in (5, 7)]
    if draw(2):
        items.reverse()
    found = scan_buckets(items)
    yield "other buckets are found in a state, or in another order", [*found.items()] == sorted(records.items())


def _check_profiles(draw: Draw) -> Asked:
    """Make profiles whose sizes are at the edge of what a chain can run on."""
    for field, (least, greatest) in {0: (1, 65_536), 1: (1, MAX_U63), 2: (0, 65_536)}.items():
        size = (least - 1, least, greatest, greatest + 1)[draw(4)]
        sizes = [4, 4, 4]
        sizes[field] = size
        try:
            CalendarProfile(*sizes)
            is_refused = False
        except InvalidInput:
            is_refused = True
        yield "a profile is refused, or taken, otherwise than by its ranges", is_refused != (least <= size <= greatest)


def _tree_root(heights: Sequence[int], records: Mapping[int, bytes]) -> bytes:
    """Return the root of ascending heights, by docs/state.md."""
    if len(heights) == 1:
        return hashlib.sha256(b"\x00" + heights[0].to_bytes(8, "big") + records[heights[0]]).digest()
    bit = 64 - (heights[0] ^ heights[-1]).bit_length()
    low = [height for height in heights if not height >> (63 - bit) & 1]
    both = _tree_root(low, records) + _tree_root(heights[len(low) :], records)
    return hashlib.sha256(b"\x01" + bytes((bit,)) + both).digest()


def _check_tree(draw: Draw) -> Asked:
    """Change a tree of heights that lie close together and far apart, and look at each version at the end."""
    versions: list[tuple[HeightTree, dict[int, bytes]]] = [(EMPTY, {})]
    for _ in range(_TREE_STEPS):
        tree, records = versions[-1] if draw(4) else versions[draw(len(versions))]
        what = draw(6)
        if what == 0:
            last = [*records][draw(len(records))] - draw(2) if records else 0
            taken, tree = tree.take(last)
            yield "other heights are taken out of a tree", taken == sorted(each for each in records if each <= last)
            records = {height: record for height, record in records.items() if height > last}
        elif what == 1 and records:
            height = [*records][draw(len(records))]
            tree = tree.drop(height)
            records = {each: record for each, record in records.items() if each != height}
        else:
            is_known = records and draw(4) == 0
            height = [*records][draw(len(records))] if is_known else (1 << draw(63)) - 1 + draw(2) * draw(4)
            record = bytes((draw(256),))
            tree = tree.put(height, record)
            records = {**records, height: record}
        versions.append((tree, records))
    for tree, records in versions:
        held = sorted(records)
        yield "a tree has other heights than were put into it", [*tree] == held and len(tree) == len(held)
        yield "a tree of heights has another root", not held or tree.root() == _tree_root(held, records)


class _Table:
    """Buckets and their entries as a state keeps them."""

    def __init__(self) -> None:
        self.buckets: dict[int, Bucket] = {}
        self.entries: dict[tuple[int, int], bytes] = {}

    def bucket(self, due: int) -> Bucket | None:
        """Return a height's bucket."""
        return self.buckets.get(due)

    def set_bucket(self, due: int, bucket: Bucket | None) -> None:
        """Put a height's bucket; None removes it."""
        self.buckets.pop(due, None)
        self.buckets |= {} if bucket is None else {due: bucket}

    def entry(self, due: int, sequence: int) -> bytes | None:
        """Return the identifier at a place."""
        return self.entries.get((due, sequence))

    def set_entry(self, due: int, sequence: int, timer_id: bytes | None) -> None:
        """Put an identifier at a place; None removes it."""
        self.entries.pop((due, sequence), None)
        self.entries |= {} if timer_id is None else {(due, sequence): timer_id}


def _check_buckets(draw: Draw) -> Asked:
    """Put timers into buckets and take them out, from the head, from between, and to the last."""
    table = _Table()
    live: dict[tuple[int, int], bytes] = {}
    ends: dict[int, int] = {}
    flags: dict[int, bool] = {}
    for step in range(_BUCKET_STEPS):
        due = draw(2)
        held = sorted(place for place in live if place[0] == due)
        # Many come first; most leave from between, so that the head passes several gaps.
        if held and draw(_BUCKET_STEPS) < step:
            place = held[draw(len(held)) if draw(3) else 0]
            buckets.take(table, *place)
            del live[place]
            if len(held) == 1:
                del ends[due], flags[due]
        else:
            end, is_queued = ends.get(due, 0), draw(2) == 0
            yield "another sequence comes next", buckets.next_sequence(table, due) == end
            yield "a timer gets another sequence", buckets.append(table, due, b"%d" % step, is_queued=is_queued) == end
            live[due, end] = b"%d" % step
            ends[due] = end + 1
            flags.setdefault(due, is_queued)
        expected: dict[int, Bucket] = {}
        for number, end in ends.items():
            sequences = sorted(sequence for each, sequence in live if each == number)
            expected[number] = Bucket(sequences[0], end, len(sequences), flags[number])
        yield "a bucket counts its timers otherwise than they are", table.buckets == expected
        yield "other timers have a place in their bucket", table.entries == live
        listed = [(sequence, timer_id) for (each, sequence), timer_id in sorted(live.items()) if each == due]
        yield "a bucket is read as other timers than it has", [*buckets.read(table, due)] == listed


def _check_queue(draw: Draw, *, is_price_first: bool) -> Asked:
    """Put entries into the queue by keys and take them out, and walk in between: what comes later is in order too."""
    queue = QueueRules(is_price_first=is_price_first).open_pool()
    held: list[Timer] = []
    for step in range(_QUEUE_STEPS):
        for number in range(draw(9)):
            # Identifiers whose bytes order otherwise than their integers do.
            timer_id = bytes((draw(3), draw(3), step, number)) + bytes(28)
            held.append(_timer(draw(4), 0, timer_id=timer_id, price=draw(3)))
            queue.add(held[-1])
        for _ in range(draw(5) if held else 0):
            if held:
                queue.discard(held.pop(draw(len(held))))
        yield from _compare_queue(queue, held, draw(5) - 1, is_price_first=is_price_first)
    while held:
        queue.discard(held.pop())
    yield from _compare_queue(queue, held, -1, is_price_first=is_price_first)


def _compare_queue(queue: ReadyQueue, held: Sequence[Timer], after: int, *, is_price_first: bool) -> Asked:
    def price(timer: Timer) -> int:
        assert timer.quote is not None, "an entry of the queue has a price"
        return timer.quote.max_fee_per_cycle or 0

    by_key = sorted(held, key=lambda each: (each.due, -price(each), int.from_bytes(each.timer_id, "little")))
    listed = [timer for timer in by_key if timer.due >= after]
    in_turn = sorted(listed, key=lambda each: -price(each)) if is_price_first else listed
    yield "entries of the queue come in another order than their keys", [*queue.in_key_order(after)] == listed
    yield "entries of the queue are taken in another order", [*queue.in_turn(after)] == in_turn
    yield "entries before a slot are miscounted", queue.count_before(after) == len(held) - len(listed)
    yield "entries of the queue are miscounted", len(queue) == len(held)
    yield "a walk over all entries of the queue leaves some out", [*queue.in_key_order()] == by_key
