"""Insistence: waits without a timer, and requests that go to the same peer again."""

import pytest

from checker.checks.planned import PlannedFault, PlannedRun
from checker.checks.rules.simplex_insistence import Insistence
from faults.events import ClockSet, Crashed
from network.events import Event, Sent, TimerElapsed
from network.types import SUPERVISOR
from tests.support.checks import finish, make_run, show
from validators.events import Booted, CertificateHeld, DamageFound, Entered, MessageRefused, Reported, Voted
from validators.sync.snapshots import ATTEMPTS

SECOND = 1_000_000
PLAN = PlannedRun(
    certification_timeout_us=3 * SECOND,
    timeout_retry_us=4 * SECOND,
    fetch_grace_us=SECOND // 10,
    fetch_timeout_us=SECOND,
    regossip_us=100 * SECOND,
    skip_timeout_us=400 * SECOND,
)


def at(seconds, body, node=0):
    return Event(int(seconds * SECOND), node, body)


def judge(*events, plan=PLAN, until=10):
    """Judge validator 0 of four, which enters view 5 of validator 1 at its start."""
    check = Insistence(make_run(plan=plan))
    show(check, at(0, Booted(0, 5, 0, b"")), at(0, Entered(5, 1)), *events)
    return finish(check, now_us=until * SECOND)


def elapse(seconds, *key, asked=SECOND):
    return at(seconds, TimerElapsed(key, asked))


def send(seconds, label, to, checksum=b"one"):
    return at(seconds, Sent(to, 0, label, 40, checksum))


GIVEN_UP = (elapse(3, "consensus", "certification", 5), at(3, Voted("nullify", 5, b"")))


class TestWaits:
    """Each ends by its timer, or by what it is for."""

    def test_a_view_that_lasts_longer_than_its_timer_fails(self):
        result = judge(at(4, Entered(6, 2)), until=5)

        assert result.status == "failed"
        assert result.summary == "validator 0 waited (view) to 4.000 s; its timer was due by 3,000,001 us"

    @pytest.mark.parametrize("end", [Entered(6, 2), Reported("TimedOut", 1, 5, "")])
    def test_a_view_that_ends_before_passes(self, end):
        assert judge(at(2, end), until=4).status == "passed"

    def test_a_nullify_that_is_not_repeated_fails(self):
        assert judge(*GIVEN_UP, until=6).status == "passed"
        assert "waited (nullify)" in judge(*GIVEN_UP, until=8).summary

    def test_a_nullify_that_is_repeated_passes(self):
        again = (elapse(7, "consensus", "retry", 5), at(7, Voted("nullify", 5, b"")))

        assert judge(*GIVEN_UP, *again).status == "passed"

    @pytest.mark.parametrize(("key", "name"), [("skip_timeout_us", "activity"), ("regossip_us", "regossip")])
    def test_what_recurs_may_not_stop(self, key, name):
        result = judge(plan=PLAN._replace(**{key: SECOND}), until=2)

        assert f"waited ({name})" in result.summary

    def test_a_validator_without_power_waits_for_nothing(self):
        assert judge(at(2, Crashed(0, 0), SUPERVISOR), until=90).status == "passed"

    def test_a_slow_clock_lets_waits_be_longer(self):
        slow = at(0, ClockSet(0, None, -500_000, 0), SUPERVISOR)

        assert judge(slow, at(4, Entered(6, 2)), send(4, "SnapshotRequest", 1)).status == "passed"

    def test_a_validator_that_is_paused_is_not_judged(self):
        paused = PLAN._replace(faults=(PlannedFault("it", 0, 1, (0,), pauses=True),))

        assert judge(at(9, Entered(6, 2)), plan=paused).compared == 0


