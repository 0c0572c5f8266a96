"""Plays with one longest-chain engine: drawn blocks, messages, judgements and restarts, whose calls are kept.

A play goes where no run of honest validators does: blocks of every fault, in any order, and answers to no question.
"""

from functools import cache
from itertools import count

import msgspec
from nacl.signing import SigningKey

from checker.record.engine_calls import recorded_kind
from network.chance import Chance, below
from tests.support.longest_chain_bench import GENESIS, SLOT_US, block_on, with_height
from validators.consensus.interface import (
    AlarmReached,
    Append,
    AskAgain,
    BlockArrived,
    BlockRef,
    Build,
    Built,
    FloorAdopted,
    Judge,
    Judged,
    Question,
    Received,
    SetTimer,
    Started,
    TimeoutReached,
)
from validators.consensus.longest_chain import (
    Announcement,
    Burial,
    HeadRequest,
    HeadResponse,
    LongestChainConfig,
    SealedHeader,
)
from validators.consensus.longest_chain.election import leader_of
from validators.consensus.longest_chain.kind import LONGEST_CHAIN
from validators.consensus.longest_chain.sealing import SEAL_NAMESPACE
from validators.consensus.signing import Ed25519Scheme

SEEDS = tuple(bytes([node]) * 32 for node in range(4))


@cache
def public_keys(validators=4):
    return tuple(bytes(SigningKey(seed).verify_key) for seed in SEEDS[:validators])


@cache
def seal_of(proposer, digest):
    return Ed25519Scheme(SEEDS[proposer], public_keys()).sign(SEAL_NAMESPACE, digest)


def sealed(facts, *, seal=None):
    return SealedHeader(facts.header, seal or seal_of(facts.proposer % 4, facts.digest))


class Player:
    """One replica's engine, its journal, and its recorded lives.

    Args:
        me: The replica.
        config: The engine's configuration.
        validators: How many validators there are.
        is_observer: Whether the replica only follows.
    """

    def __init__(self, me=0, *, config, validators=4, is_observer=False):
        self.me, self.config, self.validators, self.is_observer = me, config, validators, is_observer
        self.lives, self.journal = [], []
        clock = count()
        self.kind = recorded_kind(LONGEST_CHAIN, self.lives, public_keys(validators), lambda: next(clock))

    def begin(self, floor=None, records=None):
        """Begin a life with the journal, or with these records of it."""
        self.scheme = Ed25519Scheme(SEEDS[self.me % 4], public_keys(self.validators))
        self.engine = self.kind.make(
            me=self.me,
            validators=self.validators,
            scheme=self.scheme,
            config=self.config,
            genesis=GENESIS,
            is_observer=self.is_observer,
        )
        self.asked, self.built, self.round = [], [], 0
        self.engine.replay(self.journal if records is None else records, floor)
        self.step(Started())

    def step(self, event):
        """Give an event, and note what it asks for."""
        effects = self.engine.step(event)
        self.asked += [each.ref for each in effects if isinstance(each, Judge)]
        self.built += [each for each in effects if isinstance(each, Build)]
        self.round = max([self.round, *(each.number for each in effects if isinstance(each, SetTimer))])
        encode, decode = LONGEST_CHAIN.records.encode, LONGEST_CHAIN.records.decode
        self.journal += [decode(encode(each.record)) for each in effects if isinstance(each, Append)]
        return effects

    def receive(self, sender, message):
        """Give a message that is sound."""
        if self.engine.check(sender, message).ok:
            self.step(Received(sender, message))

    def take(self, facts, seal=None):
        """Give a block whose seal is sound."""
        seal = seal or seal_of(facts.proposer % 4, facts.digest)
        if self.kind.check_seal(self.scheme, facts, seal, self.validators, config=self.config).ok:
            self.step(BlockArrived(1, facts, seal))

    def adopt_floor(self, burial):
        """Give a finality that is proved."""
        if self.kind.verify_finality(self.scheme, burial, self.validators, self.config):
            self.step(FloorAdopted(burial))

    def judge(self, ref, ok):
        self.step(Judged(Question.ADOPT, BlockRef(*ref), ok))

    def enter(self, slot):
        self.step(AlarmReached("slot", slot, slot * SLOT_US + 7))


def config_of(*, depth, lottery_key=None):
    return LongestChainConfig(
        slot_us=SLOT_US,
        finality_depth=depth,
        fetch_timeout_us=1_000_000,
        view_retention=20,
        lottery_key=lottery_key,
        empty_slot_share_ppm=0 if lottery_key is None else 300_000,
    )


