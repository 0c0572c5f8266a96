"""Signatures: what is signed, that Ed25519 refuses everything else, and that nothing is verified twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.signing import SigningKey

from tests.support.properties import examples
from tests.support.simplex_bench import Bench, payload_of, proposal_of
from validators.consensus.quorum import faults_of, quorum_of
from validators.consensus.signing import REMEMBERED_MAX, Ed25519Scheme, Scheme, encode_varint, signed_bytes
from validators.consensus.simplex import Finalize, Notarize, Nullify
from validators.consensus.simplex.certificates import (
    assemble,
    certificate_signers,
    encode_signers,
    verify_certificate,
)
from validators.consensus.simplex.messages import Proposal, encode_proposal, encode_round
from validators.consensus.simplex.signing import verify_vote, vote_content

SEEDS = [bytes([index]) * 32 for index in range(4)]
PUBLIC_KEYS = [bytes(SigningKey(seed).verify_key) for seed in SEEDS]


def scheme_of(me: int) -> Ed25519Scheme:
    return Ed25519Scheme(SEEDS[me], PUBLIC_KEYS)


def nullify_by(signer: int, view: int) -> Nullify:
    namespace, message = vote_content(Nullify(signer, view, b""))
    return Nullify(signer, view, scheme_of(signer).sign(namespace, message))


class TestSignedBytes:
    """The bytes under a signature, by the specification."""

    @pytest.mark.parametrize(
        ("value", "encoded"), [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**32, "8080808010")]
    )
    def test_varints_are_unsigned_leb128(self, value, encoded):
        """Seven bits a byte, lowest first."""
        assert encode_varint(value).hex() == encoded

    def test_a_proposal_signs_epoch_view_parent_and_payload(self):
        """epoch || view || parent view || payload."""
        payload = payload_of("x")
        assert encode_proposal(Proposal(300, 299, payload)) == bytes.fromhex("00ac02ab02") + payload

    def test_a_nullify_signs_the_round_alone(self):
        """epoch || view."""
        assert encode_round(300) == bytes.fromhex("00ac02")

    def test_the_namespace_is_framed_by_its_length(self):
        """varint(length) || namespace || message."""
        assert signed_bytes(b"ab", b"c") == b"\x02abc"
        assert signed_bytes(b"a", b"bc") != signed_bytes(b"ab", b"c")

    def test_each_kind_of_vote_has_its_namespace(self):
        """No vote's signature can pass for one of another kind."""
        proposal = proposal_of(1, 0)
        votes = [Notarize(0, proposal, b""), Nullify(0, 1, b""), Finalize(0, proposal, b"")]
        namespaces = [vote_content(vote)[0] for vote in votes]
        assert namespaces == [b"stampede_NOTARIZE", b"stampede_NULLIFY", b"stampede_FINALIZE"]


