"""What a fault plan may not say: a plan that cannot be meant is refused before anything runs.

Every refusal names the place in the scenario, the rule, and what is allowed. Injection is in
``faults.injection.injection``; which links a fault is about is decided here, as plain functions of the plan.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from faults.byzantine.catalogue import FORMS
from faults.injection.clocks import rules_of_clock, true_again_ms
from faults.kinds import Fault, kind_of, named_validators, span_ms
from faults.kinds.byzantine import Dishonest
from faults.kinds.clock import ClockDrift, ClockFault, ClockOffset, ClockStrobe, ClockSwing
from faults.kinds.disk import BitRot, IoErrorFault, MisdirectedWrites, SlowDisk, StaleReads, TornWrites
from faults.kinds.fields import Link
from faults.kinds.machine import Blackout, Crash, CrashAtBoundary, Pause, RestartStorm, Slow, Wipe
from faults.kinds.network import Clog, Cut, Flapping, IsolateLeader, Links, Partition, Rule, SwizzleClog
from faults.nearest import did_you_mean
from network.regions import Region
from validators.consensus.quorum import faults_of
from validators.messages import KINDS_WITHOUT_VIEW, MESSAGE_KINDS

PART_MARK: Final = "@"
"""Stands between the name of a fault and the part of it that a condition of the bus is; no fault's name has it."""


