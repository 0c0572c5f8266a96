"""Transactions on their way: what is verified, sent on at once, sent again in parts, and to whom.

A wrong part brings everything to everybody in the end, and what is verified twice costs a moment. In a run a message
holds all that waits, as a rule; here more waits than 64 transactions or 1 MiB, some of it leaves in the middle of a
peer's round, and the same transaction comes from several before its signature is verified.
"""

from collections.abc import Iterator
from hashlib import sha256
from types import SimpleNamespace
from typing import Final, NamedTuple, cast

from msgspec import structs
from nacl.signing import SigningKey

from network.types import Label
from scheduler import CoveragePoint
from tests.properties.draws import Asked, Draw
from tests.properties.mempool.pools import SENDERS, ReferencePool
from tests.properties.stub_port import COSTS, REGOSSIP_US, SAME, SentMessage, StubPort, settings_of
from validators.execution.blocks import (
    Block,
    ExecuteActor,
    Transaction,
    encode_transaction,
    transaction_signing_bytes,
)
from validators.identity import TransactionVerifier
from validators.mempool.gossip import Gossip, Verified
from validators.mempool.pool import CLIENTS, Mempool, Pooled
from validators.mempool.rules import PoolRule
from validators.messages import TransactionGossip

_MIB: Final = 1024 * 1024
_PART_BYTES: Final = _MIB
_PART_COUNT: Final = 64
_SUBMITTED_BYTES_MAX: Final = 2 * _MIB - 64
"""A transaction fits into one message of gossip, with room for the message around it."""

_STEPS: Final = 15
_KEYS: Final = tuple(SigningKey(bytes([number]) * 32) for number in range(1, 3))
_STOCK: Final = 6
_HANDED: Final = 10
_LONGEST_EVERY: Final = 5

_TEMPLATE: Final = Transaction(SENDERS[0], 0, 1_000, 1_000, 5, 1, 0, ExecuteActor(bytes(20), "", b""), bytes(64))


def check_gossip(draw: Draw) -> Asked:
    """Yield what is asked of the gossip of transactions, and whether it is so."""
    yield from _check_rounds(draw)
    yield from _check_handed_in(draw)
    if draw(_LONGEST_EVERY) == 0:
        yield from _check_longest(draw)


class _PlainRounds:
    """The rounds of each peer, as lists of what is left of them."""

    def __init__(self, node: int, validators: int) -> None:
        self.waiting: list[Pooled] = []
        self.others = [*range(node + 1, validators), *range(node)]
        self.left: dict[int, dict[bytes, None]] = {}
        self._turns = 0

    def next_part(self) -> SentMessage:
        """Return what leaves at a timer: the next of a peer's round, or of a new one with all that waits."""
        peer = self.others[self._turns % len(self.others)]
        self._turns += 1
        left = [each for each in self.waiting if each.digest in self.left.get(peer, {})] or self.waiting
        part: list[bytes] = []
        for pooled in left:
            if part and (len(part) == _PART_COUNT or len(pooled.encoded) + sum(map(len, part)) > _PART_BYTES):
                break
            part.append(pooled.encoded)
        self.left[peer] = {each.digest: None for each in left[len(part) :]}
        return _gossip_to(peer, *part)


def _gossip_to(peer: int | None, *encoded: bytes) -> SentMessage:
    return SentMessage(peer, TransactionGossip(encoded), Label("TransactionGossip"))


def _check_rounds(draw: Draw) -> Asked:
    """Repeat what waits to each peer while some comes and some leaves; a restart begins all rounds anew."""
    validators = 1 + draw(6)
    node, is_long = draw(validators), draw(2) == 0
    nonces = dict.fromkeys(SENDERS, 0)
    numbers = iter(range(9_999))
    for _ in range(2):
        plain, bare, reached = _PlainRounds(node, validators), StubPort(), list[CoveragePoint]()
        gossip = Gossip(
            *(bare.port, SAME, Mempool(nonces.__getitem__, TransactionVerifier(), reach=reached.append)),
            settings_of(node, validators),
            refuse=lambda *_: None,
            reach=reached.append,
        )
        gossip.start()
        yield "gossip begins at another time than was set", bare.timers == {"regossip": REGOSSIP_US}
        for _ in range(_STEPS):
            bare.sent.clear()
            bare.timers.clear()
            match draw(10):
                case 0 | 1:
                    for pooled in _draw_waiting(numbers, is_long, draw):
                        gossip.pool(Verified(pooled))
                        plain.waiting.append(pooled)
                        expected = [_gossip_to(None, pooled.encoded)] if pooled.giver == CLIENTS else []
                        yield "other transactions are sent on than came from clients", bare.sent == expected
                        bare.sent.clear()
                case 2:
                    _drop_some(gossip, plain, nonces, draw)
                case _:
                    reached.clear()
                    gossip.regossip()
                    yield from _compare_part(plain, bare, reached)
            found, waiting = [*gossip.pooled], [each.digest for each in plain.waiting]
            yield "other transactions wait for their turn than came", found == waiting
        sizes = [(size.found, size.bound) for size in gossip.derived().sizes if "rounds" in size.what]
        yield "rounds of others than peers are kept", sizes == [(len(plain.left), validators - 1)]


