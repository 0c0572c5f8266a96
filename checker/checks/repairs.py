"""Repairs: data that a validator reports as repaired is whole on its disk, in every copy.

A copy that stays damaged costs nothing until the other copy is damaged too. The trace has each repair. The check reads
both copies of the vote journal at once, beside the validator; it reads blocks and operations at the end, because the
validator has to fetch them first.

A damaged block is fetched and written elsewhere: a block file only grows while its replica is up, so a place found
damaged holds no other record in that life, and must not be read again. From the report of the repair on, there is
another record of the block, behind the end of the file that the start found.

A start leaves both copies of the journal alike and undamaged, and no bytes behind the last intact block: the next block
would stand behind a gap.
"""

from typing import Final

import msgspec

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.observations import ReadBack
from checker.results import CheckResult
from faults.events import Crashed
from network.events import Event, Handlers
from network.types import Micros
from validators.events import Booted, DamageFound, DamageRepaired, Halted
from validators.execution.blocks import without_seal
from validators.storage import JOURNAL_FILES, Disk, RecordFile

BLOCKS: Final = "blocks"
"""The file whose repairs are named by height."""


class Repairs(Check):
    """Every repair of a replica's disk is whole, and a start leaves whole journals.

    No damaged block is read twice in a life.
    """

    name = "repairs"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._honest = dict.fromkeys(run.honest)
        self._blocks: dict[tuple[int, int], None] = {}
        self._logs: dict[int, None] = {}
        self._damaged: dict[int, dict[int, None]] = {}
        """By replica, the places of its block file that this life found damaged."""
        self._read = 0
        self._written = [disk.written() for disk in run.disks]
        self._down: dict[int, None] = {}
        """Replicas that have no power."""
        self._started: dict[int, tuple[Micros, str, str]] = {}
        """By replica, the time of its start, and the faults of its journal and its blocks after it."""
        self._begun_bytes: dict[int, int] = {}
        """By replica the length of its block file as its life began."""
        self._starts = self._again = 0

    @property
    def handlers(self) -> Handlers:
        """Damage, repairs, and events that may undo repairs."""
        return {
            Booted: self.booted,
            DamageFound: self.found,
            DamageRepaired: self.repaired,
            Crashed: self.crashed,
            Halted: self.halted,
        }

    def not_asked(self) -> str:
        """Return a reason where no replica restarted, read damage or repaired its disk."""
        is_asked = (
            self.tally.compared or self._started or any(self._to_judge(readback) for readback in self.run.end.readbacks)
        )
        return "" if is_asked else "no replica started again or repaired anything"

    def booted(self, event: Event, _booted: Booted) -> None:
        """Begin anew: a start reads the whole file and cuts off a damaged end, where other blocks follow."""
        node = event.node
        self._damaged[node] = {}
        blocks = RecordFile(self._written[node], BLOCKS)
        self._begun_bytes[node] = blocks.size
        if node not in self._down:
            return
        del self._down[node]
        # A disk fault that is still active may damage the repaired data.
        fault = "" if self._is_at_work(node, event.at_us) else find_difference(self.run.disks[node].scarred())
        whole_bytes = max((record.end for record in blocks.read().records), default=0)
        left_bytes = blocks.size - whole_bytes
        self._started[node] = (
            event.at_us,
            f"of its journal {fault}" if fault else "",
            f"left {left_bytes:,} bytes behind its last intact block" if left_bytes else "",
        )

    def found(self, event: Event, damage: DamageFound) -> None:
        """Require that this life has not found the place of the block file damaged before."""
        places = self._damaged.get(event.node)
        if places is not None and damage.file == BLOCKS:
            self._read += 1
            self.tally.require(
                damage.place not in places,
                f"validator {event.node} read its blocks at damaged byte {damage.place} again in one life",
                validator=event.node,
                place=damage.place,
            )
            places[damage.place] = None

    def repaired(self, event: Event, repaired: DamageRepaired) -> None:
        """Compare the copies of the journal, or note a repair to compare at the end."""
        node = event.node
        if repaired.file == BLOCKS and node in self._begun_bytes:
            self._again += 1
            self.tally.require(
                self._is_written_again(node, repaired.place),
                f"validator {node} reported the repair of block {repaired.place}, but did not write it again",
                validator=node,
                height=repaired.place,
            )
        if repaired.file in JOURNAL_FILES:
            self._compare_copies(node)
        elif self._is_at_work(node, event.at_us):
            # A disk fault that is still active may damage the repaired data; the next start finds it.
            return
        elif repaired.file == BLOCKS:
            self._blocks[node, repaired.place] = None
        else:
            self._logs[node] = None

    def crashed(self, event: Event, crashed: Crashed) -> None:
        """Forget repairs that the crash may have undone; the next start finds them."""
        node = crashed.machine
        # A disk read in the instant of a crash shows the data that the crash left.
        self._judge_start(node, before_us=event.at_us)
        self._forget(node)
        self._damaged.pop(node, None)
        if node in self._honest:
            self._down[node] = None

    def halted(self, event: Event, _halted: Halted) -> None:
        """Forget repairs of a replica that has stopped."""
        self._forget(event.node)

    def finish(self) -> CheckResult:
        """Return the result."""
        for node in list(self._started):
            self._judge_start(node, before_us=self.run.end.now_us + 1)
        for readback in self.run.end.readbacks:
            node = readback.node
            held = dict.fromkeys(without_seal(block) for answer in readback.served for block in answer)
            for height in self._heights_of(readback):
                encoded = self.run.chain[height - 1].encoded
                self.tally.require(
                    encoded in held,
                    f"validator {node} reported the repair of block {height}, but does not have it",
                    validator=node,
                    height=height,
                )
            if node in self._logs:
                self.tally.require(
                    not readback.error,
                    f"validator {node} reported the repair of its operation log, but it is not whole: {readback.error}",
                    validator=node,
                )
        others = self._read + 2 * self._starts + self._again
        repairs = self.tally.compared - others
        seen = (
            (repairs, "repairs of disks were whole in every copy"),
            (self._starts, "starts left whole journals"),
            (self._read, "damaged blocks were read once"),
        )
        return self.tally.result(", ".join(f"{count:,} {what}" for count, what in seen if count))

    def _judge_start(self, node: int, before_us: Micros) -> None:
        at_us, *faults = self._started.pop(node, (before_us, "", ""))
        if at_us < before_us:
            self._starts += 1
            for fault in faults:
                self.tally.require(not fault, f"validator {node} started, and {fault}", validator=node, at_us=at_us)

    def _to_judge(self, readback: ReadBack) -> bool:
        """Return whether a replica's disk holds repaired data."""
        return readback.node in self._logs or bool(self._heights_of(readback))

    def _heights_of(self, readback: ReadBack) -> list[int]:
        """Return the heights of repaired blocks that a replica's disk has to hold at the end.

        Answers go down from the newest block and end above a damaged block, which a disk fault may have damaged after
        its repair; the blocks below are not seen.
        """
        top = min(readback.height, len(self.run.chain))
        seen = sum(len(answer) for answer in readback.served)
        lowest = max(readback.base_height, readback.height - seen - 1)
        return [height for node, height in self._blocks if node == readback.node and lowest < height <= top]

    def _is_written_again(self, node: int, height: int) -> bool:
        """Return whether a life wrote a block of this height to a place where it found no damage."""
        file = RecordFile(self._written[node], BLOCKS)
        records = file.read_span(self._begun_bytes[node], file.size)
        sound = (record.payload for record in records if record.offset not in self._damaged[node])
        return any(msgspec.msgpack.decode(payload)[0] == height for payload in sound)

    def _compare_copies(self, node: int) -> None:
        fault = find_difference(self.run.disks[node].scarred())
        self.tally.require(not fault, f"validator {node} reported its journal repaired, but {fault}", validator=node)

    def _is_at_work(self, node: int, now_us: Micros) -> bool:
        """Return whether a fault of the plan that names a replica is active."""
        return any(fault.start_us <= now_us <= fault.stop_us for fault in self.run.plan.faults if node in fault.nodes)

    def _forget(self, node: int) -> None:
        self._logs.pop(node, None)
        self._blocks = {key: None for key in self._blocks if key[0] != node}


def find_difference(disk: Disk) -> str:
    """Return a damage of the vote journal, or the difference of its copies; empty where both are whole and alike."""
    copies = [RecordFile(disk, name).read() for name in JOURNAL_FILES]
    damage = next((each for copy in copies for each in copy.damages), None)
    if damage is not None:
        return f"{damage.file} is damaged at byte {damage.offset}"
    first, second = ([record.payload for record in copy.records] for copy in copies)
    return "" if first == second else f"copies of {len(first):,} and {len(second):,} records differ"
