"""Short runs for tests: judge a scenario without a run directory, or keep what each validator applied."""

import atexit
from functools import cache

from checker.record.cold_replay import ColdReplayWorker, replay_directory
from cluster.live.progress import LiveProgress
from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from cluster.verdict.beside import COLD_HASH_SEED
from cluster.verdict.pipeline import run_pipeline


@cache
def replay_worker():
    """Return the replay process of this test process: a fresh one for each run takes half a second of processor."""
    worker = ColdReplayWorker(COLD_HASH_SEED)
    atexit.register(worker.close)
    return worker


def result_of(name, *settings, seed=0, factories=None, runs=None):
    """Run a scenario of the project and judge it."""
    return judge(load_scenario(name, settings), seed=seed, factories=factories, runs=runs)


def judge(scenario, *, seed=0, factories=None, runs=None, has_page=False):
    """Run a scenario and judge it."""
    with LiveProgress(title=scenario.name, is_quiet=True) as progress:
        # A plug-in may have been installed since the process began.
        replay = None if scenario.plugins else replay_worker().run
        return run_pipeline(
            scenario, seed, runs=runs, progress=progress, factories=factories, replay=replay, has_page=has_page
        )


def judge_in_process(scenario, *, factories=None):
    """Run a scenario and judge it, with the cold replay in this process, which knows what a test has installed."""
    with LiveProgress(title="", is_quiet=True) as progress:
        return run_pipeline(
            scenario,
            0,
            runs=None,
            progress=progress,
            factories=factories,
            replay=lambda directory, _hash_seed, values_at=(): replay_directory(directory, values_at),
        )


def check_named(result, name):
    """Return the one check of that name."""
    (check,) = [check for check in result.checks if check.name == name]
    return check


def applied_blocks(name, *settings, seed=0, factories=None):
    """Run a scenario and return (run, [(node, executed), ...]) in the order of the log."""
    applied = []
    hooks = RunHooks(on_applied=lambda node, executed: applied.append((node, executed)))
    run = Cluster(load_scenario(name, settings), seed, factories=factories or {}, hooks=hooks).run()
    return run, applied
