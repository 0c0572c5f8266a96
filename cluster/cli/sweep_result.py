"""A sweep's result in words and as plain data: the verdict, what its seeds reached, and what that says of others."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from checker.coverage.registry import CELLS
from checker.record.fingerprint import this_code
from cluster.campaign.coverage import FAULT_PLACE, RULE_PLACE
from cluster.campaign.sweep import SweepTally
from report.campaign import seeds_per_hour
from report.words import counted

CONFIDENCE_SEEDS: Final = 3
"""Rule of three: no failure in n seeds means a rate below 3/n with 95 % confidence."""


def verdict_line(tally: SweepTally) -> str:
    """Return the verdict with the number of seeds that have each."""
    verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in tally.verdicts.items())
    return f"{tally.verdict}: {counted(tally.done, 'seeds')}: {verdicts}"


def reach_lines(tally: SweepTally) -> list[str]:
    """Return what was reached of what is promised, idle workloads, lost scripts, and what more seeds would reach."""
    lines, coverage = [], tally.coverage
    if tally.verdict == "passed" and tally.done > CONFIDENCE_SEEDS:
        lines.append(
            f"no failure in {tally.done:,} seeds: fewer than {CONFIDENCE_SEEDS} in {tally.done:,} fail, "
            "with 95 % confidence"
        )
    if coverage.promised:
        reached = len(coverage.promised) - len(coverage.empty)
        lines.append(f"coverage: {reached} of {len(coverage.promised)} promised cells reached")
        lines += [f"never reached: {kind} on a {role} while {phase}" for kind, phase, role in coverage.empty]
    lines += _idle_lines("workloads without effect", tally.workloads)
    lines += _idle_lines("scripts that did not arrive", tally.scripts)
    if tally.rules.promised:
        reached = len(tally.rules.promised) - len(tally.rules.empty)
        lines.append(f"rules: {reached} of {len(tally.rules.promised)} promised cells reached")
        empty = [CELLS[label] for (label,) in tally.rules.empty]
        lines += [f"never reached: {cell.label} ({cell.code}): {cell.sentence}" for cell in empty]
        lines += [f"never had an effect: workload {name}, in {tally.workloads[name][0]:,} runs" for name in tally.idle]
    lines += [f"unseen {sort}: {unseen.describe()}" for sort, unseen in tally.unseen.items() if unseen.observations]
    return lines


def _idle_lines(what: str, counts: Mapping[str, tuple[int, int]]) -> list[str]:
    idle = [f"{name} {lacking:,} of {runs:,}" for name, (runs, lacking) in sorted(counts.items()) if lacking]
    return [f"{what}, in runs: {', '.join(idle)}"] if idle else []


def _idle_as_json(counts: Mapping[str, tuple[int, int]]) -> dict[str, object]:
    return {name: {"runs": runs, "idle": idle} for name, (runs, idle) in sorted(counts.items())}


def sweep_as_json(tally: SweepTally, name: str, path: Path, seconds: float) -> dict[str, object]:
    """Return a sweep of this name and results file as `--json` prints it."""
    return {
        "scenario": name,
        "verdict": tally.verdict,
        "exit_code": tally.exit_code,
        "seeds": tally.done,
        "resumed": tally.resumed,
        "judged_again": tally.outdated,
        "code": this_code()._asdict(),
        "verdicts": tally.verdicts,
        "seeds_per_hour": seeds_per_hour(tally.done - tally.resumed, seconds),
        "groups": {
            signature: [{"seed": each.seed, "headline": each.headline, "directory": each.directory} for each in group]
            for signature, group in tally.groups.items()
        },
        "coverage": tally.coverage.as_json(FAULT_PLACE),
        "rules": tally.rules.as_json(RULE_PLACE),
        "unseen": {sort: unseen.as_json() for sort, unseen in tally.unseen.items()},
        "workloads": _idle_as_json(tally.workloads),
        "scripts": _idle_as_json(tally.scripts),
        "idle_workloads": list(tally.idle),
        "results": str(path),
    }
