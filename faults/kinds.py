"""The fault catalogue as data: what a scenario file may say under ``[faults.NAME]``.

Each kind says whom it hits and when; times are virtual milliseconds from the start of the run. What
a type can refuse is refused here, what needs the whole cluster in ``faults.plan``. Each family of kinds
has a module of its own, whose last line is their union; here is what all of them answer.
"""

from collections.abc import Iterator, Mapping

import msgspec

from faults.clock_kinds import ClockDrift, ClockFault, ClockOffset, ClockStrobe, ClockSwing
from faults.disk_kinds import DiskFault, TornWrites
from faults.machine_kinds import Blackout, Crash, CrashAtBoundary, MachineFault, Wipe
from faults.network_kinds import Cut, Flapping, IsolateLeader, Links, NetworkFault, Partition, Rule

Fault = NetworkFault | MachineFault | DiskFault | ClockFault


def span_ms(fault: Fault) -> tuple[int, int]:
    """Return when the fault starts and when nothing of it is left, in virtual milliseconds."""
    if isinstance(fault, Crash | Wipe):
        return fault.at_ms, fault.restart_ms
    if isinstance(fault, Blackout):
        return fault.at_ms, max((at_ms for _, at_ms in fault.restarts_ms()), default=fault.restart_ms)
    if isinstance(fault, CrashAtBoundary):
        return fault.start_ms, fault.stop_ms + fault.restart_after_ms
    if isinstance(fault, Rule) and fault.action == "hold":
        return fault.start_ms, fault.released_ms
    return fault.start_ms, fault.stop_ms


def cut_windows_ms(fault: Flapping | IsolateLeader) -> Iterator[tuple[int, int]]:
    """Yield when a cut that comes and goes begins and ends; a cut that is never open has one window."""
    if not fault.open_ms:
        yield fault.start_ms, fault.stop_ms
        return
    for start_ms in range(fault.start_ms, fault.stop_ms, fault.cut_ms + fault.open_ms):
        yield start_ms, min(start_ms + fault.cut_ms, fault.stop_ms)


def kind_of(fault: Fault) -> str:
    """Return what a scenario file calls the fault's kind."""
    return str(type(fault).__struct_config__.tag)


def faults_from(plan: Mapping[str, Fault], start_us: int) -> dict[str, Fault]:
    """Return a plan without what begins before this time: a run that goes on later cannot show it."""
    return {
        name: fault if span_ms(fault)[0] * 1_000 >= start_us else msgspec.structs.replace(fault, enabled=False)
        for name, fault in plan.items()
    }


def named_validators(fault: Fault) -> tuple[int, ...]:
    """Return every validator that the fault names, in the order in which it does."""
    match fault:
        case Blackout() | TornWrites() | ClockOffset() | ClockDrift() | ClockSwing() | ClockStrobe():
            return fault.validators
        case Partition() | Flapping():
            return tuple(node for group in fault.groups for node in group)
        case Cut() | Links():
            links = fault.links if isinstance(fault, Cut) else fault.between
            return tuple(node for link in links for node in link)
        case Rule():
            return (*fault.senders, *fault.receivers, *fault.first_to)
        case IsolateLeader():
            return ()
        case _:
            return (fault.validator,)
