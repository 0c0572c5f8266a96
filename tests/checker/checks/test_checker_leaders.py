"""Leader election: a wrong leader shows when a validator enters the view, and in the final block."""

from types import SimpleNamespace

import msgspec
import pytest

from checker.checks.leaders import Leaders
from checker.record.run_directory import BRANCHES, BranchRecord
from network.events import Event, Sent
from tests.support.chain_harness import advance, make_engine
from tests.support.checks import finish, make_run, show
from validators.events import Booted, Entered
from validators.execution.blocks import encode_block, header_digest


def enter(node, view, leader):
    return Event(1, node, Entered(view, leader))


def judge(*events):
    leaders = Leaders(make_run())
    show(leaders, *events)
    return leaders.finish()


def test_turns_in_order_pass():
    """View 0 is genesis', so validator 1 is the first."""
    result = judge(*(enter(node, view, view % 4) for node in range(4) for view in range(1, 10)))

    assert (result.status, result.compared) == ("passed", 36)


@pytest.mark.parametrize(("view", "leader"), [(1, 0), (4, 1), (7, 2)])
def test_a_validator_that_waits_for_another_leader_is_named(view, leader):
    """With the view, and whose turn it was."""
    result = judge(enter(0, 2, 2), enter(3, view, leader))

    assert result.status == "failed"
    assert f"validator 3 takes validator {leader} for the leader of view {view}" in result.summary
    assert f"expected validator {view % 4}" in result.summary


def test_a_final_block_of_somebody_else_fails():
    """Whatever leader its validators entered the view with."""
    header = advance(make_engine()).header
    leaders = Leaders(make_run(validators=3))
    leaders.settle(SimpleNamespace(header=header))

    assert header.proposer != header.view % 3
    assert (
        f"validator {header.proposer} proposed the block of height {header.height} in view {header.view}; expected"
        in leaders.finish().summary
    )


def test_a_leader_that_proposes_two_blocks_in_a_view_is_named():
    """To two peers the same one is one block; after a restart in its view an honest leader has no second one."""

    def relay(peer, checksum, view=7):
        return Event(1, 3, Sent(peer, 0, "BlockRelay", 500, checksum, view, 4))

    assert judge(enter(3, 7, 3), relay(0, b"a"), relay(1, b"a"), relay(0, b"b", view=11)).status == "passed"
    assert "validator 3 proposed two blocks in view 7" in judge(relay(0, b"a"), relay(1, b"b")).summary
    knows = [Event(1, 3, Booted(1, view, 0, b"")) for view in (6, 7)]
    assert judge(enter(3, 7, 3), relay(0, b"a"), knows[0], relay(0, b"b")).status == "passed"
    assert judge(enter(3, 7, 3), relay(0, b"a"), knows[1], relay(0, b"b")).status == "failed"


def test_a_journal_without_an_entry_knows_of_no_view():
    """The first view is where it leads: the block of it that left before the first sync is forgotten."""
    first, second = (Event(1, 1, Sent(0, 0, "BlockRelay", 500, checksum, 1, 1)) for checksum in (b"a", b"b"))

    assert judge(enter(1, 1, 1), first, Event(1, 1, Booted(1, 1, 0, b"")), second).status == "passed"


@pytest.mark.parametrize(("view", "status"), [(6, "passed"), (5, "failed"), (4, "failed")])
def test_a_block_stands_on_one_of_an_earlier_view(view, status, tmp_path):
    """Also one that never becomes final."""
    block = advance(make_engine()).block
    below = msgspec.structs.replace(block, header=msgspec.structs.replace(block.header, view=5))
    header = msgspec.structs.replace(block.header, view=view, parent=header_digest(below.header))
    records = [
        BranchRecord(each.header.parent, header_digest(each.header), 0, "", encode_block(each))
        for each in (below, msgspec.structs.replace(block, header=header))
    ]
    (tmp_path / BRANCHES).write_bytes(b"".join(map(msgspec.msgpack.encode, records)))

    result = finish(Leaders(make_run()), record=tmp_path)

    assert result.status == status, result.summary
    assert (f"in view {view} on a block of view 5" in result.summary) == (status == "failed")
