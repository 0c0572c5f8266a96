"""Refusals: an honest validator accepts an honest validator's message, unless it was damaged or exceeds a limit.

A wrong refusal costs time and shows nowhere else, because another message, peer or leader makes up for it. Validators
trace each refusal with its reason. `EXCUSES` are the reasons that blame no validator, each with its condition; every
other reason says that a validator broke a rule. A validator refuses the message that came last, or names the peer in
the reason. Damaged messages and copies are not judged.

A validator that has cut off a peer sends it nothing and asks its engine about none of its messages; an honest peer
whose messages came undamaged is never cut off.

The check does not judge the roots of a block (`equal-roots` compares them) and submissions of clients. With a Byzantine
validator it does not judge proposals either, because a reason does not name the block.
"""

import re
from collections import deque
from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.world import NEVER_US, SLACK_US, Inbound
from checker.observations import ORDINALS
from checker.results import CheckResult, ExitClass
from faults.events import Crashed
from network.clock import MILLION
from network.events import Delivered, Event, Handlers, OfLabels, Sent
from network.types import Micros, NodeId
from validators.consensus.registry import ENGINES
from validators.events import MessageRefused, PeerAdmitted, PeerBlocked

PREPARED: Final = {
    "BlockResponse": "BlockRequest",
    "SnapshotOffer": "SnapshotRequest",
    "SnapshotChunk": "SnapshotChunkRequest",
}
"""Answers that take time to prepare, and the request that each is to."""

SNAPSHOTS: Final = ("SnapshotRequest", "SnapshotChunkRequest")
"""Requests of a joiner."""

REQUESTS: Final = (*PREPARED.values(), *(name for kind in ENGINES.values() for name in kind.names_of("request")))
"""Requests of all kinds."""

PURPOSES: Final = ("verify", "certify", "adopt", "finalize", "propose")
"""Refusals of a block for one of these reasons to want it, instead of a message."""


class Excuse(NamedTuple):
    """A reason for a refusal that blames no validator.

    Attributes:
        messages: The names of the refused message; all messages where it is empty.
        prefix: The beginning of the reason, after `of validator N: ` where it has that.
        holds: The condition of the reason, by the name of a method of `Refusals`; empty without a condition.
    """

    messages: tuple[str, ...]
    prefix: str
    holds: str


TRANSACTION: Final = "transaction"
"""The word of a refusal that clients get as well."""

EXCUSES: Final = (
    # A validator that reads its disk takes nothing.
    Excuse((), "recovering", "is_starting"),
    # More requests came in six seconds than a validator answers in a second.
    Excuse(REQUESTS, "TooManyAnswers", "has_asked_often"),
    # A validator prepares one answer at a time for a peer.
    Excuse(REQUESTS, "AnswerUnderWay", "has_asked_before"),
    # An answer may come when the joiner no longer needs it, or awaits another answer.
    Excuse(("snapshot",), "was not asked for", "was_asked"),
    Excuse(("snapshot",), "piece was not asked for", "was_asked"),
    # A request or its answer may be lost, or late.
    Excuse(("snapshot",), "unanswered", "is_unanswered"),
    # The joiner may have advanced meanwhile.
    Excuse(("snapshot",), "header: height", ""),
    # A block may come when another block is final.
    Excuse(PURPOSES, "lies on a branch that lost", ""),
    # An application decides by its own state, and at its own time.
    Excuse((TRANSACTION,), "", "is_an_application"),
    # A header's time is read from the leader's clock.
    Excuse(PURPOSES, "time ", "is_clock_wrong"),
    # `equal-roots` compares roots.
    *(Excuse(PURPOSES, f"{root}_root", "") for root in ("state", "tx", "receipts")),
)
"""The reasons for a refusal that blame no sender."""


_NAMED: Final = re.compile(r"of validator (\d+): (.*)", re.DOTALL)
"""A refusal of a part of a snapshot, which names the sender."""

_Link = tuple[NodeId, NodeId]
"""A replica and its peer."""


class _Span(NamedTuple):
    """The time in which a peer was cut off."""

    start_us: Micros
    stop_us: Micros


