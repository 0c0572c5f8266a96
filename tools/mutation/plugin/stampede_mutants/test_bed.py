"""Mutants of the test bed: a bus, machines and faults that do not do what the plan says.

They are in place for the whole run and for everybody (`is_of_run`): a bus belongs to no validator. Each is a test bed
that would make a run look better, or other, than it was; only `audit` is to find it.
"""

from collections.abc import Callable
from typing import Any, Final

from checker.mutants.mutant import Mutant, Target, mutant
from faults.injection.context import FaultContext
from faults.kinds.isolate_leader import _Isolation
from network import bus
from network.bus import Bus
from network.clock import MachineClock
from network.conditions import Fate, LinkState
from network.port import Pace, Port
from validators.storage import SimulatedDisk

_LATE_MS: Final = 250

_RESET: Final = 'kind="partition", groups=[[0], [1, 2, 3]], in_flight="lost"'

RESETS: Final = (
    f"faults={{a={{{_RESET}, start_ms=3_040, stop_ms=3_400}}, b={{{_RESET}, start_ms=5_110, stop_ms=5_400}}, "
    f"c={{{_RESET}, start_ms=7_470, stop_ms=7_800}}, d={{{_RESET}, start_ms=9_580, stop_ms=9_900}}}}"
)
"""Four cuts that lose what is on its way; a drawn one mostly comes while nothing is."""


def _of_test_bed(*targets: Target, needs: tuple[str, ...] = ()) -> Callable[[Callable[..., Any]], Mutant]:
    return mutant(*targets, area="test-bed", kills=("audit",), on_all=True, is_of_run=True, needs=needs)


@_of_test_bed((Bus, "_arrive"))
def bus_delivers_twice(arrive: Any) -> Any:
    """One message of 20 on each link is delivered twice."""

    def arrive_once_more(self: Any, wire: Any, ordinal: int, parcel: Any) -> None:
        arrive(self, wire, ordinal, parcel)
        if ordinal % 20 == 19:
            arrive(self, wire, ordinal, parcel)

    return arrive_once_more


@_of_test_bed((bus, "fate_of"))
def cut_leaks(fate_of: Any) -> Any:
    """One message of ten that is sent over a cut link arrives all the same."""

    def fate_with_a_leak(wire: Any, ordinal: int, label: Any, length: int, *, now_us: int) -> Any:
        fate = fate_of(wire, ordinal, label, length, now_us=now_us)
        if fate.loss == "cut" and ordinal % 10 == 9:
            return Fate(delays_us=(wire.sample(wire.spec.latency, ordinal),))
        return fate

    return fate_with_a_leak


@_of_test_bed((LinkState, "_stream"))
def draws_of_another_key(stream: Any) -> Any:
    """A link has the draws of other purposes."""
    return lambda self, purpose: stream(self, f"another {purpose}")


@_of_test_bed((bus, "flip_bytes"))
def corruption_corrupts_nothing(_flip_bytes: Any) -> Any:
    """A message that is to be damaged arrives as it was sent."""
    return lambda payload, _flips: payload


@_of_test_bed((Bus, "release"))
def held_never_released(_release: Any) -> Any:
    """Messages that a clog, a jam or a rule holds are never let go."""

    def keep(self: Any, name: str, destinations: Any = None, *, gap_us: int = 1) -> None:
        """Keep everything."""

    return keep


@_of_test_bed((Bus, "reset"), needs=(RESETS,))
def reset_loses_nothing(_reset: Any) -> Any:
    """A cut that loses what is on its way lets it arrive."""
    return lambda _self, _name: None


@_of_test_bed((_Isolation, "_follow"))
def isolation_stays_behind(_follow: Any) -> Any:
    """The cut around the leader stays where it was when the leader changes."""
    return lambda _self: None


@_of_test_bed((Port, "pause"))
def pause_pauses_nothing(_pause: Any) -> Any:
    """A paused validator goes on."""
    return lambda _self: None


@_of_test_bed((SimulatedDisk, "lose_unsynced"))
def crash_loses_nothing(_lose: Any) -> Any:
    """A crash leaves on the disk what was never synced."""

    def keep_all(self: Any) -> int:
        for file in self._files.values():
            file.synced_bytes = len(file.data)
        return 0

    return keep_all


@_of_test_bed((FaultContext, "outage"))
def restart_comes_late(outage: Any) -> Any:
    """A validator that lost its power gets it back a quarter of a second late."""

    def outage_and_more(self: Any, span_ms: tuple[int, int], nodes: tuple[int, ...]) -> Any:
        return outage(self, (span_ms[0], span_ms[1] + _LATE_MS), nodes)

    return outage_and_more


@_of_test_bed((FaultContext, "switch_off"))
def one_stays_on(switch_off: Any) -> Any:
    """Of several validators that lose their power at once, the last one does not."""

    def switch_off_but_one(self: Any, nodes: Any) -> None:
        listed = tuple(nodes)
        switch_off(self, listed[:-1] if len(listed) > 1 else listed)

    return switch_off_but_one


@_of_test_bed((Pace, "stretch"))
def slow_machine_is_fast(stretch: Any) -> Any:
    """Work on a slow machine takes its usual time."""

    def stretch_by_the_disk(self: Any, lane: str, cost_us: int) -> int:
        factor: int = self.factor
        return int(stretch(self, lane, cost_us)) // factor

    return stretch_by_the_disk


@_of_test_bed((MachineClock, "set"))
def clocks_stay_right(_set: Any) -> Any:
    """A fault of clocks moves no clock."""
    return lambda _self, _now_us, _setting: None


@_of_test_bed((MachineClock, "lasting_us"))
def drift_moves_no_timer(_lasting: Any) -> Any:
    """The timers of a machine whose clocks run fast or slow last as long as on any other."""

    def lasting_as_asked(self: Any, after_us: int) -> int:
        self.wrong += bool(self.ppm)
        return after_us

    return lasting_as_asked
