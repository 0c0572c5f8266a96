"""Journals: each holds the records that its engine appended, in their order, and drops none above its floor.

A journal holds votes, certificates and answers of certification in the order in which they were made, over all lives.
The specification judges the records that an engine appends (`checker.checks.consensus`); this check follows the records
to the disk and back. A lost or repeated record does no harm before a start reads it.

`write-ahead` reads the disks as they become durable. Records of an earlier process, or of a replica whose engine is not
recorded, are not compared. A crash may take the last records of a life, but no record before a record that it leaves.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.record.engine_calls import RecordedLife
from checker.results import CheckResult
from network.words import counted
from validators.consensus.interface import Append, Finality, Record, RecordCodec
from validators.consensus.registry import ENGINES


class Said(NamedTuple):
    """A vote, certificate or answer, by the fields of its event."""

    kind: str
    view: int
    digest: bytes


def said_by(codec: RecordCodec, record: Record) -> Said:
    """Return the name of a record; an answer of certification or a lock has the name of its type."""
    if (vote := codec.vote_of(record)) is not None:
        return Said(vote.vote, vote.view, vote.payload)
    if (held := codec.certificate_of(record)) is not None:
        return Said(held.certificate, held.view, held.payload)
    return Said(record.traced_name.lower(), codec.view_of(record), b"")


class AppendedRecords:
    """The records that a replica's engine appended and that were not yet found on the disk, life by life.

    Args:
        lives: The recorded lives of the engine, to which the run adds.
    """

    def __init__(self, lives: Sequence[RecordedLife]) -> None:
        self._lives = lives
        self._life = 0
        self._read = 0
        self._left: deque[bytes] = deque()

    def begin_life(self) -> None:
        """Go on with the newest life; records of an earlier life that no start has found are lost."""
        if self._life < len(self._lives) - 1:
            self._life, self._read = len(self._lives) - 1, 0
            self._left.clear()

    def take(self, record: bytes) -> bool:
        """Return whether an encoded record is the next record."""
        self._collect()
        if not self._left or self._left[0] != record:
            return False
        self._left.popleft()
        return True

    def drop(self, is_gone: Callable[[bytes], bool]) -> None:
        """Leave out records that a pruning dropped before a sync covered them."""
        self._collect()
        self._left = deque(record for record in self._left if not is_gone(record))

    def _collect(self) -> None:
        if self._life < len(self._lives):
            life = self._lives[self._life]
            for _, name, values in life.kept[self._read :]:
                for effect in values[1] if name == "step" else ():
                    if isinstance(effect, Append):
                        self._left.append(life.kind.records.encode(effect.record))
            self._read = len(life.kept)


class JournalAudit:
    """One replica's journal, read from its beginning, and again whenever it is rewritten or reread.

    Args:
        node: The replica.
        codec: The entries of its engine.
        lives: The recorded lives of its engine; None where they are not recorded.
        fail: Gets the replica, the view and the fault.
        view_retention: Entries of this many views below the floor have to stay.
    """

    def __init__(
        self,
        node: int,
        codec: RecordCodec,
        lives: Sequence[RecordedLife] | None,
        fail: Callable[[int, int, str], None],
        *,
        view_retention: int,
    ) -> None:
        self._node = node
        self.codec: Final = codec
        self._lives = lives
        self._appended = None if lives is None else AppendedRecords(lives)
        self._fail = fail
        self.given_up_view = -1
        """The floor view to which a start may go back: the disk may not show a pruning that a crash cut short."""
        self._view_retention = view_retention
        self.checked = 0
        """The number of entries checked, each once, and of starts."""
        self.forget()

    def forget(self) -> None:
        """Note the loss of the journal with all its entries; entries of the next disk are not compared."""
        self._is_earlier = True
        self._floor_view = 0
        self._kept: list[Record] = []
        self._before: list[Record] = []
        self._expected: deque[Record] = deque()

    def begin_anew(self, floor: Finality | None = None) -> None:
        """Begin to read the journal again, from its head with this floor; None in a journal that was never pruned."""
        floor_view = 0 if floor is None else floor.view
        if self.given_up_view == floor_view < self._floor_view:
            # The entries that the pruning dropped are back, and the entries appended after it have to be there too.
            appended = [record for record in self._kept if record not in self._before]
            self._kept, self._floor_view = [*self._before, *appended], floor_view
        if floor is not None and self._kept and floor not in self._kept:
            self._fail_floor(floor.view, "a finality that it did not have")
        if floor_view < self._floor_view:
            self._fail_floor(floor_view, f"below the one before, view {self._floor_view}")
        elif floor_view > self._floor_view and self._kept and not self._is_earlier:
            self._judge_pruning(floor_view)
        if floor_view > self._floor_view:
            self._before = self._kept
        self._floor_view = floor_view
        lowest_view = floor_view - self._view_retention
        self._kept = [record for record in self._kept if self.codec.view_of(record) >= lowest_view]
        if self._appended is not None:
            self._appended.drop(lambda encoded: self.codec.view_of(self.codec.decode(encoded)) < lowest_view)
        self._expected = deque(self._kept)

    def read(self, records: Iterable[Record]) -> None:
        """Check the next entries, and take them in."""
        for record in records:
            if record in self._expected:
                self._recognize(record)
            else:
                self._add(record)

    def end_rereading(self) -> None:
        """Report the kept entries that the reread journal no longer has."""
        for lost in self._expected:
            self._lose(lost)
        self._expected.clear()
        # From here on all entries of the journal were appended in this process, on this disk.
        self._is_earlier = False

    def end_start(self, records: Sequence[Record], floor: Finality | None, *, is_judged: bool) -> None:
        """Begin the next life, and compare the entries that its start gave its engine with the journal on the disk."""
        if self._appended is not None:
            self._appended.begin_life()
        if not self._lives or not is_judged:
            return
        given = next((values for _, name, values in self._lives[-1].kept if name == "replay"), None)
        if given is None:
            return
        self.checked += 1
        encode = self.codec.encode
        found, floor_given = [encode(record) for record in given[0]], given[1]
        if found != [encode(record) for record in records]:
            text = f"gave its engine other entries ({len(found)}) at its start than its journal has ({len(records)})"
            self._fail(self._node, self._floor_view, f"validator {self._node} {text}")
        elif (floor_given and encode(floor_given)) != (floor and encode(floor)):
            text = "gave its engine another floor at its start than its journal has"
            self._fail(self._node, self._floor_view, f"validator {self._node} {text}: view {self._floor_view}")

    def refuse(self, reason: str) -> None:
        """Report an entry that cannot be decoded."""
        self._fail(self._node, 0, f"validator {self._node} wrote a journal entry that cannot be decoded: {reason}")

    def refuse_head(self, reason: str) -> None:
        """Report a head that differs from the entries behind it."""
        self._fail(self._node, self._floor_view, f"the head of validator {self._node}'s journal counts {reason}")

    def _recognize(self, record: Record) -> None:
        """Find an entry that was read before; known entries before it are lost."""
        while (expected := self._expected.popleft()) != record:
            self._lose(expected)

    def _lose(self, record: Record) -> None:
        kind, view, _ = said_by(self.codec, record)
        what = f"lost the {kind} of view {view} from its journal, whose floor is view {self._floor_view}"
        self._fail(self._node, view, f"validator {self._node} {what}")

    def _judge_pruning(self, floor_view: int) -> None:
        """Require that a pruning was due: the oldest entry was twice the retention below the floor."""
        oldest = self.codec.view_of(self._kept[0])
        if oldest > floor_view - 2 * self._view_retention:
            self._fail_floor(floor_view, f"and was pruned although its oldest entry is of view {oldest}")

    def _fail_floor(self, view: int, what: str) -> None:
        self._fail(self._node, view, f"the journal of validator {self._node} has the floor view {view}, {what}")

    def _add(self, record: Record) -> None:
        self.checked += 1
        self._kept.append(record)
        if self._appended is None or self._is_earlier:
            return
        if not self._appended.take(self.codec.encode(record)):
            kind, view, _ = said_by(self.codec, record)
            text = f"has a {kind} of view {view} in its journal where its engine appended another record, or none"
            self._fail(self._node, view, f"validator {self._node} {text}")


class Journals(Check):
    """Every journal holds the records that its engine appended, in order and once, and a start reads all of them.

    A crash may take the last records of a life. A pruned journal keeps every entry down to the retention below its
    floor.
    """

    name = "journals"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._audits: dict[int, JournalAudit] = {}
        self._faults: dict[tuple[int, str], None] = {}

    def audit(self, node: int) -> JournalAudit:
        """Return the audit of a replica's journal."""
        codec, lives = ENGINES[self.run.engine].records, self.run.engine_calls.get(node)
        audit = JournalAudit(node, codec, lives, self._fail, view_retention=self.run.view_retention)
        return self._audits.setdefault(node, audit)

    def finish(self) -> CheckResult:
        """Return the result."""
        self.tally.compared = sum(audit.checked for audit in self._audits.values())
        return self.tally.result(f"the journals hold {counted(self.tally.compared, 'records')} as appended")

    def _fail(self, node: int, view: int, what: str) -> None:
        # A start reads the journal again.
        if (node, what) not in self._faults:
            self._faults[node, what] = None
            self.tally.fail(what, validator=node, view=view)
