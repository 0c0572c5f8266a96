"""Trials on the chain: what bidders order is what the chain does, counted without a gap, the same in every process."""

import json
import subprocess
import sys

import pytest

from checker.record.root import PROJECT_ROOT
from cluster.scenario.messages import ScenarioError
from cluster.studies.chain import ChainTrial
from cluster.studies.load import as_document, load_study, study_of_arm
from tests.support.study_text import write_study

FIGURES = ("lane_use", "clearing", "revenue", "efficiency", "welfare", "high.wait_mean", "low.wait_p99", "all.paid")


def log_of_trial(path, *settings, seed=0):
    trials = load_study(str(path), settings)
    study, scenario = study_of_arm(as_document(trials.arms[0]), trials.place)
    return ChainTrial(study, scenario, seed).run()


def test_every_order_is_a_timer_or_a_refusal(tmp_path):
    log = log_of_trial(write_study(tmp_path))

    assert sum(log.orders.values()) == 3 * 20
    assert len(log.timers) + sum(log.refused.values()) == sum(log.orders.values())
    assert not log.refused


def test_a_refused_order_is_counted_for_its_group_alone(tmp_path):
    """The reserve is above each bid of the low group: 150 units a cycle of 100,000."""
    log = log_of_trial(write_study(tmp_path), "scenario.chain.policy_parameters.reserve=15_500_000")

    assert log.refused == {"low": 40}
    assert log.figure("low.refused") == 1
    assert log.figure("high.refused") == 0


def test_a_block_without_room_for_the_orders_ends_the_trial(tmp_path):
    """A group that falls silent would change what a study measures."""
    with pytest.raises(ScenarioError, match="block 1 has no room for all orders"):
        log_of_trial(write_study(tmp_path), "scenario.chain.block_cycles=29_000")


def test_orders_of_a_transaction_that_breaks_off_are_refused(tmp_path, monkeypatch):
    """Its timers do not exist, although the block has it."""
    monkeypatch.setattr("cluster.studies.chain.ORDER_CYCLES", 450)
    log = log_of_trial(write_study(tmp_path))

    assert not log.timers
    assert sum(log.refused.values()) == sum(log.orders.values()) > 0


def test_the_lane_is_full_where_more_competes_than_fits(tmp_path):
    log = log_of_trial(write_study(tmp_path))

    assert log.figure("congested") == 1
    assert log.figure("high.wait_mean") == 0
    assert log.figure("low.expired") > 0.2
    assert log.figure("efficiency") == 1


def test_first_price_takes_what_was_bid(tmp_path):
    """Each pays its bid for the gas limit, of which the fire uses about nine tenths."""
    log = log_of_trial(write_study(tmp_path), "pay=first-price")

    fired = [timer for timer in log.timers if timer.fired_block]
    assert fired
    assert all(timer.paid == timer.bid * timer.gas_limit for timer in fired)


def test_a_task_that_did_not_run_is_scheduled_again(tmp_path):
    again = ("per_block = [2, 1]", "per_block = [2, 1]\nresubmit_after = 2")
    plain = log_of_trial(write_study(tmp_path, ("ttl = 5", "ttl = 50")))
    eager = log_of_trial(write_study(tmp_path, ("ttl = 5", "ttl = 50"), again))
    calm = log_of_trial(write_study(tmp_path, ("ttl = 5", "ttl = 50"), (again[0], f"{again[1]}\nback_off = true")))

    assert plain.figure("low.timers_per_task") == 1
    assert eager.figure("low.timers_per_task") > calm.figure("low.timers_per_task") > 1
    assert sum(eager.done.values()) <= sum(eager.tasks.values())


def test_tries_go_on_after_the_last_block_with_new_tasks(tmp_path):
    again = ("per_block = [2, 1]", "per_block = [2, 1]\nresubmit_after = 2\nlast_block = 6")
    log = log_of_trial(write_study(tmp_path, again))

    assert log.tasks["low"] == 2 * 6
    assert max(timer.due for timer in log.timers if timer.group == "low") > 6 + 2


