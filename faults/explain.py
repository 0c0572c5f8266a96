"""A fault in one plain sentence: who, what, when, until when."""

from collections.abc import Sequence
from typing import Final

from faults.byzantine.catalogue import explain_dishonest
from faults.kinds import Fault
from faults.kinds.byzantine import Dishonest
from faults.kinds.clock import ClockDrift, ClockFault, ClockOffset, ClockStrobe, ClockSwing
from faults.kinds.disk import (
    BitRot,
    DiskFault,
    DiskFull,
    IoErrorFault,
    MisdirectedWrites,
    SlowDisk,
    StaleReads,
    TornWrites,
)
from faults.kinds.fields import Range
from faults.kinds.machine import Blackout, Crash, CrashAtBoundary, MachineFault, Pause, RestartStorm, Slow, Wipe
from faults.kinds.network import Clog, Cut, Flapping, IsolateLeader, Links, NetworkFault, Partition, Rule, SwizzleClog


def explain_fault(fault: Fault) -> str:
    """Return what the fault does, as one sentence."""
    if isinstance(fault, NetworkFault):
        return f"{_span(fault)} {_explain_network(fault)}."
    if isinstance(fault, DiskFault):
        return f"{_span(fault)} {_explain_disk(fault)}."
    if isinstance(fault, Dishonest):
        return f"{_span(fault)} validator {fault.validator} {explain_dishonest(fault)}."
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
        case Crash() | Blackout() | Wipe():
            return _explain_outage(fault)
        case Pause():
            return f"{_span(fault)} {_explain_pause(fault)}"
        case RestartStorm():
            return f"{_span(fault)} {_explain_storm(fault)}"
        case Slow():
            return f"{_span(fault)} all work of validator {fault.validator} takes {fault.factor} times as long"
        case CrashAtBoundary():
            return f"{_span(fault)} {_explain_boundary(fault)}"


def _explain_outage(fault: Crash | Blackout | Wipe) -> str:
    match fault:
        case Crash():
            return (
                f"At {_time(fault.at_ms)} validator {fault.validator} loses its power and whatever it had not synced; "
                f"at {_time(fault.restart_ms)} it restarts from its disk"
            )
        case Blackout():
            return f"At {_time(fault.at_ms)} {_who(fault.validators)} lose their power at once; {_restart(fault)}"
        case Wipe():
            return (
                f"At {_time(fault.at_ms)} validator {fault.validator} loses its power and its disk; at "
                f"{_time(fault.restart_ms)} it starts on an empty one, and may never vote again in this epoch"
            )


def _explain_pause(fault: Pause) -> str:
    is_one = not fault.also
    whose = ("all its events", "its clock goes") if is_one else ("all their events", "their clocks go")
    who = f"{_who(fault.validators)} {'is' if is_one else 'are'}"
    if fault.run_ms:
        rhythm = f"for {_time(fault.pause_ms)}, then not for {_time(fault.run_ms)}, and again"
        return f"{who} paused {rhythm}: {whose[0]} are held back meanwhile, while {whose[1]} on"
    return f"{who} paused: {whose[0]} are held back and delivered at the end, while {whose[1]} on"


def _explain_storm(fault: RestartStorm) -> str:
    who = _who(fault.validators) if fault.validators else "all validators"
    order = "in a drawn order" if fault.is_drawn else "in turn"
    every, down = (f"{_time(least)} to {_time(most)}" for least, most in (fault.every_ms, fault.down_ms))
    return f"{who} lose their power {order}, one every {every}, and restart from their disks {down} later"


_BOUNDARIES: Final = {
    "before-append": "before it writes to its vote journal",
    "after-append": "between the write to its vote journal and the sync",
    "after-sync": "between the sync of its disk and what it sends on it",
    "after-send": "when the first message of a vote has left and the others have not",
    "mid-prune": "when one copy of its vote journal is written anew and the other is not",
}


def _explain_boundary(fault: CrashAtBoundary) -> str:
    which = f"once in every {fault.every} times" if fault.every > 1 else "every time" if fault.every else "once"
    if fault.occurrence > 1:
        which = f"at time number {fault.occurrence}"
    where = _BOUNDARIES[fault.boundary]
    back = f"and restarts from its disk {_time(fault.restart_after_ms)} later"
    with_it = f"; {_who(fault.also)} with it in the same instant" if fault.also else ""
    return f"validator {fault.validator} loses its power {where}, {which}, {back}{with_it}"


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
        case Clog() | SwizzleClog():
            return _explain_clog(fault)
        case Links():
            return _explain_links(fault)
        case Rule():
            return _explain_rule(fault)
        case _:
            return _explain_cut(fault)


