"""The share of a run that is over and the time that is left, from its plan, its blocks and the rate of the drain."""

from dataclasses import dataclass
from typing import Final, Protocol

from network.types import MILLISECOND_US

SURE_AFTER_S: Final = 1.0
"""Before this much real time nothing is said of the time that is left."""

WHOLE: Final = 1_000


class Aim(Protocol):
    """The part of a run's progress that an estimate needs; see cluster.runtime.progress.Progress."""

    finalized_heights: list[int]
    now_us: int
    faults_end_us: int
    target_height: int
    drained_height: int | None
    until_drained: bool
    waiting_dead: int


@dataclass(slots=True)
class Estimate:
    """The estimate of one run; `block_interval_ms` is its chain's.

    Blocks are expected at their interval, and the drain to go on at the rate that it had since the most timers were
    dead. Both are only what is known, so it is called *about*.
    """

    block_interval_ms: int
    _most_dead: int = 0
    _most_at_us: int = 0

    def progress(self, aim: Aim, real_s: float) -> tuple[int, float | None]:
        """Return how much is done, in thousandths of the virtual time, and the real seconds that are left, if known."""
        left_us = self._left_us(aim)
        whole_us = aim.now_us + left_us
        done = WHOLE * aim.now_us // whole_us if whole_us else 0
        if real_s < SURE_AFTER_S or not aim.now_us:
            return done, None
        return done, real_s * left_us / aim.now_us

    def _left_us(self, aim: Aim) -> int:
        interval_us = self.block_interval_ms * MILLISECOND_US
        missing = max(aim.target_height - max(aim.finalized_heights), 0)
        until_healed_us = max(aim.faults_end_us - aim.now_us, 0)
        blocks_us = max(missing * interval_us, until_healed_us)
        if not aim.until_drained or aim.drained_height is not None:
            return blocks_us
        return max(blocks_us, until_healed_us + self._drain_us(aim))

    def _drain_us(self, aim: Aim) -> int:
        if aim.waiting_dead >= self._most_dead:
            self._most_dead, self._most_at_us = aim.waiting_dead, aim.now_us
        removed = self._most_dead - aim.waiting_dead
        return aim.waiting_dead * (aim.now_us - self._most_at_us) // removed if removed else 0