def test_a_client_finds_its_task_overdue_right_after_an_outage(tmp_path):
    """It is due in slot 12, in the outage. The first block after that is of slot 39, and a new timer is due in 40."""
    late = "per_block = [2, 1]\nresubmit_after = 2\nlast_block = 2\nlead = 10"
    outage = "[outage]\nafter_block = 8\nslots = 30\n\n[bidders.low]"
    log = log_of_trial(write_study(tmp_path, ("[bidders.low]", outage), ("per_block = [2, 1]", late)))

    assert min(timer.due for timer in log.timers if timer.group == "low" and timer.due > 12) == 40


def test_an_entry_that_expires_waits_no_longer(tmp_path):
    """Entries of the low group are due in the outage, and expire ten seconds later."""
    text = 'key = "scenario.chain.policy_parameters.payment"\nvalues = ["vcg-critical", "first-price"]'
    outage = "[outage]\nafter_block = 8\nslots = 30\n\n[bidders.low]\nlead = 5\nlast_block = 8"
    aptos = (text, 'key = "scenario.chain.policy"\nvalues = ["aptos"]')
    log = log_of_trial(write_study(tmp_path, aptos, ("[bidders.low]", outage)))

    expired = [timer for timer in log.timers if timer.expired]
    assert len(expired) > 5
    assert all(timer.left and timer.fired_block is None for timer in expired)
    assert log.figure("low.wait_worst") < 5


def test_a_shutdown_is_measured_from_its_order_to_its_end(tmp_path):
    """Batches of ten in each block after the order: 3 entries of each of ten blocks come due too late to run."""
    text = 'key = "scenario.chain.policy_parameters.payment"\nvalues = ["vcg-critical", "first-price"]'
    council = """[scenario.workload.council]
kind = "governance"
actions = [
    { do = "service", action = "start_shutdown", at_ms = 11_000 },
    { do = "service", action = "continue_shutdown", count = 5, every_ms = 1_000, at_ms = 11_500 },
]

[axes.pay]
"""
    aptos = (text, 'key = "scenario.chain.policy"\nvalues = ["aptos"]')
    late = [(f"[bidders.{name}]", f"[bidders.{name}]\nlead = 50\nlast_block = 10") for name in ("high", "low")]
    log = log_of_trial(
        write_study(tmp_path, aptos, ("[axes.pay]", council), *late),
        "scenario.chain.policy_parameters.shutdown_batch=10",
    )

    assert log.orders == {"high": 10, "low": 20}
    assert log.figure("shutdown_blocks") == 1 + 3
    assert log_of_trial(write_study(tmp_path)).figure("shutdown_blocks") is None


def test_the_cost_of_a_delay_is_what_the_others_paid_for_it(tmp_path):
    log = log_of_trial(write_study(tmp_path), "pay=first-price")

    due = [timer for timer in log.timers if timer.due_block is not None and timer.due_block > 5]
    fired = {name: [each for each in due if each.group == name and each.fired_block] for name in ("high", "low")}
    waited = sum(each.fired_block - each.due_block for each in fired["low"])
    bids, used = (
        sum(map(of, fired["high"])) for of in (lambda each: each.bid * each.gas_limit, lambda each: each.used)
    )
    assert log.figure("high.cost") * 1_000 >= bids + 8 * used
    assert log.figure("low.delay_cost") == pytest.approx(log.figure("high.cost") / waited)
    assert log.figure("high.delay_cost") is None


def test_the_most_of_the_lane_is_beyond_it_only_without_a_lane(tmp_path):
    text = 'key = "scenario.chain.policy_parameters.payment"\nvalues = ["vcg-critical", "first-price"]'
    late = ("[bidders.high]", "[bidders.high]\nfirst_block = 11")
    logs = {}
    for policy in ("fifo", "fifo-free"):
        path = write_study(tmp_path, late, (text, f'key = "scenario.chain.policy"\nvalues = ["{policy}"]'))
        logs[policy] = log_of_trial(path)

    assert 0.8 < logs["fifo"].figure("lane_most") <= 1 < logs["fifo-free"].figure("lane_most")
    assert logs["fifo-free"].figure("lane_most") > logs["fifo-free"].figure("lane_use")


def test_an_input_grows_stale_during_an_outage(tmp_path):
    """The feed calls from the third block on; the timers of the outage fire in the first one."""
    feed = '[bidders.feed]\nsends = "calls"\nresume_blocks = 2\n\n[bidders.high]\nreads = "feed"\nstale_blocks = 5'
    outage = "[outage]\nafter_block = 8\nslots = 30\n\n[bidders.low]"
    path = write_study(tmp_path, ("[bidders.high]", feed), ("[bidders.low]", outage), ("ttl = 5", "ttl = 500"))
    with_outage, without = log_of_trial(path), log_of_trial(path, "outage.slots=0")

    assert without.figure("high.stale") == 0
    assert 0 < with_outage.figure("high.stale") < 1


