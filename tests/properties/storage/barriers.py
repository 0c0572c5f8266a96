"""A barrier: actions that wait for the disk, some of which append and hand over others in their turn.

In a run an action seldom hands over another one while more of them are durable, and what is lost then is the order of
messages of one instant.
"""

from typing import Final

from tests.properties.draws import Asked, Draw
from validators.storage import Barrier, SimulatedDisk
from validators.storage.disk import SyncPoint

_STEPS: Final = 24
_FILE: Final = "one"
_ACTIONS_MAX: Final = 40


class _Handed:
    """A barrier, and all that was handed to it: each action by its number."""

    def __init__(self, draw: Draw) -> None:
        self.disk = SimulatedDisk()
        self.under_way: list[SyncPoint] = []
        self.barrier = Barrier(self.disk, self.under_way.append)
        self.needed: list[int] = []
        """By action the bytes of the file that it has to wait for."""
        self.ran: list[int] = []
        self.early: list[int] = []
        self.nested: list[int] = []
        self._is_acting = False
        self._draw = draw

    def append(self) -> None:
        """Write something."""
        self.disk.append(_FILE, bytes(1 + self._draw(9)))

    def hand_over(self) -> None:
        """Hand over the next action."""
        number = len(self.needed)
        self.needed.append(self.disk.size(_FILE))
        self.barrier.then(lambda: self._act(number))

    def end_sync(self) -> None:
        """End the sync that is under way."""
        if self.under_way:
            self.barrier.finish(self.under_way.pop(0))

    def _act(self, number: int) -> None:
        self.ran.append(number)
        if self._is_acting:
            self.nested.append(number)
        self._is_acting = True
        if self.disk.synced_bytes(_FILE) < self.needed[number]:
            self.early.append(number)
        if self._draw(3) == 0 and len(self.needed) < _ACTIONS_MAX:
            if self._draw(2):
                self.append()
            self.hand_over()
        self._is_acting = False


def check_barriers(draw: Draw) -> Asked:
    """Yield what is asked of a barrier, and whether it is so."""
    handed = _Handed(draw)
    for _ in range(_STEPS):
        (handed.append, handed.hand_over, handed.end_sync)[draw(3)]()
        waits = len(handed.ran) < len(handed.needed)
        yield (
            "at a barrier more than one sync is under way, or none that is waited for",
            (len(handed.under_way) <= 1 and (not waits or len(handed.under_way) == 1)),
        )
    while handed.under_way:
        handed.end_sync()
    yield "an action runs before what it waits for is durable", not handed.early
    yield "an action runs within the one that handed it over", not handed.nested
    yield "a barrier's actions do not run in their order, each once", handed.ran == list(range(len(handed.needed)))
