"""Observes every execution of a run, and explains what went wrong in it; see checker.explain."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from checker.explain.evidence import last_calls
from checker.explain.explanation import Explanation, SideReport
from checker.record.run_directory import RecordReader
from checker.record.streams import Difference, first_difference, iterate_events
from checker.results import CheckResult
from cluster.inspect.witness import ExecutionWitness
from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks, of_own_engine
from cluster.scenario.model import Scenario
from cluster.verdict.executions import watch_executions
from cluster.verdict.replay import recorded_scenario
from cluster.verdict.watchdog import Watchdog
from network.collector import rare_collections
from network.events import events_of_type
from validators.events import BlockExecuted
from validators.settings import ValidatorFactory

CONSENSUS: Final = "consensus"
"""The check whose failures are explained by the recorded calls of an engine."""

REPEATS_MAX: Final = 5
"""Repeats of a run that is known to differ from itself: two of its runs may by chance be the same."""


class Explained(NamedTuple):
    """An explanation, and the log of the run that it is made from."""

    explanation: Explanation
    log: bytes


class Repetition(NamedTuple):
    """A recorded run that was repeated before a witness, and its log."""

    witness: "ExecutionWitness"
    log: bytes


def explain_record(
    reader: RecordReader, checks: Sequence[CheckResult] | None = None, repeated: Repetition | None = None
) -> tuple[Explanation, Difference | None]:
    """Explain a recorded run, and say where the repeated run differs from the recorded one, if anywhere.

    Args:
        reader: The record.
        checks: The results to be explained, instead of the record's own.
        repeated: The run as it was repeated already; without it, it is repeated here.

    Raises:
        ScenarioError: The scenario cannot be read.
        DamagedRecordError: The verdict or the log cannot be read.
        CodeChangedError: Other code wrote the record, and this code cannot read it.
        network.outcome.RunFailedError: The test bed itself broke.
    """
    scenario = recorded_scenario(reader)
    checks = reader.checks() if checks is None else checks
    is_unstable = any(check.name == "determinism" and check.status == "failed" for check in checks)
    for _ in range(REPEATS_MAX if is_unstable else 1):
        if repeated is None:
            explanation, log = explain_run(scenario, reader.manifest.seed, checks)
        else:
            explanation, log = repeated.witness.explain(checks, repeated.log), repeated.log
            repeated = None
        difference = _difference_from(reader, log)
        if difference is not None:
            break
    if difference is not None and explanation.height is None:
        explanation = _of_another_input(explanation, reader, log)
    if explanation.check == CONSENSUS:
        seen = [*explanation.seen, *last_calls(reader.engine_calls(), explanation.evidence)]
        explanation = msgspec.structs.replace(explanation, seen=seen)
    return explanation, difference


def _difference_from(reader: RecordReader, log: bytes) -> Difference | None:
    """Return the first event of a record that another log does not have; the digest says where there is none."""
    if hashlib.sha256(log).hexdigest() == reader.manifest.digest:
        return None
    return first_difference(reader.events(), iterate_events(log))


def _of_another_input(explanation: Explanation, reader: RecordReader, log: bytes) -> Explanation:
    """Explain input of one of two runs that is in neither scenario nor seed: by the first block that is not the same.

    Args:
        explanation: The explanation without it.
        reader: The recorded run.
        log: The repeated run's events.
    """
    explanation = msgspec.structs.replace(explanation, cause="input")
    pairs = zip(
        events_of_type(reader.events([BlockExecuted]), BlockExecuted),
        events_of_type(iterate_events(log), BlockExecuted),
        strict=False,
    )
    parted = next(((one, other) for (_, one), (_, other) in pairs if one != other), None)
    if parted is None:
        return explanation
    sides = [
        SideReport(who=who, root=each.root.hex(), block=each.digest.hex())
        for who, each in zip(("the recorded run", "the repeated run"), parted, strict=True)
    ]
    return msgspec.structs.replace(
        explanation,
        height=parted[0].height,
        view=parted[0].view,
        block=parted[0].digest.hex(),
        sides=sides,
        write="the header of a block: what its leader put into it is in neither the scenario nor the seed",
    )


@rare_collections()
def explain_run(
    scenario: Scenario,
    seed: int,
    checks: Sequence[CheckResult],
    factories: Mapping[int, ValidatorFactory] | None = None,
) -> Explained:
    """Run a scenario, observe every execution, and explain the failures of its checks.

    Args:
        scenario: The resolved scenario.
        seed: Its seed.
        checks: The results of the run's checks.
        factories: Other parts of chosen validators, besides those that the scenario gives them.
    """
    cluster, witness = Cluster(scenario, seed, factories=factories or {}), ExecutionWitness()
    witness.attach(cluster)
    watch_executions(cluster, witness.honest, witness)
    cluster.hooks = RunHooks(on_applied=of_own_engine(witness.applied))
    with Watchdog(lambda: cluster.steps, f"{scenario.name} seed {seed}"):
        log = bytes(cluster.run().trace.log)
    return Explained(witness.explain(checks, log), log)
