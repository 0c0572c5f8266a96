"""The table of a corpus beside the plain swarm: medians over all mutants and over the late ones, and what was lost."""

from benchmarks.bench_corpus import Row, lines_of

ROWS = [
    Row("early", 1, 1, 2.0, 2.0),
    Row("better", 10, 7, 20.0, 16.0),
    Row("worse", 20, None, 40.0, 80.0),
    Row("found", None, 14, 80.0, 30.0),
    Row("hard", None, None, 80.0, 80.0),
]


def test_a_mutant_that_survived_is_slower_than_all_others():
    *_, everything, late, _lost, _found = lines_of(ROWS)

    assert everything.startswith("all mutants (5): median of seeds to kill 20 plain, 14 with a corpus (70 %, aim 70 %)")
    assert late.startswith("those that the plain swarm had not killed by seed 5 (4): median of seeds to kill 20 plain")
    assert late.endswith("seconds in all 220 plain, 206 with a corpus")


def test_mutants_that_one_campaign_alone_kills_are_named():
    *_, lost, found = lines_of(ROWS)

    assert (lost, found) == ("lost with a corpus: worse", "killed with a corpus alone: found")


def test_mutants_without_a_difference_have_no_row():
    rows = [line.split("|")[1].strip() for line in lines_of(ROWS) if line.startswith("| `")]

    assert rows == ["`better`", "`worse`", "`found`"]
