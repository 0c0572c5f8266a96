"""Every depth with every policy: a fork of each, led along every road, and the findings.

An entry of the table is a policy and a depth. A road fails where its state differs from the replica that never saw the
fork. It shows nothing where fewer blocks moved than the fork has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, TypeAlias

import msgspec

from checker.tables import describe_place, describe_value
from cluster.reorgs.fork import Fork, ForkError, build_fork
from cluster.reorgs.roads import ROADS, EndState, ReplayProcess, RoadResult
from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import Scenario
from network.words import counted
from scheduler import POLICIES

Status: TypeAlias = Literal["equal", "differs", "inconclusive", "not asked"]

ARROW: Final = ">"
"""Between two policies: the second policy is activated in the middle of both branches."""


@dataclass(frozen=True, slots=True)
class RoadFinding:
    """The result of a road; `moved` blocks were dropped, undone or executed; `reason` is empty if states are equal."""

    road: str
    status: Status
    moved: int
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthResult:
    """A fork: its policy, depth and pivot, and the finding of each road; none if the fork shows nothing."""

    policy: str
    depth: int
    pivot: int
    findings: tuple[RoadFinding, ...]
    reason: str = ""

    @property
    def status(self) -> Status:
        """The worst status of the roads."""
        found = {finding.status for finding in self.findings}
        worst: tuple[Status, ...] = ("differs", "inconclusive")
        return next((status for status in worst if status in found), "inconclusive" if self.reason else "equal")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReorgPlan:
    """The forks to build: a scenario for each policy by its name, the depths, and their common pivot."""

    scenarios: dict[str, Scenario]
    depths: tuple[int, ...]
    pivot: int
    seed: int

    def __len__(self) -> int:
        return len(self.scenarios) * len(self.depths)


def plan_reorgs(
    reference: str, policies: Sequence[str], depths: Sequence[int], *, pivot: int, seed: int, settings: Sequence[str]
) -> ReorgPlan:
    """Return the plan for a scenario with each of some policies; `A>B` activates B in the middle of the branches.

    Raises:
        ScenarioError: The scenario is not valid with one of the policies.
    """
    plan: dict[str, Scenario] = {}
    for policy in policies:
        first, _, second = policy.partition(ARROW)
        for name in (first, second):
            if name and name not in POLICIES:
                raise ScenarioError("--policy", f"there is no policy {name!r}; there are {', '.join(POLICIES)}")
        own = (f"chain.policy={second or first}", f"chain.activation.previous={first}")
        height = f"chain.activation.height={pivot + 1 if second else 1}"
        plan[policy] = load_scenario(reference, (*settings, *own, height))
    return ReorgPlan(scenarios=plan, depths=tuple(depths), pivot=pivot, seed=seed)


def measure_depths(plan: ReorgPlan, process: ReplayProcess) -> Iterator[DepthResult]:
    """Yield the result of each fork, by policy and then by depth."""
    for policy, scenario in plan.scenarios.items():
        for depth in plan.depths:
            yield _measure(policy, scenario, depth, plan, process=process)


def _measure(policy: str, scenario: Scenario, depth: int, plan: ReorgPlan, *, process: ReplayProcess) -> DepthResult:
    entry = partial(DepthResult, policy=policy, depth=depth, pivot=plan.pivot)
    if ARROW in policy:
        scenario = _activated_at(scenario, plan.pivot + 1 + depth // 2)
    try:
        fork = build_fork(scenario, plan.seed, pivot=plan.pivot, depth=depth)
    except ForkError as error:
        return entry(findings=(), reason=str(error))
    findings: list[RoadFinding] = []
    reference: EndState | None = None
    for name, road in ROADS.items():
        try:
            result = road(fork, process)
        except Exception as error:  # noqa: BLE001 - a road that breaks off is a finding, whatever broke it
            findings.append(RoadFinding(name, "differs", 0, f"{type(error).__name__}: {error}"))
            continue
        # The first road is the replica that never saw the fork; its own state is compared with the header's root.
        reference = reference or result.end
        findings.append(_find(name, fork, result, reference))
    return entry(findings=tuple(findings))


def _activated_at(scenario: Scenario, height: int) -> Scenario:
    """Return a scenario with another height of activation: in the middle of both branches."""
    activation = msgspec.structs.replace(scenario.chain.activation, height=height)
    return msgspec.structs.replace(scenario, chain=msgspec.structs.replace(scenario.chain, activation=activation))


def _find(road: str, fork: Fork, result: RoadResult, reference: EndState | None) -> RoadFinding:
    reason = result.failure or ("" if result.end is None else _difference(fork, result.end, reference or result.end))
    if reason:
        return RoadFinding(road, "differs", result.moved, reason)
    if result.moved != result.expected:
        missing = result.missing or f"{counted(result.moved, 'blocks')} moved, expected {result.expected}"
        return RoadFinding(road, "inconclusive", result.moved, missing)
    return RoadFinding(road, "equal", result.moved)


def _difference(fork: Fork, end: EndState, reference: EndState) -> str:
    """Return the first difference of a state from the reference, or from the root of the final header; or nothing."""
    claimed = fork.winning[-1].header.state_root
    for key in sorted(reference.values.keys() | end.values.keys()):
        here, there = end.values.get(key), reference.values.get(key)
        if here != there:
            place = describe_place(key, here, there)
            values = f"{describe_value(here, key)}; without the fork {describe_value(there, key)}"
            return f"{place}: {values}"
    if end.root != claimed:
        return (
            f"the root is {end.root.hex()[:16]}, and the header of height {len(fork.chain)} says {claimed.hex()[:16]}"
        )
    if None not in (end.heights, reference.heights) and end.heights != reference.heights:
        return f"timers wait at the heights {end.heights}, not {reference.heights}"
    return next(iter(end.deviations), "")
