"""The interface to validators' machines: everything that a fault may do to them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from network.clock import ClockSetting, MachineClock
from validators.storage import Boundary, SimulatedDisk


@dataclass(frozen=True, slots=True)
class Watch:
    """Decides at which boundary of the write-ahead order a validator loses its power.

    ``is_struck`` is called at each boundary within the validator's step: True cuts the power at once, and the rest of
    the step does not happen. ``note`` is called once for each loss of power, as an event of the supervisor.
    """

    is_struck: Callable[[Boundary], bool]
    note: Callable[[], None]


class Power(Protocol):
    """Acts on validators' machines."""

    def crash(self, node: int) -> bool:
        """Stop ``node`` in this instant; False if it was not running."""

    def restart(self, node: int) -> bool:
        """Start ``node`` on its old disk; False if it is running already."""

    def pause(self, node: int) -> None:
        """Hold back every event of ``node``."""

    def resume(self, node: int) -> int:
        """Let the events of ``node`` go on, and return the number of held events."""

    def slow_down(self, node: int, factor: int) -> None:
        """Make all work of ``node`` take ``factor`` times as long."""

    def speed_up(self, node: int) -> int:
        """End ``slow_down``, and return how many pieces of work took longer."""

    def slowed(self, node: int) -> int:
        """Return how many pieces of work of ``node`` took longer since ``slow_down``."""

    def slow_disk(self, node: int, factor: int, extra_us: int) -> None:
        """Make each sync of ``node`` take ``factor`` times as long, and ``extra_us`` more."""

    def speed_up_disk(self, node: int) -> int:
        """End ``slow_disk``, and return how many syncs took longer."""

    def clock(self, node: int) -> MachineClock:
        """Return the clocks of ``node``, which outlive its incarnations."""

    def set_clock(self, node: int, setting: ClockSetting) -> None:
        """Set the clocks of ``node`` from now on, whether it is on or off."""

    def slowed_disk(self, node: int) -> int:
        """Return how many syncs of ``node`` took longer since ``slow_disk``."""

    def wipe(self, node: int) -> None:
        """Put an empty disk into ``node``, which is off."""

    def replace(self, node: int, build: str) -> None:
        """Make ``node`` run this build of its application from its next start on."""

    def forget_votes(self, node: int) -> None:
        """Give ``node``, which is off, a new journal, so that it forgets its votes."""

    def disk(self, node: int) -> SimulatedDisk:
        """Return the disk of ``node``, for a fault to damage or slow."""

    def revive(self, node: int) -> bool:
        """Restart ``node`` if it runs but has halted because of its disk; False if it has not halted."""

    def watch(self, node: int, watch: Watch | None) -> None:
        """Call ``watch`` at each boundary of the write-ahead order that ``node`` reaches, also after restarts."""
