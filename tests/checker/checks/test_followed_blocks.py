"""The check of the longest chain's duties: a better block on what a validator follows is followed in time."""

import msgspec
import pytest

from checker.checks.planned import PlannedFault, PlannedRun
from checker.checks.rules.longest_chain_duties import LongestChainDuties
from checker.record.run_directory import BRANCHES, BranchRecord
from faults.events import Crashed, Restarted
from network.events import AlarmElapsed, Delivered, Event, Sent, TimerElapsed, WorkFinished
from network.types import SUPERVISOR
from tests.support.checks import finish, make_run, show
from validators.events import BlockExecuted, BlockFinalized, Entered, HeadAdopted, MessageRefused, Voted

SECOND_US = 1_000_000
ZERO, ONE, TWO, THREE = (bytes([place]) * 32 for place in range(4))
PARENTS = {ONE: bytes([9]) * 32, TWO: ONE, THREE: TWO}


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
WORK = at(1, WorkFinished("cpu", 1, 500_000))
FINAL = at(1, BlockFinalized(1, 1, THREE, b""))
RIVAL = at(3, BlockExecuted(9, 7, THREE, b"", b""))

CASES = {
    "a block that is followed": ([*BEGUN, *comes(2, 2, 2, TWO), follows(2, 2, 2, TWO)], "passed"),
    "a block that is not": ([*BEGUN, *comes(2, 2, 2, TWO)], "failed"),
    "a block that is followed late": ([*BEGUN, *comes(2, 2, 2, TWO), follows(4, 2, 2, TWO)], "failed"),
    "another one as good": ([*BEGUN, *comes(2, 2, 2, TWO), follows(2, 3, 2, ZERO)], "passed"),
    "another one as high": ([*BEGUN, *comes(2, 2, 2, TWO), follows(2, 3, 2, THREE)], "failed"),
    "a block that is as high": ([*BEGUN, follows(1, 1, 2, THREE), *comes(2, 2, 2, TWO)], "failed"),
    "a block that is as high and not better": ([*BEGUN, follows(1, 1, 2, ZERO), *comes(2, 2, 2, TWO)], "idle"),
    "a block beside the final one": ([*BEGUN, FINAL, *comes(2, 2, 2, TWO)], "idle"),
    "a block of the slot after the next": ([*BEGUN, *comes(2, 3, 2, TWO)], "idle"),
    "a block whose slot comes": ([*BEGUN, *comes(2, 3, 2, TWO), slot(2), follows(2, 3, 2, TWO)], "passed"),
    "a block that waits on when its slot comes": ([*BEGUN, *comes(2, 3, 2, TWO), slot(2)], "failed"),
    "a block on one that is not followed": ([*BEGUN, *comes(2, 2, 3, THREE)], "idle"),
    "a damaged block": ([*BEGUN, *comes(2, 2, 2, TWO, b"sun")], "idle"),
    "a wrong clock": ([*BEGUN, *comes(3, 2, 2, TWO), slot(4, ahead_us=1)], "idle"),
    "a block that waits for others": ([*BEGUN, WORK, *comes(2, 2, 2, TWO), RIVAL, follows(4, 2, 2, TWO)], "passed"),
    "a block that waits for nothing": ([*BEGUN, WORK, *comes(2, 2, 2, TWO), follows(4, 2, 2, TWO)], "failed"),
    "a crash at once": ([*BEGUN, *comes(2, 2, 2, TWO), at(2, Crashed(0, 0))], "passed"),
}


def judge(events, path, plan):
    records = [BranchRecord(parent, digest, 0, "", b"") for digest, parent in PARENTS.items()]
    (path / BRANCHES).write_bytes(b"".join(map(msgspec.msgpack.encode, records)))
    check = LongestChainDuties(make_run(engine="longest-chain", plan=plan, finality_depth=9))
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


OWN = [
    at(2, Entered(2, 0)),
    at(2, Voted("propose", 2, TWO)),
    *(at(2, Sent(peer, 2, "BlockRelay", 500, b"sum", 2, 2)) for peer in (1, 2)),
]
RESTARTED = [
    at(1, Voted("propose", 1, ONE)),
    at(1, Crashed(0, 0), SUPERVISOR),
    at(1, Restarted(0), SUPERVISOR),
    *BEGUN,
]
WAITED = at(2, TimerElapsed(("consensus", "join", 1), 1))

