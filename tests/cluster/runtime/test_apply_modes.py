"""A cluster whose validators have different apply modes: only their work differs."""

from functools import cache

import pytest

from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from network.events import events_of_type, read_event
from tests.support.cluster_runs import check_named, result_of
from tests.support.keystones import third_of
from validators.events import BlockFinalized, BlockUndone, Booted, CertificateHeld

MIXED = (
    "validators.0={prune_every=1, retain_blocks=0, rebuild_indexes_every=1}",
    'validators.1={apply="certified"}',
    'validators.2={apply="certified", retain_blocks=3, prune_every=1, rebuild_indexes_every=3}',
    "validators.3={prune_every=0}",
)
ALL_EARLY = tuple(f'validators.{node}={{apply="certified", retain_blocks=12}}' for node in range(4))


@cache
def events_of(name, *settings):
    """Run a scenario and return (its run, all events but those of undone blocks, the undone ones)."""
    events = []
    run = Cluster(load_scenario(name, settings), 0, hooks=RunHooks(on_event=events.append)).run()
    undone = [event for event in events if event.kind == "rewound"]
    return run, [event for event in events if event.kind != "rewound"], undone


@pytest.mark.parametrize(
    ("name", "modes"), third_of([("calm", MIXED), ("certified-split", MIXED), ("rolling-restart", ALL_EARLY)])
)
def test_no_apply_mode_shows_from_outside(name, modes):
    """Every message, vote, execution and root at its time is that of the same run without modes."""
    assert events_of(name, *modes)[1] == events_of(name)[1]


def test_a_split_is_undone_by_those_who_had_applied_it():
    """Validators 1 and 3 certify the block of view 9, and of them 1 applies early."""
    _, events, undone = events_of("certified-split", *MIXED)

    certified = [
        event.node
        for event, held in events_of_type(events, CertificateHeld)
        if (held.certificate, held.view) == ("notarization", 9)
    ]
    assert {1, 3} <= set(certified)
    assert [event.node for event in undone] == [1]


def test_each_apply_mode_keeps_as_many_blocks_as_configured():
    """Validators at one root, with logs of different length in memory."""
    run, _, _ = events_of("calm", *MIXED)
    databases = [slot.validator.layer.database for slot in run.slots]

    assert [database.retained for database in databases] == [0, 8, 3, 8]
    assert databases[3].start == 0
    assert databases[0].start > databases[1].start > 0
    assert len({database.canonical_root for database in databases}) == 1


@pytest.mark.soak
def test_deep_rewind_undoes_ten_blocks_at_once_that_become_final_later():
    """On both validators that apply early; the others never undo, and all agree."""
    _, events, undone = events_of("deep-rewind")

    for node in (1, 2):
        mine = [event for event in undone if event.node == node]
        bodies = [read_event(event, BlockUndone) for event in mine]
        digests = [body.digest for body in bodies]
        final = [body.digest for event, body in events_of_type(events, BlockFinalized) if event.node == node]
        assert len({event.at_us for event in mine}) == 1
        assert [body.height for body in bodies] == list(range(20, 10, -1))
        assert final[10:20] == digests[::-1]
    assert {event.node for event in undone} == {1, 2}


@pytest.mark.soak
def test_what_was_applied_early_before_a_crash_is_applied_early_again():
    """The disk holds finalized operations only; the certified blocks above are executed and applied anew."""
    crash = 'faults.outage={kind="crash", validator=1, at_ms=57_300, restart_ms=57_500}'
    _, events, undone = events_of("deep-rewind", crash)

    ((booted_us, boot),) = [
        (event.at_us, body) for event, body in events_of_type(events, Booted) if event.node == 1 and event.at_us
    ]
    (tenth,) = [body for event, body in events_of_type(events, BlockFinalized) if event.node == 1 and body.height == 10]
    assert (boot.finalized_height, boot.root) == (10, tenth.root)
    heights = [body.height for event, body in events_of_type(undone, BlockUndone) if event.node == 1]
    assert heights == list(range(20, 10, -1))
    assert all(event.at_us > booted_us for event in undone)


@pytest.mark.soak
def test_undone_blocks_are_missing_without_a_validator_that_applies_early():
    """The run is the same and shows nothing of what it is for."""
    result = result_of("deep-rewind", "validators={}")

    reorg = check_named(result, "reorg")
    assert (result.exit_code, reorg.status) == (3, "inconclusive")
    assert "undone 0 (at least 20)" in reorg.summary


@pytest.mark.soak
def test_undone_blocks_stand_in_table_and_figures():
    """Early appliers are read back at their finalized block, and what they undid stands in table and figures."""
    result = result_of("certified-split", *MIXED)

    assert result.verdict == "passed", result.headline
    assert [row.undone for row in result.validators] == [0, 1, 0, 0]
    assert result.figures["undone"] == 1
