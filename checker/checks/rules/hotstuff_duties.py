"""Duties of HotStuff: blocks, votes, certificates of the votes and timeouts that came, and views in which others are.

A leader that does not count what it got costs its view a wait, and another one makes the next block. So this check
reads off the trace what comes to an honest validator, and what has to follow from it:

| what comes | what has to follow |
|---|---|
| votes of a quorum for one block, its own counted | a certificate of that view or later, or the view after next |
| timeouts of a quorum, each its signer's latest, of the own view or a later one | the view after it |
| f + 1 others whose latest TIMEOUT names a later view | the (f + 1)-th highest of these views |
| the certificate of the view before, at a leader that has executed its block | a block of the view |
| such a block from its leader, in its view, at a replica that has executed the parent | a vote for it |
| the certificate of the last of three blocks in views on end, all executed | the first one is final |
| the same, below the highest certificate | the first one is final |

What follows is due when the dearest pieces of work and some syncs could have been done. A message counts if it is
undamaged. A leader has the block interval besides. Blocks and votes are not judged where the plan sets clocks, by which
a block may be too early. Not judged are replicas that the plan pauses or slows, or whose disks it touches, nor runs
with a Byzantine validator, which may take the others' processors with a flood.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.observations import ORDINALS
from checker.checks.rules.hotstuff import HOTSTUFF_RULES
from checker.checks.rules.hotstuff_chains import CertifiedChains, CertifiedTip
from checker.record.run_directory import read_branches
from checker.results import CheckResult, ExitClass
from faults.events import ClockSet, Crashed
from network.clock import MILLION
from network.events import Delivered, Event, Handlers, Sent, WorkFinished
from network.types import Micros, NodeId
from validators.consensus.hotstuff.kind import HOTSTUFF, VOTE_WORD
from validators.consensus.hotstuff.messages import BlockVote, ViewTimeout
from validators.events import (
    BlockExecuted,
    CertificateHeld,
    Entered,
    Halted,
    SnapshotJoined,
    StoppedVoting,
    Voted,
)
from validators.messages import BlockRelay

VOTE: Final = BlockVote.traced_name
COMMIT: Final = "commit"
RELAY: Final = BlockRelay.traced_name
COUNTED: Final = (VOTE, ViewTimeout.traced_name)
PROCESSOR: Final = "cpu"
WORKS: Final = 3
SYNCS: Final = 10
SPARE_US: Final = 200_000
"""Time for messages and signatures that wait before what is due."""

_PROOF_VIEWS: Final = 2
"""The certificate of a proof is at most so many views above the block that it makes final."""

_CERTIFICATE, _VIEW, _PROPOSAL, _VOTE, _FINAL = "certificate", "view", "proposal", "vote", "final"

_CHAIN: Final = 3
"""With as many certified blocks in views on end the first one is final, in two-chain as well."""

_EXECUTED_MAX: Final = 64
"""Of the blocks that a replica has executed so many last ones are remembered."""


class _OnWay(NamedTuple):
    """A message on its way: its kind, view and payload, and its checksum."""

    label: str
    view: int
    payload: bytes
    checksum: bytes


@dataclass(slots=True)
class _Life:
    """One life of a validator: its view, what came to it, and since when something is due."""

    view: int = 0
    votes: dict[tuple[int, bytes], dict[NodeId, None]] = field(default_factory=dict)
    latest: dict[NodeId, int] = field(default_factory=dict)
    due: dict[tuple[str, int], tuple[Micros, str]] = field(default_factory=dict)
    given_up: int = 0
    executed: dict[bytes, None] = field(default_factory=dict)
    parents: dict[int, bytes] = field(default_factory=dict)
    """By view the parent of its leader's block, which came and stands on a block of the view before."""
    passed_over: dict[int, None] = field(default_factory=dict)
    """Views whose blocks came too far ahead."""


