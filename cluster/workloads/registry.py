"""What the clients of a scenario do: kinds of workload as data, and the transactions they become.

A workload adds accounts and actors to genesis and submits signed transactions at its times. It is a
function of the scenario: no chance is drawn here. The kinds stand here and in the
other files of this room.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import msgspec

from checker.checks.expectations import Promised
from checker.checks.workloads import PromisedWorkload
from cluster.workloads.edge_cases import EdgeCases
from cluster.workloads.governance import Governance
from cluster.workloads.messaging import Games, Subscriptions
from cluster.workloads.quoting import QuotingKind
from cluster.workloads.services import Liquidations, OracleFeeds
from cluster.workloads.storms import Storm
from cluster.workloads.submission import (
    FUNDS,
    Client,
    GenesisShare,
    Milliseconds,
    Positive,
    Site,
    TimedTransaction,
    Volume,
    WorkloadKind,
)
from validators.actors import HeartbeatOrder
from validators.execution import GenesisActor
from validators.execution.blocks import Transfer

if TYPE_CHECKING:
    from cluster.scenario.model import Scenario


class Heartbeats(QuotingKind, tag="heartbeats", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Actors that schedule themselves for ever: each fires once every ``interval_slots``."""

    interval_slots: Positive = 1
    gas_limit: Positive = 20_000
    funds: Positive = FUNDS
    start_ms: Milliseconds = 0

    def volume(self, slots: int) -> Volume:
        """Its submissions and timers over so many slots."""
        return Volume(self.actors, self.actors * (1 + slots // self.interval_slots))

    def genesis(self, site: Site) -> GenesisShare:
        """One client account, and the actors with funds of their own."""
        client = Client(site)
        actors = [
            GenesisActor(site.actor(index), "heartbeat", client.address, self.funds) for index in range(self.actors)
        ]
        return GenesisShare((client.funded,), (*actors, *self.agents(site)))

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """One transaction an actor starts it."""
        client = Client(site)
        for index in range(self.actors):
            order = HeartbeatOrder(self.interval_slots, self.gas_limit, self.terms(site, index))
            yield client.order(self.start_ms, site.actor(index), "start", order)


class Transfers(WorkloadKind, tag="transfers", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Accounts that pay each other in a ring, one transaction every ``every_ms``."""

    accounts: Annotated[int, msgspec.Meta(ge=2, le=10_000)]
    amount: Positive = 1_000
    count: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    start_ms: Milliseconds = 0
    every_ms: Positive = 200

    def volume(self, slots: int) -> Volume:
        """Its submissions and timers over so many slots."""
        del slots
        return Volume(self.count)

    def genesis(self, site: Site) -> GenesisShare:
        """The accounts of the ring, all with funds."""
        return GenesisShare(tuple(Client(site, index).funded for index in range(self.accounts)))

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Each account in turn pays the next one."""
        clients = [Client(site, index) for index in range(self.accounts)]
        for index in range(self.count):
            payer, payee = clients[index % self.accounts], clients[(index + 1) % self.accounts]
            at_ms = self.start_ms + index * self.every_ms
            yield payer.sign(at_ms, Transfer(payee.address, self.amount), cycles_limit=5_000)


Workload = Heartbeats | Storm | Transfers | OracleFeeds | Liquidations | Governance | Games | Subscriptions | EdgeCases


def sites_of(scenario: "Scenario") -> Iterator[tuple[Site, WorkloadKind]]:
    """Yield each workload of a scenario with its place, in the scenario's order."""
    chain = scenario.chain
    config, lane = chain.timers.config(), chain.lane.config() if chain.has_lane else None
    for name, workload in scenario.workload.items():
        yield Site(scenario.chain_id, name, config, scenario.workload, lane), workload


def genesis_shares(scenario: "Scenario") -> Iterator[GenesisShare]:
    """Yield what each workload of a scenario adds to genesis, in the scenario's order."""
    for site, workload in sites_of(scenario):
        yield workload.genesis(site)


def transactions_of(scenario: "Scenario") -> list[TimedTransaction]:
    """Return every submission of a scenario in the order of their times; ties in the scenario's order."""
    every = [
        timed for site, workload in sites_of(scenario) if workload.enabled for timed in workload.transactions(site)
    ]
    return sorted(every, key=lambda timed: timed.at_us)


def promised_workloads(scenario: "Scenario") -> Iterator[PromisedWorkload]:
    """Yield what each workload is to come to that the scenario requires, or that is on and may not be idle."""
    for site, workload in sites_of(scenario):
        is_required = site.name in scenario.requires
        if is_required or (workload.enabled and not workload.may_be_idle):
            submitted = list(workload.transactions(site))
            digests = tuple(timed.digest for timed in submitted if not timed.may_fail)
            uncertain = tuple(timed.digest for timed in submitted if timed.may_fail)
            yield PromisedWorkload(site.name, workload.enabled, is_required, digests, uncertain)


def promised_counts(scenario: "Scenario") -> Promised:
    """Return what the scenario promises to count, with the actors that it means."""
    expect = scenario.expect
    fired_by = {
        site.name: (expect.fired_by[site.name], workload.firing_actors(site))
        for site, workload in sites_of(scenario)
        if site.name in expect.fired_by
    }
    return Promised(expect.counts, expect.at_most, fired_by)
