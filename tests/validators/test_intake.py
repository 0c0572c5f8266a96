"""The cost of an arriving message: its length, and the signatures that were verified, refused or not."""

from types import SimpleNamespace

import pytest

from network.port import Delivery
from tests.support.chain_harness import pay
from validators.consensus.interface import STALE, MessageCheck, Received
from validators.consensus.simplex import CertificateRequest, Nullification, Nullify
from validators.consensus.simplex.kind import SIMPLEX
from validators.costs import Costs
from validators.events import MessageRefused
from validators.execution.blocks import encode_transaction
from validators.identity import TransactionVerifier
from validators.intake import Intake
from validators.mempool.gossip import Gossip
from validators.mempool.pool import Mempool
from validators.messages import BlockRelay, message_codec
from validators.stats import ValidatorCounts
from validators.sync.serving import TOO_MANY

COSTS = Costs(verify_signature_us=60, decode_kib_us=2, answers_per_second=2)
CERTIFICATE = Nullification(3, b"\x07", (b"s" * 64,) * 3)


class Wire:
    """A port that notes what it is asked for."""

    def __init__(self):
        self.works, self.traced = [], []
        self.spent_us = 0

    def spend(self, cost_us):
        self.spent_us += cost_us

    def work(self, cost_us, token):
        self.works.append((cost_us, token))

    def trace(self, values):
        self.traced.append(values)

    def set_timer(self, key, after_us):
        pass


class Door:
    """An intake whose consensus says the same of every message."""

    def __init__(self, verdict=None):
        self.wire, self.counts, self.blocks = Wire(), ValidatorCounts(), []
        self.peers = SimpleNamespace(blocked={}, blame=lambda peer, reason: self.blamed.append((peer, reason)))
        self.blamed = []
        self.intake = Intake(
            self.wire, message_codec(SIMPLEX), SIMPLEX, costs=COSTS, counts=self.counts, peers=self.peers
        )
        self.consensus = SimpleNamespace(check=lambda _sender, _message: verdict)
        self.application = SimpleNamespace(take_blocks=lambda peer, blocks: self.blocks.append((peer, blocks)))

    def take(self, payload):
        payload = payload if isinstance(payload, bytes) else message_codec(SIMPLEX).encode(payload)
        self.intake.take(Delivery(1, payload), self.application, None, self.consensus)


@pytest.mark.parametrize("payload", [BlockRelay(bytes(5 * 1_024)), b"\xc1" * (5 * 1_024 + 3)])
def test_a_message_costs_two_microseconds_for_each_whole_kibibyte(payload):
    """Bytes that cannot be decoded cost the same as a message."""
    door = Door()
    door.take(payload)

    assert door.wire.spent_us == 10


def test_a_vote_costs_nothing_to_read():
    door = Door(MessageCheck(ok=False, reason=STALE, signatures_verified=0))
    door.take(Nullify(1, 3, b"s" * 64))

    assert (door.wire.spent_us, door.counts.refused) == (0, 0)


def test_a_refused_certificate_costs_the_signatures_verified_before_it():
    """Floods of them were free once."""
    door = Door(MessageCheck(ok=False, reason="invalid certificate", signatures_verified=3))
    door.take(CERTIFICATE)

    assert door.wire.spent_us == 180
    assert door.wire.traced == [MessageRefused("Nullification", "invalid certificate")]
    assert door.wire.works == []


def test_the_sender_of_a_forgery_is_blamed_and_then_not_read():
    door = Door(MessageCheck(ok=False, reason="invalid certificate", signatures_verified=3))
    for payload in (CERTIFICATE, b"\xc1"):
        door.take(payload)
    assert door.blamed == [(1, "Nullification: invalid certificate"), (1, "message: WRONG_TYPE")]

    door.peers.blocked[1] = None
    door.take(CERTIFICATE)
    assert (len(door.blamed), door.wire.spent_us, door.counts.refused) == (2, 180, 2)


@pytest.mark.parametrize("reason", [STALE, "view out of range"])
def test_nobody_is_blamed_for_what_is_late_or_of_no_use(reason):
    door = Door(MessageCheck(ok=False, reason=reason, signatures_verified=0))
    door.take(CERTIFICATE)

    assert door.blamed == []


def test_a_sound_certificate_is_taken_after_the_time_of_its_signatures():
    door = Door(MessageCheck(ok=True, reason="", signatures_verified=3))
    door.take(CERTIFICATE)

    assert door.wire.works == [(180, Received(1, CERTIFICATE))]


def test_requests_for_certificates_beyond_a_peers_share_are_dropped():
    door = Door(MessageCheck(ok=True, reason="", signatures_verified=0))
    for _ in range(3):
        door.take(CertificateRequest(4))

    assert len(door.wire.works) == 2
    assert door.wire.traced == [MessageRefused("CertificateRequest", TOO_MANY)]


def test_a_transaction_with_a_wrong_signature_costs_its_verification():
    wire, refused = Wire(), []
    settings = SimpleNamespace(costs=COSTS, is_validator=True)
    codec = message_codec(SIMPLEX)
    pool = Mempool(lambda _key: 0, TransactionVerifier())
    gossip = Gossip(wire, codec, pool, settings, refuse=lambda *refusal: refused.append(refusal))
    gossip.take(1, [encode_transaction(pay(0, 0, bytes(20), 1))])

    assert wire.spent_us == 60
    assert refused == [("transaction", "signature")]
