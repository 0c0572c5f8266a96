"""Votes that are of use are verified as they come: one that is passed over makes its certificate wait for another.

Others' certificates make up for votes that a replica does not look at, so that no block misses them. But verifying a
signature takes the processor's time, and the trace has each piece of work. So where the first vote of its kind and view
comes to a replica whose processor has nothing to do, a piece of work has to begin in that instant.

A vote counts if it is an honest validator's, undamaged, and of the view that the replica is in or of the next one, of
which no certificate has come. Left out are replicas that the plan pauses, and votes of a view that is over, or final,
by the end of the syncs under way; of HotStuff also the leader's own, which its block has brought.

A vote that has come, or a HotStuff leader's whose block has, is known when it comes again to a replica that has nothing
to do: where nothing else happens to the replica in that instant, no piece of work begins in it. Not judged by that are
nullifies, by which a peer asks for help, and runs with a Byzantine validator, which may crowd messages out.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.observations import ORDINALS
from checker.checks.rules.registry import RULES
from checker.results import CheckResult, ExitClass
from faults.events import Crashed
from network.clock import MILLION
from network.events import AlarmElapsed, Delivered, Event, Handlers, Sent, TimerElapsed, WorkFinished
from network.types import Micros, NodeId
from validators.events import CertificateHeld, Entered, Halted

VOTES: Final = ("Notarize", "Nullify", "Finalize", "BlockVote")
CERTIFICATES: Final = ("Notarization", "Nullification", "Finalization")
ANSWERS: Final = ("CertificateResponse", "SnapshotOffer", "SnapshotChunk")
"""Messages whose certificates are of views that they do not say."""

BLOCK: Final = "BlockRelay"
"""A leader's block; of HotStuff it brings the leader's vote."""

FOLLOWED: Final = frozenset({*VOTES, *CERTIFICATES, BLOCK})
WATCHED: Final = FOLLOWED | {*ANSWERS}

LAST_VOTE: Final = "Finalize"
"""A quorum of these makes all other votes of the view needless."""

CRY: Final = "Nullify"
"""One that comes again asks for a certificate."""

LEADERS_VOTE: Final = "BlockVote"
"""Its block brings that of the leader."""

PROCESSOR: Final = "cpu"
SYNCS: Final = 10
SPARE_US: Final = 50_000
"""The knowledge of a replica shows in the trace behind the syncs under way."""


class _Came(NamedTuple):
    """A vote that came to a replica."""

    at_us: Micros
    node: NodeId
    label: str
    view: int
    source: NodeId


@dataclass(slots=True)
class _Life:
    """One life of a replica: its view, the highest one with a certificate, the kinds of votes that came."""

    view: int = 0
    certified: int = 0
    is_blind: bool = False
    seen: dict[tuple[str, int], None] = field(default_factory=dict)
    waiting: list[_Came] = field(default_factory=list)
    known: dict[tuple[NodeId, str, int], None] = field(default_factory=dict)
    again: _Came | None = None
    """A known vote that came again in the last instant in which anything happened, and nothing else did."""
    now_us: Micros = -1

    def happens(self, at_us: Micros) -> bool:
        """Note that something happens to the replica, and return whether it is the first of its instant."""
        is_first = at_us != self.now_us
        self.now_us, self.again = at_us, None
        return is_first


class VerifiedVotes(Check):
    """The first vote of a kind in the present view or the next one is verified as it comes to an idle replica."""

    name = "verified-votes"
    exit_class: ClassVar[ExitClass] = "liveness"
    engines = ("simplex", "hotstuff")
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._leader_of = RULES[run.engine].leader_of
        self._honest = dict.fromkeys(run.honest)
        self._paused = run.plan.paused()
        self._is_honest = sum(node < run.validators for node in run.honest) == run.validators
        self._lives: dict[NodeId, _Life] = {}
        self._on_way: dict[tuple[NodeId, NodeId, int], tuple[int, bytes]] = {}
        self._over: dict[NodeId, list[tuple[Micros, int]]] = {}
        """By replica the views that were over, and when that showed."""
        self._passed_over: list[_Came] = []

    @property
    def handlers(self) -> Handlers:
        """Votes on their way, work, and how far replicas are."""
        return {
            Sent: self.sent,
            Delivered: self.delivered,
            WorkFinished: self.worked,
            TimerElapsed: self.elapsed,
            AlarmElapsed: self.elapsed,
            Entered: self.entered,
            CertificateHeld: self.held,
            Crashed: self.crashed,
            Halted: self.halted,
        }

    def not_asked(self) -> str:
        """Return a reason where views were entered, and no vote came to an idle replica."""
        return "" if self.tally.compared or not self._over else "no vote came to an idle replica"

    def sent(self, event: Event, sent: Sent) -> None:
        """Follow votes and certificates."""
        if sent.label in FOLLOWED:
            self._on_way[event.node, sent.destination, sent.ordinal] = sent.view or 0, sent.checksum

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Note a vote that is to be verified, or a certificate that makes votes needless."""
        life, label = self._lives.get(event.node), delivered.label
        is_alone = life is not None and life.happens(event.at_us)
        if life is None or not life.view or label not in WATCHED:
            return
        if label in ANSWERS:
            life.is_blind = True
            return
        view, checksum = self._on_way.get((delivered.source, event.node, delivered.ordinal & ORDINALS), (0, b""))
        if label in CERTIFICATES or not view:
            life.certified = max(life.certified, view)
        elif checksum == delivered.checksum:
            came = _Came(event.at_us, event.node, label, view, delivered.source)
            if label in VOTES:
                self._take(event, life, label, came)
            self._recognize(life, came, is_alone=is_alone)

    def _recognize(self, life: _Life, came: _Came, *, is_alone: bool) -> None:
        """Note a vote that is known from now on, or that was."""
        is_block = came.label == BLOCK
        if is_block and came.source != self._leader_of(came.view, self.run.validators, self.run.plan):
            return
        key = came.source, LEADERS_VOTE if is_block else came.label, came.view
        if key in life.known:
            life.again = came if is_alone and not is_block and came.label != CRY else None
        elif life.view - 1 <= came.view <= life.view + 1 and self._is_honest:
            life.known[key] = None

    def elapsed(self, event: Event, _elapsed: TimerElapsed | AlarmElapsed) -> None:
        """Note that something happens to a replica."""
        if (life := self._lives.get(event.node)) is not None:
            life.happens(event.at_us)

    def _take(self, event: Event, life: _Life, label: str, came: _Came) -> None:
        is_first = (label, came.view) not in life.seen
        life.seen[label, came.view] = None
        is_new = is_first and (label == LAST_VOTE or (LAST_VOTE, came.view) not in life.seen)
        if label == LEADERS_VOTE and came.source == self._leader_of(came.view, self.run.validators, self.run.plan):
            return
        is_of_use = life.view <= came.view <= life.view + 1 and came.view > life.certified and not life.is_blind
        if is_new and is_of_use and event.node not in self._paused:
            life.waiting.append(came)

    def worked(self, event: Event, work: WorkFinished) -> None:
        """Compare the beginning of the next piece of work with the votes that came before its end."""
        life = self._lives.get(event.node)
        if life is None:
            return
        again = life.again
        life.happens(event.at_us)
        if work.lane == PROCESSOR and again is not None:
            self.tally.compared += 1
            if again.at_us == event.at_us - work.base_us - work.extra_us:
                text = f"validator {again.node} verified the {again.label} of view {again.view} of validator"
                text += f" {again.source} again, which came at {again.at_us / MILLION:.3f} s"
                self.tally.fail(text, validator=again.node, view=again.view, at_us=again.at_us)
        if work.lane != PROCESSOR or not life.waiting:
            return
        begun_us = event.at_us - work.base_us - work.extra_us
        for came in life.waiting:
            # While another piece was under way nothing can be said.
            self.tally.compared += came.at_us <= begun_us
            if came.at_us < begun_us:
                self._passed_over.append(came)
        life.waiting.clear()

    def entered(self, event: Event, entered: Entered) -> None:
        """Note a view; those more than one below it are over."""
        life = self._lives.setdefault(event.node, _Life())
        life.view, life.is_blind = entered.view, False
        life.seen = {key: None for key in life.seen if key[1] >= entered.view}
        life.known = {key: None for key in life.known if key[2] >= entered.view - 1}
        self._over.setdefault(event.node, []).append((event.at_us, entered.view - 2))

    def held(self, event: Event, held: CertificateHeld) -> None:
        """Note a certificate; a start tells those of its journal before it has entered a view."""
        life = self._lives.setdefault(event.node, _Life())
        life.certified = max(life.certified, held.view)
        self._over.setdefault(event.node, []).append((event.at_us, held.view))

    def crashed(self, _event: Event, crashed: Crashed) -> None:
        """End a life."""
        self._lives.pop(crashed.machine, None)

    def halted(self, event: Event, _halted: Halted) -> None:
        """End a life."""
        self._lives.pop(event.node, None)

    def finish(self) -> CheckResult:
        """Return the result."""
        grace_us = SYNCS * self.run.plan.costs.sync_us + SPARE_US
        for came in self._passed_over:
            over = self._over.get(came.node, ())
            is_over = any(came.at_us <= at_us <= came.at_us + grace_us and view >= came.view for at_us, view in over)
            if came.source in self._honest and not is_over:
                text = f"validator {came.node} did not verify the {came.label} of view {came.view} of validator"
                text += f" {came.source}, which came at {came.at_us / MILLION:.3f} s and found it idle"
                self.tally.fail(text, validator=came.node, view=came.view, at_us=came.at_us)
        return self.tally.result(f"{self.tally.compared:,} votes that came to an idle replica were verified")
