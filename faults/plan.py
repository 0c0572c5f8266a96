"""What a fault plan may not say: a plan that cannot be meant is refused before anything runs.

Every refusal names the place in the scenario, the rule, and what is allowed. Injection is in
``faults.injection``; which links a fault is about is decided here, as plain functions of the plan.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from faults.clock_kinds import ClockDrift, ClockFault, ClockOffset, ClockStrobe, ClockSwing
from faults.clocks import rules_of_clock
from faults.disk_kinds import BitRot, IoErrorFault, MisdirectedWrites, SlowDisk, StaleReads, TornWrites
from faults.kinds import Fault, kind_of, named_validators, span_ms
from faults.machine_kinds import Blackout, Crash, CrashAtBoundary, Pause, Slow, Wipe
from faults.network_kinds import Cut, Flapping, IsolateLeader, Links, Partition, Rule
from faults.terms import Link
from validators.messages import KINDS_WITHOUT_VIEW, MESSAGE_KINDS


class PlanError(Exception):
    """A fault that cannot be meant. ``place`` is the key in the scenario, such as ``faults.split.groups``."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason


def check_plan(plan: Mapping[str, Fault], validators: int, observers: int = 0) -> None:
    """Refuse a plan that cannot be meant; raises PlanError naming the key.

    Observers are numbered after the validators. They may be named like them, and have no copy that anybody relies on.
    """
    replicas = validators + observers
    for name, fault in plan.items():
        place = f"faults.{name}"
        _check_span(place, fault)
        for node in named_validators(fault):
            if node >= replicas:
                raise PlanError(place, f"unknown validator {node}; this cluster has 0 to {replicas - 1}")
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
            if isinstance(fault, Flapping):
                is_flapping = fault.start_ms + fault.cut_ms < fault.stop_ms
                yield "cut_ms", is_flapping, "the links are cut until the end and never open; use a partition"
        case Cut():
            yield "links", bool(fault.links), "names no link; give at least one pair [from, to]"
            yield _no_loops("links", fault.links)
            yield _no_doubles("links", fault.links)
        case IsolateLeader():
            is_whole = bool(fault.cut_ms) == bool(fault.open_ms)
            yield "open_ms", is_whole, "cut_ms and open_ms go together, both at least 1 or both left out"
        case Blackout():
            yield "validators", bool(fault.validators), "names nobody; give at least one validator"
            yield _distinct("validators", fault.validators)
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


def _rules_of_machine(fault: Fault) -> Iterator[tuple[str, bool, str]]:
    match fault:
        case TornWrites():
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
        case _:
            pass


def _rules_of_links(fault: Links) -> Iterator[tuple[str, bool, str]]:
    yield _no_loops("between", fault.between)
    yield _no_doubles("between", [(min(pair), max(pair)) for pair in fault.between])
    is_reordering = bool(fault.reorder_ppm) == bool(fault.reorder_extra_ms)
    yield "reorder_ppm", is_reordering, "reorder_ppm and reorder_extra_ms go together, both at least 1 or both left out"
    yield "jitter_ms", fault.latency_ms is not None or not fault.jitter_ms, "needs latency_ms beside it"
    rates = (fault.loss_ppm, fault.reorder_ppm, fault.duplicate_ppm, fault.corrupt_ppm)
    is_worse = fault.latency_ms is not None or any(rates)
    yield "kind", is_worse, "changes nothing; give latency_ms or one of loss, reorder, duplicate and corrupt _ppm"


def _rules_of_matching(fault: Rule, validators: int) -> Iterator[tuple[str, bool, str]]:
    unknown = [kind for kind in fault.kinds if kind not in MESSAGE_KINDS]
    yield "kinds", not unknown, f"no message is called {unknown[:1]}; there are {', '.join(MESSAGE_KINDS)}"
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
    yield "release_ms", fault.action == "hold" or not is_releasing, "only the action hold releases anything"
    yield "release_ms", fault.released_ms >= fault.stop_ms, f"must not be before stop_ms, which is {fault.stop_ms}"
    yield "first_ms", (fault.first_ms is not None) == bool(fault.first_to), "first_ms and first_to go together"
    is_first = fault.first_ms is None or fault.start_ms < fault.first_ms < fault.released_ms
    yield "first_ms", is_first, f"must lie between start_ms {fault.start_ms} and the release at {fault.released_ms}"


def _distinct(key: str, named: Sequence[int]) -> tuple[str, bool, str]:
    twice = [node for place, node in enumerate(named) if node in named[:place]]
    return key, not twice, f"validator {twice[0] if twice else ''} is named twice"


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
            if isinstance(fault, Crash | Blackout | Pause | Wipe | CrashAtBoundary) and node in named_validators(fault)
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


def _check_last_good_copy(plan: Mapping[str, Fault], validators: int) -> None:
    """Synced data may be destroyed at f validators over the whole plan: the others hold a quorum of good copies."""
    allowed = (validators - 1) // 3
    hit: dict[int, None] = {}
    for name, fault in plan.items():
        if fault.enabled and is_destroying(fault):
            hit |= dict.fromkeys(node for node in named_validators(fault) if node < validators)
            if len(hit) > allowed:
                raise PlanError(
                    f"faults.{name}.validator",
                    f"a fault plan never destroys the last good copy: of {validators} validators at most {allowed} may "
                    f"lose synced data over the whole plan, and these are {', '.join(str(node) for node in hit)}",
                )


def is_destroying(fault: Fault) -> bool:
    """Whether the fault may destroy what a validator has synced."""
    return isinstance(fault, BitRot | StaleReads | MisdirectedWrites | Wipe)


def _span_for_ms(fault: Crash | Blackout | Pause | Wipe | CrashAtBoundary, node: int) -> tuple[int, int]:
    """Return the part of a fault's time in which this one validator is out."""
    start_ms, stop_ms = span_ms(fault)
    return start_ms, dict(fault.restarts_ms())[node] if isinstance(fault, Blackout) else stop_ms


def crossing_links(groups: Sequence[Sequence[int]], validators: int) -> tuple[Link, ...]:
    """Return every directed link between different groups, in ascending order."""
    group_by_node = {node: index for index, group in enumerate(groups) for node in group}
    loners = [node for node in range(validators) if node not in group_by_node]
    group_by_node.update({node: len(groups) + index for index, node in enumerate(loners)})
    return tuple(link for link in all_links(validators) if group_by_node[link[0]] != group_by_node[link[1]])


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