class HotStuffDuties(Check):
    """Votes and timeouts of a quorum make a certificate, and f + 1 others in later views are followed, in time."""

    name = "counted-votes"
    exit_class: ClassVar[ExitClass] = "liveness"
    engines = (HOTSTUFF.name,)
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        is_honest = sum(node < run.validators for node in run.honest) == run.validators
        self._judged = run.prompt_validators() if is_honest and run.validators > 1 else {}
        self._faults = (run.validators - 1) // 3
        self._quorum = run.validators - self._faults
        self._own: dict[tuple[NodeId, str, int], bytes] = {}
        self._on_way: dict[tuple[NodeId, NodeId, int], _OnWay] = {}
        self._lives: dict[NodeId, _Life] = {}
        self._high: dict[NodeId, int] = {}
        """By validator the view of its highest certificate over all lives, which its journal keeps."""
        self._certified: dict[NodeId, tuple[int, bytes]] = {}
        """By validator the view and block of its highest certificate."""
        self._links: dict[int, None] = {}
        """Views whose leader's block stands on the one of the view before."""
        self._final: dict[NodeId, int] = {}
        self._chains = CertifiedChains(_CHAIN)
        self._is_punctual = True
        self._late: list[tuple[Micros, NodeId, Micros, str]] = []
        self._cost_us = 0

    @property
    def handlers(self) -> Handlers:
        """Votes on their way, and what comes of them."""
        return {
            Voted: self.voted,
            Sent: self.sent,
            Delivered: self.delivered,
            Entered: self.entered,
            CertificateHeld: self.held,
            BlockExecuted: self.executed,
            SnapshotJoined: self.joined,
            ClockSet: self.clock_set,
            WorkFinished: self.worked,
            Crashed: self.crashed,
            Halted: self.gone,
            StoppedVoting: self.gone,
        }

    def not_asked(self) -> str:
        """Return a reason where no vote of others came to a validator that is judged."""
        return "" if self.tally.compared else "no vote came to a validator that is judged"

    def voted(self, event: Event, vote: Voted) -> None:
        """Note what a validator signed: its message says no more than the view."""
        self._own[event.node, vote.vote, vote.view] = vote.payload
        life = self._lives.get(event.node)
        if life is None:
            return
        if vote.vote == VOTE_WORD:
            self._do(event, life, (_PROPOSAL, vote.view), (_VOTE, vote.view))
            self._owe_certificate(event, life, vote.view, vote.payload)
            return
        life.given_up = max(life.given_up, vote.view)
        self._close(event, life)
        life.latest[event.node] = max(life.latest.get(event.node, 0), vote.view)
        self._owe_end(event, life, vote.view)

    def sent(self, event: Event, sent: Sent) -> None:
        """Follow a message."""
        view = sent.view or 0
        if sent.label == RELAY:
            certified_view, parent = self._certified.get(event.node, (0, b""))
            if certified_view == view - 1 and self._leader_of(view) == event.node:
                self._links[view] = None
                self._on_way[event.node, sent.destination, sent.ordinal] = _OnWay(RELAY, view, parent, sent.checksum)
        elif sent.label in COUNTED and self._judged:
            payload = self._own.get((event.node, VOTE_WORD, view), b"") if sent.label == VOTE else b""
            self._on_way[event.node, sent.destination, sent.ordinal] = _OnWay(sent.label, view, payload, sent.checksum)

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Count a message that came as it was sent."""
        life = self._lives.get(event.node)
        if life is None or (delivered.label not in COUNTED and delivered.label != RELAY):
            return
        message = self._on_way.get((delivered.source, event.node, delivered.ordinal & ORDINALS))
        if message is None or message.checksum != delivered.checksum:
            return
        if message.label == RELAY:
            if message.view > life.view + self.run.view_retention:
                # So far ahead that only its certificate is taken in.
                life.passed_over[message.view] = None
                return
            life.parents[message.view] = message.payload
            self._owe_vote(event, life)
        elif message.label == VOTE:
            if life.view - 1 <= message.view <= life.view + 1:
                life.votes.setdefault((message.view, message.payload), {})[delivered.source] = None
                self._owe_certificate(event, life, message.view, message.payload)
        elif message.view >= life.view:
            life.latest[delivered.source] = max(life.latest.get(delivered.source, 0), message.view)
            self._owe_end(event, life, message.view)
            self._owe_following(event, life)

    def entered(self, event: Event, entered: Entered) -> None:
        """Begin a view: what was due in those before it has come, or is over."""
        if event.node in self._judged:
            life = self._lives.setdefault(event.node, _Life())
            life.view = entered.view
            self._close(event, life)
            life.votes = {key: signers for key, signers in life.votes.items() if key[0] >= entered.view - 1}
            life.parents = {view: parent for view, parent in life.parents.items() if view >= entered.view}
            self._owe_proposal(event, life)
            self._owe_vote(event, life)

    def executed(self, event: Event, block: BlockExecuted) -> None:
        """Note a block that another one may stand on."""
        self._chains.executed(block.digest, block.view)
        if (life := self._lives.get(event.node)) is not None:
            life.executed[block.digest] = None
            if len(life.executed) > _EXECUTED_MAX:
                del life.executed[next(iter(life.executed))]
            self._owe_proposal(event, life)
            self._owe_vote(event, life)
            self._owe_finality(event, life)

    def joined(self, event: Event, _joined: SnapshotJoined) -> None:
        """Begin anew on another state, without the blocks that were here before it."""
        if (life := self._lives.get(event.node)) is not None:
            life.executed.clear()
            life.parents.clear()
            self._chains.end(event.node, event.at_us)

    def clock_set(self, _event: Event, _clock: ClockSet) -> None:
        """Judge no more blocks and votes by the time."""
        self._is_punctual = False

    def held(self, event: Event, held: CertificateHeld) -> None:
        """Note the highest certificate of a block."""
        if held.certificate == "quorum-certificate":
            self._certified[event.node] = max(self._certified.get(event.node, (0, b"")), (held.view, held.payload))
        elif held.certificate == COMMIT:
            self._final[event.node] = max(self._final.get(event.node, 0), held.view)
            self._chains.made_final(event.node, event.at_us, held.view)
        if held.certificate != "timeout-certificate":
            above = _PROOF_VIEWS if held.certificate == COMMIT else 0
            self._high[event.node] = max(self._high.get(event.node, 0), held.view + above)
            if (life := self._lives.get(event.node)) is not None:
                self._close(event, life)
                self._owe_proposal(event, life)
                self._owe_finality(event, life)

    def worked(self, _event: Event, work: WorkFinished) -> None:
        """Note the dearest piece of work."""
        if work.lane == PROCESSOR:
            self._cost_us = max(self._cost_us, work.base_us)

    def crashed(self, event: Event, crashed: Crashed) -> None:
        """End a life."""
        self._end(crashed.machine, event.at_us)

    def gone(self, event: Event, _event: Halted | StoppedVoting) -> None:
        """Expect nothing more of a validator that is gone, or without a vote."""
        self._end(event.node, event.at_us)
        self._judged.pop(event.node, None)

    def finish(self) -> CheckResult:
        """Return the result."""
        for node in list(self._lives):
            self._end(node, self.run.end.now_us)
        self._judge_chains()
        allowed_us = WORKS * self._cost_us + SYNCS * self.run.plan.costs.sync_us + SPARE_US
        for late_us, node, since_us, what in self._late:
            if late_us > allowed_us:
                text = f"validator {node} {what}, due at {since_us / MILLION:.3f} s, within {allowed_us // 1_000:,} ms"
                self.tally.fail(text, validator=node, at_us=since_us)
        return self.tally.result(f"{self.tally.compared:,} times a certificate was made, or others were followed")

    def _judge_chains(self) -> None:
        if self.run.end.record is None:
            return
        parents = {branch.digest: branch.parent for _, branch in read_branches(self.run.end.record)}
        for moment, view, made_us in self._chains.find_due(parents):
            self.tally.compared += 1
            what = f"did not make the block of view {view}, below its highest certificate, final"
            self._late.append((made_us - moment.at_us, moment.node, moment.at_us, what))

    def _owe_certificate(self, event: Event, life: _Life, view: int, payload: bytes) -> None:
        own = self._own.get((event.node, VOTE_WORD, view)) == payload
        signers = life.votes.get((view, payload), {})
        if len(signers) + (own and event.node not in signers) >= self._quorum and view > self._high.get(event.node, 0):
            self._owe(event, life, (_CERTIFICATE, view), f"made no certificate of {self._quorum} votes of view {view}")

    def _owe_end(self, event: Event, life: _Life, view: int) -> None:
        timeouts = sum(latest == view for latest in life.latest.values())
        if timeouts >= self._quorum and view >= life.view:
            self._owe(event, life, (_VIEW, view + 1), f"did not leave view {view} by {timeouts} timeouts")

    def _owe_following(self, event: Event, life: _Life) -> None:
        views = sorted((view for node, view in life.latest.items() if node != event.node), reverse=True)
        if len(views) > self._faults and views[self._faults] > life.view:
            view = views[self._faults]
            self._owe(event, life, (_VIEW, view), f"did not follow {self._faults + 1} others to view {view}")

    def _owe_proposal(self, event: Event, life: _Life) -> None:
        """Note that a leader may propose, on the block of the view before, which it has executed."""
        node, view = event.node, life.view
        certified_view, parent = self._certified.get(node, (0, b""))
        if self._leader_of(view) == node and certified_view == view - 1 and self._may_vote(node, life, parent):
            self._owe(event, life, (_PROPOSAL, view), f"did not propose in view {view}, whose parent was certified")

    def _owe_vote(self, event: Event, life: _Life) -> None:
        """Note that a replica may vote for its leader's block; no lock can be above the view before."""
        node, view = event.node, life.view
        parent = life.parents.get(view)
        if parent is not None and self._leader_of(view) != node and self._may_vote(node, life, parent):
            self._owe(event, life, (_VOTE, view), f"did not vote for the block of its leader in view {view}")

    def _owe_finality(self, event: Event, life: _Life) -> None:
        """Note that a certificate ends a chain that makes its first block final."""
        view, digest = self._certified.get(event.node, (0, b""))
        if digest in life.executed:
            final_view = self._final.get(event.node, 0)
            self._chains.note(CertifiedTip(event.at_us, event.node, digest, final_view, life.passed_over))
        first = view - _CHAIN + 1
        is_chain = all(each in self._links for each in range(first + 1, view + 1))
        is_chain = is_chain and not any(each in life.passed_over for each in range(first, view + 1))
        if first > self._final.get(event.node, 0) and is_chain and digest in life.executed:
            self._owe(event, life, (_FINAL, first), f"did not make the block of view {first} final")

    def _may_vote(self, node: NodeId, life: _Life, parent: bytes) -> bool:
        is_free = life.given_up < life.view and (node, VOTE_WORD, life.view) not in self._own
        return self._is_punctual and is_free and parent in life.executed

    def _leader_of(self, view: int) -> NodeId | None:
        return HOTSTUFF_RULES.leader_of(view, self.run.validators, self.run.plan)

    def _owe(self, event: Event, life: _Life, key: tuple[str, int], what: str) -> None:
        if key not in life.due:
            self.tally.compared += 1
            life.due[key] = event.at_us, what

    def _close(self, event: Event, life: _Life) -> None:
        for what, view in list(life.due):
            if what == _VIEW:
                is_over = life.view >= view
            elif what == _FINAL:
                is_over = self._final.get(event.node, 0) >= view
            elif what == _CERTIFICATE:
                is_over = self._high.get(event.node, 0) >= view or life.view > view + 1
            elif what in (_PROPOSAL, _VOTE):
                is_over = life.view > view or life.given_up >= view
            else:
                raise ValueError(f"no duty of a view: {what!r}")
            if is_over:
                self._do(event, life, (what, view))

    def _do(self, event: Event, life: _Life, *keys: tuple[str, int]) -> None:
        for key in keys:
            if (due := life.due.pop(key, None)) is not None:
                self._note(event.node, due, event.at_us, key[0])

    def _note(self, node: NodeId, due: tuple[Micros, str], now_us: Micros, what: str) -> None:
        since_us, text = due
        paced_us = self.run.plan.block_interval_us if what == _PROPOSAL else 0
        if self._is_punctual or what not in (_PROPOSAL, _VOTE):
            self._late.append((now_us - since_us - paced_us, node, since_us, text))

    def _end(self, node: NodeId, now_us: Micros) -> None:
        life = self._lives.pop(node, None)
        self._chains.end(node, now_us)
        if life is not None:
            for (what, _), due in life.due.items():
                self._note(node, due, now_us, what)
