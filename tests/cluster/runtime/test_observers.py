"""Validators that lost their votes or their state: who may sign, what is signed, and that the rest is caught."""

import pytest

from checker.record.streams import iterate_events
from network.events import Sent, events_of_type, read_event
from tests.support.cluster_runs import applied_blocks, check_named, result_of
from tests.support.keystones import third_of
from validators import node, recovery
from validators.events import BlockExecuted, BlockFinalized, Booted, SnapshotJoined, Voted
from validators.storage import JournalLostError, provision

WIPED = 2
ALONE = f'faults.alone={{kind="partition", groups=[[{WIPED}], [0, 1, 3]], start_ms=17_000, stop_ms=21_000}}'


def start_afresh(disk, journal, expected, *, repairs, make):
    """Take a lost journal for that of a new validator."""
    try:
        journal.recover(expected)
    except JournalLostError:
        provision(disk, expected)
    return recovery.reopen_consensus(disk, journal, expected, repairs=repairs, make=make)


@pytest.fixture(scope="module")
def rejoined():
    return result_of("wiped-rejoin")


def test_the_verdict_says_who_follows_without_a_vote_and_why(rejoined):
    """In its headline and in the table of validators."""
    assert rejoined.headline.startswith("3 validators and 1 observer hold one state root at every height up to ")
    assert [row.status for row in rejoined.validators] == ["voter", "voter", "observer", "voter"]
    assert "observer: the disk holds none" in rejoined.validators[WIPED].note
    assert "snapshots joined: 1" in rejoined.validators[WIPED].note


def test_an_observer_says_nothing_after_either_of_its_restarts(rejoined):
    """No vote, no proposal; it goes on asking, finalizing and serving."""
    events = list(iterate_events(bytes(rejoined.log)))
    own = [event for event in events if event.node == WIPED]
    first = next(event.at_us for event in own if event.kind == "observer")

    assert [event.at_us for event in own if event.kind == "vote" and event.at_us >= first] == []
    assert [body.mode for _, body in events_of_type(own, BlockExecuted)].count("propose") == sum(
        body.mode == "propose" and event.at_us < first for event, body in events_of_type(own, BlockExecuted)
    )
    assert sum(event.kind == "observer" for event in own) == 2
    assert max(body.height for _, body in events_of_type(own, BlockFinalized)) >= 28


def test_a_restart_goes_on_from_the_snapshot_on_the_own_disk(rejoined):
    """It boots at least at the height at which it joined, and joins no second time."""
    own = [event for event in iterate_events(bytes(rejoined.log)) if event.node == WIPED]
    ((_, joined),) = events_of_type(own, SnapshotJoined)
    *_, (_, last_boot) = events_of_type(own, Booted)

    assert last_boot.finalized_height >= joined.height > 0


@pytest.mark.soak
def test_a_wiped_validator_that_votes_again_is_caught(monkeypatch):
    """It does not know that it finalized the first views, and nullifies one of them."""
    monkeypatch.setattr(node, "reopen_consensus", start_afresh)
    result = result_of("wiped-rejoin", ALONE)

    check = check_named(result, "no-double-vote")
    assert (result.exit_code, check.status) == (1, "failed"), result.headline
    assert f"validator {WIPED} sent both nullify and finalize" in check.summary


@pytest.mark.soak
def test_an_observer_left_alone_contradicts_nothing():
    """The same isolation, and the validator as it is."""
    result = result_of("wiped-rejoin", ALONE)

    assert (result.exit_code, check_named(result, "no-double-vote").status) == (0, "passed"), result.headline


ROT = (
    "faults.rot.files=['operations', 'snapshot']",
    "faults.rot.ppm=1_000_000",
    "faults.stale.enabled=false",
    "faults.astray.enabled=false",
    "requires=['rot', 'first', 'second', 'third']",
)


@pytest.mark.parametrize("gap_blocks", third_of([3, 256]))
@pytest.mark.soak
def test_a_validator_without_its_state_votes_only_on_executed_blocks(gap_blocks):
    """Whatever it says after a start, it has executed the block in this life or had said it before."""
    result = result_of("bit-rot", *ROT, f"sync.snapshot_gap_blocks={gap_blocks}")
    said, executed, boots = {}, {}, []
    for event in iterate_events(bytes(result.log)):
        if event.node != WIPED:
            continue
        if booted := read_event(event, Booted):
            executed.clear()
            boots.append(booted.finalized_height)
        elif block := read_event(event, BlockExecuted):
            executed[block.digest] = None
        elif (voted := read_event(event, Voted)) and voted.vote != "nullify":
            assert voted in said or voted.payload in executed, voted
            said[voted] = None

    assert result.exit_code == 0, result.headline
    assert 0 in boots[1:], "the state was lost"
    assert [row.status for row in result.validators] == ["voter"] * 4
    assert bool(result.figures["snapshots_joined"]) == (gap_blocks == 3)


SLOW_JOIN = (
    'faults.worn={kind="slow-disk", validator=2, factor=1, extra_ms=1_500, start_ms=16_000, stop_ms=20_000}',
    "faults.restart.enabled=false",
    "requires=['wipe', 'worn']",
    "network.loss_ppm=0",
    "run.until_height=20",
)


def test_a_snapshot_that_is_on_its_way_to_the_disk_is_the_only_one():
    """Messages that arrive in the meantime start no second download, which would be written over the older base."""
    run, _ = applied_blocks("wiped-rejoin", *SLOW_JOIN)
    events = iterate_events(bytes(run.trace.log))
    requests = [event for event, sent in events_of_type(events, Sent) if sent.label == "SnapshotRequest"]

    assert [event.node for event in requests] == [WIPED]
