"""The bases of a replica's finalized log, as they stand on its disk when it has joined from a snapshot.

There are two places, and the base of the higher generation counts. A new base that does not surpass the other one is
read as the older of the two, at once or at the next start: then all that came since is lost.

A new base takes the other place, and the state before it stays: a base, or what stands above genesis, which has the
first place to itself.

A replica that joins reads its new base back. Without a fault of its disk it finds it; one that does not begins a start
in the midst of its life. A start goes on with the newest base and leaves the older state as it is, which has to do
where that base is damaged one day.
"""

from typing import Final, NamedTuple

import msgspec

from checker.checks.context import RunContext
from checker.results import CheckTally
from network.types import Micros, NodeId
from validators.storage import Disk, RecordFile

PLACES: Final = ("snapshot-a", "snapshot-b")
LOGS: Final = ("operations-a", "operations-b")
"""The bases, and the logs above them."""


class _Base(msgspec.Struct, array_like=True, frozen=True):
    """A base in one of the two places."""

    generation: int
    height: int


class _Older(NamedTuple):
    """The log of the state that does not count, beside a snapshot of a higher generation, and its length."""

    log: str
    size_bytes: int


class JoinedBases:
    """Reads the bases beside each replica that joins.

    Args:
        run: The run, with its disks.
        tally: The counts of the check that this is a part of.
    """

    def __init__(self, run: RunContext, tally: CheckTally) -> None:
        self._tally = tally
        self._written = [disk.written() for disk in run.disks]
        self._touched = dict.fromkeys(run.disk_faults.touched)
        self._is_reopened = run.is_reopened
        """Whether starts may follow each other without an end between them: that of a process is in no log."""
        self._is_up: dict[NodeId, None] = {}
        self._before: dict[NodeId, list[_Base]] = {}
        """By replica the bases on its disk as it started or joined last."""
        self._left: dict[NodeId, _Older | None] = {}
        """By replica without power the older state, as its disk shows it."""
        self.joins = 0
        """Comparisons of bases."""

    def end(self, node: NodeId) -> None:
        """A life ends."""
        self._is_up.pop(node, None)
        self._left[node] = _read_older(self._written[node])

    def boot(self, node: NodeId, at_us: Micros) -> None:
        """A start ends, or begins in the midst of a life."""
        if node in self._is_up and node not in self._touched and not self._is_reopened:
            text = f"validator {node} did not find the snapshot that it had written to its disk"
            self._tally.compared += 1
            self._tally.fail(text, validator=node, at_us=at_us)
        self._is_up[node] = None
        left, older = self._left.pop(node, None), _read_older(self._written[node])
        if left is not None and older is not None and node not in self._touched:
            self.joins += 1
            self._tally.require(
                older == left,
                f"validator {node} started from a snapshot and did not leave {left.log}, of the state before it, at "
                f"{left.size_bytes:,} bytes",
                validator=node,
            )
        self._before[node] = _read_bases(self._written[node])

    def join(self, node: NodeId, height: int) -> None:
        """A replica stands on a snapshot of this height."""
        self.joins += 1
        bases = _read_bases(self._written[node])
        of_height = max((base.generation for base in bases if base.height == height), default=-1)
        newest = max((base.generation for base in bases if base.height != height), default=-1)
        self._tally.require(
            of_height > newest,
            f"validator {node} joined at height {height} from a base of generation {of_height}, and its disk holds one "
            f"of generation {newest} besides",
            validator=node,
            height=height,
        )

        before, self._before[node] = self._before.get(node, []), bases
        if node not in self._touched:
            self.joins += 1
            newest_before = max(before, key=lambda base: base.generation, default=None)
            is_first_free = not RecordFile(self._written[node], PLACES[0]).size
            self._tally.require(
                newest_before in bases if newest_before else is_first_free,
                f"validator {node} joined at height {height}, and wrote its base over the state before it",
                validator=node,
                height=height,
            )


def _read_older(disk: Disk) -> _Older | None:
    """Return the older state; None where there is one state, or a base is being written over the older one."""
    generations = [max((base.generation for base in _read_place(disk, place)), default=-1) for place in PLACES]
    older = min(range(len(PLACES)), key=lambda place: generations[place])
    if max(generations) < 0 or (generations[older] < 0 and RecordFile(disk, PLACES[older]).size):
        return None
    return _Older(LOGS[older], RecordFile(disk, LOGS[older]).size)


def _read_bases(disk: Disk) -> list[_Base]:
    return [base for place in PLACES for base in _read_place(disk, place)]


def _read_place(disk: Disk, place: str) -> list[_Base]:
    return [msgspec.msgpack.decode(record.payload, type=_Base) for record in RecordFile(disk, place).read().records[:1]]
