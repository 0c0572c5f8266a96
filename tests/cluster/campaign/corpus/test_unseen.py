"""The estimate of the unseen, of histories that are small enough to count."""

from fractions import Fraction

from checker.coverage.collector import RuleHit
from cluster.campaign.corpus.unseen import COVERAGE_POINTS, FAULT_POINTS, PAIRS, History, Unseen
from cluster.campaign.results_db import SeedResult
from cluster.campaign.sweep import SweepTally
from faults import FaultPoint

PASSED = SeedResult(0, 0, "passed", "", "all is well", "ab", 5)


def history_of(runs):
    history = History()
    for seed, places in runs:
        history.add(seed, places)
    return history


def test_the_estimate_is_the_share_of_places_in_one_run():
    """Of ten observations of five places, two are of a place in one run only."""
    history = history_of([(0, "abc"), (1, "ab"), (2, "abd"), (3, "ce")])

    unseen = history.unseen()
    assert unseen == Unseen(reached=5, once=2, observations=10, new=(5,))
    assert unseen.chance == Fraction(1, 5)


def test_a_place_counts_once_in_each_run():
    assert history_of([(0, "aaab"), (1, "a")]).unseen() == Unseen(reached=2, once=1, observations=3, new=(2,))


def test_without_an_observation_all_is_unseen():
    assert history_of([]).unseen() == Unseen(0, 0, 0, ())
    assert history_of([]).unseen().chance == 1


def test_new_places_are_counted_by_thousands_of_the_seeds_that_ran():
    """Seeds 5,000 to 6,000, and a place is new in the lowest seed that reached it, not in the first that came."""
    later_first = [(6_000, "xb"), *((seed, "a") for seed in range(5_001, 6_000)), (5_000, "b")]

    assert history_of(later_first).unseen().new == (2, 1)


def test_the_estimate_is_the_same_in_any_order_of_results():
    runs = [(0, "abc"), (1, "ab"), (2, "abd"), (3, "ce")]

    assert history_of(runs[::-1]).unseen() == history_of(runs).unseen()


def test_a_sweep_estimates_each_sort_of_place():
    tally = SweepTally(2)
    crash, cut = FaultPoint("crash", "proposing", "leader", 7), FaultPoint("cut", "down", "voter", 1)
    tally.add(PASSED._replace(points=(crash,), rules=(RuleHit("due-next", 3),), pairs=("a b", "b a")))
    tally.add(PASSED._replace(seed=1, points=(crash._replace(hits=2), cut)))

    assert tally.unseen[FAULT_POINTS] == Unseen(reached=2, once=1, observations=3, new=(2,))
    assert tally.unseen[COVERAGE_POINTS] == Unseen(reached=1, once=1, observations=1, new=(1,))
    assert tally.unseen[PAIRS] == Unseen(reached=2, once=2, observations=2, new=(2,))
