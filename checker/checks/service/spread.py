"""Spread: a transaction that an honest validator gets waits there, and goes from there to all peers.

A transaction that a mempool lacks only costs time while another leader has it. A client gives a transaction to one
validator; at each of its timers a validator sends a part of its mempool to one peer
(`checker.checks.service.gossip_parts`). `SLACK_US` after a client or an undamaged part brought a transaction, it is in
the receiver's mempool, unless it is useless there: its nonce is spent or taken, or it is not signed.

The check reads mempools when a block first becomes final, once between two parts, and compares them at a later block:
when several blocks become final in one instant, the mempools lack the transactions of all of them as the first is
settled. Replicas that the plan pauses or slows are not judged.

An outside application decides itself which transactions it keeps, so the check judges only the parts of its mempools.
"""

from collections.abc import Mapping
from typing import ClassVar, Final, NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext, Sample
from checker.checks.mirror import SettledBlock
from checker.checks.service.gossip_parts import GossipParts
from checker.checks.service.transactions import is_useful
from checker.checks.world import SLACK_US, OfLives
from checker.results import CheckResult, ExitClass
from faults.events import TransactionSubmitted
from network.clock import MILLION
from network.events import Delivered, Event, Handlers, OfLabels, Sent, TimerElapsed, WorkFinished
from network.types import Micros, NodeId
from validators.events import BlockFinalized, SnapshotJoined

GOSSIP: Final = "TransactionGossip"
TIMER: Final = "regossip"


class _Given(NamedTuple):
    """When a transaction was given to a validator, and by whom."""

    at_us: Micros
    giver: str


class MempoolSpread(Check):
    """A transaction that a client or honest peer gives to an honest validator waits there and goes to all peers.

    At each gossip timer the right part of the mempool leaves, for the right peer. Replicas that the plan pauses or
    slows are left out.
    """

    name = "spread"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._given = OfLives[dict[bytes, _Given]](run.world, lambda _node: {})
        self._parts = GossipParts(run, self.tally)
        self._sampled: Sample | None = None
        self._sampled_us = 0
        self._submissions: Mapping[bytes, bytes] | None = None

    @property
    def handlers(self) -> Handlers:
        """Timers, parts that leave and come, clients' transactions, and events that change a mempool."""
        return {
            TimerElapsed: self.elapsed,
            Sent: OfLabels(GOSSIP.__eq__, self.sent),
            Delivered: OfLabels(GOSSIP.__eq__, self.delivered),
            TransactionSubmitted: self.submitted,
            WorkFinished: self.changed,
            BlockFinalized: self.changed,
            SnapshotJoined: self.changed,
        }

    def not_asked(self) -> str:
        """Return a reason where no mempool was compared."""
        return "" if self.tally.compared else "no transaction waited in a mempool"

    def elapsed(self, event: Event, timer: TimerElapsed) -> None:
        """Note the mempool of which a part leaves."""
        if timer.key == TIMER and not self.run.world.is_hindered(event.node):
            sample = self.run.sample_pools()
            pools = dict(zip(sample.nodes, sample.pools, strict=True))
            self._parts.elapse(event.node, event.at_us, pools.get(event.node, {}))

    def sent(self, event: Event, sent: Sent) -> None:
        """Note a message with transactions that leaves."""
        self._parts.send(event.node, event.at_us, sent)

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Note the transactions that a part brings, if it comes with the checksum with which it left."""
        self._parts.disturb(event.node, event.at_us)
        if self.run.twins.get(delivered.source, delivered.source) in self.run.world.cut_off(event.node):
            return
        for digest in self._parts.content(delivered.checksum):
            self._give(event.node, digest, _Given(event.at_us, f"validator {delivered.source}"))

    def submitted(self, event: Event, submitted: TransactionSubmitted) -> None:
        """Note a transaction that a client gives."""
        if submitted.outcome == "submitted":
            # An application's pool takes a transaction without work: the transaction waits there in this instant.
            self._parts.disturb(submitted.validator, event.at_us)
            self._give(submitted.validator, submitted.digest, _Given(event.at_us, "a client"))

    def changed(self, event: Event, _change: WorkFinished | BlockFinalized | SnapshotJoined) -> None:
        """Note that a mempool may change."""
        self._parts.disturb(event.node, event.at_us)

    def settle(self, block: SettledBlock) -> None:
        """Compare the mempools of an earlier instant, and read the present mempools if a part has left since."""
        sample, before = self.run.sample_pools(), self._sampled
        if before is not None and before.at_us < sample.at_us:
            self._compare(before, block.before)
            self._sampled = None
        if sample.at_us - self._sampled_us >= self.run.plan.regossip_us:
            self._sampled_us = sample.at_us
            self._sampled = sample._replace(pools=[dict(pool) for pool in sample.pools])

    def finish(self) -> CheckResult:
        """Compare the last mempools and the last parts, and return the result."""
        if self._sampled is not None:
            self._compare(self._sampled, self.run.state)
        self._parts.finish()
        return self.tally.result(f"{self.tally.compared:,} transactions and parts of mempools went where they had to")

    def _give(self, node: NodeId, digest: bytes, given: _Given) -> None:
        known = self._given.get(node)
        if known is not None and not self.run.world.is_hindered(node):
            known.setdefault(digest, given)

    def _compare(self, sample: Sample, state: Mapping[bytes, bytes]) -> None:
        """Compare mempools with the transactions that they got; a mempool that was lost since is left out."""
        if "tables" not in self.run.offers:
            return
        for node, pool in zip(sample.nodes, sample.pools, strict=True):
            known = self._given.get(node) or {}
            for digest, given in list(known.items()):
                if digest in pool:
                    self.tally.compared += 1
                elif given.at_us + SLACK_US > sample.at_us:
                    continue
                elif is_useful(self._encoded(digest), pool.values(), state):
                    self.tally.compared += 1
                    self.tally.fail(
                        f"validator {node} has not pooled transaction {digest[:6].hex()}, which {given.giver} gave to "
                        f"it at {given.at_us / MILLION:.3f} s",
                        validator=node,
                        transaction=digest.hex(),
                    )
                del known[digest]

    def _encoded(self, digest: bytes) -> bytes:
        """Return a transaction of a client, empty for any other transaction."""
        if self._submissions is None:
            self._submissions = self.run.submissions()
        return self._submissions.get(digest, b"")
