"""The fault catalogue as data: what a scenario file may say under ``[faults.NAME]``.

A plan is named faults. Each says its kind, whom it hits and when; times are virtual milliseconds
from the start of the run. Checking is here, injection is in ``faults.injection``: a plan that
cannot be meant is refused before anything runs, with the place and what is allowed.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated

import msgspec

Milliseconds = Annotated[int, msgspec.Meta(ge=0)]
Validator = Annotated[int, msgspec.Meta(ge=0)]
PartsPerMillion = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class PlanError(Exception):
    """A fault that cannot be meant. ``place`` is the key in the scenario, such as ``faults.split.groups``."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason


class _Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", kw_only=True):
    enabled: bool = True


class Partition(_Fault, tag="partition", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut every link between different groups; a validator in no group is a group of its own."""

    groups: tuple[tuple[Validator, ...], ...]
    start_ms: Milliseconds
    stop_ms: Milliseconds


class Links(_Fault, tag="links", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Make links worse: other latency, loss, extra reordering. Without ``between`` every link is hit."""

    start_ms: Milliseconds = 0
    stop_ms: Milliseconds
    between: tuple[tuple[Validator, Validator], ...] = ()
    latency_ms: Milliseconds | None = None
    jitter_ms: Milliseconds = 0
    loss_ppm: PartsPerMillion = 0
    reorder_ppm: PartsPerMillion = 0
    reorder_extra_ms: Milliseconds = 0


class Crash(_Fault, tag="crash", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Stop one validator in an instant: memory and unsynced writes are gone. It restarts from its disk."""

    validator: Validator
    at_ms: Milliseconds
    restart_ms: Milliseconds


class Blackout(_Fault, tag="blackout", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut the power of the named validators in one instant; all come back at one later time."""

    validators: tuple[Validator, ...]
    at_ms: Milliseconds
    restart_ms: Milliseconds


Fault = Partition | Links | Crash | Blackout


def span_ms(fault: Fault) -> tuple[int, int]:
    """Return when the fault starts and when nothing of it is left, in virtual milliseconds."""
    if isinstance(fault, Crash | Blackout):
        return fault.at_ms, fault.restart_ms
    return fault.start_ms, fault.stop_ms


def named_validators(fault: Fault) -> tuple[int, ...]:
    """Return every validator that the fault names, in the order in which it does."""
    if isinstance(fault, Crash):
        return (fault.validator,)
    if isinstance(fault, Blackout):
        return fault.validators
    if isinstance(fault, Partition):
        return tuple(node for group in fault.groups for node in group)
    return tuple(node for link in fault.between for node in link)


def check_plan(plan: Mapping[str, Fault], validators: int) -> None:
    """Refuse a plan that cannot be meant; raises PlanError naming the key."""
    for name, fault in plan.items():
        place = f"faults.{name}"
        _check_span(place, fault)
        _check_subjects(place, fault, validators)
    _check_power(plan, validators)


def _check_span(place: str, fault: Fault) -> None:
    start_ms, stop_ms = span_ms(fault)
    if stop_ms <= start_ms:
        key = "restart_ms" if isinstance(fault, Crash | Blackout) else "stop_ms"
        raise PlanError(f"{place}.{key}", f"{stop_ms} is not after the start at {start_ms}")


def _check_subjects(place: str, fault: Fault, validators: int) -> None:
    named = named_validators(fault)
    for node in named:
        if node >= validators:
            raise PlanError(place, f"unknown validator {node}; this cluster has 0 to {validators - 1}")
    if isinstance(fault, Partition):
        if len(fault.groups) < 2 or not all(fault.groups):
            raise PlanError(f"{place}.groups", "needs at least two groups, none of them empty")
        _check_distinct(f"{place}.groups", named)
    if isinstance(fault, Blackout):
        if not fault.validators:
            raise PlanError(f"{place}.validators", "names nobody; give at least one validator")
        _check_distinct(f"{place}.validators", named)
    if isinstance(fault, Links):
        for first, second in fault.between:
            if first == second:
                raise PlanError(f"{place}.between", f"validator {first} has no link to itself")


def _check_distinct(place: str, named: Sequence[int]) -> None:
    for node in named:
        if named.count(node) > 1:
            raise PlanError(place, f"validator {node} is named twice")


def _check_power(plan: Mapping[str, Fault], validators: int) -> None:
    """One validator cannot lose its power while it has none."""
    for node in range(validators):
        outages = sorted(
            (*span_ms(fault), name)
            for name, fault in plan.items()
            if isinstance(fault, Crash | Blackout) and fault.enabled and node in named_validators(fault)
        )
        for (_, restart_ms, first), (at_ms, _, second) in pairwise(outages):
            if at_ms <= restart_ms:
                raise PlanError(
                    f"faults.{second}", f"validator {node} is down until {restart_ms} by faults.{first}; start later"
                )


def crossing_links(groups: Sequence[Sequence[int]], validators: int) -> tuple[tuple[int, int], ...]:
    """Return every directed link between different groups, in ascending order."""
    group_by_node = {node: index for index, group in enumerate(groups) for node in group}
    loners = [node for node in range(validators) if node not in group_by_node]
    group_by_node.update({node: len(groups) + index for index, node in enumerate(loners)})
    return tuple(
        (source, destination)
        for source in range(validators)
        for destination in range(validators)
        if group_by_node[source] != group_by_node[destination]
    )
