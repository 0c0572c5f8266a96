"""State-triggered timers: what watches, which changes are hits, and what they trigger (D-11, Q-52).

In which order hits are worked off is the oracle's to say. Here the events of a block are held against what it changed:
whoever is triggered has watched a value that differs, and whoever watches one that differs is triggered, or finds a hit
of it in the queue. What a block changed is what it leaves otherwise than it found it, whoever wrote (K-41).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.results import CheckResult
from checker.tables import (
    ACCOUNT,
    HIT,
    LONG_STORAGE,
    STORAGE,
    TIMER,
    TRIGGER_CONFIG,
    WATCH,
    describe_key,
    read_amount,
    read_fields,
)
from scheduler.bias_records import BiasConfig
from scheduler.events import (
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerCancelledForDelay,
    TimerCancelledInsufficientFunds,
    TimerExpired,
    TimerFired,
    TimerScheduled,
    TimerTriggered,
    TimerWatches,
)
from scheduler.watch_records import WATCH as WATCH_RECORDS
from validators.execution.receipts import ChainEvent

_ENDS = (
    TimerTriggered,
    *(TimerCancelled, TimerCancelledByGovernance, TimerCancelledForDelay),
    *(TimerCancelledInsufficientFunds, TimerExpired, TimerFired),
)
_CONFIG_KEY = bytes((TRIGGER_CONFIG,)).ljust(32, b"\0")


class TriggerLimits(NamedTuple):
    """The limits of state triggers in a block: timers of an actor that watch, and timers triggered."""

    watches: int
    triggers: int


class WatchingTimer(NamedTuple):
    """A timer that watches: its actor, the slot or height at which it has expired, and its keys."""

    actor: bytes
    due: int
    keys: tuple[bytes, ...]


class WaitingHit(NamedTuple):
    """A hit in the queue: its key, and the places among the watchers that it still holds for."""

    key: bytes
    next_: int
    end: int


class StateTriggers(Check):
    """Timers that watch a value which a block changes are triggered, or their hit waits, and no others are."""

    name = "state-triggers"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        # Asked once: most chains have no watches, and their blocks' events need no second reader.
        self._may_watch = bool(run.rules.first_with(WATCH_RECORDS)) or _CONFIG_KEY in run.genesis_values
        self._watching: dict[bytes, WatchingTimer] = {}
        self._places: dict[bytes, dict[bytes, int]] = {}
        """By timer its place among the watchers of each of its keys, as the state has it."""
        self._hits: dict[bytes, WaitingHit] = {}
        self._began = self._triggered = self._judged = self._longest = 0
        self._stored: dict[bytes, bytes] = {}
        """The timers of the state's watches, by the key of each."""
        self._take_state(run.genesis_values)
        for timer_id, actor, due in _stored_timers(run.genesis_values):
            if timer_id in self._places:
                self._watching[timer_id] = WatchingTimer(actor, due, tuple(self._places[timer_id]))

    def not_asked(self) -> str:
        """Return a reason where no timer has watched anything."""
        return "" if self._began or self._watching else "no timer watched anything"

    def settle(self, block: SettledBlock) -> None:
        """Check one block: what watches when its mailbox has been served, then what its hits trigger."""
        if not self._may_watch:
            return
        limits = _limits_of(block)
        events = list(block.events())
        triggers = [event for event in events if isinstance(event, TimerTriggered)]
        self._follow(block, [event for event in events if not isinstance(event, TimerTriggered)], limits)
        watchers, changed = dict(self._watching), dict.fromkeys(_changed_values(block))
        for event in triggers:
            self._judge_trigger(block, event, changed)
        most = 0 if limits is None else limits.triggers
        self.require(len(triggers) <= most, block, "{} timers were triggered, at most {}", len(triggers), most)
        self._follow(block, triggers, limits)
        self._take_state(block.changes)
        self._judge_state(block)
        if limits is not None:
            self._judge_left(block, watchers, changed)

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(
            f"{self._began:,} timers watched, {self._triggered:,} were triggered; {self._judged:,} changes of watched "
            f"values were hits, at most {self._longest:,} waited",
            watched=self._began,
            triggered=self._triggered,
            changes=self._judged,
            hits_waiting=self._longest,
        )

    def _follow(self, block: SettledBlock, events: Sequence[ChainEvent], limits: TriggerLimits | None) -> None:
        """Let timers begin to watch, be triggered, and leave."""
        scheduled: dict[bytes, TimerScheduled] = {}
        for event in events:
            if isinstance(event, TimerScheduled):
                scheduled[event.timer_id] = event
            elif isinstance(event, TimerWatches):
                self._began += 1
                timer = scheduled[event.timer_id]
                self._watching[event.timer_id] = WatchingTimer(timer.actor, timer.due, event.keys)
                watching = sum(other.actor == timer.actor for other in self._watching.values())
                most = 0 if limits is None else limits.watches
                what = "actor {} has {} timers that watch, at most {}"
                self.require(watching <= most, block, what, timer.actor.hex(), watching, most)
            elif isinstance(event, _ENDS):
                self._watching.pop(event.timer_id, None)

    def _judge_trigger(self, block: SettledBlock, event: TimerTriggered, changed: Mapping[bytes, None]) -> None:
        """Require that a timer watched the key that triggers it, and that it changed, or a hit of it waited."""
        timer_id, key = event.timer_id, event.key
        self._triggered += 1
        watching = self._watching.get(timer_id)
        keys = () if watching is None else watching.keys
        named = timer_id[:6].hex(), describe_key(key)
        self.require(key in keys, block, "timer {} was triggered by {}, which it does not watch", *named)
        is_hit = key in changed or self._holds(key, self._places.get(timer_id, {}).get(key, -1))
        self.require(is_hit, block, "timer {} was triggered by {}, which had not changed", *named)
        is_alive = watching is None or watching.due > block.now + 1
        self.require(is_alive, block, "timer {} was triggered by {} as it expired", *named)

    def _judge_left(
        self, block: SettledBlock, watchers: Mapping[bytes, WatchingTimer], changed: Mapping[bytes, None]
    ) -> None:
        """Require a hit in the queue for whoever watches on although its key changed, and lives in the next block."""
        hit = {key: None for watching in watchers.values() for key in watching.keys if key in changed}
        self._judged += len(hit)
        for timer_id, watching in watchers.items() if hit else ():
            if timer_id not in self._watching or watching.due <= block.now + 1:
                continue
            for key in watching.keys:
                if key in hit:
                    place = self._places.get(timer_id, {}).get(key, -1)
                    what = "timer {} watches {}, which changed, and was not triggered, nor does a hit of it wait"
                    named = timer_id[:6].hex(), describe_key(key)
                    self.require(self._holds(key, place), block, what, *named)

    def _holds(self, key: bytes, place: int) -> bool:
        """Return whether a hit waits for a place among the watchers of a key."""
        return any(hit.key == key and hit.next_ <= place < hit.end for hit in self._hits.values())

    def _take_state(self, values: Mapping[bytes, bytes | None]) -> None:
        """Take over watches and hits."""
        for key, value in values.items():
            if key[0] == HIT:
                self._hits.pop(key, None)
                match read_fields(value or b""):
                    case [bytes() as watched, int() as next_, int() as end]:
                        self._hits[key] = WaitingHit(watched, next_, end)
            elif key[0] == WATCH:
                self._stored.pop(key, None)
                match read_fields(value or b""):
                    case [bytes() as timer_id, list() as keys, list() as places]:
                        self._stored[key] = timer_id
                        self._places[timer_id] = dict(zip(keys, places, strict=False))
        self._longest = max(self._longest, len(self._hits))

    def _judge_state(self, block: SettledBlock) -> None:
        """Compare the watches in the state with those that events tell of."""
        told, stored = self._watching, self._stored
        for key in block.changes:
            timer_id = stored.get(key) if key[0] == WATCH else None
            if timer_id is not None:
                keys = tuple(self._places[timer_id])
                expected = told[timer_id].keys if timer_id in told else ()
                self.require(keys == expected, block, "timer {} watches other keys", timer_id[:6].hex())
        what = "{} timers watch, by the state {}{}"
        stray = "" if len(told) == len(stored) else _name_one(told, dict.fromkeys(stored.values()))
        self.require(len(told) == len(stored), block, what, len(told), len(stored), stray)


