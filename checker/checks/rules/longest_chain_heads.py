"""Heads: every block that a validator follows is better than the one before, and above its final block.

Fork choice and depth are restated from the specification. A *better* block has a greater height or, of equal
heights, the lower digest; a start and a snapshot begin anew. A validator that takes a final block on trust has none of
its own, and takes it from the peer that named the greatest head of those whose answers had come a while ago, of equal
ones from the one with the lowest number. Observers choose alike; those that judge no block may have a final one.

A validator whose disk has a journal leads only after it has asked for heads and waited for the answers: what it had for
the head may have been left meanwhile, and a block on that would stand alone.
"""

from dataclasses import dataclass, field
from typing import Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.observations import ORDINALS, short
from checker.results import CheckResult
from faults.events import Restarted
from network.events import Delivered, Event, Handlers, Sent, TimerElapsed, WorkFinished
from validators.consensus.longest_chain.kind import PROPOSE
from validators.events import (
    BlockExecuted,
    BlockFinalized,
    Booted,
    HeadAdopted,
    Reported,
    SnapshotJoined,
    StoppedVoting,
    Voted,
)

TRUSTED: Final = "TrustedOnFirstSight"

PROCESSOR: Final = "cpu"

WORKS: Final = 3
"""An answer may wait for so many pieces of the dearest work."""

JOIN_TIMER: Final = ("consensus", "join")
"""The first parts of the key of the timer that ends a wait for heads; the last one counts the rounds."""

SPARE_US: Final = 200_000
"""An answer waits so long besides its signatures before it counts."""


@dataclass(slots=True)
class _Life:
    """One validator's head in one life, and over all lives its greatest height.

    The life's first head stands on the block at height `floor`, which is final by the disk or by the word of others.
    """

    height: int = 0
    digest: bytes = b""
    highest: int = 0
    floor: int = 0
    has_final: bool = False
    has_made_final: bool = False
    """Whether a block has become final in this life, by whatever journal."""
    named: dict[int, tuple[int, int]] = field(default_factory=dict)
    """By peer the height of the head that it named, and when."""
    asked_us: int = -1
    doubtful: dict[int, None] = field(default_factory=dict)
    """Peers whose answer to the last question may count for this one, as it had only just come."""
    executed: dict[bytes, None] = field(default_factory=dict)
    judges: bool = False
    """Whether a block was executed before it was followed: headers alone are not what this replica goes by."""


