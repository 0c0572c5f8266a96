"""Requests: a replica that lacks blocks asks for them in the right way, and asks nobody without end.

A replica asks for a snapshot if it learns of a final block that is `snapshot_gap_blocks` above its own and that it has
not executed. So the check finds this many blocks applied at once, of which the last was executed after its finality was
held and after the block before them was applied. Since then the replica has to have asked for a snapshot. A replica
asks each peer for a snapshot a few times, and then no more until it has applied a block.

When its timer runs out, a request for a block goes to the next validator: otherwise a replica would ask a dead peer for
ever. Paused replicas are not judged, nor requests that leave as several timers run out.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.rules.registry import RULES
from checker.checks.world import OfLives
from checker.results import CheckResult, ExitClass
from network.clock import MILLION
from network.events import Event, Handlers, OfLabels, Sent, TimerElapsed
from network.types import Micros, NodeId
from validators.events import BlockExecuted, BlockFinalized, CertificateHeld, SnapshotJoined

SNAPSHOT: Final = "SnapshotRequest"
BLOCK: Final = "BlockRequest"

ATTEMPTS: Final = 3
"""Requests for a snapshot that one peer gets at most, until the replica that asks applies a block."""


@dataclass(slots=True)
class _Batch:
    """Blocks that were applied in one instant: the time, the height below them, the last height.

    `is_late` says that the last block was executed after its finality was held.
    """

    at_us: Micros
    base: int
    height: int
    is_late: bool


@dataclass(slots=True)
class _CatchUp:
    """A replica since it last applied a block.

    Attributes:
        has_asked: Whether it asked for a snapshot.
        attempts: By peer the number of its requests for a snapshot.
        final: The blocks that it knows to be final, and has not applied.
        late: The blocks that it executed after it knew them to be final.
        batch: The blocks that it applied last, until they are judged.
    """

    has_asked: bool = False
    attempts: dict[NodeId, int] = field(default_factory=dict)
    final: dict[bytes, None] = field(default_factory=dict)
    late: dict[bytes, None] = field(default_factory=dict)
    batch: _Batch | None = None


@dataclass(slots=True)
class _Fetches:
    """The requests of a replica for blocks: by block the peer that was asked last, and the timers of an instant."""

    peers: dict[bytes, NodeId] = field(default_factory=dict)
    at_us: Micros = -1
    timers: dict[bytes, Micros] = field(default_factory=dict)


class Requests(Check):
    """A replica that is behind asks for a snapshot in time, asks no peer without end, and asks each peer in turn."""

    name = "requests"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._finality = RULES[run.engine].finality
        self._catch_ups = OfLives(run.world, lambda _node: _CatchUp(), each_start=True)
        self._fetches = OfLives(run.world, lambda _node: _Fetches(), each_start=True)
        plan = run.plan
        # Where both times are equal, a first request looks like a repeated request.
        self._again_us = plan.fetch_timeout_us if plan.fetch_timeout_us != plan.fetch_grace_us else -1

    @property
    def handlers(self) -> Handlers:
        """Finality, blocks, timers, and requests."""
        return {
            CertificateHeld: self.held,
            BlockExecuted: self.executed,
            BlockFinalized: self.finalized,
            SnapshotJoined: self.joined,
            TimerElapsed: self.elapsed,
            Sent: OfLabels((SNAPSHOT, BLOCK).__contains__, self.sent),
        }

    def not_asked(self) -> str:
        """Return a reason where no replica had to ask for anything twice."""
        self._judge_the_last()
        return "" if self.tally.compared else "no replica asked for a snapshot, or a second time for a block"

    def held(self, event: Event, held: CertificateHeld) -> None:
        """Note that a replica knows a block to be final."""
        if held.certificate == self._finality and (catch_up := self._catch_up(event)) is not None:
            catch_up.final[held.payload] = None

    def executed(self, event: Event, block: BlockExecuted) -> None:
        """Note a block that is executed after its finality was held."""
        catch_up = self._catch_up(event)
        if block.mode == "verify" and catch_up is not None and block.digest in catch_up.final:
            catch_up.late[block.digest] = None

    def finalized(self, event: Event, block: BlockFinalized) -> None:
        """Note a block that is applied."""
        if (catch_up := self._catch_up(event)) is None:
            return
        batch = catch_up.batch or _Batch(event.at_us, block.height - 1, 0, is_late=False)
        batch.height, batch.is_late = block.height, block.digest in catch_up.late
        catch_up.batch = batch
        catch_up.final.pop(block.digest, None)
        catch_up.attempts.clear()

    def joined(self, event: Event, _joined: SnapshotJoined) -> None:
        """Note that a replica asks for other blocks from now on."""
        if (fetches := self._fetches.get(event.node)) is not None:
            fetches.peers.clear()

    def elapsed(self, event: Event, timer: TimerElapsed) -> None:
        """Note that the timer for a block runs out, after which the block may be asked for."""
        fetches = self._fetches.get(event.node)
        match timer.key:
            case ("fetch", bytes() as digest) if fetches is not None:
                if fetches.at_us != event.at_us:
                    fetches.timers.clear()
                fetches.at_us = event.at_us
                fetches.timers[digest] = timer.asked_us

    def sent(self, event: Event, sent: Sent) -> None:
        """Judge a request."""
        if sent.label == BLOCK:
            self._ask_for_block(event, sent.destination)
        elif (catch_up := self._catch_ups.get(event.node)) is not None:
            # The blocks that it applied in this very instant came first.
            self._judge(event.node, catch_up)
            catch_up.has_asked = True
            count = catch_up.attempts[sent.destination] = catch_up.attempts.get(sent.destination, 0) + 1
            self.tally.require(
                count <= ATTEMPTS,
                f"replica {event.node} asked validator {sent.destination} for a snapshot {count} times before it "
                f"applied a block, expected at most {ATTEMPTS}",
                validator=event.node,
            )

    def finish(self) -> CheckResult:
        """Return the result."""
        self._judge_the_last()
        return self.tally.result(f"{self.tally.compared:,} requests were due, and went to the right peers")

    def _catch_up(self, event: Event) -> _CatchUp | None:
        """Return a replica since it last applied a block; the blocks of an earlier instant are judged."""
        catch_up = self._catch_ups.get(event.node)
        if catch_up is not None and catch_up.batch is not None and catch_up.batch.at_us < event.at_us:
            self._judge(event.node, catch_up)
        return catch_up

    def _judge_the_last(self) -> None:
        """Compare the blocks that were applied last, at the end of the run."""
        for node in self.run.honest:
            if (catch_up := self._catch_ups.get(node)) is not None:
                self._judge(node, catch_up)

    def _judge(self, node: NodeId, catch_up: _CatchUp) -> None:
        """Compare the blocks that a replica applied at once."""
        batch, gaps = catch_up.batch, self.run.plan.snapshot_gaps
        if batch is None:
            return
        if batch.is_late and batch.height - batch.base >= gaps[node]:
            self.tally.require(
                catch_up.has_asked,
                f"validator {node} executed {batch.height - batch.base} blocks up to height {batch.height}, which it "
                f"knew to be final, and sought no snapshot, {gaps[node]} blocks behind or more",
                validator=node,
                height=batch.height,
            )
        catch_up.batch, catch_up.has_asked = None, False
        catch_up.late.clear()

    def _ask_for_block(self, event: Event, peer: NodeId) -> None:
        """Judge a request for a block: it is for the block whose timer has just run out."""
        node, fetches = event.node, self._fetches.get(event.node)
        if fetches is None or fetches.at_us != event.at_us or self.run.world.is_paused(node):
            return
        for digest, asked_us in fetches.timers.items():
            before = fetches.peers.pop(digest, None)
            # Either of two timers in one instant may belong to the request.
            if len(fetches.timers) == 1:
                fetches.peers[digest] = peer
                if before is not None and asked_us == self._again_us:
                    self._compare_peer(event, before, peer)
        fetches.timers.clear()

    def _compare_peer(self, event: Event, before: NodeId, peer: NodeId) -> None:
        node, count = event.node, self.run.validators
        expected = next(each % count for each in range(before + 1, before + 3) if each % count != node)
        if self.run.world.has_cut_off(node, expected):
            # A request whose turn comes while its peer is cut off does not leave.
            return
        self.tally.require(
            peer == expected,
            f"replica {node} asked validator {peer} again for a block at {event.at_us / MILLION:.3f} s, expected "
            f"validator {expected}, the next one",
            validator=node,
            at_us=event.at_us,
        )
