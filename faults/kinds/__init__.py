"""The fault catalogue as data: what a scenario file may say under ``[faults.NAME]``.

Each kind says whom it hits and when; times are virtual milliseconds from the start of the run. What
a type can refuse is refused here, what needs the whole cluster in ``faults.plan``. Each family of kinds
has a module of its own, whose last line is their union; here is what all of them answer.
"""

from collections.abc import Iterator, Sequence

from faults.kinds.byzantine import Dishonest
from faults.kinds.clock import ClockDrift, ClockFault, ClockOffset, ClockStrobe, ClockSwing
from faults.kinds.disk import DiskFault, TornWrites
from faults.kinds.fields import Link
from faults.kinds.machine import Blackout, Crash, CrashAtBoundary, MachineFault, Pause, RestartStorm, Wipe
from faults.kinds.network import Clog, Cut, Flapping, IsolateLeader, Links, NetworkFault, Partition, Rule, SwizzleClog

Fault = NetworkFault | MachineFault | DiskFault | ClockFault | Dishonest


def span_ms(fault: Fault) -> tuple[int, int]:
    """Return when the fault starts and when nothing of it is left, in virtual milliseconds."""
    if isinstance(fault, Crash | Wipe):
        return fault.at_ms, fault.restart_ms
    if isinstance(fault, Blackout):
        return fault.at_ms, max((at_ms for _, at_ms in fault.restarts_ms()), default=fault.restart_ms)
    if isinstance(fault, CrashAtBoundary):
        return fault.start_ms, fault.stop_ms + fault.restart_after_ms
    if isinstance(fault, RestartStorm):
        return fault.start_ms, fault.stop_ms + fault.down_ms[1]
    if isinstance(fault, Rule) and fault.is_releasing:
        return fault.start_ms, fault.released_ms
    return fault.start_ms, fault.stop_ms


def cut_windows_ms(fault: Flapping | IsolateLeader | Pause) -> Iterator[tuple[int, int]]:
    """Yield when a fault that comes and goes is there; one that never goes has one window."""
    on_ms, off_ms = (fault.pause_ms, fault.run_ms) if isinstance(fault, Pause) else (fault.cut_ms, fault.open_ms)
    if not off_ms:
        yield fault.start_ms, fault.stop_ms
        return
    for start_ms in range(fault.start_ms, fault.stop_ms, on_ms + off_ms):
        yield start_ms, min(start_ms + on_ms, fault.stop_ms)


def edges_of(fault: Fault) -> int:
    """Return about how many moments of a fault the supervisor is woken for, beside the outages of a storm."""
    start_ms, stop_ms = span_ms(fault)
    match fault:
        case Flapping() | IsolateLeader() if fault.open_ms:
            period_ms = fault.cut_ms + fault.open_ms
        case Pause() if fault.run_ms:
            period_ms = fault.pause_ms + fault.run_ms
        case ClockSwing():
            period_ms = fault.period_ms
        case RestartStorm():
            return 0
        case _:
            return 2
    return 2 * -(-(stop_ms - start_ms) // period_ms)


def outages_of(fault: Fault, validators: int) -> int:
    """Return about how often a storm of restarts cuts somebody's power: nobody's who is off still."""
    if not isinstance(fault, RestartStorm):
        return 0
    doubled_ms, nodes = 2 * (fault.stop_ms - fault.start_ms), len(fault.validators) or validators
    return min(doubled_ms // sum(fault.every_ms) + 1, nodes * (doubled_ms // sum(fault.down_ms) + 1))


def kind_of(fault: Fault) -> str:
    """Return what a scenario file calls the fault's kind."""
    return str(type(fault).__struct_config__.tag)


def _named(links: Sequence[Link]) -> tuple[int, ...]:
    return tuple(node for link in links for node in link)


_Several = (
    Blackout
    | TornWrites
    | Pause
    | CrashAtBoundary
    | RestartStorm
    | SwizzleClog
    | ClockOffset
    | ClockDrift
    | ClockSwing
    | ClockStrobe
)


def named_validators(fault: Fault) -> tuple[int, ...]:
    """Return every validator that the fault names, in the order in which it does."""
    if isinstance(fault, _Several):
        return fault.validators
    match fault:
        case Clog():
            return (*fault.validators, *_named(fault.between))
        case Partition() | Flapping():
            return tuple(node for group in fault.groups for node in group)
        case Cut() | Links():
            return _named(fault.links if isinstance(fault, Cut) else fault.between)
        case Rule():
            return (*fault.senders, *fault.receivers, *fault.first_to)
        case _:
            # `isolate-leader` names nobody: whom it hits is found out in the run.
            return () if isinstance(fault, IsolateLeader) else (fault.validator,)