class FollowedHeads(Check):
    """A validator follows the greatest height, then the first digest; final is what is deep enough under its head."""

    name = "heads"
    engines = ("longest-chain",)
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._depth = run.finality_depth
        self._lives: dict[int, _Life] = {}
        self._on_way: dict[tuple[int, int, int], tuple[int, bytes]] = {}
        self._lost: dict[int, None] = {}
        self._recorded: dict[int, None] = {}
        """Validators that have something in their journals."""
        self._joining: dict[int, bool] = {}
        """Validators that have restarted with a journal and not heard of heads, and whether they serve again."""
        self._is_timed = len(run.honest) >= len(run.disks)
        self._hindered = run.plan.hindered()
        self._work_us = 0
        self._switches = 0
        self._abandoned = 0

    @property
    def handlers(self) -> Handlers:
        """Heads, final blocks and starts."""
        return {
            HeadAdopted: self.adopted,
            BlockExecuted: self.executed,
            BlockFinalized: self.finalized,
            WorkFinished: self.worked,
            SnapshotJoined: self.begun,
            Booted: self.begun,
            StoppedVoting: self.stopped,
            Sent: self.sent,
            Delivered: self.delivered,
            Reported: self.reported,
            Restarted: self.restarted,
            TimerElapsed: self.waited,
            Voted: self.voted,
        }

    def restarted(self, _event: Event, restarted: Restarted) -> None:
        """Begin a wait for heads; a journal that its disk may have lost need not make one wait."""
        if restarted.machine in self._recorded and restarted.machine not in self.run.disk_faults.destroyed:
            self._joining[restarted.machine] = False

    def waited(self, event: Event, timer: TimerElapsed) -> None:
        """End a wait for heads."""
        if event.node in self._joining and (*timer.key[:2],) == JOIN_TIMER:
            del self._joining[event.node]

    def voted(self, event: Event, vote: Voted) -> None:
        """Require of a validator that seals a block in a new life that it has waited for heads."""
        node = event.node
        if vote.vote != PROPOSE or self._joining.get(node) is False:
            # A start tells the seals of its journal before it serves.
            return
        deed = f"validator {node} sealed a block of slot {vote.view} after its start, and had not waited for heads"
        self._require(node not in self._joining, node, deed)
        self._recorded[node] = None

    def begun(self, event: Event, begun: Booted | SnapshotJoined) -> None:
        """Begin anew: what was followed has to be found again."""
        if event.node in self._joining:
            self._joining[event.node] = True
        before = self._life(event.node)
        # The journal may know of a final block that an earlier life had no time to apply.
        life = _Life(highest=before.highest)
        life.has_made_final = isinstance(begun, SnapshotJoined)
        life.has_final = life.has_made_final or (isinstance(begun, Booted) and begun.finalized_height > 0)
        self._lives[event.node] = life

    def stopped(self, event: Event, _stopped: StoppedVoting) -> None:
        """Note that a journal is lost, and with it what the validator knew of final blocks."""
        self._lost[event.node] = None

    def sent(self, event: Event, sent: Sent) -> None:
        """Begin a round of questions for heads, or follow an answer."""
        if sent.label == "HeadRequest":
            life = self._life(event.node)
            if life.asked_us != event.at_us:
                known_us = self._known_us(event.at_us)
                life.doubtful = {peer: None for peer, (_, at_us) in life.named.items() if at_us > known_us}
                life.asked_us = event.at_us
            life.named.clear()
        elif sent.label == "HeadResponse" and sent.height is not None:
            self._on_way[event.node, sent.destination, sent.ordinal] = sent.height, sent.checksum

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Note the first answer of a peer."""
        if delivered.label == "HeadResponse":
            key = delivered.source, event.node, delivered.ordinal & ORDINALS
            height, checksum = self._on_way.get(key, (0, b""))
            if checksum == delivered.checksum:
                self._life(event.node).named.setdefault(delivered.source, (height, event.at_us))

    def executed(self, event: Event, block: BlockExecuted) -> None:
        """Note a block that is executed, before it is followed or after it is final."""
        self._life(event.node).executed[block.digest] = None

    def worked(self, _event: Event, work: WorkFinished) -> None:
        """Note the dearest piece of work."""
        if work.lane == PROCESSOR:
            self._work_us = max(self._work_us, work.base_us)

    def reported(self, event: Event, report: Reported) -> None:
        """Judge whom a replica trusts."""
        if report.activity == TRUSTED:
            life = self._life(event.node)
            self._judge_trust(event, life, report.signer)
            # Blocks of its own disk may have been its head before: the next one stands on the block that it trusts.
            life.height, life.digest = 0, b""

    def _judge_trust(self, event: Event, life: _Life, peer: int) -> None:
        """Compare whom a replica trusts with the others that answered, and with what it had itself."""
        node = event.node
        place = f"validator {node} took the final block of validator {peer} on trust"
        if node < self.run.validators:
            had_one = life.has_final and node not in self._lost
        else:
            had_one = life.has_made_final and life.judges
        self._require(not had_one, node, f"{place}, and had one of its own")
        if not self._is_timed or peer not in life.named or peer in life.doubtful or node in self._hindered:
            return
        known_us = self._known_us(event.at_us)
        known = {
            each: height
            for each, (height, at_us) in life.named.items()
            if at_us <= known_us and each not in life.doubtful
        }
        own, greatest = life.named[peer][0], max(known.values(), default=0)
        self._require(own >= greatest, node, f"{place}, whose head was of height {own}; one of {greatest} was named")
        lower = [each for each, height in known.items() if each < peer and height == own]
        self._require(not lower, node, f"{place}, and validator {min(lower, default=0)} named a head as great")

    def _known_us(self, at_us: int) -> int:
        """Return until when an answer had to come to be known at a time."""
        costs = self.run.plan.costs
        verified_us = (self._depth + 2) * self.run.validators * costs.verify_signature_us
        return at_us - SPARE_US - verified_us - WORKS * self._work_us

    def adopted(self, event: Event, head: HeadAdopted) -> None:
        """Compare a head with the one before it."""
        life, node = self._life(event.node), event.node
        place = f"validator {node} follows block {short(head.digest)} of height {head.height} and slot {head.view}"
        is_better = head.height > life.height or (head.height == life.height and head.digest < life.digest)
        self._require(is_better, node, f"{place} after block {short(life.digest)} of height {life.height}")
        # Those that stand on the final block may all be left, and it may not.
        is_above = head.abandoned <= self._depth or not life.highest
        self._require(
            is_above, node, f"{place}, for which it left {head.abandoned} blocks, and is final {self._depth} deep"
        )
        self._switches += head.abandoned > 0
        self._abandoned = max(self._abandoned, head.abandoned)
        life.judges = life.judges or head.digest in life.executed
        life.floor = life.floor if life.digest else head.height - 1
        life.height, life.digest, life.highest = head.height, head.digest, max(life.highest, head.height)

    def finalized(self, event: Event, block: BlockFinalized) -> None:
        """Require the depth of a final block under the greatest head, if it is above what the life began with."""
        life = self._life(event.node)
        life.has_final = life.has_made_final = True
        self._recorded[event.node] = None
        if life.digest and life.highest > block.height > life.floor:
            self._require(
                block.height <= life.highest - self._depth,
                event.node,
                f"validator {event.node} made height {block.height} final under a head of height {life.highest}, "
                f"and a block is final {self._depth} deep",
            )

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(
            f"{self.tally.compared:,} heads and final blocks by the rules; {self._switches} switches, of up to "
            f"{self._abandoned} blocks, and a block is final {self._depth} deep",
            switches=self._switches,
            abandoned=self._abandoned,
            depth=self._depth,
        )

    def _life(self, node: int) -> _Life:
        return self._lives.setdefault(node, _Life())

    def _require(self, holds: bool, node: int, failure: str) -> None:  # noqa: FBT001 - what is judged
        self.tally.compared += 1
        if not holds:
            self.tally.fail(failure, validator=node)
