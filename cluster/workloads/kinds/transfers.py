"""The workload `transfers`."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Final

import msgspec

from cluster.scenario.fields import Million, Milliseconds, NotNegative, Positive, means
from cluster.workloads.submission import Client, GenesisShare, Site, TimedTransaction, Volume, WorkloadKind
from network.types import MILLISECOND_US
from validators.execution.blocks import Transfer

TRANSFER_CYCLES_MAX: Final = 5_000
"""Cycles that a client allows for a payment."""


class Transfers(WorkloadKind, tag="transfers", kw_only=True, frozen=True):
    """Accounts that pay each other in a ring."""

    accounts: Annotated[int, msgspec.Meta(ge=2, le=10_000), means("Accounts in the ring.")]
    amount: Annotated[Positive, means("Units of each payment.")] = 1_000
    count: Annotated[Million, means("Payments in all.")]
    tips: Annotated[
        tuple[NotNegative, ...],
        msgspec.Meta(min_length=1),
        means("Account i pays the proposer `tips[i modulo their number]` a cycle."),
    ] = (1,)
    start_ms: Annotated[Milliseconds, means("When the first payment is submitted.")] = 0
    every_ms: Annotated[Positive, means("Time from one payment to the next.")] = 200
    copies: Annotated[
        int, msgspec.Meta(ge=1, le=100), means("How often each payment is submitted; a copy goes to another validator.")
    ] = 1
    copy_ms: Annotated[Milliseconds, means("Time from one copy of a payment to the next.")] = 0

    def volume(self, slots: int) -> Volume:
        """Return its submissions."""
        del slots
        return Volume(self.count * self.copies)

    def genesis(self, site: Site) -> GenesisShare:
        """Return the accounts of the ring, all with funds."""
        return GenesisShare(tuple(Client(site, index).funded for index in range(self.accounts)))

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Yield the payments around the ring; an unsure client submits the same payment again."""
        clients = [Client(site, index) for index in range(self.accounts)]
        for index in range(self.count):
            payer, payee = clients[index % self.accounts], clients[(index + 1) % self.accounts]
            at_ms = self.start_ms + index * self.every_ms
            tip = self.tips[index % self.accounts % len(self.tips)]
            payment = payer.sign(
                at_ms,
                Transfer(payee.address, self.amount),
                cycles_limit=TRANSFER_CYCLES_MAX,
                change={"priority_fee_per_cycle": tip},
            )
            for copy in range(self.copies):
                yield replace(payment, at_us=payment.at_us + copy * self.copy_ms * MILLISECOND_US)
