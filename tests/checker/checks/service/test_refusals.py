"""Refusals: what an honest validator does not take, judged by who sent it, how it came, and the reason."""

import pytest

from checker.checks.planned import PlannedFault, PlannedRun
from checker.checks.service.refusals import Refusals
from checker.record.engine_calls import RecordedLife
from faults.events import ClockSet, Crashed, TransactionSubmitted
from network.events import Delivered, Event, Sent, TimerElapsed
from network.types import SUPERVISOR
from tests.support.checks import make_run, show
from validators.costs import Costs
from validators.events import Booted, MessageRefused, PeerAdmitted, PeerBlocked

PLAN = PlannedRun(costs=Costs(answers_per_second=2))


def boot(node=0):
    return Event(0, node, Booted(0, 1, 0, bytes(32)))


def carry(kind, *, at_us=1, source=1, to=0, ordinal=0, arrives_as=b"sum"):
    """Return a message that is sent and comes."""
    return (
        Event(at_us, source, Sent(to, ordinal, kind, 100, b"sum")),
        Event(at_us, to, Delivered(source, ordinal, kind, 100, arrives_as)),
    )


def ask(ordinal=0, kind="SnapshotRequest"):
    """Return a joiner's request to validator 1."""
    return Event(1, 0, Sent(1, ordinal, kind, 100, b"sum"))


def refuse(message, reason, *, at_us=1, node=0):
    return Event(at_us, node, MessageRefused(message, reason))


def judge(*events, **facts):
    check = Refusals(make_run(**{"plan": PLAN, **facts}))
    show(check, boot(), *carry("Notarize", at_us=0, ordinal=99), *events)
    return check.finish()


def test_an_honest_vote_that_is_refused_fails_with_both_validators():
    result = judge(*carry("Notarize"), refuse("Notarize", "invalid signature"))

    assert result.status == "failed"
    assert result.summary == (
        "validator 0 refused Notarize of validator 1, which came as it was sent: invalid signature"
    )


def test_what_changed_on_its_way_may_be_refused():
    result = judge(*carry("Notarize", arrives_as=b"mus"), refuse("message", "MALFORMED"))

    assert result.status == "passed"
    assert result.summary.endswith("no honest validator was blamed in 1 refusals")


def test_a_byzantine_validator_may_be_refused():
    forged = *carry("Notarize"), refuse("Notarize", "invalid signature")

    assert judge(*carry("Notarize", source=2), *forged, honest=(0, 2, 3)).status == "passed"


def test_clients_may_be_refused():
    submitted = Event(1, SUPERVISOR, TransactionSubmitted("submitted", 0, b""))

    assert judge(*carry("Notarize"), submitted, refuse("transaction", "signature")).status == "passed"


class TestOfLimits:
    def test_the_third_request_of_a_second_is_one_too_many(self):
        asked = [event for ordinal in range(3) for event in carry("BlockRequest", ordinal=ordinal)]

        assert judge(*asked, refuse("BlockRequest", "TooManyAnswers")).status == "passed"
        assert judge(*asked[2:], refuse("BlockRequest", "TooManyAnswers")).status == "failed"

    def test_requests_that_are_seconds_apart_are_not_too_many(self):
        asked = [
            event for second in range(3) for event in carry("BlockRequest", at_us=second * 4_000_000, ordinal=second)
        ]

        assert judge(*asked, refuse("BlockRequest", "TooManyAnswers", at_us=8_000_000)).status == "failed"

    def test_no_answer_is_under_way_once_it_was_sent(self):
        first, second = carry("BlockRequest"), carry("BlockRequest", ordinal=1)
        answered = Event(1, 0, Sent(1, 0, "BlockResponse", 100, b"sum"))
        refused = refuse("BlockRequest", "AnswerUnderWay")

        assert judge(*first, *second, refused).status == "passed"
        assert judge(*first, answered, *second, refused).status == "failed"

    def test_an_answer_under_way_holds_up_certificates_too(self):
        first, second = carry("SnapshotRequest"), carry("CertificateRequest", ordinal=1)
        refused = refuse("CertificateRequest", "AnswerUnderWay")

        assert judge(*first, *second, refused).status == "passed"
        assert judge(*second, *carry("CertificateRequest", ordinal=2), refused).status == "failed"


class TestOfSnapshots:
    def test_an_honest_peer_whose_offer_is_refused_is_named(self):
        timer = Event(1, 0, TimerElapsed("snapshot"))
        result = judge(timer, refuse("snapshot", "of validator 2: certificate: it is not a quorum's"))

        assert "validator 0 refused snapshot of validator 2" in result.summary

    def test_a_peer_of_which_a_message_came_damaged_is_not_judged(self):
        refused = refuse("snapshot", "of validator 2: truncated: a piece is empty or too long")

        assert judge(*carry("SnapshotChunk", source=2), refused).status == "failed"
        assert judge(*carry("SnapshotChunk", source=2, arrives_as=b"mus"), refused).status == "passed"

    @pytest.mark.parametrize(
        ("kind", "reason"), [("SnapshotOffer", "was not asked for"), ("SnapshotChunk", "piece was not asked for")]
    )
    def test_an_answer_may_be_late_once_the_peer_was_asked(self, kind, reason):
        answer, refused = carry(kind), refuse("snapshot", reason)

        assert judge(*answer, refused).status == "failed"
        assert judge(ask(), *answer, refused).status == "passed"

    def test_a_peer_that_gave_each_answer_is_not_unanswered(self):
        unanswered = refuse("snapshot", "of validator 1: unanswered")

        assert judge(ask(), *carry("SnapshotOffer"), unanswered).status == "failed"
        assert judge(ask(), *carry("SnapshotOffer"), ask(1), unanswered).status == "passed"
        # Each request may have had a copy for its answer, and the answer itself been lost.
        assert judge(ask(), *carry("SnapshotOffer", ordinal=1 << 48), unanswered).status == "passed"


