"""A cluster of HotStuff engines in memory whose calls are kept, and which gets forgeries and questions asked again."""

from functools import cache
from hashlib import sha256

from msgspec.structs import replace
from nacl.signing import SigningKey

from checker.record.engine_calls import recorded_kind
from network.memo import Memo
from tests.support.hotstuff_harness import World
from tests.support.hotstuff_scripts import STEPS, chosen
from tests.support.simplex_bench import GENESIS
from validators.consensus.headers import read_facts
from validators.consensus.hotstuff.kind import HOTSTUFF
from validators.consensus.hotstuff.sealing import decode_seal, encode_seal
from validators.consensus.interface import AskAgain, Build, Built, FloorAdopted, Judged
from validators.consensus.signing import Ed25519Scheme

SHARED = Memo(100_000)
"""Signatures that any scheme has verified: the runs of a test are many, and each scheme counts for itself."""

_SHORT_LENGTH, _LONG_LENGTH = b"\xc4\x40", b"\xc5\x00\x40"
"""The head of 64 bytes in msgpack, and one that says the same with more bytes."""


@cache
def seeds_and_keys(validators):
    """Return (secret keys, public keys) of a number of validators."""
    seeds = [sha256(b"validator %d" % number).digest() for number in range(validators)]
    return seeds, tuple(bytes(SigningKey(seed).verify_key) for seed in seeds)


class FollowedWorld(World):
    """The cluster; `lives` has the calls of each engine, by seat."""

    def __init__(self, *arguments, **settings):
        self.lives, self.kinds, self.schemes, self.sent = {}, {}, {}, []
        super().__init__(*arguments, **settings)

    def engine_of(self, seat):
        seeds, keys = seeds_and_keys(self.validators)
        lives = self.lives.setdefault(seat.place, [])
        kind = self.kinds[seat.place] = recorded_kind(HOTSTUFF, lives, keys, lambda: self.now_us)
        # That of the world, which watches, belongs to no seat: what it verifies is not in the calls.
        self.scheme = Ed25519Scheme(seeds[0], keys, SHARED)
        scheme = self.schemes[seat.place] = Ed25519Scheme(seeds[seat.identity], keys, SHARED)
        return kind.make(
            me=seat.identity,
            validators=self.validators,
            scheme=scheme,
            config=self.config,
            genesis=GENESIS,
            is_observer=False,
        )

    def spread(self, seat, to, message):
        self.sent.append((seat.identity, message))
        super().spread(seat, to, message)

    def check_seal(self, seat, facts, seal):
        check = self.kinds[seat.place].check_seal
        return check(self.schemes[seat.place], facts, seal, self.validators, config=self.config)

    def verify(self, seat, finality):
        return self.kinds[seat.place].verify_finality(self.schemes[seat.place], finality, self.validators, self.config)


def make_progress(world, choice):
    """Bring one seat back, and the network now and then; let everything arrive, and a timer end where nothing moves."""
    if choice % 4 == 0:
        world.cut_off = frozenset()
    if (down := chosen(world, choice // 4)).engine is None:
        world.start(down)
    for _ in range(1 + choice % 5):
        world.settle(rounds=4)
        due = [
            (min(seat.timers.values()), seat.place) for seat in world.seats if seat.engine is not None and seat.timers
        ]
        if due and not world.pool and not any(seat.questions for seat in world.seats):
            world.fire(world.seats[min(due)[1]])


def adopt_floor(world, choice):
    """Give a seat the finality of another one, or of the future."""
    seat, other = chosen(world, choice), chosen(world, choice // 4)
    if seat.engine is not None and other.engine is not None and other.engine.finality is not None:
        assert world.verify(seat, other.engine.finality)
        world.perform(seat, seat.engine.step(FloorAdopted(other.engine.finality)))


def ask_again(world, choice):
    """Give a seat a new application."""
    seat = chosen(world, choice)
    if seat.engine is not None:
        seat.questions.clear()
        world.perform(seat, seat.engine.step(AskAgain()))


def answer_badly(world, choice):
    """Let an application answer a question with no, or say that there will be no answer."""
    seat = chosen(world, choice)
    if seat.engine is not None and seat.questions and choice % 8 < 3:
        question = seat.questions.pop(choice // 4 % len(seat.questions))
        no = Built(question.view, None) if isinstance(question, Build) else None
        world.perform(
            seat, seat.engine.step(no or Judged(question.question, question.ref, None if choice & 64 else False))
        )


def forge(world, choice):
    """Show a seat what no validator has sent: a message, a sealed block or a proof with one part exchanged."""
    seat = chosen(world, choice)
    if seat.engine is None or not world.sent:
        return
    late = world.sent[-20:]
    sender, sent = late[choice // 4 % len(late)]
    if isinstance(sent, tuple):
        facts, seal = read_facts(world.headers[sent[0]]), decode_seal(sent[1])
        for forged in _forgeries(seal, choice):
            world.check_seal(seat, facts, encode_seal(forged))
        for encoded in (sent[1] + b"\0", sent[1].replace(_SHORT_LENGTH, _LONG_LENGTH, 1)):
            world.check_seal(seat, facts, encoded)
        for forged in (facts._replace(view=0), facts._replace(proposer=3), facts._replace(height=1, parent=GENESIS)):
            world.check_seal(seat, forged, sent[1])
        return
    for forged in _forgeries(sent, choice):
        seat.engine.check(sender, forged)
    seat.engine.check(9, sent)
    seat.engine.check((sender + 1) % world.validators, sent)
    finality = seat.engine.finality
    if finality is not None:
        for forged in _forgeries(finality.certificate, choice):
            world.verify(seat, replace(finality, certificate=forged))
        world.verify(seat, replace(finality, headers=finality.headers[::-1]))
        world.verify(seat, replace(finality, headers=(b"\x90", *finality.headers[1:])))
        world.verify(seat, replace(finality, headers=finality.headers[:2]))


def _forgeries(struct, choice):
    """Yield structs that differ from one in one field."""
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if isinstance(value, bool) or value is None:
            continue
        if isinstance(value, int):
            others = [0, value + 1, max(value - 1, 0), value + 70]
        elif isinstance(value, bytes):
            others = [bytes(len(value)), value[:-1] + bytes([value[-1] ^ 1 << choice % 8]) if value else b"\1"]
            others += [] if name == "digest" else [value + b"\1", value[:-1]]
        elif isinstance(value, tuple):
            others = [value[:-1], value[::-1], (*value, value[0])] if value else []
        else:
            others = [*_forgeries(value, choice), *([None] if name in {"timeout", "entry"} else [])]
        for other in others:
            yield replace(struct, **{name: other})


FOLLOWED_STEPS = ((1, adopt_floor), (2, ask_again), (3, answer_badly), (6, forge), (18, make_progress), *STEPS)
