"""Observers of a run: of every block that its engines execute, and of the events and blocks that its checks get."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from checker.results import CheckResult
from cluster.live.progress import LiveProgress
from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import AppliedResult
from cluster.verdict.monitor import Monitor
from network.events import Event
from validators.execution import BrokenOff, Executed, ExecutionLayer, Genesis, Transaction
from validators.restored import EMPTY_LOG, RestoredLog
from validators.settings import ValidatorFactory


class ExecutionObserver(Protocol):
    """Called with every execution of some replicas."""

    def executed(self, node: int, executed: Executed) -> None: ...  # noqa: D102
    def broken_off(self, node: int, broken: BrokenOff) -> None: ...  # noqa: D102


class RunWitness(ExecutionObserver, Protocol):
    """Sees a whole run beside its checks, so that one run is enough to judge it and to say why it went wrong."""

    def attach(self, cluster: Cluster) -> None: ...  # noqa: D102
    def applied(self, node: int, executed: Executed) -> None: ...  # noqa: D102


class AnsweringWitness(RunWitness, Protocol):
    """A witness that can say, in two sentences, why the run went wrong.

    Attributes:
        because: After the answer, the cause of an application's failure, and the first word of the key.
    """

    because: str

    def answer(  # noqa: D102
        self, decisive: CheckResult | None, checks: Sequence[CheckResult], log: bytes
    ) -> tuple[str, ...]: ...


def hooks_of(
    cluster: Cluster, monitor: Monitor, progress: LiveProgress, witnesses: Sequence[RunWitness]
) -> tuple[Callable[[Event], None], Callable[[int, AppliedResult], None]]:
    """Return the functions that pass events and applied blocks to the checks, witnesses, and the live view."""
    for witness in witnesses:
        witness.attach(cluster)
    watch_executions(cluster, monitor.context.honest, monitor.executed, *witnesses)
    progress.begin(cluster.scenario)

    def observe(event: Event) -> None:
        monitor.suite.observe(event)
        progress.observe(event)

    def apply(node: int, executed: AppliedResult) -> None:
        monitor.applied(node, executed)
        if isinstance(executed, Executed):
            for witness in witnesses:
                witness.applied(node, executed)
        progress.applied(node, executed.summary.waiting_live, executed.summary.waiting_dead)

    return observe if progress.is_watching else monitor.suite.observe, apply


def watch_executions(cluster: Cluster, nodes: Iterable[int], *observers: ExecutionObserver) -> None:
    """Show observers what some replicas of a cluster that has not run yet execute."""
    watched = {node: _over(node, cluster.factories[node], observers) for node in nodes}
    cluster.factories = {**cluster.factories, **watched}


def _over(node: int, factory: ValidatorFactory, observers: Sequence[ExecutionObserver]) -> ValidatorFactory:
    """Return a factory of engines, one for each life of the validator, that report their executions."""

    def executed_by_all(executed: Executed) -> None:
        for observer in observers:
            observer.executed(node, executed)

    def broken_off_by_all(broken: BrokenOff) -> None:
        for observer in observers:
            observer.broken_off(node, broken)

    def make(
        genesis: Genesis, verify_transaction: Callable[[Transaction], bool], log: RestoredLog = EMPTY_LOG
    ) -> ExecutionLayer:
        layer = factory.layer(genesis, verify_transaction, log)
        if layer.tables is not None:
            layer.tables.on_executed = executed_by_all
            layer.tables.on_broken_off = broken_off_by_all
        return layer

    return replace(factory, layer=make)
