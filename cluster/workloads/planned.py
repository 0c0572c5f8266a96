"""The workloads of one scenario: their genesis shares, their submissions, and their expected results."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, TypeAlias

from checker.expected import ExpectedWorkload
from cluster.scenario.model import Scenario
from cluster.workloads.submission import GenesisShare, Site, TimedTransaction, WorkloadKind

Made: TypeAlias = Mapping[str, Sequence[bytes]]
"""Transactions that are made before a run, by the name of their workload."""

NOTHING_MADE: Final[Made] = MappingProxyType({})


def sites_of(scenario: Scenario) -> Iterator[tuple[Site, WorkloadKind]]:
    """Yield each workload of a scenario with its site, in the scenario's order."""
    chain = scenario.chain
    config, others = chain.timers.config(), chain.parameters()
    for name, workload in scenario.workload.items():
        yield Site(scenario.chain_id, name, config, scenario.workload, others, chain.slot_ms), workload


def _sites_with(scenario: Scenario, made: Made) -> Iterator[tuple[Site, WorkloadKind]]:
    for site, workload in sites_of(scenario):
        yield replace(site, made=made.get(site.name, ())), workload


def genesis_shares(scenario: Scenario) -> Iterator[GenesisShare]:
    """Yield the genesis share of each workload of a scenario, in the scenario's order."""
    for site, workload in sites_of(scenario):
        yield workload.genesis(site)


def transactions_of(scenario: Scenario, made: Made = NOTHING_MADE) -> list[TimedTransaction]:
    """Return every submission of a scenario in the order of their times; ties in the scenario's order."""
    every = [
        timed
        for site, workload in _sites_with(scenario, made)
        if workload.enabled
        for timed in workload.transactions(site)
    ]
    return sorted(every, key=lambda timed: timed.at_us)


def expected_workloads(scenario: Scenario, made: Made = NOTHING_MADE) -> Iterator[ExpectedWorkload]:
    """Yield the transactions expected of each workload that is required, or that is on and may not be idle."""
    for site, workload in _sites_with(scenario, made):
        is_required = site.name in scenario.requires
        if is_required or (workload.enabled and not workload.may_be_idle):
            submitted = list(workload.transactions(site))
            # A payment may be submitted several times, and is executed once.
            digests = tuple(dict.fromkeys(timed.digest for timed in submitted if not timed.may_fail))
            uncertain = tuple(dict.fromkeys(timed.digest for timed in submitted if timed.may_fail))
            recurring = recurring_actors(site, workload) if workload.enabled else ()
            firing = () if recurring else workload.firing_actors(site)
            told = workload.required_events(site) if workload.enabled else ()
            yield ExpectedWorkload(
                site.name, workload.enabled, is_required, digests, uncertain, recurring, firing, told
            )


def recurring_actors(site: Site, workload: WorkloadKind) -> tuple[bytes, ...]:
    """Return the addresses of a workload's self-scheduling actors; without a fire the workload had no effect."""
    return tuple(actor.address for actor in workload.genesis(site).actors) if workload.is_recurring else ()


def expected_fires(scenario: Scenario) -> dict[str, tuple[int, tuple[bytes, ...]]]:
    """Return, by workload, the least fires of each actor and the actors, for workloads with this expectation."""
    expected = scenario.expect.fired_by
    return {
        site.name: (expected[site.name], workload.firing_actors(site))
        for site, workload in sites_of(scenario)
        if site.name in expected
    }