def _limits_of(block: SettledBlock) -> TriggerLimits | None:
    """Return the limits of a block; None where its policy triggers nothing."""
    if isinstance(block.own, BiasConfig):
        return TriggerLimits(block.own.max_watches_per_actor, block.own.max_triggers_per_block)
    match read_fields(block.before.get(_CONFIG_KEY, b"")) if block.lane is not None else None:
        case [int() as watches, _, int() as triggers]:
            return TriggerLimits(watches, triggers)
    return None


def _changed_values(block: SettledBlock) -> Iterator[bytes]:
    """Yield the keys of stored values and balances that a block left otherwise than it found them."""
    for key, value in block.changes.items():
        if key[0] == ACCOUNT:
            if read_amount(value) != read_amount(block.before.get(key)):
                yield key
        elif key[0] in (STORAGE, LONG_STORAGE):
            yield key


def _name_one(told: Mapping[bytes, object], stored: Mapping[bytes, object]) -> str:
    """Return the first timer that only one of the two has."""
    for timer_id in (*stored, *told):
        if timer_id not in told:
            return f": {timer_id[:6].hex()} has left, or was triggered"
        if timer_id not in stored:
            return f": {timer_id[:6].hex()} is missing"
    return ""


def _stored_timers(values: Mapping[bytes, bytes]) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield identifier, actor and due of each timer of a state."""
    for key, value in values.items():
        if key[0] == TIMER:
            match read_fields(value):
                case [bytes() as timer_id, bytes() as actor, int() as due, *_]:
                    yield timer_id, actor, due
