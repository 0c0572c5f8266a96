"""A cluster of HotStuff engines in memory, with delivery, loss, timers and power under the test's control.

Messages and blocks wait in one pool, in any order; timers fire when the test says so; a validator that crashes keeps of
its journal what was synced. Blocks are headers with nothing below. `World` watches what honest validators write and
send; the invariants are restated here in the plainest way and share no predicate with production code.
"""

from dataclasses import dataclass, field
from hashlib import sha256

import msgspec

from tests.support.simplex_bench import GENESIS, SECOND_US, KeyedHashScheme
from validators.consensus.headers import read_facts
from validators.consensus.hotstuff.config import HotStuffConfig
from validators.consensus.hotstuff.engine import HotStuff
from validators.consensus.hotstuff.finality import verify_commit
from validators.consensus.hotstuff.journal import CastVote, Lock, decode_record, encode_record
from validators.consensus.hotstuff.messages import BlockVote, ViewTimeout
from validators.consensus.hotstuff.sealing import check_seal
from validators.consensus.interface import (
    Append,
    BlockArrived,
    Build,
    Built,
    CancelTimer,
    Finalized,
    Judge,
    Judged,
    Received,
    Relay,
    Send,
    SetTimer,
    Started,
    TimeoutReached,
)

PROFILES = ("three-chain", "two-chain")


def config_of(profile, retention=20):
    return HotStuffConfig(
        profile=profile,
        view_timeout_us=3 * SECOND_US,
        view_timeout_max_us=12 * SECOND_US,
        view_retention=retention,
    )


def header_of(view, height, parent, proposer, salt=b""):
    """Return an encoded header; what follows the fields that consensus reads is the application's."""
    return msgspec.msgpack.encode([1, height, 0, view, parent, proposer, salt])


@dataclass
class Seat:
    """One running engine. Two seats with one identity are twins: together a Byzantine validator."""

    place: int
    identity: int
    salt: bytes
    engine: HotStuff | None = None
    durable: list = field(default_factory=list)
    unsynced: list = field(default_factory=list)
    outbox: list = field(default_factory=list)
    questions: list = field(default_factory=list)
    timers: dict = field(default_factory=dict)
    blocks: dict = field(default_factory=dict)
    """Sealed blocks that are here: seal by digest."""


