"""The final chain of a run with applications: its numbers from events, and its execution by a fresh process."""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import msgspec

from checker.record.cold_replay import ColdReplay
from checker.record.run_directory import read_blocks
from cluster.outside.answers import Event
from cluster.outside.blocks import NO_SUMMARY, OutsideBlock
from cluster.outside.frames import Value
from cluster.outside.home import ApplicationHome, ForgottenBlockError, ScratchHome
from cluster.outside.layer import OutsideLayer, WrongAnswerError
from cluster.outside.process import ApplicationLostError
from validators.execution import BlockSummary, Genesis, InvalidBlockError
from validators.execution.blocks import Block, decode_block


class ToldChain:
    """The final blocks of an application in numbers, from its events.

    Args:
        timebase: The unit of the timers: height or slot.
        told_at_genesis: The events that were told for genesis.
    """

    def __init__(self, timebase: str, told_at_genesis: Iterable[Event] = ()) -> None:
        self._timebase = timebase
        self._due: dict[str, int] = {}
        self._by_due: list[tuple[int, str]] = []
        self._overdue: dict[str, None] = {}
        self._summaries: dict[int, BlockSummary] = {}
        for event in told_at_genesis:
            if event["event"] == "timer-set":
                self._set(str(event["timer"]), event["due"])

    def told(self, made: OutsideBlock) -> OutsideBlock:
        """Return a final block with its numbers; only the first block of each height counts, and heights ascend."""
        height = made.header.height
        if height not in self._summaries:
            self._summaries[height] = self._follow(made)
        return replace(made, summary=self._summaries[height])

    def _follow(self, made: OutsideBlock) -> BlockSummary:
        counts = dict.fromkeys(("timer-set", "timer-fired", "expired", "insolvent", "cancelled"), 0)
        for event in made.events:
            kind, timer = str(event["event"]), str(event.get("timer"))
            name = str(event["why"]) if kind == "timer-removed" else kind
            if name in counts:
                counts[name] += 1
            if kind in {"timer-set", "timer-moved"}:
                self._set(timer, event["due"])
            elif kind in {"timer-fired", "timer-removed"}:
                self._due.pop(timer, None)
                self._overdue.pop(timer, None)
        self._pass(made.header.slot if self._timebase == "slot" else made.header.height)
        told = {
            "transactions": len(made.block.transactions),
            "scheduled": counts["timer-set"],
            "fired": counts["timer-fired"],
            "expired": counts["expired"],
            "insolvent": counts["insolvent"],
            "cancelled": counts["cancelled"],
            # Events do not distinguish dead timers from live timers before they leave.
            "deferred": len(self._overdue),
            "waiting_live": len(self._overdue),
        }
        return msgspec.structs.replace(NO_SUMMARY, **told)

    def _set(self, timer: str, due: Value) -> None:
        assert isinstance(due, int), "the conversation has read it so"
        self._due[timer] = due
        self._overdue.pop(timer, None)
        heapq.heappush(self._by_due, (due, timer))

    def _pass(self, now: int) -> None:
        """Return the timers that have become due, and have not left."""
        while self._by_due and self._by_due[0][0] <= now:
            due, timer = heapq.heappop(self._by_due)
            if self._due.get(timer) == due:
                self._overdue[timer] = None


def execute_final(home: ApplicationHome, genesis: Genesis, blocks: Iterable[Block]) -> Iterator[OutsideBlock]:
    """Yield final blocks from height 1 on as a fresh process executes them; each is final immediately.

    Raises:
        ApplicationLostError: The application gives no usable answer.
        InvalidBlockError: Its result differs from a block's header.
    """
    layer = OutsideLayer(home, genesis)
    for block in blocks:
        made = layer.execute(block)
        layer.finalize(made.digest)
        yield made


def replay_cold(home: ScratchHome, genesis: Genesis, record: Path) -> ColdReplay:
    """Replay the final chain of a record by a fresh process; any error on the way is part of the result."""
    roots: list[bytes] = []
    with home:
        try:
            roots.append(OutsideLayer(home, genesis).genesis_header.state_root)
            blocks = (decode_block(each.block) for each in read_blocks(record))
            # One by one: the heights before an error are a part of the result.
            roots.extend(made.root for made in execute_final(home, genesis, blocks))
        except (ApplicationLostError, ForgottenBlockError, InvalidBlockError, WrongAnswerError) as error:
            return ColdReplay(roots=tuple(roots), values={}, error=f"height {len(roots)}: {error}")
    return ColdReplay(roots=tuple(roots), values={})