class PlanError(Exception):
    """A fault that cannot be meant. ``place`` is the key in the scenario, such as ``faults.split.groups``."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason


_Outage = Crash | Blackout | Pause | Wipe | CrashAtBoundary | RestartStorm
"""Faults in which a validator has no power, or may have none, or does nothing."""


def check_plan(plan: Mapping[str, Fault], validators: int, observers: int = 0) -> None:
    """Refuse a plan that cannot be meant; raises PlanError naming the key.

    Observers are numbered after the validators. They may be named like them, and have no copy that anybody relies on.
    """
    replicas = validators + observers
    for name, fault in plan.items():
        place = f"faults.{name}"
        if PART_MARK in name:
            raise PlanError(place, f"the name of a fault has no {PART_MARK}")
        _check_span(place, fault)
        for node in named_validators(fault):
            if node >= replicas:
                raise PlanError(place, f"unknown validator {node}; this cluster has 0 to {replicas - 1}")
        if isinstance(fault, Dishonest) and fault.validator >= validators:
            raise PlanError(f"{place}.validator", "an observer has no vote to lie with; validators alone are dishonest")
        for key, is_sound, reason in _rules_of(fault, replicas):
            if not is_sound:
                raise PlanError(f"{place}.{key}", reason)
    _check_machines(plan, replicas)
    _check_last_good_copy(plan, validators)


def _check_span(place: str, fault: Fault) -> None:
    start_ms, stop_ms = span_ms(fault)
    if isinstance(fault, Crash | Blackout | Wipe):
        key, stop_ms = "restart_ms", fault.restart_ms
    else:
        key, stop_ms = "stop_ms", fault.stop_ms
    if stop_ms <= start_ms:
        raise PlanError(f"{place}.{key}", f"{stop_ms} is not after the start at {start_ms}")


def _rules_of(fault: Fault, validators: int) -> Iterator[tuple[str, bool, str]]:
    """Yield (key, whether it is sound, what it must be) for each rule about the kind of this fault."""
    match fault:
        case Partition() | Flapping():
            yield _distinct("groups", named_validators(fault))
            is_split = len(fault.groups) >= 2 and all(fault.groups)
            yield "groups", is_split, "needs at least two groups, none of them empty"
            yield from _rules_of_partition(fault)
        case Cut():
            yield "links", bool(fault.links), "names no link; give at least one pair [from, to]"
            yield _no_loops("links", fault.links)
            yield _no_doubles("links", fault.links)
        case Clog() | SwizzleClog():
            yield from _rules_of_clog(fault, validators)
        case IsolateLeader():
            is_whole = bool(fault.cut_ms) == bool(fault.open_ms)
            yield "open_ms", is_whole, "cut_ms and open_ms go together, both at least 1 or both left out"
        case Dishonest():
            yield from _rules_of_dishonest(fault, validators)
        case Links():
            yield from _rules_of_links(fault)
        case Rule():
            yield from _rules_of_matching(fault, validators)
            yield from _rules_of_action(fault)
        case ClockOffset() | ClockDrift() | ClockSwing() | ClockStrobe():
            yield from rules_of_clock(fault)
            yield _distinct("validators", fault.validators)
        case _:
            yield from _rules_of_machine(fault)


def _rules_of_partition(fault: Partition | Flapping) -> Iterator[tuple[str, bool, str]]:
    if isinstance(fault, Flapping):
        is_flapping = fault.start_ms + fault.cut_ms < fault.stop_ms
        yield "cut_ms", is_flapping, "the links are cut until the end and never open; use a partition"
        return
    is_slow = fault.manner == "slowed"
    yield "delay_ms", is_slow == bool(fault.delay_ms), "belongs to the manner slowed, at least 1"
    yield "release_gap_ms", fault.manner == "jammed" or not fault.release_gap_ms, "belongs to the manner jammed"
    yield "in_flight", fault.manner == "cut" or fault.in_flight == "arrives", "belongs to the manner cut"


def _rules_of_clog(fault: Clog | SwizzleClog, validators: int) -> Iterator[tuple[str, bool, str]]:
    yield _distinct("validators", fault.validators)
    yield _no_repeats("channels", fault.channels)
    if isinstance(fault, SwizzleClog):
        yield "stop_ms", fault.stop_ms - fault.start_ms >= 2, "must lie at least 2 ms after start_ms, for two halves"
        pairs = validators * (validators - 1) // 2
        yield "pairs", fault.pairs <= pairs, f"this cluster has {pairs} pairs of validators"
        return
    yield "validators", bool(fault.validators or fault.between), "clogs nothing; give validators or between"
    yield "way", bool(fault.validators) or fault.way == "both", "belongs to validators; pairs are clogged both ways"
    yield _no_loops("between", fault.between)
    yield _no_doubles("between", [(min(pair), max(pair)) for pair in fault.between])


def _rules_of_machine(fault: Fault) -> Iterator[tuple[str, bool, str]]:
    match fault:
        case TornWrites() | Blackout():
            yield "validators", bool(fault.validators), "names nobody; give at least one validator"
            yield _distinct("validators", fault.validators)
        case BitRot() | StaleReads() | MisdirectedWrites():
            yield "ppm", fault.ppm > 0, "changes nothing; give at least 1"
        case IoErrorFault():
            is_failing = any((fault.read_ppm, fault.write_ppm, fault.sync_ppm))
            yield "kind", is_failing, "changes nothing; give at least one of read_ppm, write_ppm and sync_ppm"
        case SlowDisk():
            yield (
                "factor",
                fault.factor > 1 or fault.extra_ms > 0,
                "changes nothing; give factor (2 or more) or extra_ms",
            )
        case CrashAtBoundary():
            is_one = not fault.every or fault.occurrence == 1
            yield "every", is_one, "occurrence and every exclude each other"
            yield _distinct("also", fault.validators)
        case Pause():
            yield _distinct("also", fault.validators)
            is_whole = bool(fault.pause_ms) == bool(fault.run_ms)
            yield "run_ms", is_whole, "pause_ms and run_ms go together, both at least 1 or both left out"
        case RestartStorm():
            yield _distinct("validators", fault.validators)
            for key, (least, most) in (("every_ms", fault.every_ms), ("down_ms", fault.down_ms)):
                yield key, least <= most, "is [least, most], and the least must not be above the most"
        case _:
            pass


def _rules_of_dishonest(fault: Dishonest, validators: int) -> Iterator[tuple[str, bool, str]]:
    forms = FORMS.get(fault.behaviour, ())
    yield "what", not fault.what or fault.what in forms, f"{fault.behaviour} knows {', '.join(forms) or 'no forms'}"
    is_withholding = fault.behaviour == "withhold"
    yield "kinds", is_withholding or not (fault.kinds or fault.to), "kinds and to belong to the behaviour withhold"
    yield from _rules_of_message_kinds(fault.kinds)
    yield _distinct("to", fault.to)
    yield "to", fault.validator not in fault.to, "a validator keeps nothing from itself"
    is_known = all(node < validators for node in fault.to)
    yield "to", is_known, f"names an unknown validator; this cluster has 0 to {validators - 1}"


def _rules_of_links(fault: Links) -> Iterator[tuple[str, bool, str]]:
    yield _no_loops("between", fault.between)
    yield _no_doubles("between", [(min(pair), max(pair)) for pair in fault.between])
    is_reordering = bool(fault.reorder_ppm) == bool(fault.reorder_extra_ms)
    yield "reorder_ppm", is_reordering, "reorder_ppm and reorder_extra_ms go together, both at least 1 or both left out"
    yield "jitter_ms", fault.latency_ms is not None or not fault.jitter_ms, "needs latency_ms beside it"
    is_bursting = bool(fault.burst_ppm) == bool(fault.burst_ms)
    yield "burst_ppm", is_bursting, "burst_ppm and burst_ms go together, both at least 1 or both left out"
    yield _no_repeats("channels", fault.channels)
    rates = (fault.loss_ppm, fault.reorder_ppm, fault.duplicate_ppm, fault.corrupt_ppm, fault.burst_ppm)
    is_worse = fault.latency_ms is not None or any((*rates, fault.bytes_per_second, fault.queue_max))
    changes = "latency_ms, one of loss, reorder, duplicate, corrupt and burst _ppm, bytes_per_second or queue_max"
    yield "kind", is_worse, f"changes nothing; give {changes}"


def _rules_of_message_kinds(kinds: Sequence[str]) -> Iterator[tuple[str, bool, str]]:
    for kind in kinds:
        named = f"{kind!r}{did_you_mean(kind, MESSAGE_KINDS)}"
        reason = f"no message is called {named}; there are {', '.join(MESSAGE_KINDS)}"
        yield "kinds", kind in MESSAGE_KINDS, reason


def _rules_of_matching(fault: Rule, validators: int) -> Iterator[tuple[str, bool, str]]:
    yield from _rules_of_message_kinds(fault.kinds)
    for key, ranges in (("views", fault.views), ("heights", fault.heights)):
        is_ascending = all(first <= last for first, last in ranges)
        yield key, is_ascending, "a range is [first, last], and the first must not be above the last"
        is_about_none = bool(fault.kinds) and all(kind in KINDS_WITHOUT_VIEW for kind in fault.kinds)
        yield (
            key,
            not (ranges and is_about_none),
            f"messages called {', '.join(fault.kinds)} have no view and no height",
        )
    yield _distinct("from", fault.senders)
    yield _distinct("to", fault.receivers)
    yield _distinct("first_to", fault.first_to)
    strangers = [node for node in fault.first_to if fault.receivers and node not in fault.receivers]
    yield "first_to", not strangers, f"validator {strangers[:1]} is not among those in `to`"
    yield "to", bool(rule_links(fault, validators)), "no link leads from a validator in `from` to another one in `to`"


def _rules_of_action(fault: Rule) -> Iterator[tuple[str, bool, str]]:
    yield "delay_ms", (fault.action == "delay") == bool(fault.delay_ms), "belongs to the action delay, at least 1"
    is_releasing = fault.release_ms is not None or fault.release_gap_ms or fault.first_to or fault.first_ms is not None
    yield "release_ms", fault.is_releasing or not is_releasing, "only the actions hold and replay release anything"
    yield "release_ms", fault.released_ms >= fault.stop_ms, f"must not be before stop_ms, which is {fault.stop_ms}"
    yield "first_ms", (fault.first_ms is not None) == bool(fault.first_to), "first_ms and first_to go together"
    is_first = fault.first_ms is None or fault.start_ms < fault.first_ms < fault.released_ms
    yield "first_ms", is_first, f"must lie between start_ms {fault.start_ms} and the release at {fault.released_ms}"


def _distinct(key: str, named: Sequence[int]) -> tuple[str, bool, str]:
    twice = [node for place, node in enumerate(named) if node in named[:place]]
    return key, not twice, f"validator {twice[0] if twice else ''} is named twice"


def _no_repeats(key: str, names: Sequence[str]) -> tuple[str, bool, str]:
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    return key, not twice, f"{twice[0] if twice else ''} is named twice"


def _no_loops(key: str, links: Sequence[Link]) -> tuple[str, bool, str]:
    loops = [first for first, second in links if first == second]
    return key, not loops, f"validator {loops[0] if loops else ''} has no link to itself"


def _no_doubles(key: str, links: Sequence[Link]) -> tuple[str, bool, str]:
    twice = [link for place, link in enumerate(links) if link in links[:place]]
    return key, not twice, f"the link {list(twice[0]) if twice else ''} is named twice"


def _check_machines(plan: Mapping[str, Fault], validators: int) -> None:
    """One validator cannot lose its power while it has none, nor be paused then.

    One fault at a time makes its machine slow, its disk slow, or its clocks wrong.
    """
    enabled = {name: fault for name, fault in plan.items() if fault.enabled}
    for node in range(validators):
        outages = [
            (*_span_for_ms(fault, node), name, kind_of(fault))
            for name, fault in enabled.items()
            if _is_outage(fault) and node in (named_validators(fault) or range(validators))
        ]
        slow = [
            (*span_ms(fault), name, kind_of(fault))
            for name, fault in enabled.items()
            if isinstance(fault, Slow) and node == fault.validator
        ]
        slow_disks = [
            (*span_ms(fault), name, "slow-disk")
            for name, fault in enabled.items()
            if isinstance(fault, SlowDisk) and node == fault.validator
        ]
        clocks = [
            (*span_ms(fault), name, "clock")
            for name, fault in enabled.items()
            if isinstance(fault, ClockFault) and node in fault.validators
        ]
        clashes = (
            neighbours for spans in (outages, slow, slow_disks, clocks) for neighbours in pairwise(sorted(spans))
        )
        for (_, end_ms, first, kind), (at_ms, _, second, _) in clashes:
            if at_ms <= end_ms:
                state = {
                    "pause": "paused",
                    "slow": "slow",
                    "slow-disk": "slow at its disk",
                    "clock": "wrong in time",
                }.get(kind, "down")
                raise PlanError(
                    f"faults.{second}", f"validator {node} is {state} until {end_ms} by faults.{first}; start later"
                )


def _is_outage(fault: Fault) -> bool:
    is_amnesia = isinstance(fault, Dishonest) and fault.behaviour == "amnesia"
    return is_amnesia or isinstance(fault, _Outage)


def _check_last_good_copy(plan: Mapping[str, Fault], validators: int) -> None:
    """Synced data may be destroyed at f validators over the whole plan: the others hold a quorum of good copies.

    A dishonest validator may hold nothing good at all, so that it counts as well.
    """
    allowed = faults_of(validators)
    enabled = {name: fault for name, fault in plan.items() if fault.enabled}
    if any(fault.above_f for fault in enabled.values() if isinstance(fault, Dishonest)):
        return
    hit: dict[int, None] = {}
    for name, fault in enabled.items():
        if is_destroying(fault) or isinstance(fault, Dishonest):
            hit |= dict.fromkeys(node for node in named_validators(fault) if node < validators)
            if len(hit) > allowed:
                raise PlanError(
                    f"faults.{name}.validator",
                    f"a fault plan never destroys the last good copy: of {validators} validators at most {allowed} may "
                    f"lose synced data or be dishonest over the whole plan, and these are "
                    f"{', '.join(str(node) for node in hit)}",
                )


def dishonest_validators(plan: Mapping[str, Fault]) -> tuple[int, ...]:
    """Return who is dishonest at any time of the run, ascending; no check judges them."""
    faults = (fault for fault in plan.values() if isinstance(fault, Dishonest) and fault.enabled)
    return tuple(sorted(dict.fromkeys(fault.validator for fault in faults)))


def all_over_ms(plan: Mapping[str, Fault], validators: int) -> int:
    """Return from when on nothing of a plan is at work, nor what clocks that were ahead left in the chain's time."""
    clocks = [fault for fault in plan.values() if isinstance(fault, ClockFault)]
    again_ms = true_again_ms(clocks, validators, liars=len(dishonest_validators(plan)))
    return max([again_ms, *(span_ms(fault)[1] for fault in plan.values() if fault.enabled)])


