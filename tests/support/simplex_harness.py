"""A whole cluster of engines in memory, with delivery, loss, timers and power under the test's control.

Messages wait in one pool, in any order; timers fire when the test says so; a validator that crashes keeps of its
journal what was synced and, as on a torn write, a prefix of the rest. The model application knows each payload's
parent. `World` watches what honest validators send and append and keeps the history that `check` judges: the invariants
are restated here in the plainest way and share no predicate with production code.
"""

from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise

from tests.support.simplex_bench import CONFIG, GENESIS, KeyedHashScheme
from validators.consensus.interface import (
    Append,
    Build,
    Built,
    CancelTimer,
    Effect,
    Finalized,
    Judge,
    Judged,
    Question,
    Received,
    Relay,
    Send,
    SetTimer,
    Started,
    TimeoutReached,
)
from validators.consensus.signing import Scheme
from validators.consensus.simplex import (
    ConsensusMessage,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
    Simplex,
    decode_artifact,
    encode_artifact,
    verify_certificate,
)


def make_keyed_hash_scheme(identity: int, validators: int) -> Scheme:
    return KeyedHashScheme(identity)


@dataclass
class Seat:
    """One running engine. Two seats with one identity are twins: together a Byzantine validator."""

    place: int
    identity: int
    salt: bytes
    engine: Simplex | None = None
    durable: list[bytes] = field(default_factory=list)
    unsynced: list[bytes] = field(default_factory=list)
    outbox: list[Send | Finalized] = field(default_factory=list)
    questions: list[Effect] = field(default_factory=list)
    timers: dict[tuple[str, int], int] = field(default_factory=dict)


