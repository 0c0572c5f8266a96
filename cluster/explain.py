"""Runs a recorded scenario once more and looks at what each execution came to; see checker.explain."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from checker.explain import Executions, Explanation, Findings, Outcome, Parting, explain
from checker.record import RecordReader
from checker.streams import Difference, first_difference, iterate_events
from cluster.run import Cluster, RunHooks
from cluster.scenario import decode_scenario
from cluster.watchdog import Watchdog
from validators.execution import Engine, Executed
from validators.execution.blocks import header_digest
from validators.identity import TransactionVerifier
from validators.settings import ValidatorFactory, make_engine

NO_FACTORIES: Final[Mapping[int, ValidatorFactory]] = {}


class Explained(NamedTuple):
    """An explanation, and where the run that it is made from differs from the recorded one, if anywhere."""

    explanation: Explanation
    difference: Difference | None


def explain_record(reader: RecordReader, factories: Mapping[int, ValidatorFactory] = NO_FACTORIES) -> Explained:
    """Explain a recorded run.

    Args:
        reader: The run directory.
        factories: What gave chosen validators other parts, where the scenario does not say it itself.

    Raises:
        ScenarioError: The scenario cannot be read.
        DamagedRecordError: The verdict or the log cannot be read.
        network.kernel.RunFailedError: The test bed itself broke.
    """
    scenario = decode_scenario(reader.scenario(), str(reader.path / "scenario.json"))
    cluster = Cluster(scenario, reader.manifest.seed, factories=factories)
    checks = reader.checks()
    own = dict(cluster.factories)
    executions = Executions()
    cluster.factories = {
        node: _watched(own.get(node, ValidatorFactory()), partial(_note, executions, node))
        for node in range(scenario.cluster.validators)
    }
    cluster.hooks = RunHooks(on_applied=partial(_note_final, executions))
    with Watchdog(lambda: cluster.steps, f"{scenario.name} seed {cluster.seed}"):
        log = bytes(cluster.run().trace.log)
    blank = make_engine(cluster.genesis, lambda _transaction: False, None, None)
    findings = Findings(
        executions=executions,
        genesis=msgspec.msgpack.encode(cluster.genesis),
        genesis_values=dict(blank.database.items()),
        timebase=cluster.genesis.timebase,
        checks=checks,
        events=lambda: iterate_events(log),
        replay=lambda node, parting: _replay(cluster, own.get(node, ValidatorFactory()), parting),
    )
    return Explained(explain(findings), first_difference(reader.events(), iterate_events(log)))


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


def _note_final(executions: Executions, node: int, executed: Executed) -> None:
    executions.add_final(node, executed.header.height, executed.digest)


def _outcome_of(executed: Executed) -> Outcome:
    return Outcome(executed.header.state_root, executed.receipts, executed.changes, executed.operations)


def _replay(cluster: Cluster, factory: ValidatorFactory, parting: Parting) -> Outcome | None:
    """Execute the blocks up to one by a validator's own code in an engine that has nothing behind it."""
    found: list[Executed] = []
    try:
        with factory.around():
            engine = factory.engine(cluster.genesis, TransactionVerifier(), None, None)
            for past in parting.past:
                engine.finalize(engine.execute(past.block).digest)
            engine.on_executed = found.append
            engine.execute(parting.block)
    except Exception:  # noqa: BLE001, S110 - the code in question may break anywhere; what it came to before counts
        pass
    return _outcome_of(found[0]) if found else None
