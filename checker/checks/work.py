"""Work: what takes time takes the time of the price list, and nothing rests on work before it is over.

A result that is used too early, and work that is done for nothing, make a replica faster than its machine: no other one
contradicts it. The trace has the price of each piece of work as it ends. In the same instant the execution is
reported, or the answer to a peer goes out.

| ends with | price |
|---|---|
| a sync of the disk | `sync_us` |
| a pruning of the journal | two syncs, 1 us at least |
| an execution, to propose or to verify | `block_us`, cycles, writes, and at most the signatures of the block (K-43) |
| an answer with blocks | `serve_block_us` for each |
| a piece of a snapshot | `block_us` |

Reading is paid for as well: a message of 1 KiB or more, with blocks, transactions or a snapshot, that comes to a
replica that serves is followed, before its processor rests again, by work of `decode_kib_us` for each whole KiB.

A vote that takes a block for valid comes after its execution, over all lives, and so does the block's finality. Ends of
work at replicas that the plan pauses are read later, and not judged. Only blocks that become final have a known price.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.checks.observations import short
from checker.checks.rules.registry import RULES
from checker.results import CheckResult, ExitClass
from faults.events import Crashed
from network.clock import MILLION
from network.events import Delivered, Event, Handlers, OfLabels, Sent, WorkFinished
from network.types import Micros, NodeId
from validators.events import BlockExecuted, BlockFinalized, Booted, Halted, Voted
from validators.messages import BLOCKS_PER_RESPONSE

PROCESSOR: Final = "cpu"
DISK: Final = "disk"
PRUNING: Final = "pruning"
"""Lanes of a machine."""

CYCLES_BEGUN: Final = 1_000
"""So many cycles, once begun, cost `execute_us`."""

DIVERGED: Final = "diverged"
"""The mode of an execution that says nothing about the block's validity here."""

TIMED: Final = ("propose", "verify")
"""Modes of executions that are reported as their time is over."""

_PRICED: Final = ("BlockResponse", "SnapshotChunk")

KIB: Final = 1_024
_LARGE: Final = ("BlockRelay", "BlockResponse", "TransactionGossip", "SnapshotOffer", "SnapshotChunk")
"""Messages that may be as long as that with any engine."""


class _Price(NamedTuple):
    """The price of a block's execution without signatures, and the number of its signatures: the most it may add."""

    least_us: Micros
    signatures: int


class _Execution(NamedTuple):
    """The end of an execution, and the prices of what ended in that instant."""

    event: Event
    prices: tuple[Micros, ...]


class _Read(NamedTuple):
    """A message that came, and what reading it takes."""

    at_us: Micros
    label: str
    price_us: Micros


@dataclass(slots=True)
class _Reader:
    """One life of a replica that serves: when its processor was last at work, and what it still has to read."""

    worked_us: Micros
    unread: list[_Read] = field(default_factory=list)


