"""Runs a recorded scenario once more and looks at what each execution came to; see checker.explain."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import msgspec

from checker.explain import Executions, Explanation, Findings, Outcome, Parting, explain
from checker.record import RecordReader
from checker.results import CheckResult
from checker.streams import Difference, first_difference, iterate_events
from cluster.run import Cluster, RunHooks
from cluster.scenario import Scenario, decode_scenario
from cluster.watchdog import Watchdog
from faults import dishonest_validators
from validators.execution import Engine, Executed
from validators.execution.blocks import header_digest
from validators.identity import TransactionVerifier
from validators.settings import ValidatorFactory, make_engine


class Explained(NamedTuple):
    """An explanation, and the log of the run that it is made from."""

    explanation: Explanation
    log: bytes


def explain_record(reader: RecordReader) -> tuple[Explanation, Difference | None]:
    """Explain a recorded run, and say where the repeated run differs from the recorded one, if anywhere.

    Raises:
        ScenarioError: The scenario cannot be read.
        DamagedRecordError: The verdict or the log cannot be read.
        network.kernel.RunFailedError: The test bed itself broke.
    """
    scenario = decode_scenario(reader.scenario(), str(reader.path / "scenario.json"))
    explanation, log = explain_run(scenario, reader.manifest.seed, reader.checks())
    difference = first_difference(reader.events(), iterate_events(log))
    if difference is not None and explanation.height is None:
        # Something got into one of the two runs that neither scenario nor seed tell of.
        explanation = msgspec.structs.replace(explanation, cause="input")
    return explanation, difference


def explain_run(
    scenario: Scenario,
    seed: int,
    checks: Sequence[CheckResult],
    factories: Mapping[int, ValidatorFactory] | None = None,
) -> Explained:
    """Run a scenario, look at what each execution came to, and explain what its checks found.

    Args:
        scenario: The resolved scenario.
        seed: Its seed.
        checks: The results of the run's checks.
        factories: What gives chosen validators other parts, besides what the scenario says.
    """
    cluster = Cluster(scenario, seed, factories=factories or {})
    own = dict(cluster.factories)
    executions = Executions()
    # What a dishonest validator makes of a block is nobody's finding.
    honest = {node: factory for node, factory in own.items() if node not in dishonest_validators(scenario.faults)}
    watched = {node: _watched(factory, partial(_note, executions, node)) for node, factory in honest.items()}
    cluster.factories = {**own, **watched}
    cluster.hooks = RunHooks(on_applied=partial(_note_final, executions, honest))
    with Watchdog(lambda: cluster.steps, f"{scenario.name} seed {seed}"):
        log = bytes(cluster.run().trace.log)
    blank = make_engine(cluster.genesis, lambda _transaction: False, None, None)
    findings = Findings(
        executions=executions,
        genesis=msgspec.msgpack.encode(cluster.genesis),
        genesis_values=dict(blank.database.items()),
        timebase=cluster.genesis.timebase,
        checks=checks,
        events=lambda: iterate_events(log),
        replay=lambda node, parting: _replay(cluster, own[node], parting),
    )
    return Explained(explain(findings), log)


def _watched(factory: ValidatorFactory, note: Callable[[Executed], None]) -> ValidatorFactory:
    """Return a factory whose engines tell of every execution."""

    def make(*arguments: Any) -> Engine:  # noqa: ANN401 - whatever the maker takes, it is passed on
        engine = factory.engine(*arguments)
        engine.on_executed = note
        return engine

    return replace(factory, engine=make)


def _note(executions: Executions, node: int, executed: Executed) -> None:
    block = executed.block
    executions.add(node, header_digest(block.header), block, _outcome_of(executed))


def _note_final(executions: Executions, honest: Container[int], node: int, executed: Executed) -> None:
    if node in honest:
        executions.add_final(node, executed.header.height, executed.digest)


def _outcome_of(executed: Executed) -> Outcome:
    transactions = executed.block.transactions
    return Outcome(transactions, executed.header.state_root, executed.receipts, executed.changes, executed.operations)


def _replay(cluster: Cluster, factory: ValidatorFactory, parting: Parting) -> Outcome | None:
    """Execute the blocks up to one by a validator's own code in an engine that has nothing behind it."""
    found: list[Executed] = []
    try:
        with factory.around():
            engine = factory.engine(cluster.genesis, TransactionVerifier(), None, None, None)
            for past in parting.past:
                engine.finalize(engine.execute(past.block).digest)
            engine.on_executed = found.append
            engine.execute(parting.block)
    except Exception:  # noqa: BLE001, S110 - the code in question may break anywhere; what it came to before counts
        pass
    return _outcome_of(found[0]) if found else None
