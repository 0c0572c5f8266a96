"""Tasks in a worker process: what a process that is gone costs."""

import pytest

from cluster.campaign import tasks
from cluster.campaign.tasks import Task, run_task
from cluster.scenario.load import encode_scenario, load_scenario
from cluster.swarm.generator import draw_scenario


@pytest.mark.soak
def test_a_replay_process_that_has_ended_is_replaced():
    task = Task(encode_scenario(load_scenario("calm", ("run.until_height=3",))), 0)
    before = run_task(task)
    tasks._replayer[0]._process.kill()
    after = run_task(task)

    assert (before.verdict, after.verdict, after.digest) == ("passed", "passed", before.digest)


def scripts_in(settings=()):
    """Return the counts of scripts in a run of seed 53, which begins with one and has no fault anchored to it."""
    result = run_task(Task(encode_scenario(draw_scenario(53, settings)), 53))
    return [hit for hit in result.rules if hit.point.startswith("script ")]


def test_a_run_counts_its_script_and_0_where_that_did_not_arrive():
    assert scripts_in(["run.until_height=8"]) == [("script before-activation", 1)]
    assert scripts_in(["run.until_height=1", "chain.activation.height=1"]) == [("script before-activation", 0)]
