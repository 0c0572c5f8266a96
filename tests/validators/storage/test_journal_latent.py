"""A journal whose copies go bad unseen: what pruning, or a generation that was given up, must not make of that."""

import pytest

from tests.support.cluster_runs import result_of
from tests.support.journals import (
    HEAD,
    KEPT,
    OLD,
    FailingDisk,
    PowerCutError,
    damage,
    half_pruned,
    recovered,
    sync,
    written,
)
from validators.storage import JOURNAL_FILES, Journal, SimulatedDisk


@pytest.mark.parametrize("copy", [0, 1])
@pytest.mark.parametrize("steps", range(10))
def test_a_crash_in_a_pruning_loses_no_vote_to_damage_unseen(copy, steps):
    """The last entry rotted in one copy since the start: the other copy is not given up before that is mended."""
    disk = SimulatedDisk()
    journal = written(disk)
    damage(disk, copy, disk.size(JOURNAL_FILES[copy]) - 1)
    journal._copies = Journal(FailingDisk(disk, steps))._copies
    try:
        journal.prune(b"floor", keep=KEPT.__contains__)
    except PowerCutError:
        disk.lose_unsynced()

    assert recovered(disk).artifacts in (KEPT, [*OLD, *KEPT])


def test_a_generation_that_was_given_up_never_comes_back():
    """Stale sectors show it again, whole: what was appended since to the older one counts."""
    disk = SimulatedDisk()
    half_pruned(disk)
    given_up = disk.read(JOURNAL_FILES[0])
    damage(disk, 0, len(given_up) - 1)
    again = Journal(disk)
    assert again.recover(HEAD).artifacts == [*OLD, *KEPT]
    again.append(b"six")
    sync(disk)

    disk.overwrite(JOURNAL_FILES[0], 0, given_up)

    assert recovered(disk).artifacts == [*OLD, *KEPT, b"six"]


def test_stale_sectors_after_a_pruning_cut_short_bring_no_vote_back():
    """A copy that shows the generation before it was written anew is not taken for one that merely lacks its end."""
    rot = 'faults.rot={kind="stale-read", validator=2, ppm=1_000_000, start_ms=4_000, stop_ms=22_000}'
    result = result_of("pruned-journal", rot)

    assert result.verdict == "passed", result.headline
