"""Traffic: what each replica sends is bounded by what it was given, the views that it was in, and time.

Something sent twice, repeated too soon or answered more than once changes no block. The messages of each honest replica
are counted by kind, one for each receiver, and held against a formula of what the trace says besides:

- `F` is the number of other replicas on the bus, which a broadcast goes to; `n` that of the validators;
- `V` is the greatest view that it was in, `L` the number of its lives, `T` the run's time by its fastest clock;
- what it was given: transactions of clients, nullify votes of others, requests.

Lengths are bounded for each message: of votes and requests by a constant, of certificates by n. A request with the same
content leaves no more often than once for each timeout, and once more each time that what it asks for is wanted again.

Of the requests of one kind that come from one peer in a second of the replica's own, undamaged, no more than the limit
are taken and not refused. Its second begins with a request and ends with a timer, set when one for a block comes.
A request for a snapshot that the asked replica has none for is passed over in silence, and counts for nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.observations import ORDINALS
from checker.results import CheckResult, ExitClass
from faults.events import ClockSet, Crashed, TransactionSubmitted
from network.clock import MILLION
from network.events import Delivered, Event, Handlers, Sent, TimerElapsed
from network.types import Micros, NodeId
from validators.events import BlockFinalized, Booted, Entered, Halted, MessageRefused, SnapshotJoined
from validators.sync.snapshots import ATTEMPTS

VOTES: Final = ("Notarize", "Nullify", "Finalize")
CERTIFICATES: Final = ("Notarization", "Nullification", "Finalization", "CertificateResponse")
LIMITED: Final = ("CertificateRequest", "BlockRequest", "SnapshotRequest")
"""Requests of which so many are answered in a second. Pieces are not: each is asked for when the one before is here."""

REQUESTS: Final = (*LIMITED, "SnapshotChunkRequest")

VOTE_BYTES_MAX: Final = 192
REQUEST_BYTES_MAX: Final = 96
CERTIFICATE_BYTES: Final = 128
ANSWERS_TIMER: Final = ("answers",)
SECOND_US: Final = 1_000_000

SIGNATURE_BYTES: Final = 67
"""A signature in a certificate; its bit among the signers is in the certificate's own bytes."""


@dataclass(slots=True)
class _Given:
    """The views and lives of one replica, and what clients gave it."""

    view: int = 0
    lives: int = 0
    transactions: int = 0


@dataclass(slots=True)
class _Second:
    """A second of one replica: requests that it did not refuse, by peer and kind, and the one that came last."""

    taken: dict[tuple[NodeId, str], int] = field(default_factory=dict)
    last: tuple[NodeId, str] | None = None
    last_us: Micros = -1


