"""The tables of timers: blocks that insert, extend, remove and bring forward, and calls that fail.

In a run a call that fails has rarely changed a timer that waits, and a fork rarely goes on from the block whose pool is
kept. Here blocks stand on any earlier block, and calls are taken back in the midst of them. What has to be left is
kept in plain dictionaries.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, cast

import msgspec

from cluster.differential.stages import StoredValues
from scheduler.calendar import CalendarProfile
from scheduler.pool import PoolRules
from scheduler.types import Quote, Timer
from tests.properties.draws import Asked, Draw
from validators.execution.heights import BranchHeights
from validators.execution.schema import bucket_key
from validators.execution.timers import NOTHING_READ, PoolKeeper, StateTimers, TimerKeys, Waiting
from validators.execution.view import StateCodec, View
from validators.state import Batch

_BLOCKS: Final = 7
_STEPS: Final = 9
_ACTORS: Final = 3
_AHEAD: Final = 5
_FAR: Final = 10**6
_RULES: Final = PoolRules(gas_limit_cap=9, default_gas_limit=9, legacy_max_fee=1, is_by_age=True)


@dataclass(frozen=True, slots=True)
class _Plain:
    """The live timers by identifier, the next sequence of each height that has some, and insertions by actor."""

    live: Mapping[bytes, Timer]
    tails: Mapping[int, int]
    scheduled: Mapping[bytes, int]

    def with_timer(self, timer: Timer) -> "_Plain":
        """Return these with a new timer at the tail of its height."""
        scheduled = {**self.scheduled, timer.actor: self.scheduled.get(timer.actor, 0) + 1}
        return _Plain({**self.live, timer.timer_id: timer}, {**self.tails, timer.due: timer.sequence + 1}, scheduled)

    def without(self, timer: Timer) -> "_Plain":
        """Return these without a timer; a height that is emptied begins again."""
        live = {timer_id: each for timer_id, each in self.live.items() if timer_id != timer.timer_id}
        is_empty = all(each.due != timer.due for each in live.values())
        tails = {due: tail for due, tail in self.tails.items() if due != timer.due or not is_empty}
        return _Plain(live, tails, self.scheduled)

    def upto(self, due: int) -> list[Timer]:
        """Return the timers that are due, in waiting order."""
        return sorted((timer for timer in self.live.values() if timer.due <= due), key=_place)


@dataclass(frozen=True, slots=True)
class _Block:
    """A block that is over: what its children start from."""

    now: int
    stored: StoredValues
    heights: BranchHeights
    waiting: Waiting
    plain: _Plain


@dataclass(slots=True)
class _Run:
    """A block under way."""

    timers: StateTimers
    view: View
    now: int
    plain: _Plain
    draw: Draw

    def step(self) -> None:
        """Insert a timer, or extend or remove one."""
        what, known = self.draw(4), [*self.plain.live.values()]
        if what < 2 or not known:
            due = self.now + 1 + self.draw(_AHEAD)
            timer = _timer(self.draw.digest(), self.draw(_ACTORS), due, self.plain.tails.get(due, 0))
            self.timers.insert(timer)
            self.plain = self.plain.with_timer(timer)
            return
        timer = known[self.draw(len(known))]
        if what == 2:
            longer = msgspec.structs.replace(timer, expires_at=timer.expires_at + 1)
            self.timers.replace(longer)
            self.plain = _Plain({**self.plain.live, timer.timer_id: longer}, self.plain.tails, self.plain.scheduled)
        else:
            self.timers.remove(timer)
            self.plain = self.plain.without(timer)

    def fail(self) -> None:
        """Let a call do a few things and come to nothing."""
        savepoint, before = self.view.savepoint(), self.plain
        for _ in range(1 + self.draw(3)):
            self.step()
        self.view.rollback(savepoint)
        self.plain = before

    def bring_forward(self) -> None:
        """Make a few timers due at once."""
        later = [timer for timer in self.plain.live.values() if timer.due > self.now and self.draw(4) == 0]
        self.timers.bring_forward(later, self.now)
        for timer in later:
            sequence = self.plain.without(timer).tails.get(self.now, 0)
            scheduled = self.plain.scheduled
            moved = msgspec.structs.replace(timer, due=self.now, sequence=sequence)
            plain = self.plain.without(timer).with_timer(moved)
            self.plain = _Plain(plain.live, plain.tails, scheduled)


def check_timer_tables(draw: Draw) -> Asked:
    """Yield whether blocks leave the timers, the counts and the waiting list that their calls make."""
    profile = CalendarProfile(1 + draw(4), 1 + draw(4), draw(3))
    codec, keys, pools = StateCodec(), TimerKeys(), PoolKeeper()
    none = _Plain({}, {}, {})
    blocks = [_Block(0, StoredValues(), BranchHeights(profile, 0), NOTHING_READ, none)]
    for _ in range(_BLOCKS):
        parent = blocks[-1] if draw(4) else blocks[draw(len(blocks))]
        now, stored = parent.now + 1 + draw(2), StoredValues(parent.stored)
        heights, _ = parent.heights.next_block(now)
        view = View(cast("Batch", stored), codec)
        # Now and then as a restart does, which has no list.
        carried = parent.waiting if draw(4) else NOTHING_READ
        run = _Run(StateTimers(view, heights, carried, keys, pools=pools), view, now, parent.plain, draw)
        has_pool = draw(2) == 0
        if not has_pool:
            yield "other timers are due than wait", [*run.timers.collect(now)] == run.plain.upto(now)
        for _ in range(_STEPS):
            (run.fail if draw(3) == 0 else run.step)()
        if has_pool:
            found = [*run.timers.collect_pool(now, _RULES).walk()]
            yield "a pool has other timers than wait", found == run.plain.upto(now)
        elif draw(3) == 0:
            run.bring_forward()
        yield from _compare(run)
        waiting = run.timers.waiting("", None)
        yield "children start from other timers than wait", [*waiting.timers] == run.plain.upto(now)
        view.flush()
        heights.settle(profile, _bucket_of(stored))
        expected = sorted(dict.fromkeys(timer.due for timer in run.plain.live.values()))
        yield "other heights have timers than timers are due at", heights.due_heights(_FAR) == expected
        blocks.append(_Block(now, stored, heights, waiting, run.plain))


def _bucket_of(stored: StoredValues) -> Callable[[int], bytes | None]:
    return lambda height: stored.get(bucket_key(height))


def _compare(run: _Run) -> Asked:
    timers, plain = run.timers, run.plain
    yield "other timers wait than are counted", timers.count_waiting() == len(plain.upto(run.now))
    found = [timer for alike in timers.by_due() for timer in alike]
    yield "other timers are live than were left", found == plain.upto(_FAR)
    yield "a timer is another one by its identifier", all(timers.timer(each.timer_id) == each for each in found)
    actors = [bytes([number]) for number in range(_ACTORS)]
    live = [sum(timer.actor == actor for timer in plain.live.values()) for actor in actors]
    yield "an actor has another number of live timers", [timers.live_timers(actor) for actor in actors] == live
    scheduled = [plain.scheduled.get(actor, 0) for actor in actors]
    yield "an actor has scheduled another number", [timers.scheduled_timers(actor) for actor in actors] == scheduled
    for due in range(run.now + 1, run.now + 1 + _AHEAD):
        yield "a height has another next sequence", timers.next_sequence(due) == plain.tails.get(due, 0)


def _timer(timer_id: bytes, actor: int, due: int, sequence: int) -> Timer:
    return Timer(
        timer_id=timer_id,
        actor=bytes([actor]),
        due=due,
        sequence=sequence,
        payload=b"",
        handler="",
        fee_payer=bytes([actor]),
        gas_limit=1,
        gas_limit_is_default=False,
        expires_at=_FAR,
        quote=Quote(1, 0),
    )


def _place(timer: Timer) -> tuple[int, int]:
    return timer.due, timer.sequence
