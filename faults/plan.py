"""Rules across the faults of a plan: an invalid plan is refused before anything runs.

Every refusal names the place in the scenario, the rule, and the allowed values. The rules about a single fault belong
to its kind (`Fault.check`).
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import TypeAlias

from faults.injection.context import PART_MARK
from faults.kinds.base import RESOURCES, Fault, Plan
from network.regions import Region
from validators.consensus.quorum import faults_of


class PlanError(Exception):
    """An invalid fault. ``place`` is the key in the scenario, for example ``faults.split.groups``."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason


def check_plan(
    faults: Mapping[str, Fault], validators: int, observers: int = 0, *, engine: str, is_foreign: bool = False
) -> None:
    """Refuse an invalid plan; raises PlanError naming the key.

    Observers are numbered after the validators. Faults may name them like validators, but no quorum relies on their
    copies of the data. `engine` names the consensus engine, whose adversaries the plan may have. With `is_foreign` the
    application is outside the project, and adversaries do not know its rules.
    """
    plan = Plan(faults, validators, observers, engine, is_foreign)
    for name, fault in faults.items():
        place = f"faults.{name}"
        if PART_MARK in name:
            raise PlanError(place, f"the name of a fault has no {PART_MARK}")
        _check_span(place, fault)
        for node in fault.targets():
            if node >= plan.replicas:
                raise PlanError(place, f"unknown validator {node}; this cluster has 0 to {plan.replicas - 1}")
        anchored = () if fault.anchor is None else fault.anchor.check("anchor", plan.replicas)
        for key, is_sound, reason in (*anchored, *fault.check(plan)):
            if not is_sound:
                raise PlanError(f"{place}.{key}", reason)
    _check_machines(_enabled(faults), plan.replicas)
    _check_last_good_copy(_enabled(faults), validators)


def _enabled(faults: Mapping[str, Fault]) -> dict[str, Fault]:
    return {name: fault for name, fault in faults.items() if fault.enabled}


def _check_span(place: str, fault: Fault) -> None:
    start_ms, stop_ms = fault.span()[0], getattr(fault, fault.end_key)
    if stop_ms <= start_ms:
        raise PlanError(f"{place}.{fault.end_key}", f"{stop_ms} is not after the start at {start_ms}")


def _check_machines(enabled: Mapping[str, Fault], nodes: int) -> None:
    """Refuse two faults that use the same part of a machine at a time: its power, its pace, its disk, its clocks."""
    # Fast, because the swarm checks each of ten plans that it draws for a seed.
    occupying = [
        (name, fault, occupied, fault.targets() or range(nodes))
        for name, fault in enabled.items()
        if (occupied := fault.occupies()) is not None
    ]
    for node in range(nodes):
        for resource in RESOURCES:
            spans = [
                (*fault.bounds(node), name, occupied.state)
                for name, fault, occupied, targets in occupying
                if occupied.resource == resource and node in targets
            ]
            for (_, end_ms, first, state), (at_ms, _, second, _) in pairwise(sorted(spans)):
                if at_ms <= end_ms:
                    reason = f"validator {node} is {state} until {end_ms} by faults.{first}; start later"
                    raise PlanError(f"faults.{second}", reason)


def _check_last_good_copy(enabled: Mapping[str, Fault], validators: int) -> None:
    """Refuse a plan that may destroy synced data at more than f validators: a quorum must hold good copies.

    A Byzantine validator may hold no good copy, so that it counts as well.
    """
    allowed = faults_of(validators)
    if any(fault.exceeds_f() for fault in enabled.values()):
        return
    hit: dict[int, None] = {}
    for name, fault in enabled.items():
        if fault.destroys_synced or fault.is_byzantine:
            hit |= dict.fromkeys(node for node in fault.targets() if node < validators)
            if len(hit) > allowed:
                raise PlanError(
                    f"faults.{name}.validator",
                    f"a fault plan never destroys the last good copy: of {validators} validators at most {allowed} may "
                    f"lose synced data or be Byzantine over the whole plan, and these are "
                    f"{', '.join(str(node) for node in hit)}",
                )


