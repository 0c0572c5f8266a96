"""Single views and votes of the scenarios that express the published tests of Simplex.

docs/simplex.md has their table. Checks of every run assert the rest.
"""

from functools import cache

import pytest

from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from faults.events import Crashed
from network.events import events_of_type
from tests.support.cluster_runs import result_of
from tests.support.keystones import first_of
from validators.events import (
    BlockFinalized,
    CertificateHeld,
    Entered,
    MessageRefused,
    PeerBlocked,
    Reported,
    SnapshotJoined,
    Voted,
)

SPLITS = [
    ("split-lone-leader", 5, [5, 6]),
    ("split-group-leader", 6, [8]),
    ("split-displaced", 5, [6, 8]),
    ("split-three-ways", 2, [3, 5]),
]
"""Scenarios, the first view of the split, and the views of the blocks that become final first after it."""


@cache
def events_of(name, *settings):
    events = []
    Cluster(load_scenario(name, settings), 0, hooks=RunHooks(on_event=events.append)).run()
    return tuple(events)


def certificates(events, kind):
    """Return who holds a certificate of a kind, in the order of time: the node and the view."""
    held = events_of_type(events, CertificateHeld)
    return [(event.node, body.view) for event, body in held if body.certificate == kind]


def votes(events, node):
    """Return the votes of a validator: time in microseconds, kind, view."""
    return [(event.at_us, body.vote, body.view) for event, body in events_of_type(events, Voted) if event.node == node]


@pytest.mark.parametrize(("name", "split", "final"), first_of(SPLITS))
def test_a_certified_split_heals_in_its_very_view(name, split, final):
    """The first finalization after the split is of the last of these views, and makes all of them final."""
    events = events_of(name)
    first = [
        next(view for holder, view in certificates(events, "finalization") if holder == node and view >= split)
        for node in range(3)
    ]
    blocks = {node: [] for node in range(3)}
    for event, body in events_of_type(events, BlockFinalized):
        if event.node in blocks and split <= body.view <= final[-1]:
            blocks[event.node].append(body.view)

    assert first == [final[-1]] * 3
    assert [*blocks.values()] == [final] * 3


@pytest.mark.soak
def test_without_trouble_each_view_has_one_payload_and_every_certificate():
    """all_online: nobody leaves a view, and all hold notarization and finalization of it."""
    events = events_of("calm", "cluster.validators=5", "network.latency_ms=200", "network.jitter_ms=1")
    held = [body for _, body in events_of_type(events, CertificateHeld)]
    views = range(1, 20)

    assert {body.certificate for body in held} == {"notarization", "finalization"}
    for kind in ("notarization", "finalization"):
        assert {(node, view) for node in range(5) for view in views} <= {*certificates(events, kind)}
    assert all(len({body.payload for body in held if body.view == view}) == 1 for view in views)
    assert list(events_of_type(events, Reported)) == []


@pytest.mark.soak
def test_of_a_validator_that_never_starts_every_view_is_nullified():
    """one_offline: it casts no vote, and each report of a view left is about it."""
    events = events_of("one-offline")
    start_us = next(event.at_us for event, _ in events_of_type(events, Entered) if event.node == 0)
    before = [event for event in events if event.at_us < start_us]
    led = {body.view for _, body in events_of_type(before, Entered) if body.leader == 0}
    nullified = {view for _, view in certificates(events, "nullification")}

    assert votes(before, 0) == []
    assert len(led) >= 4
    assert led <= nullified
    assert {(body.signer, body.view) for _, body in events_of_type(before, Reported)} == {(0, view) for view in led}


@pytest.mark.soak
def test_a_validator_that_is_too_slow_neither_notarizes_nor_finalizes():
    """slow_validator: it gives views up alone."""
    slow = [vote for at_us, vote, _ in votes(events_of("slow-leader"), 1) if 3_000_000 < at_us < 60_000_000]

    assert {*slow} == {"nullify"}


