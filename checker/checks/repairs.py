"""Repairs: what a validator says that it has repaired on its disk is whole there, in every copy.

A copy that stays damaged costs nothing until the other one is hit. Each repair is in the trace. Both copies of
the vote journal are read beside the validator at once; blocks and operations, which are had again first, at the end.

A block that cannot be read is had again and written elsewhere: a file of blocks only grows while its replica is up, so
the place that was found damaged holds no other record in that life. To read it again is to take it for whole. Behind
what a start has found there is another record of it, from the instant on in which it is said to be had again.

A start leaves both copies of the journal alike and without damage, and no bytes behind the last intact block, where the
next one would stand behind a gap.
"""

from typing import Final

import msgspec

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.observations import ReadBack
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
        """By replica the places of its block file that this life has found damaged."""
        self._read = 0
        self._written = [disk.written() for disk in run.disks]
        self._down: dict[int, None] = {}
        """Replicas that have no power."""
        self._started: dict[int, tuple[Micros, str, str]] = {}
        """By replica when it has started, and what is wrong with its journal and its blocks since."""
        self._begun_bytes: dict[int, int] = {}
        """By replica the length of its block file as its life began."""
        self._starts = self._again = 0

    @property
    def handlers(self) -> Handlers:
        """Damage, repairs, and what may undo them."""
        return {
            Booted: self.booted,
            DamageFound: self.found,
            DamageRepaired: self.repaired,
            Crashed: self.crashed,
            Halted: self.halted,
        }

    def not_asked(self) -> str:
        """Return a reason where no replica started again, no damage was read, and nothing repaired is to be judged."""
        is_asked = (
            self.tally.compared or self._started or any(self._to_judge(readback) for readback in self.run.end.readbacks)
        )
        return "" if is_asked else "no replica started again or repaired anything"

    def booted(self, event: Event, _booted: Booted) -> None:
        """Begin anew: a start reads the whole file, and cuts off a damaged end, where other blocks come then."""
        node = event.node
        self._damaged[node] = {}
        blocks = RecordFile(self._written[node], BLOCKS)
        self._begun_bytes[node] = blocks.size
        if node not in self._down:
            return
        del self._down[node]
        # A disk that is still bad may harm what the start has repaired.
        fault = "" if self._is_at_work(node, event.at_us) else find_difference(self.run.disks[node].scarred())
        whole_bytes = max((record.end for record in blocks.read().records), default=0)
        left_bytes = blocks.size - whole_bytes
        self._started[node] = (
            event.at_us,
            f"of its journal {fault}" if fault else "",
            f"left {left_bytes:,} bytes behind its last intact block" if left_bytes else "",
        )

    def found(self, event: Event, damage: DamageFound) -> None:
        """Compare a damaged place of the block file with those of this life."""
        places = self._damaged.get(event.node)
        if places is not None and damage.file == BLOCKS:
            self._read += 1
            self.tally.require(
                damage.place not in places,
                f"validator {event.node} read its blocks at byte {damage.place} again, where it had found damage",
                validator=event.node,
                place=damage.place,
            )
            places[damage.place] = None

    def repaired(self, event: Event, repaired: DamageRepaired) -> None:
        """Compare the copies of the journal, or note what is whole in the end."""
        node = event.node
        if repaired.file == BLOCKS and node in self._begun_bytes:
            self._again += 1
            self.tally.require(
                self._is_written_again(node, repaired.place),
                f"validator {node} has repaired its block of height {repaired.place}, and has not written it again",
                validator=node,
                height=repaired.place,
            )
        if repaired.file in JOURNAL_FILES:
            self._compare_copies(node)
        elif self._is_at_work(node, event.at_us):
            # A disk that is still bad may harm what was repaired; the next start finds it.
            return
        elif repaired.file == BLOCKS:
            self._blocks[node, repaired.place] = None
        else:
            self._logs[node] = None

    def crashed(self, event: Event, crashed: Crashed) -> None:
        """Forget what may be lost again, which the next start finds."""
        node = crashed.machine
        # What is read of a disk in the instant of a crash is what that has left.
        self._judge_start(node, before_us=event.at_us)
        self._forget(node)
        self._damaged.pop(node, None)
        if node in self._honest:
            self._down[node] = None

    def halted(self, event: Event, _halted: Halted) -> None:
        """Forget what a replica cannot repair any more."""
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
                    f"validator {node} has repaired its block of height {height}, and does not have it",
                    validator=node,
                    height=height,
                )
            if node in self._logs:
                self.tally.require(
                    not readback.error,
                    f"validator {node} has repaired the log of its state, and it is not whole: {readback.error}",
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
        """Return whether a replica's disk holds anything that was repaired."""
        return readback.node in self._logs or bool(self._heights_of(readback))

    def _heights_of(self, readback: ReadBack) -> list[int]:
        """Return the heights of repaired blocks that a replica's disk has to hold at the end.

        Answers go down from the newest block and end above one that is damaged, which a bad disk may have harmed after
        its own repair; what lies below that is not seen.
        """
        top = min(readback.height, len(self.run.chain))
        seen = sum(len(answer) for answer in readback.served)
        lowest = max(readback.base_height, readback.height - seen - 1)
        return [height for node, height in self._blocks if node == readback.node and lowest < height <= top]

    def _is_written_again(self, node: int, height: int) -> bool:
        """Return whether a life has written a block of this height to a place where it has found no damage."""
        file = RecordFile(self._written[node], BLOCKS)
        records = file.read_span(self._begun_bytes[node], file.size)
        sound = (record.payload for record in records if record.offset not in self._damaged[node])
        return any(msgspec.msgpack.decode(payload)[0] == height for payload in sound)

    def _compare_copies(self, node: int) -> None:
        fault = find_difference(self.run.disks[node].scarred())
        self.tally.require(not fault, f"validator {node} has repaired its journal, and {fault}", validator=node)

    def _is_at_work(self, node: int, now_us: Micros) -> bool:
        """Return whether a fault of the plan that names a replica is at work."""
        return any(fault.start_us <= now_us <= fault.stop_us for fault in self.run.plan.faults if node in fault.nodes)

    def _forget(self, node: int) -> None:
        self._logs.pop(node, None)
        self._blocks = {key: None for key in self._blocks if key[0] != node}


def find_difference(disk: Disk) -> str:
    """Return a damage of the vote journal, or how its copies differ; empty where both are whole and alike."""
    copies = [RecordFile(disk, name).read() for name in JOURNAL_FILES]
    damage = next((each for copy in copies for each in copy.damages), None)
    if damage is not None:
        return f"{damage.file} is damaged at byte {damage.offset}"
    first, second = ([record.payload for record in copy.records] for copy in copies)
    return "" if first == second else f"copies of {len(first):,} and {len(second):,} records differ"
