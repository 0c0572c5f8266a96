"""Fault sequences about single views: what runs with them come to."""

import msgspec
import pytest

from checker.coverage.registry import POINTS
from cluster.scenario.load import load_scenario
from cluster.swarm.engines.hotstuff import DRAWN_HOTSTUFF
from cluster.swarm.engines.simplex import DRAWN_SIMPLEX
from cluster.swarm.sequences.hotstuff import HOTSTUFF_SEQUENCES
from cluster.swarm.sequences.simplex import LATER_SIMPLEX_SEQUENCES, SIMPLEX_SEQUENCES
from faults.kinds.registry import decode_fault
from network.draw import Draw
from tests.support.cluster_runs import judge_in_process
from tests.support.keystones import rest_in_soak

VALIDATORS = 4


def drawn_with(name, sequences, seed=0):
    """Return the first drawn sequence that has a fault of this name."""
    drawn = (make(Draw(seed), VALIDATORS) for make in sequences)
    return next(sequence for sequence in drawn if name in sequence.faults)


def cells_of(sequence, engine):
    """Return the cells that a run of `calm` reaches with a sequence; it has to pass."""
    settings = engine.settings(sequence.settings).get("consensus", {})
    chosen = (f'consensus.engine="{engine.name}"', *(f"consensus.{key}={value}" for key, value in settings.items()))
    scenario = load_scenario("calm", ("run.until_height=14", *chosen))
    faults = {
        name: decode_fault({**engine.in_own_words(fault), "may_be_idle": True})
        for name, fault in sequence.faults.items()
    }
    result = judge_in_process(msgspec.structs.replace(scenario, faults=faults))
    reached = dict(result.rules)

    assert result.verdict == "passed", result.headline
    return {label for label in POINTS if reached.get(label)}


REACHED = (
    ("late-leaving", {"left-by-leader-nullify"}),
    ("lone-certification", {"certificate-requested", "certificate-served"}),
    ("no-news", {"certificate-requested-again"}),
)
"""Sequences, each with the coverage points that it is drawn for."""


@pytest.mark.parametrize(("name", "cells"), rest_in_soak(REACHED, REACHED[:1]))
def test_a_sequence_of_simplex_reaches_what_it_is_for(name, cells):
    assert cells - cells_of(drawn_with(name, (*SIMPLEX_SEQUENCES, *LATER_SIMPLEX_SEQUENCES)), DRAWN_SIMPLEX) == set()


@pytest.mark.soak
def test_views_are_skipped_above_a_hidden_chain():
    cells = cells_of(drawn_with("late-chain", HOTSTUFF_SEQUENCES), DRAWN_HOTSTUFF)

    assert {"left-by-expiry"} <= cells
