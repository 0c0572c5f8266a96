"""The machines of a cluster: the part of a validator that outlives its incarnations, and its power.

Invariant: at most one incarnation of a validator is alive, and a crash cuts it off before it can notice. First its
handles to bus, disk and kernel are revoked. Then unsynced writes are lost. Only then is its task cancelled
(docs/design.md, Restart).
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Final

import trio

from cluster.outside.frames import Value
from cluster.outside.hosting.replicas import RESTART_US, OutsideReplicas, Ports
from cluster.outside.process import ApplicationLostError
from cluster.runtime.directory_disk import DirectoryDisk
from faults import Adversary, ByzantinePort, Watch
from faults.events import ApplicationLost, ApplicationReplaced, ClockSet, Crashed, DiskFound, DiskSynced, Restarted
from network.bus import Bus
from network.clock import ClockSetting, MachineClock
from network.inbox import Inbox
from network.kernel import Kernel
from network.port import Pace, Port
from network.trace import Trace
from network.types import SUPERVISOR, EventKind, Label
from scheduler import CoveragePoint
from validators.node import Validator
from validators.stats import DISK, ValidatorCounts
from validators.storage import Boundary, DiskHandle, SimulatedDisk
from validators.storage.checksum import DurableChecksum, checksum_of_all

_OF_APPLICATIONS: Final = 1 << 48
_RESTARTS: Final = 1 << 40
"""Ordinals stand above the ordinals of crashes at boundaries and of observers, which are numbered too."""


class PowerCutError(BaseException):
    """The power went in the midst of a step: the rest of that step does not happen.

    Not an Exception, so that no handler of the validator takes it for a fault of its own.
    """


Builder = Callable[["MachineSlot", Port, DiskHandle], Validator]
"""Makes an incarnation of the validator in a slot."""


@dataclass(slots=True)
class MachineSlot:
    """A slot for a validator: its disk, machine and counts, and the incarnation that lives now."""

    node: int
    disk: SimulatedDisk | DirectoryDisk
    counts: ValidatorCounts = field(default_factory=ValidatorCounts)
    power: Inbox[int] = field(default_factory=Inbox)
    pace: Pace = field(default_factory=Pace)
    clock: MachineClock = field(default_factory=MachineClock)
    incarnation: int = 0
    port: Port | None = None
    handle: DiskHandle | None = None
    scope: trio.CancelScope | None = None
    validator: Validator | None = None
    watch: Watch | None = None

    @property
    def is_running(self) -> bool:
        """Return whether an incarnation lives, recovering or not."""
        return self.port is not None

    @property
    def is_serving(self) -> bool:
        """Return whether a client would be answered."""
        return self.validator is not None and self.validator.is_serving


class MachineController:
    """Hosts every validator of a cluster and switches them; see ``faults.Power``."""

    def __init__(
        self,
        *,
        kernel: Kernel,
        bus: Bus,
        trace: Trace,
        disks: Sequence[SimulatedDisk | DirectoryDisk],
        build: Builder,
        begin_journal: Callable[[int, SimulatedDisk], None],
        votes: Sequence[str],
        adversaries: Mapping[int, Adversary] = MappingProxyType({}),
        applications: OutsideReplicas | None = None,
    ) -> None:
        self._kernel = kernel
        self._bus = bus
        self._trace = trace
        self._build = build
        self._begin_journal = begin_journal
        self._votes = votes
        """Kinds of messages that begin to leave behind the boundary `after-send`."""
        self._adversaries = adversaries
        self._applications = applications
        if applications is not None:
            applications.connect(Ports(self._reach_on, self._lose_application, self._note_point))
        self.slots = [MachineSlot(node, disk) for node, disk in enumerate(disks)]

    async def host_all(self) -> None:
        """Host all validators until the run is stopped; a twin stays off until its fault switches it on."""
        async with trio.open_nursery() as nursery:
            for slot in self.slots:
                adversary = self._adversaries.get(slot.node)
                if adversary is None or adversary.node == slot.node:
                    self._switch_on(slot)
                nursery.start_soon(self._host, slot, name=f"validator {slot.node}")

    def crash(self, node: int) -> bool:
        """Stop ``node`` in this instant; False if it was not running."""
        slot = self.slots[node]
        if not slot.is_running:
            return False
        self._note_crash(node, self._cut_off(slot))
        return True

    def _cut_off(self, slot: MachineSlot) -> int:
        """Cut an incarnation's power; return how many bytes its disk lost."""
        assert slot.port is not None, "only a running validator is cut off"
        assert slot.handle is not None, "a port comes with a handle"
        assert slot.scope is not None, "a port comes with a scope"
        # Port and disk before the cancellation: clean-up code of the dying task must neither send nor write.
        slot.port.revoke()
        slot.handle.revoke()
        # After the handle is revoked, or a last append could land behind the cut.
        lost_bytes = slot.disk.lose_unsynced()
        slot.scope.cancel()
        if self._applications is not None:
            self._applications.stop(slot.node)
        # In the same instant: a restart may be the next event, before the old task has ended.
        slot.port = slot.validator = None
        if (adversary := self._adversaries.get(slot.node)) is not None:
            # The next life may hear messages, or halt, before it has a layer; this one is released.
            adversary.layer = None
        return lost_bytes

    def _note_crash(self, node: int, lost_bytes: int) -> None:
        self._trace.chain(SUPERVISOR).add(self._kernel.now_us, Crashed(node, lost_bytes))

    def restart(self, node: int) -> bool:
        """Start ``node`` on its old disk; False if it is running already."""
        slot = self.slots[node]
        if slot.is_running:
            return False
        self._switch_on(slot)
        self._trace.chain(SUPERVISOR).add(self._kernel.now_us, Restarted(node))
        return True

    def pause(self, node: int) -> None:
        """Hold back every event of ``node``."""
        port = self.slots[node].port
        if port is not None:
            port.pause()

    def resume(self, node: int) -> int:
        """Release the events of ``node``, and return how many were held back."""
        port = self.slots[node].port
        return 0 if port is None else port.resume()

    def slow_down(self, node: int, factor: int) -> None:
        """Make all work of ``node`` take ``factor`` times as long, over restarts as well."""
        pace = self.slots[node].pace
        # Counted from here: another fault may slow the same machine again.
        pace.factor, pace.slowed = factor, 0

    def speed_up(self, node: int) -> int:
        """End ``slow_down``, and return how many pieces of work took longer."""
        self.slots[node].pace.factor = 1
        return self.slowed(node)

    def slowed(self, node: int) -> int:
        """Return how many pieces of work of ``node`` took longer since ``slow_down``."""
        return self.slots[node].pace.slowed

    def slow_disk(self, node: int, factor: int, extra_us: int) -> None:
        """Make each sync of ``node`` take ``factor`` times as long, and ``extra_us`` more, over restarts as well."""
        pace = self.slots[node].pace
        pace.disk_factor, pace.disk_extra_us, pace.disk_slowed = factor, extra_us, 0

    def speed_up_disk(self, node: int) -> int:
        """End ``slow_disk``, and return how many syncs took longer."""
        pace = self.slots[node].pace
        pace.disk_factor, pace.disk_extra_us = 1, 0
        return self.slowed_disk(node)

    def slowed_disk(self, node: int) -> int:
        """Return how many syncs of ``node`` took longer since ``slow_disk``."""
        return self.slots[node].pace.disk_slowed

    def clock(self, node: int) -> MachineClock:
        """Return the clocks of ``node``, which outlive its incarnations."""
        return self.slots[node].clock

    def set_clock(self, node: int, setting: ClockSetting) -> None:
        """Make the clocks of ``node`` use a setting from now on, whether it is on or off."""
        slot, now_us = self.slots[node], self._kernel.now_us
        ppm_before = slot.clock.ppm
        slot.clock.set(now_us, setting)
        if slot.port is not None:
            slot.port.reset_alarms()
            if setting.ppm != ppm_before:
                slot.port.retime(ppm_before)
        clock_set = ClockSet(node, setting.offset_us, setting.ppm, setting.strobe_us)
        self._trace.chain(SUPERVISOR).add(now_us, clock_set)

    def wipe(self, node: int) -> None:
        """Put an empty disk into ``node``, which is off."""
        self.slots[node].disk.wipe()
        if self._applications is not None:
            self._applications.empty(node)

    def replace(self, node: int, build: str) -> None:
        """Make ``node`` run this build of its application from its next start on."""
        assert self._applications is not None, "a plan without an application names no build"
        self._applications.replace(node, build)
        self._trace.chain(SUPERVISOR).add(self._kernel.now_us, ApplicationReplaced(node, build))

    def forget_votes(self, node: int) -> None:
        """Give ``node``, which is off, a new journal: it will not know its earlier votes."""
        disk = self.disk(node)
        medium = disk.medium
        # An adversary gets its new journal, whatever its disk refuses to a validator.
        disk.medium = medium.at_rest()
        self._begin_journal(node, disk)
        disk.medium = medium

    def disk(self, node: int) -> SimulatedDisk:
        """Return the simulated disk of ``node``."""
        disk = self.slots[node].disk
        assert isinstance(disk, SimulatedDisk), "faults of real disks are refused before the run"
        return disk

    def revive(self, node: int) -> bool:
        """Restart ``node`` if it runs but has stopped over its disk; False if it has not."""
        return self.slots[node].counts.halted.startswith(DISK) and self.crash(node) and self.restart(node)

    def watch(self, node: int, watch: Watch | None) -> None:
        """Report each boundary of the write-ahead order that ``node`` reaches, over restarts as well."""
        slot = self.slots[node]
        slot.watch = watch
        if slot.port is not None:
            self._listen(slot, slot.port)

    def _listen(self, slot: MachineSlot, port: Port) -> None:
        """Observe sent messages only while a fault watches: a broadcast is faster without."""
        port.on_sent = partial(self._sent, slot) if slot.watch is not None else None

    def _sent(self, slot: MachineSlot, label: Label) -> None:
        if label.kind in self._votes:
            self._reach(slot, "after-send")

    def _reach(self, slot: MachineSlot, boundary: Boundary) -> None:
        """Cut the power at a boundary, if it is the fault's boundary; raises PowerCutError then.

        The validators of one turn have no order, so the supervisor's chain gets a separate event for it.
        """
        watch = slot.watch
        if watch is None or not watch.is_struck(boundary):
            return
        lost_bytes = self._cut_off(slot)
        now_us, ordinal = self._kernel.now_us, slot.incarnation
        self._kernel.post(
            now_us, SUPERVISOR, EventKind.FAULT, slot.node, ordinal, self._note_cut, watch, slot.node, lost_bytes
        )
        raise PowerCutError

    def _note_cut(self, watch: Watch, node: int, lost_bytes: int) -> None:
        watch.note()
        self._note_crash(node, lost_bytes)

    def _reach_on(self, node: int, boundary: Boundary) -> None:
        self._reach(self.slots[node], boundary)

    def _note_point(self, node: int, point: CoveragePoint) -> None:
        self.slots[node].counts.reach(point)

    def _lose_application(self, node: int, error: ApplicationLostError, asked: Mapping[str, Value]) -> PowerCutError:
        """Cut the power of a machine whose application is lost in the midst of a step; return the step's error."""
        assert self._applications is not None, "one was lost"
        slot = self.slots[node]
        height = self._applications.note_loss(node, error, asked)
        lost = ApplicationLost(node, error.request, error.call, error.reason, height)
        ordinal = slot.incarnation + _OF_APPLICATIONS
        now_us, lost_bytes = self._kernel.now_us, self._cut_off(slot)
        self._kernel.post(
            now_us, SUPERVISOR, EventKind.FAULT, node, ordinal, self._note_loss, lost, lost_bytes, ordinal
        )
        return PowerCutError()

    def _note_loss(self, lost: ApplicationLost, lost_bytes: int, ordinal: int) -> None:
        self._trace.chain(SUPERVISOR).add(self._kernel.now_us, lost)
        self._note_crash(lost.machine, lost_bytes)
        if self._applications is not None and lost.machine not in self._applications.lost:
            at_us = self._kernel.now_us + RESTART_US
            restart = partial(self._switch_on_again, lost.machine)
            self._kernel.post(at_us, SUPERVISOR, EventKind.FAULT, lost.machine, ordinal + _RESTARTS, restart)

    def _switch_on_again(self, node: int) -> None:
        self.restart(node)

    def _switch_on(self, slot: MachineSlot) -> None:
        """Make the handles immediately: events of this instant already find the node on."""
        chain = self._trace.chain(slot.node)
        adversary = self._adversaries.get(slot.node)
        make = Port if adversary is None else partial(ByzantinePort, adversary=adversary)
        slot.port = make(
            *(self._kernel, self._bus, chain, slot.node),
            incarnation=slot.incarnation,
            pace=slot.pace,
            clock=slot.clock,
        )
        slot.handle = self._handle_of(slot)
        self._listen(slot, slot.port)
        slot.counts.halted = ""
        slot.scope = trio.CancelScope()
        slot.validator = self._build(slot, slot.port, slot.handle)
        # Last: the host's task may take it immediately and needs the scope and the validator of this incarnation.
        slot.power.put(slot.incarnation)
        slot.incarnation += 1

    def _handle_of(self, slot: MachineSlot) -> DiskHandle:
        """Return a handle to a machine's disk; the trace gives the disk's contents now, and after each sync."""
        reach = partial(self._reach, slot)
        chain, disk = self._trace.chain(slot.node), slot.disk.written()
        durable = DurableChecksum(disk)
        traced = checksum_of_all(disk)
        chain.add(self._kernel.now_us, DiskFound(slot.incarnation, traced))

        def on_durable(name: str) -> None:
            nonlocal traced
            durable.forget(name)
            checksum = durable.value()
            if checksum != traced:
                traced = checksum
                chain.add(self._kernel.now_us, DiskSynced(checksum))

        return DiskHandle(slot.disk, reach, on_durable)

    async def _host(self, slot: MachineSlot) -> None:
        while True:
            incarnation = await slot.power.receive()
            validator, scope = slot.validator, slot.scope
            # Crashed again before this task ran: the next item in the mailbox is the incarnation that counts.
            if validator is None or scope is None or incarnation != slot.incarnation - 1:
                continue
            # In the midst of a step the exception comes before the cancellation.
            with scope, suppress(PowerCutError):
                await validator.run()
            if slot.validator is not validator and validator.layer is not None:
                # Its machine is off. Two states of each validator would stand side by side after an outage.
                validator.layer.release()
            # This task waits for the next start, and would keep the parts of the last one.
            del validator, scope
