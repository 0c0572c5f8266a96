"""Grounds for giving a view up: the reason that a replica names for it is one that the trace shows.

A view that is given up without need costs the time of a leader and no more, while others go on with the next one. What
has to have come before:

| reason | ground |
|---|---|
| `LeaderNullify` | the leader's nullify of this view came, as the view before was the own one or later |
| `LeaderTimeout`, `CertificationTimeout` | the timer of that name and view ran out, and no certification failed |
| `FailedCertification` | the block of this view was refused, in this life or an earlier one |
| `Inactivity` | the leader is silent, others of a quorum are not, and its block is not notarized here |
| `MissingProposal` | the view is the own one, and no block and no vote for one has left |
| `IgnoredProposal` | the leader's vote came, and a snapshot is asked for before the view is left |
| `InvalidProposal` | the leader's vote came |

A leader that was silent as its view was entered is not waited for, if others of a quorum were not. *Silent* is a peer
that was not heard for more than four ticks; ticks are timers of the trace, so that a wrong clock changes nothing. What
came in the instant of an act may have been read before it or after, and counts as whichever excuses the act. Votes of
Byzantine validators do not show their view: any that could have been read in time counts.
"""

from dataclasses import dataclass, field
from typing import Final

from checker.checks.context import RunContext
from checker.checks.observations import ORDINALS
from checker.results import CheckTally
from network.events import Delivered, Event, Sent, TimerElapsed
from network.types import Micros, NodeId
from validators.events import CertificateHeld, Entered, MessageRefused, Reported, Uncertified, Voted

TICKS_PER_SKIP: Final = 4
TIMED_OUT: Final = "TimedOut"
INACTIVITY: Final = "Inactivity"
FAILED_CERTIFICATION: Final = "FailedCertification"
IGNORED_PROPOSAL: Final = "IgnoredProposal"
TIMER_OF: Final = {"LeaderTimeout": "leader", "CertificationTimeout": "certification"}

VOTE_OF: Final = {"LeaderNullify": "Nullify", "IgnoredProposal": "Notarize", "InvalidProposal": "Notarize"}
"""Reasons that a vote of the leader gives."""

RELAY: Final = "BlockRelay"
SNAPSHOT_REQUEST: Final = "SnapshotRequest"
WATCHED: Final = (*dict.fromkeys(VOTE_OF.values()), RELAY, SNAPSHOT_REQUEST)
"""Labels of the messages whose sending matters."""

UNREADABLE: Final = "message"
"""The name of a message that could not be read, in its refusal."""

HEARD: Final = (
    "Notarize",
    "Nullify",
    "Finalize",
    "Notarization",
    "Nullification",
    "Finalization",
    "CertificateResponse",
)


@dataclass(slots=True)
class _Memory:
    """All that one life of a replica can know of leaders and views.

    Attributes:
        is_leader_gone: Whether the leader of its view was silent as it entered it, and enough others were not.
        tick: The last tick of activity, and when it was.
        heard: By validator the tick in which it was last heard; all count as heard at the start.
        now_us: The last instant in which messages came.
        came: Their senders and labels, and the tick in which the sender had been heard before.
        unsure_tick: Up to this tick nothing is said about silence: a refusal may be of any of several messages.
        votes: Labels and views of the votes of honest leaders of these views.
        of_byzantine: By label and Byzantine sender, the own view in which the last vote came.
        elapsed: The number of the last timer of each name.
        ignoring: The last view that was given up because no proposal could be judged, until a later one is entered.
    """

    view: int = 0
    is_leader_gone: bool = False
    tick: int = 0
    ticked_us: Micros = -1
    heard: dict[NodeId, int] = field(default_factory=dict)
    now_us: Micros = -1
    came: list[tuple[NodeId, str, int]] = field(default_factory=list)
    unsure_tick: int = -1
    votes: dict[tuple[str, int], None] = field(default_factory=dict)
    of_byzantine: dict[tuple[str, NodeId], int] = field(default_factory=dict)
    elapsed: dict[str, object] = field(default_factory=dict)
    given_up: int = 0
    refused: dict[int, None] = field(default_factory=dict)
    notarized: dict[int, None] = field(default_factory=dict)
    relayed: dict[int, None] = field(default_factory=dict)
    has_sought_snapshot: bool = False
    ignoring: tuple[Event, Reported] | None = None


