"""Every coverage point has a named run, so that none is declared that nothing can reach or nothing counts.

`tests/test_scenarios.py` makes the runs, and asserts that each reaches its cells.
"""

import pytest

from scheduler import SWARM, CallRule, CoveragePoint
from tests.witnesses import choose, lacking, read_witnesses
from validators.execution.refusals import CallRefusal

WITNESSES = read_witnesses()


def test_every_cell_has_a_witness():
    """`python -m tests.witnesses --write NAME ...` takes further runs into the choice."""
    assert lacking(WITNESSES) == []


def test_a_cell_without_a_witness_is_named():
    without = {label: name for label, name in WITNESSES.items() if label != CallRule.DUE_NEXT.label}

    assert lacking(without) == ["due-next"]


@pytest.mark.parametrize("witness", [None, "calm"])
def test_a_refusal_that_a_scenario_promises_is_that_scenarios(witness):
    label = CallRefusal.QUEUE_EXTENDED.label
    others = {each: name for each, name in WITNESSES.items() if each != label}

    assert lacking(others if witness is None else {**others, label: witness}) == [label]


def test_as_few_runs_as_needed_are_chosen():
    both = frozenset({"due-next", "expired"})
    chosen = choose({"swarm-1": frozenset({"due-next"}), "swarm-2": both, "swarm-3": frozenset({"expired"})})

    assert chosen == {"due-next": "swarm-2", "expired": "swarm-2"}


def test_a_cell_says_who_promises_it():
    class Rule(CoveragePoint):
        SWARMED = "A-1", "It happens."
        STAGED = "A-1", "It happens on a stage.", "calm"

    assert [cell.promised_by for cell in Rule] == [SWARM, "calm"]
