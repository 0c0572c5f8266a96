"""The machines of a run: their power, pauses, pace, clocks and disks, by the plan and by the trace."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from checker.checks.audit.draws import MILLION, AuditedSeeds
from checker.checks.audit.messages import AuditedMessages, Fail
from checker.checks.audit.plan import TestBedPlan
from faults.events import ApplicationLost, ClockSet, Crashed, DiskFound, DiskSynced, Restarted
from network.events import AlarmElapsed, Event, Handlers, TimerElapsed, WorkFinished

APPLICATION_RESTART_US: Final = 1_000_000
"""The time after which a lost application is started again."""

APPLICATION_LOSSES: Final = 3
"""The loss from which on an application is not started again."""

Owed = dict[tuple[object, ...], tuple[int, str]]
"""Events that the trace still has to show in this instant: each with the instant, and the sentence of its failure."""


class Speed(NamedTuple):
    """The slowness of a machine from a time on."""

    since_us: int = 0
    factor: int = 1
    disk_factor: int = 1
    disk_extra_us: int = 0

    def extra_us(self, resource: str, base_us: int) -> int:
        """Return how much longer work takes than its base."""
        whole_us = base_us * self.disk_factor + self.disk_extra_us if resource == "disk" else base_us
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
        return self.offset_us + passed_us * self.ppm // MILLION + (self.strobe_us if is_high else 0)


@dataclass(slots=True)
class Machine:
    """A machine in its state by the plan and the trace; paces and clocks have the oldest first.

    Attributes:
        durable: The checksum of the durable bytes, 0 without bytes; None where it is not known.
        torn: The number of faults that leave a part of the bytes that were not synced.
        busy_until_us: By resource, when the last work there was over.
        may_stop_us: The instant in which an operator, or a Byzantine validator itself, may restart it.
        losses: The calls and heights at which its application was lost.
    """

    speeds: list[Speed] = field(default_factory=lambda: [Speed()])
    clocks: list[ClockLine] = field(default_factory=lambda: [ClockLine()])
    durable: int | None = None
    torn: int = 0
    busy_until_us: dict[str, int] = field(default_factory=dict)
    may_stop_us: int | None = None
    losses: list[tuple[str, int]] = field(default_factory=list)


class AuditedMachines:
    """All machines of one run."""

    def __init__(self, plan: TestBedPlan, messages: AuditedMessages, owed: Owed, fail: Fail) -> None:
        self.plan = plan
        self.seeds = AuditedSeeds(plan.seed, plan.reseeds, plan.redraws)
        self.messages = messages
        self.owed = owed
        self.fail = fail
        self._machines = [Machine() for _ in range(plan.machines)]
        self._stopped: dict[str, dict[int, None]] = {}
        """By fault, the machines that it has stopped."""
        self.counts = {"work": 0, "timers": 0, "starts": 0, "switches": 0}

    @property
    def handlers(self) -> Handlers:
        """Every event about a machine."""
        return {
            WorkFinished: self.finish_work,
            TimerElapsed: self.elapse,
            AlarmElapsed: self.sound,
            DiskFound: self.find_disk,
            DiskSynced: self.sync,
            Crashed: self.crash,
            ApplicationLost: self.lose_application,
            Restarted: self.restart,
            ClockSet: self.set_clock,
        }

    # The plan

    def cut_power(self, fault: str, now_us: int, nodes: tuple[int, ...], *, is_wiped: bool = False) -> None:
        """Expect that the machines that are on stop in this instant."""
        for node in nodes:
            if self.messages.is_on[node]:
                self.owed["off", node] = now_us, f"validator {node} had to be switched off"
                self._stopped.setdefault(fault, {})[node] = None
                if is_wiped:
                    self._machines[node].durable = 0

    def give_power(self, fault: str, now_us: int, nodes: tuple[int, ...]) -> None:
        """Expect that the machines that this fault has stopped, and that are off, start in this instant."""
        stopped = self._stopped.get(fault, {})
        for node in nodes:
            if node in stopped:
                del stopped[node]
                if not self.messages.is_on[node]:
                    self.owed["on", node] = now_us, f"validator {node} had to be switched on"

    def boot(self, node: int, now_us: int) -> None:
        """Expect that a machine that has never been on starts in this instant."""
        self.owed["on", node] = now_us, f"the twin {node} had to be switched on"

    def may_stop(self, node: int, now_us: int) -> None:
        """Let a machine restart in this instant, with a disk that is not known."""
        self._machines[node].may_stop_us = now_us
        self._machines[node].durable = None

    def pause(self, nodes: tuple[int, ...], *, is_paused: bool) -> None:
        """Pause machines that are on, or let them go on."""
        for node in nodes:
            self.messages.is_paused[node] = is_paused and self.messages.is_on[node]

    def slow_down(self, node: int, now_us: int, **change: int) -> None:
        """Change a machine's pace."""
        speeds = self._machines[node].speeds
        speeds.append(speeds[-1]._replace(since_us=now_us, **change))

    def turn_clock(self, node: int, now_us: int, line: ClockLine, *, goes_on: bool = False) -> None:
        """Expect that a machine's clocks are set; `goes_on` leaves the wall clock at what it shows."""
        clocks = self._machines[node].clocks
        offset_us = clocks[-1]._replace(strobe_us=0).lead_us(now_us) if goes_on else line.offset_us
        clocks.append(line._replace(since_us=now_us, offset_us=offset_us))
        event = "clocks", node, None if goes_on else offset_us, line.ppm, line.strobe_us
        self.owed[event] = now_us, f"the clocks of validator {node} had to be set"

    def tear(self, nodes: tuple[int, ...], change: int) -> None:
        """Change the number of faults that leave parts of bytes that were not synced."""
        for node in nodes:
            self._machines[node].torn += change

    # The trace

    def pay(self, event: tuple[object, ...], now_us: int) -> bool:
        """See an event; return whether it was owed in this instant."""
        at_us, _ = self.owed.pop(event, (-1, ""))
        return at_us == now_us

    def crash(self, event: Event, crashed: Crashed) -> None:
        """Compare a loss of power with the plan."""
        node, now_us, machine = crashed.machine, event.at_us, self._machines[crashed.machine]
        self.counts["switches"] += 1
        is_planned = self.pay(("off", node), now_us)
        if not is_planned and machine.may_stop_us == now_us:
            self.owed["on", node] = now_us, f"validator {node} had to be switched on"
        elif not is_planned and node not in self.plan.observers:
            self.fail("power", f"validator {node} lost its power at {now_us:,} us, not by the plan", now_us)
        self.messages.is_on[node] = self.messages.is_paused[node] = False
        machine.busy_until_us.clear()
        # A replica mode may switch its observer off, and change its disk.
        if machine.torn or (not is_planned and node in self.plan.observers):
            machine.durable = None

    def lose_application(self, event: Event, lost: ApplicationLost) -> None:
        """Expect that a machine stops with its application, and starts a second later unless it is lost for good."""
        node, now_us, machine = lost.machine, event.at_us, self._machines[lost.machine]
        if not self.messages.is_on[node]:
            self.fail("", f"validator {node} lost its application at {now_us:,} us while it was off", now_us)
            return
        self.owed["off", node] = now_us, f"validator {node} had to be switched off: its application was lost"
        place = lost.call, lost.height
        is_for_good = place in machine.losses or len(machine.losses) + 1 >= APPLICATION_LOSSES
        machine.losses.append(place)
        if not is_for_good:
            sentence = f"validator {node} had to be switched on: its application was lost a second before"
            self.owed["on", node] = now_us + APPLICATION_RESTART_US, sentence

    def restart(self, event: Event, restarted: Restarted) -> None:
        """Compare a start with the plan."""
        node, now_us = restarted.machine, event.at_us
        if not self.pay(("on", node), now_us) and node not in self.plan.observers:
            self.fail("power", f"validator {node} was switched on at {now_us:,} us, not by the plan", now_us)
        self.messages.is_on[node] = True

    def set_clock(self, event: Event, clock_set: ClockSet) -> None:
        """Compare clocks that are set with the plan."""
        node, now_us = clock_set.machine, event.at_us
        found = "clocks", node, clock_set.offset_us, clock_set.ppm, clock_set.strobe_us
        if not self.pay(found, now_us):
            self.fail("clocks", f"the clocks of validator {node} were set at {now_us:,} us, not by the plan", now_us)

    def finish_work(self, event: Event, work: WorkFinished) -> None:
        """Compare the length of work with its base and the machine's pace when it began."""
        node, now_us, machine = event.node, event.at_us, self._machines[event.node]
        self.counts["work"] += 1
        begun_us = now_us - work.base_us - work.extra_us
        # Work of the instant in which the pace changes may have begun before the change, or after it.
        last = max(place for place, speed in enumerate(machine.speeds) if speed.since_us <= begun_us or not place)
        first = last - 1 if last and machine.speeds[last].since_us == begun_us else last
        extras_us = [speed.extra_us(work.lane, work.base_us) for speed in machine.speeds[first : last + 1]]
        if work.extra_us not in extras_us:
            took_us, had_us = work.base_us + work.extra_us, work.base_us + extras_us[-1]
            where = f"work of {work.base_us:,} us on the {work.lane} of validator {node}"
            self.fail("pace", f"{where} took {took_us:,} us at {now_us:,} us; by its pace {had_us:,} us", now_us)
        if begun_us < machine.busy_until_us.get(work.lane, 0):
            what = f"validator {node} did two pieces of work at once on its {work.lane} at {now_us:,} us"
            self.fail("", what, now_us)
        machine.busy_until_us[work.lane] = now_us
        # Work that began before this instant is over before anything is delivered in it.
        if begun_us < now_us == self.messages.arrived[node][0]:
            late = f"work of validator {node} was over at {now_us:,} us, behind a message of that instant"
            self.fail("", late, now_us)

    def elapse(self, event: Event, timer: TimerElapsed) -> None:
        """Compare a timer's length and the wall clock with the machine's clocks."""
        node, now_us, clocks = event.node, event.at_us, self._machines[event.node].clocks
        self.counts["timers"] += 1
        lead_us = clocks[-1].lead_us(now_us)
        if timer.lead_us != lead_us:
            shown = f"its wall clock was {timer.lead_us:,} us ahead at {now_us:,} us"
            self.fail("clocks", f"validator {node}: {shown}; by the plan {lead_us:,} us", now_us)
        due_us = _due_us(clocks, now_us - timer.asked_us - timer.extra_us, timer.asked_us)
        if due_us != now_us:
            fired = f"a timer of {timer.asked_us:,} us fired at {now_us:,} us"
            self.fail("clocks", f"validator {node}: {fired}; by its clock {due_us:,} us", now_us)

    def sound(self, event: Event, alarm: AlarmElapsed) -> None:
        """Compare the time that an alarm showed, and was set to, with the machine's wall clock."""
        node, now_us = event.node, event.at_us
        self.counts["timers"] += 1
        wall_us = now_us + self._machines[node].clocks[-1].lead_us(now_us)
        if alarm.wall_us != wall_us:
            shown = f"its wall clock showed {alarm.wall_us:,} us at {now_us:,} us"
            self.fail("clocks", f"validator {node}: {shown}; by the plan {wall_us:,} us", now_us)
        if alarm.at_wall_us > alarm.wall_us:
            early = f"an alarm set to {alarm.at_wall_us:,} us went off at {alarm.wall_us:,} us of its wall clock"
            self.fail("", f"validator {node}: {early}", now_us)

    def find_disk(self, event: Event, found: DiskFound) -> None:
        """Compare the bytes that a start finds on the disk with the durable bytes."""
        node, now_us, machine = event.node, event.at_us, self._machines[event.node]
        self.counts["starts"] += 1
        if machine.durable is not None and found.checksum != machine.durable:
            what = f"a start at {now_us:,} us found {found.checksum:08x} on its disk"
            self.fail("disks", f"validator {node}: {what}; durable was {machine.durable:08x}", now_us)
        machine.durable = found.checksum

    def sync(self, event: Event, synced: DiskSynced) -> None:
        """Note the bytes that are durable from now on."""
        node, now_us = event.node, event.at_us
        if self.messages.is_paused[node]:
            self.fail("pace", f"validator {node} synced its disk at {now_us:,} us while it was paused", now_us)
        self._machines[node].durable = synced.checksum


def _due_us(clocks: list[ClockLine], since_us: int, asked_us: int) -> int:
    """Return when a monotonic clock has measured a time; each new pace measures the rest."""
    started = [line for line in clocks if line.since_us <= since_us]
    ppm = started[-1].ppm
    due_us = since_us + _lasting_us(max(asked_us, 0), ppm)
    for line in clocks[len(started) :]:
        if line.ppm != ppm and line.since_us < due_us:
            left_us = (due_us - line.since_us) * (MILLION + ppm) // MILLION
            due_us = line.since_us + _lasting_us(left_us, line.ppm)
        ppm = line.ppm
    return due_us


def _lasting_us(measured_us: int, ppm: int) -> int:
    return measured_us if not ppm else -(-measured_us * MILLION // (MILLION + ppm))
