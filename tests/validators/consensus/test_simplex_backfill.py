"""Screening, fetching, serving and helping: messages that are late, wrong, missing or asked for.

The engine is validator 0 of 4 unless a test says otherwise; view v is led by v % 4.
"""

import msgspec
import pytest

from tests.support.simplex_bench import (
    CONFIG,
    Bench,
    KeyedHashScheme,
    finalization,
    finalize,
    notarization,
    notarize,
    nullification,
    nullify,
    proposal_of,
    served,
)
from validators.consensus.interface import ConfigError, MessageCheck, Received, Send
from validators.consensus.simplex import (
    CertificateRequest,
    CertificateResponse,
    Notarization,
    SimplexConfig,
)
from validators.consensus.simplex.messages import VIEW_LIMIT, Nullification


def replaced(certificate, **fields):
    return msgspec.structs.replace(certificate, **fields)


class TestScreening:
    """Messages refused before they reach the state machine, and the cost of refusing them."""

    @pytest.mark.parametrize(
        ("sender", "message", "reason"),
        [
            (4, nullify(3, 1), "unknown sender"),
            (-1, nullify(3, 1), "unknown sender"),
            (2, nullify(3, 1), "signer is not the sender"),
            (3, nullify(3, 0), "view out of range"),
            (3, notarize(3, proposal_of(VIEW_LIMIT, 0)), "view out of range"),
            (3, replaced(nullify(3, 1), signature=bytes(32)), "invalid signature"),
            (3, replaced(notarize(3, proposal_of(1, 0)), proposal=proposal_of(1, 0, "other")), "invalid signature"),
            (3, replaced(finalize(3, proposal_of(1, 0)), signature=b""), "invalid signature"),
            (3, notarize(3, replaced(proposal_of(1, 0), payload=b"short")), "payload length"),
            (3, CertificateRequest(0), "view out of range"),
            (-1, CertificateRequest(1), "unknown sender"),
        ],
    )
    def test_an_unsound_message_is_refused_with_its_reason(self, sender, message, reason):
        """Impersonation, views and payloads out of range, and bad signatures each have their name."""
        assert Bench().engine.check(sender, message)[:2] == (False, reason)

    @pytest.mark.parametrize(
        ("fields", "reason"),
        [
            ({"signers": b""}, "bitmap length"),
            ({"signers": b"\x0e\x00"}, "bitmap length"),
            ({"signers": b"\x2c"}, "stray bits"),
            ({"signers": b"\x0c", "signatures": nullification(1).signatures[:2]}, "no quorum"),
            ({"signatures": nullification(1).signatures[:2]}, "signature count"),
            ({"signatures": nullification(1).signatures[::-1]}, "invalid certificate"),
            ({"signatures": (*nullification(1).signatures[:2], bytes(32))}, "invalid certificate"),
            ({"signers": b"\x0d"}, "invalid certificate"),
            ({"view": 2}, "invalid certificate"),
        ],
    )
    def test_a_certificate_is_strict(self, fields, reason):
        """Bitmap and signatures must be exactly right, also inside a response."""
        certificate = replaced(nullification(1), **fields)
        assert Bench().refusal(certificate) == reason
        assert Bench().refusal(CertificateResponse(1, certificate)) == reason

    def test_a_vote_is_verified_once_and_a_duplicate_not_at_all(self):
        """The second copy is stale and costs nothing."""
        bench = Bench()
        assert bench.engine.check(2, nullify(2, 1)) == MessageCheck(ok=True, reason="", signatures_verified=1)
        bench.hear(nullify(2, 1))
        assert bench.engine.check(2, nullify(2, 1)) == MessageCheck(ok=False, reason="stale", signatures_verified=0)

    def test_a_certificate_costs_one_verification_per_signer(self):
        """The verdict says what the shell has to charge."""
        assert Bench().engine.check(3, nullification(1)).signatures_verified == 3

    @pytest.mark.parametrize("message", [notarize(2, proposal_of(3, 0)), nullify(2, 3), finalize(2, proposal_of(3, 0))])
    def test_votes_beyond_the_next_view_are_not_kept(self, message):
        """Only the current view and the next are admitted; certificates repair the rest."""
        bench = Bench()
        assert bench.refusal(message) == "stale"
        assert bench.engine.statistics()["rounds_kept"] == 1

    def test_votes_after_their_certificate_are_stale(self):
        """A held certificate ends the interest in its votes."""
        bench = Bench()
        bench.hear(notarization(proposal_of(1, 0)))
        bench.hear(nullification(1))
        assert bench.refusal(notarize(1, proposal_of(1, 0))) == "stale"

    def test_certificates_that_are_held_are_stale(self):
        """stale_backfill: a second copy changes nothing and is not verified."""
        bench = Bench()
        for certificate in (notarization(proposal_of(1, 0)), nullification(1)):
            bench.hear(certificate)
            assert bench.engine.check(2, certificate) == MessageCheck(ok=False, reason="stale", signatures_verified=0)

    @pytest.mark.parametrize("message", [notarize(2, proposal_of(4, 0)), finalize(2, proposal_of(3, 0))])
    def test_outdated_votes_are_ignored_without_blame(self, message):
        """outdated: votes at or below the finalized view are stale."""
        bench = Bench()
        bench.hear(finalization(proposal_of(4, 3)))
        assert bench.refusal(message) == "stale"

    def test_a_message_that_became_useless_after_its_check_changes_nothing(self):
        """Two copies may be checked before the first is received."""
        bench = Bench()
        certificate = nullification(1)
        assert bench.engine.check(1, certificate).ok
        assert bench.engine.check(2, certificate).ok
        bench.take(bench.engine.step(Received(1, certificate)))
        assert bench.take(bench.engine.step(Received(2, certificate))) == []

    def test_a_third_contradicting_vote_is_not_even_verified(self):
        """Evidence is kept once; more of it costs nothing."""
        bench = Bench()
        for label in ("A", "B"):
            bench.hear(notarize(2, proposal_of(1, 0, label)))
        assert bench.engine.check(2, notarize(2, proposal_of(1, 0, "C"))).signatures_verified == 0