def test_a_late_group_sends_nothing_before_its_first_block(tmp_path):
    change = ("worth = [200, 300]", "worth = [200, 300]\nfirst_block = 11\nlast_block = 12")
    log = log_of_trial(write_study(tmp_path, change))

    assert log.orders["high"] == 2
    assert [timer.due_block for timer in log.timers if timer.group == "high"] == [12, 13]


@pytest.mark.parametrize("policy", ["fifo", "fifo-free", "eip1559", "gba-auction", "bias-auction", "aptos"])
def test_bidders_reach_the_chain_under_every_policy(tmp_path, policy):
    text = 'key = "scenario.chain.policy_parameters.payment"\nvalues = ["vcg-critical", "first-price"]'
    path = write_study(tmp_path, (text, f'key = "scenario.chain.policy"\nvalues = ["{policy}"]'))
    log = log_of_trial(path, "bidders.high.worth=[20000,30000]", "bidders.low.worth=[10000,15000]")

    assert log.figure("high.refused") == 0
    assert log.figure("high.fires") > 5


def test_a_higher_bid_goes_first_where_the_policy_sorts_by_bids(tmp_path):
    text = 'key = "scenario.chain.policy_parameters.payment"\nvalues = ["vcg-critical", "first-price"]'
    waits = {}
    for policy in ("fifo", "gba-auction", "bias-auction"):
        path = write_study(tmp_path, (text, f'key = "scenario.chain.policy"\nvalues = ["{policy}"]'))
        waits[policy] = log_of_trial(path).figure("high.wait_mean")

    assert waits["fifo"] > 1
    assert waits["gba-auction"] == waits["bias-auction"] == 0


def test_another_process_gives_the_same_figures(tmp_path):
    path = write_study(tmp_path)
    code = (
        "import json, sys; from tests.cluster.studies.test_chain import FIGURES, log_of_trial; "
        "log = log_of_trial(sys.argv[1], seed=7); print(json.dumps([log.figure(name) for name in FIGURES]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        cwd=PROJECT_ROOT,
        env={"PYTHONHASHSEED": "4711", "PYTHONPATH": str(PROJECT_ROOT)},
        capture_output=True,
        check=True,
    )

    log = log_of_trial(path, seed=7)
    assert json.loads(done.stdout) == [log.figure(name) for name in FIGURES]


def test_seeds_draw_other_worths(tmp_path):
    path = write_study(tmp_path)

    assert [log_of_trial(path, seed=seed).figure("welfare") for seed in (0, 1)] != [None, None]
    assert log_of_trial(path, seed=0).figure("welfare") != log_of_trial(path, seed=1).figure("welfare")


def test_a_burst_brings_all_that_came_up_since_the_last_one(tmp_path):
    log = log_of_trial(write_study(tmp_path, ("per_block = [2, 1]", "per_block = [3, 2]\nevery = 8")))

    dues = [timer.due_block for timer in log.timers if timer.group == "low"]
    assert dues == [9] * 12 + [17] * 12


def test_a_figure_with_blocks_counts_these_blocks_alone(tmp_path):
    """The late group has one timer due in each of the blocks 12 and 13; the warm-up ends with block 5."""
    log = log_of_trial(write_study(tmp_path, ("worth = [200, 300]", "worth = [200, 300]\nfirst_block = 11")))
    high = [timer for timer in log.timers if timer.group == "high"]
    prices = {block.height: block.clearing for block in log.blocks if block.waiting_live}

    assert log.figure("high.fires@12..13") == 2
    assert log.figure("high.fires") == len([timer for timer in high if timer.fired_block])
    assert log.figure("high.share@6..11") == 0
    assert log.figure("high.fired@12..20") == 1
    assert log.figure("high.fired@1..11") is None
    assert log.figure("low.fired@1..5") > log.figure("low.fired@14..18")
    assert log.figure("clearing@3..3") == prices.get(3)
    assert log.figure("fairness@1..11") != log.figure("fairness@12..20")
