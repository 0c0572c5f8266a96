"""A Byzantine validator whose machine stands still: it says nothing, whoever asks."""

import pytest

from tests.support.cluster_runs import result_of

NAP = (
    'faults={liar={kind="byzantine", validator=1, behaviour="equivocate", start_ms=1_000, stop_ms=12_000}, '
    'nap={kind="pause", validator=1, start_ms=5_040, stop_ms=9_040}}'
)
"""The machine stops as half of the others are about to ask it for a block that its validator does not know."""


@pytest.mark.parametrize("engine", ["simplex", "longest-chain"])
def test_an_adversary_answers_nobody_while_it_is_paused(engine):
    result = result_of("calm", f"consensus.engine={engine}", NAP, "run.until_height=12")

    assert (result.verdict, result.headline.count("paused")) == ("passed", 0)
