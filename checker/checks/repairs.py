"""Repairs: what a validator says that it has repaired on its disk is whole there, in every copy.

A copy that stays damaged costs nothing until the other one is hit. Each repair is in the trace. Both copies of
the vote journal are read beside the validator at once; blocks and operations, which are had again first, at the end.

A block that cannot be read is had again and written elsewhere: a file of blocks only grows while its replica is up, so
the place that was found damaged holds no other record in that life. To read it again is to take it for whole.
"""

from typing import Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.observations import ReadBack
from checker.results import CheckResult
from faults.events import Crashed
from network.events import Event, Handlers
from validators.events import Booted, DamageFound, DamageRepaired, Halted
from validators.execution.blocks import without_seal
from validators.storage import JOURNAL_FILES, RecordFile

BLOCKS: Final = "blocks"
"""The file whose repairs are named by height."""


class Repairs(Check):
    """Every repair of an honest replica's disk is whole there, and no damaged block is read twice in a life."""

    name = "repairs"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._blocks: dict[tuple[int, int], None] = {}
        self._logs: dict[int, None] = {}
        self._damaged: dict[int, dict[int, None]] = {}
        """By replica the places of its block file that this life has found damaged."""
        self._read = 0

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

    @property
    def is_asked(self) -> bool:
        """Return whether damage was read, or anything repaired that is still to be judged."""
        return self.tally.compared > 0 or any(self._to_judge(readback) for readback in self.run.end.readbacks)

    def booted(self, event: Event, _booted: Booted) -> None:
        """Begin anew: a start reads the whole file, and cuts off a damaged end, where other blocks come then."""
        self._damaged[event.node] = {}

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
        if repaired.file in JOURNAL_FILES:
            self._compare_copies(node)
        elif any(
            fault.start_us <= event.at_us <= fault.stop_us for fault in self.run.plan.faults if node in fault.nodes
        ):
            # A disk that is still bad may harm what was repaired; the next start finds it.
            return
        elif repaired.file == BLOCKS:
            self._blocks[node, repaired.place] = None
        else:
            self._logs[node] = None

    def crashed(self, _event: Event, crashed: Crashed) -> None:
        """Forget what may have been lost again before it was durable; the next start finds it."""
        self._forget(crashed.machine)
        self._damaged.pop(crashed.machine, None)

    def halted(self, event: Event, _halted: Halted) -> None:
        """Forget what a replica cannot repair any more."""
        self._forget(event.node)

    def finish(self) -> CheckResult:
        """Return the result."""
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
        repairs = self.tally.compared - self._read
        return self.tally.result(
            f"{repairs:,} repairs of disks were whole in every copy, and {self._read:,} damaged blocks were read once"
        )

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

    def _compare_copies(self, node: int) -> None:
        disk = self.run.disks[node].scarred()
        copies = [RecordFile(disk, name).read() for name in JOURNAL_FILES]
        payloads = [[record.payload for record in copy.records] for copy in copies]
        wrong = next((damage for copy in copies for damage in copy.damages), None)
        lengths = " and ".join(f"{len(each):,}" for each in payloads)
        place = f"{wrong.file} is damaged at byte {wrong.offset}" if wrong else f"copies of {lengths} records differ"
        self.tally.require(
            wrong is None and payloads[0] == payloads[1],
            f"validator {node} has repaired its journal, and {place}",
            validator=node,
        )

    def _forget(self, node: int) -> None:
        self._logs.pop(node, None)
        self._blocks = {key: None for key in self._blocks if key[0] != node}
