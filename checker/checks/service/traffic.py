"""Traffic: the messages that a replica sends to a peer are bounded by its input, its views, and time.

A message that is sent twice, repeated too soon or answered more than once changes no block. So the check counts the
messages of each honest replica to each peer by kind, and compares the number with a formula of the trace's figures:

- `V` is the greatest view that the replica was in, `L` the number of its starts, `T` the run's time by its fastest
  clock;
- the other terms are its input: transactions of clients, and messages of the peer.

The specification of an engine says exactly which messages leave (`checker.checks.consensus`), so one plain bound holds
for every kind of an engine's messages.
"""

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.rules.registry import RULES
from checker.results import CheckResult, ExitClass
from faults.events import TransactionSubmitted
from network.clock import MILLION
from network.events import Delivered, Event, Handlers, Sent
from network.types import Micros, NodeId
from validators.consensus.registry import ENGINES
from validators.events import Booted
from validators.sync.snapshots import ATTEMPTS


class _Bound(NamedTuple):
    """The greatest number of messages of a kind, with the formula."""

    kind: str
    most: int
    formula: str


class Traffic(Check):
    """A replica sends no more messages than its views, its starts, its peers' messages and its timers account for.

    A failure states the formula of the bound.
    """

    name = "traffic"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._sent: dict[tuple[NodeId, NodeId, str], int] = {}
        self._got: dict[tuple[NodeId, NodeId, str], int] = {}
        """Messages by replica, peer and kind."""
        self._clients: dict[NodeId, int] = {}
        self._first_us: Micros | None = None
        self._of_engine = [kind.traced_name for kind in ENGINES[run.engine].messages]

    @property
    def handlers(self) -> Handlers:
        """Messages, and the events that account for them."""
        return {
            Sent: self.sent,
            Delivered: self.delivered,
            Booted: self.booted,
            TransactionSubmitted: self.submitted,
        }

    def not_asked(self) -> str:
        """Return a reason where there is no other replica to send anything to."""
        return "" if len(self.run.disks) != 1 else "there is no other replica"

    def sent(self, event: Event, sent: Sent) -> None:
        """Count a message."""
        key = event.node, sent.destination, sent.label
        self._sent[key] = self._sent.get(key, 0) + 1

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Count a message that may be answered; the answer to a machine goes to its twin too."""
        key = event.node, self._identity_of(delivered.source), delivered.label
        self._got[key] = self._got.get(key, 0) + 1

    def booted(self, event: Event, _booted: Booted) -> None:
        """Note the time of the first start."""
        if self._first_us is None:
            self._first_us = event.at_us

    def submitted(self, _event: Event, submitted: TransactionSubmitted) -> None:
        """Count a transaction that a client gave."""
        if submitted.outcome == "submitted":
            self._clients[submitted.validator] = self._clients.get(submitted.validator, 0) + 1

    def finish(self) -> CheckResult:
        """Return the result."""
        for node, peer in dict.fromkeys((node, peer) for node, peer, _ in self._sent):
            for kind, most, formula in self._bounds(node, peer):
                found = self._sent.get((node, peer, kind), 0)
                self.tally.compared += bool(found)
                if found > most:
                    self.tally.fail(
                        f"validator {node} sent validator {peer} {found:,} messages {kind}, at most {most:,} are "
                        f"accounted for ({formula})",
                        validator=node,
                        peer=peer,
                        bound=most,
                    )
        total = sum(self._sent.values())
        return self.tally.result(f"{total:,} messages are accounted for by views, requests and timers")

    def _bounds(self, node: NodeId, peer: NodeId) -> Iterator[_Bound]:
        """Yield the bound of each kind of message that a replica sends to a peer."""
        run, plan = self.run, self.run.plan
        views, starts = run.world.view(node), run.world.starts(node)
        leader_of = RULES[run.engine].leader_of
        led = sum(leader_of(view, run.validators, plan) == node for view in range(1, views + 1))
        yield _Bound("BlockRelay", led + starts, "V of its own + L")
        waits = self._times(min(plan.fetch_grace_us or plan.fetch_timeout_us, plan.fetch_timeout_us)) + 1
        yield _Bound("BlockRequest", waits * (views + starts), "(T / the shorter of grace and timeout + 1) (V + L)")
        for kind, request in (("BlockResponse", "BlockRequest"), ("SnapshotOffer", "SnapshotRequest")):
            yield _Bound(kind, self._came(node, peer, request), "1 for each request")
            limit = plan.costs.answers_per_second * (self._times(MILLION) + starts)
            yield _Bound(kind, limit, "answers_per_second (T / 1 s + L)")
        yield _Bound("SnapshotChunk", self._came(node, peer, "SnapshotChunkRequest"), "1 for each request")
        pieces = self._came(node, peer, "SnapshotOffer", "SnapshotChunk")
        yield _Bound("SnapshotChunkRequest", ATTEMPTS * pieces, f"{ATTEMPTS} for each offer and piece")
        gossip = self._clients.get(node, 0) + self._times(plan.regossip_us) + starts
        yield _Bound("TransactionGossip", gossip, "1 for each transaction of a client, T / regossip + L")
        timers = (plan.certification_timeout_us, plan.timeout_retry_us, plan.fetch_timeout_us)
        turns = views + starts + self._times(min(filter(None, timers)))
        given = self._came(node, peer, *self._of_engine)
        for kind in self._of_engine:
            yield _Bound(kind, 2 * (turns + given), "2 (V + L + T / shortest timer), 2 for each message of the peer's")

    def _came(self, node: NodeId, peer: NodeId, *kinds: str) -> int:
        """Return the number of messages of some kinds that came from a peer."""
        return sum(self._got.get((node, self._identity_of(peer), kind), 0) for kind in kinds)

    def _identity_of(self, machine: NodeId) -> NodeId:
        return self.run.twins.get(machine, machine)

    def _times(self, period_us: Micros) -> int:
        """Return how often a timer of this period may have run out in the run, by the fastest clock."""
        lasted_us = self.run.end.now_us - (self._first_us or 0)
        return lasted_us * (MILLION + self.run.world.fastest_ppm) // MILLION // max(period_us, 1) + 1