class Grounds:
    """Compares each view that an honest replica gives up, or waits for in vain, with what it could know."""

    def __init__(self, run: RunContext, tally: CheckTally) -> None:
        self._run = run
        self._tally = tally
        self._honest = dict.fromkeys(run.honest)
        self._paused = run.plan.paused()
        self._quorum = run.validators - (run.validators - 1) // 3
        self._lives: dict[NodeId, _Memory] = {}
        self._on_way: dict[tuple[NodeId, NodeId, int], tuple[str, int, bytes]] = {}
        self._own: dict[tuple[NodeId, str, int], None] = {}
        self._refused: dict[tuple[NodeId, int], None] = {}

    def crash(self, node: NodeId) -> None:
        """Forget what a replica had in memory."""
        self._lives.pop(node, None)

    def entered(self, event: Event, entered: Entered) -> None:
        """Note whether ticks say for certain that the leader is silent, and that enough others are not."""
        life = self._life(event.node)
        # Not before a later instant: the own nullify may be the last that the view took, and the request follows it.
        if life.ignoring is not None and life.ignoring[0].at_us < event.at_us:
            self._require(life.has_sought_snapshot, *life.ignoring, "it asked for no snapshot")
            life.ignoring = None
        life.view = entered.view
        earliest, latest = _last_heard(life, event.at_us)
        least_tick = life.tick - (life.ticked_us == event.at_us)
        awake = self._count_awake(event.node, entered.leader, life.tick, earliest)
        is_silent = least_tick - latest.get(entered.leader, 0) > TICKS_PER_SKIP and entered.leader != event.node
        life.is_leader_gone = is_silent and awake >= self._quorum - 1 and self._is_sure(event.node, life)

    def voted(self, event: Event, voted: Voted) -> None:
        """Note an own vote."""
        self._own[event.node, voted.vote, voted.view] = None

    def held(self, event: Event, held: CertificateHeld) -> None:
        """Note a notarized block."""
        if held.certificate == "notarization":
            self._life(event.node).notarized[held.view] = None

    def uncertified(self, event: Event, refusal: Uncertified) -> None:
        """Note a refusal; the journal has it for later lives."""
        self._refused[event.node, refusal.view] = None
        self._life(event.node).refused[refusal.view] = None

    def elapsed(self, event: Event, timer: TimerElapsed) -> None:
        """Note a tick, or the last timer of a name."""
        if isinstance(timer.key, str) or timer.key[0] != "consensus":
            return
        _, name, number = timer.key
        life = self._life(event.node)
        life.elapsed[str(name)] = number
        if name == "activity" and isinstance(number, int):
            life.tick, life.ticked_us = number, event.at_us

    def sent(self, event: Event, sent: Sent) -> None:
        """Follow votes of leaders, and note what the sender cannot have done unless it had a reason."""
        if sent.label == SNAPSHOT_REQUEST:
            self._life(event.node).has_sought_snapshot = True
        elif sent.view is not None and sent.view % self._run.validators == event.node:
            if sent.label == RELAY:
                self._life(event.node).relayed[sent.view] = None
            else:
                self._on_way[event.node, sent.destination, sent.ordinal] = sent.label, sent.view, sent.checksum

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Note that a peer was heard, by a vote or a certificate, and what its vote was."""
        life, peer, label = self._life(event.node), delivered.source, delivered.label
        if life.now_us != event.at_us:
            life.now_us, life.came = event.at_us, []
        life.came.append((peer, label, life.heard.get(peer, 0)))
        if label not in HEARD:
            return
        life.heard[peer] = life.tick
        if peer not in self._honest:
            life.of_byzantine[label, peer] = life.view
        elif found := self._on_way.get((peer, event.node, delivered.ordinal & ORDINALS)):
            _, view, checksum = found
            if checksum == delivered.checksum:
                life.votes[label, view] = None

    def refused(self, event: Event, refused: MessageRefused) -> None:
        """Take back that the sender of a message was heard which was refused as it came."""
        life = self._life(event.node)
        if life.now_us != event.at_us or refused.message not in (UNREADABLE, *HEARD):
            return
        came = [each for each in life.came if each[1] == refused.message] or life.came
        if len(came) > 1:
            life.unsure_tick = life.tick + TICKS_PER_SKIP + 1
            return
        ((peer, label, before),) = came
        if label in HEARD:
            life.heard[peer] = before

    def reported(self, event: Event, report: Reported) -> None:
        """Compare a view that is given up, and the reason, with what came before."""
        if report.activity != TIMED_OUT:
            return
        node, view, life = event.node, report.view, self._life(event.node)
        self._require(life.given_up != view, event, report, "had given it up")
        life.given_up = view
        reason = report.detail
        if reason in TIMER_OF:
            self._require(life.elapsed.get(TIMER_OF[reason]) == view, event, report, "that timer had not run out")
            self._require(view not in life.refused, event, report, "had refused to certify its block")
            if reason == "LeaderTimeout":
                deed = "that one was silent as the view was entered, and a quorum was not"
                self._require(not life.is_leader_gone, event, report, deed)
        elif reason in VOTE_OF:
            label = VOTE_OF[reason]
            deed = f"no {label} of this view had come from its leader"
            self._require(self._has_come(node, label, view), event, report, deed)
            life.ignoring = (event, report) if reason == IGNORED_PROPOSAL else None
        elif reason == FAILED_CERTIFICATION:
            is_known = (node, view) in self._refused or self._run.is_reopened
            self._require(is_known, event, report, "had refused to certify no block of it")
        elif reason == INACTIVITY:
            self._judge_inactivity(event, report)
        elif reason == "MissingProposal":
            self._judge_missing(event, report)

    def _judge_inactivity(self, event: Event, report: Reported) -> None:
        node, leader, life = event.node, self._leader_of(report.view), self._life(event.node)
        # An equivocated proposal is none, and only a Byzantine leader makes two.
        if leader in self._honest:
            self._require(report.view not in life.notarized, event, report, "its block is notarized here")
        if self._is_sure(node, life):
            earliest, latest = _last_heard(life, event.at_us)
            silent = life.tick - earliest.get(leader, 0)
            self._require(silent > TICKS_PER_SKIP, event, report, f"it had been silent for {silent} ticks only")
            least_tick = life.tick - (life.ticked_us == event.at_us)
            awake = self._count_awake(node, leader, least_tick, latest)
            self._require(awake >= self._quorum - 1, event, report, f"only {awake} others were heard")

    def _judge_missing(self, event: Event, report: Reported) -> None:
        node, view = event.node, report.view
        self._require(self._leader_of(view) == node, event, report, "it is not its own")
        self._require(view not in self._life(node).relayed, event, report, "its block had left")
        if node not in self._run.disk_faults.touched:
            self._require((node, "notarize", view) not in self._own, event, report, "had voted for its block")

    def _has_come(self, node: NodeId, label: str, view: int) -> bool:
        """Return whether the vote of this kind by the leader of a view came, or may have."""
        life, leader = self._life(node), self._leader_of(view)
        if leader == node:
            return (node, label.lower(), view) in self._own
        if leader in self._honest:
            return (label, view) in life.votes
        # Votes more than one view ahead are thrown away as they come; a pause lets them wait.
        seen_in = life.of_byzantine.get((label, leader))
        return seen_in is not None and (seen_in >= view - 1 or node in self._paused)

    def _count_awake(self, node: NodeId, leader: NodeId, tick: int, heard: dict[NodeId, int]) -> int:
        others = [peer for peer in range(self._run.validators) if peer not in (node, leader)]
        return sum(tick - heard.get(peer, 0) <= TICKS_PER_SKIP for peer in others)

    def _is_sure(self, node: NodeId, life: _Memory) -> bool:
        """Return whether the trace says when peers were heard: a pause makes what came wait."""
        return node not in self._paused and life.tick > life.unsure_tick

    def _leader_of(self, view: int) -> NodeId:
        return view % self._run.validators

    def _life(self, node: NodeId) -> _Memory:
        life = self._lives.get(node)
        if life is None:
            life = self._lives[node] = _Memory()
        return life

    def _require(self, holds: object, event: Event, report: Reported, deed: str) -> None:
        leader = self._leader_of(report.view)
        text = f"validator {event.node} gave up view {report.view} of leader {leader} ({report.detail}): {deed}"
        self._tally.require(holds, text, validator=event.node, view=report.view)


def _last_heard(life: _Memory, now_us: Micros) -> tuple[dict[NodeId, int], dict[NodeId, int]]:
    """Return the ticks in which peers were last heard at least, and at most: messages of now may not be read yet."""
    # The first message of a peer in an instant has the tick before it.
    earliest = {peer: before for peer, _, before in reversed(life.came)} if life.now_us == now_us else {}
    return life.heard | earliest, life.heard