class World:
    """The cluster, what is under way, and the history of what honest validators did."""

    def __init__(self, validators=4, profile="three-chain", *, twins=False):
        self.validators, self.config = validators, config_of(profile)
        self.scheme = KeyedHashScheme(0)
        self.headers = {GENESIS: header_of(0, 0, bytes(32), 0)}
        self.seats = [Seat(place, place, b"") for place in range(validators)]
        if twins:
            self.seats.append(Seat(validators, 0, b"twin"))
        self.byzantine = (0,) if twins else ()
        self.pool = []
        self.now_us = 0
        self.cut_off = frozenset()
        self.votes = {}
        self.commits = {seat.place: [] for seat in self.seats}
        for seat in self.seats:
            self.start(seat)

    def honest(self):
        return [seat for seat in self.seats if seat.identity not in self.byzantine]

    # -- power ---------------------------------------------------------------------------------

    def engine_of(self, seat):
        """Return a fresh engine of a seat."""
        return HotStuff(
            me=seat.identity,
            validators=self.validators,
            scheme=KeyedHashScheme(seat.identity),
            config=self.config,
            genesis=GENESIS,
        )

    def start(self, seat):
        seat.engine = self.engine_of(seat)
        seat.engine.replay([decode_record(record) for record in seat.durable], None)
        self.perform(seat, seat.engine.step(Started()))
        for digest, seal in list(seat.blocks.items()):
            self.tell(seat, seat.place, digest, seal)

    def crash(self, seat, torn=0):
        seat.durable += seat.unsynced[:torn]
        seat.engine = None
        for lost in (seat.unsynced, seat.outbox, seat.questions, seat.timers):
            lost.clear()

    def sync(self, seat):
        """Make the journal durable, and only then let out what waited for it."""
        seat.durable += seat.unsynced
        seat.unsynced.clear()
        outbox, seat.outbox = seat.outbox, []
        for effect in outbox:
            if isinstance(effect, Finalized):
                assert verify_commit(self.scheme, effect.finality, self.validators, self.config)
                self.commits[seat.place].append((effect.finality.view, effect.finality.digest))
            elif isinstance(effect, Relay):
                self.spread(seat, None, (effect.digest, effect.seal))
            else:
                self.record_vote(seat, effect.message)
                self.spread(seat, effect.to, effect.message)

    def spread(self, seat, to, message):
        for other in self.seats:
            if to in (None, other.identity) and other.identity != seat.identity:
                self.pool.append((seat.place, other.place, message))

    # -- what the test does --------------------------------------------------------------------

    def deliver(self, index):
        source, target, message = self.pool.pop(index)
        seat = self.seats[target]
        if seat.engine is None or (source in self.cut_off) != (target in self.cut_off):
            return
        if isinstance(message, tuple):
            self.tell(seat, source, *message)
        else:
            identity = self.seats[source].identity
            if seat.engine.check(identity, message).ok:
                self.perform(seat, seat.engine.step(Received(identity, message)))

    def tell(self, seat, source, digest, seal):
        """Let a block with its seal arrive."""
        facts = read_facts(self.headers[digest])
        if self.check_seal(seat, facts, seal).ok:
            seat.blocks[digest] = seal
            self.perform(seat, seat.engine.step(BlockArrived(source, facts, seal)))

    def check_seal(self, _seat, facts, seal):
        return check_seal(self.scheme, facts, seal, self.validators)

    def fire(self, seat, index=0):
        keys = sorted(seat.timers, key=lambda key: (seat.timers[key], key))
        if seat.engine is not None and keys:
            name, view = keys[index % len(keys)]
            self.now_us = max(self.now_us, seat.timers.pop((name, view)))
            self.perform(seat, seat.engine.step(TimeoutReached(name, view)))

    def answer(self, seat, index=0, *, drop=False):
        """Let the application answer a question; a block that is not here is fetched from whoever has it."""
        if seat.engine is None or not seat.questions:
            return
        question = seat.questions.pop(index % len(seat.questions))
        if isinstance(question, Build):
            digest = None if drop else self.build(seat, question)
            self.perform(seat, seat.engine.step(Built(question.view, digest)))
        elif not drop:
            self.fetch(seat, question.ref.digest)
            is_right = question.parent is None or self.parent_of(question.ref.digest) == question.parent.digest
            self.perform(seat, seat.engine.step(Judged(question.question, question.ref, is_right)))

    def fetch(self, seat, digest):
        while digest not in seat.blocks and digest != GENESIS:
            seal = next(other.blocks[digest] for other in self.seats if digest in other.blocks)
            self.tell(seat, seat.place, digest, seal)
            digest = self.parent_of(digest)

    def build(self, seat, question):
        height = read_facts(self.headers[question.parent.digest]).height + 1
        header = header_of(question.view, height, question.parent.digest, seat.identity, seat.salt)
        digest = sha256(header).digest()
        self.headers[digest] = header
        return digest

    def parent_of(self, digest):
        return read_facts(self.headers[digest]).parent

    # -- what an engine wants ------------------------------------------------------------------

    def perform(self, seat, effects):
        for effect in effects:
            if isinstance(effect, Append):
                seat.unsynced.append(encode_record(effect.record))
            elif isinstance(effect, Send | Finalized | Relay):
                seat.outbox.append(effect)
                if isinstance(effect, Relay):
                    self.tell(seat, seat.place, effect.digest, effect.seal)
            elif isinstance(effect, SetTimer):
                seat.timers[effect.name, effect.number] = self.now_us + effect.after_us
            elif isinstance(effect, CancelTimer):
                seat.timers.pop((effect.name, effect.number), None)
            elif isinstance(effect, Build | Judge):
                seat.questions.append(effect)

    # -- what must be true ---------------------------------------------------------------------

    def record_vote(self, seat, message):
        """Require what is sent to be durable, and one vote in a view over all lives."""
        if seat.identity in self.byzantine:
            return
        assert message.signer == seat.identity
        records = [decode_record(record) for record in seat.durable]
        if isinstance(message, BlockVote):
            assert any(isinstance(each, CastVote) and each.vote == message for each in records), "not durable"
            given_up = [each for each in records if isinstance(each, ViewTimeout)]
            key = (seat.identity, message.view)
            assert self.votes.setdefault(key, message.digest) == message.digest, "two votes in a view"
            place = max(i for i, each in enumerate(records) if isinstance(each, CastVote) and each.vote == message)
            left = [each.view for each in given_up if records.index(each) < place]
            assert max(left, default=0) < message.view, "a vote in a view that was given up"
        else:
            assert message in records, "not durable"

    def assert_safe(self):
        """Require one chain of final blocks, and locks that rise."""
        finals = [final for seat in self.honest() for final in self.commits[seat.place]]
        tip = max(finals, default=(0, GENESIS))
        chain = self.chain_of(tip[1])
        for view, digest in finals:
            assert chain.get(view) == digest, f"view {view} is final and no ancestor of view {tip[0]}"
        for seat in self.honest():
            views = [view for view, _ in self.commits[seat.place]]
            assert views == sorted(dict.fromkeys(views)), "finality moved back"
            locks = [each.view for each in map(decode_record, seat.durable) if isinstance(each, Lock)]
            assert locks == sorted(dict.fromkeys(locks)), "the lock moved back"

    def chain_of(self, digest):
        found = {}
        while digest != GENESIS:
            facts = read_facts(self.headers[digest])
            found[facts.view] = digest
            digest = facts.parent
        return found

    # -- healing -------------------------------------------------------------------------------

    def settle(self, rounds=60):
        """Sync, answer and deliver until nothing is left to do in this instant."""
        for _ in range(rounds):
            for seat in self.seats:
                for _ in range(len(seat.questions)):
                    self.answer(seat)
                self.sync(seat)
            if not self.pool and not any(seat.questions for seat in self.seats):
                return True
            for _ in range(len(self.pool)):
                self.deliver(0)
        return False

    def heal(self, views=3, steps_max=300):
        """Bring everybody back, and require each honest validator to make later views final."""
        self.cut_off = frozenset()
        for seat in self.seats:
            if seat.engine is None:
                self.start(seat)
        target = max(seat.engine.position.view for seat in self.seats) + views
        for _ in range(steps_max):
            self.settle(rounds=4)
            if min(final_view(seat) for seat in self.honest()) >= target:
                return
            due = [(min(seat.timers.values()), seat.place) for seat in self.seats if seat.timers]
            # A chain that goes on by itself needs no timer.
            if not self.pool and not any(seat.questions for seat in self.seats):
                self.fire(self.seats[min(due)[1]])
        raise AssertionError(f"not live: {[seat.engine.position.view for seat in self.seats]}, target {target}")


def final_view(seat):
    return seat.engine.finality.view if seat.engine.finality else 0
