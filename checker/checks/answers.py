"""Answers: a peer is sent what it asked for, no block that it has, and no snapshot that is too old for it.

What goes out beside it costs bytes and no more, and an old snapshot is followed by a second one. The trace says at what
height a replica is, so what it wants is known as it asks; what it is sent is found again in the chain by its checksum.

An answer is to the last request of that peer that came undamaged and was not refused, since one at a time is prepared.
Replicas that the plan pauses take their messages later, and their answers are not judged. One that has joined from a
snapshot, or has asked all in vain, asks for no other before it has applied a block: by then that would be old again.
"""

import hashlib
from typing import ClassVar, Final, NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.observations import ORDINALS
from checker.checks.rules.registry import RULES
from checker.checks.sought_snapshots import SoughtSnapshots
from checker.results import CheckResult, ExitClass
from faults.events import Crashed
from network.events import Delivered, Event, Handlers, OfLabels, Sent
from network.types import Micros, NodeId
from validators.consensus.registry import ENGINES
from validators.events import (
    BlockExecuted,
    BlockFinalized,
    Booted,
    CertificateHeld,
    Halted,
    MessageRefused,
    SnapshotJoined,
)
from validators.messages import BLOCKS_PER_RESPONSE, BlockResponse, message_codec

BLOCKS: Final = "BlockRequest"
SNAPSHOT: Final = "SnapshotRequest"
ANSWERED: Final = {"BlockResponse": BLOCKS, "SnapshotOffer": SNAPSHOT}
"""Answers, and the request that each is to."""

_REQUESTS: Final = (BLOCKS, SNAPSHOT)
_WATCHED: Final = (*_REQUESTS, *ANSWERED)

ATTEMPTS: Final = 3
"""Requests for a snapshot that one peer gets at most, until the replica that asks applies a block."""

CHECKSUM_BYTES: Final = 8
FRAME_BYTES: Final = 16
BLOCK_FRAME_BYTES: Final = 5
"""The most that a message adds to the lengths of its blocks, and to each of them."""


class _Asked(NamedTuple):
    """A request on its way: the height that its sender has, and its checksum."""

    height: int
    checksum: bytes


class _Taken(NamedTuple):
    """A request as it was taken: the heights of the replica that asked, and of the one that answers."""

    asker_height: int
    own_height: int


class _Answer(NamedTuple):
    """An answer with blocks: who gave it, the height of its first block, and the one that the peer had."""

    node: NodeId
    top: int
    floor: int
    length: int
    checksum: bytes