class PricedWork(Check):
    """Work takes the time of the price list, and no block is voted for or final before its execution is over."""

    name = "work"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._costs = run.plan.costs
        self._paused = run.plan.paused()
        self._accepts_block = RULES[run.engine].accepts_block
        self._executed: dict[NodeId, dict[bytes, None]] = {}
        self._ended: dict[NodeId, tuple[Micros, tuple[Micros, ...]]] = {}
        self._prices: dict[bytes, _Price] = {}
        self._open: dict[bytes, list[_Execution]] = {}
        self._readers: dict[NodeId, _Reader] = {}

    @property
    def handlers(self) -> Handlers:
        """Work that is over, and what rests on it."""
        return {
            WorkFinished: self.finished,
            BlockExecuted: self.executed,
            Voted: self.voted,
            BlockFinalized: self.finalized,
            Sent: OfLabels(_PRICED.__contains__, self.sent),
            Delivered: OfLabels(_LARGE.__contains__, self.delivered),
            Booted: self.booted,
            Crashed: self.crashed,
            Halted: self.halted,
        }

    def not_asked(self) -> str:
        """Return a reason where not all of the run was watched, or no work was done."""
        if self.run.is_reopened:
            return "another process began the run"
        return "" if self.tally.compared else "no work was done"

    def finished(self, event: Event, work: WorkFinished) -> None:
        """Note a price of the processor; compare one of the disk."""
        if work.lane == PROCESSOR:
            self._read(event, work)
            at_us, prices = self._ended.get(event.node, (-1, ()))
            # All of one instant: pieces without a price end with the one before them.
            self._ended[event.node] = event.at_us, (*prices, work.base_us) if at_us == event.at_us else (work.base_us,)
            return
        sync_us = self._costs.sync_us
        expected_us = {DISK: sync_us, PRUNING: max(2 * sync_us, 1)}.get(work.lane, work.base_us)
        self.tally.compared += 1
        if work.base_us != expected_us:
            self._fail(event, f"did work on its lane {work.lane} for {work.base_us:,} us and not {expected_us:,}")

    def executed(self, event: Event, block: BlockExecuted) -> None:
        """Note an execution with the prices of what ended with it."""
        if block.mode == DIVERGED:
            return
        self._executed.setdefault(event.node, {})[block.digest] = None
        if block.mode in TIMED and event.node not in self._paused:
            execution = _Execution(event, self._prices_at(event))
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

    def sent(self, event: Event, sent: Sent) -> None:
        """Compare an answer with what preparing it took."""
        if event.node in self._paused:
            return
        if sent.label == "BlockResponse":
            each_us = self._costs.serve_block_us
            allowed = range(each_us, each_us * BLOCKS_PER_RESPONSE + 1, each_us) if each_us else (0,)
            self._require_price(event, sent.label, allowed)
        else:
            self._require_price(event, sent.label, (self._costs.block_us,))

    def booted(self, event: Event, _booted: Booted) -> None:
        """Begin to read; what came before was refused unread."""
        if event.node not in self._paused:
            self._readers.setdefault(event.node, _Reader(event.at_us))

    def crashed(self, _event: Event, crashed: Crashed) -> None:
        """End a life."""
        self._readers.pop(crashed.machine, None)

    def halted(self, event: Event, _halted: Halted) -> None:
        """End a life."""
        self._readers.pop(event.node, None)

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Note a message that takes time to read."""
        price_us = delivered.length // KIB * self._costs.decode_kib_us
        if price_us and (reader := self._readers.get(event.node)) is not None:
            reader.unread.append(_Read(event.at_us, delivered.label, price_us))

    def finish(self) -> CheckResult:
        """Return the result."""
        compared = self.tally.compared
        return self.tally.result(f"{compared:,} times work took its time, and what rests on it came after")

    def _read(self, event: Event, work: WorkFinished) -> None:
        """Take a piece of work for the reading of the first message of its price; all are read before a rest."""
        reader = self._readers.get(event.node)
        if reader is None:
            return
        begun_us = event.at_us - work.base_us - work.extra_us
        if reader.unread and begun_us > reader.worked_us:
            # It rested until this piece began: what came before that instant was to begin as it came.
            for read in reader.unread:
                if read.at_us < begun_us:
                    came = f"a {read.label} that came at {read.at_us / MILLION:.3f} s"
                    self._fail(event, f"did no work of {read.price_us:,} us to read {came}")
            reader.unread = [read for read in reader.unread if read.at_us >= begun_us]
        reader.worked_us = event.at_us
        for place, read in enumerate(reader.unread):
            if read.price_us == work.base_us and read.at_us <= begun_us:
                del reader.unread[place]
                self.tally.compared += 1
                break

    def _prices_at(self, event: Event) -> tuple[Micros, ...]:
        """Return the prices of the processor's work that ended in the instant of an event."""
        at_us, prices = self._ended.get(event.node, (-1, ()))
        return prices if at_us == event.at_us else ()

    def _compare(self, digest: bytes, execution: _Execution) -> None:
        (least_us, signatures), signature_us = self._prices[digest], self._costs.verify_signature_us
        self.tally.compared += 1
        allowed = range(least_us, least_us + signatures * signature_us + 1, signature_us or 1)
        if not any(price in allowed for price in execution.prices):
            price = f"{least_us:,} us and {signature_us:,} for each of at most {signatures} signatures"
            what = f"executed block {short(digest)}, which costs {price}"
            self._fail(execution.event, f"{what}, as work of {_name(execution.prices)} us ended")

    def _require_executed(self, event: Event, digest: bytes, what: str) -> None:
        self.tally.compared += 1
        if digest not in self._executed.get(event.node, ()):
            self._fail(event, f"{what} block {short(digest)} before its execution was over")

    def _require_price(self, event: Event, label: str, allowed: range | tuple[int, ...]) -> None:
        prices = self._prices_at(event)
        self.tally.compared += 1
        if not any(price in allowed for price in prices):
            self._fail(event, f"sent a {label} as work of {_name(prices)} us ended")

    def _fail(self, event: Event, what: str) -> None:
        # The text is made only for a failure: there is work for each message.
        at_s = f"{event.at_us / MILLION:.3f} s"
        self.tally.fail(f"validator {event.node} {what}, at {at_s}", validator=event.node, at_us=event.at_us)


def _name(prices: Sequence[Micros]) -> str:
    return ", ".join(f"{price:,}" for price in prices) or "no"
