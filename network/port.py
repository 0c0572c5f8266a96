"""A validator's only way to the outside: its mailbox, and a revocable handle to kernel and bus.

A port belongs to one incarnation of a validator. A crash revokes the port first and cancels the task afterwards. So no
effect of the task's clean-up can be observed. A restart makes another port.
"""

from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

import msgspec

from network.bus import Bus
from network.clock import MILLION, MachineClock
from network.events import AlarmElapsed, TimerElapsed, TraceEvent, WorkFinished
from network.inbox import Inbox
from network.kernel import Kernel
from network.trace import EventChain
from network.types import NO_LABEL, EventKind, Label, Micros, NodeId

TimerKey: TypeAlias = str | tuple[str | int | bytes, ...]
"""Names a timer of one port; it is traced when it fires."""

DISK_LANE: Final = "disk"
"""The resource on which syncs wait for each other."""

_NOTHING: Final = object()
"""The token of work without a consequence."""

_INCARNATION_SHIFT: Final = 40
"""An incarnation's ordinals start above all earlier incarnations' ordinals, so that keys in the queue stay unique."""


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """A message arrived."""

    traced_name: ClassVar[str] = "Delivery"

    source: NodeId
    payload: bytes


class TimerDue(msgspec.Struct, frozen=True):
    """A timer or an alarm that was set is due."""

    traced_name: ClassVar[str] = "TimerFired"

    key: TimerKey


class WorkDone(msgspec.Struct, frozen=True):
    """Work that was started has taken its virtual time."""

    traced_name: ClassVar[str] = "WorkDone"

    token: object


class ClientPayload(msgspec.Struct, frozen=True, gc=False):
    """A client submitted a payload (an encoded transaction)."""

    traced_name: ClassVar[str] = "Submission"

    payload: bytes


Inbound: TypeAlias = Delivery | TimerDue | WorkDone | ClientPayload


class _Work(NamedTuple):
    """A piece of work that waits for its resource, or is under way."""

    ordinal: int
    cost_us: Micros
    token: object


class _Armed(NamedTuple):
    """A timer that was set: its ordinal in the queue, its due time, when it was set, and for how long."""

    ordinal: int
    due_us: Micros
    since_us: Micros
    asked_us: Micros


class _Alarm(NamedTuple):
    """An alarm that was set: its ordinal in the queue, and the time of the wall clock at which it goes off."""

    ordinal: int
    at_wall_us: Micros


@dataclass(slots=True)
class Pace:
    """The slowness of a machine: work that starts takes `factor` times as long; `slowed` counts the slowed pieces.

    Work of its disk takes `disk_factor` times as long in addition, plus `disk_extra_us`; `disk_slowed` counts it.
    """

    factor: int = 1
    slowed: int = 0
    disk_factor: int = 1
    disk_extra_us: Micros = 0
    disk_slowed: int = 0

    def stretch(self, lane: str, cost_us: Micros) -> Micros:
        """Return the time that work of this cost takes on this resource of the machine."""
        if self.factor > 1 and cost_us:
            self.slowed += 1
        if lane == DISK_LANE and (self.disk_factor > 1 or self.disk_extra_us):
            self.disk_slowed += 1
            cost_us = cost_us * self.disk_factor + self.disk_extra_us
        return cost_us * self.factor


