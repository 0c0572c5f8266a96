"""The clocks of one machine: the time that it reads, and how fast its timers run.

A machine has two clocks, which go wrong in different ways. The *monotonic* clock measures durations: every timer runs
on it, and nothing sets it. The *wall* clock shows the time: a leader's header, the bound on peers' headers and every
alarm use it. An operator, or a time server, may set it to anything. One crystal drives both, so that drift is common to
them. Offsets, steps and strobes belong to the wall clock alone: they move alarms and no timer.

Both are compared with virtual time, which is always right. Integers only: between two settings a clock is linear.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from network.types import MILLISECOND_US, Micros

MILLION: Final = 1_000_000


class ClockSetting(NamedTuple):
    """The pace and the error of a machine's clocks from some moment on.

    ``offset_us`` is how far the wall clock is ahead then; None keeps its present lead. ``ppm`` is how much faster than
    true time both clocks run. For the first half of each ``strobe_period_us`` the wall clock shows ``strobe_us`` more.
    """

    offset_us: Micros | None = 0
    ppm: int = 0
    strobe_us: Micros = 0
    strobe_period_us: Micros = 0


TRUE: Final = ClockSetting()
"""Clocks that are right."""


@dataclass(slots=True)
class MachineClock:
    """Both clocks of one machine; they outlive the incarnations of its validator.

    ``wrong`` counts results other than true: readings of the wall clock and alarms by a millisecond, timers that last
    longer or shorter.
    """

    ppm: int = 0
    wrong: int = 0
    _since_us: Micros = 0
    _offset_us: Micros = 0
    _strobe_us: Micros = 0
    _strobe_half_us: Micros = 0

    def wall_us(self, now_us: Micros) -> Micros:
        """Return what the wall clock shows at a virtual time; below zero where it was set back behind the start."""
        shown_us = now_us + self.shown_lead_us(now_us)
        if shown_us // MILLISECOND_US != now_us // MILLISECOND_US:
            self.wrong += 1
        return shown_us

    def shown_lead_us(self, now_us: Micros) -> Micros:
        """Return how far the wall clock is ahead of a virtual time; this is no reading, so it is not counted."""
        lead_us = self._lead_us(now_us)
        if self._strobe_us and (now_us - self._since_us) // self._strobe_half_us % 2 == 0:
            lead_us += self._strobe_us
        return lead_us

    def lasting_us(self, after_us: Micros) -> Micros:
        """Return the virtual time in which the monotonic clock measures this duration."""
        if not self.ppm or after_us <= 0:
            return after_us
        self.wrong += 1
        return -(-after_us * MILLION // (MILLION + self.ppm))

    def alarm_us(self, now_us: Micros, wall_us: Micros) -> Micros:
        """Return when an alarm for a time of the wall clock goes off, unless the clock is set before."""
        due_us = self.reaching_us(now_us, wall_us)
        # A strobe that shows the truth whenever an alarm goes off is seen only in when the alarm goes off.
        if due_us // MILLISECOND_US != max(now_us, wall_us) // MILLISECOND_US:
            self.wrong += 1
        return due_us

    def reaching_us(self, now_us: Micros, wall_us: Micros) -> Micros:
        """Return the first virtual time from now on at which the wall clock shows this time or more, unless reset."""
        strobed_us = self._first_us(now_us, wall_us - self._strobe_us, is_strobed=True) if self._strobe_us else None
        steady_us = self._first_us(now_us, wall_us, is_strobed=False)
        return steady_us if strobed_us is None else min(strobed_us, steady_us)

    def _first_us(self, now_us: Micros, wall_us: Micros, *, is_strobed: bool) -> Micros:
        """Return the same for one half of the strobe's periods, without the strobe's offset."""
        ahead_us = wall_us - self._offset_us - self._since_us
        # Rounded up: the clock shows whole microseconds, rounded down.
        passed_us = max(-(-ahead_us * MILLION // (MILLION + self.ppm)), now_us - self._since_us)
        if self._strobe_us and (passed_us // self._strobe_half_us % 2 == 0) != is_strobed:
            passed_us = (passed_us // self._strobe_half_us + 1) * self._strobe_half_us
        return self._since_us + passed_us

    def set(self, now_us: Micros, setting: ClockSetting) -> None:
        """Use a setting from now on."""
        self._offset_us = self._lead_us(now_us) if setting.offset_us is None else setting.offset_us
        self._since_us = now_us
        self.ppm = setting.ppm
        self._strobe_us, self._strobe_half_us = setting.strobe_us, setting.strobe_period_us // 2

    def _lead_us(self, now_us: Micros) -> Micros:
        return self._offset_us + (now_us - self._since_us) * self.ppm // MILLION
