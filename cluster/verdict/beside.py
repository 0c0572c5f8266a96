"""The judging process of a run: the runs that have this process, and the data that the run sends to it."""

from contextlib import ExitStack
from typing import Final

import msgspec

from checker.checks.context import RunContext
from checker.judging import (
    EngineLife,
    EnginesFrame,
    ExecutedFrame,
    FinalFrame,
    JudgingProcess,
    OpeningFrame,
    SettledFrame,
)
from checker.oracle.consensus.registry import SPECIFICATIONS
from checker.record.engine_calls import encoded_calls
from cluster.runtime.cluster import Cluster
from cluster.verdict.monitor import Monitor

COLD_HASH_SEED: Final = 90_125
"""The PYTHONHASHSEED of the judging process and of the cold replay: any but the run's own."""


def judging_of(cluster: Cluster, monitor: Monitor, stack: ExitStack) -> JudgingProcess | None:
    """Return the process that judges a run while it goes on, until `stack` is closed; None where there is none.

    A run that goes on from real disks has no block of height 1, and an outside application is replayed by itself.
    """
    genesis, scenario = monitor.context.genesis, cluster.scenario
    if cluster.data is not None or cluster.applications is not None or genesis is None:
        return None
    opening = OpeningFrame(msgspec.msgpack.encode(genesis), scenario.plugins, scenario.oracle == "on")
    try:
        judging = JudgingProcess(opening, COLD_HASH_SEED)
    except OSError:
        # No room for its file, or for a process: the run is judged when it is over.
        return None
    stack.callback(judging.close)
    monitor.keep.append(lambda record: judging.send(ExecutedFrame(record)))
    monitor.on_final = lambda final: judging.send(FinalFrame(final))
    monitor.on_settled = lambda height: judging.send(SettledFrame(height))
    return judging


def tell_engines(judging: JudgingProcess, context: RunContext) -> None:
    """Tell the judging process of the engines of a run that is over; nothing of an engine without a specification."""
    if context.engine not in SPECIFICATIONS:
        return
    for _, lives in sorted(context.engine_calls.items()):
        for number, life in enumerate(lives, 1):
            # One at a time: the calls of a long run are its greatest part.
            judging.send(
                EngineLife(
                    number,
                    life.life.me,
                    tuple(life.life.public_keys),
                    life.life.is_observer,
                    life.life.genesis,
                    dict(life.life.config),
                    encoded_calls(life, number, len(life.kept)),
                )
            )
    judging.send(EnginesFrame(context.engine))