class TestTurns:
    """A request that is repeated goes to the next validator."""

    @pytest.mark.parametrize(("second", "status"), [(2, "passed"), (1, "failed"), (3, "failed")])
    def test_a_certificate_is_asked_of_the_next(self, second, status):
        first, again = send(1, "CertificateRequest", 1), send(2, "CertificateRequest", second)

        assert judge(first, elapse(2, "consensus", "fetch", 4), again, until=3).status == status

    def test_the_first_is_asked_of_the_leader(self):
        result = judge(send(1, "CertificateRequest", 3), until=3)

        assert result.summary == "validator 0 sent a CertificateRequest to validator 3; the turn was validator 1's"

    @pytest.mark.parametrize(("second", "status"), [(1, "passed"), (3, "failed")])
    def test_a_block_is_asked_of_the_next(self, second, status):
        events = (
            elapse(1, "fetch", b"block", asked=SECOND // 10),
            send(1, "BlockRequest", 3),
            elapse(2, "fetch", b"block"),
            send(2, "BlockRequest", second),
        )

        assert judge(*events, until=3).status == status

    def test_two_blocks_asked_for_at_once_leave_the_next_turn_open(self):
        """Which of them a request was for nobody can tell; found by the swarm (seed 1050)."""
        first, other = (
            (elapse(1, "fetch", name, asked=SECOND // 10), send(1, "BlockRequest", peer))
            for name, peer in ((b"block", 1), (b"other", 3))
        )
        both = (elapse(2, "fetch", b"block"), elapse(2, "fetch", b"other"), send(2, "BlockRequest", 2))
        last = (elapse(3, "fetch", b"block"), send(3, "BlockRequest", 3))

        assert judge(*first, *other, *both, *last, until=3).status == "passed"

    @pytest.mark.parametrize(
        ("certificate", "peer", "status"),
        [("notarization", 2, "passed"), ("notarization", 1, "failed"), ("finalization", 1, "passed")],
    )
    def test_a_notarized_block_is_asked_of_its_leader(self, certificate, peer, status):
        events = (
            at(0.5, CertificateHeld(certificate, 6, b"block", (1, 2, 3))),
            elapse(1, "fetch", b"block", asked=SECOND // 10),
            send(1, "BlockRequest", peer),
            at(2, Entered(6, 2)),
        )

        assert judge(*events, until=3).status == status

    @pytest.mark.parametrize(("file", "status"), [("blocks", "passed"), ("operations-a", "failed")])
    def test_a_block_that_a_disk_lost_is_asked_of_the_next(self, file, status):
        """Nobody can tell whether a notarized block is one that the disk has lost; found by the swarm (seed 410618)."""
        events = (
            at(0.4, DamageFound(file, 7, "damaged record")),
            at(0.5, CertificateHeld("notarization", 6, b"block", (1, 2, 3))),
            elapse(1, "fetch", b"block", asked=SECOND // 10),
            send(1, "BlockRequest", 1),
            at(2, Entered(6, 2)),
        )

        assert judge(*events, until=3).status == status

    @pytest.mark.parametrize(("peer", "status"), [(1, "passed"), (2, "passed"), (3, "failed")])
    def test_a_leader_may_ask_the_next_for_its_parent(self, peer, status):
        """Wanted for its own block, it is asked of the next validator; found by the swarm (seed 1093)."""
        events = (
            at(0.5, CertificateHeld("notarization", 6, b"block", (1, 2, 3))),
            at(0.6, Entered(8, 0)),
            elapse(1, "fetch", b"block", asked=SECOND // 10),
            send(1, "BlockRequest", peer),
        )

        assert judge(*events, until=3).status == status

    @pytest.mark.parametrize(("second", "status"), [(2, "passed"), (1, "failed")])
    def test_pooled_transactions_go_to_the_next(self, second, status):
        events = (
            at(1, TimerElapsed("regossip", SECOND)),
            send(1, "TransactionGossip", 1),
            at(2, TimerElapsed("regossip", SECOND)),
            send(2, "TransactionGossip", second),
        )

        assert judge(*events, until=3).status == status

    def test_a_broadcast_in_the_same_instant_is_no_turn(self):
        events = [at(second, TimerElapsed("regossip", SECOND)) for second in (1, 2)]
        events[1:1] = [send(1, "TransactionGossip", to) for to in (1, 2, 3, 1)]

        assert judge(*events, send(2, "TransactionGossip", 1), until=3).status == "passed"


class TestAttempts:
    """One peer is asked for a snapshot a few times, and then the next one."""

    def test_a_peer_that_is_asked_too_often_fails(self):
        asked = [send(1, "SnapshotRequest", 1)] * ATTEMPTS

        assert judge(*asked, until=2).status == "passed"
        assert "the same SnapshotRequest 4 times in a row" in judge(*asked, asked[0], until=2).summary

    def test_a_peer_that_was_given_up_may_be_asked_again(self):
        asked = [send(1, "SnapshotRequest", 1)] * ATTEMPTS
        refused = at(1, MessageRefused("snapshot", "of validator 1: unanswered"))

        assert judge(*asked, refused, *asked, until=2).status == "passed"
