"""Forks without a network: two branches on one pivot that differ as branches of a partition do."""

import pytest

from cluster.reorgs import ForkError, build_fork
from cluster.scenario.load import load_scenario

DIGEST_OF_A_BRANCH = -1


def fork_of(seed=0, *settings, depth=3):
    scenario = load_scenario("mixed-clients", settings)
    return build_fork(scenario, seed, pivot=6, depth=depth)


@pytest.fixture(scope="module")
def fork():
    return fork_of()


def test_both_branches_begin_at_the_pivot(fork):
    pivot = fork.trunk[-1]

    assert (pivot.header.height, fork.depth, len(fork.winning)) == (6, 3, 4)
    assert fork.abandoned[0].header.parent == fork.winning[0].header.parent == pivot.digest


def test_branches_differ_in_slots_and_in_transactions(fork):
    lost, won = fork.abandoned[0], fork.winning[0]

    assert won.header.slot > fork.abandoned[-1].header.slot
    assert lost.block.transactions != won.block.transactions
    assert lost.header.height == won.header.height


def test_winning_branch_includes_what_the_abandoned_one_left_out(fork):
    lost = [transaction for executed in fork.abandoned for transaction in executed.block.transactions]
    won = [transaction for executed in fork.winning for transaction in executed.block.transactions]

    assert set(lost) < set(won)


def test_one_seed_gives_one_fork_and_another_seed_another(fork):
    again, other = fork_of(), fork_of(1)

    assert again.abandoned[DIGEST_OF_A_BRANCH].digest == fork.abandoned[DIGEST_OF_A_BRANCH].digest
    assert other.abandoned[DIGEST_OF_A_BRANCH].digest != fork.abandoned[DIGEST_OF_A_BRANCH].digest


def test_a_fork_without_transactions_is_refused():
    with pytest.raises(ForkError, match="no transaction is included on the abandoned branch above height 6"):
        fork_of(0, "workload.storm.enabled=false", "workload.payments.enabled=false")


def test_a_fork_without_fires_is_refused():
    idle = [f"workload.{name}.enabled=false" for name in ("pulse", "bidders", "storm", "subscribers")]

    with pytest.raises(ForkError, match="no timer fires on the abandoned branch above height 6"):
        fork_of(0, *idle)
