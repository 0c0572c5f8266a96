"""A corpus beside the plain swarm: seeds and processor time until each mutant is killed.

    python -m benchmarks.bench_corpus --corpus DIR [--only MUTANT ...] [--seeds 0..39] [--jobs 2] [--runs DIR]

The corpus is one that a sweep of the code without mutants has left (`sweep --swarm --corpus DIR`), of other seeds than
those here, and stays as it is: each mutant meets the same plans. Even seeds are the same scenarios in both campaigns
and run once. Results are kept under --runs, so that a killed benchmark goes on where it stopped. It is not in
`make bench`, because it takes hours.
"""

import argparse
import statistics
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from checker.mutants import CATALOGUE
from checker.record.fingerprint import this_code
from cluster.campaign.corpus.folder import Corpus
from cluster.campaign.corpus.rounds import is_varied
from cluster.campaign.mutants import MutantSearch, MutationCampaign, varied_task
from cluster.campaign.workers import Workers
from cluster.cli.options import parse_jobs, parse_seeds

LATE_SEED: Final = 5
"""Mutants that the plain swarm kills after this seed leave room for a corpus to be better."""

SHARE_MAX_PERCENT: Final = 70
"""The aim: the median of seeds to kill with a corpus, in percent of the plain swarm's."""


class Row(NamedTuple):
    """The seeds and seconds that one mutant took in both campaigns; None for seeds where it survived."""

    mutant: str
    plain_seeds: int | None
    varied_seeds: int | None
    plain_seconds: float
    varied_seconds: float


def run(options: argparse.Namespace) -> list[Row]:
    """Run both campaigns and return a row for each mutant."""
    mutants = [CATALOGUE[name] for name in dict.fromkeys(options.only)]
    fingerprint = this_code().fingerprint
    with Corpus(options.corpus) as corpus:
        tag = f"{len(corpus.plans)}-{corpus.digest[:6]}"
        plain = MutationCampaign(mutants, options.seeds, options.runs / f"mutants-{fingerprint[:6]}", fingerprint)
        varied = MutationCampaign(
            mutants,
            options.seeds,
            options.runs / f"mutants-{fingerprint[:6]}-corpus-{tag}",
            fingerprint,
            make_task=partial(varied_task, dict(corpus.plans)),
        )
        with plain, varied, Workers(options.jobs) as workers:
            _search("plain", plain, workers)
            for name, search in plain.searches.items():
                even = {seed: result for seed, result in search.results.items() if not is_varied(seed)}
                varied.searches[name].results = even | varied.searches[name].results
            _search("corpus", varied, workers)
    return [_row(search, varied.searches[name]) for name, search in plain.searches.items()]


def _search(title: str, campaign: MutationCampaign, workers: Workers) -> None:
    for search, result in campaign.run(workers):
        print(
            f"{title}: {search.mutant.name}: seed {result.seed}: {'killed' if result is search.kill else ''}",
            flush=True,
        )


def _row(plain: MutantSearch, varied: MutantSearch) -> Row:
    return Row(plain.mutant.name, _seeds(plain), _seeds(varied), plain.seconds, varied.seconds)


def _seeds(search: MutantSearch) -> int | None:
    return None if search.kill is None else len(search.tried)


def lines_of(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the table of mutants that took a seed or more apart, and the medians."""
    yield "| mutant | plain: seeds | corpus: seeds | plain: s | corpus: s |"
    yield "|---|---|---|---|---|"
    for row in rows:
        if row.plain_seeds != row.varied_seeds:
            seeds = " | ".join(str(count or "survived") for count in (row.plain_seeds, row.varied_seeds))
            yield f"| `{row.mutant}` | {seeds} | {row.plain_seconds:.0f} | {row.varied_seconds:.0f} |"
    yield ""
    yield _medians("all mutants", rows)
    late = [row for row in rows if row.plain_seeds is None or row.plain_seeds > LATE_SEED + 1]
    yield _medians(f"those that the plain swarm had not killed by seed {LATE_SEED}", late)
    lost = [row.mutant for row in rows if row.plain_seeds is not None and row.varied_seeds is None]
    found = [row.mutant for row in rows if row.plain_seeds is None and row.varied_seeds is not None]
    yield f"lost with a corpus: {', '.join(lost) or 'no mutant'}"
    yield f"killed with a corpus alone: {', '.join(found) or 'no mutant'}"


def _medians(what: str, rows: Sequence[Row]) -> str:
    """Return one line of medians; a mutant that survived counts as slower than all others."""
    if not rows:
        return f"{what}: there is no such mutant"
    plain = statistics.median_low(row.plain_seeds or 1 << 30 for row in rows)
    varied = statistics.median_low(row.varied_seeds or 1 << 30 for row in rows)
    seconds = sum(row.plain_seconds for row in rows), sum(row.varied_seconds for row in rows)
    share = 100 * varied // plain
    seeds = f"median of seeds to kill {plain} plain, {varied} with a corpus ({share} %, aim {SHARE_MAX_PERCENT} %)"
    return f"{what} ({len(rows)}): {seeds}; seconds in all {seconds[0]:,.0f} plain, {seconds[1]:,.0f} with a corpus"


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
