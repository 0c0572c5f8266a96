"""Vote journals that are pruned, and disks that fail meanwhile."""

import pytest

from validators.storage import JOURNAL_FILES, Journal, JournalHead, provision

HEAD = JournalHead(chain_id="calm", validator=0, public_key=b"k" * 32, epoch=0)

OLD = [b"one" * 9, b"two", b"three" * 30]
KEPT = [b"four", b"five" * 50]


class PowerCutError(Exception):
    """The machine stops here."""


class FailingDisk:
    """Passes everything on until it has made a number of steps; an overwrite takes four, each writing a part more."""

    def __init__(self, disk, steps):
        self._disk = disk
        self._steps = steps

    def __getattr__(self, name):
        return getattr(self._disk, name)

    def _step(self):
        self._steps -= 1
        if self._steps < 0:
            raise PowerCutError

    def truncate(self, name, length):
        self._step()
        self._disk.truncate(name, length)

    def overwrite(self, name, offset, data):
        for part in (1, 2, 3):
            self._step()
            self._disk.overwrite(name, offset, data[: len(data) * part // 3])
        self._step()


def sync(disk):
    disk.finish_sync(disk.begin_sync())


def written(disk, artifacts=(*OLD, *KEPT), head=HEAD):
    """Provision a journal with some artifacts, all durable, and return it."""
    provision(disk, head)
    journal = Journal(disk)
    journal.recover(HEAD)
    for artifact in artifacts:
        journal.append(artifact)
        sync(disk)
    return journal


def half_pruned(disk):
    """Cut the power when one copy is pruned and the other is not."""
    journal = written(disk)
    journal._copies = Journal(FailingDisk(disk, 5))._copies
    with pytest.raises(PowerCutError):
        journal.prune(b"floor", keep=KEPT.__contains__)


def damage(disk, copy, offset):
    flipped = disk.read(JOURNAL_FILES[copy], offset, 1)[0] ^ 0x40
    disk.overwrite(JOURNAL_FILES[copy], offset, bytes([flipped]))


def recovered(disk):
    return Journal(disk).recover(HEAD)
