"""Engines of drawn scenarios: each can be stated for all seeds, and nothing is drawn that it cannot have."""

import pytest

from cluster.scenario.load import encode_scenario
from cluster.swarm.engines.registry import DRAWN_ENGINES
from cluster.swarm.prefixes.registry import draw_prefix
from faults.byzantine.catalogue import behaviours_of
from network.draw import Draw
from tests.support.drawn import Drawn, draw_once
from tests.support.keystones import first_of
from validators.consensus.registry import ENGINES

SEEDS = range(120)
OTHERS = [name for name in ENGINES if name != "simplex"]


def drawn_with(engine, seeds=SEEDS):
    return Drawn(seeds, f"consensus.engine={engine}")


def faults_of(engine, key):
    """Return what drawn faults state under a key, each once."""
    found = [getattr(fault, key, "") for scenario in drawn_with(engine) for fault in scenario.faults.values()]
    return dict.fromkeys(value for each in found for value in ([each] if isinstance(each, str) else each) if value)


def test_every_engine_can_be_drawn():
    assert tuple(DRAWN_ENGINES) == tuple(ENGINES)


def test_any_forty_seeds_have_each_engine_at_its_share():
    """A mistake in one engine's code has so many seeds to show in, wherever a sweep begins."""
    for first in (0, 340, 1_960):
        drawn = [draw_once(seed).consensus.engine for seed in range(first, first + 40)]
        assert {name: drawn.count(name) for name in ENGINES} == {"simplex": 18, "hotstuff": 12, "longest-chain": 10}


@pytest.mark.parametrize("engine", first_of(ENGINES))
def test_a_stated_engine_is_that_of_every_seed(engine):
    drawn = drawn_with(engine, range(30))

    assert {scenario.consensus.engine for scenario in drawn} == {engine}
    assert len(dict.fromkeys(map(encode_scenario, drawn))) == len(drawn)


def test_a_seed_that_draws_an_engine_is_as_if_it_were_stated():
    for seed in range(60):
        drawn = draw_once(seed)
        assert draw_once(seed, f"consensus.engine={drawn.consensus.engine}") == drawn


@pytest.mark.parametrize("engine", OTHERS)
@pytest.mark.soak
def test_no_drawn_fault_is_about_a_message_of_another_engine(engine):
    foreign = {name for other in ENGINES.values() if other.name != engine for name in names_of(other)}

    assert foreign & {*faults_of(engine, "kinds")} == set()
    assert {*names_of(ENGINES[engine])} & {*faults_of(engine, "kinds")}


def names_of(kind):
    return [message.traced_name for message in kind.messages]


@pytest.mark.parametrize("engine", first_of(ENGINES))
def test_byzantine_validators_have_behaviours_of_the_engine(engine):
    known = behaviours_of(engine)
    drawn = {*faults_of(engine, "behaviour")}

    assert drawn - {*known} <= {"amnesia"}
    assert bool(drawn) == bool(known)
    assert {*DRAWN_ENGINES[engine].proposing, *DRAWN_ENGINES[engine].speaking} <= drawn


@pytest.mark.parametrize("engine", OTHERS)
def test_a_script_that_only_another_engine_can_follow_is_left_out(engine):
    without = DRAWN_ENGINES[engine].without_prefixes
    seeds = [seed for seed in range(300) if draw_prefix(Draw(seed)) in without]
    drawn = drawn_with(engine, seeds)

    assert drawn
    assert [scenario.title for scenario in drawn if "prefix" in scenario.title] == []


def test_no_sequence_varies_a_cost_that_its_engine_has_settled():
    """With 150 ms for each block served, leaders were kept from their slots by one laggard; found by seed 1307."""
    drawn = {"costs": {"serve_block_us": 150_000, "answers_per_second": 1}, "sync": {"snapshot_gap_blocks": 2}}

    assert DRAWN_ENGINES["simplex"].settings(drawn) == drawn
    assert DRAWN_ENGINES["longest-chain"].settings(drawn) == {**drawn, "costs": {"answers_per_second": 1}}


@pytest.mark.soak
def test_no_anchor_waits_for_a_moment_that_never_comes():
    moments = [
        fault.anchor.event
        for scenario in drawn_with("longest-chain", range(200))
        for fault in scenario.faults.values()
        if fault.anchor is not None
    ]

    assert len(moments) > 20
    assert "timeout" not in moments


def test_both_commit_rules_and_slots_of_several_lengths_are_drawn():
    forms = {scenario.engine_forms[1] for scenario in drawn_with("hotstuff", range(30))}
    own = [scenario.consensus.longest_chain for scenario in drawn_with("longest-chain", range(30))]

    assert forms == {"hotstuff two-chain", "hotstuff three-chain"}
    assert {section.slot_ms for section in own if section is not None} == {500, 1_200, 2_000}
    assert {section.leaders for section in own if section is not None} == {"lottery", "turns"}
    assert None in own