class TestOfBlocks:
    def test_an_invalid_proposal_fails_where_all_are_honest(self):
        refused = refuse("verify", "cycles 12 of 10")

        assert judge(refused).status == "failed"
        assert judge(refused, honest=(0, 1, 2)).status == "passed"

    def test_a_time_is_beyond_the_bound_only_where_a_clock_is_wrong(self):
        refused = refuse("verify", "time 900 is beyond 800")
        wrong = Event(0, SUPERVISOR, ClockSet(1, 5_000_000, 0, 0))

        assert judge(refused).status == "failed"
        assert judge(wrong, refused).status == "passed"


def test_an_application_may_refuse_any_transaction():
    """Its answer to `check` depends on its state, and validators ask it at different times."""
    gossip, refused = carry("TransactionGossip"), refuse("transaction", "too poor")

    assert judge(*gossip, refused, offers=("trace", "events")).status == "passed"
    assert judge(*gossip, refused).status == "failed"


def test_a_validator_refuses_everything_until_it_has_read_its_disk():
    crash, refused = Event(1, SUPERVISOR, Crashed(0, 0)), refuse("Notarize", "recovering")

    assert judge(crash, *carry("Notarize"), refused).status == "passed"
    assert judge(*carry("Notarize"), refused).status == "failed"


def test_a_paused_validator_may_handle_what_came_long_ago():
    """The last message may then not be the one that it refuses."""
    plan = PLAN._replace(faults=(PlannedFault("still", 0, 9, (0,), pauses=True),))
    damaged, whole = carry("Notarize", arrives_as=b"mus"), carry("Finalize", ordinal=1)

    assert judge(*damaged, *whole, refuse("Notarize", "invalid signature"), plan=plan).status == "passed"
    assert judge(*whole, refuse("Notarize", "invalid signature"), plan=plan).status == "failed"


CUTS = PLAN._replace(blocks_peers_us=5)


def cut_off(peer=1, *, at_us=1, node=0):
    return Event(at_us, node, PeerBlocked(peer, 5, "Notarize: invalid signature"))


def life_with_checks_at(*times_us):
    calls = [(at_us, "check", (1, None, None)) for at_us in times_us]
    return {0: [RecordedLife(None, None, kept=calls)]}


def test_an_honest_validator_is_not_cut_off():
    result = judge(*carry("Notarize"), cut_off(), plan=CUTS)

    assert result.summary == ("validator 0 refused all messages of the honest validator 1: Notarize: invalid signature")


def test_who_sent_what_was_damaged_on_its_way_may_be_cut_off():
    assert judge(*carry("Notarize", arrives_as=b"mus"), cut_off(), plan=CUTS).status == "passed"


def test_nobody_is_cut_off_where_the_scenario_does_not_say_so():
    assert "the scenario has no blocks_peers_ms" in judge(cut_off(), honest=(0, 2)).summary


def test_nothing_is_sent_to_who_is_cut_off_until_the_time_is_over():
    said = Event(3, 0, Sent(1, 7, "Notarize", 100, b"sum"))
    after = (Event(6, 0, PeerAdmitted(1)), Event(6, 0, Sent(1, 8, "Notarize", 100, b"sum")))

    assert judge(*carry("Notarize", source=2), cut_off(), *after, plan=CUTS, honest=(0, 2)).status == "passed"
    result = judge(*carry("Notarize", source=2), cut_off(), said, *after, plan=CUTS, honest=(0, 2))
    assert result.summary == "validator 0 sent Notarize to validator 1, which it had cut off, at 0.000 s"


def test_no_message_is_handled_of_who_is_cut_off_until_the_time_is_over():
    events = (cut_off(), Event(6, 0, PeerAdmitted(1)))

    for calls, status in (((1, 6, 7), "passed"), ((1, 4), "failed")):
        assert (
            judge(
                *carry("Notarize", source=2),
                *events,
                plan=CUTS,
                honest=(0, 2),
                engine_calls=life_with_checks_at(*calls),
            ).status
            == status
        )


def test_a_replica_that_loses_its_power_forgets_whom_it_cut_off():
    crash = Event(3, SUPERVISOR, Crashed(0, 0))

    calls = life_with_checks_at(2, 4)
    result = judge(*carry("Notarize", source=2), cut_off(at_us=2), crash, plan=CUTS, honest=(0, 2), engine_calls=calls)
    assert result.status == "passed"
