"""The machines of a run: their power, pauses, pace, clocks and disks, by the plan and by the trace."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from checker.checks.audit.left_out import LeftOut
from checker.checks.audit.plan import MILLISECOND_US, TestBedPlan
from checker.checks.audit.traffic import Fail, MessageLedger
from faults.events import ClockSet, Crashed, DiskFound, DiskSynced, ObserverSwitchedOff, Restarted
from network.events import AlarmElapsed, Event, Handlers, TimerElapsed, WorkFinished

_MILLION: Final = 1_000_000

EMPTY_DISK: Final = 0
"""The checksum of a disk without a byte."""


class Speed(NamedTuple):
    """The slowness of a machine from a time on."""

    since_us: int = 0
    factor: int = 1
    disk_factor: int = 1
    disk_extra_us: int = 0

    def extra_us(self, lane: str, base_us: int) -> int:
        """Return how much longer work takes than its base."""
        whole_us = base_us * self.disk_factor + self.disk_extra_us if lane == "disk" else base_us
        return whole_us * self.factor - base_us


class ClockLine(NamedTuple):
    """The error of a wall clock and the pace of both clocks, from a time on."""

    since_us: int = 0
    offset_us: int = 0
    ppm: int = 0
    strobe_us: int = 0
    strobe_half_us: int = 0

    def lead_us(self, now_us: int) -> int:
        """Return how far the wall clock is ahead."""
        passed_us = now_us - self.since_us
        is_high = self.strobe_us and passed_us // self.strobe_half_us % 2 == 0
        return self.base_lead_us(now_us) + (self.strobe_us if is_high else 0)

    def base_lead_us(self, now_us: int) -> int:
        """Return how far it is ahead without its strobe."""
        return self.offset_us + (now_us - self.since_us) * self.ppm // _MILLION


@dataclass(slots=True)
class Machine:
    """One machine, as the plan and the trace have left it.

    Attributes:
        speeds: Its paces, oldest first.
        clocks: Its clocks, oldest first.
        durable: That of what a loss of power spares now; None where nothing can be said.
        is_torn: The number of faults that leave a part of what was not synced.
        busy_until_us: By lane, when the last work there was over.
        due_back_us: When its replica mode switches it on.
    """

    speeds: list[Speed] = field(default_factory=lambda: [Speed()])
    clocks: list[ClockLine] = field(default_factory=lambda: [ClockLine()])
    durable: int | None = None
    is_torn: int = 0
    busy_until_us: dict[str, int] = field(default_factory=dict)
    due_back_us: int | None = None


class Machines:
    """All machines of one run.

    Args:
        plan: The plan.
        traffic: Knows which machines are on, and which are paused.
        left_out: Knows what of a machine cannot be foreseen any more.
        fail: Notes a failure.
    """

    def __init__(self, plan: TestBedPlan, traffic: MessageLedger, left_out: LeftOut, fail: Fail) -> None:
        self._plan = plan
        self._traffic = traffic
        self._left_out = left_out.since
        self._fail = fail
        self._machines = [Machine() for _ in range(plan.nodes)]
        self._owed: dict[tuple[str, int], int] = {}
        """Switches that the trace still has to show in this instant, by kind and machine."""
        self._owed_clocks: dict[int, tuple[int, ClockLine, int | None]] = {}
        self._may_stop: dict[int, int] = {}
        """By machine the instant in which an operator may restart it, or a Byzantine validator itself."""
        self._is_unsaid: dict[int, None] = {}
        """Machines that stopped, where their replica mode may have done it."""
        self._stopped: dict[str, dict[int, None]] = {}
        self.counts = {"work": 0, "timers": 0, "starts": 0, "switches": 0}

    @property
    def handlers(self) -> Handlers:
        """Everything that a machine shows of itself."""
        return {
            WorkFinished: self.finish_work,
            TimerElapsed: self.elapse,
            AlarmElapsed: self.sound,
            DiskFound: self.find_disk,
            DiskSynced: self.sync,
            Crashed: self.crash,
            Restarted: self.restart,
            ClockSet: self.set_clock,
            ObserverSwitchedOff: self.switch_off_observer,
        }

    # The plan

    def cut_power(self, fault: str, now_us: int, nodes: tuple[int, ...], *, is_wiped: bool = False) -> None:
        """Expect that machines stop in this instant, those that are on."""
        for node in nodes:
            if self._traffic.is_on[node]:
                self._owed["off", node] = now_us
                self._stopped.setdefault(fault, {})[node] = None
                if is_wiped:
                    self._machines[node].durable = EMPTY_DISK

    def give_power(self, fault: str, now_us: int, nodes: tuple[int, ...]) -> None:
        """Expect that machines start in this instant: those that this fault has stopped and that are off."""
        stopped = self._stopped.get(fault, {})
        for node in nodes:
            if node in stopped:
                del stopped[node]
                if not self._traffic.is_on[node]:
                    self._owed["on", node] = now_us

    def may_stop(self, node: int, now_us: int, *, loses_votes: bool = False) -> None:
        """Let a machine be restarted in this instant; what its disk holds then is unknown if it loses its votes."""
        self._may_stop[node] = now_us
        if loses_votes:
            self._machines[node].durable = None

    def pause(self, nodes: tuple[int, ...], *, is_paused: bool) -> None:
        """Pause machines that are on, or let them go on."""
        for node in nodes:
            is_sure = is_paused and "pace" not in self._left_out
            self._traffic.is_paused[node] = is_sure and self._traffic.is_on[node]

    def slow_down(self, node: int, now_us: int, **change: int) -> None:
        """Change a machine's pace."""
        speeds = self._machines[node].speeds
        speeds.append(speeds[-1]._replace(since_us=now_us, **change))

    def turn_clock(self, node: int, now_us: int, line: ClockLine, *, goes_on: bool = False) -> None:
        """Expect that a machine's clocks are set; `goes_on` leaves the wall clock at what it shows."""
        clocks = self._machines[node].clocks
        offset_us = clocks[-1].base_lead_us(now_us) if goes_on else line.offset_us
        line = line._replace(since_us=now_us, offset_us=offset_us)
        clocks.append(line)
        self._owed_clocks[node] = now_us, line, None if goes_on else offset_us

    def tear(self, nodes: tuple[int, ...], change: int) -> None:
        """Let one fault more, or less, leave parts of what was not synced."""
        for node in nodes:
            self._machines[node].is_torn += change

    # The trace

    def settle(self, now_us: int) -> None:
        """Require that all that was owed in an earlier instant has come."""
        for (what, node), at_us in list(self._owed.items()):
            if at_us < now_us:
                del self._owed[what, node]
                self._fail(f"validator {node} had to be switched {what} at {at_us:,} us", validator=node, at_us=at_us)
        for node, (at_us, _, _) in list(self._owed_clocks.items()):
            if at_us < now_us:
                del self._owed_clocks[node]
                self._fail(f"the clocks of validator {node} had to be set at {at_us:,} us", validator=node, at_us=at_us)

    def crash(self, event: Event, crashed: Crashed) -> None:
        """Compare a loss of power with the plan."""
        node, now_us = crashed.machine, event.at_us
        self.settle(now_us)
        self.counts["switches"] += 1
        machine = self._machines[node]
        if self._owed.pop(("off", node), None) is None:
            if self._may_stop.get(node) == now_us:
                self._owed["on", node] = now_us
            elif node in self._plan.observers:
                self._is_unsaid[node] = None
            elif "power" not in self._left_out:
                self._fail(f"validator {node} lost its power at {now_us:,} us, not by the plan", validator=node)
        self._traffic.is_on[node] = self._traffic.is_paused[node] = False
        machine.busy_until_us.clear()
        if machine.is_torn:
            machine.durable = None

    def restart(self, event: Event, restarted: Restarted) -> None:
        """Compare a start with the plan."""
        node, now_us = restarted.machine, event.at_us
        self.settle(now_us)
        machine = self._machines[node]
        is_owed = self._owed.pop(("on", node), None) is not None
        if not is_owed and machine.due_back_us != now_us and "power" not in self._left_out:
            self._fail(f"validator {node} was switched on at {now_us:,} us, not by the plan", validator=node)
        machine.due_back_us = None
        self._traffic.is_on[node] = True

    def switch_off_observer(self, event: Event, switched: ObserverSwitchedOff) -> None:
        """See that an observer's replica mode has switched it off, and what that does to its disk."""
        node = switched.machine
        if self._is_unsaid.pop(node, True):
            self._fail(f"observer {node} was switched off at {event.at_us:,} us and had no power", validator=node)
        machine, mode = self._machines[node], self._plan.observers[node]
        machine.due_back_us = event.at_us + mode.get("down_ms", 0) * MILLISECOND_US
        # What a mode leaves of a disk is its own matter.
        machine.durable = None

    def set_clock(self, event: Event, clock_set: ClockSet) -> None:
        """Compare clocks that are set with the plan."""
        node = clock_set.machine
        owed = self._owed_clocks.pop(node, None)
        found = clock_set.offset_us, clock_set.ppm, clock_set.strobe_us
        if owed is None and "clocks" in self._left_out:
            return
        if owed is None or (owed[2], owed[1].ppm, owed[1].strobe_us) != found:
            self._fail(
                f"the clocks of validator {node} were set at {event.at_us:,} us, not by the plan", validator=node
            )

    def finish_work(self, event: Event, work: WorkFinished) -> None:
        """Compare the length of work with its base and the machine's pace when it began."""
        node, now_us, machine = event.node, event.at_us, self._machines[event.node]
        self.counts["work"] += 1
        begun_us = now_us - work.base_us - work.extra_us
        place = len(machine.speeds) - 1
        while place and machine.speeds[place].since_us > begun_us:
            place -= 1
        expected_us = machine.speeds[place].extra_us(work.lane, work.base_us)
        # An edge in the midst of an instant finds work that began in it: at the run's start, and at an anchor.
        if work.extra_us != expected_us and place and machine.speeds[place].since_us == begun_us:
            expected_us = machine.speeds[place - 1].extra_us(work.lane, work.base_us)
        if work.extra_us != expected_us and "pace" not in self._left_out:
            took_us, had_us = work.base_us + work.extra_us, work.base_us + expected_us
            where = f"work of {work.base_us:,} us on the {work.lane} of validator {node}"
            self._fail(f"{where} took {took_us:,} us at {now_us:,} us; by its pace {had_us:,} us", validator=node)
        if begun_us < machine.busy_until_us.get(work.lane, 0):
            self._fail(f"validator {node} did two pieces of work at once on its {work.lane} at {now_us:,} us")
        machine.busy_until_us[work.lane] = now_us
        # Work that began before this instant is over before anything is delivered in it.
        if begun_us < now_us == self._traffic.arrived[node][0]:
            self._fail(f"work of validator {node} was over at {now_us:,} us, behind a message of that instant")

    def elapse(self, event: Event, timer: TimerElapsed) -> None:
        """Compare a timer's length and the clock's reading with the machine's clocks."""
        now_us, clocks = event.at_us, self._machines[event.node].clocks
        self.counts["timers"] += 1
        if "clocks" in self._left_out:
            return
        lead_us = clocks[-1].lead_us(now_us)
        if timer.lead_us != lead_us:
            shown = f"its wall clock was {timer.lead_us:,} us ahead at {now_us:,} us"
            self._fail(f"validator {event.node}: {shown}; by the plan {lead_us:,} us", validator=event.node)
        due_us = _due_us(clocks, now_us - timer.asked_us - timer.extra_us, timer.asked_us)
        if due_us != now_us:
            fired = f"a timer of {timer.asked_us:,} us fired at {now_us:,} us"
            self._fail(f"validator {event.node}: {fired}; by its clock {due_us:,} us", validator=event.node)

    def sound(self, event: Event, alarm: AlarmElapsed) -> None:
        """Compare the time that an alarm showed, and was set to, with the machine's wall clock."""
        now_us = event.at_us
        self.counts["timers"] += 1
        wall_us = now_us + self._machines[event.node].clocks[-1].lead_us(now_us)
        if alarm.wall_us != wall_us and "clocks" not in self._left_out:
            shown = f"its wall clock showed {alarm.wall_us:,} us at {now_us:,} us"
            self._fail(f"validator {event.node}: {shown}; by the plan {wall_us:,} us", validator=event.node)
        if alarm.at_wall_us > alarm.wall_us:
            early = f"an alarm set to {alarm.at_wall_us:,} us went off at {alarm.wall_us:,} us of its wall clock"
            self._fail(f"validator {event.node}: {early}", validator=event.node)

    def find_disk(self, event: Event, found: DiskFound) -> None:
        """Compare what a start finds on the disk with what was durable."""
        machine = self._machines[event.node]
        self.counts["starts"] += 1
        is_known = machine.durable is not None and "disks" not in self._left_out
        if is_known and found.checksum != machine.durable:
            what = f"a start at {event.at_us:,} us found {found.checksum:08x} on its disk"
            self._fail(f"validator {event.node}: {what}; durable was {machine.durable:08x}", validator=event.node)
        machine.durable = found.checksum

    def sync(self, event: Event, synced: DiskSynced) -> None:
        """See what is durable from now on."""
        if self._traffic.is_paused[event.node]:
            self._fail(f"validator {event.node} synced its disk at {event.at_us:,} us while it was paused")
        self._machines[event.node].durable = synced.checksum


def _due_us(clocks: list[ClockLine], since_us: int, asked_us: int) -> int:
    """Return when a monotonic clock has measured so much: what is left goes by each new pace."""
    started = [line for line in clocks if line.since_us <= since_us]
    ppm = started[-1].ppm
    due_us = since_us + _lasting_us(max(asked_us, 0), ppm)
    for line in clocks[len(started) :]:
        if line.ppm != ppm and line.since_us < due_us:
            left_us = (due_us - line.since_us) * (_MILLION + ppm) // _MILLION
            due_us = line.since_us + _lasting_us(left_us, line.ppm)
            ppm = line.ppm
        ppm = line.ppm
    return due_us


def _lasting_us(measured_us: int, ppm: int) -> int:
    return measured_us if not ppm else -(-measured_us * _MILLION // (_MILLION + ppm))
