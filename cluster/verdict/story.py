"""The story of a run: lines for its events and its comparisons, before the checks.

The story is read from the result. It judges nothing and enters no digest.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from checker.results import CheckResult
from faults import kind_of
from faults.kinds.base import Fault
from faults.kinds.wording import seconds
from network.words import counted
from report.verdict_rows import StoryLine
from report.words import virtual_seconds
from validators.execution.blocks import Header

if TYPE_CHECKING:
    from cluster.verdict.result import PipelineResult

FAULTS_TOLD: Final = 4
"""The number of faults with a line of their own; further faults are named together."""

ROOT_DIGITS: Final = 12
"""Digits of a state root, as in every other short name."""

COMPARED: Final = {
    "equal-roots": "{} state roots",
    "oracle": "{} values (oracle)",
    "told-timers": "{} timer events (rules)",
    "consensus": "{} consensus calls (specification)",
    "cold-replay": "{} heights (fresh process)",
}
"""The checks whose comparisons the story counts, with what they compare, and with whom."""


def story_of(result: "PipelineResult", real_s: float) -> list[StoryLine]:
    """Return what happened in a run that took so many real seconds, thing by thing."""
    passed_s = virtual_seconds(result.figures["virtual_us"])
    return [
        StoryLine("chain", _chain(result)),
        StoryLine("time", f"{passed_s} of virtual time, {real_s:.1f} s of real time"),
        *_faults(result),
        *_storm(result.checks),
        *_timers(result.checks),
        *_replicas(result),
        *[StoryLine("compared", text) for text in _compared(result.checks)],
    ]


def _chain(result: "PipelineResult") -> str:
    """Return the blocks that became final, and the views that they took."""
    scenario = result.scenario
    validators = counted(scenario.cluster.validators, "validators")
    observers = f" and {counted(len(scenario.observers), 'observers')}" if scenario.observers else ""
    blocks, rounds = counted(len(result.chain), "blocks"), ""
    if result.chain and isinstance(header := result.chain[-1].block.header, Header):
        unit = "views" if scenario.finality_depth is None else "slots"
        rounds = f" in {counted(header.view, unit)}"
    rules = f"{scenario.consensus.engine}, {result.application or scenario.chain.policy}"
    return f"{validators}{observers} ({rules}) finalized {blocks}{rounds}"


def _faults(result: "PipelineResult") -> Iterator[StoryLine]:
    """Yield what each fault of the plan did."""
    faults = [(name, fault) for name, fault in result.scenario.faults.items() if fault.enabled]
    for name, fault in faults[:FAULTS_TOLD]:
        count = result.figures.get(f"fault_{name}")
        unit = (type(fault).counts or "times").partition(";")[0].partition(":")[0]
        effect = "it never began" if count is None else counted(int(count), unit)
        kind = kind_of(fault)
        yield StoryLine("fault", f"{name}{f' ({kind})' if kind != name else ''}{_time_of(fault)}: {effect}")
    if others := [name for name, _ in faults[FAULTS_TOLD:]]:
        yield StoryLine("fault", f"and {counted(len(others), 'others')}: {', '.join(others)}")


def _time_of(fault: Fault) -> str:
    if fault.anchor is not None:
        return f", from when {fault.anchor.describe()}"
    start_ms, stop_ms = fault.span()
    return f", from {seconds(start_ms)} to {seconds(stop_ms)}" if stop_ms > start_ms else f", at {seconds(start_ms)}"


def _storm(checks: Sequence[CheckResult]) -> Iterator[StoryLine]:
    """Yield how a storm went that the scenario expects; a storm that did not come has a row of its check."""
    passed = {check.name: dict(check.evidence) for check in checks if check.status == "passed"}
    if found := passed.get("storm"):
        drained = counted(int(found["drain_blocks"]), "blocks")
        predicted = " as predicted" if "storm-accounting" in passed else ""
        yield StoryLine(
            "storm",
            f"{counted(int(found['dead_timers']), 'dead timers')} from height {found['first_height']:,} on, drained in "
            f"{drained}{predicted}; {counted(int(found['fired_in_drain']), 'live timers')} fired meanwhile",
        )


def _timers(checks: Sequence[CheckResult]) -> Iterator[StoryLine]:
    yield from (
        StoryLine("timers", check.summary)
        for check in checks
        if check.name == "timer-delivery" and check.status == "passed"
    )


def _replicas(result: "PipelineResult") -> Iterator[StoryLine]:
    """Yield the replicas by the final height and root that they came to, and what is odd about any of them."""
    groups: dict[tuple[int, str], list[int]] = {}
    for row in result.validators:
        groups.setdefault((row.finalized_height, row.state_root), []).append(row.node)
    for (height, root), nodes in groups.items():
        who = f"all {len(nodes)}" if len(groups) == 1 and len(nodes) > 1 else ", ".join(map(str, nodes))
        yield StoryLine("replicas", f"{who} at height {height:,}{f' with root {root[:ROOT_DIGITS]}' if root else ''}")
    for row in result.validators:
        if row.note:
            yield StoryLine("", f"{row.node}: {row.note}")


def _compared(checks: Sequence[CheckResult]) -> Iterator[str]:
    counts = {check.name: check.compared for check in checks}
    parts = [objects.format(f"{counts[name]:,}") for name, objects in COMPARED.items() if counts.get(name)]
    if parts:
        yield "; ".join(parts)
