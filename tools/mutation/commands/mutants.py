"""The command `mutants`: the standard campaign against each mutant, and the matrix of those that were killed."""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from checker.record.places import OwnFile, refuse_other_file, write_own
from checker.record.plugins import code_with
from cluster.campaign.results_db import SeedResult
from cluster.campaign.tasks import Task
from cluster.campaign.workers import Workers
from cluster.cli.options import (
    RUNS,
    Parser,
    add_jobs,
    describe_command,
    parse_result_file,
    parse_runs,
    parse_seeds,
    print_json,
    print_lines,
)
from cluster.page.index import write_campaign
from cluster.scenario.load import load_scenario
from faults.nearest import did_you_mean
from report.console import print_tables
from report.layout import output_console
from report.page.campaign_rows import CampaignRows, Group, SeedPoint, Table
from tools.mutation import PLUGIN
from tools.mutation.campaign import (
    MutantSearch,
    MutationCampaign,
    campaign_settings,
    killed_percent,
    killing_tasks,
    shrink_task,
    size_of,
)
from tools.mutation.catalogue import CATALOGUE
from tools.mutation.explanations import EXPLAINED, explain_task
from tools.mutation.report import COLUMNS, MutantRow, MutantsProgress, mutants_page, mutants_table, mutants_totals

DEFAULT_SEEDS: Final = range(50)

MATRIX: Final = OwnFile(b"# Mutation testing\n\n", "page of mutants")


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_mutants,
        example="mutants --only tip-burned order-of-a-set --seeds 0..9",
    )
    parser.add_argument(
        "--only", nargs="+", type=parse_mutant, default=list(CATALOGUE), metavar="NAME", help="mutants (default: all)"
    )
    parser.add_argument("--seeds", type=parse_seeds, default=DEFAULT_SEEDS, metavar="A..B", help="both ends included")
    add_jobs(parser)
    parser.add_argument("--shrink", action="store_true", help="make each scenario that killed a mutant smaller")
    parser.add_argument(
        "--explain", action="store_true", help="explain what killed each mutant and compare that with the catalogue"
    )
    parser.add_argument("--runs", type=parse_runs, default=RUNS, help="where results go (default runs)")
    parser.add_argument("--out", type=parse_result_file, metavar="FILE", help="write the matrix as a page in Markdown")
    kept = "finished seeds are kept under --runs, and the same command goes on with the others"
    parser.set_defaults(when_interrupted=kept)


def parse_mutant(name: str) -> str:
    """Return the name of a mutant of the catalogue; raises ArgumentTypeError for any other."""
    if name not in CATALOGUE:
        raise argparse.ArgumentTypeError(f"{name!r}{did_you_mean(name, CATALOGUE)} is none of {', '.join(CATALOGUE)}")
    return name


def run_mutants(options: argparse.Namespace) -> int:
    """Search, print the matrix, and return 0 if every mutant was killed, else 1."""
    if options.out:
        refuse_other_file(options.out, MATRIX)
    fingerprint = code_with([PLUGIN]).fingerprint
    directory = options.runs / f"mutants-{fingerprint[:6]}"
    mutants = [CATALOGUE[name] for name in dict.fromkeys(options.only)]
    with (
        MutationCampaign(mutants, options.seeds, directory, fingerprint) as campaign,
        Workers(options.jobs) as workers,
        MutantsProgress(options.only, is_quiet=options.json) as progress,
    ):
        _search(campaign, workers, len(options.seeds), progress)
        kills = killing_tasks(campaign.searches.values(), directory)
        if options.shrink:
            _shrink(kills, campaign, options.jobs, progress)
        if options.explain:
            _explain(kills, campaign, options.jobs, progress)
    rows = [_row(search) for search in campaign.searches.values()]
    if options.json:
        print_json(_as_json(campaign.searches, directory))
    else:
        print_tables([mutants_table(rows, output_console().width)])
        print_lines([*mutants_totals(rows), str(code_with([PLUGIN])), f"results {directory}"])
    page = write_campaign(options.runs, directory.name, lambda: _page_rows(rows, directory))
    print_lines([] if options.json else page)
    if options.out:
        write_own(options.out, mutants_page(rows, len(options.seeds)).encode(), MATRIX)
    return int(not all(row.is_killed for row in rows))


