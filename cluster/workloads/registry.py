"""The kinds of workload.

A kind is known by the tag of its class. The list of built-in kinds below is the only mention of a kind outside its own
file; a plug-in adds its kinds with `add_workload`, and they decode in scenarios that name the plug-in and in no others.
"""

from collections.abc import Collection
from typing import Final

from cluster.scenario.shape import tag_of
from cluster.workloads.kinds.edge_cases import EdgeCases
from cluster.workloads.kinds.games import Games
from cluster.workloads.kinds.governance import Governance
from cluster.workloads.kinds.heartbeats import Heartbeats
from cluster.workloads.kinds.liquidations import Liquidations
from cluster.workloads.kinds.oracle_feeds import OracleFeeds
from cluster.workloads.kinds.storm import Storm
from cluster.workloads.kinds.subscriptions import Subscriptions
from cluster.workloads.kinds.transfers import Transfers
from cluster.workloads.submission import WorkloadKind

BUILT_IN: Final[tuple[type[WorkloadKind], ...]] = (
    *(Heartbeats, Storm, Transfers, OracleFeeds, Liquidations, Governance, Games, Subscriptions, EdgeCases),
)

_ADDED: dict[str, tuple[str, type[WorkloadKind]]] = {}
"""Kinds of plug-ins by their names, each with its plug-in."""


def add_workload(kind: type[WorkloadKind], *, plugin: str) -> None:
    """Add a plug-in's kind; raises ValueError if another kind has the name or the class is not one."""
    if not (isinstance(kind, type) and issubclass(kind, WorkloadKind) and kind is not WorkloadKind):
        raise ValueError(f"{kind!r} is no workload: it must be a subclass of WorkloadKind")
    name = name_of(kind)
    taken = {name_of(each): ("the test bed", each) for each in BUILT_IN} | _ADDED
    if name in taken and taken[name] != (plugin, kind):
        raise ValueError(f"workload {name!r} of {plugin} is a kind of {taken[name][0]} already")
    needed = ("volume", "genesis", "transactions")
    if missing := [method for method in needed if getattr(kind, method) is getattr(WorkloadKind, method)]:
        raise ValueError(f"workload {name!r} of {plugin} has no {' and no '.join(missing)}")
    _ADDED[name] = (plugin, kind)


def workload_kinds(plugins: Collection[str] = ()) -> tuple[type[WorkloadKind], ...]:
    """Return the built-in kinds, and those that these plug-ins have added."""
    return (*BUILT_IN, *(kind for _, (plugin, kind) in sorted(_ADDED.items()) if plugin in plugins))


def name_of(kind: type[WorkloadKind]) -> str:
    """Return the name that a scenario file gives to a kind."""
    return tag_of(kind)
