"""Has the engines of a run tell of every block that they execute."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from checker.record.branches import ExecutedBlocks
from cluster.runtime.cluster import Cluster
from validators.execution import Engine
from validators.settings import ValidatorFactory


def watch_executions(cluster: Cluster, blocks: ExecutedBlocks, nodes: Iterable[int]) -> None:
    """Note what some replicas of a cluster that has not run yet execute."""
    watched = {node: _over(node, cluster.factories[node], blocks) for node in nodes}
    cluster.factories = {**cluster.factories, **watched}


def _over(node: int, factory: ValidatorFactory, blocks: ExecutedBlocks) -> ValidatorFactory:
    """Return a factory whose engines, one for each life of the validator, tell of their executions."""

    def make(*arguments: Any) -> Engine:  # noqa: ANN401 - whatever the maker takes, it is passed on
        engine = factory.engine(*arguments)
        engine.on_executed = partial(blocks.executed, node)
        engine.on_broken_off = partial(blocks.broken_off, node)
        return engine

    return replace(factory, engine=make)