def _explain_cut(fault: Partition | Cut | Flapping | IsolateLeader) -> str:
    match fault:
        case Partition():
            return _explain_partition(fault)
        case Cut():
            arrows = ", ".join(f"{source}->{destination}" for source, destination in fault.links)
            return f"everything sent on {arrows} is lost, that direction only{_IN_FLIGHT[fault.in_flight]}"
        case Flapping():
            rhythm = f"for {_time(fault.cut_ms)}, then whole for {_time(fault.open_ms)}, and again"
            return f"all links between {_groups(fault.groups)} are cut {rhythm}"
        case IsolateLeader():
            rhythm = f" for {_time(fault.cut_ms)}, then free for {_time(fault.open_ms)}, and again"
            return f"whoever leads the current view is cut off from all others{rhythm if fault.open_ms else ''}"


_IN_FLIGHT: Final = {"arrives": "", "lost": ", and what is on its way at the start is lost"}


def _explain_partition(fault: Partition) -> str:
    if fault.one_way:
        links = " to ".join("{" + ", ".join(str(node) for node in group) + "}" for group in fault.groups)
        links = f"all links from {links}"
    else:
        links = f"all links between {_groups(fault.groups)}"
    match fault.manner:
        case "cut":
            return f"{links} are cut{_IN_FLIGHT[fault.in_flight]}"
        case "jammed":
            return f"{links} are jammed: messages wait, and arrive in their order at the end"
        case "slowed":
            return f"messages on {links} arrive {_time(fault.delay_ms)} later"


def _explain_clog(fault: Clog | SwizzleClog) -> str:
    if isinstance(fault, SwizzleClog):
        who = _who(fault.validators) if fault.validators else "half of all validators"
        pairs = f" and {fault.pairs} drawn links" if fault.pairs else ""
        first = f"{who}{pairs} clog one by one in the first half of the time, and unclog in another order in the second"
        return f"{first}; {_messages(fault.channels)} wait meanwhile"
    ways = {"in": "to", "out": "from", "both": "to and from"}
    clogged = [f"{ways[fault.way]} {_who(fault.validators)}"] if fault.validators else []
    if fault.between:
        clogged.append("between " + ", ".join(f"{first}-{second}" for first, second in fault.between))
    which = f"{_messages(fault.channels)} {_join(clogged)}"
    return f"{which} wait, and arrive in their order at the end"


def _messages(channels: Sequence[str]) -> str:
    return _join(channels) if channels else "all messages"


def _explain_links(fault: Links) -> str:
    pairs = ", ".join(f"{first}-{second}" for first, second in fault.between)
    channels = f" ({_join(fault.channels)} only)" if fault.channels else ""
    rates = (("lose", fault.loss_ppm), ("duplicate", fault.duplicate_ppm), ("flip a byte in", fault.corrupt_ppm))
    changes = [f"{what} {_share(ppm)} of messages" for what, ppm in rates if ppm]
    if fault.reorder_ppm:
        changes.append(f"hold {_share(fault.reorder_ppm)} of messages back for {_time(fault.reorder_extra_ms)}")
    if fault.burst_ppm:
        changes.append(f"lose everything in {_share(fault.burst_ppm)} of the stretches of {_time(fault.burst_ms)}")
    if fault.bytes_per_second:
        changes.append(f"carry {fault.bytes_per_second:,} bytes a second")
    if fault.queue_max:
        changes.append(f"throw a message out when more than {fault.queue_max} are under way")
    if fault.latency_ms is not None:
        changes.insert(0, f"take {fault.latency_ms} ms, give or take {fault.jitter_ms} ms")
    return f"{'the links ' + pairs if pairs else 'all links'}{channels} {_join(changes)}"


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
    if fault.action == "replay":
        return f"{which} are recorded on their way, and arrive once more in their order at {_time(fault.released_ms)}"
    first = f", to {_who(fault.first_to)} already at {_time(fault.first_ms or 0)}" if fault.first_to else ""
    return f"{which} are held, and released in their order at {_time(fault.released_ms)}{first}"


def _restart(fault: Blackout) -> str:
    if not fault.restart_every_ms:
        return f"at {_time(fault.restart_ms)} they restart from their disks"
    return f"from {_time(fault.restart_ms)} on they restart in this order, {_time(fault.restart_every_ms)} apart"


def _span(
    fault: NetworkFault | DiskFault | ClockFault | Dishonest | Pause | Slow | CrashAtBoundary | RestartStorm,
) -> str:
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
