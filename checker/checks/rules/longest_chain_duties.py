"""Duties of the longest chain: a block that stands on what a validator follows, and is better, is followed in time.

A block that waits longer than it has to costs a fork and no more: the next leader builds beside it. So this check reads
off the trace which blocks came to an honest validator from their honest leaders. One counts if it came undamaged, is
higher than the head, stands on a block that the validator has followed in this life or on its final one, and is of a
slot that the validator's clock had shown, or of the next one. A head at least as high is due when the dearest pieces of
work and some syncs could have been done.

Not judged are replicas that the plan pauses or slows, or whose disks it touches, those with a wrong clock, and runs
with a Byzantine validator, which may take the others' processors with a flood.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.observations import ORDINALS
from checker.record.run_directory import read_branches
from checker.results import CheckResult, ExitClass
from faults.events import Crashed
from network.clock import MILLION
from network.events import AlarmElapsed, Delivered, Event, Handlers, Sent, WorkFinished
from network.types import Micros, NodeId
from validators.consensus.longest_chain.kind import LONGEST_CHAIN, PROPOSE
from validators.events import BlockFinalized, Halted, HeadAdopted, SnapshotJoined, StoppedVoting, Voted
from validators.messages import BlockRelay

PROCESSOR: Final = "cpu"
WORKS: Final = 3
SYNCS: Final = 10
SPARE_US: Final = 200_000
"""Time for messages and signatures that wait before what is due."""

SLOTS_AHEAD: Final = 1


class _Relayed(NamedTuple):
    """A block on its way from its leader: its slot and height, and the checksum of the message."""

    slot: int
    height: int
    checksum: bytes


class _Came(NamedTuple):
    """A block that came to a validator: when, its height and its digest."""

    at_us: Micros
    node: NodeId
    height: int
    digest: bytes


@dataclass(slots=True)
class _Life:
    """One life of a validator: its slot and head, the blocks that it has followed, and those that came and wait."""

    slot: int = 0
    height: int = 0
    followed: dict[bytes, Micros] = field(default_factory=dict)
    waiting: list[_Came] = field(default_factory=list)

    @property
    def height_max(self) -> int:
        """The greatest height that waits."""
        return max((came.height for came in self.waiting), default=0)


class LongestChainDuties(Check):
    """A better block on what a validator follows is followed in the time that its execution takes."""

    name = "followed-blocks"
    exit_class: ClassVar[ExitClass] = "liveness"
    engines = (LONGEST_CHAIN.name,)
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        is_honest = sum(node < run.validators for node in run.honest) == run.validators
        self._judged = run.prompt_validators() if is_honest else {}
        self._lives: dict[NodeId, _Life] = {}
        self._proposed: dict[tuple[NodeId, int], bytes] = {}
        self._on_way: dict[tuple[NodeId, NodeId, int], _Relayed] = {}
        self._followed: list[tuple[_Came, Micros, dict[bytes, Micros]]] = []
        self._cost_us = 0

    @property
    def handlers(self) -> Handlers:
        """Blocks on their way, slots and heads."""
        return {
            Voted: self.voted,
            Sent: self.sent,
            Delivered: self.delivered,
            AlarmElapsed: self.reached,
            HeadAdopted: self.adopted,
            BlockFinalized: self.finalized,
            WorkFinished: self.worked,
            SnapshotJoined: self.joined,
            Crashed: self.crashed,
            Halted: self.gone,
            StoppedVoting: self.gone,
        }

    @property
    def is_asked(self) -> bool:
        """Return whether any block came to a validator that is judged, on what it followed."""
        return bool(self._due())

    def voted(self, event: Event, vote: Voted) -> None:
        """Note the block that a leader has sealed."""
        if vote.vote == PROPOSE:
            self._proposed[event.node, vote.view] = vote.payload

    def sent(self, event: Event, sent: Sent) -> None:
        """Follow a block that leaves its leader."""
        if sent.label == BlockRelay.traced_name and sent.view is not None and sent.height is not None:
            relayed = _Relayed(sent.view, sent.height, sent.checksum)
            self._on_way[event.node, sent.destination, sent.ordinal] = relayed

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Note a block that came as it was sent, if it has to be followed."""
        life = self._lives.get(event.node)
        if life is None or delivered.label != BlockRelay.traced_name:
            return
        relayed = self._on_way.get((delivered.source, event.node, delivered.ordinal & ORDINALS))
        if relayed is None or relayed.checksum != delivered.checksum:
            return
        digest = self._proposed.get((delivered.source, relayed.slot))
        if digest is not None and relayed.height > life.height and relayed.slot <= life.slot + SLOTS_AHEAD:
            life.waiting.append(_Came(event.at_us, event.node, relayed.height, digest))

    def reached(self, event: Event, alarm: AlarmElapsed) -> None:
        """Note the slot that a validator's clock has shown; leave out one whose clock is wrong."""
        if alarm.wall_us != event.at_us:
            self.gone(event, alarm)
        elif event.node in self._judged:
            slot = alarm.key[-1]
            assert isinstance(slot, int), "alarms of slots are the only ones"
            life = self._lives.setdefault(event.node, _Life())
            life.slot = max(life.slot, slot)

    def adopted(self, event: Event, head: HeadAdopted) -> None:
        """Note a head, and which blocks wait no more."""
        life = self._lives.get(event.node)
        if life is not None:
            life.height = head.height
            self._close(life, event.at_us, head.height)
            life.followed[head.digest] = event.at_us

    def finalized(self, event: Event, block: BlockFinalized) -> None:
        """Note a final block: what comes may stand on it."""
        life = self._lives.get(event.node)
        if life is not None:
            life.followed.setdefault(block.digest, event.at_us)

    def worked(self, _event: Event, work: WorkFinished) -> None:
        """Note the dearest piece of work."""
        if work.lane == PROCESSOR:
            self._cost_us = max(self._cost_us, work.base_us)

    def joined(self, event: Event, _joined: SnapshotJoined) -> None:
        """Begin anew on another state."""
        self._lives.pop(event.node, None)

    def crashed(self, event: Event, crashed: Crashed) -> None:
        """End a life; what waited in it is lost."""
        life = self._lives.pop(crashed.machine, None)
        if life is not None:
            self._close(life, event.at_us, life.height_max)

    def gone(self, event: Event, _event: Halted | StoppedVoting | AlarmElapsed) -> None:
        """Expect nothing more of a validator."""
        self._lives.pop(event.node, None)
        self._judged.pop(event.node, None)

    def finish(self) -> CheckResult:
        """Return the result."""
        allowed_us = WORKS * self._cost_us + SYNCS * self.run.plan.costs.sync_us + SPARE_US
        for came, followed_us in self._due():
            self.tally.compared += 1
            if followed_us - came.at_us > allowed_us:
                text = (
                    f"validator {came.node} was given a block of height {came.height} at {came.at_us / MILLION:.3f} s"
                )
                text += f" and followed none so high within {allowed_us // 1_000:,} ms"
                self.tally.fail(text, validator=came.node, height=came.height, at_us=came.at_us)
        return self.tally.result(f"{self.tally.compared:,} times a better block was followed in time")

    def _due(self) -> list[tuple[_Came, Micros]]:
        """Return the blocks that came on one that was followed by then, and when one as high was followed."""
        for life in self._lives.values():
            self._close(life, self.run.end.now_us, life.height_max)
        if self.run.end.record is None or not self._followed:
            return []
        parents = {branch.digest: branch.parent for _, branch in read_branches(self.run.end.record)}
        return [
            (came, at_us)
            for came, at_us, followed in self._followed
            if followed.get(parents.get(came.digest, b""), at_us + 1) <= came.at_us
        ]

    def _close(self, life: _Life, now_us: Micros, height: int) -> None:
        """Note the blocks up to a height, which wait no longer."""
        self._followed += [(came, now_us, life.followed) for came in life.waiting if came.height <= height]
        life.waiting = [came for came in life.waiting if came.height > height]
