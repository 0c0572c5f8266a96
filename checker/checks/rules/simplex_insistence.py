"""Insistence: whoever waits has a timer that makes it ask again, and then asks the next replica in turn.

Something asked of one peer only, too often, or no more, costs nothing while that peer answers. So this check reads the
timers and the requests off the trace. A *wait* begins with an act of a replica and has to end in time: by its timer,
or by what it waited for.

| wait | begins with | timer | may end with |
|---|---|---|---|
| for a view to end | entering it | certification | the next view, giving it up |
| for others to give it up | a nullify | retry | the next view |
| for the next tick | the one before it, a start | activity | |
| for what is pooled | the same | regossip | |

Waits of a machine whose clock was slow are not judged, nor a replica that the plan pauses. A request that is made again
because its timer ran out goes to the next validator in turn, and so do pooled transactions that are sent again. The
first request for a certificate goes to the leader of the view that the replica is in, that for a notarized block to the
leader of its view. No peer is asked for a snapshot, or one piece of it, more often in a row than a peer is asked.
Whoever gives a view up has a reason for it (`simplex_grounds`).
"""

from collections import deque
from dataclasses import dataclass, field
from typing import ClassVar, Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.rules.simplex_grounds import TICKS_PER_SKIP, TIMED_OUT, WATCHED, Grounds
from checker.results import CheckResult, ExitClass
from faults.events import ClockSet, Crashed
from network.clock import MILLION
from network.events import Delivered, Event, Handlers, OfLabels, Sent, TimerElapsed
from network.types import Micros, NodeId
from validators.events import (
    Booted,
    CertificateHeld,
    DamageFound,
    Entered,
    Halted,
    MessageRefused,
    Reported,
    SnapshotJoined,
    Uncertified,
    Voted,
)
from validators.sync.snapshots import ATTEMPTS

SNAPSHOT_REQUESTS: Final = ("SnapshotRequest", "SnapshotChunkRequest")
GOSSIP: Final = "TransactionGossip"
SYNCS: Final = 3
"""A request that follows from a certificate waits for the sync under way and for its own."""

LEADERS_KEPT: Final = 8


@dataclass(slots=True)
class _Life:
    """One life of a replica: its view and leader, its waits, and whom it asked last.

    Attributes:
        waits: By the name of a wait, when it has to be over.
        elapsed: Keys of timers for blocks that ran out in the last instant in which one did.
        asked: By what was asked for, the peer that was asked last.
        given: Peers that pooled transactions went to in the instant of the last timer for them.
    """

    view: int = 0
    leaders: deque[tuple[Micros, NodeId]] = field(default_factory=lambda: deque(maxlen=LEADERS_KEPT))
    waits: dict[str, Micros] = field(default_factory=dict)
    elapsed: dict[object, Micros] = field(default_factory=dict)
    elapsed_us: Micros = -1
    is_fetch_over: bool = False
    asked: dict[object, NodeId] = field(default_factory=dict)
    certificate: bytes = b""
    gossiped_us: Micros = -1
    given: list[NodeId] = field(default_factory=list)
    attempts: dict[str, tuple[NodeId, bytes, int]] = field(default_factory=dict)


