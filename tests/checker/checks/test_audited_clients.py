"""The audit of clients: whose turn it is, and that what was refused is handed in again, also where both coincide."""

from types import SimpleNamespace

from checker.checks.audit.clients import RETRY_US, AuditedClients
from faults.events import TransactionSubmitted
from network.events import Event
from network.types import SUPERVISOR

ONE, OTHER = b"1" * 32, b"2" * 32


def failures_of(*handed):
    """Return what is amiss with clients of three validators, which hand in by (time, validator, digest, outcome)."""
    failures = []
    traffic = SimpleNamespace(is_on=[True] * 3)
    clients = AuditedClients(3, traffic, lambda what, **_evidence: failures.append(what))
    for at_us, validator, digest, outcome in handed:
        submitted = TransactionSubmitted(outcome, validator, digest)
        clients.submit(Event(at_us, SUPERVISOR, submitted), submitted)
    clients.finish(handed[-1][0] + 10 * RETRY_US)
    return failures


def test_clients_go_round_the_validators():
    assert failures_of((1, 0, ONE, "submitted"), (2, 1, OTHER, "submitted")) == []


def test_another_validator_than_the_next_is_named():
    (failure,) = failures_of((1, 0, ONE, "submitted"), (2, 2, OTHER, "submitted"))

    assert "the turn was validator 1's" in failure


def test_what_was_refused_has_to_come_again_a_second_later():
    (failure,) = failures_of((1, 0, ONE, "refused"), (2, 1, OTHER, "submitted"))

    assert "was refused, and not handed to validator 1" in failure


class TestCopies:
    """A transaction handed in twice, whose refused copy comes again just when its second copy has its turn."""

    REFUSED = (1, 0, ONE, "refused")
    AGAIN_AT_US = 1 + RETRY_US

    def test_the_copy_and_the_repetition_may_come_in_one_instant(self):
        copy = self.AGAIN_AT_US, 1, ONE, "submitted"

        assert failures_of(self.REFUSED, copy, copy, (self.AGAIN_AT_US + 5, 2, OTHER, "submitted")) == []

    def test_a_third_call_between_the_two_takes_the_next_turn(self):
        copy = self.AGAIN_AT_US, 1, ONE, "submitted"

        assert failures_of(self.REFUSED, copy, (self.AGAIN_AT_US, 2, OTHER, "submitted"), copy) == []

    def test_a_copy_alone_does_not_stand_for_the_repetition(self):
        (failure,) = failures_of(
            self.REFUSED, (self.AGAIN_AT_US, 1, ONE, "submitted"), (self.AGAIN_AT_US, 2, OTHER, "submitted")
        )

        assert "was refused, and not handed to validator 1" in failure
