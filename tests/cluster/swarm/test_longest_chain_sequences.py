"""Fault sequences about rules of the longest chain: sound plans, and what runs with them come to."""

import msgspec
import pytest

from checker.coverage.registry import POINTS
from cluster.scenario.load import convert_scenario, load_scenario
from cluster.swarm.engines.longest_chain import DRAWN_LONGEST_CHAIN as ENGINE
from cluster.swarm.sequences.longest_chain import LATER_LONGEST_CHAIN_SEQUENCES, LONGEST_CHAIN_SEQUENCES
from faults import check_plan
from faults.kinds.registry import decode_fault
from network.draw import Draw
from tests.support.cluster_runs import judge_in_process
from tests.support.drawn import draw_once
from tests.support.keystones import rest_in_soak

VALIDATORS = 4
STATED = ("consensus.engine=longest-chain",)
SEQUENCES = (*LONGEST_CHAIN_SEQUENCES, *LATER_LONGEST_CHAIN_SEQUENCES)


def sequences_of(name, seeds):
    """Return a sequence as it is drawn for some seeds; its first fault, or a few of its faults, have the name."""
    make = next(each for each in SEQUENCES if any(fault.startswith(name) for fault in each(Draw(0), VALIDATORS).faults))
    return [make(Draw(seed), VALIDATORS) for seed in seeds]


def cells_of(sequence):
    """Return the cells that a run of `calm` with a sequence reaches; it has to pass."""
    raw = msgspec.to_builtins(load_scenario("calm", [*STATED, "run.until_height=16"]))
    for section, values in ENGINE.settings(sequence.settings).items():
        raw[section] = {**raw.get(section, {}), **values}
    raw["faults"] = {
        name: {**ENGINE.in_own_words(fault), "may_be_idle": True} for name, fault in sequence.faults.items()
    }
    result = judge_in_process(convert_scenario(raw, "a sequence"))

    assert result.verdict == "passed", result.headline
    reached = dict(result.rules)
    return {label for label in POINTS if reached.get(label)}


def test_a_sequence_is_a_sound_plan_in_every_cluster():
    for make in SEQUENCES:
        for seed in range(60):
            for validators in (4, 5, 6, 7):
                drawn = make(Draw(seed), validators).faults
                faults = {name: decode_fault(ENGINE.in_own_words(fault)) for name, fault in drawn.items()}
                check_plan(faults, validators, engine=ENGINE.name)


REACHED = (
    ("early-slots", {"block-of-next-slot", "head-switched"}),
    ("isolated", {"trusted-on-first-sight", "snapshot-joined", "head-named"}),
    (
        "forged-heads",
        {"sealed-by-another", "seal-unsigned", "burial-shallow", "burial-unlinked", "conflicting-blocks"},
    ),
)
"""Sequences, each with the coverage points that it is drawn for."""


@pytest.mark.parametrize(("name", "cells"), rest_in_soak(REACHED, REACHED[:1]))
@pytest.mark.soak
def test_runs_with_a_sequence_reach_what_it_is_drawn_for(name, cells):
    reached = set().union(*map(cells_of, sequences_of(name, range(3))))

    assert cells - reached == set()


def test_the_sequences_have_their_turn_in_the_seeds_of_the_engine():
    drawn = [draw_once(seed, *STATED).faults for seed in range(60)]

    for name in ("early-slots", "isolated", "forged-heads", "first-branches"):
        assert sum(name in faults for faults in drawn) >= 2, name