class TestFetching:
    """Asking for what is missing."""

    def test_missed_notarization_is_fetched_from_the_proposer(self):
        """A proposal on a parent that is not here asks its leader for the parent's certificate."""
        bench = Bench()
        bench.hear(nullification(1))
        bench.hear(nullification(2))
        bench.hear(notarize(3, proposal_of(3, 1)))
        assert bench.requests() == [(3, 1)]
        assert "fetch" in bench.armed()

    def test_a_fetched_certificate_unblocks_the_proposal(self):
        """The answer is certified, and then the child is judged."""
        bench = Bench()
        bench.hear(nullification(1))
        bench.hear(nullification(2))
        bench.hear(notarize(3, proposal_of(3, 1)))
        parent = proposal_of(1, 0)
        bench.hear(CertificateResponse(1, notarization(parent)))
        assert bench.certifying() == [parent.ref]
        assert "fetch" in bench.cancelled()
        bench.certify(parent)
        assert bench.asked() == [proposal_of(3, 1).ref]

    def test_a_request_without_answer_goes_to_the_next_peer_and_round_again(self):
        """An unavailable proposer delays the repair and cannot stop it."""
        bench = Bench()
        bench.hear(nullification(5))
        asked = bench.requests()
        for _ in range(4):
            bench.fire("fetch", 4)
            asked += bench.requests()
        assert asked == [(2, 4), (3, 4), (1, 4), (2, 4), (3, 4)]

    def test_a_request_is_not_repeated_while_it_is_under_way(self):
        """One request per gap and timeout, whatever else happens."""
        bench = Bench()
        bench.hear(nullification(3))
        assert bench.requests() == [(1, 2)]
        bench.hear(notarization(proposal_of(4, 3)))
        assert bench.requests() == []
        bench.fire("fetch", 2)
        assert bench.requests() == [(2, 2)]

    def test_gaps_are_filled_one_after_the_other(self):
        """Each answer leads to the next request until a parent can be selected."""
        bench = Bench()
        bench.hear(nullification(3))
        assert bench.requests() == [(1, 2)]
        bench.hear(CertificateResponse(2, nullification(2)))
        assert bench.requests()[0][1] == 1
        bench.hear(CertificateResponse(1, nullification(1)))
        assert bench.requests() == []
        assert bench.building() == [(4, 0)]

    def test_finalization_from_resolver_moves_the_floor(self):
        """An answer may be a finalization of a later view: then the gap is gone."""
        bench = Bench()
        bench.hear(nullification(3))
        bench.hear(CertificateResponse(2, finalization(proposal_of(6, 5))))
        assert (bench.finalized_view, bench.view) == (6, 7)
        assert bench.requests() == []

    def test_a_fetch_timer_of_an_old_request_is_ignored(self):
        """resolution_silent_below_floor: nothing is asked for what is not missing any more."""
        bench = Bench()
        bench.hear(nullification(3))
        bench.hear(finalization(proposal_of(6, 5)))
        assert bench.fire("fetch", 2) == []

    def test_populate_resolver_on_restart(self):
        """A gap that the journal leaves is asked for at start."""
        bench = Bench()
        bench.hear(nullification(3))
        assert bench.restarted().requests()[0][1] == 2


