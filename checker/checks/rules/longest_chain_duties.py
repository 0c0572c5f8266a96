"""Duties of the longest chain: leaders seal blocks, and a better block on what a validator follows is followed in time.

A block that waits longer than it has to costs a fork and no more: the next leader builds beside it. So this check reads
off the trace which blocks came to an honest validator from their honest leaders. One counts if it came undamaged, is
higher than the head or, of equal height, has the lower digest, stands on a block that the validator has followed in
this life or on its final one, and is of a slot that its clock had shown, or of the next one; one of a later slot
counts from when that is the next one. A block that lost to one that was final as it came does not. A head that is as
good is due when the dearest pieces of work and some syncs could have been done, beside the blocks that were executed
meanwhile: of a branch the blocks below its end are executed first, and not followed for themselves.

A leader whose slot begins seals a block in the same time, unless its head is of that slot or a later one, and follows
it like those of others. After a restart it waits for heads first; whoever asks for a snapshot
waits for another state.

A question for heads is answered by a validator that has a head.

A block that is named by its leader's announcement, or by an answer to a question for heads, and does not come, is asked
for within the grace, the time that a peer has to answer a request that is under way, and the time above.

Not judged are replicas that the plan pauses or slows, or whose disks it touches, those with a wrong clock, and runs
with a Byzantine validator, which may take the others' processors with a flood.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.observations import ORDINALS
from checker.checks.rules.longest_chain_lives import Came, FollowerLife, Relayed
from checker.record.run_directory import read_branches
from checker.results import CheckResult, ExitClass
from faults.events import Crashed, Restarted
from network.clock import MILLION
from network.events import AlarmElapsed, Delivered, Event, Handlers, Sent, TimerElapsed, WorkFinished
from network.types import Micros, NodeId
from validators.consensus.longest_chain.kind import LONGEST_CHAIN, PROPOSE
from validators.consensus.longest_chain.messages import Announcement, HeadRequest, HeadResponse
from validators.events import (
    BlockExecuted,
    BlockFinalized,
    Entered,
    Halted,
    HeadAdopted,
    MessageRefused,
    SnapshotJoined,
    StoppedVoting,
    Voted,
)
from validators.messages import BlockRelay
from validators.sync.serving import UNDER_WAY

JOIN_TIMER: Final = ("consensus", "join")
"""The first parts of the key of the timer that ends a wait for heads."""
SNAPSHOT_REQUEST: Final = "SnapshotRequest"
BLOCK_REQUEST: Final = "BlockRequest"
QUESTION: Final = HeadRequest.traced_name
ANSWER: Final = HeadResponse.traced_name
ANNOUNCEMENT: Final = Announcement.traced_name
NAMING: Final = (ANNOUNCEMENT, ANSWER)
"""Messages that name a block and do not bring it."""
WATCHED: Final = (BlockRelay.traced_name, QUESTION, *NAMING)
PROCESSOR: Final = "cpu"
WORKS: Final = 3
SYNCS: Final = 10
SPARE_US: Final = 200_000
"""Time for messages and signatures that wait before what is due."""

SLOTS_AHEAD: Final = 1


class LongestChainDuties(Check):
    """A better block on what a validator follows is followed, and a slot is led, in the time that executions take."""

    name = "followed-blocks"
    exit_class: ClassVar[ExitClass] = "liveness"
    engines = (LONGEST_CHAIN.name,)
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        is_honest = sum(node < run.validators for node in run.honest) == run.validators
        self._judged = run.prompt_validators() if is_honest else {}
        self._lives: dict[NodeId, FollowerLife] = {}
        self._proposed: dict[tuple[NodeId, int], bytes] = {}
        self._on_way: dict[tuple[NodeId, NodeId, int], Relayed] = {}
        self._silent: dict[NodeId, bool] = {}
        """Validators that need not lead, and whether they ask for heads: others wait for another state."""
        self._acts: list[tuple[Micros, NodeId, Micros, str]] = []
        """Acts that were due: the time that each took beyond what it may take besides, whose, since when, and what."""
        self._followed: list[tuple[Came, Micros, int, dict[bytes, Micros]]] = []
        """The blocks that wait no more, until when each did, and what was executed and had been followed meanwhile."""
        self._cost_us = 0

    @property
    def handlers(self) -> Handlers:
        """Blocks on their way, slots and heads."""
        return {
            Voted: self.voted,
            Sent: self.sent,
            Delivered: self.delivered,
            MessageRefused: self.refused,
            AlarmElapsed: self.reached,
            Entered: self.entered,
            Restarted: self.restarted,
            TimerElapsed: self.waited,
            BlockExecuted: self.executed,
            HeadAdopted: self.adopted,
            BlockFinalized: self.finalized,
            WorkFinished: self.worked,
            SnapshotJoined: self.joined,
            Crashed: self.crashed,
            Halted: self.gone,
            StoppedVoting: self.gone,
        }

    def not_asked(self) -> str:
        """Return a reason where no validator that is judged led a slot, or got a block on what it followed."""
        self._end_lives()
        return "" if self._acts or self._due() else "no block came to a validator that is judged"

    def voted(self, event: Event, vote: Voted) -> None:
        """Note the block that a leader has sealed."""
        if vote.vote == PROPOSE:
            self._proposed[event.node, vote.view] = vote.payload
            if (life := self._lives.get(event.node)) is not None:
                self._end_turn(event.node, life, event.at_us)

    def sent(self, event: Event, sent: Sent) -> None:
        """Follow a block that leaves its leader."""
        if sent.label == SNAPSHOT_REQUEST:
            self._silent[event.node] = False
        elif sent.label == BlockRelay.traced_name and sent.view is not None and sent.height is not None:
            relayed = Relayed(sent.view, sent.height, sent.checksum)
            self._on_way[event.node, sent.destination, sent.ordinal] = relayed
            self._come(event, event.node, relayed)
        elif sent.label == ANSWER and (life := self._lives.get(event.node)) is not None:
            self._end_question(event.node, life, sent.destination, event.at_us)
        if sent.label == QUESTION or (sent.label in NAMING and sent.view is not None and sent.height is not None):
            relayed = Relayed(sent.view or 0, sent.height or 0, sent.checksum)
            self._on_way[event.node, sent.destination, sent.ordinal] = relayed
        elif sent.label == BLOCK_REQUEST and (life := self._lives.get(event.node)) is not None:
            self._end_naming(event.node, life, event.at_us, life.height_named)

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Note a block that came as it was sent, if it has to be followed."""
        life = self._lives.get(event.node)
        if life is None or delivered.label not in WATCHED:
            return
        relayed = self._on_way.get((delivered.source, event.node, delivered.ordinal & ORDINALS))
        if relayed is None or relayed.checksum != delivered.checksum:
            return
        if delivered.label == QUESTION:
            self._ask(event, life, delivered.source)
        elif delivered.label == BlockRelay.traced_name:
            self._come(event, delivered.source, relayed)
        elif self._silent.get(event.node, delivered.label == ANNOUNCEMENT):
            # One further up may be waited for, or joined from a snapshot; without a head so far none is known to be.
            is_near = life.height > 0 and relayed.height <= life.height + self.run.finality_depth
            is_of_use = relayed.height > life.height and relayed.slot <= life.slot + SLOTS_AHEAD
            if is_near and is_of_use:
                life.named.append(Came(event.at_us, event.node, relayed.height, b""))

    def _ask(self, event: Event, life: FollowerLife, peer: NodeId) -> None:
        """Note a question; one at a time for each peer, since answers are limited by the second."""
        if life.height and peer not in life.asked and event.at_us >= life.rests_us.get(peer, 0):
            life.asked[peer] = event.at_us
        life.rests_us[peer] = event.at_us + MILLION

    def refused(self, event: Event, refused: MessageRefused) -> None:
        """Note a question that came while another answer for the same peer is being put together."""
        life = self._lives.get(event.node)
        if life is not None and (refused.message, refused.reason) == (QUESTION, UNDER_WAY):
            life.asked = {peer: at_us for peer, at_us in life.asked.items() if at_us != event.at_us}

    def _come(self, event: Event, leader: NodeId, relayed: Relayed) -> None:
        """Note a block that is to be followed."""
        life = self._lives.get(event.node)
        digest = self._proposed.get((leader, relayed.slot))
        if life is None or digest is None:
            return
        if relayed.slot > life.slot + SLOTS_AHEAD:
            life.early.append((leader, relayed))
        if relayed.slot > life.slot + SLOTS_AHEAD or not life.is_better(relayed.height, digest):
            return
        if all(came.digest != digest for came in life.waiting):
            life.waiting.append(Came(event.at_us, event.node, relayed.height, digest, life.executed, life.final))

    def reached(self, event: Event, alarm: AlarmElapsed) -> None:
        """Note the slot that a validator's clock has shown; leave out one whose clock is wrong."""
        if alarm.wall_us != event.at_us:
            self.gone(event, alarm)
        elif event.node in self._judged:
            slot = alarm.key[-1]
            assert isinstance(slot, int), "alarms of slots are the only ones"
            life = self._lives.setdefault(event.node, FollowerLife())
            life.slot = max(life.slot, slot)
            early, life.early = life.early, []
            for leader, relayed in early:
                self._come(event, leader, relayed)

    def entered(self, event: Event, entered: Entered) -> None:
        """Begin a slot; its leader has to seal a block."""
        node = event.node
        life = self._lives.get(node)
        if life is None or entered.leader != node or node in self._silent:
            return
        self._end_turn(node, life, event.at_us)
        if life.head_slot < entered.view and (node, entered.view) not in self._proposed:
            life.turn = event.at_us, entered.view

    def restarted(self, _event: Event, restarted: Restarted) -> None:
        """Let a validator wait for heads before it leads."""
        self._silent[restarted.machine] = True

    def waited(self, event: Event, timer: TimerElapsed) -> None:
        """Note that heads were waited for."""
        if (*timer.key[:2],) == JOIN_TIMER:
            self._silent.pop(event.node, None)

    def executed(self, event: Event, _executed: BlockExecuted) -> None:
        """Count the blocks, another branch's among them, that keep a validator from what comes."""
        life = self._lives.get(event.node)
        if life is not None:
            life.executed += 1

    def adopted(self, event: Event, head: HeadAdopted) -> None:
        """Note a head, and which blocks wait no more."""
        life = self._lives.get(event.node)
        if life is not None:
            life.height, life.digest, life.head_slot = head.height, head.digest, head.view
            # Another block for its parent: what was under way may have been dropped.
            self._end_turn(event.node, life, event.at_us)
            self._end_naming(event.node, life, event.at_us, head.height)
            self._close(life, event.at_us)
            life.followed[head.digest] = event.at_us

    def finalized(self, event: Event, block: BlockFinalized) -> None:
        """Note a final block: what comes may stand on it."""
        life = self._lives.get(event.node)
        if life is not None:
            life.followed.setdefault(block.digest, event.at_us)
            life.final = block.digest

    def worked(self, _event: Event, work: WorkFinished) -> None:
        """Note the dearest piece of work."""
        if work.lane == PROCESSOR:
            self._cost_us = max(self._cost_us, work.base_us)

    def joined(self, event: Event, _joined: SnapshotJoined) -> None:
        """Begin anew on another state."""
        self._lives.pop(event.node, None)
        self._silent.pop(event.node, None)

    def crashed(self, event: Event, crashed: Crashed) -> None:
        """End a life; what waited in it is lost."""
        life = self._lives.pop(crashed.machine, None)
        if life is not None:
            self._end_life(crashed.machine, life, event.at_us)
            self._close(life, event.at_us, is_over=True)

    def gone(self, event: Event, _event: Halted | StoppedVoting | AlarmElapsed) -> None:
        """Expect nothing more of a validator."""
        self._lives.pop(event.node, None)
        self._judged.pop(event.node, None)

    def finish(self) -> CheckResult:
        """Return the result."""
        allowed_us = WORKS * self._cost_us + SYNCS * self.run.plan.costs.sync_us + SPARE_US
        self._end_lives()
        for over_us, node, at_us, what in self._acts:
            self.tally.compared += 1
            if over_us > allowed_us:
                text = f"validator {node} {what}, due at {at_us / MILLION:.3f} s, within {allowed_us // 1_000:,} ms"
                self.tally.fail(text, validator=node, at_us=at_us)
        for came, followed_us, executed in self._due():
            self.tally.compared += 1
            if followed_us - came.at_us > allowed_us + executed * self._cost_us:
                text = (
                    f"validator {came.node} was given a block of height {came.height} at {came.at_us / MILLION:.3f} s"
                )
                text += f" and followed none as good within {allowed_us // 1_000:,} ms"
                self.tally.fail(text, validator=came.node, height=came.height, at_us=came.at_us)
        return self.tally.result(
            f"{self.tally.compared:,} times a better block was followed in time, a slot led, or a head named"
        )

    def _due(self) -> list[tuple[Came, Micros, int]]:
        """Return the blocks that came on one that was followed by then, until when each waited, and executions."""
        for life in self._lives.values():
            self._close(life, self.run.end.now_us, is_over=True)
        if self.run.end.record is None or not self._followed:
            return []
        parents = {branch.digest: branch.parent for _, branch in read_branches(self.run.end.record)}
        return [
            (came, at_us, executed)
            for came, at_us, executed, followed in self._followed
            if followed.get(parents.get(came.digest, b""), at_us + 1) <= came.at_us and _stands_on_final(came, parents)
        ]

    def _end_lives(self) -> None:
        for node, life in self._lives.items():
            self._end_life(node, life, self.run.end.now_us)

    def _end_life(self, node: NodeId, life: FollowerLife, now_us: Micros) -> None:
        self._end_turn(node, life, now_us)
        self._end_naming(node, life, now_us, life.height_named)
        for peer in list(life.asked):
            self._end_question(node, life, peer, now_us)

    def _end_turn(self, node: NodeId, life: FollowerLife, now_us: Micros) -> None:
        if life.turn is not None:
            at_us, slot = life.turn
            self._act(node, at_us, now_us, f"sealed no block of slot {slot}")
            life.turn = None

    def _end_question(self, node: NodeId, life: FollowerLife, peer: NodeId, now_us: Micros) -> None:
        at_us = life.asked.pop(peer, None)
        if at_us is not None:
            self._act(node, at_us, now_us, f"did not name its head to replica {peer}")

    def _end_naming(self, node: NodeId, life: FollowerLife, now_us: Micros, height: int) -> None:
        grace_us = self.run.plan.fetch_grace_us + self.run.plan.fetch_timeout_us
        for came in life.named:
            if came.height <= height:
                what = f"neither followed a block of height {came.height}, which was named, nor asked for one"
                self._act(node, came.at_us, now_us - grace_us, what)
        life.named = [came for came in life.named if came.height > height]

    def _act(self, node: NodeId, due_us: Micros, now_us: Micros, what: str) -> None:
        self._acts.append((now_us - due_us, node, due_us, what))

    def _close(self, life: FollowerLife, now_us: Micros, *, is_over: bool = False) -> None:
        """Note the blocks that the head is as good as, or all as a life is over: they wait no longer."""
        waiting, life.waiting = life.waiting, []
        for came in waiting:
            if is_over or not life.is_better(came.height, came.digest):
                self._followed.append((came, now_us, life.executed - came.executed, life.followed))
            else:
                life.waiting.append(came)


def _stands_on_final(came: Came, parents: Mapping[bytes, bytes]) -> bool:
    """Return whether a block stands on what was final as it came; before anything was, on what was followed."""
    digest, steps = came.digest, 0
    while came.final and digest != came.final:
        # No branch is longer than a run, and a step takes a parent that was executed.
        if digest not in parents or steps > len(parents):
            return False
        digest, steps = parents[digest], steps + 1
    return True
