"""Traffic: messages beyond those that views, requests and timers account for."""

import pytest

from checker.checks.planned import PlannedRun
from checker.checks.rules.registry import RULES
from checker.checks.service.traffic import Traffic
from faults.events import ClockSet, TransactionSubmitted
from network.events import Delivered, Event, Sent
from network.types import SUPERVISOR
from tests.support.checks import finish, make_run, show
from validators.consensus.registry import ENGINES
from validators.costs import Costs
from validators.events import Booted, Entered

SECOND = 1_000_000
PLAN = PlannedRun(
    costs=Costs(answers_per_second=3),
    certification_timeout_us=3 * SECOND,
    timeout_retry_us=4 * SECOND,
    fetch_grace_us=SECOND,
    fetch_timeout_us=2 * SECOND,
    regossip_us=2 * SECOND,
)


def send(kind, count=1, *, to=1):
    return [Event(1, 0, Sent(to, ordinal, kind, 80, b"one")) for ordinal in range(count)]


def ask(kind, count=1, *, peer=1):
    return [Event(1, 0, Delivered(peer, ordinal, kind, 40, b"")) for ordinal in range(count)]


def judge(*events, now_us=1_000_000, **facts):
    """Judge a second of validator 0 among four, which started once and came to view 5, with these events."""
    check = Traffic(make_run(**{"plan": PLAN, "disks": (None,) * 4, **facts}))
    show(check, Event(0, 0, Booted(0, 1, 0, b"")), Event(1, 0, Entered(5, 1)), *events)
    return finish(check, now_us=now_us)


def most(kind, *given, **facts):
    """Return the most messages of a kind to one peer that pass, after other events."""
    statuses = [judge(*given, *send(kind, count), **facts).status for count in range(1, 60)]
    passed = statuses.count("passed")
    assert statuses == ["passed"] * passed + ["failed"] * (len(statuses) - passed)
    assert passed < len(statuses)
    return passed


def test_too_many_messages_fail_with_the_formula():
    result = judge(*send("BlockRelay", 4))

    assert result.status == "failed"
    assert result.summary == (
        "validator 0 sent validator 1 4 messages BlockRelay, at most 2 are accounted for (V of its own + L)"
    )


@pytest.mark.parametrize(("engine", "led"), [("simplex", 1), ("hotstuff", 1)])
def test_a_block_leaves_once_for_each_view_of_its_leader(engine, led):
    """And once more in each life."""
    assert most("BlockRelay", engine=engine) == led + 1
    assert most("BlockRelay", Event(2, 0, Booted(1, 5, 0, b"")), engine=engine) == led + 2


def test_each_peer_is_counted_alone():
    assert judge(*send("BlockRelay", 2), *send("BlockRelay", 2, to=2)).status == "passed"


def test_a_block_is_asked_for_once_in_each_wait():
    """Grace and timeout are a second and two; there are five views and a life."""
    assert most("BlockRequest") == 18


@pytest.mark.parametrize(
    ("kind", "request_kind"),
    [
        ("BlockResponse", "BlockRequest"),
        ("SnapshotOffer", "SnapshotRequest"),
        ("SnapshotChunk", "SnapshotChunkRequest"),
    ],
)
def test_an_answer_needs_a_request_of_the_peer(kind, request_kind):
    assert judge(*send(kind)).status == "failed"
    assert judge(*ask(request_kind, peer=2), *send(kind)).status == "failed"
    assert most(kind, *ask(request_kind, 2)) == 2


@pytest.mark.parametrize(
    ("kind", "request_kind"), [("BlockResponse", "BlockRequest"), ("SnapshotOffer", "SnapshotRequest")]
)
def test_a_peer_has_a_number_of_answers_a_second(kind, request_kind):
    """The second that the run lasts may lie in two of the replica's own, and a start begins another one."""
    assert most(kind, *ask(request_kind, 50)) == 3 * 3


def test_a_fast_clock_has_more_seconds():
    fast = Event(0, SUPERVISOR, ClockSet(0, None, SECOND, 0))

    assert most("BlockResponse", *ask("BlockRequest", 50), fast) == 3 * 4


def test_a_piece_is_asked_for_three_times():
    assert most("SnapshotChunkRequest", *ask("SnapshotOffer"), *ask("SnapshotChunk")) == 6


def test_a_transaction_leaves_once_for_each_peer():
    """And parts of what waits leave besides."""
    given = Event(1, SUPERVISOR, TransactionSubmitted("submitted", 0, b""))
    refused = Event(1, SUPERVISOR, TransactionSubmitted("refused", 0, b""))

    assert most("TransactionGossip", refused) == 2
    assert most("TransactionGossip", given, given) == 4
    assert most("TransactionGossip", now_us=4 * SECOND) == 4


@pytest.mark.parametrize("engine", RULES)
def test_each_message_of_an_engine_has_one_bound(engine):
    """Five views, a life, and a timer of two seconds that may run out once; the peer's messages may be answered."""
    for kind in ENGINES[engine].messages:
        assert most(kind.traced_name, engine=engine) == 14
        assert most(kind.traced_name, *ask(kind.traced_name, 5), engine=engine) == 24


def test_a_replica_without_a_peer_is_not_asked():
    assert Traffic(make_run(disks=(None,))).not_asked() == "there is no other replica"
