"""Machines with ports, clocks and disks, without validators, for the self-test of the fault injector.

The stage hosts them as a cluster hosts its own (docs/design.md, Restart), and the trace has all that happens to them.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import trio

from faults import Watch
from faults.events import ClockSet, Crashed, DiskFound, DiskSynced, Restarted
from network.bus import Bus
from network.chance import Chance
from network.clock import ClockSetting, MachineClock
from network.inbox import Inbox
from network.kernel import Kernel
from network.port import Inbound, Pace, Port
from network.trace import Trace
from network.types import SUPERVISOR, EventKind, Label
from validators.storage import Boundary, DiskHandle, SimulatedDisk
from validators.storage.checksum import DurableChecksum, checksum_of_all

BEGUN: Final = "begun"


class StagePowerCutError(BaseException):
    """The power went in the midst of a step."""


Act = Callable[["StageMachine", Inbound | str], None]
"""Called with a machine and what has come to it, or `BEGUN` where a life begins."""


@dataclass(slots=True)
class StageMachine:
    """One machine, and the life that is on it now."""

    node: int
    disk: SimulatedDisk
    power: Inbox[int] = field(default_factory=Inbox)
    pace: Pace = field(default_factory=Pace)
    clock: MachineClock = field(default_factory=MachineClock)
    lives: int = 0
    port: Port | None = None
    handle: DiskHandle | None = None
    scope: trio.CancelScope | None = None
    watch: Watch | None = None


class Stage:
    """The machines of a self-test; it is the `faults.injection.power.Power` of the injector.

    Args:
        votes: Kinds of messages that begin to leave behind the boundary `after-send`.
        act: What each machine does with what comes to it.
    """

    def __init__(
        self, kernel: Kernel, bus: Bus, trace: Trace, chance: Chance, *, nodes: int, votes: Sequence[str], act: Act
    ) -> None:
        self._kernel, self._bus, self._trace = kernel, bus, trace
        self._votes, self._act = votes, act
        self.machines: Final = [StageMachine(node, SimulatedDisk(node, chance)) for node in range(nodes)]

    async def host_all(self) -> None:
        """Host all machines until the run ends."""
        async with trio.open_nursery() as nursery:
            for machine in self.machines:
                self._switch_on(machine)
                nursery.start_soon(self._host, machine)

    async def _host(self, machine: StageMachine) -> None:
        while True:
            life = await machine.power.receive()
            port, scope = machine.port, machine.scope
            if port is None or scope is None or life != machine.lives - 1:
                continue
            with scope, suppress(StagePowerCutError):
                self._act(machine, BEGUN)
                await port.serve(partial(self._act, machine))

    def _switch_on(self, machine: StageMachine) -> None:
        chain = self._trace.chain(machine.node)
        machine.port = Port(
            *(self._kernel, self._bus, chain, machine.node),
            incarnation=machine.lives,
            pace=machine.pace,
            clock=machine.clock,
        )
        durable = DurableChecksum(machine.disk.written())
        chain.add(self._kernel.now_us, DiskFound(machine.lives, checksum_of_all(machine.disk.written())))

        def on_durable(name: str) -> None:
            durable.forget(name)
            chain.add(self._kernel.now_us, DiskSynced(durable.value()))

        machine.handle = DiskHandle(machine.disk, partial(self._reach, machine), on_durable)
        self._listen(machine)
        machine.scope = trio.CancelScope()
        machine.power.put(machine.lives)
        machine.lives += 1

    def _cut_off(self, machine: StageMachine) -> int:
        assert machine.port is not None, "only a machine with power loses it"
        assert machine.handle is not None, "a port comes with a handle"
        assert machine.scope is not None, "a port comes with a scope"
        machine.port.revoke()
        machine.handle.revoke()
        lost_bytes = machine.disk.lose_unsynced()
        machine.scope.cancel()
        machine.port = None
        return lost_bytes

    def _say(self, body: Crashed | Restarted | ClockSet) -> None:
        self._trace.chain(SUPERVISOR).add(self._kernel.now_us, body)

    def _listen(self, machine: StageMachine) -> None:
        if machine.port is not None:
            machine.port.on_sent = None if machine.watch is None else partial(self._sent, machine)

    def _sent(self, machine: StageMachine, label: Label) -> None:
        if label.kind in self._votes:
            self._reach(machine, "after-send")

    def _reach(self, machine: StageMachine, boundary: Boundary) -> None:
        watch = machine.watch
        if watch is None or not watch.is_struck(boundary):
            return
        lost_bytes = self._cut_off(machine)

        def note() -> None:
            watch.note()
            self._say(Crashed(machine.node, lost_bytes))

        key = SUPERVISOR, EventKind.FAULT, machine.node, machine.lives
        self._kernel.post(self._kernel.now_us, *key, note)
        raise StagePowerCutError

    # What faults do

    def crash(self, node: int) -> bool:
        """Stop a machine."""
        machine = self.machines[node]
        if machine.port is None:
            return False
        self._say(Crashed(node, self._cut_off(machine)))
        return True

    def restart(self, node: int) -> bool:
        """Start a machine."""
        machine = self.machines[node]
        if machine.port is not None:
            return False
        self._switch_on(machine)
        self._say(Restarted(node))
        return True

    def pause(self, node: int) -> None:
        """Hold back the events of a machine."""
        port = self.machines[node].port
        if port is not None:
            port.pause()

    def resume(self, node: int) -> int:
        """Let them go on."""
        port = self.machines[node].port
        return 0 if port is None else port.resume()

    def slow_down(self, node: int, factor: int) -> None:
        """Slow a machine down."""
        pace = self.machines[node].pace
        pace.factor, pace.slowed = factor, 0

    def speed_up(self, node: int) -> int:
        """End that."""
        self.machines[node].pace.factor = 1
        return self.slowed(node)

    def slowed(self, node: int) -> int:
        """Return the pieces of work that took longer."""
        return self.machines[node].pace.slowed

    def slow_disk(self, node: int, factor: int, extra_us: int) -> None:
        """Slow a disk down."""
        pace = self.machines[node].pace
        pace.disk_factor, pace.disk_extra_us, pace.disk_slowed = factor, extra_us, 0

    def speed_up_disk(self, node: int) -> int:
        """End that."""
        pace = self.machines[node].pace
        pace.disk_factor, pace.disk_extra_us = 1, 0
        return self.slowed_disk(node)

    def slowed_disk(self, node: int) -> int:
        """Return the syncs that took longer."""
        return self.machines[node].pace.disk_slowed

    def clock(self, node: int) -> MachineClock:
        """Return the clocks of a machine."""
        return self.machines[node].clock

    def set_clock(self, node: int, setting: ClockSetting) -> None:
        """Set them."""
        machine, ppm_before = self.machines[node], self.machines[node].clock.ppm
        machine.clock.set(self._kernel.now_us, setting)
        if machine.port is not None:
            machine.port.reset_alarms()
            if setting.ppm != ppm_before:
                machine.port.retime(ppm_before)
        self._say(ClockSet(node, setting.offset_us, setting.ppm, setting.strobe_us))

    def wipe(self, node: int) -> None:
        """Empty a disk."""
        self.machines[node].disk.wipe()

    def forget_votes(self, node: int) -> None:
        """Lose what a machine has said; on a stage it says nothing."""

    def disk(self, node: int) -> SimulatedDisk:
        """Return a disk."""
        return self.machines[node].disk

    def revive(self, node: int) -> bool:
        """Restart a machine that its disk has stopped; on a stage none stops over it."""
        return bool(self.machines[node].disk.read("stopped"))

    def watch(self, node: int, watch: Watch | None) -> None:
        """Tell of each boundary that a machine reaches."""
        self.machines[node].watch = watch
        self._listen(self.machines[node])
