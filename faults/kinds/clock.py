"""Faults of clocks: offsets and strobes of the wall clock, drift and swings of both clocks of a machine.

A fault of clocks reaches the state only through the timestamp in the header of a block that a hit validator leads. So
its effect can outlive its end: `faults.plan.true_again_ms` returns until when.
"""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, ClassVar, Final

import msgspec

from faults.coverage.required import TIMESTAMPS, RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.steps import Edge
from faults.kinds.base import Family, Occupied, Part, Plan, Windowed, moments_of
from faults.kinds.drawing import Drawn, Plain, draw_window
from faults.kinds.fields import Requirement, Validator, distinct, means
from faults.kinds.wording import seconds, share, who
from network.clock import MILLION, TRUE, ClockSetting
from network.draw import Draw
from network.types import MILLISECOND_US
from validators.consensus.quorum import faults_of

DAY_MS: Final = 86_400_000

_Offset = Annotated[int, msgspec.Meta(ge=-DAY_MS, le=DAY_MS)]
_Drift = Annotated[int, msgspec.Meta(ge=-900_000, le=9_000_000)]
_Swing = Annotated[int, msgspec.Meta(ge=-900_000, le=900_000)]


class ClockFault(Windowed, kw_only=True, frozen=True):
    """A fault of the clocks of some machines, which belongs to the machines and outlives a crash."""

    cells: ClassVar[RequiredPoints] = TIMESTAMPS
    family: ClassVar[Family] = "clock"
    reaches: ClassVar[tuple[Part, ...]] = ("clocks",)

    validators: Annotated[tuple[Validator, ...], means("The validators whose clocks are wrong.")]

    def occupies(self) -> Occupied | None:
        return Occupied("clock", "wrong in time")

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield "validators", bool(self.validators), "names no validator; give at least one"
        yield self.change()
        yield distinct("validators", self.validators)

    def change(self) -> Requirement:
        """Return the rule that the fault changes the clocks."""
        raise NotImplementedError

    def setting_after(self, elapsed_ms: int) -> ClockSetting:
        """Return the setting of the clocks from a time on, given since the start."""
        raise NotImplementedError

    def turns(self) -> Iterator[tuple[int, int]]:
        """Yield the virtual times at which clocks turn, and the rate from then on."""
        yield from ()

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        elapsed_ms = max(context.begin_us // MILLISECOND_US - self.start_ms, 0)
        set_clocks = partial(self._set, context)
        begin, end = partial(set_clocks, self.setting_after(elapsed_ms)), partial(set_clocks, TRUE)

        def wrong(node: int) -> int:
            return context.power.clock(node).wrong

        yield from context.metered_window(self.span(), begin, end, meter=wrong, nodes=self.validators)
        for at_ms, ppm in self.turns():
            # A clock that turns continues from its reading.
            yield Edge(at_ms, at_ms, "reverse", partial(set_clocks, ClockSetting(offset_us=None, ppm=ppm)))

    def _set(self, context: FaultContext, setting: ClockSetting) -> None:
        for node in self.validators:
            context.power.set_clock(node, setting)

    def wall(self, offset_ms: int) -> str:
        """Return a phrase for the wall clocks and their offset."""
        clocks = "clock of" if len(self.validators) == 1 else "clocks of"
        is_ahead = "ahead" if offset_ms > 0 else "behind"
        verb = "is" if len(self.validators) == 1 else "are"
        return f"the wall {clocks} {who(self.validators)} {verb} {seconds(abs(offset_ms))} {is_ahead}"

    def wall_end(self) -> str:
        """Return the end of a wall clock's sentence."""
        return f"at the end {'it is' if len(self.validators) == 1 else 'they are'} set right"

    def run(self, rhythm: str) -> str:
        """Return the sentence of clocks that run at a wrong pace."""
        timers = f"and {'its' if len(self.validators) == 1 else 'their'} timers with them"
        end = "at the end they are set right"
        return f"{self.when()} the clocks of {who(self.validators)} run {rhythm}, {timers}; {end}."


class _WallFault(ClockFault, kw_only=True, frozen=True):
    offset_ms: Annotated[_Offset, means("How far the wall clock is ahead, or behind when below zero.")]

    def change(self) -> Requirement:
        """Require an offset."""
        return "offset_ms", self.offset_ms != 0, "changes nothing; give milliseconds ahead, or back below zero"

    def lead_ms(self) -> int:
        """Return the offset."""
        return max(self.offset_ms, 0)


class ClockOffset(_WallFault, tag="clock-offset", kw_only=True, frozen=True):
    """Set the wall clocks of validators ahead, or back with a negative offset; at the end the clocks are set right."""

    counts: ClassVar[str] = "readings of the wall clock and alarms wrong by a millisecond"

    def setting_after(self, elapsed_ms: int) -> ClockSetting:
        """Return the offset."""
        return ClockSetting(offset_us=self.offset_ms * MILLISECOND_US)

    def describe(self) -> str:
        return f"{self.when()} {self.wall(self.offset_ms)}; {self.wall_end()}."

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(19, "clock-offset", _draw_offset),)


