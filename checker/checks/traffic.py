"""Traffic: what each replica sends is bounded by what it was given, the views that it was in, and time.

Something sent twice, repeated too soon or answered more than once changes no block. The messages of each honest replica
are counted by kind, one for each receiver, and held against a formula of what the trace says besides:

- `F` is the number of other replicas on the bus, which a broadcast goes to; `n` that of the validators;
- `V` is the greatest view that it was in, `L` the number of its lives, `T` the run's time by its fastest clock;
- what it was given: transactions of clients, nullify votes of others, requests.

What an engine alone has stands in its rules (`engine_traffic`). Lengths are bounded for each message: of votes and
requests by a constant, of certificates by n, of blocks by the cells of a block, of which each byte costs one. A request
with the same content leaves no more often than once for each timeout, and once more each time that what it asks for is
wanted again.

Of the requests of one kind that come from one peer in a second of the replica's own, undamaged, no more than the limit
are taken and not refused. Its second begins with a request and ends with a timer, set when one for a block comes.
A request for what the asked replica has not is passed over in silence, and counts for nothing: a request for a block
counts when its answer leaves, one for a snapshot where the replica may have one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.checks.observations import ORDINALS
from checker.checks.rules.engine_traffic import HEADER_BYTES_MAX, REQUEST_BYTES_MAX, Bound, MessageAccount
from checker.checks.rules.registry import RULES
from checker.results import CheckResult, ExitClass
from faults.events import ClockSet, Crashed, TransactionSubmitted
from network.clock import MILLION
from network.events import Delivered, Event, Handlers, Sent, TimerElapsed
from network.types import Micros, NodeId
from validators.events import BlockFinalized, Booted, Entered, Halted, MessageRefused, SnapshotJoined
from validators.sync.snapshots import ATTEMPTS

LIMITED: Final = ("BlockRequest", "SnapshotRequest")
"""Requests of which so many are answered in a second. Pieces are not: each is asked for when the one before is here."""

REQUESTS: Final = (*LIMITED, "SnapshotChunkRequest")

MESSAGE_BYTES_MAX: Final = 16 * 1024 * 1024
RESPONSE_BYTES_MAX: Final = 8 * 1024 * 1024
BLOCKS_MAX: Final = 64
GOSSIP_BYTES_MAX: Final = 2 * 1024 * 1024
GOSSIP_PART_BYTES_MAX: Final = 1024 * 1024
TRANSACTIONS_MAX: Final = 64
OUTLINE_BYTES_MAX: Final = 3 * 1024
FRAME_BYTES: Final = 128
ITEM_BYTES: Final = 8
"""Bytes beside an item of a list: its length in front."""

ANSWERS_TIMER: Final = ("answers",)
SECOND_US: Final = 1_000_000


@dataclass(slots=True)
class _Given:
    """The views and lives of one replica, and what clients gave it."""

    view: int = 0
    lives: int = 0
    transactions: int = 0


@dataclass(slots=True)
class _Second:
    """A second of one replica: requests that count, by peer and kind, and the one that came last."""

    taken: dict[tuple[NodeId, str], int] = field(default_factory=dict)
    last: tuple[NodeId, str] | None = None
    last_us: Micros = -1


class Traffic(Check):
    """An honest replica sends no more messages than its views, its peers' requests and its timers account for."""

    name = "traffic"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False
    sees_everybody = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._given = {node: _Given() for node in run.honest}
        self._sent: dict[tuple[int, str], int] = {}
        self._got: dict[tuple[int, str], int] = {}
        self._refused: dict[tuple[int, str], int] = {}
        self._seconds: dict[NodeId, _Second] = {}
        self._unanswered: dict[tuple[NodeId, NodeId], _Second] = {}
        """By replica and peer the second of the last request for a block that was taken and has had no answer yet."""
        self._halted: dict[NodeId, None] = {}
        self._finalized: dict[NodeId, int] = {}
        self._ends: dict[NodeId, tuple[Micros, Micros]] = {}
        self._paused = run.plan.paused()
        self._slow = dict(self._paused)
        self._leader_of, self._engine = RULES[run.engine].leader_of, RULES[run.engine].traffic
        self._limited = (*LIMITED, *self._engine.limited)
        self._requests = (*REQUESTS, *self._engine.requests)
        self._longest: dict[tuple[int, str], int] = {}
        self._value_bytes = max(map(len, run.genesis_values.values()), default=0)
        self._asked: dict[tuple[int, str, bytes], int] = {}
        self._on_way: dict[tuple[NodeId, NodeId, int], bytes] = {}
        self._ppm = 0
        self._first_us: int | None = None
        self._now_us = 0

    @property
    def handlers(self) -> Handlers:
        """Messages, and what accounts for them."""
        return {
            Sent: self.sent,
            Delivered: self.delivered,
            Entered: self.entered,
            Booted: self.booted,
            BlockFinalized: self.finalized,
            SnapshotJoined: self.finalized,
            TransactionSubmitted: self.submitted,
            ClockSet: self.clock_set,
            MessageRefused: self.refused,
            TimerElapsed: self.elapsed,
            Halted: self.halted,
            Crashed: self.crashed,
        }

    def not_asked(self) -> str:
        """Return a reason where there is no other replica to send anything to."""
        return "" if len(self.run.disks) != 1 else "there is no other replica"

    def sent(self, event: Event, sent: Sent) -> None:
        """Count a message, and compare its length."""
        node, kind = event.node, sent.label
        if kind in self._limited:
            self._on_way[node, sent.destination, sent.ordinal] = sent.checksum
        if node not in self._given:
            return
        if kind == "BlockResponse":
            self._count_answer(node, sent.destination)
        self._sent[node, kind] = self._sent.get((node, kind), 0) + 1
        if sent.length > self._longest.get((node, kind), 0):
            self._longest[node, kind] = sent.length
        if kind in self._requests:
            asked = (node, kind, sent.checksum)
            self._asked[asked] = self._asked.get(asked, 0) + 1

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Count a message that asks for others."""
        key = event.node, delivered.label
        self._got[key] = self._got.get(key, 0) + 1
        is_given = event.node in self._given and event.node not in self._halted
        # A paused replica takes or refuses what came meanwhile when it goes on, in another second.
        if delivered.label in self._limited and is_given and event.node not in self._paused:
            second = self._seconds.setdefault(event.node, _Second())
            self._close(event.node, second)
            second.last, second.last_us = None, event.at_us
            # A damaged one may ask for what no peer has: it is passed over in silence, and counts for no limit.
            sent = self._on_way.get((delivered.source, event.node, delivered.ordinal & ORDINALS))
            if sent == delivered.checksum and self._may_have(event.node, delivered.source, delivered.label):
                second.last = delivered.source, delivered.label
            if delivered.label == "BlockRequest" and event.node not in self._slow:
                self._ends.setdefault(event.node, (event.at_us, event.at_us + SECOND_US + 1))

    def _may_have(self, node: NodeId, peer: NodeId, kind: str) -> bool:
        """Return whether a replica has what an honest peer asks for: a snapshot above the peer's own height."""
        if kind != "SnapshotRequest":
            return True
        return peer in self._given and self._finalized.get(node, 0) > self._finalized.get(peer, 0)

    def finalized(self, event: Event, reached: BlockFinalized | SnapshotJoined) -> None:
        """Note the finalized height."""
        self._finalized[event.node] = reached.height

    def refused(self, event: Event, refused: MessageRefused) -> None:
        """Leave out a request that was refused as it came; one that was understood begins a second all the same."""
        if refused.message not in self._requests and self._ends.get(event.node, (-1,))[0] == event.at_us:
            del self._ends[event.node]
        second = self._seconds.get(event.node)
        if second is not None and second.last_us == event.at_us:
            second.last = None
        key = event.node, refused.message
        self._refused[key] = self._refused.get(key, 0) + 1

    def halted(self, event: Event, _halted: Halted) -> None:
        """Count no requests of a replica that is here and answers nothing, nor says so."""
        self._seconds.pop(event.node, None)
        self._ends.pop(event.node, None)
        self._halted[event.node] = None

    def crashed(self, _event: Event, crashed: Crashed) -> None:
        """End what a replica without power was to do."""
        self._ends.pop(crashed.machine, None)

    def elapsed(self, event: Event, timer: TimerElapsed) -> None:
        """End a second of a replica."""
        if timer.key == ANSWERS_TIMER and event.node in self._given:
            self._close(event.node, self._seconds.pop(event.node, _Second()))
            self._end_second(event.node, event.at_us)
            self.tally.compared += 1
            if timer.asked_us != SECOND_US:
                self._fail(event.node, f"answers by a second of {timer.asked_us:,} us", SECOND_US, "us")

    def _end_second(self, node: NodeId, now_us: Micros) -> None:
        """Compare when a second ends with the request that it had to begin with at the latest."""
        if node not in self._ends:
            return
        begun_us, due_us = self._ends.pop(node)
        self.tally.compared += 1
        if now_us > due_us:
            text = f"validator {node} was asked for a block at {begun_us / MILLION:.3f} s, and its second did not end"
            self.tally.fail(f"{text} by {due_us:,} us", validator=node, at_us=due_us)

    def _close(self, node: NodeId, second: _Second) -> None:
        """Count the request that came last, if it was taken; one for a block counts with its answer."""
        if second.last is not None:
            peer, kind = second.last
            if kind == "BlockRequest":
                self._unanswered[node, peer] = second
            else:
                self._count(node, second, peer, kind)
            second.last = None

    def _count_answer(self, node: NodeId, peer: NodeId) -> None:
        """Count the request for a block that an answer belongs to; a peer has one answer under way."""
        present = self._seconds.get(node)
        if present is not None:
            self._close(node, present)
        second = self._unanswered.pop((node, peer), None)
        if second is not None:
            self._count(node, second, peer, "BlockRequest")

    def _count(self, node: NodeId, second: _Second, peer: NodeId, kind: str) -> None:
        count = second.taken[peer, kind] = second.taken.get((peer, kind), 0) + 1
        limit = self.run.plan.costs.answers_per_second
        self.tally.compared += 1
        if count > limit:
            self._fail(node, f"answers to {count} messages {kind} of {peer} in a second", limit, "answers a second")

    def entered(self, event: Event, entered: Entered) -> None:
        """Note the greatest view."""
        if event.node in self._given:
            given = self._given[event.node]
            given.view = max(given.view, entered.view)
        self._now_us = event.at_us

    def booted(self, event: Event, booted: Booted) -> None:
        """Count a life; the journal may lead to a view that was not entered yet."""
        given = self._given.get(event.node, _Given())
        given.lives += 1
        self._seconds.pop(event.node, None)
        self._ends.pop(event.node, None)
        self._halted.pop(event.node, None)
        given.view = max(given.view, booted.view)
        self._finalized[event.node] = booted.finalized_height
        if self._first_us is None:
            self._first_us = event.at_us

    def submitted(self, _event: Event, submitted: TransactionSubmitted) -> None:
        """Count what a client gave."""
        if submitted.validator in self._given and submitted.outcome == "submitted":
            self._given[submitted.validator].transactions += 1

    def clock_set(self, _event: Event, clock: ClockSet) -> None:
        """Note the fastest clock."""
        self._ppm = max(self._ppm, clock.ppm)
        if clock.ppm < 0:
            self._slow[clock.machine] = None
            self._ends.pop(clock.machine, None)

    def finish(self) -> CheckResult:
        """Return the result."""
        self._now_us = max(self._now_us, self.run.end.now_us)
        for node in [node for node, (_, due_us) in self._ends.items() if due_us < self._now_us]:
            self._end_second(node, self._now_us)
        for node, given in self._given.items():
            for kind, bound, formula in self._bounds(node, given):
                found = self._sent.get((node, kind), 0)
                self.tally.compared += bool(found)
                if found > max(bound, 0):
                    self._fail(node, f"{found:,} messages {kind}", bound, formula)
        self._compare_lengths()
        for (node, kind, _), found in self._asked.items():
            bound = self._times(self.run.plan.fetch_timeout_us) + 1 + self._given[node].view + self._given[node].lives
            self.tally.compared += found > 1
            if found > bound:
                self._fail(node, f"{found:,} times the same {kind}", bound, "T / fetch timeout + 1 + V + L")
        total = sum(self._sent.values())
        return self.tally.result(f"{total:,} messages are accounted for by views, requests and timers")

    def settle(self, block: SettledBlock) -> None:
        """Note the longest value that the log of the state may have."""
        for value in block.changes.values():
            if value is not None and len(value) > self._value_bytes:
                self._value_bytes = len(value)

    def _compare_lengths(self) -> None:
        """Compare the longest message of each kind."""
        limits = self._lengths()
        for (node, kind), found in self._longest.items():
            limit = limits.get(kind)
            if limit is not None:
                self.tally.compared += 1
                if found > limit:
                    self._fail(node, f"a {kind} of {found:,} bytes", limit, "bytes")

    def _lengths(self) -> Mapping[str, int]:
        """Return the most bytes of each kind of message."""
        run, own = self.run, self._engine.lengths(self.run.validators, self.run.finality_depth)
        # A byte of a transaction costs a cell, and few are shorter than 100 bytes.
        block = FRAME_BYTES + HEADER_BYTES_MAX + own.seal + run.rules.block_cells * 21 // 20
        # What a Byzantine one made is kept and given on, whether it is valid or not.
        is_known = len(run.honest) == len(run.disks) and not run.is_reopened
        answer = min(BLOCKS_MAX * (block + ITEM_BYTES), max(RESPONSE_BYTES_MAX, block) + BLOCKS_MAX * ITEM_BYTES)
        longest = max(map(len, run.submissions().values()), default=0)
        several = min(TRANSACTIONS_MAX * longest, max(longest, GOSSIP_PART_BYTES_MAX))
        gossip = several + TRANSACTIONS_MAX * ITEM_BYTES + FRAME_BYTES
        piece = (run.plan.snapshot_chunk_bytes + self._value_bytes + FRAME_BYTES + HEADER_BYTES_MAX) * 6 // 5
        return {
            **own.messages,
            **dict.fromkeys(REQUESTS, REQUEST_BYTES_MAX),
            "BlockRelay": min(block, MESSAGE_BYTES_MAX),
            "BlockResponse": min(answer, MESSAGE_BYTES_MAX) if is_known else MESSAGE_BYTES_MAX,
            "TransactionGossip": gossip if is_known else GOSSIP_BYTES_MAX,
            "SnapshotOffer": OUTLINE_BYTES_MAX + HEADER_BYTES_MAX + own.finality,
            "SnapshotChunk": MESSAGE_BYTES_MAX if run.is_reopened else piece + FRAME_BYTES,
        }

    def _bounds(self, node: int, given: _Given) -> Iterator[Bound]:
        """Yield the bound of each kind of message with its formula."""
        plan, fan_out = self.run.plan, len(self.run.disks) - 1
        views, lives = given.view, given.lives
        led = sum(self._leader_of(view, self.run.validators, plan) == node for view in range(1, views + 1))
        yield from self._engine.bounds(
            MessageAccount(
                plan=plan,
                fan_out=fan_out,
                views=views,
                led=led,
                lives=lives,
                times=self._times,
                got=lambda kind: self._got.get((node, kind), 0),
                taken=lambda request: self._taken(node, request),
            )
        )
        yield Bound("BlockRelay", fan_out * (led + lives), "F (V of its own + L)")
        waited = self._times(min(plan.fetch_grace_us or plan.fetch_timeout_us, plan.fetch_timeout_us))
        count = (waited + 1) * (views + lives)
        yield Bound("BlockRequest", count, "(T / the shorter of grace and timeout + 1) (V + L)")
        yield Bound("BlockResponse", self._taken(node, "BlockRequest"), "1 for each request that was not refused")
        spread = fan_out * given.transactions
        gossip = spread + self._times(plan.regossip_us) + lives
        yield Bound("TransactionGossip", gossip, "F for each transaction of a client, T / regossip + L")
        for kind, request in (("SnapshotOffer", "SnapshotRequest"), ("SnapshotChunk", "SnapshotChunkRequest")):
            yield Bound(kind, self._taken(node, request), "1 for each request that was not refused")
        pieces = self._got.get((node, "SnapshotOffer"), 0) + self._got.get((node, "SnapshotChunk"), 0)
        yield Bound("SnapshotChunkRequest", ATTEMPTS * pieces, f"{ATTEMPTS} for each offer and piece")

    def _taken(self, node: int, request: str) -> int:
        """Return how many requests came and were not refused."""
        return self._got.get((node, request), 0) - self._refused.get((node, request), 0)

    def _times(self, period_us: int) -> int:
        """Return how often a timer of this period may have run out in the run, by the fastest clock."""
        lasted_us = self._now_us - (self._first_us or 0)
        return lasted_us * (MILLION + self._ppm) // MILLION // max(period_us, 1) + 1

    def _fail(self, node: int, what: str, bound: int, formula: str) -> None:
        text = f"validator {node} sent {what}, at most {bound:,} are accounted for ({formula})"
        self.tally.fail(text, validator=node, bound=bound)
