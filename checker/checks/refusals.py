"""Refusals: an honest validator takes what an honest one sent, unless the message was damaged or a limit says no.

A refusal of something sound costs time and shows nowhere else, because another message, peer or leader makes up for it.
Validators trace each refusal with its reason. `EXCUSES` are the reasons that blame no validator, each with what has to
be true of the run for it to hold; every other reason says that a validator broke a rule. What a validator refuses as it
takes it from its inbox is the message that came last: handling takes no time. A message is undamaged when it came with
the checksum with which it was sent; a copy of one is not judged.

Not asked here: the roots of a block (`equal-roots` compares them), what clients submit, and proposals where a validator
of the plan is Byzantine, because a reason does not name the block.
"""

import re
from collections import deque
from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.observations import ORDINALS
from checker.results import CheckResult, ExitClass
from faults.events import ClockSet, Crashed, TransactionSubmitted
from network.events import AlarmElapsed, Delivered, Dropped, Event, Handlers, Lost, Sent, TimerElapsed, WorkFinished
from validators.consensus.registry import ENGINES
from validators.events import Booted, MessageRefused

SECOND_US: Final = 1_000_000

SECOND_SLACK_US: Final = SECOND_US
"""The second of a limit is one of the machine's own clock and begins with its first answer: this much longer may be."""

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
        messages: The words that the refusal has for the message; all of them where there is none.
        prefix: The beginning of the reason, after `of validator N: ` where it has that.
        holds: What has to be true for it, by the name of a method of `Refusals`; empty where nothing has.
        why: The sentence of docs/invariants.md.
    """

    messages: tuple[str, ...]
    prefix: str
    holds: str
    why: str


TRANSACTION: Final = "transaction"
"""The word of a refusal that clients get as well."""

EXCUSES: Final = (
    Excuse((), "recovering", "is_starting", "a validator that reads its disk takes nothing"),
    Excuse(REQUESTS, "TooManyAnswers", "has_asked_often", "the limit of a second"),
    Excuse(REQUESTS, "AnswerUnderWay", "has_asked_before", "one answer at a time for each peer"),
    Excuse(("snapshot",), "was not asked for", "is_not_awaited", "an answer may come when it is not needed any more"),
    Excuse(("snapshot",), "piece was not asked for", "is_not_awaited", "an answer may come when another is awaited"),
    Excuse(("snapshot",), "unanswered", "is_unanswered", "a request or its answer may be lost, or late"),
    Excuse(("snapshot",), "header: height", "", "the joiner may have come further meanwhile"),
    Excuse(PURPOSES, "lies on a branch that lost", "", "a block may come when another one is final"),
    Excuse(PURPOSES, "time ", "is_clock_wrong", "a header's time is read from the leader's clock"),
    *(Excuse(PURPOSES, f"{root}_root", "", "`equal-roots` compares roots") for root in ("state", "tx", "receipts")),
)
"""The reasons for a refusal that blame no sender."""


class _Inbound(NamedTuple):
    """The event that a validator got last; `peer` is -1 where it is no message."""

    peer: int = -1
    kind: str = ""
    is_whole: bool = False


class _Joiner(NamedTuple):
    """The peer that a joiner asked last and for what, whether what came last can only be the answer to that.

    `has_had_one` says that an answer of that sort has come since: to an earlier request, or to this one.
    """

    peer: int
    request: str
    is_answered: bool = False
    has_had_one: bool = False


_NOT_YET: Final = _Inbound()

_NAMED: Final = re.compile(r"of validator (\d+): (.*)", re.DOTALL)
"""A refusal of a part of a snapshot, which names who gave it."""


class Refusals(Check):
    """No honest validator refuses what an honest one sent undamaged, but for the reasons that blame no validator."""

    name = "refusals"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._honest = dict.fromkeys(run.honest)
        self._has_byzantine = len([node for node in run.honest if node < run.validators]) < run.validators
        self._paused = run.plan.paused()
        self._sent: dict[tuple[int, int], dict[int, bytes]] = {}
        self._last: dict[int, _Inbound] = {}
        self._harmed: dict[tuple[int, int], None] = {}
        self._joiners: dict[int, _Joiner] = {}
        self._unanswered: dict[tuple[int, int], int] = {}
        self._copied: dict[tuple[int, int], None] = {}
        self._open: dict[tuple[int, int], int] = {}
        self._requests: dict[tuple[int, int, str], deque[int]] = {}
        self._is_up: dict[int, None] = {}
        self._is_clock_wrong = False
        self._excused = 0
        self._kept = run.plan.costs.answers_per_second + 1
        self._holds: dict[str, Callable[[int, _Inbound], bool]] = {
            "is_starting": lambda node, _last: node not in self._is_up,
            "has_asked_often": self._has_asked_often,
            "has_asked_before": self._has_asked_before,
            "is_not_awaited": self._is_not_awaited,
            "is_unanswered": lambda node, last: self._unanswered.get((node, last.peer), 0) > 0,
            "is_clock_wrong": lambda _node, _last: self._is_clock_wrong or self._has_byzantine,
        }

    @property
    def handlers(self) -> Handlers:
        """Messages, all else that a validator gets, and refusals."""
        return {
            Sent: self.sent,
            Delivered: self.delivered,
            Dropped: self.dropped,
            Lost: self.lost,
            TimerElapsed: self.got_other,
            AlarmElapsed: self.got_other,
            WorkFinished: self.got_other,
            TransactionSubmitted: self.submitted,
            Booted: self.booted,
            Crashed: self.crashed,
            ClockSet: self.clock_set,
            MessageRefused: self.refused,
        }

    def not_asked(self) -> str:
        """Return a reason where there are no two honest replicas."""
        return "" if len(self._honest) > 1 else "there is no other honest replica"

    def sent(self, event: Event, sent: Sent) -> None:
        """Note what a message was when it left, and what is asked and answered."""
        link = (event.node, sent.destination)
        self._sent.setdefault(link, {})[sent.ordinal] = sent.checksum
        if sent.label in PREPARED:
            self._open[link] = 0
        elif sent.label in SNAPSHOTS:
            self._unanswered[link] = self._unanswered.get(link, 0) + 1
            self._joiners[event.node] = _Joiner(sent.destination, sent.label)

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Note the message that a validator got last, and whether it is as it was sent."""
        node, peer, kind = event.node, delivered.source, delivered.label
        sent = self._sent.get((peer, node))
        is_whole = sent is not None and sent.pop(delivered.ordinal, None) == delivered.checksum
        self._last[node] = _Inbound(peer, kind, is_whole)
        if is_whole:
            self.tally.compared += 1
        elif peer in self._honest:
            self._harmed[node, peer] = None
        self._note_answer(node, peer, delivered)
        if kind in REQUESTS:
            times = self._requests.setdefault((node, peer, kind), deque(maxlen=self._kept))
            times.append(event.at_us)
        if kind in PREPARED.values():
            self._open[node, peer] = self._open.get((node, peer), 0) + 1

    def dropped(self, event: Event, dropped: Dropped) -> None:
        """Forget a message that does not arrive."""
        self._sent.get((event.node, dropped.destination), {}).pop(dropped.ordinal, None)

    def lost(self, event: Event, lost: Lost) -> None:
        """Forget a message that was lost on its way."""
        self._sent.get((lost.source, event.node), {}).pop(lost.ordinal, None)

    def got_other(self, event: Event, _other: AlarmElapsed | TimerElapsed | WorkFinished) -> None:
        """Note that what a validator got last is no message."""
        self._last[event.node] = _NOT_YET

    def submitted(self, _event: Event, submitted: TransactionSubmitted) -> None:
        """Note that a client was the last."""
        self._last[submitted.validator] = _NOT_YET

    def booted(self, event: Event, _booted: Booted) -> None:
        """Note that a validator takes messages from now on."""
        self._is_up[event.node] = None

    def crashed(self, _event: Event, crashed: Crashed) -> None:
        """Note that a validator has forgotten what it has answered."""
        self._is_up.pop(crashed.machine, None)
        self._joiners.pop(crashed.machine, None)

    def clock_set(self, _event: Event, _clock: ClockSet) -> None:
        """Note that times in headers may be wrong from now on."""
        self._is_clock_wrong = True

    def refused(self, event: Event, refused: MessageRefused) -> None:
        """Judge a refusal."""
        node, last, reason = event.node, self._last.get(event.node, _NOT_YET), refused.reason
        if named := _NAMED.fullmatch(reason):
            last, reason = last._replace(peer=int(named[1])), named[2]
            last = last._replace(is_whole=(node, last.peer) not in self._harmed)
            # It turns to the next peer, or gives up: what still comes of this one is late.
            self._joiners.pop(node, None)
        if self._is_excused(node, last, refused.message, reason):
            self._excused += 1
        elif refused.message in PURPOSES:
            self._fail(node, f"a block that it had to {refused.message}, and all proposers are honest: {reason}")
        else:
            what = f"{refused.message} of validator {last.peer}, which came as it was sent: {reason}"
            self._fail(node, what, peer=last.peer, message=refused.message)

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(
            f"{self.tally.compared:,} messages of honest validators were taken as they were sent; "
            f"{self._excused:,} refusals blame no honest one"
        )

    def _is_excused(self, node: int, last: _Inbound, message: str, reason: str) -> bool:
        """Return whether a refusal blames no validator, or may blame a Byzantine validator, a client or a fault."""
        for excuse in EXCUSES:
            is_meant = reason.startswith(excuse.prefix) and (message in excuse.messages or not excuse.messages)
            if is_meant and (not excuse.holds or node in self._paused or self._holds[excuse.holds](node, last)):
                return True
        if message in PURPOSES:
            return self._has_byzantine
        if node in self._paused:
            # It may handle what came long ago, a client's transaction too.
            is_of_client = message == TRANSACTION
            return is_of_client or self._has_byzantine or any(receiver == node for receiver, _ in self._harmed)
        return last.peer not in self._honest or not last.is_whole

    def _note_answer(self, node: int, peer: int, delivered: Delivered) -> None:
        """Note whether what comes can only be the answer to the last request of a joiner: all others had theirs."""
        request = PREPARED.get(delivered.label, delivered.label)
        if request not in SNAPSHOTS:
            return
        link = (node, peer) if delivered.label in PREPARED else (peer, node)
        if delivered.ordinal > ORDINALS:
            # Two requests have two answers then, and two answers come to one request.
            self._copied[link] = None
        if delivered.label in PREPARED and link in self._unanswered:
            left, joiner = self._unanswered[link], self._joiners.get(node)
            self._unanswered[link] = max(left - 1, 0)
            if joiner is not None:
                is_meant = (joiner.peer, joiner.request) == (peer, request)
                # Asked twice for one piece, it has what it asked for with the first answer, and refuses the second.
                is_last = is_meant and left == 1 and not joiner.has_had_one and link not in self._copied
                self._joiners[node] = joiner._replace(is_answered=is_last, has_had_one=joiner.has_had_one or is_meant)

    def _is_not_awaited(self, node: int, last: _Inbound) -> bool:
        """Return whether the peer was asked once, and another answer is awaited, or none any more."""
        joiner = self._joiners.get(node)
        return (node, last.peer) in self._unanswered and (joiner is None or not joiner.is_answered)

    def _has_asked_often(self, node: int, last: _Inbound) -> bool:
        """Return whether the peer has asked more often than is answered, within a second of any clock."""
        times = self._requests.get((node, last.peer, last.kind))
        return times is not None and len(times) == self._kept and times[-1] - times[0] <= SECOND_US + SECOND_SLACK_US

    def _has_asked_before(self, node: int, last: _Inbound) -> bool:
        """Return whether an earlier request than the last has an answer that takes time, and has not left."""
        return self._open.get((node, last.peer), 0) > (last.kind in PREPARED.values())

    def _fail(self, node: int, what: str, **evidence: int | str) -> None:
        self.tally.fail(f"validator {node} refused {what}", validator=node, **evidence)