class _PaceFault(ClockFault, kw_only=True, frozen=True):
    def change(self) -> Requirement:
        """Require a rate."""
        return "ppm", self.rate() != 0, "changes nothing; give parts per million fast, or slow below zero"

    def rate(self) -> int:
        """Return the rate error of the clocks, in parts per million fast."""
        raise NotImplementedError


class ClockDrift(_PaceFault, tag="clock-drift", kw_only=True, frozen=True):
    """Both clocks of validators run fast, or slow with a negative rate; at the end the wall clocks are set right."""

    counts: ClassVar[str] = (
        "readings of the wall clock and alarms wrong by a millisecond, and timers that lasted longer or shorter"
    )

    ppm: Annotated[
        _Drift,
        means(
            "How much faster the clocks run, or slower when below zero: a timer of T lasts T * 10^6 / (10^6 + `ppm`)."
        ),
    ]

    def rate(self) -> int:
        """Return the rate."""
        return self.ppm

    def lead_ms(self) -> int:
        """Return the lead at the end."""
        return max(-(-(self.stop_ms - self.start_ms) * self.ppm // MILLION), 0)

    def setting_after(self, elapsed_ms: int) -> ClockSetting:
        """Return the rate, and the lead reached by then."""
        return ClockSetting(offset_us=elapsed_ms * MILLISECOND_US * self.ppm // MILLION, ppm=self.ppm)

    def describe(self) -> str:
        return self.run(_fast(self.ppm))

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(20, "clock-drift", _draw_drift),)


class ClockSwing(_PaceFault, tag="clock-swing", kw_only=True, frozen=True):
    """A drift that changes direction: fast for half of each period and slow for the other half, or slow first."""

    counts: ClassVar[str] = (
        "readings of the wall clock and alarms wrong by a millisecond, and timers that lasted longer or shorter"
    )

    ppm: Annotated[
        _Swing,
        means(
            "How much faster the clocks run first, or slower when below zero; in the second half as much the other way."
        ),
    ]
    period_ms: Annotated[
        Annotated[int, msgspec.Meta(ge=100)],
        means("The time of both halves; the wall clock goes on from what it shows."),
    ]

    def rate(self) -> int:
        """Return the first rate."""
        return self.ppm

    def lead_ms(self) -> int:
        """Return the lead at a turn."""
        return max(-(-self.period_ms * self.ppm // (2 * MILLION)), 0)

    def moments(self) -> int:
        """Return two for each period."""
        return moments_of(self.stop_ms - self.start_ms, self.period_ms)

    def turns(self) -> Iterator[tuple[int, int]]:
        """Yield each half period with its rate."""
        half_ms = self.period_ms // 2
        for place, at_ms in enumerate(range(self.start_ms + half_ms, self.stop_ms, half_ms), start=1):
            yield at_ms, -self.ppm if place % 2 else self.ppm

    def setting_after(self, elapsed_ms: int) -> ClockSetting:
        """Return the rate of this half period, and the lead reached by then."""
        half_ms = self.period_ms // 2
        halves, rest_ms = divmod(elapsed_ms, half_ms)
        gained_ms, ppm = (half_ms - rest_ms, -self.ppm) if halves % 2 else (rest_ms, self.ppm)
        return ClockSetting(offset_us=gained_ms * MILLISECOND_US * self.ppm // MILLION, ppm=ppm)

    def describe(self) -> str:
        half = seconds(self.period_ms // 2)
        return self.run(f"{_fast(self.ppm)} for {half}, then {_fast(-self.ppm)} for {half}, and again")

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(21, "clock-swing", _draw_swing),)


class ClockStrobe(_WallFault, tag="clock-strobe", kw_only=True, frozen=True):
    """The wall clocks of validators are ahead by the offset for half of each period, and right for the other half."""

    counts: ClassVar[str] = "readings of the wall clock and alarms wrong by a millisecond"

    period_ms: Annotated[Annotated[int, msgspec.Meta(ge=1, le=DAY_MS)], means("The time between two jumps ahead.")]

    def setting_after(self, elapsed_ms: int) -> ClockSetting:
        """Return the strobe."""
        period_us = self.period_ms * MILLISECOND_US
        return ClockSetting(strobe_us=self.offset_ms * MILLISECOND_US, strobe_period_us=period_us)

    def describe(self) -> str:
        rhythm = f"in the first half of every {seconds(self.period_ms)}, and right in the other"
        return f"{self.when()} {self.wall(self.offset_ms)} {rhythm}; {self.wall_end()}."

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(22, "clock-strobe", _draw_strobe),)


def _fast(ppm: int) -> str:
    return f"{share(abs(ppm))} too {'fast' if ppm > 0 else 'slow'}"


def _draw_clocks(draw: Draw, name: str, validators: int) -> Plain:
    """Return validators and a span: one machine, a minority, half of them, a quorum or all, equally often."""
    faulty = faults_of(validators)
    count = draw.one_of(f"{name}.count", (1, 1, faulty, validators // 2, validators - faulty, validators))
    order = draw.some_of(f"{name}.order", range(validators), validators)
    return {"validators": order[:count], **draw_window(draw, name)}


def _draw_offset_ms(draw: Draw, name: str) -> int:
    """Return an offset of Jepsen's range, a few milliseconds to minutes, and both sides of the skew of voters.

    Offsets ahead are smaller than offsets back: a chain ahead of true time stands still until true time reaches it.
    """
    ahead = (4, 60, 250, 480, 540, 600, 2_000, 8_000, 30_000)
    back = (4, 60, 480, 540, 4_000, 64_000, 262_000)
    is_ahead = draw.chance(f"{name}.is_ahead", 60)
    return draw.one_of(f"{name}.ahead_ms", ahead) if is_ahead else -draw.one_of(f"{name}.back_ms", back)


def _draw_offset(draw: Draw, name: str, validators: int) -> Plain:
    return {**_draw_clocks(draw, name, validators), "offset_ms": _draw_offset_ms(draw, name)}


def _draw_drift(draw: Draw, name: str, validators: int) -> Plain:
    ppm = draw.one_of(f"{name}.ppm", (200, 50_000, 1_000_000, 4_000_000, -200, -50_000, -500_000, -800_000))
    return {**_draw_clocks(draw, name, validators), "ppm": ppm}


def _draw_swing(draw: Draw, name: str, validators: int) -> Plain:
    ppm = draw.one_of(f"{name}.ppm", (20_000, 400_000, -20_000, -400_000))
    period_ms = draw.one_of(f"{name}.period_ms", (500, 3_000))
    return {**_draw_clocks(draw, name, validators), "ppm": ppm, "period_ms": period_ms}


def _draw_strobe(draw: Draw, name: str, validators: int) -> Plain:
    period_ms = draw.one_of(f"{name}.period_ms", (1, 30, 1_000, 2_700))
    offset_ms = _draw_offset_ms(draw, name)
    return {**_draw_clocks(draw, name, validators), "offset_ms": offset_ms, "period_ms": period_ms}