def byzantine_validators(faults: Mapping[str, Fault]) -> tuple[int, ...]:
    """Return the validators that are Byzantine at any time of the run, ascending; no check judges them."""
    found = (fault.targets() for fault in faults.values() if fault.is_byzantine and fault.enabled)
    return tuple(sorted(dict.fromkeys(node for nodes in found for node in nodes)))


def twinned_validators(faults: Mapping[str, Fault]) -> tuple[int, ...]:
    """Return the validators with a second machine, ascending; the machines are numbered in this order."""
    found = (fault.twinned() for fault in faults.values() if fault.enabled)
    return tuple(sorted(dict.fromkeys(node for nodes in found for node in nodes)))


Placed: TypeAlias = tuple[Fault, tuple[int, int]]
"""A fault with the time of the run in which it can be active."""


def all_over_ms(
    faults: Mapping[str, Fault], validators: int, origins_ms: Mapping[str, int | None] = MappingProxyType({})
) -> int:
    """Return the time at which all faults of a plan are over, and the chain's time is no longer ahead.

    ``origins_ms`` has the times of anchors, None for an anchor that never comes; for other anchors the latest possible
    time counts.
    """
    placed = [
        (fault, _moved(fault, origins_ms[name]) if name in origins_ms else fault.bounds())
        for name, fault in faults.items()
        if fault.enabled and origins_ms.get(name, 0) is not None
    ]
    clocks = [(fault, bounds) for fault, bounds in placed if fault.lead_ms()]
    again_ms = true_again_ms(clocks, validators, byzantine=len(byzantine_validators(faults)))
    return max([again_ms, *(stop_ms for _, (_, stop_ms) in placed)])


def _moved(fault: Fault, origin_ms: int | None) -> tuple[int, int]:
    start_ms, stop_ms = fault.span()
    return (origin_ms or 0) + start_ms, (origin_ms or 0) + stop_ms


def true_again_ms(clocks: Sequence[Placed], validators: int, byzantine: int = 0) -> int:
    """Return the virtual time from which correct validators notarize again at the latest; 0 without a clock fault.

    If the clocks of a quorum were ahead, the chain is ahead of true time afterwards. A quorum notarizes a header only
    if its timestamp is at most `max_skew_ms` ahead of their clocks; Byzantine members may vote for any timestamp. So
    the chain's time is never ahead of the readings of that many clocks. When true time reaches it, validators with
    right clocks notarize again.
    """
    needed = max(validators - faults_of(validators) - byzantine, 1)
    edges_ms = sorted({edge_ms for _, bounds in clocks for edge_ms in bounds})
    again_ms = max(edges_ms, default=0)
    for start_ms, stop_ms in pairwise(edges_ms):
        leads_ms = [0] * validators
        for fault, bounds in clocks:
            if bounds[0] <= start_ms < bounds[1]:
                # The clock of an observer, numbered after the validators, does not count.
                for node in (node for node in fault.targets() if node < validators):
                    leads_ms[node] = max(leads_ms[node], fault.lead_ms())
        again_ms = max(again_ms, stop_ms + sorted(leads_ms, reverse=True)[needed - 1])
    return again_ms


def resolve_validators(faults: Mapping[str, Fault], regions: Sequence[Region], validators: int) -> dict[str, Fault]:
    """Return a plan that names validators by number in place of regions; ``regions`` has the region of each validator.

    Raises:
        PlanError: No validator is in a region that the plan names.
    """
    resolved = {}
    for name, fault in faults.items():
        try:
            resolved[name] = fault.resolved(regions, validators)
        except ValueError as error:
            raise PlanError(f"faults.{name}.regions", str(error)) from error
    return resolved
