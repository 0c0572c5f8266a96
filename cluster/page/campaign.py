"""The page of a sweep: seeds as a grid, failures by signature, coverage, and how long the first failure took."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from checker.record.errors import on_one_line
from checker.record.manifest import REPORT
from checker.results import EXIT_CODES
from cluster.campaign.coverage import CoverageTable, untried_rules
from cluster.campaign.results_db import SeedResult
from cluster.campaign.sweep import SweepTally
from cluster.page.index import find_page
from faults import PHASES, ROLES
from network.words import counted
from report.page.campaign_rows import CampaignRows, Group, SeedPoint, Table
from report.words import result_of

CELLS_MAX: Final = 10_000
"""The most seeds of a grid."""

COLOURS: Final = 5
"""Signatures with a colour of their own."""


def sweep_rows(
    tally: SweepTally,
    results: Sequence[SeedResult],
    *,
    title: str,
    runs: Path,
    facts: Sequence[tuple[str, str]],
    commands_of: Callable[[SeedResult], Sequence[str]],
    plan_of: Callable[[SeedResult], str] = lambda _result: "",
) -> CampaignRows:
    """Return the rows of a sweep's page.

    Args:
        tally: What came of the sweep.
        results: The result of each of its seeds, in their order.
        title: What was swept.
        runs: The folder that the page goes to.
        facts: What else is known of it.
        commands_of: The commands that repeat a seed and make its plan smaller.
        plan_of: The smallest plan of a seed's run, nothing where nobody has shrunk it.
    """
    groups = sorted(tally.groups.items(), key=lambda group: -len(group[1]))
    places = {signature: place for place, (signature, _) in enumerate(groups)}
    shown = results if len(results) <= CELLS_MAX else [each for each in results if each.exit_code][:CELLS_MAX]
    note = "" if len(shown) == len(results) else f"Of {len(results):,} seeds those that did not pass are in the grid."
    verdicts = ", ".join(f"{count:,} {result_of(verdict)}" for verdict, count in tally.verdicts.items())
    return CampaignRows(
        title=title,
        verdict=tally.verdict,
        headline=f"{counted(tally.done, 'seeds')}: {verdicts}",
        facts=(*facts, ("first failure", _first_failure(results))),
        cells=tuple(
            SeedPoint(
                each.seed,
                each.verdict,
                min(places[each.signature], COLOURS - 1) if each.exit_code else -1,
                _href(each, runs),
                f"seed {each.seed}: {each.verdict}{': ' if each.exit_code else ''}{_line(each)}",
            )
            for each in shown
        ),
        note=note,
        groups=tuple(_group(signature, each, runs, (commands_of, plan_of)) for signature, each in groups),
        tables=_tables(tally),
    )


def _line(result: SeedResult) -> str:
    return on_one_line(result.headline) if result.exit_code else ""


def _href(result: SeedResult, runs: Path) -> str:
    """Return the address of a seed's page as it is seen from the folder of runs; nothing where no run was kept."""
    if not result.directory:
        return ""
    directory = Path(result.directory)
    return f"{directory.name}/{REPORT}" if find_page(runs, directory.name, REPORT) else ""


def _group(
    signature: str,
    seeds: Sequence[SeedResult],
    runs: Path,
    known: tuple[Callable[[SeedResult], Sequence[str]], Callable[[SeedResult], str]],
) -> Group:
    commands_of, plan_of = known
    quickest = min(seeds, key=lambda result: (result.milliseconds, result.seed))
    first = min(each.seed for each in seeds)
    return Group(
        signature=on_one_line(signature),
        seeds=len(seeds),
        first=first,
        headline=_line(quickest),
        href=_href(quickest, runs),
        commands=tuple(commands_of(quickest)),
        plan=next(filter(None, map(plan_of, seeds)), ""),
    )


def _first_failure(results: Sequence[SeedResult]) -> str:
    spent = 0
    for count, result in enumerate(results, start=1):
        spent += result.milliseconds
        if result.exit_code not in (0, EXIT_CODES["inconclusive"]):
            return f"seed {result.seed}: {count:,} seeds and {spent / 1000:,.1f} s of runs, in the order of seeds"
    return "none"


def _tables(tally: SweepTally) -> tuple[Table, ...]:
    tables = []
    if tally.coverage.reached or tally.coverage.promised:
        tables.append(_coverage(tally.coverage))
    if tally.rules.reached:
        rows = [
            (label, f"{reached.runs:,}", f"{reached.hits:,}")
            for (label,), reached in sorted(tally.rules.reached.items())
        ]
        rows += [(label, "0", "0") for (label,) in tally.rules.empty]
        tables.append(
            Table("Coverage points of the rules, and the runs that reached them", ("point", "runs", "hits"), rows)
        )
        untried = [(cell.label, cell.code, cell.sentence) for cell in untried_rules(tally.rules)]
        heads = ("point", "rule", "what did not happen")
        tables.append(Table("Rules that no run reached: nothing is said of them", heads, untried))
    idle = [
        (what, name, f"{lacking:,}", f"{runs:,}")
        for what, counts in (("workload", tally.workloads), ("script", tally.scripts))
        for name, (runs, lacking) in sorted(counts.items())
        if lacking
    ]
    if idle:
        tables.append(
            Table("Workloads without effect, and scripts that did not arrive", ("", "name", "idle runs", "runs"), idle)
        )
    unseen = [(sort, each.describe()) for sort, each in tally.unseen.items() if each.observations]
    if unseen:
        tables.append(Table("Estimate of what more seeds would reach (Good-Turing)", ("", "estimate"), unseen))
    return tuple(tables)


def _coverage(coverage: CoverageTable) -> Table:
    places = [*coverage.reached, *coverage.empty]
    columns = [(phase, role) for phase in PHASES for role in ROLES if any(each[1:] == (phase, role) for each in places)]
    rows = [
        (kind, *(_count(coverage, (kind, *column)) for column in columns))
        for kind in sorted(dict.fromkeys(place[0] for place in places))
    ]
    heads = ("kind of fault", *(f"{phase}, {role}" for phase, role in columns))
    return Table("Runs in which a fault hit a validator, by its phase and role", heads, rows)


def _count(coverage: CoverageTable, place: tuple[str, ...]) -> str:
    reached: Mapping[tuple[str, ...], tuple[int, int]] = coverage.reached
    if place in reached:
        return f"{reached[place][0]:,}"
    return "never" if place in coverage.empty else ""
