"""A corpus beside the plain swarm: seeds and processor time until each mutant is killed.

    python -m benchmarks.bench_corpus --corpus DIR [--only MUTANT ...] [--seeds 0..39] [--jobs 2] [--runs DIR]

The corpus is one that a sweep of the code without mutants has left (`sweep --swarm --corpus DIR`), of other seeds than
those here, and stays as it is: each mutant meets the same plans. Even seeds are the same scenarios in all campaigns
and run once. Results are kept under --runs, so that a killed benchmark goes on where it stopped. It is not in
`make bench`, because it takes hours.

A mutant that the plain swarm happened to kill late is killed earlier by almost any other seeds. So there is a control:
the swarm with odd seeds that are drawn once more, from numbers far away. A corpus is worth what it is better than that.
"""

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from checker.mutants import Mutant
from checker.record.plugins import code_with
from cluster.campaign.corpus.folder import Corpus
from cluster.campaign.corpus.rounds import is_varied
from cluster.campaign.tasks import Task
from cluster.campaign.workers import Workers
from cluster.cli.options import parse_jobs, parse_seeds
from tools.mutation import PLUGIN
from tools.mutation.campaign import MutantSearch, MutationCampaign, campaign_task, varied_task
from tools.mutation.catalogue import CATALOGUE

LATE_SEED: Final = 5
"""Mutants that the plain swarm kills after this seed leave room for a corpus to be better."""

SHARE_MAX_PERCENT: Final = 70
"""The aim: the median of seeds to kill with a corpus, in percent of the plain swarm's."""


REDRAWN_FROM: Final = 1_000_000
"""Added to the odd seeds of the control."""


class Figure(NamedTuple):
    """The seeds and seconds that one mutant took in one campaign; None for seeds where it survived."""

    seeds: int | None
    seconds: float


class Row(NamedTuple):
    """The figures of one mutant in the plain swarm, in the control, and with a corpus."""

    mutant: str
    plain: Figure
    control: Figure
    corpus: Figure

    @property
    def figures(self) -> tuple[Figure, Figure, Figure]:
        """The three figures, in their order."""
        return self.plain, self.control, self.corpus


def run(options: argparse.Namespace) -> list[Row]:
    """Run the three campaigns and return a row for each mutant."""
    mutants = [CATALOGUE[name] for name in dict.fromkeys(options.only)]
    fingerprint = code_with([PLUGIN]).fingerprint
    with Corpus(options.corpus) as corpus:
        tasks: dict[str, Callable[[Mutant, int], Task]] = {
            "": campaign_task,
            "-control": redrawn_task,
            f"-corpus-{corpus.digest[:6]}": partial(varied_task, dict(corpus.plans)),
        }
        found: list[Mapping[str, MutantSearch]] = []
        with Workers(options.jobs) as workers:
            for tag, make_task in tasks.items():
                directory = options.runs / f"mutants-{fingerprint[:6]}{tag}"
                campaign = MutationCampaign(mutants, options.seeds, directory, fingerprint, make_task=make_task)
                with campaign:
                    take_even(campaign, found[0] if found else {})
                    _search(tag or "-plain", campaign, workers)
                    found.append(campaign.searches)
    return [Row(mutant.name, *(figure_of(searches[mutant.name]) for searches in found)) for mutant in mutants]


def redrawn_task(mutant: Mutant, seed: int) -> Task:
    """Return the task of a seed in the control."""
    if not is_varied(seed):
        return campaign_task(mutant, seed)
    return campaign_task(mutant, seed + REDRAWN_FROM)._replace(seed=seed)


def take_even(campaign: MutationCampaign, plain: Mapping[str, MutantSearch]) -> None:
    """Take over the results of the scenarios that are the same in the plain swarm.

    Not that of a kill above odd seeds: with it the search would be over before those were tried.
    """
    for name, search in plain.items():
        survived = [result for result in search.tried if result is not search.kill or result.seed == 0]
        even = {result.seed: result for result in survived if not is_varied(result.seed)}
        campaign.searches[name].results = even | campaign.searches[name].results


def _search(title: str, campaign: MutationCampaign, workers: Workers) -> None:
    for search, result in campaign.run(workers):
        end = "killed" if result is search.kill else "survives"
        print(f"{title[1:]}: {search.mutant.name}: seed {result.seed}: {end}", file=sys.stderr, flush=True)


def figure_of(search: MutantSearch) -> Figure:
    """Return the seeds and seconds that a search took."""
    return Figure(None if search.kill is None else len(search.tried), search.seconds)


def lines_of(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the table of mutants that took different numbers of seeds, and the medians."""
    yield "| mutant | plain: seeds | control: seeds | corpus: seeds | plain: s | control: s | corpus: s |"
    yield "|---|---|---|---|---|---|---|"
    for name, figures in ((row.mutant, row.figures) for row in rows):
        if len(dict.fromkeys(figure.seeds for figure in figures)) > 1:
            seeds = [str(figure.seeds or "survived") for figure in figures]
            yield f"| `{name}` | {' | '.join([*seeds, *(f'{figure.seconds:.0f}' for figure in figures)])} |"
    yield ""
    yield _medians("all mutants", rows)
    late = [row for row in rows if row.plain.seeds is None or row.plain.seeds > LATE_SEED + 1]
    yield _medians(f"those that the plain swarm had not killed by seed {LATE_SEED}", late)
    lost = [row.mutant for row in rows if row.plain.seeds is not None and row.corpus.seeds is None]
    found = [row.mutant for row in rows if row.plain.seeds is None and row.corpus.seeds is not None]
    yield f"lost with a corpus: {', '.join(lost) or 'no mutant'}"
    yield f"killed with a corpus alone: {', '.join(found) or 'no mutant'}"


def _medians(what: str, rows: Sequence[Row]) -> str:
    """Return one line of medians; a mutant that survived counts as slower than all others."""
    if not rows:
        return f"{what}: there is no such mutant"
    columns = [[row.figures[place] for row in rows] for place in range(3)]
    plain, control, varied = (
        statistics.median_low(figure.seeds or 1 << 30 for figure in figures) for figures in columns
    )
    seconds = [f"{sum(figure.seconds for figure in figures):,.0f}" for figures in columns]
    share = f"{100 * varied // plain} % of plain, aim {SHARE_MAX_PERCENT} %"
    seeds = f"median of seeds to kill {plain} plain, {control} control, {varied} with a corpus ({share})"
    return f"{what} ({len(rows)}): {seeds}; seconds in all {', '.join(seconds)}"


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description="a corpus beside the plain swarm, over mutants")
    parser.add_argument("--corpus", type=Path, required=True, metavar="DIR")
    parser.add_argument("--only", nargs="+", choices=list(CATALOGUE), default=list(CATALOGUE), metavar="MUTANT")
    parser.add_argument("--seeds", type=parse_seeds, default=range(40), metavar="A..B")
    parser.add_argument("--jobs", type=parse_jobs, default=2, metavar="N")
    parser.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    for line in lines_of(run(parse())):
        print(line)
