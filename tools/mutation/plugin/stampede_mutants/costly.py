"""Mutants that cost time and nothing else, as others make up for them: only a check of that very thing finds them."""

import itertools
from typing import Any, Final

from checker.mutants.mutant import mutant
from network.types import Label
from validators.application import Application
from validators.consensus.interface import Built
from validators.finalizer import Finalizer
from validators.mempool.gossip import Gossip
from validators.messages import TransactionGossip
from validators.storage.journal import Journal
from validators.sync.block_exchange import BlockExchange
from validators.sync.follower import Follower
from validators.sync.serving import Serving

ROT: Final = (
    "faults={"
    'rot={kind="bit-rot", validator=0, ppm=400_000, files=["journal"], start_ms=4_900, stop_ms=7_000},'
    'cut={kind="crash", validator=0, at_ms=5_000, restart_ms=6_000}}'
)
"""One copy of a journal is damaged when its validator reads it at a start."""


CALM: Final = "faults={}"
"""A run in which every view that is left shows: nothing else costs one."""

LONG_AWAY: Final = 'faults={away={kind="crash", validator=1, at_ms=2_000, restart_ms=14_000}}'
"""A validator misses more blocks than a snapshot is sought for."""


@mutant((Application, "_execution_cost"), area="execution", kills=("work",))
def signatures_of_the_pool_charged_again(cost_of: Any) -> Any:
    """A validator is charged at its next execution for signatures that its mempool has verified and paid for."""
    charged = 0

    def cost_with_the_pools(self: Any, outcome: Any) -> Any:
        nonlocal charged
        again, charged = self._verifier.verified - charged, self._verifier.verified
        return cost_of(self, outcome) + again * self._settings.costs.verify_signature_us

    return cost_with_the_pools


@mutant((Serving, "send"), area="network", kills=("refusals",))
def an_answer_is_under_way_for_ever(send: Any) -> Any:
    """A validator that has answered a peer once says from then on that it still does."""

    def send_and_stay_busy(self: Any, answer: Any) -> None:
        send(self, answer)
        self._under_way[answer.peer] = None

    return send_and_stay_busy


@mutant((Gossip, "pool"), area="network", kills=("traffic",))
def gossip_is_sent_on_by_all(_original: Any) -> Any:
    """A validator sends on every transaction that is new to it, not only those of its own clients."""

    def pool_and_send_on(self: Any, verified: Any) -> None:
        if self._mempool.add(verified.pooled):
            gossip = TransactionGossip((verified.pooled.encoded,))
            self._port.broadcast(self._codec.encode(gossip), Label(TransactionGossip.traced_name))

    return pool_and_send_on


@mutant((Gossip, "regossip"), area="network", kills=("spread",))
def gossip_goes_to_one_peer(regossip: Any) -> Any:
    """A validator sends what waits in its mempool to its first peer again and again."""

    def regossip_to_the_first(self: Any) -> None:
        self._round = 0
        regossip(self)

    return regossip_to_the_first


@mutant((Gossip, "take"), area="network", kills=("spread",), on_all=True)
def gossip_brings_only_the_first(take: Any) -> Any:
    """A validator takes one transaction of each message that its peers send."""
    return lambda self, peer, payloads: take(self, peer, payloads[:1])


@mutant((Application, "pace"), area="consensus", kills=("calm-views",), needs=(CALM,))
def leader_passes_every_third_turn(pace: Any) -> Any:
    """A leader proposes nothing in one of three of its views."""

    def pace_or_pass(self: Any, view: int) -> None:
        if self._proposing is not None and self._proposing.view == view and view // self._settings.validators % 3 == 2:
            self._proposing = None
            self._answers.answer(Built(view, None))
        else:
            pace(self, view)

    return pace_or_pass


@mutant((BlockExchange, "_chain_below"), area="network", kills=("final-disks",))
def ancestors_are_not_served(chain_below: Any) -> Any:
    """A validator serves the block that was asked for and two below it, and no more."""

    def serve_the_young(self: Any, request: Any) -> Any:
        return itertools.islice(chain_below(self, request), 3)

    return serve_the_young


@mutant((Journal, "_begin_generation"), area="storage", kills=("repairs",), on_all=True, needs=(ROT,))
def one_copy_is_not_repaired(begin: Any) -> Any:
    """A start says that it has repaired the journal, and writes one copy of it anew."""

    def begin_in_the_second(self: Any, step: int, floor: bytes, artifacts: Any) -> None:
        copies, self._copies = self._copies, self._copies[1:]
        begin(self, step, floor, artifacts)
        self._copies = copies

    return begin_in_the_second


@mutant(
    (Finalizer, "join_if_far_behind"),
    area="network",
    kills=("snapshots",),
    on_all=True,
    needs=(LONG_AWAY, "sync.snapshot_gap_blocks=3"),
)
def no_snapshot_is_sought(_original: Any) -> Any:
    """A validator that fell far behind executes every block that it missed."""
    return lambda _self: None


@mutant((BlockExchange, "request"), area="network", kills=("timer-lengths",))
def relay_has_no_grace(request: Any) -> Any:
    """A validator asks for a block at once, although the leader's relay may still arrive."""

    def request_at_once(self: Any, digest: bytes, first_peer: Any) -> None:
        is_new = digest not in self._attempts
        request(self, digest, first_peer)
        if is_new:
            self._port.set_timer(("fetch", digest), 0)

    return request_at_once


@mutant((Follower, "is_ready"), area="execution", kills=("work",), on_all=True)
def blocks_are_ready_before_their_time(_original: Any) -> Any:
    """A block counts as executed while its execution still takes its time."""

    def is_ready(self: Any, digest: bytes) -> bool:
        return digest == self.engine.finalized_digest or self.engine.executed(digest) is not None

    return is_ready