class TestEd25519:
    """The scheme of real runs."""

    def test_a_signature_is_good_for_its_signer_namespace_and_message_only(self):
        """Any other of the three, and any flipped bit, is refused."""
        signature = scheme_of(1).sign(b"n", b"m")
        scheme = scheme_of(0)
        flipped = bytes([signature[0] ^ 1]) + signature[1:]
        assert scheme.verify(1, b"n", b"m", signature)
        assert not scheme.verify(2, b"n", b"m", signature)
        assert not scheme.verify(1, b"x", b"m", signature)
        assert not scheme.verify(1, b"n", b"x", signature)
        assert not scheme.verify(1, b"n", b"m", flipped)

    @given(st.integers(-2, 9), st.binary(max_size=70))
    @examples(30)
    def test_garbage_is_refused_and_never_raises(self, signer, signature):
        """Unknown signers and signatures of any length are just not valid."""
        assert not scheme_of(0).verify(signer, b"n", b"m", signature)

    def test_signing_is_deterministic(self):
        """A restarted validator signs the same bytes."""
        assert scheme_of(2).sign(b"n", b"m") == scheme_of(2).sign(b"n", b"m")

    def test_each_distinct_signature_is_verified_once(self):
        """Good and bad results are remembered; own signatures need no verification at all."""
        scheme = scheme_of(0)
        good, bad = scheme_of(1).sign(b"n", b"m"), bytes(64)
        for _ in range(3):
            assert scheme.verify(1, b"n", b"m", good)
            assert not scheme.verify(1, b"n", b"m", bad)
        assert scheme.verified == 2
        assert scheme.verify(0, b"n", b"m", scheme.sign(b"n", b"m"))
        assert scheme.verified == 2

    def test_a_remembered_signature_is_not_good_for_another_signer(self):
        """The remembered entry includes the signer."""
        scheme = scheme_of(0)
        signature = scheme.sign(b"n", b"m")
        assert not scheme.verify(1, b"n", b"m", signature)

    def test_memory_is_bounded(self):
        """The oldest results go first."""
        scheme = scheme_of(0)
        for number in range(REMEMBERED_MAX + 10):
            scheme.sign(b"n", b"%d" % number)
        assert len(scheme._results) == REMEMBERED_MAX


class TestCertificates:
    """Quorums of real signatures."""

    def test_quorums_are_those_of_n3f1(self):
        """4 -> 3, 5 -> 4, 7 -> 5, 10 -> 7."""
        assert [(n, faults_of(n), quorum_of(n)) for n in (1, 2, 3, 4, 5, 7, 10)] == [
            (1, 0, 1),
            (2, 0, 2),
            (3, 0, 3),
            (4, 1, 3),
            (5, 1, 4),
            (7, 2, 5),
            (10, 3, 7),
        ]

    @given(st.sets(st.integers(0, 40)))
    def test_a_bitmap_gives_its_signers_back_in_order(self, signers):
        """encode_signers and certificate_signers are inverse."""
        certificate = assemble({0: nullify_by(0, 1), 1: nullify_by(1, 1), 2: nullify_by(2, 1)}, 4)
        certificate = type(certificate)(1, encode_signers(signers, 41), ())
        assert certificate_signers(certificate) == sorted(signers)
        assert len(certificate.signers) == 6

    def test_votes_in_any_order_make_one_certificate(self):
        """Signatures stand in signer order."""
        votes = [nullify_by(signer, 9) for signer in (3, 0, 2)]
        certificate = assemble({vote.signer: vote for vote in votes}, 4)
        assert certificate_signers(certificate) == [0, 2, 3]
        assert certificate == assemble({vote.signer: vote for vote in reversed(votes)}, 4)
        assert verify_certificate(scheme_of(1), certificate, 4)

    def test_one_wrong_signature_spoils_a_certificate(self):
        """Every signature is verified."""
        votes = {signer: nullify_by(signer, 9) for signer in (0, 1)}
        votes[2] = Nullify(2, 9, nullify_by(2, 8).signature)
        assert not verify_certificate(scheme_of(3), assemble(votes, 4), 4)

    def test_votes_verified_before_cost_nothing_in_their_certificate(self):
        """An engine charges a certificate only for signatures that it has not seen."""
        bench = Bench(scheme=scheme_of(0))
        votes = {signer: nullify_by(signer, 1) for signer in (1, 2, 3)}
        bench.hear(votes[2])
        bench.hear(votes[3])
        assert bench.engine.check(1, assemble(votes, 4)).signatures_verified == 1


def test_a_vote_is_verified_under_the_name_it_bears():
    """verify_vote takes signer, kind and content from the vote itself."""
    scheme: Scheme = scheme_of(3)
    vote = nullify_by(1, 5)
    assert verify_vote(scheme, vote)
    assert not verify_vote(scheme, Nullify(2, 5, vote.signature))
    assert not verify_vote(scheme, Nullify(1, 6, vote.signature))
