"""The schema of what is stored and sent: it is what the code has, and no change of a record goes without a version."""

from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

import msgspec
import pytest

from cluster.reference.events import below
from cluster.reference.records import PATH, RecordGroup, RecordWalk, groups, page, refusals, write

ROOMS = ("checker.record", "network", "scheduler", "validators")

IN_ONE_PROCESS = "lives in one process"
WITHIN_A_BLOCK = "is passed between a chain and its agent while a block is executed"

NOT_IN_THE_FILE = {
    "checker.record.cold_replay.ColdReplay": "goes to a process of the same code",
    "checker.record.cold_replay.ReplayRequest": "goes to a process of the same code",
    "checker.record.final_blocks.FinalBlock": "lies in a file that ends with the process",
    "checker.record.plugins._Named": "reads one key of the scenario, whose keys docs/reference.md lists",
    "network.events.Event": IN_ONE_PROCESS,
    "network.events.LoggedValues": IN_ONE_PROCESS,
    "network.port.ClientPayload": IN_ONE_PROCESS,
    "network.port.Delivery": IN_ONE_PROCESS,
    "network.port.TimerDue": IN_ONE_PROCESS,
    "network.port.WorkDone": IN_ONE_PROCESS,
    "scheduler.bidding.Bid": IN_ONE_PROCESS,
    "scheduler.bidding.FeeParams": WITHIN_A_BLOCK,
    "scheduler.bidding.GbaContext": WITHIN_A_BLOCK,
    "scheduler.gba_asking.AuctionContext": WITHIN_A_BLOCK,
    "scheduler.lifecycle.Admission": IN_ONE_PROCESS,
    "scheduler.lifecycle.ScheduleRequest": IN_ONE_PROCESS,
    "scheduler.lifecycle._Convention": "is a habit of payloads, which are any bytes",
    "scheduler.policies.bias_auction.ReserveContext": WITHIN_A_BLOCK,
    "validators.consensus.headers._Start": "reads the first fields of a header",
    "validators.execution.phases.PhaseEntry": "is a part of FinalBlock",
    "validators.state.operations.Operation": "has a layout of its own (docs/state.md)",
}
"""Structs of the rooms that are neither stored nor sent, or are in another reference; each with the reason."""


def votes(*fields, version=1, tag=3, grows=False):
    """Return a group of one record, whose version is a constant of a module of its own."""
    module = ModuleType("engine.votes")
    module.FORMAT = version
    vote = msgspec.defstruct("Vote", fields, tag=tag, array_like=True, frozen=True)
    return RecordGroup("votes", module, "FORMAT", (vote,), grows=grows)


def text_of(*every):
    return "\n".join(page(every))


BEFORE = (("view", int), ("digest", bytes))


def test_the_file_says_what_the_code_stores_and_sends():
    """Else run: python -m cluster.reference.records."""
    written, every = PATH.read_text(encoding="utf-8"), tuple(groups())
    refused = refusals(written, every)

    assert not refused, "\n".join(refused)
    assert written.splitlines() == list(page(every))


def test_every_record_of_the_rooms_is_in_the_file():
    for room in ROOMS:
        for found in walk_packages(import_module(room).__path__, f"{room}."):
            import_module(found.name)
    own = [kind for kind in below(msgspec.Struct) if kind.__module__.startswith(tuple(f"{room}." for room in ROOMS))]
    # A base without fields has no encoding of its own.
    own = [kind for kind in own if kind.__struct_fields__ or not kind.__subclasses__()]
    shown = {kind for group in groups() for kind in RecordWalk(group).kinds.values()}
    lacking = {f"{kind.__module__}.{kind.__qualname__}" for kind in own if kind not in shown}

    assert len(own) > 200
    assert sorted(lacking) == sorted(NOT_IN_THE_FILE)


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        (votes(("view", str), BEFORE[1]), "Vote, view: expected int, found str"),
        (votes(*BEFORE[:1]), "Vote, digest: expected bytes, found nothing"),
        (votes(*BEFORE, ("seal", bytes, b"")), 'Vote, seal: expected nothing, found bytes = ""'),
        (votes(*reversed(BEFORE)), "Vote, order: expected form, view, digest, found form, digest, view"),
        (votes(*BEFORE, tag=4), "Vote, form: expected array, tag 3, found array, tag 4"),
        (votes(*BEFORE)._replace(places={"journal": bytes}), "places, journal: expected nothing, found bytes"),
        (votes(*BEFORE)._replace(kinds=()), "Vote, form: expected array, tag 3, found nothing"),
    ],
    ids=["type", "field lost", "field added", "order", "tag", "place", "record lost"],
)
def test_a_changed_record_needs_a_new_version(changed, difference):
    raised = ModuleType(changed.module.__name__)
    raised.FORMAT = 2

    assert refusals(text_of(votes(*BEFORE)), [changed]) == [
        f"records.txt: votes: {difference}; a changed record needs a new version: raise FORMAT in engine/votes.py"
    ]
    assert refusals(text_of(votes(*BEFORE)), [changed._replace(module=raised)]) == []
    assert refusals(text_of(), [changed]) == []


def test_events_may_get_kinds_and_last_fields_with_defaults():
    written = text_of(votes(*BEFORE, grows=True))
    other = msgspec.defstruct("Other", [("height", int)], tag=9, array_like=True)
    grown = votes(*BEFORE, ("seal", bytes, b""), grows=True)

    assert refusals(written, [grown._replace(kinds=(*grown.kinds, other))]) == []
    assert refusals(written, [votes(*BEFORE, ("seal", bytes), grows=True)]) != []
    assert refusals(written, [votes(("seal", bytes), *BEFORE, grows=True)]) != []


def test_a_refused_file_stays_as_it_is(tmp_path, capsys):
    path = tmp_path / "records.txt"
    changed = votes(*BEFORE[:1])

    assert write(path, [votes(*BEFORE)]) == 0
    assert write(path, [changed]) == 1
    assert path.read_text(encoding="utf-8").splitlines() == list(page([votes(*BEFORE)]))
    assert capsys.readouterr().err.splitlines() == refusals(text_of(votes(*BEFORE)), [changed])
    assert write(path, [votes(*BEFORE[:1], version=2)]) == 0
    assert path.read_text(encoding="utf-8").splitlines() == list(page([votes(*BEFORE[:1], version=2)]))
