"""A state at the ends of chunks: chains of pending batches, rewinds, prunings and starts, by a plain log.

A list and two dicts say which operations a batch makes, and the oracle what their root is. The logs begin with some
hundred operations and a floor that no run leads to, so that a few batches cross the end of a chunk, which in a run is
one block of hundreds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from checker.oracle.from_scratch import canonical_root_of
from tests.properties.draws import Asked, Draw
from tests.properties.state.log_forms import check_log_forms
from tests.properties.state.reference_log import CHUNK, DIGEST, FORMS, ReferenceLog, Writes, draw_log
from tests.properties.state.refused_batches import ask_lost, ask_open
from tests.properties.state.state_proofs import ask_proofs, ask_snapshot, is_refused, open_log, open_snapshot
from validators.state import (
    Batch,
    Database,
    DeadBranch,
    NotRetained,
    PrunedLocation,
    SealedBatch,
    Sharing,
    Snapshot,
    StaleBatch,
    grow_tree,
    verify_root,
)

_STEPS: Final = 16
_RETAIN_MAX: Final = 5
_FEW: Final = 8
_MANY: Final = 60
_WRITES_MAX: Final = 6
_CHAIN_MAX: Final = 3
_HANDLES: Final = 9
_KNOWN: Final = 16
"""Results of hashing that are remembered."""

_READ: Final = 8
"""Keys that are read through a batch."""

_HALVES: Final = (1, 2, 2, 3, 4, 4, 6, 8)
"""Half chunks, in all, of logs that no batches have led to."""

_ABOVE: Final = 4
_AROUND: Final = 20
"""Operations, at most, by which a log begins above the end of one of them, and between the lowest and the highest."""

_REACH: Final = 16
"""Operations, at most, that lie before a place at which a batch is made to end."""

_FRESH: Final = tuple(bytes([number] * 32) for number in range(200, 200 + _REACH))
"""Keys with which it is."""


def check_state_roots(draw: Draw) -> Asked:
    """Yield what is asked of a state that crosses the ends of chunks, and whether it is so."""
    yield from check_log_forms(draw)
    story = _Story(draw)
    yield from story.compare()
    steps: list[Callable[[], Asked]] = [story.extend, story.apply, story.apply] * 3
    steps += [story.rewind, story.rewind, story.prune, story.reopen]
    steps += [story.drop, story.drop, story.refuse, story.prove]
    for _ in range(_STEPS):
        yield from steps[draw(len(steps))]()
        yield from story.compare()
    story.is_asked = True
    yield from story.compare()
    yield from story.audit()
    yield from story.prove()
    yield from ask_snapshot(story.database, story.tip, draw)


@dataclass(slots=True, eq=False)
class _Handle:
    """A batch, with the logs before and after it; `how` is pending, applied or dropped.

    `is_asked` says whether its canonical root was asked for, which it remembers.
    """

    batch: Batch
    parent: "_Handle | None"
    base: ReferenceLog
    state: ReferenceLog
    how: str = "pending"
    is_asked: bool = False


_Open: TypeAlias = tuple[Batch, _Handle | None, ReferenceLog]
"""A batch without a root, what it stands on, and the log before it."""


class _Story:
    """A state, and what it has to be.

    Attributes:
        keys: The keys that are written.
        tips: The logs that batches have led to, of which the last is the state's.
        retained: The number of batches that may be taken back.
        start: Operations below it are forgotten.
        base: The snapshot that the last start has begun with, `base_size` the length of its log.
        handles: The batches that were made last.
        foreign: A batch of an earlier life.
        left: A batch that stays open while others are applied, given up and taken back.
        is_asked: Whether roots are asked for already: the bitmap is not made before.
        is_due: Whether the root is asked for behind this step.
    """

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.form = FORMS[max(draw(5) - 2, 0)]
        self.keys = [bytes([number] * DIGEST) for number in range(1, 2 + draw(_FEW if draw(3) else _MANY))]
        self.retain = draw(_RETAIN_MAX)
        plain = ReferenceLog(self.form)
        self.database = Database(encoding=self.form.encoding, bare_values=self.form.says_bare, retain=self.retain)
        if draw(5):
            size = CHUNK // 2 * _HALVES[draw(len(_HALVES))] + _ABOVE - draw(_AROUND)
            plain = draw_log(self.form, self.keys, size, draw)
            self.database = open_log(plain.log, self.form, self.retain)
        self.tips = [plain]
        self.base: Snapshot | None = None
        self.base_size = self.start = self.retained = 0
        self.handles: list[_Handle] = []
        self.foreign: Batch | None = None
        self.left: _Open | None = None
        self.is_asked, self.is_due = draw(2) == 0, False
        self._sharing = Sharing(_KNOWN) if draw(2) else None
        self._share()

    @property
    def tip(self) -> ReferenceLog:
        """The log that the state has to have."""
        return self.tips[-1]

    def compare(self) -> Asked:
        """Ask of the state what it holds."""
        database, plain = self.database, self.tip
        found = database.size, database.floor, database.active, database.start, database.retained
        yield (
            "size, floor, live keys, start or batches retained of a state are others than its batches make",
            found == (plain.size, plain.floor, len(plain.places), self.start, self.retained),
        )
        yield (
            "a state does not hash as it was told to",
            database.grow is (self._sharing.grow if self._sharing else grow_tree),
        )
        yield "a state holds other values than were written", [*database.items()] == sorted(plain.values.items())
        key = self.keys[self.draw(len(self.keys))]
        yield (
            "a key reads otherwise than it was written",
            (database.get(key), key in database) == (plain.values.get(key), key in plain.values),
        )
        yield (
            "a state keeps other operations than its batches have made",
            list(database.operations(self.start)) == plain.log[self.start :],
        )
        if self.start:
            yield (
                "an operation is read that was forgotten",
                is_refused(PrunedLocation, database.operations, self.start - 1),
            )
        if self.is_asked and (self.is_due or self._is_due(plain)):
            yield from self._ask_root(database.canonical_root, plain)
            holds = verify_root(database.prove_root(), plain.root, database.root)
            yield "the root over the operations is another one", holds
            if self.draw(4) == 0 or (plain.size + 1) % CHUNK <= 1:
                yield from self.audit()
            if plain.size % CHUNK == 0:
                # No chunk is partial here, and a proof has a digest less.
                yield from self.prove()
        self.is_asked, self.is_due = self.is_asked or self.draw(_STEPS) < 2, False

    def audit(self) -> Asked:
        """Ask whether all that the state has in memory is that of its operations."""
        audit = self.database.audit()
        yield "a state in memory is not that of its log", not audit.deviations
        found, expected = (dict(audit.values), list(audit.operations)), (self.tip.values, self.tip.log[self.start :])
        yield "an audit has other values or operations than the log", found == expected
        yield from self._ask_root(audit.canonical_root, self.tip)

    def _is_due(self, plain: ReferenceLog) -> bool:
        """Return whether the root is asked for: nearly always beside the end of a chunk, else now and then."""
        return self.draw(8) == 0 or ((plain.size + 1) % CHUNK <= 2 and self.draw(3) > 0)

    def _ask_root(self, root: bytes, plain: ReferenceLog) -> Asked:
        plain.root = plain.root or canonical_root_of(plain.log, plain.floor)
        yield "a state has another root than its operations", root == plain.root

    def extend(self) -> Asked:
        """Make a chain of batches on the tip, or on a batch that is pending."""
        draw = self.draw
        parents = [None, *(handle for handle in self.handles if self._is_alive(handle))]
        parent = parents[-1] if draw(2) else parents[draw(len(parents))]
        if self.left is not None and draw(4) == 0:
            self.left[0].drop()
            yield from ask_lost(self.database, self.left[0], self.keys[0])
            self.left = None
        self.left = self.left or self._open(parent)
        for _ in range(1 + draw(_CHAIN_MAX)):
            yield from self._seal(*self._open(parent))
            parent = self.handles[-1]

    def _open(self, parent: _Handle | None) -> _Open:
        if parent is None:
            return self.database.batch(), None, self.tip
        return self.database.batch(parent.batch), parent, parent.state

    def _seal(self, batch: Batch, parent: _Handle | None, base: ReferenceLog) -> Asked:
        """Write a batch, and ask for its root."""
        draw = self.draw
        keeps_unchanged, metadata = draw(6) == 0, self.form.value(draw(256)) if draw(5) == 0 else None
        writes = self._draw_writes(base)
        state = base.after(writes, metadata, keeps_unchanged=keeps_unchanged)
        yield from self._write(batch, writes, base)
        root = batch.merkleize(metadata, keep_unchanged=keeps_unchanged)
        yield "a batch has another root than it has returned", root == batch.root
        if draw(4) == 0:
            # The same once more, whose nodes are known already.
            twin = self._open(parent)[0]
            yield from self._write(twin, writes, base)
            again = twin.merkleize(metadata, keep_unchanged=keeps_unchanged)
            yield "a batch has another root than the same one before", again == root
        self.handles = [*self.handles[1 - _HANDLES :], _Handle(batch, parent, base, state)]
        yield from self._ask_batch(self.handles[-1])
        changed = base.changed_by(writes, keeps_unchanged=keeps_unchanged)
        yield "a batch names other changes than it makes", dict(batch.changes) == changed

    def _write(self, batch: Batch, writes: Writes, base: ReferenceLog) -> Asked:
        for key, value in writes.items():
            # The last write of a key wins.
            batch.write(key, self.form.value(self.draw(256)))
            batch.write(key, value)
        reads = {key: batch.get(key) for key in self.keys[:_READ]}
        yield (
            "an open batch reads otherwise than it was written",
            reads == {key: writes.get(key, base.values.get(key)) for key in reads},
        )

    def _draw_writes(self, base: ReferenceLog) -> dict[bytes, bytes | None]:
        draw, writes = self.draw, dict[bytes, bytes | None]()
        left = (base.size // CHUNK + 1) * CHUNK - 1 + draw(3) - base.size
        if 2 <= left <= _REACH and draw(3):
            # A new key is an operation each, and two are made in any case.
            absent = [key for key in (*self.keys, *_FRESH) if key not in base.values]
            return dict.fromkeys(absent[: left - 2], self.form.value(draw(256)))
        much = draw(12)
        if much == 0:
            return dict.fromkeys(base.values)
        keys = self.keys if much == 1 else [self.keys[draw(len(self.keys))] for _ in range(draw(_WRITES_MAX))]
        for key in keys:
            writes[key] = self.form.value(draw(256)) if draw(4) else None
        return writes

    def _ask_batch(self, handle: _Handle) -> Asked:
        batch, base, state = handle.batch, handle.base, handle.state
        yield "a batch makes other operations than its writes", list(batch.operations) == state.log[base.size :]
        yield (
            "size, floor or live keys after a batch are others than its operations make",
            (batch.size, batch.floor, batch.active) == (state.size, state.floor, len(state.places)),
        )
        reads = {key: batch.get(key) for key in self.keys[:_READ]}
        yield "a batch reads otherwise than was written", reads == {key: state.values.get(key) for key in reads}
        if self.is_asked and self._is_due(state):
            handle.is_asked = True
            yield from self._ask_root(batch.canonical_root, state)

    def _is_alive(self, handle: _Handle) -> bool:
        """Return whether a batch leads to the tip over pending ones alone, or has made it."""
        each: _Handle | None = handle
        while each is not None and each.how == "pending":
            if each.base is self.tip:
                return True
            each = each.parent
        return each is not None and each.how == "applied" and each.state is self.tip

    def _list_pending(self) -> list[_Handle]:
        return [handle for handle in self.handles if handle.how == "pending" and self._is_alive(handle)]

    def apply(self) -> Asked:
        """Apply a batch that is pending, and those below it."""
        if not (pending := self._list_pending()):
            yield from self.extend()
            pending = self._list_pending()
        handle: _Handle | None = pending[self.draw(len(pending))]
        assert handle is not None, "it is one of the list"
        before, batch = self.tip, handle.batch
        chain: list[_Handle] = []
        while handle is not None and handle.how == "pending":
            chain.insert(0, handle)
            handle = handle.parent
        appended = self.database.apply(batch)
        for each in chain:
            each.how = "applied"
            self.tips.append(each.state)
        self.retained = min(self.retained + len(chain), self.retain)
        yield "other operations are appended than batches have", list(appended) == self.tip.log[before.size :]
        yield "a state has another root than its last batch", self.database.root == batch.root
        yield "a batch is applied twice", is_refused(StaleBatch, self.database.apply, batch)
        if (before.size // CHUNK, before.floor // CHUNK) != (self.tip.size // CHUNK, self.tip.floor // CHUNK):
            # Back over the end of a chunk, or the chunk that is inactive now is forgotten, as far as it may be.
            yield from self.compare()
            yield from (self.rewind, self.prune)[self.draw(2)]()

    def rewind(self) -> Asked:
        """Take batches back."""
        for count in (-1, self.retained + 1):
            yield "more is taken back than is retained", is_refused(NotRetained, self.database.rewind, count)
        count = self.draw(self.retained + 1)
        root = self.database.rewind(count)
        del self.tips[len(self.tips) - count :]
        self.retained -= count
        yield "a rewind returns another root than the state has", root == self.database.root
        self.is_due = count > 0
        if count and self.draw(2):
            # Those that had lost to what is taken back go on.
            yield from self.refuse()

    def prune(self) -> Asked:
        """Forget the oldest operations, and make the indexes anew."""
        oldest = self.tips[len(self.tips) - 1 - self.retained].floor
        for location in (self.draw(self.tip.size + 1), None):
            last = self.tip.size if location is None else location
            self.start = max(self.start, min(last, oldest) // CHUNK * CHUNK)
            yield "another start is returned than whole chunks allow", self.database.prune(location) == self.start
            if self.draw(2):
                break
        self.is_due = True
        yield from self.audit() if self.start else ()
        if self.draw(2):
            self.database.rebuild()
            # Or the next pruning comes first, while the bitmap is still to be made anew.
            if self.is_asked and self.draw(2):
                yield from self._ask_root(self.database.canonical_root, self.tip)

    def reopen(self) -> Asked:
        """Begin another life: from a snapshot, or from the operations above the last one."""
        if self.handles:
            self.foreign = self.handles[-1].batch
        if self.draw(2):
            self.base, self.base_size = self.database.snapshot(), self.tip.size
            self.is_asked = True
            self.database = open_snapshot(self.base, self.database.canonical_root, self.form, self.retain)
        else:
            self.database = open_log(self.tip.log[self.base_size :], self.form, self.retain, self.base)
        self._share()
        self.start = 0 if self.base is None else self.base.start
        self.tips, self.handles, self.left, self.retained = [self.tip], [], None, 0
        yield "a life begins with batches to take back", self.database.retained == 0

    def _share(self) -> None:
        if self._sharing is not None:
            self.database.share(self._sharing)

    def drop(self) -> Asked:
        """Give a batch up, under which another one is open."""
        handle = self.handles[self.draw(len(self.handles))] if self.handles else None
        if handle is None:
            return
        if handle.how == "applied":
            yield "a batch is dropped that was applied", is_refused(StaleBatch, handle.batch.drop)
            return
        child = self.database.batch(handle.batch) if self._is_alive(handle) else None
        handle.batch.drop()
        handle.batch.drop()
        handle.how = "dropped"
        if child is not None:
            yield from ask_lost(self.database, child, self.keys[0])
        yield from self.refuse()

    def refuse(self) -> Asked:
        """Ask for what no batch may do."""
        database, key = self.database, self.keys[0]
        for handle in self.handles:
            batch = handle.batch
            if self._is_alive(handle):
                yield from self._ask_batch(handle)
                yield "a batch is written that has its root", is_refused(SealedBatch, batch.write, key, None)
                continue
            yield from ask_lost(database, batch, key)
            is_refusing = handle.is_asked or is_refused(DeadBranch, getattr, batch, "canonical_root")
            yield "a batch is hashed whose branch is lost", is_refusing
        yield from self._ask_left()
        yield from ask_open(database, key, self.form)
        if self.foreign is not None:
            yield "a batch of another life is applied", is_refused(StaleBatch, database.apply, self.foreign)
            yield "a batch goes on from another life", is_refused(StaleBatch, database.batch, self.foreign)

    def _ask_left(self) -> Asked:
        """Ask the batch that was left open to go on, where its branch is alive."""
        if self.left is None:
            return
        batch, parent, base = self.left
        if base is self.tip or (parent is not None and self._is_alive(parent)):
            self.left = None
            yield from self._seal(batch, parent, base)
        else:
            yield from ask_lost(self.database, batch, self.keys[0])

    def prove(self) -> Asked:
        """Ask for proofs."""
        if self.is_asked:
            yield from ask_proofs(self.database, self.tip, self.draw)
