"""Instruments of the test bed that do less, or more, than they say, tried on the audit's own specimens."""

import pytest

from checker.checks.audit import bus_specimens
from checker.checks.audit.specimens import find_faults
from faults.byzantine.adversary import Adversary
from faults.injection.edges import Edge
from network import bus, conditions
from network.bus import Bus
from network.conditions import MessageRule
from network.inbox import Inbox
from network.queues import Losses
from network.topology import build_topology
from validators.storage import medium
from validators.storage.disk import DiskHandle, SimulatedDisk
from validators.storage.errors import DiskReadError
from validators.storage.medium import Medium


def sync_all(self, _point):
    """Make everything durable, what was appended since the sync began too."""
    for file in self._files.values():
        file.synced_bytes = len(file.data)


def resume_without_the_first(self):
    self._is_paused = False
    self._items.popleft()


def fail_at_reads_only(self, operation, name):
    if self._active and operation == "read":
        raise DiskReadError(name, operation, "input/output error")


def check_the_first_alone(self, operation, name, check=Medium.check):
    """Ask the fault that began first, whatever kind it is of."""
    first = next(iter(self._active.values()), None)
    if first is not None and isinstance(first.condition, medium.IoErrors):
        check(self, operation, name)


def view_from_the_start(self, name, file, offset, end, view=Medium.view):
    """Show what is wrong with the first sectors of a file only."""
    return view(self, name, file, offset, end) if offset < medium.SECTOR_BYTES else file.data.read(offset, end)


def truncate_and_then_say_so(self, name, length):
    self._disk.truncate(name, length)
    if name == medium.JOURNAL_FILES[-1] and length == 0:
        self._reach("mid-prune")


def pause_and_count_on(self):
    self._is_paused = True


def take_nothing(self, used_bytes, wanted_bytes, room=Medium.room):
    return wanted_bytes if room(self, used_bytes, wanted_bytes) == wanted_bytes else 0


def carry_at_once(fate, *_arguments, **_named):
    return fate


def reset_one_more(self, ordinal, is_reset=Losses.is_reset):
    return self.below > 0 and is_reset(Losses(below=self.below + 1), ordinal)


def impose_anew(self, condition, links, impose=Bus.impose):
    """Forget the messages that a condition of this name touched before."""
    self._touched.pop(condition.name, None)
    impose(self, condition, links)


def misdirect_all_of_the_sector(self, active, files, name, *, offset, data, misdirect=Medium._misdirect):
    start = offset // medium.SECTOR_BYTES * medium.SECTOR_BYTES
    misdirect(self, active, files, name, offset=start, data=data)


def leave_out_what_has_begun(self, begin_us, origin_us=0, at_us=Edge.at_us):
    return None if origin_us + self.at_ms * 1_000 < begin_us else at_us(self, begin_us, origin_us)


def build_the_other_way_round(nodes, default, overrides):
    return build_topology(nodes, default, {(there, here): link for (here, there), link in overrides.items()})


WRONG = {
    "a condition that begins anew": (Bus, "impose", impose_anew, "a condition that comes again is another one"),
    "a write that takes others along": (
        *(Medium, "_misdirect", misdirect_all_of_the_sector),
        "a misdirected write takes what stands before it",
    ),
    "a resumed fault without a start": (
        *(Edge, "at_us", leave_out_what_has_begun),
        "a window that a run begins in is not begun with it",
    ),
    "an adversary without observers": (
        *(Adversary, "everybody", lambda self: tuple(each for each in range(self.validators) if each != self.node)),
        "an adversary tells others than all",
    ),
    "links of the other direction": (
        *(bus_specimens, "build_topology", build_the_other_way_round),
        "a link has the settings of another one, or of its other direction",
    ),
    "a full disk that takes nothing": (Medium, "room", take_nothing, "a full disk takes more than fits, or less"),
    "a release of all": (Bus, "_other_holder", lambda *_: "", "what two clogs hold goes with one of them"),
    "a reset without copies": (Losses, "is_reset", lambda self, ordinal: ordinal < self.below, "a reset spares"),
    "a reset of all": (Losses, "is_reset", lambda *_: True, "the bus fails"),
    "a reset of the next one": (Losses, "is_reset", reset_one_more, "a reset spares what is on its way, or takes more"),
    "a line without a rate": (conditions, "_squeeze", carry_at_once, "a rate lets bytes through"),
    "a rule about everything": (MessageRule, "matches", lambda *_: True, "a rule is about other views"),
    "damage in nothing": (bus, "flip_bytes", lambda payload, _flips: payload, "other than one byte"),
    "a queue without copies": (Losses, "is_evicted", lambda *_: False, "a queue holds more than its number"),
    "a pause that counts on": (Inbox, "pause", pause_and_count_on, "a pause counts what an earlier one held back"),
    "a boundary too late": (DiskHandle, "truncate", truncate_and_then_say_so, "a boundary stands at another place"),
    "a life that goes on": (DiskHandle, "revoke", lambda _self: None, "a life that has ended writes"),
    "errors of the first fault": (Medium, "check", check_the_first_alone, "IoErrors does nothing beside another fault"),
    "rot of the first sectors": (Medium, "view", view_from_the_start, "a part of a rotten file reads otherwise"),
    "scars of what was cut": (Medium, "cut", lambda *_: None, "rot stays behind what was cut back"),
    "a sync that covers too much": (SimulatedDisk, "finish_sync", sync_all, "a sync covers other bytes"),
    "a sync that covers nothing": (SimulatedDisk, "finish_sync", lambda *_: None, "a sync covers other bytes"),
    "a torn write that leaves nothing": (medium, "_torn", lambda *_: b"", "no torn write ends within a sector"),
    "a torn write that leaves all": (medium, "_torn", lambda tail, *_: tail, "every torn write leaves all"),
    "rot that changes nothing": (medium, "_flip", lambda content, _draw: content, "rot at its full rate"),
    "rot of every file": (medium, "_is_about", lambda *_: True, "of one kind of files hits another kind"),
    "rot that stays": (Medium, "overwritten", lambda *_: None, "rot stays where it was overwritten"),
    "rot of the disk before": (Medium, "forget", lambda _self: None, "has the rot of the one before"),
    "a write that is not misdirected": (Medium, "appended", lambda *_: None, "the place of a misdirected write has it"),
    "errors of reads for all": (Medium, "check", fail_at_reads_only, "an act that should not fail does"),
    "a disk without end": (Medium, "room", lambda _self, _used, wanted: wanted, "a full disk takes more"),
    "a pause that loses an event": (Inbox, "resume", resume_without_the_first, "a pause loses or doubles"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_instrument_that_is_wrong_is_named(name, monkeypatch):
    owner, attribute, replacement, pattern = WRONG[name]
    monkeypatch.setattr(owner, attribute, replacement)

    assert any(pattern in fault for fault in find_faults(7)), list(find_faults(7))


def test_the_instruments_are_right_for_every_seed():
    assert [fault for seed in range(40) for fault in find_faults(seed)] == []
