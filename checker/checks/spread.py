"""Spread: what waits in one mempool comes to all others by the parts that are sent again.

A transaction that one mempool lacks costs time and no more while another leader has it. Each validator sends a part of
what waits to one peer at each of its timers. A part takes `PART_TRANSACTIONS` and `PART_BYTES` at most, so what waits
now has gone to a peer when the rest of its round and the next one are over: twice as many parts as its mempool had at
its fullest. So where a sample of the mempools finds a transaction in one and not in another, the parts from the one to
the other are counted that leave after it and come undamaged, until the other has it. What a part has to hold is judged
beside it (`checker.checks.gossip_rounds`).

Not judged are replicas that the plan pauses or slows, and a transaction that the other has no use for: its nonce is
spent in the final state, or taken there by another one. Mempools are looked into when a block is first made final, once
in the time between two parts. They are compared a block later: of blocks that become final in one instant the first is
settled while all of them have left the mempools already. What clients hand in is looked for there as well
(`checker.checks.handed_in`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext, Sample
from checker.checks.gossip_rounds import PART_BYTES, PART_TRANSACTIONS, GossipRounds
from checker.checks.handed_in import HandedIn, is_useful
from checker.checks.mirror import SettledBlock
from checker.results import CheckResult, ExitClass
from faults.events import Crashed, TransactionSubmitted
from network.clock import MILLION
from network.events import Delivered, Event, Handlers, OfLabels, Sent, TimerElapsed, WorkFinished
from network.types import Micros, NodeId
from validators.events import BlockFinalized, Booted, Halted, SnapshotJoined
from validators.mempool.pool import Pooled

GOSSIP: Final = "TransactionGossip"
TIMER: Final = "regossip"

POOLED_MAX: Final = 1_000
"""Transactions of a mempool that are followed at a time: those that came first."""

SETTLE_US: Final = 2 * MILLION
"""The time from a part's arrival until its signatures are verified, on a machine that is not slow."""


class _Part(NamedTuple):
    """A part on its way: when it left, and its checksum."""

    sent_us: Micros
    checksum: bytes


@dataclass(slots=True)
class _Missing:
    """A transaction that `owner` has and a peer has not, since when, and the parts after which it has to be there."""

    owner: NodeId
    since_us: Micros
    parts: int