def is_destroying(fault: Fault) -> bool:
    """Whether the fault may destroy what a validator has synced."""
    return isinstance(fault, BitRot | StaleReads | MisdirectedWrites | Wipe)


def _span_for_ms(fault: Fault, node: int) -> tuple[int, int]:
    """Return the part of a fault's time in which this one validator is out."""
    start_ms, stop_ms = span_ms(fault)
    return start_ms, dict(fault.restarts_ms())[node] if isinstance(fault, Blackout) else stop_ms


def resolve_regions(plan: Mapping[str, Fault], regions: Sequence[Region]) -> dict[str, Fault]:
    """Return a plan that names the validators of its regions instead; ``regions`` has that of each validator.

    Raises:
        PlanError: nobody is in a region that the plan names.
    """
    resolved = dict(plan)
    for name, fault in plan.items():
        if isinstance(fault, Blackout) and fault.regions:
            for region in fault.regions:
                if region not in regions:
                    known = ", ".join(dict.fromkeys(regions)) or "none"
                    reason = f"nobody is in {region}; network.regions has {known}"
                    raise PlanError(f"faults.{name}.regions", reason)
            there = [node for node, region in enumerate(regions) if region in fault.regions]
            validators = tuple(dict.fromkeys((*fault.validators, *there)))
            resolved[name] = msgspec.structs.replace(fault, validators=validators, regions=())
    return resolved


