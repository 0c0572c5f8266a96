"""Runs one trial in this process, with whatever sources it has loaded."""

import time
from collections.abc import Collection
from pathlib import Path

from checker.record.cold_replay import ColdReplay, replay_directory
from checker.results import EXIT_CODES
from cluster.live.progress import LiveProgress
from cluster.scenario.load import decode_scenario
from cluster.verdict.pipeline import run_pipeline
from network.outcome import RunFailedError
from tools.mutation.scan.mutant_runs import Trial, TrialOutcome

CRASH = "crash"
"""Stands for the failed check of a run that an exception ended."""


def run_trial(trial: Trial) -> TrialOutcome:
    """Run a scenario and return its end; whatever breaks on the way is a result."""
    started = time.process_time()
    try:
        scenario = decode_scenario(trial.scenario, trial.name)
        with LiveProgress(title="", is_quiet=True) as progress:
            run = run_pipeline(scenario, trial.seed, runs=None, progress=progress, replay=replay_here)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a mutant may break anything
        name = "" if isinstance(error, RunFailedError) else f"{type(error).__name__}: "
        return TrialOutcome(
            name=trial.name,
            exit_code=EXIT_CODES["environment"],
            failed=(CRASH,),
            headline=f"{name}{error}"[:300],
            cpu_ms=_milliseconds_since(started),
        )
    return TrialOutcome(
        name=trial.name,
        exit_code=run.exit_code,
        failed=tuple(check.name for check in run.checks if check.is_finding),
        headline=run.headline[:300],
        digest=run.digest.hex(),
        cpu_ms=_milliseconds_since(started),
        events=int(run.figures["turns"]) + int(run.figures["events"]),
    )


def replay_here(directory: Path, hash_seed: int, values_at: Collection[int] = ()) -> ColdReplay:
    """Replay a run directory in this process, which alone has the mutant; the hash seed stays."""
    del hash_seed
    return replay_directory(directory, values_at)


def _milliseconds_since(started: float) -> int:
    return int((time.process_time() - started) * 1_000)