class Refusals(Check):
    """No honest replica refuses an undamaged message of an honest replica, except for reasons that blame no sender.

    The excused reasons are a receiver that reads its disk, a limit of answers, an answer that is no longer awaited,
    a branch that lost, and a wrong clock. No honest replica is cut off either, and a replica neither hears nor serves
    a peer that it has cut off.
    """

    name = "refusals"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._world = run.world
        self._has_byzantine = len([node for node in run.honest if node < run.validators]) < run.validators
        self._asked: dict[_Link, int] = {}
        """By replica and peer the number of requests for a snapshot that have no answer yet."""
        self._open: dict[_Link, int] = {}
        """By replica and peer the number of the peer's requests since the last answer to it that takes time."""
        self._requests: dict[tuple[NodeId, NodeId, str], deque[Micros]] = {}
        self._excused = 0
        self._spans: dict[_Link, list[_Span]] = {}
        """By replica and peer, the times in which the peer was cut off."""
        self._kept = run.plan.costs.answers_per_second + 1
        self._holds: dict[str, Callable[[NodeId, Inbound], bool]] = {
            "is_starting": lambda node, _last: self._world.life(node) is None,
            "has_asked_often": self._has_asked_often,
            "has_asked_before": self._has_asked_before,
            "was_asked": lambda node, last: (node, last.peer) in self._asked,
            "is_unanswered": lambda node, last: self._asked.get((node, last.peer), 0) > 0,
            "is_an_application": lambda _node, _last: "tables" not in run.offers,
            "is_clock_wrong": lambda _node, _last: self._world.has_set_clocks or self._has_byzantine,
        }

    @property
    def handlers(self) -> Handlers:
        """Messages, refusals, and peers that are cut off."""
        is_read = (*PREPARED, *SNAPSHOTS).__contains__
        if not self.run.plan.blocks_peers_us:
            return {
                Sent: OfLabels(is_read, self.sent),
                Delivered: self.delivered,
                MessageRefused: self.refused,
                PeerBlocked: self.blocked,
            }
        return {
            Sent: self.sent_beside_cut_offs,
            Delivered: self.delivered,
            MessageRefused: self.refused,
            PeerBlocked: self.blocked,
            PeerAdmitted: self.admitted,
            Crashed: self.crashed,
        }

    def not_asked(self) -> str:
        """Return a reason where there are no two honest replicas."""
        return "" if len(self.run.honest) > 1 else "there is no other honest replica"

    def sent(self, event: Event, sent: Sent) -> None:
        """Note an answer, or a request for a snapshot."""
        link = event.node, sent.destination
        if sent.label in PREPARED:
            self._open[link] = 0
        else:
            self._asked[link] = self._asked.get(link, 0) + 1

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Count a message that has to be taken; note a request, or an answer with a snapshot."""
        kind, link = delivered.label, (event.node, delivered.source)
        self.tally.compared += self._is_sound(self._world.inbound(event.node))
        if kind in REQUESTS:
            times = self._requests.setdefault((*link, kind), deque(maxlen=self._kept))
            times.append(event.at_us)
        if kind in PREPARED.values():
            self._open[link] = self._open.get(link, 0) + 1
        elif PREPARED.get(kind) in SNAPSHOTS and link in self._asked and delivered.ordinal <= ORDINALS:
            self._asked[link] = max(self._asked[link] - 1, 0)

    def refused(self, event: Event, refused: MessageRefused) -> None:
        """Judge a refusal."""
        node, last, reason = event.node, self._world.inbound(event.node), refused.reason
        if named := _NAMED.fullmatch(reason):
            peer, reason = int(named[1]), named[2]
            last = last._replace(peer=peer, is_whole=peer not in self._world.harmed(node))
        if self._is_excused(node, last, refused.message, reason):
            self._excused += 1
        elif refused.message in PURPOSES:
            self._fail(node, f"a block that it had to {refused.message}, and all proposers are honest: {reason}")
        else:
            what = f"{refused.message} of validator {last.peer}, which came as it was sent: {reason}"
            self._fail(node, what, peer=last.peer, message=refused.message)

    def sent_beside_cut_offs(self, event: Event, sent: Sent) -> None:
        """Judge a message by whether its receiver is cut off; note an answer, or a request for a snapshot."""
        receiver = self.run.twins.get(sent.destination, sent.destination)
        if receiver in self._world.cut_off(event.node):
            what = f"sent {sent.label} to validator {receiver}, which it had cut off, at {event.at_us / MILLION:.3f} s"
            self.tally.fail(f"validator {event.node} {what}", validator=event.node, peer=receiver)
        if sent.label in PREPARED or sent.label in SNAPSHOTS:
            self.sent(event, sent)

    def blocked(self, event: Event, blocked: PeerBlocked) -> None:
        """Judge whether a peer may be cut off."""
        node, peer = event.node, blocked.peer
        self._spans.setdefault((node, peer), []).append(_Span(event.at_us, NEVER_US))
        if not self.run.plan.blocks_peers_us:
            self._fail(node, f"all messages of validator {peer}: the scenario has no blocks_peers_ms")
        elif self._world.is_honest(peer) and peer not in self._world.harmed(node):
            self._fail(node, f"all messages of the honest validator {peer}: {blocked.reason}", peer=peer)

    def admitted(self, event: Event, admitted: PeerAdmitted) -> None:
        """Note that a peer is heard again."""
        self._end(event.node, admitted.peer, event.at_us)

    def crashed(self, event: Event, crashed: Crashed) -> None:
        """Note that a replica forgets whom it had cut off."""
        for node, peer in self._spans:
            if node == crashed.machine:
                self._end(node, peer, event.at_us)

    def _end(self, node: NodeId, peer: NodeId, at_us: Micros) -> None:
        spans = self._spans.get((node, peer), [])
        if spans and spans[-1].stop_us == NEVER_US:
            spans[-1] = spans[-1]._replace(stop_us=at_us)

    def _judge_calls(self) -> None:
        """Find messages of peers that were cut off among the messages about which an engine was asked."""
        for node, lives in self.run.engine_calls.items() if self._spans else ():
            for at_us, name, values in (call for life in lives for call in life.kept):
                spans = self._spans.get((node, values[0]), ()) if name == "check" else ()
                if any(start_us < at_us < stop_us for start_us, stop_us in spans):
                    what = f"a message of validator {values[0]}, which it had cut off, at {at_us / MILLION:.3f} s"
                    self.tally.fail(f"validator {node} handled {what}", validator=node, peer=values[0])

    def finish(self) -> CheckResult:
        """Return the result."""
        self._judge_calls()
        return self.tally.result(
            f"{self.tally.compared:,} messages of honest validators were taken as they were sent; "
            f"no honest validator was blamed in {self._excused:,} refusals"
        )

    def _is_sound(self, message: Inbound) -> bool:
        return message.is_whole and self._world.is_honest(message.peer)

    def _is_excused(self, node: NodeId, last: Inbound, message: str, reason: str) -> bool:
        """Return whether a refusal blames no validator, or may blame a Byzantine validator, a client or a fault."""
        is_paused = self._world.is_paused(node)
        for excuse in EXCUSES:
            is_meant = reason.startswith(excuse.prefix) and (message in excuse.messages or not excuse.messages)
            if is_meant and (not excuse.holds or is_paused or self._holds[excuse.holds](node, last)):
                return True
        if message in PURPOSES:
            return self._has_byzantine
        if is_paused:
            # It may handle an earlier message, a client's transaction too.
            return message == TRANSACTION or self._has_byzantine or bool(self._world.harmed(node))
        return not self._is_sound(last)

    def _has_asked_often(self, node: NodeId, last: Inbound) -> bool:
        """Return whether the peer has asked more often than is answered, within a second of any clock."""
        times = self._requests.get((node, last.peer, last.label))
        return times is not None and len(times) == self._kept and times[-1] - times[0] <= MILLION + SLACK_US

    def _has_asked_before(self, node: NodeId, last: Inbound) -> bool:
        """Return whether an earlier request than the last has an answer that takes time, and has not left."""
        return self._open.get((node, last.peer), 0) > (last.label in PREPARED.values())

    def _fail(self, node: NodeId, what: str, **evidence: int | str) -> None:
        self.tally.fail(f"validator {node} refused {what}", validator=node, **evidence)
