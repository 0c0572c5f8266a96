"""Mempools, gossip, block exchanges and intakes that are wrong, as the trials of specimens see them."""

from itertools import islice

import pytest

from checker.checks.parts.mempool.gossips import try_gossip
from checker.checks.parts.mempool.intakes import try_intake
from checker.checks.parts.mempool.pools import try_pools
from checker.checks.parts.sync.exchanges import try_exchanges
from checker.checks.parts.sync.followed_goals import try_followed_goals
from checker.checks.parts.trial import draws_of
from network.chance import Chance
from validators import intake
from validators.identity import TransactionVerifier
from validators.mempool import gossip, pool
from validators.mempool.gossip import Gossip
from validators.mempool.pool import Arrivals, Mempool
from validators.sync import block_exchange
from validators.sync.block_exchange import BlockExchange
from validators.sync.follower import Follower, Goal, PeerBlock
from validators.sync.serving import Serving

SEEDS = 40
TRIALS = (try_pools, try_gossip, try_exchanges, try_followed_goals, try_intake)


def faults_of(trial, seeds=range(SEEDS)):
    for seed in seeds:
        yield from (what for what, holds in trial(draws_of(Chance(seed), trial.__name__)) if not holds)


def remove_spent_only(self, included):
    for transaction in included:
        self._remove_below(transaction.public_key, transaction.nonce)


def rank_without_hash(self, pooled, index):
    return -pooled.transaction.priority_fee_per_cycle, pooled.transaction.public_key, index, pooled


def keep_the_last(self, pooled, add=Mempool.add):
    for each in [*self._by_sender.get(pooled.transaction.public_key, {}).values()]:
        if each.transaction.nonce == pooled.transaction.nonce and each.digest != pooled.digest:
            self._remove_below(pooled.transaction.public_key, pooled.transaction.nonce + 1)
    return add(self, pooled)


def wait_from_the_first(self, arrivals, count, waiting=Mempool.waiting):
    return waiting(self, Arrivals(max(arrivals.after - 1, 0), arrivals.until), count)


def send_on_everything(self, verified):
    if self._mempool.add(verified.pooled):
        message = gossip.TransactionGossip((verified.pooled.encoded,))
        self._port.broadcast(self._codec.encode(message), gossip._LABEL)


def verify_anew(self, transaction, verify=TransactionVerifier.__call__):
    self._valid.clear()
    return verify(self, transaction)


def fill_to_a_limit_less_one(waiting, within=gossip._within_limit):
    return islice(within(waiting), 63)


def forget_the_first_peer(self, digest, first_peer, request=BlockExchange.request):
    request(self, digest, None)


def restore_one(self, digest, restore=BlockExchange.restore):
    if not self._lost:
        restore(self, digest)


def ask_the_same_peer(self, digest, retry=BlockExchange.retry):
    if digest in self._attempts:
        self._attempts[digest] = 0
    retry(self, digest)


def keep_the_last_seal(self, digest, seal):
    if seal and digest in self._blocks:
        self._seals[digest] = seal + b"!"


def count_tiny_blocks_as_they_are(sent):
    return sent.length_bytes


def let_all_ask(self, peer, kind):
    return self.is_free(peer, kind)


def execute_beside_another(self, goal, step=Follower._step):
    self._running = {}
    return step(self, goal)


WRONG = {
    "a nonce that stays when it is final": (
        try_pools,
        *(Mempool, "remove_included", remove_spent_only),
        "than came and are not spent",
    ),
    "ties by sender": (try_pools, Mempool, "_rank", rank_without_hash, "another order than that of tips"),
    "the last of a nonce": (try_pools, Mempool, "add", keep_the_last, "is taken or left otherwise"),
    "spans with their ends": (try_pools, Mempool, "waiting", wait_from_the_first, "came within a span"),
    "rooms of half the size": (try_pools, Mempool.__init__, "__defaults__", (1 << 25, pool.unheard), "at 64 MiB"),
    "what peers sent is sent on": (try_gossip, Gossip, "pool", send_on_everything, "than came from clients"),
    "parts of one less": (try_gossip, gossip, "_within_limit", fill_to_a_limit_less_one, "than in parts, in turn"),
    "verified twice": (try_gossip, TransactionVerifier, "__call__", verify_anew, "otherwise than once"),
    "longer transactions": (try_gossip, gossip, "GOSSIP_FRAME_BYTES", 63, "than are unsigned or none"),
    "any peer first": (try_exchanges, BlockExchange, "request", forget_the_first_peer, "otherwise than in turn"),
    "one lost block at a time": (try_exchanges, BlockExchange, "restore", restore_one, "other timers of blocks"),
    "the same peer again": (try_exchanges, BlockExchange, "retry", ask_the_same_peer, "otherwise than in turn"),
    "any body": (try_exchanges, block_exchange, "mmr_root", lambda _: b"", "are refused than are unsound"),
    "answers of 63 blocks": (try_exchanges, block_exchange, "BLOCKS_PER_RESPONSE", 63, "an answer is longer"),
    "answers of a byte more": (try_exchanges, block_exchange, "RESPONSE_BYTES_MAX", (8 << 20) + 1, "has more bytes"),
    "other seals": (try_exchanges, Follower, "seal", keep_the_last_seal, "consensus hears of other blocks"),
    "tiny blocks": (try_exchanges, PeerBlock, "room_bytes", property(count_tiny_blocks_as_they_are), "rooms of peers"),
    "no share": (try_exchanges, Serving, "may_answer", let_all_ask, "requests are refused"),
    "pauses that pause nothing": (try_followed_goals, Follower, "pause", lambda _: None, "goals are served in another"),
    "heads of one branch": (
        *(try_followed_goals, Goal, "key", property(lambda goal: (goal.purpose, goal.view, b""))),
        "goals are served in another",
    ),
    "two at once": (try_followed_goals, Follower, "_step", execute_beside_another, "goals are served in another"),
    "whole KiB and the rest": (try_intake, intake, "KIB", 1_000, "than its length and its signatures"),
    "stale is wrong": (try_intake, intake, "STALE", "", "refused than are unsound"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_part_that_is_wrong_is_named(name, monkeypatch):
    trial, owner, attribute, replacement, pattern = WRONG[name]
    monkeypatch.setattr(owner, attribute, replacement)

    assert any(pattern in what for what in faults_of(trial))


@pytest.mark.parametrize("trial", TRIALS)
def test_parts_are_right_for_every_seed(trial):
    assert list(faults_of(trial, range(20))) == []
