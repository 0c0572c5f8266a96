"""Runs a scenario again, observes every execution, and explains the failures (checker/explain)."""

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
"""The check whose failures need the recorded calls of an engine."""

REPEATS_MAX: Final = 5
"""Greatest number of repeats of a nondeterministic run: two runs may be equal by chance."""


class Explained(NamedTuple):
    """An explanation, and the log of the explained run."""

    explanation: Explanation
    log: bytes


class Repetition(NamedTuple):
    """The repeat of a recorded run: its witness and its log."""

    witness: "ExecutionWitness"
    log: bytes


def explain_record(
    reader: RecordReader, checks: Sequence[CheckResult] | None = None, repeated: Repetition | None = None
) -> tuple[Explanation, Difference | None]:
    """Return the explanation of a recorded run, and the first event at which the repeated run differs, or None.

    Args:
        reader: The record.
        checks: The results to explain, instead of the record's results.
        repeated: An earlier repeat of the run; without it, this function repeats the run.

    Raises:
        ScenarioError: The scenario cannot be read.
        DamagedRecordError: The verdict or the log cannot be read.
        CodeChangedError: Another version of the code wrote the record, and this version cannot read it.
        network.outcome.RunFailedError: The test bed itself failed.
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
    """Return the first event at which a record differs from another log; None for equal digests."""
    if hashlib.sha256(log).hexdigest() == reader.manifest.digest:
        return None
    return first_difference(reader.events(), iterate_events(log))


def _of_another_input(explanation: Explanation, reader: RecordReader, log: bytes) -> Explanation:
    """Return the explanation of two runs with different input: the first differing block.

    Neither the scenario nor the seed holds this input.

    Args:
        explanation: The explanation without the differing block.
        reader: The recorded run.
        log: The repeated run's events.
    """
    explanation = msgspec.structs.replace(explanation, cause="input")
    pairs = zip(
        events_of_type(reader.events([BlockExecuted]), BlockExecuted),
        events_of_type(iterate_events(log), BlockExecuted),
        strict=False,
    )
    parted = next(((recorded, repeated) for (_, recorded), (_, repeated) in pairs if recorded != repeated), None)
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
        write="the header of a block: neither the scenario nor the seed holds its leader's input",
    )


@rare_collections()
def explain_run(
    scenario: Scenario,
    seed: int,
    checks: Sequence[CheckResult],
    factories: Mapping[int, ValidatorFactory] | None = None,
) -> Explained:
    """Run a scenario, observe every execution, and explain the failed checks.

    Args:
        scenario: The resolved scenario.
        seed: Its seed.
        checks: The results of the run's checks.
        factories: Replacement parts of chosen validators, in addition to the parts that the scenario replaces.
    """
    cluster, witness = Cluster(scenario, seed, factories=factories or {}), ExecutionWitness()
    witness.attach(cluster)
    watch_executions(cluster, witness.honest, witness)
    cluster.hooks = RunHooks(on_applied=of_own_engine(witness.applied))
    with Watchdog(lambda: cluster.steps, f"{scenario.name} seed {seed}"):
        log = bytes(cluster.run().trace.log)
    return Explained(witness.explain(checks, log), log)