class Insistence(Check):
    """A replica that waits has a timer that makes it ask again, and then asks the next in turn."""

    name = "insistence"
    exit_class: ClassVar[ExitClass] = "liveness"
    engines = ("simplex",)
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        plan = run.plan
        self._paused = plan.paused()
        self._lives: dict[NodeId, _Life] = {}
        self._slow: dict[NodeId, None] = {}
        self._slowed = {node: None for fault in plan.faults if fault.slows for node in fault.nodes}
        self._can_tell_retries = plan.fetch_grace_us != plan.fetch_timeout_us
        self._turns = 0
        self._grounds = Grounds(run, self.tally)
        self._notarized: dict[NodeId, tuple[int, bytes]] = {}
        self._with_lost_blocks: dict[NodeId, None] = {}

    @property
    def handlers(self) -> Handlers:
        """Views, votes and timers, and what is asked of whom."""
        return {
            Booted: self.booted,
            Crashed: self.crashed,
            Halted: self.halted,
            Entered: self.entered,
            Voted: self.voted,
            CertificateHeld: self.certificate_held,
            Reported: self.reported,
            SnapshotJoined: self.joined,
            TimerElapsed: self.elapsed,
            Sent: OfLabels(_is_asking, self.sent),
            Delivered: self._grounds.delivered,
            Uncertified: self._grounds.uncertified,
            MessageRefused: self.refused,
            ClockSet: self.clock_set,
            DamageFound: self.damage_found,
        }

    def not_asked(self) -> str:
        """Return a reason where there is nobody else to ask, or no replica that is never paused waited."""
        has_begun = bool(self._lives)
        self._end_lives()
        is_asked = self.run.validators > 1 and (self.tally.compared or not has_begun)
        return "" if is_asked else "no replica waited for another"

    def booted(self, event: Event, _booted: Booted) -> None:
        """Begin a life: its ticks and its gossip begin."""
        if event.node not in self._paused:
            life = self._lives[event.node] = _Life()
            self._wait(event, life, "activity", self.run.plan.skip_timeout_us // TICKS_PER_SKIP)
            if event.node < self.run.validators:
                self._wait(event, life, "regossip", self.run.plan.regossip_us)

    def crashed(self, event: Event, crashed: Crashed) -> None:
        """End a life."""
        self._grounds.crash(crashed.machine)
        self._end(crashed.machine, event.at_us)

    def halted(self, event: Event, _halted: Halted) -> None:
        """End a life."""
        self._end(event.node, event.at_us)

    def entered(self, event: Event, entered: Entered) -> None:
        """Begin to wait for the end of a view."""
        self._grounds.entered(event, entered)
        life = self._lives.get(event.node)
        if life is not None:
            life.view = entered.view
            life.leaders.append((event.at_us, entered.leader))
            self._close(event, life, "view", "nullify")
            self._wait(event, life, "view", self.run.plan.certification_timeout_us)

    def voted(self, event: Event, voted: Voted) -> None:
        """Begin to wait for others to give the view up as well."""
        self._grounds.voted(event, voted)
        life = self._lives.get(event.node)
        if life is not None and voted.vote == "nullify" and voted.view == life.view:
            self._close(event, life, "view", "nullify")
            self._wait(event, life, "nullify", self.run.plan.timeout_retry_us)

    def reported(self, event: Event, report: Reported) -> None:
        """Note that a view is given up, be it by a replica without a vote."""
        self._grounds.reported(event, report)
        life = self._lives.get(event.node)
        if life is not None and report.activity == TIMED_OUT and report.view == life.view:
            self._close(event, life, "view")

    def certificate_held(self, event: Event, held: CertificateHeld) -> None:
        """Note the highest certificate of a block over all lives; from a notarization on the block itself is wanted."""
        self._grounds.held(event, held)
        if held.certificate != "nullification" and held.view >= self._notarized.get(event.node, (0, b""))[0]:
            self._notarized[event.node] = held.view, held.payload if held.certificate == "notarization" else b""

    def joined(self, event: Event, _joined: SnapshotJoined) -> None:
        """Note that a replica asks for other blocks from now on."""
        life = self._lives.get(event.node)
        if life is not None:
            life.asked.clear()

    def elapsed(self, event: Event, timer: TimerElapsed) -> None:
        """End a wait by its timer, or note that a request is made again."""
        self._grounds.elapsed(event, timer)
        life = self._lives.get(event.node)
        if life is None:
            return
        key = timer.key
        if key == "regossip":
            self._close(event, life, "regossip")
            self._wait(event, life, "regossip", self.run.plan.regossip_us)
            self._end_gossip(event.node, life)
            life.gossiped_us = event.at_us
        elif key[0] == "fetch":
            if life.elapsed_us != event.at_us:
                life.elapsed.clear()
            life.elapsed_us = event.at_us
            life.elapsed[key[1]] = timer.asked_us
        elif key[0] == "consensus":
            self._elapse_in_consensus(event, life, str(key[1]), key[2])

    def sent(self, event: Event, sent: Sent) -> None:
        """Compare whom a replica asks with whom it asked before."""
        if sent.label in WATCHED:
            self._grounds.sent(event, sent)
        life = self._lives.get(event.node)
        if life is None:
            return
        if sent.label != GOSSIP:
            self._ask(event, life, sent)
        elif life.gossiped_us == event.at_us:
            life.given.append(sent.destination)

    def refused(self, event: Event, refused: MessageRefused) -> None:
        """Note that a peer was given up, whose snapshot was asked for, or that what came was not heard."""
        self._grounds.refused(event, refused)
        life = self._lives.get(event.node)
        if life is not None and refused.message == "snapshot":
            life.attempts.clear()

    def clock_set(self, _event: Event, clock: ClockSet) -> None:
        """Note a clock that is slow, by which every wait takes longer."""
        if clock.ppm < 0:
            self._slow[clock.machine] = None

    def damage_found(self, event: Event, damage: DamageFound) -> None:
        """Note a replica whose disk has lost blocks: it asks for these from the next validator on, whoever led."""
        if damage.file == "blocks":
            self._with_lost_blocks[event.node] = None

    def finish(self) -> CheckResult:
        """Return the result."""
        self._end_lives()
        return self.tally.result(
            f"{self.tally.compared:,} waits ended in time, or went on with the next in turn; {self._turns:,} turns"
        )

    # Waits

    def _wait(self, event: Event, life: _Life, name: str, period_us: Micros) -> None:
        # A microsecond more, because each change of a clock's pace rounds up.
        life.waits[name] = event.at_us + period_us + 1

    def _close(self, event: Event, life: _Life, *names: str) -> None:
        for name in names:
            self._compare_wait(event.node, name, life.waits.pop(name, None), event.at_us)

    def _compare_wait(self, node: NodeId, name: str, due_us: Micros | None, now_us: Micros) -> None:
        if due_us is None or node in self._slow:
            return
        self.tally.compared += 1
        if now_us > due_us:
            text = f"validator {node} waited ({name}) to {now_us / MILLION:.3f} s; its timer was due by {due_us:,} us"
            self.tally.fail(text, validator=node, at_us=due_us)

    def _elapse_in_consensus(self, event: Event, life: _Life, name: str, number: object) -> None:
        if name == "activity":
            self._close(event, life, "activity")
            self._wait(event, life, "activity", self.run.plan.skip_timeout_us // TICKS_PER_SKIP)
        elif name == "fetch":
            life.is_fetch_over = True
        elif number == life.view and name in {"certification", "retry"}:
            self._close(event, life, "view" if name == "certification" else "nullify")

    def _end_lives(self) -> None:
        for node in list(self._lives):
            self._end(node, self.run.end.now_us)

    def _end(self, node: NodeId, now_us: Micros) -> None:
        life = self._lives.pop(node, None)
        if life is not None:
            self._end_gossip(node, life)
            for name, due_us in life.waits.items():
                self._compare_wait(node, name, due_us, now_us)

    # Turns

    def _ask(self, event: Event, life: _Life, sent: Sent) -> None:
        node, peer = event.node, sent.destination
        if sent.label == "CertificateRequest":
            is_again = life.is_fetch_over and sent.checksum == life.certificate
            if is_again:
                self._compare_turn(node, life.asked.get("certificate"), peer, sent.label)
            elif not life.is_fetch_over and node not in self._slowed:
                self._compare_first(event, life, peer)
            life.asked["certificate"], life.certificate, life.is_fetch_over = peer, sent.checksum, False
        elif sent.label == "BlockRequest":
            if life.elapsed_us == event.at_us and len(life.elapsed) == 1:
                ((digest, asked_us),) = life.elapsed.items()
                before = life.asked.get(digest)
                if self._can_tell_retries and asked_us != self.run.plan.fetch_timeout_us:
                    self._compare_first_for_block(node, life, digest, peer)
                elif before is not None and self._can_tell_retries:
                    self._compare_turn(node, before, peer, sent.label)
                life.asked[digest] = peer
            else:
                # Which one the request repeats nobody can tell, so neither whose turn comes next.
                life.asked = {asked: to for asked, to in life.asked.items() if asked not in life.elapsed}
            life.elapsed.clear()
        elif sent.label in SNAPSHOT_REQUESTS:
            self._count_attempt(node, life, sent)

    def _compare_first(self, event: Event, life: _Life, peer: NodeId) -> None:
        """Compare the first peer that is asked for a certificate with the leaders of now and of the last syncs."""
        since_us = event.at_us - SYNCS * self.run.plan.costs.sync_us
        leaders = [leader for at_us, leader in life.leaders if at_us >= since_us] or [life.leaders[-1][1]]
        leaders.append(life.leaders[-len(leaders) - 1][1] if len(life.leaders) > len(leaders) else leaders[0])
        firsts = [leader if leader != event.node else (leader + 1) % self.run.validators for leader in leaders]
        self._compare(event.node, peer, peer if peer in firsts else firsts[0], "CertificateRequest")

    def _compare_first_for_block(self, node: NodeId, life: _Life, digest: object, peer: NodeId) -> None:
        """Compare the first peer asked for the last notarized block with its leader; a child may want another block."""
        view, notarized = self._notarized.get(node, (0, b""))
        if digest == notarized and node not in self._slowed and node not in self._with_lost_blocks:
            validators = self.run.validators
            leader, following = view % validators, (node + 1) % validators
            expected = leader if leader != node else following
            # A leader may want it for its own block alone: then the view is its own, and nobody's turn is earlier.
            is_own = life.view % validators == node and peer == following
            self._compare(node, peer, peer if is_own else expected, "BlockRequest")

    def _count_attempt(self, node: NodeId, life: _Life, sent: Sent) -> None:
        last_peer, content, times = life.attempts.get(sent.label, (-1, b"", 0))
        times = times + 1 if (last_peer, content) == (sent.destination, sent.checksum) else 1
        life.attempts[sent.label] = sent.destination, sent.checksum, times
        self.tally.compared += 1
        if times > ATTEMPTS:
            text = f"validator {node} sent validator {sent.destination} the same {sent.label} {times} times in a row"
            self.tally.fail(text, validator=node, attempts=times)

    def _end_gossip(self, node: NodeId, life: _Life) -> None:
        """Compare whom the transactions of the last timer went to, if there were any."""
        if len(life.given) == 1 and self.run.validators > 2:
            self._compare_turn(node, life.asked.get("gossip"), life.given[0], GOSSIP)
            life.asked["gossip"] = life.given[0]
        elif life.given:
            # A client's transaction was sent to all in the same instant.
            life.asked.pop("gossip", None)
        life.given = []

    def _compare_turn(self, node: NodeId, before: NodeId | None, peer: NodeId, label: str) -> None:
        if before is None:
            return
        validators = self.run.validators
        following = (before + 1) % validators
        self._compare(node, peer, following if following != node else (node + 1) % validators, label)

    def _compare(self, node: NodeId, peer: NodeId, expected: NodeId, label: str) -> None:
        self.tally.compared += 1
        self._turns += 1
        if peer != expected:
            text = f"validator {node} sent a {label} to validator {peer}; the turn was validator {expected}'s"
            self.tally.fail(text, validator=node, peer=peer)


def _is_asking(label: str) -> bool:
    return label == GOSSIP or label in WATCHED or label.endswith("Request")