class MempoolSpread(Check):
    """A transaction that waits in an honest mempool comes to every other one within two rounds of its parts."""

    name = "spread"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._hindered = run.plan.hindered()
        self._timer_us: dict[NodeId, Micros] = {}
        self._last: dict[NodeId, tuple[Micros, NodeId, int]] = {}
        self._on_way: dict[tuple[NodeId, NodeId, int], _Part] = {}
        self._arrived: dict[tuple[NodeId, NodeId], list[tuple[Micros, Micros]]] = {}
        self._missing: dict[tuple[bytes, NodeId], _Missing] = {}
        self._started: dict[NodeId, None] = {}
        """Replicas that have started in their present life."""
        self._sampled_us = 0
        self._sampled: Sample | None = None
        self._spread = 0
        self._handed_in = HandedIn(self.tally, run.validators, run.submissions)
        self._rounds = GossipRounds(run, self.tally)

    @property
    def handlers(self) -> Handlers:
        """The timers, parts that leave and arrive, and mempools that are lost."""
        return {
            TimerElapsed: self.elapsed,
            Sent: OfLabels(_is_gossip, self.sent),
            Delivered: OfLabels(_is_gossip, self.delivered),
            Booted: self.booted,
            Crashed: self.crashed,
            Halted: self.halted,
            TransactionSubmitted: self.submitted,
            WorkFinished: self.worked,
            BlockFinalized: self.finalized,
            SnapshotJoined: self.finalized,
        }

    def not_asked(self) -> str:
        """Return a reason where no mempool had to be held against anything."""
        return "" if self.tally.compared else "no transaction waited in a mempool"

    def elapsed(self, event: Event, timer: TimerElapsed) -> None:
        """Note when a part is due, and what it has to hold."""
        if timer.key == TIMER:
            self._timer_us[event.node] = event.at_us
            if event.node not in self._hindered:
                sample = self.run.sample_pools()
                pools = dict(zip(sample.nodes, sample.pools, strict=True))
                self._rounds.elapse(event.node, event.at_us, pools.get(event.node, {}))

    def sent(self, event: Event, sent: Sent) -> None:
        """Follow a part; what goes to several in the instant of a timer may be a client's, and is not followed."""
        node, is_timers = event.node, self._timer_us.get(event.node) == event.at_us
        # One that is paused gets its timers late: a part of it may leave in any instant.
        self._handed_in.send(node, event.at_us, sent, may_be_timers=is_timers or node in self._hindered)
        if not is_timers:
            return
        self._rounds.send(node, event.at_us, sent)
        at_us, destination, ordinal = self._last.get(node, (-1, -1, -1))
        if at_us == event.at_us:
            self._on_way.pop((node, destination, ordinal), None)
        else:
            self._on_way[node, sent.destination, sent.ordinal] = _Part(event.at_us, sent.checksum)
        self._last[node] = event.at_us, sent.destination, sent.ordinal

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Count a part that arrives as it was sent."""
        self._rounds.deliver(event.node, event.at_us, delivered)
        part = self._on_way.pop((delivered.source, event.node, delivered.ordinal), None)
        if part is not None and part.checksum == delivered.checksum:
            self._arrived.setdefault((delivered.source, event.node), []).append((part.sent_us, event.at_us))

    def worked(self, event: Event, _work: WorkFinished) -> None:
        """Work ends, such as a verification."""
        self._rounds.work(event.node, event.at_us)

    def finalized(self, event: Event, _reached: BlockFinalized | SnapshotJoined) -> None:
        """Transactions that are final, or void, leave the mempool."""
        self._rounds.shrink(event.node, event.at_us)

    def booted(self, event: Event, _booted: Booted) -> None:
        """Begin a life with an empty mempool: what came before, as the replica recovered, was refused.

        A second start in a life keeps the mempool: a state that was taken from a peer was damaged.
        """
        if event.node not in self._started:
            self._forget(event.node)
        self._started[event.node] = None

    def crashed(self, _event: Event, crashed: Crashed) -> None:
        """Forget a life."""
        self._started.pop(crashed.machine, None)
        self._forget(crashed.machine)

    def halted(self, event: Event, _halted: Halted) -> None:
        """One that has stopped sends nothing."""
        self._forget(event.node)

    def submitted(self, event: Event, submitted: TransactionSubmitted) -> None:
        """Follow a transaction that a client has handed in."""
        if submitted.outcome == "submitted" and submitted.validator not in self._hindered:
            self._handed_in.submit(submitted.validator, submitted.digest, event.at_us)

    def settle(self, block: SettledBlock) -> None:
        """Look into the mempools, unless that was done since the last part may have left."""
        for encoded in block.transactions:
            self._handed_in.finalize(encoded)
        sample, before = self.run.sample_pools(), self._sampled
        if before is not None and before.at_us < sample.at_us:
            self._compare(before, block.before)
            self._sampled = None
        if sample.at_us - self._sampled_us >= self.run.plan.regossip_us:
            self._sampled_us = sample.at_us
            self._sampled = sample._replace(pools=[dict(pool) for pool in sample.pools])
            self._handed_in.compare(sample.at_us, dict(zip(sample.nodes, sample.pools, strict=True)), block.before)

    def finish(self) -> CheckResult:
        """Compare the last sample and the last parts, and return the result."""
        if self._sampled is not None:
            self._compare(self._sampled, self.run.state)
        self._rounds.finish()
        return self.tally.result(
            f"{self.tally.compared:,} times mempools were held against parts, clients and each other; "
            f"{self._spread:,} transactions came to one that had lacked them"
        )

    def _forget(self, node: NodeId) -> None:
        self._rounds.forget(node)
        self._handed_in.forget(node)
        self._sampled = None
        self._missing = {key: missing for key, missing in self._missing.items() if node not in (key[1], missing.owner)}

    def _compare(self, sample: Sample, state: Mapping[bytes, bytes]) -> None:
        self._rounds.compare(sample, state)
        before, self._missing = self._missing, {}
        pools = dict(zip(sample.nodes, sample.pools, strict=True))
        parts = {owner: _count_parts(pool) for owner, pool in pools.items()}
        for owner, pool in pools.items():
            followed = list(pool)[:POOLED_MAX] if len(pool) else ()
            for peer, other in pools.items() if followed else ():
                for digest in followed if peer != owner and peer not in self._hindered else ():
                    if digest not in other and (digest, peer) not in self._missing:
                        known = before.get((digest, peer))
                        if known is None or known.owner not in pools or digest not in pools[known.owner]:
                            known = _Missing(owner, sample.at_us, parts[owner])
                        known.parts = max(known.parts, parts[known.owner])
                        self._missing[digest, peer] = known
        for (digest, peer), known in list(self._missing.items()):
            self._judge(digest, peer, known, sample=sample, pools=pools, state=state)
        came = sum(key not in self._missing and key[0] in pools.get(key[1], ()) for key in before)
        self._spread += came
        self.tally.compared += came

    def _judge(
        self,
        digest: bytes,
        peer: NodeId,
        known: _Missing,
        *,
        sample: Sample,
        pools: Mapping[NodeId, Mapping[bytes, Pooled]],
        state: Mapping[bytes, bytes],
    ) -> None:
        """Fail where a peer has had all parts that it takes, and still has no transaction of that sender and nonce."""
        arrived = self._arrived.get((known.owner, peer), ())
        until_us = sample.at_us - SETTLE_US
        count = sum(sent_us > known.since_us and at_us <= until_us for sent_us, at_us in arrived)
        if count < 2 * known.parts:
            return
        del self._missing[digest, peer]
        if not is_useful(pools[known.owner][digest].encoded, pools[peer], state):
            return
        self.tally.compared += 1
        self.tally.fail(
            f"transaction {digest[:6].hex()} waits at validator {known.owner}, which has sent validator {peer} "
            f"{count} parts since {known.since_us / MILLION:.3f} s, and is not there",
            transaction=digest.hex(),
            validator=peer,
        )


def _is_gossip(label: str) -> bool:
    return label == GOSSIP


def _count_parts(pool: Mapping[bytes, Pooled]) -> int:
    """Return the number of parts that a mempool goes out in at most; any two that follow each other fill one."""
    length_bytes = sum(len(pooled.encoded) for pooled in pool.values())
    return len(pool) // PART_TRANSACTIONS + 1 + 2 * (length_bytes // PART_BYTES)