def _compare_part(plain: _PlainRounds, bare: StubPort, reached: list[CoveragePoint]) -> Asked:
    expected: list[SentMessage] = []
    cells: list[CoveragePoint] = []
    if plain.waiting and plain.others:
        part = plain.next_part()
        expected = [part]
        size = len(cast("TransactionGossip", part.message).transactions)
        cells = [*([PoolRule.PART_FULL] if size < len(plain.waiting) else []), PoolRule.SENT_AGAIN]
    yield "what waits is sent again otherwise than in parts, in turn, once a round", bare.sent == expected
    yield "gossip goes on at another time, or not", bare.timers == {"regossip": REGOSSIP_US}
    yield "gossip reaches other rules than it meets", reached == cells


def _draw_waiting(numbers: Iterator[int], is_long: bool, draw: Draw) -> Iterator[Pooled]:
    """Yield a few large transactions, of which eight or fewer fill a part, or very many small ones."""
    for number in [next(numbers) for _ in range(1 + draw(5 if is_long else 50))]:
        length = (draw(5) * _PART_BYTES // 4 + draw(2)) if is_long else 10
        transaction = structs.replace(_TEMPLATE, public_key=SENDERS[draw(len(SENDERS))], nonce=number)
        # Bytes that nobody reads take no memory, and a digest is a name.
        yield Pooled(transaction, bytes(length), b"%d" % number, (CLIENTS, 1, 2)[draw(3)])


def _drop_some(gossip: Gossip, plain: _PlainRounds, nonces: dict[bytes, int], draw: Draw) -> None:
    """Make some of what waits final, by a block or by a snapshot."""
    if not plain.waiting:
        return
    last = plain.waiting[draw(len(plain.waiting))].transaction
    sender = last.public_key
    nonces[sender] = last.nonce + 1
    if draw(2):
        gossip.remove_spent()
    else:
        block = SimpleNamespace(transactions=(encode_transaction(last),))
        gossip.remove_included(cast("Block", block))
    plain.waiting = [
        pooled
        for pooled in plain.waiting
        if pooled.transaction.public_key != sender or pooled.transaction.nonce >= nonces[sender]
    ]


class _Handed(NamedTuple):
    """Bytes that are handed in as a transaction; of such as are none there is no content."""

    payload: bytes
    content: Pooled | None
    is_signed: bool = False


class _Entrance:
    """A gossip that things are handed in to, and what has to come of that."""

    def __init__(self, validators: int) -> None:
        self.plain = ReferencePool({bytes(key.verify_key): 1 for key in _KEYS})
        self.bare = StubPort()
        self.reached: list[CoveragePoint] = []
        self.refused: list[tuple[str, str]] = []
        self.verifier = TransactionVerifier()
        self.gossip = Gossip(
            *(
                self.bare.port,
                SAME,
                Mempool(lambda sender: self.plain.nonces[sender], self.verifier, reach=self._reach),
            ),
            settings_of(1, validators),
            refuse=lambda what, reason: self.refused.append((what, reason.partition(":")[0])),
            reach=self._reach,
        )
        self._is_validator = validators > 1
        self._verified: dict[bytes, None] = {}
        self._works: list[tuple[int, object]] = []
        self._sent: list[SentMessage] = []
        self._refusals: list[tuple[str, str]] = []
        self._cells: list[CoveragePoint] = []
        self._spent_us = 0

    def _reach(self, cell: CoveragePoint) -> None:
        # The list is another one in a while.
        self.reached.append(cell)

    def hand_in(self, giver: int, handed: list[_Handed]) -> Asked:
        """Hand something in, as a client or as a peer."""
        if giver == CLIENTS:
            handed = handed[:1]
            self.gossip.submit(handed[0].payload)
        else:
            self.gossip.take(giver, [each.payload for each in handed])
        for each in handed[:_PART_COUNT] if self._is_validator or giver == CLIENTS else ():
            self._expect(giver, each)
        yield from self._compare()

    def finish(self) -> Asked:
        """End the verification of a signature."""
        if self._works:
            self.gossip.pool(cast("Verified", self.bare.works.pop(0)[1]))
            _, verified = self._works.pop(0)
            pooled = cast("Verified", verified).pooled
            self._cells += self.plain.cells_of(pooled)
            if self.plain.add(pooled) and pooled.giver == CLIENTS:
                self._sent.append(_gossip_to(None, pooled.encoded))
        yield from self._compare()

    def _expect(self, giver: int, handed: _Handed) -> None:
        content = handed.content
        if content is None:
            self._refusals.append(("transaction", f"Transaction of {len(handed.payload)} bytes"))
        elif content.digest in [each.digest for each in self.plain.waiting]:
            self._cells.append(PoolRule.HANDED_IN_AGAIN if giver == CLIENTS else PoolRule.KNOWN_AGAIN)
        elif handed.is_signed:
            cost_us = 0 if content.digest in self._verified else COSTS.verify_signature_us
            self._verified[content.digest] = None
            given = Pooled(content.transaction, content.encoded, content.digest, giver)
            self._works.append((cost_us, Verified(given)))
        else:
            self._spent_us += COSTS.verify_signature_us
            self._refusals.append(("transaction", "signature"))

    def _compare(self) -> Asked:
        yield "other transactions are refused than are unsigned or none", self.refused == self._refusals
        yield "signatures are verified otherwise than once, for their time", self.bare.works == self._works
        yield "a forged signature takes another time than a sound one", self.bare.spent_us == self._spent_us
        yield "a client's transaction is sent on otherwise than once", self.bare.sent == self._sent
        yield "what is handed in again passes for another thing", self.reached == self._cells
        waiting = [each.digest for each in self.plain.waiting]
        yield "other transactions wait than were verified", [*self.gossip.pooled] == waiting
        remembered = self.verifier.remembered()
        yield "others are remembered as verified than were", remembered.found == len(self._verified) <= remembered.bound


def _draw_handed(draw: Draw) -> _Handed:
    key = _KEYS[draw(len(_KEYS))]
    call = ExecuteActor(bytes(20), "", bytes([draw(9)]))
    unsigned = structs.replace(_TEMPLATE, public_key=bytes(key.verify_key), nonce=draw(3), call=call)
    signature = key.sign(transaction_signing_bytes(unsigned)).signature
    is_signed = draw(4) > 0
    if not is_signed:
        # Another one's signature, or one of its own that was changed.
        signer, place = _KEYS[draw(2) and _KEYS.index(key) - 1], draw(64)
        other = signer.sign(transaction_signing_bytes(unsigned)).signature
        spoilt = signature[:place] + bytes([signature[place] ^ 1]) + signature[place + 1 :]
        signature = spoilt if signer is key else other
    transaction = structs.replace(unsigned, signature=signature)
    encoded = encode_transaction(transaction)
    content = Pooled(transaction, encoded, sha256(encoded).digest())
    match draw(6):
        case 0:
            return _Handed((encoded[:-1], encoded + b"\0", b"")[draw(3)], None)
    return _Handed(encoded, content, is_signed)


def _check_handed_in(draw: Draw) -> Asked:
    """Hand transactions in, again and again, by clients and by peers, some of them in two lives."""
    stock = [_draw_handed(draw) for _ in range(_STOCK)]
    for _ in range(2):
        entrance = _Entrance(validators=3)
        for _ in range(_HANDED):
            handed = [stock[draw(_STOCK)] for _ in range(1 + draw(3))]
            if draw(3) == 0:
                yield from entrance.finish()
            else:
                yield from entrance.hand_in((CLIENTS, 0, 2)[draw(3)], handed)
    # A message with more than it may hold, of which most are none.
    handed = [_Handed(b"", None)] * (_PART_COUNT - 1 - draw(2))
    yield from entrance.hand_in(0, [*handed, *stock[:3]])
    beyond = _Entrance(validators=1)
    beyond.gossip.start()
    yield from beyond.hand_in(0, stock)
    yield "a replica beyond the validators repeats what waits", not beyond.bare.timers


def _check_longest(draw: Draw) -> Asked:
    """Hand in the longest transaction, or one that is longer by a byte; its signature is none at all."""
    entrance = _Entrance(validators=3)
    forged = structs.replace(_TEMPLATE, public_key=bytes(_KEYS[0].verify_key), signature=b"\xff" * 64)
    is_longer = draw(2)
    # The length of the call stands in five bytes, where that of the empty one stands in two.
    room = _SUBMITTED_BYTES_MAX - len(encode_transaction(forged)) - 3 + is_longer
    transaction = structs.replace(forged, call=ExecuteActor(bytes(20), "", bytes(room)))
    encoded = encode_transaction(transaction)
    assert len(encoded) == _SUBMITTED_BYTES_MAX + is_longer, "the case is as long as it is meant to be"
    content = None if is_longer else Pooled(transaction, encoded, sha256(encoded).digest())
    yield from entrance.hand_in(CLIENTS, [_Handed(encoded, content)])
