"""Refusals: every one of the source has a cell or a reason why no run reaches it, and cells are reached."""

from functools import cache

import pytest

from checker.coverage.refusals import CONTRACTS, COUNTED, ROOMS_OF_REFUSALS, UNREACHED, RefusalCells
from checker.record.root import PROJECT_ROOT
from network.events import Event
from scheduler import PayloadTooLarge, RefusalCell
from tests.support.refusal_sites import find_sites, raised_kinds
from validators.actors import Revert
from validators.events import DamageFound, MessageRefused, StoppedVoting
from validators.execution.refusals import CallRefusal, refusal_of
from validators.storage.refusals import DiskRefusal
from validators.sync.refusals import MessageRefusal, SnapshotRefusal

BUILT_IN = ("ArithmeticError", "AssertionError", "NotImplementedError", "TypeError", "ValueError")
RE_RAISED = ("error", "refuse")
NOT_RAISED = ("Damage", "Invalid", "MessageCheck", "Settled")
FRONTS = (
    *(
        "schedule_timer ",
        "watch_timer ",
        "extend_timer ",
        "cancel_timer ",
        "send ",
        "instruct ",
        "compute ",
        "transfer ",
    ),
    *(
        "call Revert: ",
        "transfer Revert: ",
        "transaction Revert: ",
        "any Revert: ",
        "of validator 0: ",
        "transaction 0: ",
    ),
)
"""The beginnings of texts that a site's own text does not have."""

CELLS = [cell for room in ROOMS_OF_REFUSALS.values() for cell in room]


@cache
def sites():
    kinds = [kind for kind in raised_kinds(PROJECT_ROOT) if kind not in (*CONTRACTS, *BUILT_IN, *RE_RAISED)]
    return find_sites(PROJECT_ROOT, (*kinds, *NOT_RAISED))


def cells_of(text: str) -> list[RefusalCell]:
    fronts = ("", *FRONTS)
    return [cell for cell in CELLS if any(type(cell).named(front + text) is cell for front in fronts)]


def test_every_refusal_in_the_source_has_a_cell_or_a_reason():
    unknown = [
        f"{site.place}: {site.text}"
        for site in sites()
        if not cells_of(site.text) and site.text not in {**COUNTED, **UNREACHED}
    ]

    assert len(sites()) > 120
    assert unknown == []


def test_every_exception_of_a_room_is_a_refusal_or_about_something_else():
    raised = [kind for kind in raised_kinds(PROJECT_ROOT) if kind not in (*BUILT_IN, *RE_RAISED)]

    assert [kind for kind in CONTRACTS if kind not in raised] == []
    assert {site.kind for site in sites()} >= {kind for kind in raised if kind not in CONTRACTS}


@pytest.mark.parametrize("text", [*COUNTED, *UNREACHED])
def test_a_refusal_without_a_cell_of_its_own_is_in_the_source(text):
    assert text in {site.text for site in sites()}


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.label)
def test_no_other_refusal_takes_the_text_of_one(cell):
    assert type(cell).named(cell.words) is cell


def test_a_refusal_is_found_by_its_text():
    cells = []
    reader = RefusalCells(cells.append, "simplex")
    for told in (
        MessageRefused("message", "TRAILING"),
        MessageRefused("snapshot", "of validator 2: floor: 7 in a log of 3 operations"),
        MessageRefused("snapshot", "of validator 2: unheard of"),
        StoppedVoting("both copies are damaged at byte 90, which was synced"),
        DamageFound("blocks", 0, "damaged record"),
    ):
        reader.handlers[type(told)](Event(0, 0, told), told)

    assert cells == [
        *(MessageRefusal.MESSAGE_TRAILING, SnapshotRefusal.SNAPSHOT_FLOOR),
        *(DiskRefusal.JOURNAL_COPIES_DAMAGED, DiskRefusal.RECORD_DAMAGED),
    ]


def test_a_refused_call_is_named_by_what_was_called():
    error = PayloadTooLarge(2, 1)

    assert refusal_of("send", error) is CallRefusal.MESSAGE_PAYLOAD_TOO_LARGE
    assert refusal_of("schedule_timer", error) is CallRefusal.TIMER_PAYLOAD_TOO_LARGE
    assert refusal_of("call", Revert("as ordered")) is None
