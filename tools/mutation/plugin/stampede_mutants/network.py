"""Mutants of what passes between a validator and its peers: blocks on request, snapshots, gossip, and its mempool."""

import itertools
from functools import partial
from typing import Any, Final

from checker.mutants.mutant import mutant
from network.types import Label
from validators.finalizer import Finalizer
from validators.mempool.gossip import Gossip
from validators.mempool.pool import Mempool
from validators.messages import TransactionGossip
from validators.sync import block_exchange
from validators.sync.block_exchange import BlockExchange
from validators.sync.serving import Serving

_mutant = partial(mutant, area="network")

DAMAGED_MESSAGES: Final = (
    "faults={"
    'noise={kind="links", corrupt_ppm=150_000, stop_ms=14_000},'
    'late={kind="rule", action="drop", kinds=["BlockResponse"], to=[0, 1], start_ms=3_000, stop_ms=14_000}}'
)
"""Bytes change on all links, for most of the run."""

LONG_AWAY: Final = 'faults={away={kind="crash", validator=1, at_ms=2_000, restart_ms=14_000}}'
"""A validator misses more blocks than a snapshot is sought for."""


class _Whatever(bytes):
    """Equal to everything."""

    __slots__ = ()

    def __eq__(self, _other: object) -> bool:
        return True

    def __ne__(self, _other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 0


@_mutant(
    (block_exchange, "mmr_root"),
    kills=("agreement", "finality-regained"),
    cause="input",
    needs=(DAMAGED_MESSAGES,),
    shows="transaction",
)
def block_body_unchecked(_original: Any) -> Any:
    """A block is kept under its header's digest whatever its transactions are."""
    return lambda _transactions, _grow=None: _Whatever()


@_mutant((BlockExchange, "serve"), kills=("finality-regained",), on_all=True)
def serves_no_blocks(_original: Any) -> Any:
    """A validator that missed a block gets it from no peer."""
    return lambda _self, _peer, _request: None


@_mutant((BlockExchange, "_chain_below"), kills=("final-disks",))
def ancestors_are_not_served(chain_below: Any) -> Any:
    """A validator serves the block that was asked for and two below it, and no more."""

    def serve_the_young(self: Any, request: Any) -> Any:
        return itertools.islice(chain_below(self, request), 3)

    return serve_the_young


@_mutant((BlockExchange, "request"), kills=("timer-lengths",))
def relay_has_no_grace(request: Any) -> Any:
    """A validator asks for a block at once, although the leader's relay may still arrive."""

    def request_at_once(self: Any, digest: bytes, first_peer: Any) -> None:
        is_new = digest not in self._attempts
        request(self, digest, first_peer)
        if is_new:
            self._port.set_timer(("fetch", digest), 0)

    return request_at_once


@_mutant((Serving, "send"), kills=("refusals",))
def an_answer_is_under_way_for_ever(send: Any) -> Any:
    """A validator that has answered a peer once says from then on that it still does."""

    def send_and_stay_busy(self: Any, answer: Any) -> None:
        send(self, answer)
        self._under_way[answer.peer] = None

    return send_and_stay_busy


@_mutant(
    (Finalizer, "join_if_far_behind"),
    kills=("requests",),
    on_all=True,
    needs=(LONG_AWAY, "sync.snapshot_gap_blocks=3"),
)
def no_snapshot_is_sought(_original: Any) -> Any:
    """A validator that fell far behind executes every block that it missed."""
    return lambda _self: None


@_mutant((Gossip, "regossip"), kills=("spread",))
def gossip_goes_to_one_peer(regossip: Any) -> Any:
    """A validator sends what waits in its mempool to its first peer again and again."""

    def regossip_to_the_first(self: Any) -> None:
        self._round = 0
        regossip(self)

    return regossip_to_the_first


@_mutant((Gossip, "take"), kills=("spread",), on_all=True)
def gossip_brings_only_the_first(take: Any) -> Any:
    """A validator takes one transaction of each message that its peers send."""
    return lambda self, peer, payloads: take(self, peer, payloads[:1])


@_mutant((Gossip, "pool"), kills=("traffic",))
def gossip_is_sent_on_by_all(_original: Any) -> Any:
    """A validator sends on every transaction that is new to it, not only those of its own clients."""

    def pool_and_send_on(self: Any, verified: Any) -> None:
        if self._mempool.add(verified.pooled):
            gossip = TransactionGossip((verified.pooled.encoded,))
            self._port.broadcast(self._codec.encode(gossip), Label(TransactionGossip.traced_name))

    return pool_and_send_on


@_mutant((Mempool, "remove_included"), kills=("derived",))
def room_is_never_given_back(remove: Any) -> Any:
    """A mempool goes on counting the bytes of transactions that were included."""

    def remove_and_count_on(self: Any, included: Any) -> None:
        given_bytes = dict(self._given_bytes)
        remove(self, included)
        self._given_bytes.update(given_bytes)

    return remove_and_count_on
