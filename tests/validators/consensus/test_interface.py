"""The seam of consensus engines: a registry by name, and an engine of somebody else behind it."""

from typing import get_args, get_type_hints

import pytest

from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import ConsensusSection
from validators.consensus.registry import ENGINES


def test_a_scenario_can_name_every_engine_and_no_other():
    assert get_args(get_type_hints(ConsensusSection)["engine"]) == tuple(ENGINES)


def test_an_unknown_engine_is_refused_with_the_allowed_names():
    with pytest.raises(ScenarioError, match=r"consensus.engine: .*'raft'; it can be simplex"):
        load_scenario("calm", ('consensus.engine="raft"',))
