"""The audit of clients: whose turn it is, and that what was refused is handed in again, also where both coincide."""

import heapq
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.checks.audit.clients import RETRY_US, AuditedClients
from faults.events import TransactionSubmitted
from network.events import Event
from network.types import SUPERVISOR

ONE, OTHER = b"1" * 32, b"2" * 32


def failures_of(*handed, end_us=None):
    """Return what is amiss with clients of three validators, which hand in by (time, validator, digest, outcome)."""
    failures = []
    traffic = SimpleNamespace(is_on=[True] * 3)
    clients = AuditedClients(3, traffic, lambda _part, what, _at_us: failures.append(what))
    for at_us, validator, digest, outcome in handed:
        submitted = TransactionSubmitted(outcome, validator, digest)
        clients.submit(Event(at_us, SUPERVISOR, submitted), submitted)
    clients.settle(handed[-1][0] + 10 * RETRY_US if end_us is None else end_us)
    return failures


def test_clients_go_round_the_validators():
    assert failures_of((1, 0, ONE, "submitted"), (2, 1, OTHER, "submitted")) == []


def test_another_validator_than_the_next_is_named():
    (failure,) = failures_of((1, 0, ONE, "submitted"), (2, 2, OTHER, "submitted"))

    assert "the turn was validator 1's" in failure


def test_what_was_refused_has_to_come_again_a_second_later():
    (failure,) = failures_of((1, 0, ONE, "refused"), (2, 1, OTHER, "submitted"))

    assert "was refused, and not handed to validator 1" in failure


@pytest.mark.parametrize("end_us", [0, RETRY_US + 1, RETRY_US + 2])
def test_a_run_may_end_between_two_acts_of_an_instant(end_us):
    """Where nothing but clients acts any more, the last event of all others is an earlier one."""
    refused = (1, 0, ONE, "refused"), (1, 1, OTHER, "refused")
    failures = failures_of(*refused, (1 + RETRY_US, 1, ONE, "submitted"), end_us=end_us)

    assert len(failures) == (end_us > RETRY_US + 1), failures


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

    def test_repetitions_come_behind_what_is_new_in_their_order(self):
        new = (self.AGAIN_AT_US, 2, ONE, "submitted"), (self.AGAIN_AT_US, 0, OTHER, "submitted")
        refused = self.REFUSED, (1, 1, OTHER, "refused")
        again = (self.AGAIN_AT_US, 1, ONE, "submitted"), (self.AGAIN_AT_US, 2, OTHER, "submitted")

        assert failures_of(*refused, *new, *again) == []
        assert failures_of(*refused, *new, *reversed(again)) != []


@given(
    st.lists(st.tuples(st.integers(0, 12), st.sampled_from([ONE, OTHER])), min_size=1, max_size=30),
    st.integers(0, 16),
)
def test_clients_that_meet_an_outage_with_copies_are_as_expected(calls, back_after):
    """Every quarter of a second, until the validators are back, a call is refused."""
    queue = [(at * RETRY_US // 4, place, place % 3, digest) for place, (at, digest) in enumerate(sorted(calls))]
    handed = []
    while queue:
        at_us, _place, validator, digest = heapq.heappop(queue)
        is_refused = at_us < back_after * RETRY_US // 4
        handed.append((at_us, validator, digest, "refused" if is_refused else "submitted"))
        if is_refused:
            heapq.heappush(queue, (at_us + RETRY_US, len(handed) + len(calls), (validator + 1) % 3, digest))

    assert failures_of(*handed) == []
