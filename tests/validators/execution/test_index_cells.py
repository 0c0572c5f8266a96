"""The price of a timer's place in the state, which scheduling pays beside its payload (K-36)."""

import pytest

from scheduler import TimerConfig
from tests.support.scheduler_doubles import Bench
from validators.actors import Frame, Meter, OutOfGas
from validators.actors.host import Host

ACTOR = b"\xaa" * 20
RECORD, PLACE, BUCKET = 32 + 108, 32 + 35, 32 + 5
"""A key and a record each: a timer of small numbers without its payload, its entry, and the bucket of its height."""


def cells_of(*calls, config=None):
    """Return the cells that each of some schedule calls of one program uses."""
    meter = Meter(10**9, 10**9)
    host = Host(Bench(config), Frame(ACTOR, ACTOR, bytes(32), 0), meter)
    found = []
    for height, payload in calls:
        before = meter.cells
        host.schedule_timer(height, payload)
        found.append(meter.cells - before)
    return found


def test_only_the_first_timer_of_a_height_pays_for_the_bucket():
    found = cells_of((9, b"a"), (9, b"b"), (10, b"c"))

    assert found == [1 + RECORD + PLACE + BUCKET, 1 + RECORD + PLACE, 1 + RECORD + PLACE + BUCKET]


def test_a_long_payload_is_paid_for_once():
    """The record counts with an empty one: neither its bytes nor its longer length is in it."""
    assert cells_of((9, bytes(70_000))) == [70_000 + RECORD + PLACE + BUCKET]


def test_a_chain_may_leave_the_index_to_others():
    assert cells_of((9, b"abc"), config=TimerConfig(charges_index_cells=False)) == [3]


@pytest.mark.parametrize(("missing", "left"), [(0, 1), (1, 0)])
def test_who_cannot_pay_for_the_index_schedules_nothing(missing, left):
    """It is charged after every check and before anything is written."""
    bench = Bench()
    host = Host(bench, Frame(ACTOR, ACTOR, bytes(32), 0), Meter(10**9, 3 + RECORD + PLACE + BUCKET - missing))
    if missing:
        with pytest.raises(OutOfGas):
            host.schedule_timer(9, b"abc")
    else:
        host.schedule_timer(9, b"abc")

    assert (len(bench.tables.timers), len(host.events)) == (left, left)


def test_a_refused_timer_pays_no_index_and_a_cancelled_one_gets_no_refund():
    bench, meter = Bench(TimerConfig(max_timers_per_actor=1)), Meter(10**9, 10**9)
    host = Host(bench, Frame(ACTOR, ACTOR, bytes(32), 0), meter)
    timer = host.schedule_timer(9, b"")
    with pytest.raises(Exception, match="the cap is 1"):
        host.schedule_timer(9, b"")
    host.cancel_timer(timer)

    assert meter.cells == RECORD + PLACE + BUCKET
