"""The check of the longest chain's duties: a better block on what a validator follows is followed in time."""

import msgspec
import pytest

from checker.checks.planned import PlannedFault, PlannedRun
from checker.checks.rules.longest_chain_duties import LongestChainDuties
from checker.record.run_directory import BRANCHES, BranchRecord
from faults.events import Crashed
from network.events import AlarmElapsed, Delivered, Event, Sent
from tests.support.checks import finish, make_run, show
from validators.events import HeadAdopted, Voted

SECOND_US = 1_000_000
ONE, TWO, THREE = (bytes([place]) * 32 for place in (1, 2, 3))
PARENTS = {ONE: bytes(32), TWO: ONE, THREE: TWO}


def at(second, body, node=0):
    return Event(second * SECOND_US, node, body)


def slot(number, ahead_us=0):
    return at(number, AlarmElapsed(("alarm", "slot", number), number * SECOND_US, number * SECOND_US + ahead_us))


def comes(second, view, height, digest, checksum=b"sum"):
    """Return the block of leader 2, on its way to validator 0."""
    return [
        at(second, Voted("propose", view, digest), 2),
        at(second, Sent(0, view, "BlockRelay", 500, b"sum", view, height), 2),
        at(second, Delivered(2, view, "BlockRelay", 500, checksum)),
    ]


def follows(second, view, height, digest):
    return at(second, HeadAdopted(height, view, digest, 0))


BEGUN = [slot(1), follows(1, 1, 1, ONE)]

CASES = {
    "a block that is followed": ([*BEGUN, *comes(2, 2, 2, TWO), follows(2, 2, 2, TWO)], "passed"),
    "a block that is not": ([*BEGUN, *comes(2, 2, 2, TWO)], "failed"),
    "a block that is followed late": ([*BEGUN, *comes(2, 2, 2, TWO), follows(4, 2, 2, TWO)], "failed"),
    "another one as high": ([*BEGUN, *comes(2, 2, 2, TWO), follows(2, 3, 2, THREE)], "passed"),
    "a block of the slot after the next": ([*BEGUN, *comes(2, 3, 2, TWO)], "idle"),
    "a block on one that is not followed": ([*BEGUN, *comes(2, 2, 3, THREE)], "idle"),
    "a damaged block": ([*BEGUN, *comes(2, 2, 2, TWO, b"sun")], "idle"),
    "a wrong clock": ([*BEGUN, *comes(3, 2, 2, TWO), slot(4, ahead_us=1)], "idle"),
    "a crash at once": ([*BEGUN, *comes(2, 2, 2, TWO), at(2, Crashed(0, 0))], "passed"),
}


def judge(events, path, plan):
    records = [BranchRecord(parent, digest, 0, "", b"") for digest, parent in PARENTS.items()]
    (path / BRANCHES).write_bytes(b"".join(map(msgspec.msgpack.encode, records)))
    check = LongestChainDuties(make_run(engine="longest-chain", plan=plan))
    show(check, *events)
    result = finish(check, now_us=9 * SECOND_US, record=path)
    return result.status if result.compared else "idle"


@pytest.mark.parametrize("name", CASES)
def test_the_check_tells_right_from_wrong(name, tmp_path):
    events, status = CASES[name]

    assert judge(events, tmp_path, PlannedRun()) == status


def test_a_machine_that_the_plan_slows_is_left_out(tmp_path):
    slowed = PlannedRun(faults=(PlannedFault("it", 0, SECOND_US, (0,), slows=True),))

    assert judge(CASES["a block that is not"][0], tmp_path, slowed) == "idle"
