"""The places of a cluster: what of a validator outlives its incarnations, and who switches it on and off.

Invariant: at most one incarnation of a validator is alive, and a crash cuts it off before it can
notice: first its handles to bus, disk and kernel are revoked, then unsynced writes are lost, and only
then is its task cancelled (DESIGN section 3, rule 3).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import trio

from network.bus import Bus
from network.kernel import Kernel
from network.port import Mailbox, Pace, Port
from network.trace import Trace
from network.types import SUPERVISOR
from validators.application import ValidatorCounts
from validators.node import Validator
from validators.storage import DiskHandle, SimulatedDisk

Builder = Callable[["Place", Port, DiskHandle], Validator]
"""Makes one incarnation of the validator of a place."""


@dataclass(slots=True)
class Place:
    """One validator's place: its disk, machine and counts, and the incarnation that lives now."""

    node: int
    disk: SimulatedDisk = field(default_factory=SimulatedDisk)
    counts: ValidatorCounts = field(default_factory=ValidatorCounts)
    power: Mailbox[int] = field(default_factory=Mailbox)
    pace: Pace = field(default_factory=Pace)
    incarnation: int = 0
    port: Port | None = None
    handle: DiskHandle | None = None
    scope: trio.CancelScope | None = None
    validator: Validator | None = None

    @property
    def is_running(self) -> bool:
        """Whether an incarnation lives, be it still recovering."""
        return self.port is not None

    @property
    def is_serving(self) -> bool:
        """Whether a client would be answered."""
        return self.validator is not None and self.validator.is_serving


class PowerGrid:
    """Hosts every validator of a cluster and switches them; see ``faults.Power``."""

    def __init__(self, *, kernel: Kernel, bus: Bus, trace: Trace, validators: int, build: Builder) -> None:
        self._kernel = kernel
        self._bus = bus
        self._trace = trace
        self._build = build
        self.places = [Place(node) for node in range(validators)]

    async def host_all(self) -> None:
        """Be the home of all validators until the run is stopped."""
        async with trio.open_nursery() as nursery:
            for place in self.places:
                self._switch_on(place)
                nursery.start_soon(self._host, place, name=f"validator {place.node}")

    def crash(self, node: int) -> bool:
        """Stop ``node`` in this instant; False where it was not running."""
        place = self.places[node]
        if place.port is None or place.handle is None or place.scope is None:
            return False
        place.port.revoke()
        place.handle.revoke()
        lost_bytes = place.disk.lose_unsynced()
        place.scope.cancel()
        place.port = place.validator = None
        self._trace.chain(SUPERVISOR).add(self._kernel.now_us, "crash", node, lost_bytes)
        return True

    def restart(self, node: int) -> bool:
        """Start ``node`` on its old disk; False where it is running already."""
        place = self.places[node]
        if place.is_running:
            return False
        self._switch_on(place)
        self._trace.chain(SUPERVISOR).add(self._kernel.now_us, "restart", node)
        return True

    def pause(self, node: int) -> None:
        """Hold back every event of ``node``."""
        port = self.places[node].port
        if port is not None:
            port.pause()

    def resume(self, node: int) -> int:
        """Let the events of ``node`` go on, and return how many were held back."""
        port = self.places[node].port
        return 0 if port is None else port.resume()

    def slow_down(self, node: int, factor: int) -> None:
        """Make all work of ``node`` take ``factor`` times as long, over restarts as well."""
        pace = self.places[node].pace
        pace.factor, pace.slowed = factor, 0

    def speed_up(self, node: int) -> int:
        """End ``slow_down``, and return how many pieces of work took longer."""
        pace = self.places[node].pace
        pace.factor = 1
        return pace.slowed

    def _switch_on(self, place: Place) -> None:
        """Make the handles at once: what happens in this instant already finds somebody home."""
        chain = self._trace.chain(place.node)
        place.port = Port(self._kernel, self._bus, chain, place.node, place.incarnation, pace=place.pace)
        place.handle = DiskHandle(place.disk)
        place.scope = trio.CancelScope()
        place.validator = self._build(place, place.port, place.handle)
        place.power.put(place.incarnation)
        place.incarnation += 1

    async def _host(self, place: Place) -> None:
        while True:
            incarnation = await place.power.receive()
            validator, scope = place.validator, place.scope
            # Crashed again before this task ran: the next item in the mailbox is the incarnation that counts.
            if validator is None or scope is None or incarnation != place.incarnation - 1:
                continue
            with scope:
                await validator.run()
