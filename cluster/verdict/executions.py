"""Observers of every block that the engines of a run execute."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Protocol

from cluster.runtime.cluster import Cluster
from validators.execution import BrokenOff, Engine, Executed, Genesis, Transaction
from validators.settings import EMPTY_LOG, RestoredLog, ValidatorFactory


class ExecutionObserver(Protocol):
    """Called with every execution of some replicas."""

    def executed(self, node: int, executed: Executed) -> None: ...  # noqa: D102
    def broken_off(self, node: int, broken: BrokenOff) -> None: ...  # noqa: D102


def watch_executions(cluster: Cluster, observer: ExecutionObserver, nodes: Iterable[int]) -> None:
    """Show an observer what some replicas of a cluster that has not run yet execute."""
    watched = {node: _over(node, cluster.factories[node], observer) for node in nodes}
    cluster.factories = {**cluster.factories, **watched}


def _over(node: int, factory: ValidatorFactory, observer: ExecutionObserver) -> ValidatorFactory:
    """Return a factory whose engines, one for each life of the validator, report their executions."""

    def make(
        genesis: Genesis, verify_transaction: Callable[[Transaction], bool], log: RestoredLog = EMPTY_LOG
    ) -> Engine:
        engine = factory.engine(genesis, verify_transaction, log)
        engine.on_executed = partial(observer.executed, node)
        engine.on_broken_off = partial(observer.broken_off, node)
        return engine

    return replace(factory, engine=make)