@pytest.mark.soak
def test_apart_nothing_is_final_and_afterwards_most_views_have_blocks():
    """all_recovery: at least 7 of the last 10 views are notarized."""
    events = events_of("all-apart")
    final = [event.at_us for event, _ in events_of_type(events, BlockFinalized)]
    notarized = {view for _, view in certificates(events, "notarization")}
    tip = max(notarized)

    assert min(final) > 40_000_000
    assert len(notarized & {*range(tip - 9, tip + 1)}) >= 7


@pytest.mark.soak
def test_three_nullifies_that_nobody_heard_leave_the_view_after_the_crash():
    """all_crash_after_nullify: all three were cast before the blackout, and no nullification was held then."""
    events = events_of("all-crash-after-nullify")
    dark_us = max(event.at_us for event, _ in events_of_type(events, Crashed))
    cast = {
        node
        for node in range(4)
        for at_us, *vote in votes(events, node)
        if (at_us < dark_us, *vote) == (True, "nullify", 1)
    }
    held_us = [event.at_us for event, body in events_of_type(events, CertificateHeld) if body.view == 1]

    assert cast == {1, 2, 3}
    assert min(held_us) > dark_us


@pytest.mark.soak
def test_certificates_lead_a_validator_with_one_neighbour():
    """received_certificates: it holds one of nearly each of the first 10 views."""
    events = events_of("one-neighbour")
    cut_until_us = 14_000_000
    held = {
        body.view
        for event, body in events_of_type(events, CertificateHeld)
        if event.node == 0 and event.at_us < cut_until_us
    }

    assert len(held & {*range(1, 11)}) >= 9


@pytest.mark.soak
def test_finality_out_of_order_is_taken_as_it_comes():
    """Finalizations of later views come first and those of earlier ones are stale; several meet work under way."""
    events = events_of("finality-out-of-order")
    notarized = [view for node, view in certificates(events, "notarization") if node == 3]
    final = [view for node, view in certificates(events, "finalization") if node == 3]
    applied = {body.height: event.at_us for event, body in events_of_type(events, BlockFinalized) if event.node == 3}
    held_us = {
        body.view: event.at_us
        for event, body in events_of_type(events, CertificateHeld)
        if (event.node, body.certificate) == (3, "finalization")
    }

    assert notarized.index(9) < notarized.index(7)
    assert [view for view in final if 5 < view < 12] == [6, 8, 10, 11]
    assert max(held_us[view] for view in (8, 10, 11)) < applied[7] == applied[11]


@pytest.mark.soak
def test_a_joiner_that_lost_its_power_joins_once_its_links_are_back():
    """state_sync_crash_during_sync, and stuck until the network heals."""
    events = events_of("crash-during-sync")
    crashed_us = max(event.at_us for event, _ in events_of_type(events, Crashed))
    joined = [(event.node, event.at_us) for event, _ in events_of_type(events, SnapshotJoined)]

    assert [node for node, _ in joined] == [3]
    assert joined[0][1] > crashed_us + 5_000_000


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("conflicting-votes", {"ConflictingNotarize", "ConflictingFinalize"}),
        ("nuller", {"NullifyFinalize"}),
        ("invalid-signatures", set()),
        ("outdated-votes", set()),
    ],
)
def test_only_the_byzantine_validator_is_blamed(name, kinds):
    """Evidence names validator 1, others hold some of it and cut it off alone, and an old vote is no reason."""
    result = result_of(name)
    holders = {holder for each in result.evidence for holder in each.holders}
    refused = {event.node for event, body in events_of_type(events_of(name), MessageRefused)}
    cut_off = {body.peer for _, body in events_of_type(events_of(name), PeerBlocked)}

    assert {(each.signer, each.activity) for each in result.evidence} == {(1, kind) for kind in kinds}
    assert holders <= {0, 2, 3}
    assert bool(holders) == bool(kinds)
    assert refused == ({0, 2, 3} if name == "invalid-signatures" else set())
    assert cut_off == (set() if name == "outdated-votes" else {1})


@pytest.mark.soak
def test_two_proposals_of_which_each_sees_one_cut_nobody_off():
    assert not [*events_of_type(events_of("equivocator"), PeerBlocked)]
