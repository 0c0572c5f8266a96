"""Signatures of failures, equal for runs that failed in the same way: check, table or event, field; no value."""

from typing import get_args

import pytest

from checker.oracle import fields
from checker.oracle.describe import narrow_down, show_receipt
from checker.results import CheckResult
from cluster.campaign.tasks import signature_of
from tests.support.cluster_runs import result_of
from tests.support.mutation import WITH_CATALOGUE
from validators.execution.receipts import ChainEvent, TransactionReceipt
from validators.execution.schema import all_tables

TIMER = bytes(range(32))


def signature(summary, status="failed"):
    return signature_of([CheckResult("oracle", status, "safety", summary, (), 1)])


def receipt_signature(one, other):
    """Return the signature of a difference between two decoded receipts, as the oracle tells of it."""
    place, values = narrow_down((one, other))
    return signature(f"receipt 3, {show_receipt(one)}{place} is {values[0]} by the oracle and {values[1]} in the run")


def transaction_with(event):
    return [0, bytes(32), 0, "", 5, 6, 7, 8, [event]]


FIRED = [1, TIMER, bytes(20), 7, True, 700, 49, 599_200, 0]
SCHEDULED = [0, TIMER, bytes(20), 7, 1, bytes(20), 20_000, 90]


def altered(event, index):
    return [*event[:index], event[index] + 1, *event[index + 1 :]]


def test_events_of_two_kinds_have_two_signatures():
    one = receipt_signature(transaction_with(SCHEDULED), transaction_with(altered(SCHEDULED, 3)))
    other = receipt_signature(transaction_with(FIRED), transaction_with(altered(FIRED, 3)))

    assert ("TimerScheduled, due" in one, "TimerFired, due" in other) == (True, True)


@pytest.mark.parametrize("make", [transaction_with, lambda event: [1, event]])
def test_two_fields_of_an_event_have_two_signatures(make):
    of_burned, of_tip = (receipt_signature(make(FIRED), make(altered(FIRED, index))) for index in (7, 8))

    assert "TimerFired, burned is # by" in of_burned
    assert "TimerFired, tip is # by" in of_tip


def test_an_event_instead_of_another_has_the_names_of_both():
    expired = [3, TIMER, 5, 7]

    assert receipt_signature([1, FIRED], [1, expired]).endswith(
        "is TimerFired [timer_id=# actor=# due=# ok=True used_cycles=# used_cells=# burned=# tip=#] by the oracle and "
        "TimerExpired [timer_id=# expires_at=# current_height=#] in the run"
    )


def test_several_validators_are_the_same_way_as_one():
    assert signature("validators 0, 1, 3 at height 1,017") == signature("validators 2 at height 8")


def test_one_bug_has_one_signature_whatever_the_seed():
    settings = ("mutants={refund-rounded-down=[0,1,2,3]}", "expect.fails=[]")
    signatures = {signature_of(result_of("broken-refund", *settings, seed=seed).checks) for seed in (1, 2)}

    assert len(signatures) == 1


def test_unrelated_bugs_share_no_signature():
    """Three of them, told by the oracle alone."""
    found = {}
    for name in ("tip-burned", "refund-rounded-down", "empty-bucket-stays"):
        settings = WITH_CATALOGUE, f"mutants={{{name}=[0,1,2,3]}}", "expect.fails=[]"
        checks = result_of("broken-refund", *settings).checks
        found[name] = signature_of([check for check in checks if check.name == "oracle"])

    assert len(set(found.values())) == len(found), found


def named_fields(record):
    """Return a record's fields; one called like a word of Python has an underscore behind it in the code alone."""
    return tuple(name.rstrip("_") for name in record.__struct_fields__)


def test_the_names_of_fields_are_those_of_the_records():
    """A field that was added or renamed would be shown without a name, or with a wrong one."""
    records = {table.code: table.record for table in all_tables().values()}
    named = {code: names for code, (_, names) in fields.TABLES.items() if names}

    own = {code: named_fields(records[code]) for code in named}
    assert own == named
    events = {event.__struct_config__.tag: (event.__name__, named_fields(event)) for event in get_args(ChainEvent)}
    assert events == dict(fields.EVENTS)
    assert TransactionReceipt.__struct_fields__ == fields.TRANSACTION
