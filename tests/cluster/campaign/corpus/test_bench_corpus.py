"""The table of a corpus beside the plain swarm: medians over all mutants and over the late ones, and what was lost."""

import pytest

from benchmarks.bench_corpus import REDRAWN_FROM, Figure, Row, lines_of, redrawn_task, take_even
from cluster.campaign.results_db import SeedResult
from tools.mutation.campaign import MutantSearch, MutationCampaign, campaign_task
from tools.mutation.catalogue import CATALOGUE


def row(name, plain, corpus):
    """Return the row of a mutant that takes two seconds a seed, and in the control as long as in the plain swarm."""
    figures = [Figure(seeds, 2.0 * (seeds or 40)) for seeds in (plain, plain, corpus)]
    return Row(name, *figures)


ROWS = [
    row("early", 1, 1),
    row("better", 10, 7),
    row("worse", 20, None),
    row("found", None, 14),
    row("hard", None, None),
]


def test_a_mutant_that_survived_is_slower_than_all_others():
    *_, everything, late, _lost, _found = lines_of(ROWS)

    seeds = "median of seeds to kill 20 plain, 20 control, 14 with a corpus (70 % of plain, aim 70 %)"
    assert everything == f"all mutants (5): {seeds}; seconds in all 222, 222, 204"
    assert late == f"those that the plain swarm had not killed by seed 5 (4): {seeds}; seconds in all 220, 220, 202"


def test_the_control_draws_odd_seeds_once_more():
    mutant = CATALOGUE["tip-burned"]

    assert redrawn_task(mutant, 4) == campaign_task(mutant, 4)
    other = redrawn_task(mutant, 5)
    assert (other.seed, other.scenario) == (5, campaign_task(mutant, REDRAWN_FROM + 5).scenario)


@pytest.mark.parametrize(
    ("kill", "taken"), [(4, [0, 2]), (0, [0])], ids=["odd seeds below the kill are tried", "the first seed is shared"]
)
def test_a_kill_is_taken_over_where_no_odd_seed_is_below(tmp_path, kill, taken):
    mutant = CATALOGUE["tip-burned"]
    passed = SeedResult(0, 0, "passed", "", "all is well", "ab", 5)
    results = {seed: passed._replace(seed=seed, failed="oracle" if seed == kill else "") for seed in range(kill + 1)}
    with MutationCampaign([mutant], range(6), tmp_path, "code") as campaign:
        take_even(campaign, {mutant.name: MutantSearch(mutant, results)})

        assert list(campaign.searches[mutant.name].results) == taken


def test_mutants_that_one_campaign_alone_kills_are_named():
    *_, lost, found = lines_of(ROWS)

    assert (lost, found) == ("lost with a corpus: worse", "killed with a corpus alone: found")


def test_mutants_without_a_difference_have_no_row():
    rows = [line.split("|")[1].strip() for line in lines_of(ROWS) if line.startswith("| `")]

    assert rows == ["`better`", "`worse`", "`found`"]
