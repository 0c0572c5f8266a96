"""Refusals: every one of the source has a cell or a reason why no run reaches it, and cells are reached."""

import re
from functools import cache

import pytest

from checker.coverage.refusals import CONTRACTS, COUNTED, ROOMS_OF_REFUSALS, UNREACHED, RefusalPoints
from checker.record.root import PROJECT_ROOT
from network.events import Event
from scheduler import PayloadTooLarge, RefusalPoint
from tests.support.refusal_sites import find_sites, raised_kinds, sites_of
from validators.actors import Revert
from validators.consensus.hotstuff.refusals import HotStuffRefusal
from validators.consensus.longest_chain.refusals import LongestChainRefusal
from validators.events import DamageFound, MessageRefused, StoppedVoting
from validators.execution.refusals import CallRefusal, refusal_of
from validators.storage.refusals import DiskRefusal
from validators.sync.refusals import MessageRefusal, PeerBlockRefusal, SnapshotRefusal

BUILT_IN = ("ArithmeticError", "AssertionError", "NotImplementedError", "TypeError", "ValueError")
RE_RAISED = ("error", "refuse", "_ERRORS[operation]")
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
        "get Revert: ",
        "transaction Revert: ",
        "any Revert: ",
        "of validator 0: ",
        "transaction 0: ",
        "transaction ",
        "seal: ",
    ),
)
"""The beginnings of texts that a site's own text does not have."""

WORDS_OF_ERRORS = {DiskRefusal.RECORD_UNREADABLE: "validators/storage/medium.py"}
"""The cells of errors that are no refusals, by the file with their words."""

CELLS = [cell for room in ROOMS_OF_REFUSALS.values() for cell in room]


@cache
def sites():
    kinds = [kind for kind in raised_kinds(PROJECT_ROOT) if kind not in (*CONTRACTS, *BUILT_IN, *RE_RAISED)]
    return find_sites(PROJECT_ROOT, (*kinds, *NOT_RAISED))


@cache
def cells_of(text: str) -> list[RefusalPoint]:
    named = [room.named(front + text) for room in ROOMS_OF_REFUSALS.values() for front in ("", *FRONTS)]
    return [cell for cell in named if cell is not None]


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


def has_site(cell: RefusalPoint) -> bool:
    """Whether the source refuses with this cell's text, or with one that counts as it."""
    if any(cell in cells_of(site.text) for site in sites()) or cell in COUNTED.values():
        return True
    # One text may stand for several cells, such as a name and the values that differ.
    return any(re.fullmatch(".*".join(map(re.escape, text.split("*"))), cell.words) for text in COUNTED)


def test_every_cell_of_a_refusal_has_a_site_in_the_source():
    homeless = [cell for cell in CELLS if not has_site(cell)]

    assert homeless == list(WORDS_OF_ERRORS)
    for cell, path in WORDS_OF_ERRORS.items():
        assert f'"{cell.words}"' in (PROJECT_ROOT / path).read_text(encoding="utf-8")


MODULE = """
from validators.sync.seals import STRAY_SEAL
OWN: Final = "too many seals"

def find_fault(seal):
    return OWN if seal else STRAY_SEAL

def _read_seal(seal) -> tuple[str, int]:
    return "no seal", 0

def _name_seal(seal) -> str:
    return "a seal"
"""


def test_a_text_that_is_a_constant_is_a_site():
    texts = [site.text for site in sites_of("x.py", MODULE, (), {"OWN": "too many seals", "STRAY_SEAL": "seal"})]

    assert texts == ["too many seals", "seal"]


def test_what_consensus_returns_as_text_is_a_site():
    found = list(sites_of("validators/consensus/x.py", MODULE, (), {}))

    assert [site.text for site in found if site.place.endswith("_read_seal")] == ["no seal"]
    assert not any(site.place.endswith("_name_seal") for site in found)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.label)
def test_no_other_refusal_takes_the_text_of_one(cell):
    assert type(cell).named(cell.words) is cell


def test_a_refusal_is_found_by_its_text():
    cells = []
    reader = RefusalPoints(cells.append, "simplex")
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


@pytest.mark.parametrize(
    ("engine", "reason", "cell"),
    [
        ("hotstuff", "seal: not the leader's", HotStuffRefusal.SEAL_BY_ANOTHER),
        ("longest-chain", "wrong leader", LongestChainRefusal.SEALED_BY_ANOTHER),
        ("longest-chain", "tx_root", PeerBlockRefusal.PEER_BLOCK_OF_OTHER_BODY),
    ],
)
def test_the_seal_of_a_block_is_refused_by_its_engine(engine, reason, cell):
    cells, refused = [], MessageRefused("block", reason)
    RefusalPoints(cells.append, engine).handlers[MessageRefused](Event(0, 0, refused), refused)

    assert cells == [cell]


def test_a_refused_call_is_named_by_what_was_called():
    error = PayloadTooLarge(2, 1)

    assert refusal_of("send", error) is CallRefusal.MESSAGE_PAYLOAD_TOO_LARGE
    assert refusal_of("schedule_timer", error) is CallRefusal.TIMER_PAYLOAD_TOO_LARGE
    assert refusal_of("call", Revert("as ordered")) is None
