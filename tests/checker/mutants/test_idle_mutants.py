"""Mutants that a run never calls: it shows nothing of them, and says so."""

import pytest

from checker.mutants.mutant import Swaps
from cluster.campaign.tasks import Task, run_task
from cluster.scenario.load import encode_scenario, load_scenario
from tests.support.cluster_runs import result_of
from tests.support.mutation import WITH_CATALOGUE
from tools.mutation.campaign import MutantSearch
from tools.mutation.catalogue import CATALOGUE

SHORT = (WITH_CATALOGUE, "run.until_height=4", "run.time_limit_ms=15_000")
QUEUED = "own-price-charged"
"""A mutant of the policy `aptos`, of which a chain with the policy `fifo` calls nothing."""

NOT_CALLED = f"mutant {QUEUED} replaces scheduler.policies.aptos.price_charged, not called in any step of"

OTHER = (
    "mutant final-after-two-blocks replaces validators.consensus.hotstuff.config.HotStuffConfig.chain_length, "
    "not called in any step of replica 3"
)
"""The words about one of HotStuff beside it."""


class Owner:
    """Attributes to be replaced."""

    limit = 3

    def act(self):
        return "right"

    @property
    def size(self):
        return 1


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        (
            f"mutants.{QUEUED}=[1]",
            f"{NOT_CALLED} replica 1",
        ),
        (
            f"mutants={{{QUEUED}=[0, 2], final-after-two-blocks=[3]}}",
            f"{NOT_CALLED} replicas 0, 2; {OTHER}",
        ),
        (
            "mutants.pause-pauses-nothing=[0]",
            "mutant pause-pauses-nothing replaces network.port.Port.pause, not called in the run",
        ),
    ],
)
def test_a_run_that_calls_nothing_of_its_mutants_is_inconclusive(setting, told):
    result = result_of("calm", *SHORT, setting)

    assert (result.exit_code, result.headline) == (3, f"test-bed/mutants-effective: {told}")


@pytest.mark.parametrize(
    "mutants",
    [
        f"{{{QUEUED}=[0], gossip-goes-to-one-peer=[1]}}",
        f"{{{QUEUED}=[]}}",
    ],
    ids=["one is called", "nobody holds one"],
)
@pytest.mark.soak
def test_nothing_is_claimed_of_other_runs(mutants):
    result = result_of("calm", *SHORT, f"mutants={mutants}")

    assert "mutants-effective" not in [check.name for check in result.checks]


def test_an_idle_mutant_is_no_kill():
    scenario = load_scenario("calm", [*SHORT, f"mutants.{QUEUED}=[0, 1, 2, 3]"])
    found = run_task(Task(encode_scenario(scenario), 0, "", False, QUEUED))

    search = MutantSearch(CATALOGUE[QUEUED], {0: found})
    assert (found.verdict, found.failed, search.kill) == ("inconclusive", "mutants-effective", None)


@pytest.mark.parametrize(
    ("swaps", "use"),
    [
        ([(Owner, "act", lambda _self: "wrong")], lambda: Owner().act()),
        ([(Owner, "size", property(lambda _self: 2))], lambda: Owner().size),
        ([(Owner, "act", lambda _self: "wrong"), (Owner, "size", property(lambda _self: 2))], lambda: Owner().size),
    ],
    ids=["a method", "a property", "one of two"],
)
def test_a_call_within_a_step_is_noted_and_changes_nothing(swaps, use):
    placed = Swaps(swaps)
    use()
    with placed:
        assert not placed.is_called
        first = use()
    with placed:
        again = use()

    assert placed.is_called
    assert first == again in {"wrong", 2}
    assert use() in {"right", 1}


def test_a_constant_may_have_been_read():
    assert Swaps([(Owner, "limit", 4), (Owner, "act", lambda _self: "wrong")]).is_called
