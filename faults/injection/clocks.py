"""Faults of validators' clocks: the rules of a plan, what each does to a machine, and when all is over.

A fault of clocks reaches the state by one road: the timestamp in the header of a block that a hit validator leads. So
it can outlive its own end. Where the clocks of a quorum were ahead, the chain is ahead of true time afterwards, and no
correct validator notarizes a block before true time has come near: `true_again_ms` says when that is.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

from faults.injection.edges import MILLISECOND_US, Edge, window
from faults.injection.power import Power
from faults.kinds.clock import ClockDrift, ClockFault, ClockOffset, ClockStrobe, ClockSwing
from network.clock import MILLION, TRUE, ClockSetting
from validators.consensus.quorum import quorum_of


def rules_of_clock(fault: ClockFault) -> Iterator[tuple[str, bool, str]]:
    """Yield (key, whether it is sound, what it must be) for each rule about a fault of clocks."""
    yield "validators", bool(fault.validators), "names nobody; give at least one validator"
    match fault:
        case ClockOffset() | ClockStrobe():
            yield "offset_ms", fault.offset_ms != 0, "changes nothing; give milliseconds ahead, or back below zero"
        case ClockDrift() | ClockSwing():
            yield "ppm", fault.ppm != 0, "changes nothing; give parts per million fast, or slow below zero"


def true_again_ms(plan: Sequence[ClockFault], validators: int, liars: int = 0) -> int:
    """Return the virtual time from which correct validators may be expected to notarize again; 0 without a fault.

    A header's timestamp is notarized only where a quorum has it behind its clocks, by `max_skew_ms` at most; of that
    quorum `liars` may vote for anything. So the chain's time is never ahead of what that many clocks have shown, and
    when true time has come there, those that are right notarize again. A bound from above, not a forecast.
    """
    hits = [fault for fault in plan if fault.enabled]
    needed = max(quorum_of(validators) - liars, 1)
    edges_ms = sorted({edge_ms for fault in hits for edge_ms in (fault.start_ms, fault.stop_ms)})
    again_ms = max(edges_ms, default=0)
    for start_ms, stop_ms in pairwise(edges_ms):
        leads_ms = [0] * validators
        for fault in hits:
            if fault.start_ms <= start_ms < fault.stop_ms:
                # An observer's clock, numbered after theirs, has no say.
                for node in (node for node in fault.validators if node < validators):
                    leads_ms[node] = max(leads_ms[node], _greatest_lead_ms(fault))
        again_ms = max(again_ms, stop_ms + sorted(leads_ms, reverse=True)[needed - 1])
    return again_ms


def _greatest_lead_ms(fault: ClockFault) -> int:
    """Return how far ahead the fault puts a clock at most."""
    match fault:
        case ClockOffset() | ClockStrobe():
            return max(fault.offset_ms, 0)
        case ClockDrift():
            return max(-(-(fault.stop_ms - fault.start_ms) * fault.ppm // MILLION), 0)
        case ClockSwing():
            return max(-(-fault.period_ms * fault.ppm // (2 * MILLION)), 0)


class ClockFaults:
    """Lets faults of clocks begin, turn and end, and counts what came out wrong of it."""

    def __init__(self, power: Power) -> None:
        self._power = power
        self._before: dict[tuple[str, int], int] = {}
        self._after: dict[tuple[str, int], int] = {}

    def edges(self, name: str, fault: ClockFault, begin_us: int) -> Iterator[Edge]:
        """Yield the moments of a fault in a run that begins at ``begin_us``, by then perhaps in its midst."""
        elapsed_ms = max(begin_us // MILLISECOND_US - fault.start_ms, 0)
        yield from window(
            fault.start_ms,
            fault.stop_ms,
            partial(self.begin, name, fault, elapsed_ms),
            partial(self.end, name, fault),
        )
        for at_ms, ppm in turns_of(fault):
            yield Edge(at_ms, at_ms, "turn", partial(self.turn, fault, ppm))

    def begin(self, name: str, fault: ClockFault, elapsed_ms: int = 0) -> None:
        """Let a fault begin, or go on after ``elapsed_ms``."""
        self._set(fault, setting_after(fault, elapsed_ms))
        self._before.update({(name, node): self._power.clock(node).wrong for node in fault.validators})

    def turn(self, fault: ClockFault, ppm: int) -> None:
        """Let clocks that swing run the other way, from what they show."""
        self._set(fault, ClockSetting(offset_us=None, ppm=ppm))

    def end(self, name: str, fault: ClockFault) -> None:
        """Set the clocks right."""
        self._set(fault, TRUE)
        self._after.update({(name, node): self._power.clock(node).wrong for node in fault.validators})

    def count(self, name: str, fault: ClockFault) -> int:
        """Return how many readings of a wall clock were not true, and how many timers lasted longer or shorter."""
        return sum(self.count_at(name, node) for node in fault.validators)

    def count_at(self, name: str, node: int) -> int:
        """Return the same of one validator."""
        before = self._before.get((name, node))
        return 0 if before is None else self._after.get((name, node), self._power.clock(node).wrong) - before

    def _set(self, fault: ClockFault, setting: ClockSetting) -> None:
        for node in fault.validators:
            self._power.set_clock(node, setting)


def turns_of(fault: ClockFault) -> Iterator[tuple[int, int]]:
    """Yield when clocks that swing turn, in virtual milliseconds, and the rate from then on."""
    if isinstance(fault, ClockSwing):
        half_ms = fault.period_ms // 2
        for place, at_ms in enumerate(range(fault.start_ms + half_ms, fault.stop_ms, half_ms), start=1):
            yield at_ms, -fault.ppm if place % 2 else fault.ppm


def setting_after(fault: ClockFault, elapsed_ms: int) -> ClockSetting:
    """Return how a fault has clocks go from a moment on that lies ``elapsed_ms`` after its start."""
    match fault:
        case ClockOffset():
            return ClockSetting(offset_us=fault.offset_ms * MILLISECOND_US)
        case ClockDrift():
            return ClockSetting(offset_us=elapsed_ms * MILLISECOND_US * fault.ppm // MILLION, ppm=fault.ppm)
        case ClockSwing():
            half_ms = fault.period_ms // 2
            halves, rest_ms = divmod(elapsed_ms, half_ms)
            gained_ms, ppm = (half_ms - rest_ms, -fault.ppm) if halves % 2 else (rest_ms, fault.ppm)
            return ClockSetting(offset_us=gained_ms * MILLISECOND_US * fault.ppm // MILLION, ppm=ppm)
        case ClockStrobe():
            period_us = fault.period_ms * MILLISECOND_US
            return ClockSetting(strobe_us=fault.offset_ms * MILLISECOND_US, strobe_period_us=period_us)