def crossing_links(groups: Sequence[Sequence[int]], validators: int, *, one_way: bool = False) -> tuple[Link, ...]:
    """Return every directed link between different groups, in ascending order; or from earlier groups to later ones."""
    group_by_node = {node: index for index, group in enumerate(groups) for node in group}
    loners = [node for node in range(validators) if node not in group_by_node]
    group_by_node.update({node: len(groups) + index for index, node in enumerate(loners)})
    sides = [(link, group_by_node[link[0]], group_by_node[link[1]]) for link in all_links(validators)]
    return tuple(link for link, first, second in sides if (first < second if one_way else first != second))


def all_links(validators: int) -> tuple[Link, ...]:
    """Return every directed link of a cluster, in ascending order."""
    nodes = range(validators)
    return tuple((source, destination) for source in nodes for destination in nodes if source != destination)


def links_of(fault: Links, validators: int) -> tuple[Link, ...]:
    """Return the directed links that get worse."""
    both = tuple(pair for first, second in fault.between for pair in ((first, second), (second, first)))
    return both or all_links(validators)


def rule_links(fault: Rule, validators: int) -> tuple[Link, ...]:
    """Return the directed links that a rule watches."""
    return tuple(
        (source, destination)
        for source, destination in all_links(validators)
        if (not fault.senders or source in fault.senders) and (not fault.receivers or destination in fault.receivers)
    )
