"""The vote journal in two copies: no single damage loses a vote, and a lost one is never taken for a fresh one."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from validators.storage import JOURNAL_FILES, Journal, JournalHead, JournalLostError, SimulatedDisk, provision

HEAD = JournalHead(chain_id="calm", validator=2, public_key=b"k" * 32, epoch=0)


def sync(disk):
    disk.finish_sync(disk.begin_sync())


def written(*votes, head=HEAD):
    """Return the disk of a validator that journalled and synced these votes one by one."""
    disk = SimulatedDisk()
    provision(disk, head)
    journal = Journal(disk)
    journal.recover(HEAD)
    for vote in votes:
        journal.append(vote)
        sync(disk)
    return disk


def offsets_of(disk):
    """Return where each record of the journal begins, and the end."""
    records = Journal(disk)._copies[0].read().records
    return [record.offset for record in records] + [records[-1].end]


def damage(disk, copy, offset):
    flipped = disk.read(JOURNAL_FILES[copy], offset, 1)[0] ^ 0x40
    disk.overwrite(JOURNAL_FILES[copy], offset, bytes([flipped]))


def recovered(disk):
    return Journal(disk).recover(HEAD).artifacts


def test_a_crash_loses_what_was_not_synced_and_nothing_else():
    """Append, crash, recover."""
    disk = written(b"one")
    journal = Journal(disk)
    journal.recover(HEAD)
    journal.append(b"two")
    disk.lose_unsynced()

    assert recovered(disk) == [b"one"]


@given(data=st.data(), votes=st.lists(st.binary(min_size=1, max_size=30), min_size=1, max_size=5))
def test_damage_of_one_copy_at_each_record_is_survived_and_repaired(data, votes):
    """Each record is damaged in one copy or the other; afterwards both hold all of it."""
    disk = written(*votes)
    offsets = offsets_of(disk)
    for offset, end in pairwise(offsets):
        damage(disk, data.draw(st.integers(0, 1)), data.draw(st.integers(offset, end - 1)))

    assert recovered(disk) == votes
    for copy in (0, 1):
        other = SimulatedDisk()
        other.append(JOURNAL_FILES[copy], disk.read(JOURNAL_FILES[copy]))
        assert recovered(other) == votes


@pytest.mark.parametrize("copy", [0, 1])
@pytest.mark.parametrize("kept", [0, 1, 30, 60])
def test_a_copy_that_lost_its_tail_is_filled_from_the_other(copy, kept):
    """A stale read of one copy, or one that is gone as a whole, hides nothing."""
    disk = written(b"one", b"two", b"three")
    disk.truncate(JOURNAL_FILES[copy], kept)

    contents = Journal(disk).recover(HEAD)

    assert contents.artifacts == [b"one", b"two", b"three"]
    assert disk.size(JOURNAL_FILES[0]) == disk.size(JOURNAL_FILES[1])
    assert Journal(disk).recover(HEAD).damages == []


def test_a_vote_lost_in_both_copies_below_a_later_one_is_a_lost_journal():
    """The later vote says that the earlier one was durable."""
    disk = written(b"one", b"two", b"three")
    offset = offsets_of(disk)[2]
    damage(disk, 0, offset)
    damage(disk, 1, offset + 20)

    with pytest.raises(JournalLostError, match=f"both copies are damaged at byte {offset}, which was synced"):
        recovered(disk)


def test_records_behind_a_torn_one_that_no_sync_covered_are_cut_off():
    """A crash that keeps a random part of what was not synced loses the tail and not the journal."""
    disk = written(b"one")
    journal = Journal(disk)
    journal.recover(HEAD)
    journal.append(b"torn")
    journal.append(b"behind it")
    sync(disk)
    offset = offsets_of(disk)[2]
    damage(disk, 0, offset + 20)
    damage(disk, 1, offset + 20)

    assert recovered(disk) == [b"one"]
    assert disk.size(JOURNAL_FILES[0]) == offset


def test_the_journal_goes_on_after_a_repair():
    """Entries appended then stand at the same place in both copies."""
    disk = written(b"one")
    disk.truncate(JOURNAL_FILES[1], 0)
    journal = Journal(disk)
    journal.recover(HEAD)
    journal.append(b"two")
    sync(disk)
    disk.truncate(JOURNAL_FILES[0], 0)

    assert recovered(disk) == [b"one", b"two"]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda disk: [disk.truncate(name, 0) for name in JOURNAL_FILES], "the disk holds none"),
        (lambda disk: [damage(disk, copy, 3) for copy in (0, 1)], "both copies are damaged at byte 0"),
        (
            lambda disk: provision(disk, JournalHead(chain_id="calm", validator=1, public_key=b"", epoch=0)),
            "validator 1",
        ),
        (
            lambda disk: provision(disk, JournalHead(chain_id="calm", validator=2, public_key=b"k" * 32, epoch=1)),
            "epoch 1",
        ),
    ],
)
def test_a_journal_without_its_head_is_lost(spoil, reason):
    """An empty disk is a wiped one, never a new one."""
    disk = written(b"one")
    spoil(disk)

    with pytest.raises(JournalLostError, match=reason):
        recovered(disk)


def test_copies_that_differ_are_a_lost_journal():
    """A crash in the middle of a second provisioning leaves two heads, and the validator does not sign."""
    disk, other = written(b"one"), written(head=JournalHead(**{**HEAD_FIELDS, "observes": "journal lost"}))
    disk.overwrite(JOURNAL_FILES[0], 0, other.read(JOURNAL_FILES[0]))

    with pytest.raises(JournalLostError, match="the copies differ at byte 0"):
        recovered(disk)


def test_an_observer_stays_one():
    """The head remembers why its validator must not sign."""
    disk = written(b"certificate", head=JournalHead(**{**HEAD_FIELDS, "observes": "journal lost"}))

    contents = Journal(disk).recover(HEAD)

    assert (contents.head.observes, contents.artifacts) == ("journal lost", [b"certificate"])


HEAD_FIELDS = {"chain_id": "calm", "validator": 2, "public_key": b"k" * 32, "epoch": 0}