class NeededAnswers(Check):
    """An answer holds no block that its receiver has, and an offered snapshot is young; a joiner needs no second."""

    name = "answers"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._paused = run.plan.paused()
        self._heights: dict[NodeId, int] = {}
        self._on_way: dict[tuple[NodeId, NodeId, str, int], _Asked] = {}
        self._taken: dict[tuple[NodeId, NodeId, str], _Taken] = {}
        self._last: dict[NodeId, tuple[Micros, NodeId, str, _Taken | None]] = {}
        self._answers: list[_Answer] = []
        self._joined: dict[NodeId, int] = {}
        self._attempts: dict[NodeId, dict[NodeId, int]] = {}
        self._joining = SoughtSnapshots(self.tally, RULES[run.engine].finality, run.plan.snapshot_gaps)

    @property
    def handlers(self) -> Handlers:
        """Heights, requests and answers."""
        return {
            Booted: self.booted,
            BlockFinalized: self.finalized,
            SnapshotJoined: self.joined,
            Crashed: self.crashed,
            Halted: self.halted,
            CertificateHeld: self._joining.hold,
            BlockExecuted: self._joining.execute,
            Sent: OfLabels(_WATCHED.__contains__, self.sent),
            Delivered: OfLabels(_REQUESTS.__contains__, self.delivered),
            MessageRefused: self.refused,
        }

    def not_asked(self) -> str:
        """Return a reason where nothing was answered that can be judged."""
        is_asked = (
            self.tally.compared
            or self._joining.has_failed
            or any(self._find_length(answer) for answer in self._answers)
        )
        return "" if is_asked else "no request was answered"

    def booted(self, event: Event, booted: Booted) -> None:
        """Note the height at a start."""
        self._heights[event.node] = booted.finalized_height
        self._joining.boot(event.node)
        self._attempts.pop(event.node, None)

    def finalized(self, event: Event, block: BlockFinalized) -> None:
        """Note a height."""
        self._joining.finalize(event, block)
        self._heights[event.node] = block.height
        self._joined.pop(event.node, None)
        self._attempts.pop(event.node, None)

    def joined(self, event: Event, joined: SnapshotJoined) -> None:
        """Note a height that came with a snapshot."""
        self._joining.join(event.node)
        self._heights[event.node] = self._joined[event.node] = joined.height

    def crashed(self, _event: Event, crashed: Crashed) -> None:
        """Forget what a replica was to answer."""
        self._joining.forget(crashed.machine)
        self._joined.pop(crashed.machine, None)
        self._taken = {key: taken for key, taken in self._taken.items() if key[0] != crashed.machine}

    def halted(self, event: Event, _halted: Halted) -> None:
        """Expect nothing of a replica that has stopped."""
        self._joining.forget(event.node)

    def sent(self, event: Event, sent: Sent) -> None:
        """Note a request, or compare an answer with the one that it is to."""
        node, label = event.node, sent.label
        if label in _REQUESTS:
            asked = _Asked(self._heights.get(node, 0), sent.checksum)
            self._on_way[node, sent.destination, label, sent.ordinal] = asked
            if label == SNAPSHOT:
                self.tally.require(
                    node not in self._joined,
                    f"validator {node} joined from a snapshot, and asked for another one before it applied a block",
                    validator=node,
                )
                self._count_attempt(node, sent.destination)
                self._joining.ask(node)
        elif sent.height is not None and node not in self._paused:
            taken = self._taken.pop((node, sent.destination, ANSWERED[label]), None)
            if taken is not None and label == "BlockResponse":
                self._answers.append(_Answer(node, sent.height, taken.asker_height, sent.length, sent.checksum))
            elif taken is not None:
                self._compare_offer(node, sent, taken)

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Note a request that comes undamaged."""
        peer, label = delivered.source, delivered.label
        asked = self._on_way.get((peer, event.node, label, delivered.ordinal & ORDINALS))
        if asked is not None and asked.checksum == delivered.checksum:
            key = event.node, peer, label
            self._last[event.node] = event.at_us, peer, label, self._taken.get(key)
            self._taken[key] = _Taken(asked.height, self._heights.get(event.node, 0))

    def refused(self, event: Event, refused: MessageRefused) -> None:
        """Take back a request that was refused as it came."""
        self._joining.refuse(event, refused)
        at_us, peer, label, before = self._last.get(event.node, (-1, -1, "", None))
        if (at_us, label) == (event.at_us, refused.message):
            del self._last[event.node]
            self._taken.pop((event.node, peer, label), None)
            if before is not None:
                self._taken[event.node, peer, label] = before

    def finish(self) -> CheckResult:
        """Return the result."""
        self._joining.finish()
        for answer in self._answers:
            length = self._find_length(answer)
            # The block that was asked for goes out, whatever else the peer has.
            allowed = max(answer.top - answer.floor, 1)
            self.tally.compared += length > 0
            if length > allowed:
                self.tally.fail(
                    f"validator {answer.node} sent {length} blocks from height {answer.top} down to a peer that has "
                    f"those up to height {answer.floor}, {allowed} would have been needed",
                    validator=answer.node,
                    height=answer.top,
                )
        return self.tally.result(f"{self.tally.compared:,} answers held what was asked for and no more")

    def _count_attempt(self, node: NodeId, peer: NodeId) -> None:
        """Compare how often a peer is asked for a snapshot before the next block is applied."""
        attempts = self._attempts.setdefault(node, {})
        attempts[peer] = attempts.get(peer, 0) + 1
        self.tally.require(
            attempts[peer] <= ATTEMPTS,
            f"validator {node} asked validator {peer} for a snapshot for the {attempts[peer]}th time before it applied "
            "a block",
            validator=node,
        )

    def _compare_offer(self, node: NodeId, sent: Sent, taken: _Taken) -> None:
        height, gap = sent.height or 0, self.run.plan.snapshot_gap_blocks
        self.tally.compared += 1
        if height <= taken.asker_height:
            text = f"offered a snapshot at height {height} to a peer at height {taken.asker_height}"
            self.tally.fail(f"validator {node} {text}", validator=node, height=height)
        elif taken.own_height - height >= gap:
            text = f"offered a snapshot at height {height} as it was at height {taken.own_height}, {gap} or more above"
            self.tally.fail(f"validator {node} {text}", validator=node, height=height)

    def _find_length(self, answer: _Answer) -> int:
        """Return the number of blocks of an answer; 0 where it does not go down the final chain."""
        blocks: list[bytes] = []
        for height in range(answer.top, max(answer.top - BLOCKS_PER_RESPONSE, 0), -1):
            if height > len(self.run.chain):
                return 0
            blocks.append(self.run.chain[height - 1].encoded)
            spare_bytes = answer.length - sum(map(len, blocks))
            if spare_bytes < 0:
                return 0
            # The codec is asked only where the length may fit.
            if spare_bytes <= FRAME_BYTES + BLOCK_FRAME_BYTES * len(blocks):
                message = message_codec(ENGINES[self.run.engine]).encode(BlockResponse(tuple(blocks)))
                if hashlib.blake2b(message, digest_size=CHECKSUM_BYTES).digest() == answer.checksum:
                    return len(blocks)
        return 0
