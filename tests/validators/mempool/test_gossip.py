"""Gossip that is repeated: what each peer gets of what waits, and how soon."""

from types import SimpleNamespace

import pytest

from scheduler import unheard
from tests.properties.stub_port import SAME, StubPort
from tests.support.chain_harness import SENDERS, pay
from tests.support.checker_chain import Wallet
from validators.costs import Costs
from validators.execution.blocks import Transfer, encode_transaction, transaction_digest
from validators.identity import TransactionVerifier
from validators.mempool.gossip import Gossip, Verified
from validators.mempool.pool import Mempool, Pooled
from validators.mempool.rules import PoolRule
from validators.messages import TRANSACTION_BYTES_MAX, TRANSACTIONS_PER_GOSSIP


def sent_by(port):
    """Return the transactions of each message, by the peer that it went to."""
    sent = {}
    for peer, message, _ in port.sent:
        sent.setdefault(peer, []).append(message.transactions)
    return sent


def make_pooled(nonce, padding=0):
    transaction = pay(0, nonce, SENDERS[1], 5)
    return Pooled(transaction, encode_transaction(transaction) + bytes(padding), transaction_digest(transaction), 2)


def make_gossip(validators, waiting, reach=unheard, verifier=None):
    pool = Mempool(lambda _key: 0, verifier or TransactionVerifier(), reach=reach)
    port = StubPort()
    costs = Costs(verify_signature_us=60)
    settings = SimpleNamespace(node=0, validators=validators, is_validator=True, regossip_us=1, costs=costs)
    gossip = Gossip(port, SAME, pool, settings, refuse=None, reach=reach)
    for pooled in waiting:
        gossip.pool(Verified(pooled))
    return gossip, port


def repeat(gossip, times):
    for _ in range(times):
        gossip.regossip()


@pytest.mark.parametrize("validators", [2, 4, 5, 7])
@pytest.mark.parametrize("parts", [1, 2, 3, 4, 6])
def test_each_peer_gets_all_that_waits_within_a_round(validators, parts):
    """Whatever the number of parts has in common with that of the peers; three parts went to one of three each."""
    count = parts * TRANSACTIONS_PER_GOSSIP
    waiting = [make_pooled(nonce) for nonce in range(count)]
    gossip, port = make_gossip(validators, waiting)

    repeat(gossip, parts * (validators - 1))

    for peer in range(1, validators):
        assert [each for part in sent_by(port)[peer] for each in part] == [pooled.encoded for pooled in waiting]


def test_what_does_not_fit_beside_another_follows_it():
    """Two that fill half a message each: with two in the pool, each part began with the same one."""
    waiting = [make_pooled(nonce, TRANSACTION_BYTES_MAX // 3) for nonce in range(2)]
    gossip, port = make_gossip(2, waiting)

    repeat(gossip, 3)

    assert sent_by(port)[1] == [(waiting[0].encoded,), (waiting[1].encoded,), (waiting[0].encoded,)]


def test_what_comes_during_a_round_waits_for_the_next_one():
    """Else the ones that wait longest would never have their turn again while others come."""
    waiting = [make_pooled(nonce) for nonce in range(TRANSACTIONS_PER_GOSSIP + 2)]
    gossip, port = make_gossip(2, waiting[:-1])

    gossip.regossip()
    gossip.pool(Verified(waiting[-1]))
    repeat(gossip, 2)

    assert sent_by(port)[1][1] == (waiting[-2].encoded,)
    assert sent_by(port)[1][2][0] == waiting[0].encoded


def test_nothing_is_sent_where_nothing_waits():
    """The turn stays with its peer."""
    gossip, port = make_gossip(4, [])

    repeat(gossip, 2)
    gossip.pool(Verified(make_pooled(0)))
    gossip.regossip()

    assert list(sent_by(port)) == [1]


def test_a_part_that_leaves_others_for_the_next_one_is_noted():
    """With no more than a part takes, nothing is left behind."""
    for count, cells in ((TRANSACTIONS_PER_GOSSIP, 0), (TRANSACTIONS_PER_GOSSIP + 1, 1)):
        reached = []
        gossip, _ = make_gossip(2, [make_pooled(nonce) for nonce in range(count)], reached.append)

        gossip.regossip()

        assert reached.count(PoolRule.PART_FULL) == cells


def test_what_waits_already_is_noted_by_who_brings_it():
    reached = []
    pooled = make_pooled(0)
    gossip, _ = make_gossip(2, [pooled], reached.append)

    gossip.submit(pooled.encoded)
    gossip.take(1, [pooled.encoded])

    assert reached == [PoolRule.HANDED_IN_AGAIN, PoolRule.KNOWN_AGAIN]


def test_a_signature_that_the_pool_has_paid_for_is_not_billed_again():
    """K-43: what is left to pay is what an execution is charged."""
    verifier = TransactionVerifier()
    gossip, port = make_gossip(2, [], verifier=verifier)
    wallet = Wallet()
    first, second = (wallet.sign(Transfer(SENDERS[1], 5)) for _ in range(2))

    gossip.take(1, [encode_transaction(first)])
    verifier(first)
    verifier(second)

    assert ([cost_us for cost_us, _ in port.works], verifier.take_unpaid(), verifier.take_unpaid()) == ([60], 1, 0)
