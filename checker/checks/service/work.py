"""Work: each piece of work takes the time of the price list, and no act uses an execution before it is over.

A result that is used too early, or needless work, makes a replica faster or slower than its machine: no other replica
contradicts it. The trace has the price of each piece of work as it ends.

- A sync of the disk costs `sync_us`, a pruning of the journal two syncs, 1 us at least.
- An execution, to propose or to verify, is reported as its work ends. It costs `block_us`, cycles, writes, and at most
  the signatures of the block (K-43). Only final blocks have a known price; an outside application's blocks have none.
- A replica that serves reads each message with blocks, transactions or a snapshot of 1 KiB or more before its processor
  rests again; this work costs `decode_kib_us` for each whole KiB.

A vote for a valid block and the block's finality come after its execution, over all lives. Paused replicas read ends of
work later, and are not judged.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.checks.rules.registry import RULES
from checker.checks.world import OfLives
from checker.observations import short
from checker.results import CheckResult, ExitClass
from network.clock import MILLION
from network.events import Delivered, Event, Handlers, OfLabels, WorkFinished
from network.types import Micros, NodeId
from validators.events import DIVERGED, BlockExecuted, BlockFinalized, PeerBlocked, Voted

PROCESSOR: Final = "cpu"
DISK: Final = "disk"
PRUNING: Final = "pruning"
"""Resources of a machine."""

CYCLES_BEGUN: Final = 1_000
"""So many cycles, once begun, cost `execute_us`."""

TIMED: Final = ("propose", "verify")
"""Modes of executions that are reported as their time is over."""

KIB: Final = 1_024
_LARGE: Final = ("BlockRelay", "BlockResponse", "TransactionGossip", "SnapshotOffer", "SnapshotChunk")
"""Messages that may have 1 KiB or more with any engine."""


class _Price(NamedTuple):
    """The price of a block's execution without signatures, and the number of its signatures: the most it may add."""

    least_us: Micros
    signatures: int


class _Execution(NamedTuple):
    """The end of an execution, and the prices of the work that ended in that instant."""

    event: Event
    prices: tuple[Micros, ...]


class _Read(NamedTuple):
    """A message that came, and the price of reading it."""

    at_us: Micros
    source: NodeId
    label: str
    price_us: Micros


@dataclass(slots=True)
class _Processor:
    """A replica's processor in a life: the time and the prices of its last work, and the messages to be read."""

    worked_us: Micros = -1
    prices: tuple[Micros, ...] = ()
    unread: list[_Read] = field(default_factory=list)


