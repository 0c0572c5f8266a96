"""The kinds of workload, and what the workloads of a scenario come to.

A kind is known by the tag of its class. The list of built-in kinds below is the only mention of a kind outside its own
file; a plug-in adds its kinds with `add_workload`, and they decode in scenarios that name the plug-in and in no others.
"""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from checker.checks.context import ExpectedWorkload
from cluster.workloads.edge_cases import EdgeCases
from cluster.workloads.games import Games
from cluster.workloads.governance import Governance
from cluster.workloads.heartbeats import Heartbeats
from cluster.workloads.liquidations import Liquidations
from cluster.workloads.oracle_feeds import OracleFeeds
from cluster.workloads.storm import Storm
from cluster.workloads.submission import GenesisShare, Site, TimedTransaction, WorkloadKind
from cluster.workloads.subscriptions import Subscriptions
from cluster.workloads.transfers import Transfers

if TYPE_CHECKING:
    from cluster.scenario.model import Scenario

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
    _ADDED[name] = (plugin, kind)


def workload_kinds(plugins: Collection[str] = ()) -> tuple[type[WorkloadKind], ...]:
    """Return the built-in kinds, and those that these plug-ins have added."""
    return (*BUILT_IN, *(kind for _, (plugin, kind) in sorted(_ADDED.items()) if plugin in plugins))


def name_of(kind: type[WorkloadKind]) -> str:
    """Return the name that a scenario file gives to a kind."""
    return str(kind.__struct_config__.tag)


def sites_of(scenario: "Scenario") -> Iterator[tuple[Site, WorkloadKind]]:
    """Yield each workload of a scenario with its site, in the scenario's order."""
    chain = scenario.chain
    config, others = chain.timers.config(), chain.parameters()
    for name, workload in scenario.workload.items():
        yield Site(scenario.chain_id, name, config, scenario.workload, others), workload


def genesis_shares(scenario: "Scenario") -> Iterator[GenesisShare]:
    """Yield the genesis share of each workload of a scenario, in the scenario's order."""
    for site, workload in sites_of(scenario):
        yield workload.genesis(site)


def transactions_of(scenario: "Scenario") -> list[TimedTransaction]:
    """Return every submission of a scenario in the order of their times; ties in the scenario's order."""
    every = [
        timed for site, workload in sites_of(scenario) if workload.enabled for timed in workload.transactions(site)
    ]
    return sorted(every, key=lambda timed: timed.at_us)


def expected_workloads(scenario: "Scenario") -> Iterator[ExpectedWorkload]:
    """Yield the transactions expected of each workload that is required, or that is on and may not be idle."""
    for site, workload in sites_of(scenario):
        is_required = site.name in scenario.requires
        if is_required or (workload.enabled and not workload.may_be_idle):
            submitted = list(workload.transactions(site))
            digests = tuple(timed.digest for timed in submitted if not timed.may_fail)
            uncertain = tuple(timed.digest for timed in submitted if timed.may_fail)
            yield ExpectedWorkload(site.name, workload.enabled, is_required, digests, uncertain)


def expected_fires(scenario: "Scenario") -> dict[str, tuple[int, tuple[bytes, ...]]]:
    """Return by workload the least fires of each of its actors, and these, where the scenario expects any."""
    expected = scenario.expect.fired_by
    return {
        site.name: (expected[site.name], workload.firing_actors(site))
        for site, workload in sites_of(scenario)
        if site.name in expected
    }
