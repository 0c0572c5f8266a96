"""One engine of the longest chain under a test's hand, and sealed blocks of any shape."""

import msgspec

from tests.support.simplex_bench import KeyedHashScheme
from validators.consensus.headers import read_facts
from validators.consensus.interface import (
    AlarmReached,
    BlockArrived,
    BlockRef,
    Built,
    Judge,
    Judged,
    Question,
    Started,
)
from validators.consensus.longest_chain import LongestChainConfig
from validators.consensus.longest_chain.engine import LongestChain
from validators.consensus.longest_chain.sealing import SEAL_NAMESPACE
from validators.execution.blocks import Header, encode_header

GENESIS = bytes(32)
SLOT_US = 1_000_000
VALIDATORS = 4


def config_of(depth=3):
    return LongestChainConfig(slot_us=SLOT_US, finality_depth=depth, fetch_timeout_us=1_000_000, view_retention=20)


def block_on(parent, view, *, salt=0, proposer=None):
    """Return the facts of a block on another one (None: genesis), of a slot; `salt` makes another block of it."""
    header = Header(
        version=1,
        height=1 if parent is None else parent.height + 1,
        consensus_epoch=0,
        view=view,
        parent=GENESIS if parent is None else parent.digest,
        proposer=view % VALIDATORS if proposer is None else proposer,
        slot=view,
        timestamp_ms=view * 1_000 + salt,
        state_root=bytes(32),
        tx_root=bytes(32),
        receipts_root=bytes(32),
    )
    return read_facts(encode_header(header))


def chain_on(parent, views, **options):
    """Return blocks of these slots, each on the one before."""
    found = []
    for view in views:
        parent = block_on(parent, view, **options)
        found.append(parent)
    return found


def seal_of(facts):
    return KeyedHashScheme(facts.proposer).sign(SEAL_NAMESPACE, facts.digest)


def with_height(facts, height):
    """Return a block of the same header but for its height, which its parent refutes."""
    header = msgspec.structs.replace(msgspec.msgpack.decode(facts.header, type=Header), height=height)
    return read_facts(encode_header(header))


class Lone:
    """One validator's engine, whose application finds every block sound at once unless the test says otherwise."""

    def __init__(self, me=0, *, depth=3, records=(), floor=None, slot=0, config=None):
        self.me = me
        self.scheme = KeyedHashScheme(me)
        config = config or config_of(depth)
        self.engine = LongestChain(me=me, validators=VALIDATORS, scheme=self.scheme, config=config, genesis=GENESIS)
        self.engine.replay(list(records), floor)
        self.silent_about = b""
        self.effects = []
        self.step(Started())
        if slot:
            self.enter(slot)

    def step(self, event):
        """Give an event and, of what follows, the answers to questions; return all effects."""
        found = []
        waiting = [event]
        while waiting:
            for effect in self.engine.step(waiting.pop(0)):
                found.append(effect)
                if isinstance(effect, Judge) and effect.ref.digest != self.silent_about:
                    waiting.append(Judged(Question.ADOPT, effect.ref, ok=True))
        self.effects += found
        return found

    def enter(self, slot, *, late_us=0):
        return self.step(AlarmReached("slot", slot, slot * SLOT_US + late_us))

    def take(self, *blocks):
        return [effect for facts in blocks for effect in self.step(BlockArrived(1, facts, seal_of(facts)))]

    def built(self, facts):
        return self.step(Built(facts.view, facts.digest, facts))

    def judge(self, facts, *, ok):
        """Answer the question that the application was silent about."""
        return self.step(Judged(Question.ADOPT, BlockRef(facts.view, facts.digest), ok=ok))

    @property
    def head(self):
        return self.engine._tree.head

    @property
    def final(self):
        return self.engine._tree.floor


def of_type(effects, kind):
    return [effect for effect in effects if isinstance(effect, kind)]
