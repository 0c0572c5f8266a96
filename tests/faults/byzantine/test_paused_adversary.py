"""A Byzantine validator on a paused machine sends nothing; a Byzantine validator that halts breaks no run."""

import pytest

from checker.record.streams import iterate_events
from network.events import events_of_type
from tests.support.cluster_runs import result_of
from validators.events import Halted

NAP = (
    'faults={liar={kind="byzantine", validator=1, behaviour="equivocate", start_ms=1_000, stop_ms=12_000}, '
    'nap={kind="pause", validator=1, start_ms=5_040, stop_ms=9_040}}'
)
"""The machine stops as half of the others are about to ask it for a block that its validator does not know."""


@pytest.mark.parametrize("engine", ["simplex", "longest-chain"])
def test_an_adversary_answers_nobody_while_it_is_paused(engine):
    result = result_of("calm", f"consensus.engine={engine}", NAP, "run.until_height=12")

    assert (result.verdict, result.headline.count("paused")) == ("passed", 0)


HALT = (
    'faults={liar={kind="byzantine", validator=1, behaviour="skip-view", may_be_idle=true, start_ms=0, stop_ms=9_000}, '
    'off={kind="crash", validator=1, at_ms=3_000, restart_ms=3_500}, '
    'bad={kind="io-error", validator=1, read_ppm=1_000_000, start_ms=3_400, stop_ms=12_000}}'
)
"""The machine starts on a disk that it cannot read, and its validator halts."""


def test_an_adversary_hears_others_where_its_validator_halts_at_once():
    """The layer of its last life is gone, and there is no other one."""
    result = result_of("calm", HALT, "run.until_height=8")

    halted = events_of_type(iterate_events(bytes(result.log)), Halted)
    assert result.verdict == "passed", result.headline
    assert [event.node for event, _ in halted] == [1]