class Play:
    """A drawn play: `lives` has what was recorded.

    Args:
        seed: Draws everything.
        turns: How many events there are, about.
    """

    def __init__(self, seed, turns=250):
        draws, ordinals = Chance(seed).stream("play", ""), count()
        self.pick = lambda bound: below(draws.at(next(ordinals)), bound)
        lottery_key = self.pick(1_000) if self.pick(3) == 0 else None
        # Of the players one is beyond the validators.
        me = self.pick(5)
        self.player = Player(me, config=config_of(depth=1 + self.pick(3), lottery_key=lottery_key), is_observer=me == 4)
        self.answers_none = self.pick(6) == 0
        self.slot, self.pool = 1, []
        for _ in range(12):
            self._add_block()
        self.player.begin()
        moves = self._moves()
        for _ in range(turns):
            moves[self.pick(len(moves))]()
        self.lives = self.player.lives

    def _moves(self):
        """Return what may happen; what is named several times happens more often."""
        return (
            *(self._answer,) * 7,
            *(self._relay,) * 4,
            *(self._announce,) * 3,
            *(self._enter, self._enter, self._grow, self._grow, self._finish, self._name_head, self._name_head),
            *(self._end_round, self._ask_again, self._jump_floor, self._request, self._judge_any, self._restart),
        )

    def _of(self, values):
        return values[self.pick(len(values))]

    def _recent(self):
        """Return a block of the pool, mostly a late one."""
        return self._of(self.pool[-4:] if self.pick(2) else self.pool)

    def _add_block(self):
        parent = self._recent() if self.pool and self.pick(12) else None
        view = (
            (0 if parent is None else parent.view) + 1 + self.pick(3) * (self.pick(3) == 0) - 2 * (self.pick(20) == 0)
        )
        view = max(view, 0)
        leader = leader_of(view, 4, self.player.config) if self.pick(50) else self.pick(4)
        made = block_on(parent, view, salt=self.pick(2), proposer=0 if leader is None else leader)
        if self.pick(20) == 0:
            made = with_height(made, max(made.height - 2 + self.pick(5), 0))
        self.pool.append(made)

    def _sealed(self, facts):
        return sealed(facts, seal=seal_of(facts.proposer % 4, GENESIS) if self.pick(20) == 0 else None)

    def _grow(self):
        for _ in range(1 + self.pick(3)):
            self._add_block()

    def _relay(self):
        facts = self._recent()
        self.player.take(facts, self._sealed(facts).seal)

    def _announce(self):
        block = self._sealed(self._recent())
        if self.pick(30) == 0:
            block = SealedHeader(msgspec.msgpack.encode([1, "no header"]), block.seal)
        self.player.receive(self.pick(4), Announcement(block))

    def _answer(self):
        asked = self.player.asked
        if asked:
            self._judge(asked.pop(self.pick(len(asked))), is_refused=self.pick(25) == 0)

    def _judge(self, ref, *, is_refused):
        """Judge as an application does, which refuses a block that its own parent refutes."""
        facts = next(each for each in self.pool if each.digest == ref[1])
        parent = next((each for each in self.pool if each.digest == facts.parent), None)
        height, view = (0, 0) if parent is None else (parent.height, parent.view)
        is_sound = facts.height == height + 1 and facts.view > view and not is_refused
        self.player.judge(ref, None if self.answers_none else is_sound)

    def _judge_any(self):
        facts = self._recent()
        self._judge((facts.view, facts.digest), is_refused=self.pick(4) == 0)

    def _enter(self):
        self.slot = max(self.slot + self._of((0, 1, 1, 1, 2, 3, -1)), 0)
        self.player.enter(self.slot)

    def _finish(self):
        built = self.player.built
        if not built:
            return
        build = built.pop()
        parent = next((each for each in self.pool if each.digest == build.parent.digest), None)
        if self.pick(5) == 0 or (parent is None and build.parent.digest != GENESIS):
            self.player.step(Built(build.view, None))
            return
        facts = block_on(parent, build.view, salt=5, proposer=self.player.me)
        self.pool.append(facts)
        self.player.step(Built(build.view, facts.digest, facts))

    def _chain(self):
        """Return a burial of some block, which may be short or have a gap."""
        top = self._recent()
        chain = [top]
        for _ in range(self.player.config.finality_depth + self.pick(3)):
            below_it = [each for each in self.pool if each.digest == chain[0].parent]
            if not below_it:
                break
            chain[:0] = below_it
        if self.pick(12) == 0 and len(chain) > 1:
            del chain[self.pick(len(chain))]
        return Burial(tuple(map(self._sealed, chain)))

    def _name_head(self):
        final = self._chain() if self.pick(4) else None
        self.player.receive(self.pick(4), HeadResponse(self._sealed(self._recent()), final))

    def _jump_floor(self):
        self.player.adopt_floor(self._chain())

    def _request(self):
        self.player.receive(self.pick(4), HeadRequest())

    def _end_round(self):
        self.player.step(TimeoutReached("join", max(self.player.round - (self.pick(6) == 0), 0)))

    def _ask_again(self):
        self.player.step(AskAgain())

    def _restart(self):
        if self.pick(3):
            return
        journal = self.player.journal
        if self.pick(5) == 0:
            journal.clear()
        floors = [each for each in journal if isinstance(each, Burial)]
        floor = self._of(floors) if floors and self.pick(3) == 0 else None
        self.player.begin(floor)
        for facts in self.pool[: self.pick(len(self.pool))]:
            self.player.take(facts)
