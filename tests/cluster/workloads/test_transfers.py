"""Payments that are handed in more than once, and are done once."""

import pytest

from cluster.scenario.load import load_scenario
from cluster.workloads.planned import transactions_of
from tests.support.cluster_runs import judge_in_process

AGAIN = (
    'workload.payments={kind="transfers", accounts=3, count=6, every_ms=900, copies=5, copy_ms=COPY}',
    "run.until_height=9",
    'requires=["payments"]',
)


def calm(copy_ms):
    return load_scenario("calm", [setting.replace("COPY", str(copy_ms)) for setting in AGAIN])


def test_copies_are_the_payment_itself_some_time_later():
    digests = {}
    for timed in transactions_of(calm(90)):
        if timed.workload == "payments":
            digests.setdefault(timed.digest, []).append(timed.at_us)

    assert len(digests) == 6
    assert next(iter(digests.values())) == [0, 90_000, 180_000, 270_000, 360_000]


@pytest.mark.parametrize(("copy_ms", "cell"), [(0, "nonce-taken"), (90, "handed-in-again"), (2_500, "nonce-spent")])
def test_each_is_done_once_however_late_its_copies_come(copy_ms, cell):
    result = judge_in_process(calm(copy_ms))

    effective = next(check for check in result.checks if check.name == "workloads-effective")
    assert (result.verdict, effective.summary.rpartition(" ")[2]) == ("passed", "6")
    assert dict(result.rules)[cell] > 0
