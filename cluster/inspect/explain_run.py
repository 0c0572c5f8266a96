"""Observes every execution of a run, and explains what went wrong in it; see checker.explain."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple

import msgspec

from checker.explain import (
    COUNTED,
    Divergence,
    Executions,
    Explanation,
    Findings,
    Outcome,
    RefusedLog,
    SideReport,
    as_changes,
    explain,
)
from checker.explain.evidence import last_calls
from checker.record.run_directory import RecordReader
from checker.record.streams import Difference, first_difference, iterate_events
from checker.results import CheckResult
from cluster.inspect.execute_again import execute_alone, reason_of
from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks, of_own_engine
from cluster.scenario.model import Scenario
from cluster.verdict.executions import watch_executions
from cluster.verdict.replay import recorded_scenario
from cluster.verdict.watchdog import Watchdog
from faults import byzantine_validators
from network.collector import rare_collections
from network.events import events_of_type
from validators.consensus.registry import ENGINES
from validators.events import BlockExecuted
from validators.execution import Block, BrokenOff, Executed, ExecutionLayer, Genesis, LayerTables, Transaction
from validators.execution.blocks import header_digest
from validators.restored import EMPTY_LOG, RestoredLog
from validators.settings import ValidatorFactory, make_engine

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


class ExecutionWitness:
    """Notes every execution of a run, of genesis too, and every log of which no state was made; see RunWitness."""

    def __init__(self) -> None:
        self._executions = Executions()

    def attach(self, cluster: Cluster) -> None:
        """Note how the engines of a cluster that has not run yet begin."""
        self._cluster = cluster
        self._own = dict(cluster.factories)
        blank = make_engine(cluster.genesis, lambda _transaction: False)
        self._genesis, self._digest = Block(blank.finalized, ()), blank.genesis_digest
        # The execution of a Byzantine validator proves nothing about the code.
        byzantine = byzantine_validators(cluster.scenario.faults)
        self.honest = tuple(node for node in self._own if node not in byzantine)
        cluster.factories = {**self._own, **{node: self.opening(node, self._own[node]) for node in self.honest}}

    def applied(self, node: int, executed: Executed) -> None:
        """Note that a block is final for a replica."""
        if node in self.honest:
            self._executions.add_final(node, executed.header.height, executed.digest)

    def explain(self, checks: Sequence[CheckResult], log: bytes) -> Explanation:
        """Explain the failures of the checks of the run that is over, which has this log."""
        cluster, scenario = self._cluster, self._cluster.scenario
        findings = Findings(
            executions=self._executions,
            genesis=msgspec.msgpack.encode(cluster.genesis),
            timebase=cluster.genesis.timebase,
            checks=checks,
            events=lambda: iterate_events(log),
            replay=lambda node, divergence: _replay(cluster, self._own[node], divergence),
            expected=scenario.expect.fails,
            view_word=ENGINES[scenario.consensus.engine].view_word,
            has_tables=scenario.application is None,
        )
        return explain(findings)

    def opening(self, node: int, factory: ValidatorFactory) -> ValidatorFactory:
        """Return a validator's factory whose engines are noted as they begin: from genesis, or from a log."""

        def make(
            genesis: Genesis, verify_transaction: Callable[[Transaction], bool], log: RestoredLog = EMPTY_LOG
        ) -> ExecutionLayer:
            is_new = not log.base and not log.entries
            try:
                layer = factory.layer(genesis, verify_transaction, log)
            except Exception as error:
                if is_new:
                    self._add_genesis(node, Outcome((), b"", (), {}, (), broken=reason_of(error)))
                elif not log.base:
                    refused = RefusedLog(node, tuple(log.operations()), reason_of(error))
                    self._executions.refused_logs.append(refused)
                raise
            if is_new and layer.tables is not None:
                self._add_genesis(node, _genesis_of(layer.tables))
            return layer

        return replace(factory, layer=make)

    def _add_genesis(self, node: int, outcome: Outcome) -> None:
        self._executions.add(node, self._digest, self._genesis, outcome)

    def executed(self, node: int, executed: Executed) -> None:
        """Note an execution."""
        block = executed.block
        self._executions.add(node, header_digest(block.header), block, _outcome_of(executed))

    def broken_off(self, node: int, broken: BrokenOff) -> None:
        """Note an execution that broke off."""
        outcome = _outcome_broken(broken, self._executions.keys())
        self._executions.add(node, header_digest(broken.block.header), broken.block, outcome)


def _genesis_of(tables: LayerTables) -> Outcome:
    database = tables.database
    return Outcome((), database.canonical_root, (), dict(database.items()), database.operations())


def _outcome_broken(broken: BrokenOff, keys: Iterable[bytes]) -> Outcome:
    """Return the outcome of an execution that broke off, with the state that it began from as it reads it."""
    begun: dict[bytes, bytes] | None = None
    if broken.read is not None:
        begun = {}
        for key in dict.fromkeys(keys):
            value = broken.read(key)
            if value is not None:
                begun[key] = value
    transactions, error = broken.block.transactions, broken.error
    return Outcome(transactions, b"", broken.receipts, broken.changes, (), broken=reason_of(error), begun=begun)


def _outcome_of(executed: Executed) -> Outcome:
    transactions = executed.block.transactions
    counts = {name: getattr(executed.summary, name) for name in COUNTED}
    return Outcome(
        transactions,
        executed.header.state_root,
        executed.receipts,
        executed.changes,
        executed.operations,
        counts,
        tuple((entry.phase, entry.counts) for entry in executed.phases),
    )


def _replay(cluster: Cluster, factory: ValidatorFactory, divergence: Divergence) -> Outcome | None:
    """Execute the blocks up to one by a validator's own code in an engine that has nothing behind it."""
    found: list[Outcome] = []
    # The code in question may break anywhere; what it came to before counts.
    with suppress(Exception):
        execute_alone(
            factory,
            cluster.genesis,
            [past.block for past in divergence.past if past.block.header.height],
            divergence.block,
            executed=lambda executed: found.append(_outcome_of(executed)),
            broken_off=lambda broken: found.append(_outcome_broken(broken, divergence.before)),
        )
    return as_changes(found[0], divergence.before) if found else None