TURNS = {
    "a slot that is led": ([*BEGUN, *OWN, follows(2, 2, 2, TWO)], "passed"),
    "an own block that is not followed": ([*BEGUN, *OWN], "failed"),
    "a slot that is not led": ([*BEGUN, at(2, Entered(2, 0))], "failed"),
    "a slot that is led late": ([*BEGUN, at(2, Entered(2, 0)), at(4, Voted("propose", 2, TWO))], "failed"),
    "a slot of another leader": ([*BEGUN, at(2, Entered(2, 1))], "idle"),
    "a slot with a head of the next one": ([*BEGUN, follows(2, 3, 2, TWO), at(2, Entered(2, 0))], "idle"),
    "a head that comes meanwhile": ([*BEGUN, at(2, Entered(2, 0)), follows(2, 1, 2, TWO)], "passed"),
    "a restart": ([*RESTARTED, at(2, Entered(2, 0))], "idle"),
    "a restart after the wait for heads": ([*RESTARTED, WAITED, at(2, Entered(2, 0))], "failed"),
    "another state": ([*BEGUN, at(1, Sent(1, 1, "SnapshotRequest", 9, b"")), at(2, Entered(2, 0))], "idle"),
}


@pytest.mark.parametrize("name", TURNS)
def test_a_leader_seals_a_block_in_its_slot_and_follows_it(name, tmp_path):
    events, status = TURNS[name]

    assert judge(events, tmp_path, PlannedRun()) == status


def tells(second, label, view, height, node=2):
    """Return a message that names a block, on its way to validator 0."""
    sent = at(second, Sent(0, 70 + view, label, 90, b"sum", view, height), node)
    return [sent, at(second, Delivered(node, 70 + view, label, 90, b"sum"))]


ASKS = at(2, Sent(1, 5, "BlockRequest", 30, b""))
ASKED = at(2, Sent(0, 8, "HeadRequest", 3, b"sum"), 1)
QUESTION = [ASKED, at(2, Delivered(1, 8, "HeadRequest", 3, b"sum"))]
ANSWER = at(2, Sent(1, 9, "HeadResponse", 90, b"", 1, 1))
PASSED_OVER = at(2, MessageRefused("HeadRequest", "AnswerUnderWay"))

NAMES = {
    "a block that is asked for": ([*BEGUN, *tells(2, "Announcement", 2, 2), ASKS], "passed"),
    "a block that is not": ([*BEGUN, *tells(2, "Announcement", 2, 2)], "failed"),
    "a block that is followed": ([*BEGUN, *tells(2, "Announcement", 2, 2), follows(2, 2, 2, TWO)], "passed"),
    "a block that is not better": ([*BEGUN, *tells(2, "Announcement", 2, 1)], "idle"),
    "a block far above": ([*BEGUN, *tells(2, "Announcement", 2, 12)], "idle"),
    "an answer after a start": ([*RESTARTED, *tells(2, "HeadResponse", 2, 2)], "failed"),
    "an answer that nobody asked for": ([*BEGUN, *tells(2, "HeadResponse", 2, 2)], "idle"),
    "a question that is answered": ([*BEGUN, *QUESTION, ANSWER], "passed"),
    "a question that is not": ([*BEGUN, *QUESTION], "failed"),
    "a second question at once": ([*BEGUN, *QUESTION, ANSWER, *QUESTION], "passed"),
    "a question while another answer is under way": ([*BEGUN, *QUESTION, PASSED_OVER], "idle"),
    "a damaged question": ([*BEGUN, ASKED, at(2, Delivered(1, 8, "HeadRequest", 3, b"mus"))], "idle"),
    "a block before there is a head": ([BEGUN[0], *tells(2, "Announcement", 2, 2)], "idle"),
    "a question before there is a head": ([BEGUN[0], *QUESTION], "idle"),
}


@pytest.mark.parametrize("name", NAMES)
def test_heads_are_named_and_what_is_named_is_asked_for(name, tmp_path):
    events, status = NAMES[name]

    assert judge(events, tmp_path, PlannedRun()) == status
