"""Transactions on their way to validators: submitted to one, sent on to all, sent again while they wait.

A transaction enters a mempool only if its pool finds no fault in it; our own pool verifies the signature. The validator
that received it from a client sends it to every other validator. Each validator also regularly sends a part of its
waiting transactions to one peer in turn, which replaces messages lost to loss and partitions. Each peer has rounds of
its own: in a round every transaction that waited at its start goes to the peer once, the earliest first. Parts that
followed the turns of all peers were rejected: where the number of parts and the number of peers had a common factor, a
peer never got some parts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from network.codec import Codec
from network.port import Port
from network.types import Label
from scheduler import Reach, unheard
from validators.derived import Derived, DerivedSize
from validators.execution import InvalidEncodingError
from validators.execution.blocks import Block
from validators.mempool.pool import CLIENTS, NO_ARRIVALS, Arrivals, Pooled, TransactionPool
from validators.mempool.rules import PoolRule
from validators.messages import TRANSACTION_BYTES_MAX, TRANSACTIONS_PER_GOSSIP, Message, TransactionGossip
from validators.settings import ValidatorSettings

_LABEL: Final = Label(TransactionGossip.traced_name)


class Verified(NamedTuple):
    """A transaction whose signature has been verified."""

    pooled: Pooled


class Gossip:
    """One validator's mempool and its gossip."""

    def __init__(
        self,
        port: Port,
        codec: Codec[Message],
        pool: TransactionPool,
        settings: ValidatorSettings,
        *,
        refuse: Callable[[str, str], None],
        reach: Reach = unheard,
    ) -> None:
        self._reach = reach
        self._port = port
        self._refuse = refuse
        self._codec = codec
        self._settings = settings
        self._mempool = pool
        self._round = 0
        self._rounds: dict[int, Arrivals] = {}

    @property
    def pooled(self) -> Mapping[bytes, Pooled]:
        """Transactions that wait for a block, by digest, for the checks."""
        return self._mempool.pooled

    def derived(self) -> Derived:
        """Return the mempool's derived state, with the cache of verified transactions."""
        derived, others = self._mempool.derived(), max(self._settings.validators - 1, 0)
        rounds = DerivedSize("rounds of peers", len(self._rounds), others, "other validators")
        return derived._replace(sizes=(*derived.sizes, rounds))

    def start(self) -> None:
        """Start to repeat waiting transactions; a replica that is no validator keeps none."""
        if self._settings.is_validator:
            self._port.set_timer("regossip", self._settings.regossip_us)

    def candidates(self) -> Iterator[Any]:
        """Yield the transactions that a leader may put into its block, best first."""
        return self._mempool.candidates()

    def submit(self, payload: bytes) -> None:
        """Accept a transaction from a client."""
        self._take_one(payload, CLIENTS)

    def take(self, peer: int, payloads: Sequence[bytes]) -> None:
        """Accept transactions from a peer."""
        for payload in payloads[:TRANSACTIONS_PER_GOSSIP] if self._settings.is_validator else ():
            self._take_one(payload, peer)

    def pool(self, verified: Verified) -> None:
        """Keep a transaction once its signature check's virtual time is over, and forward a client's."""
        if self._mempool.add(verified.pooled) and verified.pooled.giver == CLIENTS:
            gossip = TransactionGossip((verified.pooled.encoded,))
            self._port.broadcast(self._codec.encode(gossip), _LABEL)

    def remove_included(self, block: Block) -> None:
        """Forget the transactions of a finalized block."""
        self._mempool.remove_included(block)

    def remove_spent(self) -> None:
        """Forget the transactions that a peer's snapshot has made void."""
        self._mempool.remove_spent()

    def regossip(self) -> None:
        """Send the next part of the waiting transactions to the next peer in turn."""
        self.start()
        if self._mempool.pooled and self._settings.validators > 1:
            step = 1 + self._round % (self._settings.validators - 1)
            peer = (self._settings.node + step) % self._settings.validators
            self._round += 1
            gossip = TransactionGossip(self._next_part(peer))
            self._reach(PoolRule.SENT_AGAIN)
            self._port.send(peer, self._codec.encode(gossip), _LABEL)

    def _next_part(self, peer: int) -> tuple[bytes, ...]:
        """Return the next part of the peer's round; start another round where it is over."""
        left = self._rounds.get(peer, NO_ARRIVALS)
        waiting = self._mempool.waiting(left, TRANSACTIONS_PER_GOSSIP)
        if not waiting:
            left = self._mempool.arrivals
            waiting = self._mempool.waiting(left, TRANSACTIONS_PER_GOSSIP)
        part = tuple(_within_limit(waiting))
        if len(part) < len(self._mempool):
            self._reach(PoolRule.PART_FULL)
        # Transactions that did not fit stay in the round: the next part starts with them.
        self._rounds[peer] = Arrivals(waiting[len(part) - 1].arrival, left.until)
        return part

    def _take_one(self, payload: bytes, giver: int) -> None:
        try:
            pooled = self._mempool.read(payload, giver)
        except InvalidEncodingError as error:
            self._refuse("transaction", str(error))
            return
        if pooled.digest in self._mempool:
            self._reach(PoolRule.HANDED_IN_AGAIN if giver == CLIENTS else PoolRule.KNOWN_AGAIN)
            return
        fault = self._mempool.find_fault(pooled)
        cost_us = self._mempool.take_unpaid() * self._settings.costs.verify_signature_us
        if fault:
            self._port.spend(cost_us)
            self._refuse("transaction", fault)
        else:
            self._port.work(cost_us, Verified(pooled))


def _within_limit(waiting: Sequence[Pooled]) -> Iterator[bytes]:
    """Yield the first encoding, and further encodings while they fit well inside the wire's limit."""
    room_bytes = TRANSACTION_BYTES_MAX // 2
    for index, pooled in enumerate(waiting):
        room_bytes -= len(pooled.encoded)
        if index and room_bytes < 0:
            return
        yield pooled.encoded