class PricedWork(Check):
    """Work takes the time of the price list, and no block is voted for or final before its execution is over."""

    name = "work"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._costs = run.plan.costs
        self._has_prices = "tables" in run.offers
        self._accepts_block = RULES[run.engine].accepts_block
        self._executed: dict[NodeId, dict[bytes, None]] = {}
        self._prices: dict[bytes, _Price] = {}
        self._open: dict[bytes, list[_Execution]] = {}
        self._processors = OfLives(run.world, lambda _node: _Processor())

    @property
    def handlers(self) -> Handlers:
        """Ends of work, and the acts that use its result."""
        return {
            WorkFinished: self.finished,
            BlockExecuted: self.executed,
            Voted: self.voted,
            BlockFinalized: self.finalized,
            Delivered: OfLabels(_LARGE.__contains__, self.delivered),
            PeerBlocked: self.blocked,
        }

    def not_asked(self) -> str:
        """Return a reason where not all of the run was watched, or no work was done."""
        if self.run.is_reopened:
            return "another process began the run"
        return "" if self.tally.compared else "no work was done"

    def finished(self, event: Event, work: WorkFinished) -> None:
        """Note a price of the processor; compare one of the disk."""
        if work.lane == PROCESSOR:
            if (processor := self._processor(event.node)) is not None:
                self._read(event, work, processor)
                # All prices of an instant: pieces without a price end with the piece before them.
                earlier = processor.prices if processor.worked_us == event.at_us else ()
                processor.prices, processor.worked_us = (*earlier, work.base_us), event.at_us
            return
        sync_us = self._costs.sync_us
        expected_us = {DISK: sync_us, PRUNING: max(2 * sync_us, 1)}.get(work.lane, work.base_us)
        self.tally.compared += 1
        if work.base_us != expected_us:
            self._fail(event, f"did work of its {work.lane} for {work.base_us:,} us, expected {expected_us:,}")

    def executed(self, event: Event, block: BlockExecuted) -> None:
        """Note an execution with the prices of the work that ended with it."""
        if block.mode == DIVERGED:
            return
        self._executed.setdefault(event.node, {})[block.digest] = None
        processor = self._processor(event.node)
        if block.mode in TIMED and processor is not None and self._has_prices:
            prices = processor.prices if processor.worked_us == event.at_us else ()
            execution = _Execution(event, prices)
            if block.digest in self._prices:
                self._compare(block.digest, execution)
            else:
                self._open.setdefault(block.digest, []).append(execution)

    def settle(self, block: SettledBlock) -> None:
        """Work out the price of a final block, and compare its executions until now."""
        summary, costs = block.summary, self._costs
        cycles = summary.cycles_used + summary.lane_cycles + summary.mailbox_cycles + summary.gc_cycles
        begun = (cycles + CYCLES_BEGUN - 1) // CYCLES_BEGUN
        writes_us = len(block.changes) * costs.hash_write_us
        least_us = costs.block_us + begun * costs.execute_us + writes_us
        self._prices[block.digest] = _Price(least_us, len(block.transactions))
        for execution in self._open.pop(block.digest, ()):
            self._compare(block.digest, execution)

    def voted(self, event: Event, vote: Voted) -> None:
        """Compare a vote that takes a block for valid."""
        if self._accepts_block(vote):
            self._require_executed(event, vote.payload, f"sent a {vote.vote} of view {vote.view} for")

    def finalized(self, event: Event, block: BlockFinalized) -> None:
        """Compare a finality."""
        self._require_executed(event, block.digest, f"made final, at height {block.height},")

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Note a message that takes time to read."""
        price_us = delivered.length // KIB * self._costs.decode_kib_us
        source = self.run.twins.get(delivered.source, delivered.source)
        if not price_us or source in self.run.world.cut_off(event.node):
            return
        if (processor := self._processor(event.node)) is not None:
            processor.unread.append(_Read(event.at_us, source, delivered.label, price_us))

    def blocked(self, event: Event, blocked: PeerBlocked) -> None:
        """Forget messages that came from a peer in the instant in which it is cut off: some are not read."""
        if (processor := self._processor(event.node)) is not None:
            processor.unread = [
                read for read in processor.unread if (read.source, read.at_us) != (blocked.peer, event.at_us)
            ]

    def finish(self) -> CheckResult:
        """Return the result."""
        compared = self.tally.compared
        return self.tally.result(f"{compared:,} comparisons: work took its time, and no result was used before its end")

    def _processor(self, node: NodeId) -> _Processor | None:
        """Return the processor of a replica that serves and that the plan does not pause."""
        return None if self.run.world.is_paused(node) else self._processors.get(node)

    def _read(self, event: Event, work: WorkFinished, processor: _Processor) -> None:
        """Take a piece of work for the reading of the first message of its price; all are read before a rest."""
        begun_us, unread = event.at_us - work.base_us - work.extra_us, processor.unread
        if unread and begun_us > processor.worked_us:
            # The processor rested until this piece began: earlier messages should have been read as they came.
            for read in unread:
                if read.at_us < begun_us:
                    came = f"a {read.label} that came at {read.at_us / MILLION:.3f} s"
                    self._fail(event, f"did no work of {read.price_us:,} us to read {came}")
            unread[:] = [read for read in unread if read.at_us >= begun_us]
        for place, read in enumerate(unread):
            if read.price_us == work.base_us and read.at_us <= begun_us:
                del unread[place]
                self.tally.compared += 1
                break

    def _compare(self, digest: bytes, execution: _Execution) -> None:
        (least_us, signatures), signature_us = self._prices[digest], self._costs.verify_signature_us
        self.tally.compared += 1
        allowed = range(least_us, least_us + signatures * signature_us + 1, signature_us or 1)
        if not any(price in allowed for price in execution.prices):
            price = f"{least_us:,} us and {signature_us:,} for each of at most {signatures} signatures"
            ended = _name(execution.prices)
            self._fail(execution.event, f"executed block {short(digest)} as work of {ended} us ended, expected {price}")

    def _require_executed(self, event: Event, digest: bytes, what: str) -> None:
        self.tally.compared += 1
        if digest not in self._executed.get(event.node, ()):
            self._fail(event, f"{what} block {short(digest)} before its execution was over")

    def _fail(self, event: Event, what: str) -> None:
        # The text is made only for a failure: there is work for each message.
        at_s = f"{event.at_us / MILLION:.3f} s"
        self.tally.fail(f"validator {event.node} {what}, at {at_s}", validator=event.node, at_us=event.at_us)


def _name(prices: Sequence[Micros]) -> str:
    return ", ".join(f"{price:,}" for price in prices) or "no"
