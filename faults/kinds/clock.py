"""Faults of clocks as data: kinds that make wall clocks and timers wrong."""

from typing import Annotated, Final

import msgspec

from faults.kinds.fields import FaultBase, Milliseconds, Validator

DAY_MS: Final = 86_400_000

_Offset = Annotated[int, msgspec.Meta(ge=-DAY_MS, le=DAY_MS)]
_Drift = Annotated[int, msgspec.Meta(ge=-900_000, le=9_000_000)]
_Swing = Annotated[int, msgspec.Meta(ge=-900_000, le=900_000)]
_Period = Annotated[int, msgspec.Meta(ge=100)]


class _Hit(FaultBase, frozen=True, forbid_unknown_fields=True, kw_only=True):
    validators: tuple[Validator, ...]
    start_ms: Milliseconds
    stop_ms: Milliseconds


class ClockOffset(_Hit, tag="clock-offset", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Set the wall clocks of validators ahead, or back with a negative offset; at the end they are set right."""

    offset_ms: _Offset


class ClockDrift(_Hit, tag="clock-drift", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Both clocks of validators run fast, or slow with a negative rate; at the end the wall clocks are set right."""

    ppm: _Drift


class ClockSwing(_Hit, tag="clock-swing", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A drift that turns round: fast for half of each period and slow for the other half, or slow first."""

    ppm: _Swing
    period_ms: _Period


class ClockStrobe(_Hit, tag="clock-strobe", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The wall clocks of validators jump to and fro: by the offset for half of each period, and right for the rest."""

    offset_ms: _Offset
    period_ms: Annotated[int, msgspec.Meta(ge=1, le=DAY_MS)]


ClockFault = ClockOffset | ClockDrift | ClockSwing | ClockStrobe
