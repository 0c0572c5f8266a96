"""The figures of trials: the optimum of a block, prices that move, the auction's N_max, and delays of triggers."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.studies.chain import ChainTrial
from cluster.studies.figures import BlockFigures, TimerStory, TrialLog, knapsack
from cluster.studies.load import as_document, load_study, study_of_arm
from cluster.workloads.submission import FUNDS
from scheduler.bias import waits_at_most
from tests.support.study_text import write_study

BLOCK = BlockFigures(
    height=1,
    lane_cycles=90,
    gc_cycles=0,
    waiting_live=1,
    waiting_dead=0,
    price=8,
    clearing=0,
    tips=0,
    burned=0,
    triggers=0,
    worth_fired=0,
    worth_possible=0,
)
WATCHERS = """
[scenario.workload.watching]
kind = "watchers"
actors = 2
timers = 6
keys = 1
start_ms = 1_000
write_ms = 6_000
gas_limit = 10_000
bid = 5_000_000

[scenario.workload.billed]
kind = "subscriptions"
subscriptions = 1
gas_limit = 10_000
price = 1

[axes.pay]"""


def best_of_all(items, room):
    """Return the most worth of any choice of items whose cycles fit, by trying every choice."""
    choices = (choice for count in range(len(items) + 1) for choice in combinations(items, count))
    return max(sum(worth for _, worth in each) for each in choices if sum(cycles for cycles, _ in each) <= room)


@given(
    items=st.lists(st.tuples(st.integers(1, 12), st.integers(0, 50)), max_size=8),
    room=st.integers(1, 30),
    unit=st.sampled_from([1, 7, 5_000]),
)
def test_the_optimum_is_that_of_every_choice(items, room, unit):
    scaled = [(cycles * unit, worth) for cycles, worth in items]

    assert knapsack(scaled, room * unit) == best_of_all(scaled, room * unit)


def test_greed_by_worth_a_cycle_misses_the_optimum():
    """The item with the most worth a cycle leaves room for none of the two that fill the lane."""
    assert knapsack([(6, 66), (5, 50), (5, 50)], 10) == 100


def log_of(*blocks, timers=(), warmup=0):
    log = TrialLog(lane=100, gc_budget=0, warmup=warmup, resumed_at=0)
    log.blocks += [replace(block, height=height) for height, block in enumerate(blocks, 1)]
    log.timers += timers
    return log


def test_efficiency_is_the_worth_fired_over_the_optimum():
    log = log_of(replace(BLOCK, worth_fired=30, worth_possible=40), replace(BLOCK, worth_fired=10, worth_possible=40))

    assert log.figure("efficiency") == 0.5


@pytest.mark.parametrize(
    ("prices", "expected"),
    [((100, 75, 76), 0.5), ((100, 76, 75), 0), ((10, 20, 30), 0), ((80, 8, 80, 8), 2 / 3)],
)
def test_a_fall_of_the_clearing_price_is_a_quarter_or_more(prices, expected):
    log = log_of(*(replace(BLOCK, clearing=price) for price in prices))

    assert log.figure("clearing_falls") == pytest.approx(expected)


def test_blocks_that_left_nothing_waiting_have_no_clearing_price():
    log = log_of(replace(BLOCK, clearing=50), replace(BLOCK, waiting_live=0), replace(BLOCK, clearing=70))

    assert log.figure("clearing") == 60
    assert log.figure("clearing_falls") == 0


def test_n_max_follows_the_mean_lambda_behind_the_warm_up():
    log = log_of(*(replace(BLOCK, lambda_=value) for value in (900_000, 100_000, 300_000)), warmup=1)

    assert log.figure("lambda_mean") == 200_000
    assert log.figure("n_max") == waits_at_most(FUNDS, 200_000)
    assert log_of(BLOCK).figure("n_max") is None


def test_a_timer_that_still_waits_counts_against_n_max():
    waiting = TimerStory("a", b"", 1, 10, 10, due_block=1)
    log = log_of(*[replace(BLOCK, lambda_=10_000_000)] * 9, timers=[waiting])

    assert log.figure("a.n_max_used") == 8 / waits_at_most(FUNDS, 10_000_000)


def test_the_variance_of_utility_counts_fires_with_a_bid():
    """Utilities 30 and 10 over bids of 10 each: 3 and 1."""
    fired = [
        TimerStory("a", b"", 1, 10, 10, worth=worth, bid=bid, due_block=1, fired_block=1, paid=0, used=10)
        for worth, bid in ((30, 10), (10, 10), (99, 0))
    ]

    assert log_of(BLOCK, timers=fired).figure("a.utility_spread") == 1


def log_of_chain(path, *settings):
    trials = load_study(str(path), settings)
    study, scenario = study_of_arm(as_document(trials.arms[0]), trials.place)
    return ChainTrial(study, scenario, 0).run()


def test_the_delay_of_triggers_is_what_the_limit_leaves(tmp_path):
    """Six timers of two actors each, one in three of which watches a balance as well: 16 places, four a block."""
    path = write_study(tmp_path, ("\n[axes.pay]", WATCHERS), ("warmup_blocks = 5", "warmup_blocks = 0"))
    at_once = log_of_chain(path)
    limited = log_of_chain(path, "scenario.chain.policy_parameters.max_triggers_per_block=4")

    assert at_once.figure("triggers") == 12
    assert at_once.figure("watching.trigger_worst") == 0
    assert limited.figure("triggers") == 4
    assert limited.figure("watching.trigger_worst") == 3
    assert limited.figure("watching.late_mean") > limited.figure("watching.trigger_mean") > 0
    assert limited.figure("watching.fires") == at_once.figure("watching.fires") == 12


def test_recurring_actors_of_a_workload_are_its_group(tmp_path):
    roomy = ("lane_timer_cycles = 200_000", "lane_timer_cycles = 400_000")
    log = log_of_chain(write_study(tmp_path, ("\n[axes.pay]", WATCHERS), roomy))

    assert log.figure("billed.fires") > 0


def test_a_loop_moves_the_mean_lambda(tmp_path):
    path = write_study(tmp_path)
    fixed = log_of_chain(path, "scenario.chain.policy_parameters.lambda_window_blocks=0")
    moved = log_of_chain(
        path,
        "scenario.chain.policy_parameters.lambda_window_blocks=2",
        "scenario.chain.policy_parameters.target_wait=0",
        "scenario.chain.policy_parameters.value_decay=[99, 1]",
    )

    assert fixed.figure("lambda_mean") == 100_000
    assert moved.figure("lambda_mean") > 110_000
