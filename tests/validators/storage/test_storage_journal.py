"""The vote journal in two copies: no single damage loses a vote, and a lost one is never taken for a fresh one."""

import pytest
from msgspec.structs import replace

from tests.support.journals import HEAD, damage, recovered, sync, written
from validators.storage import JOURNAL_FILES, Journal, JournalLostError, SimulatedDisk, provision

OBSERVER = replace(HEAD, observes="journal lost")


def disk_with(*votes, head=HEAD):
    """Return the disk of a validator that journalled and synced these votes one by one."""
    disk = SimulatedDisk()
    written(disk, votes, head)
    return disk


def offsets_of(disk):
    """Return where each record of the journal begins, and the end."""
    records = Journal(disk)._copies[0].read().records
    return [record.offset for record in records] + [records[-1].end]


def test_a_crash_loses_what_was_not_synced_and_nothing_else():
    """Append, crash, recover."""
    disk = disk_with(b"one")
    journal = Journal(disk)
    journal.recover(HEAD)
    journal.append(b"two")
    disk.lose_unsynced()

    assert recovered(disk).artifacts == [b"one"]


@pytest.mark.parametrize("copy", [0, 1])
@pytest.mark.parametrize("kept", [0, 1, 30, 60])
def test_a_copy_that_lost_its_tail_is_filled_from_the_other(copy, kept):
    """A stale read of one copy, or one that is gone as a whole, hides nothing."""
    disk = disk_with(b"one", b"two", b"three")
    disk.truncate(JOURNAL_FILES[copy], kept)

    contents = recovered(disk)

    assert contents.artifacts == [b"one", b"two", b"three"]
    assert disk.size(JOURNAL_FILES[0]) == disk.size(JOURNAL_FILES[1])
    assert recovered(disk).damages == []


def test_a_vote_lost_in_both_copies_below_a_later_one_is_a_lost_journal():
    """The later vote says that the earlier one was durable."""
    disk = disk_with(b"one", b"two", b"three")
    offset = offsets_of(disk)[2]
    damage(disk, 0, offset)
    damage(disk, 1, offset + 20)

    with pytest.raises(JournalLostError, match=f"both copies are damaged at byte {offset}, which was synced"):
        recovered(disk)


def test_records_behind_a_torn_one_that_no_sync_covered_are_cut_off():
    """A crash that keeps a random part of what was not synced loses the tail and not the journal."""
    disk = disk_with(b"one")
    journal = Journal(disk)
    journal.recover(HEAD)
    journal.append(b"torn")
    journal.append(b"behind it")
    sync(disk)
    offset = offsets_of(disk)[2]
    damage(disk, 0, offset + 20)
    damage(disk, 1, offset + 20)

    assert recovered(disk).artifacts == [b"one"]
    assert disk.size(JOURNAL_FILES[0]) == offset


def test_the_journal_goes_on_after_a_repair():
    """Entries appended then stand at the same place in both copies."""
    disk = disk_with(b"one")
    disk.truncate(JOURNAL_FILES[1], 0)
    journal = Journal(disk)
    journal.recover(HEAD)
    journal.append(b"two")
    sync(disk)
    disk.truncate(JOURNAL_FILES[0], 0)

    assert recovered(disk).artifacts == [b"one", b"two"]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda disk: [disk.truncate(name, 0) for name in JOURNAL_FILES], "the disk holds none"),
        (lambda disk: [damage(disk, copy, 3) for copy in (0, 1)], "both copies are damaged at byte 0"),
        (lambda disk: provision(disk, replace(HEAD, validator=1)), "validator 1"),
        (lambda disk: provision(disk, replace(HEAD, epoch=1)), "epoch 1"),
    ],
)
def test_a_journal_without_its_head_is_lost(spoil, reason):
    """An empty disk is a wiped one, never a new one."""
    disk = disk_with(b"one")
    spoil(disk)

    with pytest.raises(JournalLostError, match=reason):
        recovered(disk)


def test_copies_that_differ_are_a_lost_journal():
    """A crash in the middle of a second provisioning leaves two heads, and the validator does not sign."""
    disk, other = disk_with(b"one"), disk_with(head=OBSERVER)
    disk.overwrite(JOURNAL_FILES[0], 0, other.read(JOURNAL_FILES[0]))

    with pytest.raises(JournalLostError, match="the copies differ at byte 0"):
        recovered(disk)


def test_an_observer_stays_one():
    """The head remembers why its validator must not sign."""
    disk = disk_with(b"certificate", head=OBSERVER)

    contents = recovered(disk)

    assert (contents.head.observes, contents.artifacts) == ("journal lost", [b"certificate"])