class Traffic(Check):
    """An honest replica sends no more messages than its views, its peers' requests and its timers account for."""

    name = "traffic"
    exit_class: ClassVar[ExitClass] = "liveness"
    engines = ("simplex",)
    sees_earlier_events = False
    sees_everybody = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._given = {node: _Given() for node in run.honest}
        self._sent: dict[tuple[int, str], int] = {}
        self._got: dict[tuple[int, str], int] = {}
        self._refused: dict[tuple[int, str], int] = {}
        self._seconds: dict[NodeId, _Second] = {}
        self._halted: dict[NodeId, None] = {}
        self._finalized: dict[NodeId, int] = {}
        self._ends: dict[NodeId, tuple[Micros, Micros]] = {}
        self._paused = run.plan.paused()
        self._slow = dict(self._paused)
        self._asked: dict[tuple[int, str, bytes], int] = {}
        self._on_way: dict[tuple[NodeId, NodeId, int], bytes] = {}
        self._limits = {
            **dict.fromkeys(VOTES, VOTE_BYTES_MAX),
            **dict.fromkeys(REQUESTS, REQUEST_BYTES_MAX),
            **dict.fromkeys(CERTIFICATES, CERTIFICATE_BYTES + SIGNATURE_BYTES * run.validators),
        }
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

    @property
    def is_asked(self) -> bool:
        """Return whether there is another replica to send anything to."""
        return len(self.run.disks) != 1

    def sent(self, event: Event, sent: Sent) -> None:
        """Count a message, and compare its length."""
        node, kind = event.node, sent.label
        if kind in LIMITED:
            self._on_way[node, sent.destination, sent.ordinal] = sent.checksum
        if node not in self._given:
            return
        self._sent[node, kind] = self._sent.get((node, kind), 0) + 1
        limit = self._limits.get(kind)
        if limit is not None:
            self.tally.compared += 1
            if sent.length > limit:
                self._fail(node, f"a {kind} of {sent.length:,} bytes", limit, "bytes")
            if kind in REQUESTS:
                asked = (node, kind, sent.checksum)
                self._asked[asked] = self._asked.get(asked, 0) + 1

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Count a message that asks for others."""
        key = event.node, delivered.label
        self._got[key] = self._got.get(key, 0) + 1
        is_given = event.node in self._given and event.node not in self._halted
        # A paused replica takes or refuses what came meanwhile when it goes on, in another second.
        if delivered.label in LIMITED and is_given and event.node not in self._paused:
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
        if refused.message not in REQUESTS and self._ends.get(event.node, (-1,))[0] == event.at_us:
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
        """Count the request that came last, if it was taken."""
        if second.last is not None:
            count = second.taken[second.last] = second.taken.get(second.last, 0) + 1
            limit = self.run.plan.costs.answers_per_second
            self.tally.compared += 1
            if count > limit:
                peer, kind = second.last
                self._fail(node, f"answers to {count} messages {kind} of {peer} in a second", limit, "answers a second")
            second.last = None

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
            for kind, (bound, formula) in self._bounds(node, given).items():
                found = self._sent.get((node, kind), 0)
                self.tally.compared += bool(found)
                if found > max(bound, 0):
                    self._fail(node, f"{found:,} messages {kind}", bound, formula)
        for (node, kind, _), found in self._asked.items():
            bound = self._times(self.run.plan.fetch_timeout_us) + 1 + self._given[node].view + self._given[node].lives
            self.tally.compared += found > 1
            if found > bound:
                self._fail(node, f"{found:,} times the same {kind}", bound, "T / fetch timeout + 1 + V + L")
        total = sum(self._sent.values())
        return self.tally.result(f"{total:,} messages are accounted for by views, requests and timers")

    def _bounds(self, node: int, given: _Given) -> Mapping[str, tuple[int, str]]:
        return dict(self._list_bounds(node, given))

    def _list_bounds(self, node: int, given: _Given) -> Iterator[tuple[str, tuple[int, str]]]:
        """Yield the bound of each kind of message with its formula."""
        plan, fan_out, validators = self.run.plan, len(self.run.disks) - 1, self.run.validators
        views, lives = given.view, given.lives
        retries, fetches = self._times(plan.timeout_retry_us), self._times(plan.fetch_timeout_us)
        for kind in ("Notarize", "Finalize"):
            yield kind, (fan_out * (views + lives), "F (V + L)")
        yield "Nullify", (fan_out * (views + 2 * lives + retries), "F (V + 2 L + T / retry timeout)")
        helped = 2 * self._got.get((node, "Nullify"), 0)
        for kind in ("Notarization", "Nullification", "Finalization"):
            formula = "F (V + 1 + 2 L + T / retry timeout) + 2 for each nullify of others"
            yield kind, (fan_out * (views + 1 + 2 * lives + retries) + helped, formula)
        yield "CertificateRequest", (fetches + 2 * views + lives, "T / fetch timeout + 2 V + L")
        yield "CertificateResponse", (2 * self._got.get((node, "CertificateRequest"), 0), "2 for each request")
        yield "BlockRelay", (fan_out * (views // validators + 1 + lives), "F (V / n + 1 + L)")
        waited = self._times(min(plan.fetch_grace_us or plan.fetch_timeout_us, plan.fetch_timeout_us))
        yield "BlockRequest", ((waited + 1) * (views + lives), "(T / the shorter of grace and timeout + 1) (V + L)")
        yield "BlockResponse", (self._taken(node, "BlockRequest"), "1 for each request that was not refused")
        spread = fan_out * given.transactions
        gossip = spread + self._times(plan.regossip_us) + lives
        yield "TransactionGossip", (gossip, "F for each transaction of a client, T / regossip + L")
        for kind, request in (("SnapshotOffer", "SnapshotRequest"), ("SnapshotChunk", "SnapshotChunkRequest")):
            yield kind, (self._taken(node, request), "1 for each request that was not refused")
        pieces = self._got.get((node, "SnapshotOffer"), 0) + self._got.get((node, "SnapshotChunk"), 0)
        yield "SnapshotChunkRequest", (ATTEMPTS * pieces, f"{ATTEMPTS} for each offer and piece")

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