def _search(campaign: MutationCampaign, workers: Workers, seeds: int, progress: MutantsProgress) -> None:
    """Search, and say each mutant's result once: the check that killed it, or that no seed is left."""
    reported: dict[str, None] = {}

    def tell_finished(search: MutantSearch) -> None:
        name = search.mutant.name
        if name not in reported and (search.kill is not None or len(search.results) == seeds):
            reported[name] = None
            survived = f"survived; {search.check or 'nothing failed'}"
            progress.tell(name, len(search.tried), survived if search.kill is None else f"killed by {search.check}")

    for search in campaign.searches.values():
        tell_finished(search)
    for search, result in campaign.run(workers):
        end = "killed" if result is search.kill else "survives"
        progress.show(f"{search.mutant.name}: seed {result.seed}: {end}: {result.failed or result.verdict}")
        tell_finished(search)


def _shrink(kills: Sequence[Task], campaign: MutationCampaign, jobs: int, progress: MutantsProgress) -> None:
    """Make the scenario of each kill smaller; a scenario file that is there already is not made again."""
    for search, result in _work(shrink_task, [task for task in kills if not Path(task.runs).exists()], campaign, jobs):
        progress.tell(search.mutant.name, len(search.tried), result.headline)
    for task in kills:
        if Path(task.runs).exists():
            campaign.searches[task.label].size = size_of(load_scenario(task.runs))


def _explain(kills: Sequence[Task], campaign: MutationCampaign, jobs: int, progress: MutantsProgress) -> None:
    """Explain the run that killed each mutant that changes the state."""
    explicable = [task for task in kills if CATALOGUE[task.label].cause is not None]
    for search, result in _work(explain_task, explicable, campaign, jobs):
        search.explained = "" if result.verdict == EXPLAINED else result.headline
        progress.tell(search.mutant.name, len(search.tried), search.explained or "explained")


def _work(
    run_one: Callable[[Task], SeedResult], tasks: Sequence[Task], campaign: MutationCampaign, jobs: int
) -> Iterator[tuple[MutantSearch, SeedResult]]:
    """Yield the result of a piece of work on each task, with the search that the task is from."""
    with Workers(jobs, run_one) as workers:
        for task, result in workers.results(tasks):
            yield campaign.searches[task.label], result


def _row(search: MutantSearch) -> MutantRow:
    mutant = search.mutant
    return MutantRow(
        name=mutant.name,
        description=mutant.description,
        area=mutant.area,
        cause=mutant.cause or "",
        held_by="all" if mutant.on_all else "one",
        is_killed=search.kill is not None,
        check=search.check,
        seeds=len(search.tried),
        seconds=search.seconds,
        size=search.size,
        is_small=search.is_small,
        explained=search.explained,
    )


def _page_rows(rows: Sequence[MutantRow], directory: Path) -> CampaignRows:
    """Return the rows of the campaign's page: mutants as a grid, the survivors, and the matrix."""
    killed = sum(row.is_killed for row in rows)
    cells = (
        SeedPoint(
            place, "killed" if row.is_killed else "survived", -1 if row.is_killed else 0, "", f"{row.name}: {end}"
        )
        for place, row in enumerate(rows)
        for end in [f"killed by {row.check}" if row.is_killed else "survived"]
    )
    survivors = (Group(row.name, row.seeds, 0, row.description, "", ()) for row in rows if not row.is_killed)
    return CampaignRows(
        title="mutation testing",
        verdict="passed" if killed == len(rows) else "survivors",
        headline=f"{killed} of {len(rows)} mutants killed",
        facts=(
            *(("total", line) for line in mutants_totals(rows)),
            ("made by", str(code_with([PLUGIN]))),
            ("results", str(directory)),
        ),
        cells=tuple(cells),
        note="A green square is a mutant that was killed.",
        groups=tuple(survivors),
        tables=(Table("all mutants", COLUMNS, [row.cells() for row in rows]),),
    )


def _as_json(searches: Mapping[str, MutantSearch], directory: Path) -> dict[str, object]:
    mutants = [
        {
            **_row(search)._asdict(),
            "size": None if search.size is None else search.size._asdict(),
            "seed": None if search.kill is None else search.kill.seed,
            "headline": "" if search.kill is None else search.kill.headline,
            "settings": [] if search.kill is None else campaign_settings(search.mutant, search.kill.seed),
        }
        for search in searches.values()
    ]
    return {
        "code": code_with([PLUGIN])._asdict(),
        "killed_percent": killed_percent(searches),
        "mutants": mutants,
        "results": str(directory),
    }