class Port:
    """One incarnation's handle to kernel and bus.

    After `revoke` every call does nothing and nothing reaches the mailbox. Making a port attaches it to the bus; the
    port of an earlier incarnation must have been revoked. `pace` and `clock` belong to the machine and outlive the
    port. A validator learns only its own clocks' time.
    """

    __slots__ = (
        *(
            "_alarms",
            "_begun_us",
            "_bus",
            "_chain",
            "_clock",
            "_is_live",
            "_kernel",
            "_lanes",
            "_mailbox",
            "_ordinal",
            "_pace",
        ),
        *("_timers", "node", "on_sent", "blocked_peers"),
    )

    def __init__(
        self,
        kernel: Kernel,
        bus: Bus,
        chain: EventChain,
        node: NodeId,
        *,
        incarnation: int,
        pace: Pace | None = None,
        clock: MachineClock | None = None,
    ) -> None:
        self.node = node
        self.on_sent: Callable[[Label], None] | None = None
        self.blocked_peers: dict[NodeId, None] = {}
        """Nodes to which nothing is sent."""
        self._pace = pace or Pace()
        self._clock = clock or MachineClock()
        self._kernel = kernel
        self._bus = bus
        self._chain = chain
        self._mailbox: Inbox[Inbound] = Inbox(partial(kernel.pull, node), kernel.caller(node))
        self._ordinal = incarnation << _INCARNATION_SHIFT
        self._timers: dict[TimerKey, _Armed] = {}
        self._alarms: dict[TimerKey, _Alarm] = {}
        self._lanes: dict[str, deque[_Work]] = {}
        self._begun_us: dict[str, Micros] = {}
        self._is_live = True
        bus.attach(node, self._deliver)
        kernel.adopt(self)

    @property
    def wall_us(self) -> Micros:
        """The time on this machine's wall clock; it may be wrong, and go back."""
        return self._clock.wall_us(self._kernel.now_us)

    @property
    def is_live(self) -> bool:
        """Return whether the port has not been revoked."""
        return self._is_live

    @property
    def slowed_since_us(self) -> Micros | None:
        """The time at which the work under way began that takes longer than it costs, None without such work."""
        begun = ((self._begun_us[lane], queue[0].cost_us) for lane, queue in self._lanes.items() if queue)
        now_us = self._kernel.now_us
        return min((begun_us for begun_us, cost_us in begun if begun_us + cost_us < now_us), default=None)

    def send(self, destination: NodeId, payload: bytes, label: Label = NO_LABEL) -> None:
        """Send a message to one validator; `label` describes it, and `on_sent`, called after, may raise."""
        if self._is_live and destination not in self.blocked_peers:
            self._bus.send(self.node, destination, payload, label)
            self._note_sent(label)

    def _note_sent(self, label: Label) -> None:
        if self._is_live and self.on_sent is not None:
            self.on_sent(label)

    def broadcast(self, payload: bytes, label: Label = NO_LABEL) -> None:
        """Send one payload to all peers, by ascending id; `on_sent` is called after the first and may raise."""
        if not self._is_live:
            return
        if self.on_sent is None and not self.blocked_peers:
            self._bus.broadcast(self.node, payload, label)
            return
        peers = (peer for peer in self._bus.neighbours(self.node) if peer not in self.blocked_peers)
        for place, destination in enumerate(peers):
            self._bus.send(self.node, destination, payload, label)
            if place == 0:
                self._note_sent(label)

    def set_timer(self, key: TimerKey, after_us: Micros) -> None:
        """Arm a timer; `TimerFired(key)` follows when this machine's monotonic clock has measured `after_us`.

        It follows in this instant if that is not positive. A timer of the same key that has not fired is replaced.
        """
        if self._is_live:
            now_us = self._kernel.now_us
            self._post_timer(key, now_us + max(self._clock.lasting_us(after_us), 0), now_us, after_us)

    def retime(self, ppm_before: int) -> None:
        """Move the rest of every armed timer to the new pace of the monotonic clock."""
        now_us = self._kernel.now_us
        for key, (_, due_us, since_us, asked_us) in list(self._timers.items()):
            if due_us > now_us:
                left_us = (due_us - now_us) * (MILLION + ppm_before) // MILLION
                self._post_timer(key, now_us + self._clock.lasting_us(left_us), since_us, asked_us)

    def set_alarm(self, key: TimerKey, at_wall_us: Micros) -> None:
        """Arm an alarm; `TimerDue(key)` follows when this machine's wall clock shows that time, right or wrong.

        It follows in this instant if the clock has passed it. An alarm of the same key that waits is replaced.
        """
        if self._is_live:
            self._post_alarm(key, at_wall_us)

    def reset_alarms(self) -> None:
        """Reset every armed alarm to the wall clock's present course."""
        for key, alarm in list(self._alarms.items()):
            self._post_alarm(key, alarm.at_wall_us)

    def cancel_timer(self, key: TimerKey) -> None:
        """Disarm a timer; does nothing when it is not armed."""
        self._timers.pop(key, None)

    def work(self, cost_us: Micros, token: object) -> None:
        """Occupy the processor for `cost_us`; `WorkDone(token)` follows when it is done."""
        self.work_on("cpu", cost_us, token)

    def work_on(self, lane: str, cost_us: Micros, token: object) -> None:
        """Occupy a resource ("cpu", "disk", ...) for `cost_us`, after its earlier work.

        The machine's pace is read when the work starts: work that waits behind slow work may find a fast machine.

        Raises:
            ValueError: the cost is negative.
        """
        if cost_us < 0:
            raise ValueError(f"work on {lane} cannot take {cost_us} us")
        if self._is_live:
            queue = self._lanes.get(lane)
            if queue is None:
                queue = self._lanes[lane] = deque()
            queue.append(_Work(self._next_ordinal(), cost_us, token))
            if len(queue) == 1:
                self._start_work(lane, queue[0])

    def is_busy(self, lane: str) -> bool:
        """Return whether a resource is occupied, or an event has not been received yet, for example its work's end.

        For a revoked port it returns the state at its revocation.
        """
        return bool(self._lanes.get(lane)) or len(self._mailbox) > 0

    def spend(self, cost_us: Micros) -> None:
        """Occupy the processor with work without a consequence; no event tells when it is done."""
        if cost_us:
            self.work(cost_us, _NOTHING)

    def submit(self, payload: bytes) -> bool:
        """Submit a client's payload, from an event of the kernel; returns False when the node is off."""
        if self._is_live:
            self._mailbox.put(ClientPayload(payload))
        return self._is_live

    def trace(self, body: TraceEvent) -> None:
        """Append an event to this validator's chain."""
        if self._is_live:
            self._chain.add(self._kernel.now_us, body)

    def receive(self) -> Coroutine[Any, Any, Inbound]:
        """Wait for the next delivery, timer, completed work or submission; only one task may await it."""
        return self._mailbox.receive()

    async def serve(self, handler: Callable[[Inbound], None]) -> None:
        """Call `handler` with each of these, until this task is cancelled; the kernel may call it itself."""
        await self._mailbox.serve(handler)

    def pause(self) -> None:
        """Hold back every event of this incarnation; its timers and its work continue."""
        self._mailbox.pause()

    def resume(self) -> int:
        """Release the held events, the oldest first, and return their number."""
        self._mailbox.resume()
        return self._mailbox.held

    def revoke(self) -> None:
        """Cut this incarnation off: from now on it sees nothing, and none of its actions is seen."""
        if self._is_live:
            self._is_live = False
            self._bus.attach(self.node, None)
            self._kernel.release(self)
            self._timers.clear()
            self._alarms.clear()
            self._mailbox.close()

    def _next_ordinal(self) -> int:
        self._ordinal += 1
        return self._ordinal

    def _post_timer(self, key: TimerKey, due_us: Micros, since_us: Micros, asked_us: Micros) -> None:
        ordinal = self._next_ordinal()
        self._timers[key] = _Armed(ordinal, due_us, since_us, asked_us)
        self._kernel.post(due_us, self.node, EventKind.TIMER, self.node, ordinal, self._fire_timer, key, ordinal)

    def _post_alarm(self, key: TimerKey, at_wall_us: Micros) -> None:
        ordinal = self._next_ordinal()
        self._alarms[key] = _Alarm(ordinal, at_wall_us)
        due_us = self._clock.alarm_us(self._kernel.now_us, at_wall_us)
        self._kernel.post(due_us, self.node, EventKind.TIMER, self.node, ordinal, self._sound_alarm, key, ordinal)

    def _deliver(self, source: NodeId, payload: bytes) -> None:
        self._mailbox.put(Delivery(source, payload))

    def _fire_timer(self, key: TimerKey, ordinal: int) -> None:
        # Revoking and cancelling forget the key, and re-arming changes its ordinal: a past event finds no match.
        armed = self._timers.get(key)
        if armed is not None and armed.ordinal == ordinal:
            del self._timers[key]
            now_us = self._kernel.now_us
            extra_us = now_us - armed.since_us - armed.asked_us
            self._chain.add(now_us, TimerElapsed(key, armed.asked_us, extra_us, self._clock.shown_lead_us(now_us)))
            self._mailbox.put(TimerDue(key))

    def _sound_alarm(self, key: TimerKey, ordinal: int) -> None:
        alarm = self._alarms.get(key)
        if alarm is not None and alarm.ordinal == ordinal:
            del self._alarms[key]
            self._chain.add(self._kernel.now_us, AlarmElapsed(key, alarm.at_wall_us, self.wall_us))
            self._mailbox.put(TimerDue(key))

    def _start_work(self, lane: str, work: _Work) -> None:
        self._begun_us[lane] = now_us = self._kernel.now_us
        done_us = now_us + self._pace.stretch(lane, work.cost_us)
        self._kernel.post(done_us, self.node, EventKind.WORK, self.node, work.ordinal, self._finish_work, lane)

    def _finish_work(self, lane: str) -> None:
        if not self._is_live:
            return
        queue = self._lanes[lane]
        work = queue.popleft()
        # Measured, not computed by `stretch`: the checks compare it with the plan.
        now_us, cost_us = self._kernel.now_us, work.cost_us
        extra_us = now_us - self._begun_us[lane] - cost_us
        self._chain.add(now_us, WorkFinished(lane, work.ordinal, cost_us, extra_us))
        if queue:
            self._start_work(lane, queue[0])
        if work.token is not _NOTHING:
            self._mailbox.put(WorkDone(work.token))
