"""Notes every execution of a run beside its checks, so that a run that went wrong can be explained when it is over."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from checker.explain.executions import COUNTED, Executions, Outcome, RefusedLog, as_changes
from checker.record.streams import iterate_events
from checker.results import CheckResult
from cluster.inspect.execute_again import execute_alone, reason_of
from cluster.outside.hosting.run import ANOTHER_TIME_ZONE
from cluster.runtime.cluster import Cluster
from cluster.verdict.beside import COLD_HASH_SEED
from validators.consensus.registry import ENGINES
from validators.execution import Block, BrokenOff, Executed, ExecutionLayer, Genesis, LayerTables, Transaction
from validators.execution.blocks import header_digest
from validators.restored import EMPTY_LOG, RestoredLog
from validators.settings import ValidatorFactory, make_engine

if TYPE_CHECKING:
    from checker.explain.divergence import Divergence
    from checker.explain.explanation import Explanation

EXPLAINED: Final = ("safety", "liveness", "determinism")
"""Classes of failures for which a run says why it went wrong."""


class ExecutionWitness:
    """Notes every execution of a run, of genesis too, and every log of which no state was made; see RunWitness."""

    def __init__(self) -> None:
        self._executions = Executions()
        self.because = ""

    def attach(self, cluster: Cluster) -> None:
        """Note how the engines of a cluster that has not run yet begin."""
        self._cluster = cluster
        self._own = dict(cluster.factories)
        self.honest: tuple[int, ...] = ()
        try:
            blank = make_engine(cluster.genesis, lambda _transaction: False)
        except Exception:  # noqa: BLE001 - each validator halts for the same reason at its start, and the checks name it
            return
        self._genesis, self._digest = Block(blank.finalized, ()), blank.genesis_digest
        # The execution of a Byzantine validator proves nothing about the code.
        self.honest = tuple(node for node in self._own if node not in cluster.scenario.byzantine)
        cluster.factories = {**self._own, **{node: self.opening(node, self._own[node]) for node in self.honest}}

    def applied(self, node: int, executed: Executed) -> None:
        """Note that a block is final for a replica."""
        if node in self.honest:
            self._executions.add_final(node, executed.header.height, executed.digest)

    def answer(self, decisive: CheckResult | None, checks: Sequence[CheckResult], log: bytes) -> tuple[str, ...]:
        """Return in two sentences why the run that is over went wrong; nothing where no replica went wrong."""
        if decisive is None or decisive.exit_class not in EXPLAINED:
            return ()
        from checker.explain.answer import answer_of  # noqa: PLC0415 - a run that passes needs none of it

        # What the checks found stays the result, whatever an explanation of damaged states comes to.
        with suppress(Exception):
            explanation = self.explain(checks, log)
            self.because = explanation.because
            return answer_of(explanation)
        return ()

    def explain(self, checks: Sequence[CheckResult], log: bytes) -> "Explanation":
        """Explain the failures of the checks of the run that is over, which has this log."""
        from checker.explain.explanation import Findings  # noqa: PLC0415
        from checker.explain.report import explain  # noqa: PLC0415
        from cluster.outside.explain.report import ExplainedRun, explain_application  # noqa: PLC0415

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
        explanation = explain(findings)
        if cluster.applications is None or findings.decisive is None:
            return explanation
        replicas = cluster.applications.replicas
        here = replicas.launches_in(hash_seed=0, timezone="UTC")
        cold = replicas.launches_in(hash_seed=COLD_HASH_SEED, timezone=ANOTHER_TIME_ZONE)
        run = ExplainedRun(replicas.log, here, cold, scenario.byzantine)
        return explain_application(explanation, run)

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


def _replay(cluster: Cluster, factory: ValidatorFactory, divergence: "Divergence") -> Outcome | None:
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