class World:
    """The cluster, the pool of messages under way, and the history of what honest validators did."""

    def __init__(self, validators: int, *, twins: bool = False, make_scheme=make_keyed_hash_scheme) -> None:
        self.validators = validators
        self.quorum = validators - (validators - 1) // 3
        self.make_scheme = make_scheme
        self.scheme = make_scheme(0, validators)
        self.seats = [Seat(place, place, b"") for place in range(validators)]
        if twins:
            self.seats.append(Seat(validators, 0, b"twin"))
        self.byzantine = (0,) if twins else ()
        self.pool: list[tuple[int, int, ConsensusMessage]] = []
        self.now_us = 0
        self.parents: dict[bytes, tuple[int, bytes]] = {}
        self.votes: dict[tuple[int, str, int], bytes] = {}
        self.notarized: dict[int, Proposal] = {}
        self.nullified: set[int] = set()
        self.finalized: dict[int, Proposal] = {}
        self.chains: dict[int, list[tuple[int, bytes]]] = {seat.place: [] for seat in self.seats}
        self.deliveries = 0
        self.cut_off: frozenset[int] = frozenset()
        for seat in self.seats:
            self.start(seat)

    # What the test does.

    def start(self, seat: Seat) -> None:
        seat.engine = Simplex(
            me=seat.identity,
            validators=self.validators,
            scheme=self.make_scheme(seat.identity, self.validators),
            config=CONFIG,
            genesis=GENESIS,
        )
        seat.engine.replay([decode_artifact(record) for record in seat.durable])
        self.perform(seat, seat.engine.step(Started()))

    def crash(self, seat: Seat, torn: int) -> None:
        """Cut the power: memory is gone, and of the unsynced records only the first `torn` remain."""
        self.make_durable(seat, seat.unsynced[:torn])
        seat.engine = None
        for lost in (seat.unsynced, seat.outbox, seat.questions, seat.timers):
            lost.clear()

    def sync(self, seat: Seat) -> None:
        """Make the journal durable, and only then let out what waited for it."""
        self.make_durable(seat, seat.unsynced)
        seat.unsynced.clear()
        outbox, seat.outbox = seat.outbox, []
        for effect in outbox:
            if isinstance(effect, Finalized):
                self.chains[seat.place].append((effect.finality.view, effect.finality.digest))
            else:
                self.send(seat, effect)

    def make_durable(self, seat: Seat, records: list[bytes]) -> None:
        seat.durable += records
        for record in records:
            self.record_certificate(decode_artifact(record))

    def deliver(self, index: int) -> None:
        source, target, message = self.pool.pop(index)
        engine = self.seats[target].engine
        if engine is None or (source in self.cut_off) != (target in self.cut_off):
            return
        self.deliveries += 1
        identity = self.seats[source].identity
        if engine.check(identity, message).ok:
            self.perform(self.seats[target], engine.step(Received(identity, message)))

    def fire(self, seat: Seat, index: int) -> None:
        """Let the timer that is the `index`-th to be due fire, maybe long before its time."""
        keys = sorted(seat.timers, key=lambda key: (seat.timers[key], key))
        if seat.engine is not None and keys:
            name, view = keys[index % len(keys)]
            self.now_us = max(self.now_us, seat.timers.pop((name, view)))
            self.perform(seat, seat.engine.step(TimeoutReached(name, view)))

    def answer(self, seat: Seat, index: int, *, drop: bool = False) -> None:
        """Let the application answer one question; `drop` withholds the judgement."""
        if seat.engine is None or not seat.questions:
            return
        question = seat.questions.pop(index % len(seat.questions))
        if isinstance(question, Build):
            payload = None if drop else self.build(seat, question)
            self.perform(seat, seat.engine.step(Built(question.view, payload)))
        elif isinstance(question, Judge):
            digest = question.ref.digest
            if question.question is Question.VERIFY:
                is_sound = self.parents.get(digest) == tuple(question.parent) and not is_bad(digest)
                is_sound = None if drop else is_sound
            else:
                is_sound = not is_uncertifiable(digest)
            self.perform(seat, seat.engine.step(Judged(question.question, question.ref, is_sound)))

    def build(self, seat: Seat, question: Build) -> bytes:
        payload = sha256(b"%d" % question.view + question.parent.digest + seat.salt).digest()
        self.parents[payload] = tuple(question.parent)
        return payload

    # What an engine wants.

    def perform(self, seat: Seat, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Append):
                seat.unsynced.append(encode_artifact(effect.record))
            elif isinstance(effect, Send | Finalized):
                seat.outbox.append(effect)
            elif isinstance(effect, SetTimer):
                seat.timers[effect.name, effect.number] = self.now_us + effect.after_us
            elif isinstance(effect, CancelTimer):
                seat.timers.pop((effect.name, effect.number), None)
            elif isinstance(effect, Build | Judge):
                seat.questions.append(effect)
            elif isinstance(effect, Relay):
                assert effect.digest in self.parents, "only what was built is relayed"

    def send(self, seat: Seat, effect: Send) -> None:
        self.record_vote(seat, effect.message)
        for other in self.seats:
            is_meant = effect.to in (None, other.identity)
            if is_meant and other.identity != seat.identity:
                self.pool.append((seat.place, other.place, effect.message))

    # The history, and what must be true of it.

    def record_vote(self, seat: Seat, message: ConsensusMessage) -> None:
        if not isinstance(message, Notarize | Nullify | Finalize) or seat.identity in self.byzantine:
            return
        assert message.signer == seat.identity
        assert encode_artifact(message) in seat.durable, f"{message} was sent before it was durable"
        kind = type(message).__name__
        view = message.view if isinstance(message, Nullify) else message.proposal.view
        content = b"" if isinstance(message, Nullify) else message.proposal.payload
        assert self.votes.setdefault((seat.identity, kind, view), content) == content, f"two {kind} in view {view}"
        both = {(seat.identity, "Nullify", view), (seat.identity, "Finalize", view)}
        assert not both <= self.votes.keys(), f"validator {seat.identity} nullified and finalized view {view}"

    def record_certificate(self, artifact: object) -> None:
        if isinstance(artifact, Notarization | Nullification | Finalization):
            assert verify_certificate(self.scheme, artifact, self.validators)
        if isinstance(artifact, Notarization):
            held = self.notarized.setdefault(artifact.proposal.view, artifact.proposal)
            assert held == artifact.proposal, f"two notarizations in view {held.view}"
        elif isinstance(artifact, Nullification):
            self.nullified.add(artifact.view)
        elif isinstance(artifact, Finalization):
            held = self.finalized.setdefault(artifact.proposal.view, artifact.proposal)
            assert held == artifact.proposal, f"two finalizations in view {held.view}"

    def assert_safe(self) -> None:
        """Assert the safety of the history: exclusion, agreement, ancestry, forced inclusion."""
        assert not self.nullified & self.finalized.keys(), "a view is both nullified and finalized"
        for view, proposal in self.finalized.items():
            assert self.notarized.get(view, proposal) == proposal, f"view {view} finalized what it did not notarize"
        for proposal in (*self.notarized.values(), *self.finalized.values()):
            skipped = set(range(proposal.parent_view + 1, proposal.view))
            assert skipped <= self.nullified, f"view {proposal.view} skips views that no quorum nullified"
        tip = max(self.finalized, default=0)
        ancestors = dict(self.ancestry(self.finalized[tip])) if tip else {}
        for view, proposal in self.finalized.items():
            assert ancestors[view] == proposal.payload, f"finalized view {view} is no ancestor of finalized view {tip}"
        for chain in self.chains.values():
            assert all(ancestors[view] == payload for view, payload in chain)

    def ancestry(self, proposal: Proposal) -> list[tuple[int, bytes]]:
        """Return (view, payload) from a proposal down to, and without, genesis, by the application's parents."""
        found = [(proposal.view, proposal.payload)]
        parent = self.parents[proposal.payload]
        while parent[0] > 0:
            found.append(parent)
            parent = self.parents[parent[1]]
        assert parent == (0, GENESIS)
        assert all(above[0] > below[0] for above, below in pairwise(found))
        return found

    # Healing: everything works again, and time passes as it should.

    def heal(self, *, views: int, steps_max: int = 2_000) -> None:
        """Restart who is down, drop what was under way, and run until every honest seat finalizes `views` more."""
        self.pool.clear()
        self.cut_off = frozenset()
        honest = [seat for seat in self.seats if seat.identity not in self.byzantine]
        for seat in self.seats:
            if seat.identity in self.byzantine:
                self.crash(seat, 0)
            elif seat.engine is None:
                self.start(seat)
        target = max(seat.engine.position.view for seat in honest if seat.engine) + views
        for _ in range(steps_max):
            self.settle_instant(honest, target)
            if min(final_view(seat.engine) for seat in honest if seat.engine) >= target:
                return
            due = [(min(seat.timers.values()), seat.place) for seat in honest if seat.timers]
            self.fire(self.seats[min(due)[1]], 0)
        raise AssertionError(f"not live: {[seat.engine and seat.engine.statistics() for seat in honest]}")

    def settle_instant(self, seats: list[Seat], target: int) -> None:
        """Sync, answer and deliver until nothing is left to do at this instant or `target` is finalized."""
        for _ in range(2_000):
            if min(final_view(seat.engine) for seat in seats if seat.engine) >= target:
                return
            for seat in seats:
                for _ in range(len(seat.questions)):
                    self.answer(seat, 0)
                self.sync(seat)
            if not self.pool and not any(seat.questions for seat in seats):
                return
            for _ in range(len(self.pool)):
                self.deliver(0)


def is_bad(payload: bytes) -> bool:
    """Return whether the model application refuses to verify the payload: one in sixteen."""
    return payload[0] < 16


def is_uncertifiable(payload: bytes) -> bool:
    """Return whether the payload passes verification and fails certification, everywhere: one in sixteen."""
    return payload[1] < 16


def final_view(engine: Simplex) -> int:
    """Return the highest finalized view; 0 is genesis."""
    return engine.finality.view if engine.finality else 0