class TestServing:
    """Answering a request, best certificate first."""

    def answer(self, bench: Bench, view: int) -> list:
        bench.hear(CertificateRequest(view), sender=2)
        return served(bench.sent_to(2))

    def test_a_finalization_at_or_above_the_view_is_preferred(self):
        """It helps the peer furthest."""
        bench = Bench()
        bench.hear(nullification(3))
        bench.hear(finalization(proposal_of(6, 5)))
        assert self.answer(bench, 3) == [finalization(proposal_of(6, 5))]

    def test_an_uncertified_notarization_is_never_served(self):
        """Only after certification is it given away."""
        bench = Bench()
        proposal = proposal_of(1, 0)
        bench.hear(notarization(proposal))
        assert self.answer(bench, 1) == []
        bench.certify(proposal)
        assert self.answer(bench, 1) == [notarization(proposal)]

    def test_a_view_with_both_certificates_is_answered_with_both(self):
        """The certified notarization first; the peer may need the nullification."""
        bench = Bench()
        bench.pass_view(proposal_of(1, 0))
        bench.hear(nullification(1))
        assert self.answer(bench, 1) == [notarization(proposal_of(1, 0)), nullification(1)]

    def test_without_the_certificate_the_floor_is_served(self):
        """The latest finalization may help even below the view."""
        bench = Bench()
        bench.hear(finalization(proposal_of(2, 1)))
        assert self.answer(bench, 9) == [finalization(proposal_of(2, 1))]

    def test_knowing_nothing_answers_nothing(self):
        """No certificate, no answer."""
        assert self.answer(Bench(), 3) == []


class TestHelping:
    """A validator stuck in a view that we have left."""

    def test_a_nullify_up_to_the_finalized_view_gets_the_finalization(self):
        """The laggard's vote is not verified; it gets the finalization, once for each view of ours."""
        bench = Bench()
        bench.hear(finalization(proposal_of(6, 5)))
        assert bench.engine.check(2, nullify(2, 3)).signatures_verified == 0
        bench.hear(nullify(2, 3))
        assert bench.sent_to(2) == [finalization(proposal_of(6, 5))]
        assert bench.refusal(nullify(2, 3)) == "stale"
        bench.hear(nullification(7))
        bench.hear(nullify(2, 3))
        assert bench.sent_to(2) == [finalization(proposal_of(6, 5)), nullification(7)]

    def test_a_nullify_of_a_passed_view_gets_the_entry_certificate(self):
        """Above the finalized view the certificate that led us here helps."""
        bench = Bench()
        bench.pass_view(proposal_of(1, 0))
        bench.hear(nullify(3, 1))
        assert bench.sent_to(3) == [notarization(proposal_of(1, 0))]

    def test_a_nullify_of_the_current_view_is_answered_with_nothing(self):
        """We are no further than the peer."""
        bench = Bench()
        bench.hear(nullify(3, 1))
        assert bench.of(Send) == []

    def test_each_peer_is_helped_by_itself(self):
        """Helping one does not spend the help of another."""
        bench = Bench()
        bench.hear(nullification(1))
        bench.hear(nullify(2, 1))
        bench.hear(nullify(3, 1))
        assert bench.sent_to(3) == [nullification(1)]


class TestRequests:
    """Forms that the type system cannot rule out."""

    def test_a_response_is_judged_by_its_certificate(self):
        """The view in a response is only an echo."""
        bench = Bench()
        bench.hear(CertificateResponse(77, nullification(1)))
        assert bench.view == 2
        assert bench.appended(Nullification)
        assert bench.appended(Notarization) == []

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("leader_timeout_us", 0),
            ("certification_timeout_us", CONFIG.leader_timeout_us),
            ("timeout_retry_us", 0),
            ("fetch_timeout_us", 0),
            ("skip_timeout_us", CONFIG.timeout_retry_us),
            ("skip_timeout_us", CONFIG.certification_timeout_us),
            ("view_retention", 0),
        ],
    )
    def test_a_contradicting_configuration_is_refused(self, field, value):
        """Each rule of the specification's configuration has its error."""
        values = {name: getattr(CONFIG, name) for name in SimplexConfig.__dataclass_fields__}
        with pytest.raises(ConfigError, match=str(value)):
            SimplexConfig(**{**values, field: value})

    def test_the_bench_scheme_tells_signers_apart(self):
        """The tests' own scheme refuses a signature under another name."""
        scheme = KeyedHashScheme(0)
        signature = scheme.sign(b"namespace", b"message")
        assert scheme.verify(0, b"namespace", b"message", signature)
        assert not scheme.verify(1, b"namespace", b"message", signature)
