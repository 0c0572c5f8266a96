"""Tasks in a worker process: what a process that is gone costs."""

from cluster.campaign import tasks
from cluster.campaign.tasks import Task, run_task
from cluster.scenario.load import encode_scenario, load_scenario


def test_a_replay_process_that_has_ended_is_replaced():
    task = Task(encode_scenario(load_scenario("calm", ("run.until_height=3",))), 0)
    before = run_task(task)
    tasks._replayer[0]._process.kill()
    after = run_task(task)

    assert (before.verdict, after.verdict, after.digest) == ("passed", "passed", before.digest)
