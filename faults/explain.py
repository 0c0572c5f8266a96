"""A fault in one plain sentence: who, what, when, until when."""

from collections.abc import Sequence
from typing import Final

from faults.clock_kinds import ClockDrift, ClockFault, ClockOffset, ClockStrobe, ClockSwing
from faults.disk_kinds import (
    BitRot,
    DiskFault,
    DiskFull,
    IoErrorFault,
    MisdirectedWrites,
    SlowDisk,
    StaleReads,
    TornWrites,
)
from faults.kinds import Fault
from faults.machine_kinds import Blackout, Crash, CrashAtBoundary, MachineFault, Pause, Slow, Wipe
from faults.network_kinds import Cut, Flapping, IsolateLeader, Links, NetworkFault, Partition, Rule
from faults.terms import Range


def explain_fault(fault: Fault) -> str:
    """Return what the fault does, as one sentence."""
    if isinstance(fault, NetworkFault):
        return f"{_span(fault)} {_explain_network(fault)}."
    if isinstance(fault, DiskFault):
        return f"{_span(fault)} {_explain_disk(fault)}."
    if isinstance(fault, ClockFault):
        return f"{_span(fault)} {_explain_clock(fault)}."
    return f"{_explain_machine(fault)}."


def _explain_clock(fault: ClockFault) -> str:
    whose = _who(fault.validators)
    is_one = len(fault.validators) == 1
    wall = f"the wall clock of {whose} is" if is_one else f"the wall clocks of {whose} are"
    timers = f"and {'its' if is_one else 'their'} timers with them"
    match fault:
        case ClockOffset():
            return f"{wall} {_ahead(fault.offset_ms)}; at the end {'it is' if is_one else 'they are'} set right"
        case ClockDrift():
            return f"the clocks of {whose} run {_fast(fault.ppm)}, {timers}; at the end they are set right"
        case ClockSwing():
            half = _time(fault.period_ms // 2)
            rhythm = f"{_fast(fault.ppm)} for {half}, then {_fast(-fault.ppm)} for {half}, and again"
            return f"the clocks of {whose} run {rhythm}, {timers}; at the end they are set right"
        case ClockStrobe():
            rhythm = f"in the first half of every {_time(fault.period_ms)}, and right in the other"
            at_the_end = f"at the end {'it is' if is_one else 'they are'} set right"
            return f"{wall} {_ahead(fault.offset_ms)} {rhythm}; {at_the_end}"


def _ahead(offset_ms: int) -> str:
    return f"{_time(abs(offset_ms))} {'ahead' if offset_ms > 0 else 'behind'}"


def _fast(ppm: int) -> str:
    return f"{_share(abs(ppm))} too {'fast' if ppm > 0 else 'slow'}"


def _explain_machine(fault: MachineFault) -> str:
    match fault:
        case Crash():
            return (
                f"At {_time(fault.at_ms)} validator {fault.validator} loses its power and whatever it had not synced; "
                f"at {_time(fault.restart_ms)} it restarts from its disk"
            )
        case Blackout():
            return f"At {_time(fault.at_ms)} {_who(fault.validators)} lose their power at once; {_restart(fault)}"
        case Pause():
            held = "all its events are held back and delivered at the end, while its clock goes on"
            return f"{_span(fault)} validator {fault.validator} is paused: {held}"
        case Slow():
            return f"{_span(fault)} all work of validator {fault.validator} takes {fault.factor} times as long"
        case Wipe():
            return (
                f"At {_time(fault.at_ms)} validator {fault.validator} loses its power and its disk; at "
                f"{_time(fault.restart_ms)} it starts on an empty one, and may never vote again in this epoch"
            )
        case CrashAtBoundary():
            return f"{_span(fault)} {_explain_boundary(fault)}"


_BOUNDARIES: Final = {
    "before-append": "before it writes to its vote journal",
    "after-append": "between the write to its vote journal and the sync",
    "after-sync": "between the sync of its disk and what it sends on it",
    "after-send": "when the first message of a vote has left and the others have not",
}


def _explain_boundary(fault: CrashAtBoundary) -> str:
    which = f"once in every {fault.every} times" if fault.every > 1 else "every time" if fault.every else "once"
    if fault.occurrence > 1:
        which = f"at time number {fault.occurrence}"
    where = _BOUNDARIES[fault.boundary]
    back = f"and restarts from its disk {_time(fault.restart_after_ms)} later"
    return f"validator {fault.validator} loses its power {where}, {which}, {back}"


def _explain_disk(fault: DiskFault) -> str:
    match fault:  # one answer per kind
        case TornWrites():
            return f"a crash of {_who(fault.validators)} leaves a part of what was not synced on the disk"
        case BitRot() | StaleReads() | MisdirectedWrites():
            files = f" under {_join(fault.files)}" if fault.files else ""
            what = {
                BitRot: "of the sectors that are read have a bit flipped from then on",
                StaleReads: "of the sectors that are read show what an earlier sync left there, from then on",
                MisdirectedWrites: "of the writes land in another place and destroy what stood there",
            }[type(fault)]
            return f"on the disk of validator {fault.validator}{files} {_share(fault.ppm)} {what}"
        case IoErrorFault():
            rates = (("reads", fault.read_ppm), ("writes", fault.write_ppm), ("syncs", fault.sync_ppm))
            failing = _join([f"{_share(ppm)} of {what}" for what, ppm in rates if ppm])
            return f"{failing} on the disk of validator {fault.validator} fail; if it stops, it is restarted at the end"
        case DiskFull():
            room = f"{fault.spare_bytes} more bytes" if fault.spare_bytes else "nothing more"
            return f"the disk of validator {fault.validator} takes {room}; if it stops, it is restarted at the end"
        case SlowDisk():
            longer = [f"{fault.factor} times as long"] * (fault.factor > 1)
            longer += [f"{_time(fault.extra_ms)} more"] * (fault.extra_ms > 0)
            return f"each sync of validator {fault.validator} takes {_join(longer)}"


def _explain_network(fault: NetworkFault) -> str:
    match fault:
        case Partition():
            return f"all links between {_groups(fault.groups)} are cut"
        case Cut():
            arrows = ", ".join(f"{source}->{destination}" for source, destination in fault.links)
            return f"everything sent on {arrows} is lost, that direction only"
        case Flapping():
            rhythm = f"for {_time(fault.cut_ms)}, then whole for {_time(fault.open_ms)}, and again"
            return f"all links between {_groups(fault.groups)} are cut {rhythm}"
        case IsolateLeader():
            rhythm = f" for {_time(fault.cut_ms)}, then free for {_time(fault.open_ms)}, and again"
            return f"whoever leads the current view is cut off from all others{rhythm if fault.open_ms else ''}"
        case Links():
            return _explain_links(fault)
        case Rule():
            return _explain_rule(fault)


def _explain_links(fault: Links) -> str:
    pairs = ", ".join(f"{first}-{second}" for first, second in fault.between)
    rates = (("lose", fault.loss_ppm), ("duplicate", fault.duplicate_ppm), ("flip a byte in", fault.corrupt_ppm))
    changes = [f"{what} {_share(ppm)} of messages" for what, ppm in rates if ppm]
    if fault.reorder_ppm:
        changes.append(f"hold {_share(fault.reorder_ppm)} of messages back for {_time(fault.reorder_extra_ms)}")
    if fault.latency_ms is not None:
        changes.insert(0, f"take {fault.latency_ms} ms, give or take {fault.jitter_ms} ms")
    return f"{'the links ' + pairs if pairs else 'all links'} {_join(changes)}"


def _explain_rule(fault: Rule) -> str:
    kinds = _join(fault.kinds) if fault.kinds else "all"
    links = f"from {_who(fault.senders) if fault.senders else 'anybody'}"
    links += f" to {_who(fault.receivers) if fault.receivers else 'anybody'}"
    about = [
        f"{what} {_ranges(ranges)}" for what, ranges in (("view", fault.views), ("height", fault.heights)) if ranges
    ]
    which = f"{kinds} messages {links}" + (f" about {_join(about)}" if about else "")
    if fault.action == "drop":
        return f"{which} are dropped"
    if fault.action == "delay":
        return f"{which} arrive {_time(fault.delay_ms)} later"
    first = f", to {_who(fault.first_to)} already at {_time(fault.first_ms or 0)}" if fault.first_to else ""
    return f"{which} are held, and released in their order at {_time(fault.released_ms)}{first}"


def _restart(fault: Blackout) -> str:
    if not fault.restart_every_ms:
        return f"at {_time(fault.restart_ms)} they restart from their disks"
    return f"from {_time(fault.restart_ms)} on they restart in this order, {_time(fault.restart_every_ms)} apart"


def _span(fault: NetworkFault | DiskFault | ClockFault | Pause | Slow | CrashAtBoundary) -> str:
    return f"From {_time(fault.start_ms)} to {_time(fault.stop_ms)}"


def _time(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1_000)
    return f"{seconds}.{rest:03} s" if rest else f"{seconds} s"


def _share(ppm: int) -> str:
    percent, rest = divmod(ppm, 10_000)
    return f"{percent}.{rest:04}".rstrip("0").rstrip(".") + " %"


def _who(nodes: Sequence[int]) -> str:
    return f"validator{'s' if len(nodes) > 1 else ''} {_join([str(node) for node in nodes])}"


def _groups(groups: Sequence[Sequence[int]]) -> str:
    return _join(["{" + ", ".join(str(node) for node in group) + "}" for group in groups])


def _ranges(ranges: Sequence[Range]) -> str:
    return _join([str(first) if first == last else f"{first} to {last}" for first, last in ranges])


def _join(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
