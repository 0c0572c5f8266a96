"""A sweep's result in words and as plain data: the verdict, the coverage of its seeds, the estimate of the unseen."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from checker.coverage.application_points import ApplicationRule
from checker.coverage.registry import POINTS, is_of_application, points_for
from checker.record.fingerprint import show_fingerprint, this_code
from cluster.campaign.coverage import FAULT_PLACE, RULE_PLACE
from cluster.campaign.sweep import SweepTally
from network.words import counted
from report.campaign import GROUPS_SHOWN, SEEDS_SHOWN, seeds_per_hour
from report.ending import Ending
from report.verdict_rows import StoryLine
from report.words import join_words, result_of

CONFIDENCE_SEEDS: Final = 3
"""Rule of three: no failure in n seeds means a rate below 3/n with 95 % confidence."""

CONFIDENCE_FROM: Final = 60
"""Seeds from which on the rule of three gives a rate below one in twenty; for fewer it says nothing of use."""

MISSING_SHOWN: Final = 3
"""Promised points that no run reached, by name."""


def verdict_line(tally: SweepTally) -> str:
    """Return the verdict with the number of seeds that have each."""
    return f"{result_of(tally.verdict)}: {counted(tally.done, 'seeds')}: {verdicts_of(tally.verdicts)}"


def verdicts_of(verdicts: Mapping[str, int]) -> str:
    """Return the number of seeds by result."""
    return ", ".join(f"{count:,} {result_of(verdict)}" for verdict, count in verdicts.items())


def sweep_ending(tally: SweepTally, name: str, seconds: float, places: Sequence[tuple[str, str]]) -> Ending:
    """Return the end of a sweep: its seeds, failures by group, and counts of unreached coverage points."""
    fresh = tally.done - tally.resumed
    rate = f"{counted(fresh, 'seeds')} judged in {seconds:.1f} s ({seeds_per_hour(fresh, seconds):,} an hour)"
    there = f", {tally.resumed:,} judged before" if tally.resumed else ""
    story = [StoryLine("seeds", rate + there)]
    story += [
        StoryLine("judged again", f"{counted(count, 'seeds')} that {show_fingerprint(fingerprint)} had judged")
        for fingerprint, count in tally.outdated.items()
    ]
    return Ending(
        title=f"sweep of {name}",
        story=[*story, *_group_lines(tally), *reach_lines(tally)],
        families=(),
        not_asked={},
        sentence=f"{verdict_line(tally)}{_why(tally)}",
        places=places,
    )


def _why(tally: SweepTally) -> str:
    """Return what makes a sweep inconclusive whose seeds passed, or what a sweep that passed shows."""
    if tally.verdict == "inconclusive" and (missing := len(_missing(tally)) + len(tally.idle)):
        return f"; {counted(missing, 'promises')} not kept"
    if tally.verdict != "passed" or tally.done < CONFIDENCE_FROM:
        return ""
    return f"; with 95 % confidence fewer than {CONFIDENCE_SEEDS} seeds in {tally.done:,} fail"


def _group_lines(tally: SweepTally) -> Iterator[StoryLine]:
    """Yield what went wrong, the most frequent signature first; the quickest seeds stand for each."""
    ranked = sorted(tally.quickest.items(), key=lambda item: -len(item[1]))
    for signature, seeds in ranked[:GROUPS_SHOWN]:
        shown = ", ".join(str(seed) for _, seed in seeds[:SEEDS_SHOWN])
        yield StoryLine("went wrong", f"{counted(len(seeds), 'seeds')} ({shown}): {_in_words(signature)}")
    if len(ranked) > GROUPS_SHOWN:
        yield StoryLine("went wrong", f"{counted(len(ranked) - GROUPS_SHOWN, 'more groups')}, on the page")


def _in_words(signature: str) -> str:
    """Return a signature with its result in front: `failed: safety` and not `safety`."""
    verdict, colon, rest = signature.partition(":")
    return f"{result_of(verdict)}{colon}{rest}"


def reach_lines(tally: SweepTally) -> Iterator[StoryLine]:
    """Yield how much of what is promised was reached, idle workloads and scripts, and what more seeds would reach.

    Where nothing is promised, the points of the rules that no run reached are counted.
    """
    parts = [
        f"{len(table.promised) - len(table.empty)} of {len(table.promised)} promised points of {what}"
        for what, table in (("faults", tally.coverage), ("rules", tally.rules))
        if table.promised
    ]
    if not tally.rules.promised and tally.rules.reached:
        parts += _reached_of(tally)
    if parts:
        yield StoryLine("reached", f"{join_words(parts)}; the page lists the rest")
    if missing := _missing(tally):
        more = len(missing) - MISSING_SHOWN
        rest = f" and {counted(more, 'more points')}, on the page" if more > 0 else ""
        yield StoryLine("not reached", f"{'; '.join(missing[:MISSING_SHOWN])}{rest}")
    if tally.idle:
        yield StoryLine("idle", f"workloads that had no effect in any run: {', '.join(tally.idle)}")
    idle = [f"{counted(times, 'times')} {what}" for what, times in _idle_times(tally) if times]
    if idle:
        yield StoryLine("idle", join_words(idle))
    fresh = [(sort, unseen) for sort, unseen in tally.unseen.items() if unseen.observations]
    if fresh:
        shares = ", ".join(f"{unseen.once:,} of {unseen.observations:,} {sort}" for sort, unseen in fresh)
        yield StoryLine("unseen", f"estimate of new observations (Good-Turing): {shares}")


def _reached_of(tally: SweepTally) -> Iterator[str]:
    """Yield how many points of rules the seeds reached, and of an application how many of its roads and boundaries."""
    reached = {label for (label,) in tally.rules.reached}
    application = [point.label for point in ApplicationRule]
    rules = sum(label not in application for label in points_for(reached))
    yield f"{sum(label not in application for label in reached)} of {rules} points of rules"
    if is_of_application(reached):
        met = sum(label in reached for label in application)
        yield f"{met} of {len(application)} roads and call boundaries of the application"


def _missing(tally: SweepTally) -> list[str]:
    """Return the promised points that no run reached, each in words."""
    faults = [f"{kind} on a {role} while {phase}" for kind, phase, role in tally.coverage.empty]
    rules = [POINTS[label] for (label,) in tally.rules.empty]
    return [*faults, *(f"{each.label} ({each.code}): {each.sentence.rstrip('.')}" for each in rules)]


def _idle_times(tally: SweepTally) -> Iterator[tuple[str, int]]:
    yield "a workload had no effect", sum(lacking for _, lacking in tally.workloads.values())
    yield "a script did not arrive", sum(lacking for _, lacking in tally.scripts.values())


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
