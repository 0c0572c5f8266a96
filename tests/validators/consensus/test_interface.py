"""The seam of consensus engines: a registry by name, and a foreign engine behind it."""

from typing import get_args, get_type_hints

import msgspec
import pytest

from checker.checks.rules.registry import RULES
from cluster.runtime.cluster import Cluster, RunHooks
from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import ConsensusSection
from tests.support.examples import run_example
from validators.consensus.registry import ENGINES

CRASH = 'faults={down={kind="crash", validator=0, at_ms=4_500, restart_ms=6_000}}'


def test_a_scenario_can_name_every_engine_and_no_other():
    assert get_args(get_type_hints(ConsensusSection)["engine"]) == tuple(ENGINES)


def test_the_checks_have_rules_for_every_engine():
    assert tuple(RULES) == tuple(ENGINES)


def test_an_unknown_engine_is_refused_with_the_allowed_names():
    with pytest.raises(ScenarioError, match=r"consensus.engine: .*'raft'; it can be simplex"):
        load_scenario("calm", ('consensus.engine="raft"',))


def test_the_example_of_the_page_makes_a_chain(monkeypatch):
    """Another engine runs in validators that know nothing of it, over a crash and a restart."""
    kind = run_example("engine.md")["SEQUENCER"]
    monkeypatch.setitem(ENGINES, kind.name, kind)
    scenario = load_scenario("calm", ("run.until_height=12", CRASH))
    consensus = msgspec.structs.replace(scenario.consensus, engine=kind.name)
    applied = []
    hooks = RunHooks(on_applied=lambda node, executed: applied.append((node, executed.digest)))

    run = Cluster(msgspec.structs.replace(scenario, consensus=consensus), 0, hooks=hooks).run()

    chains = [[digest for node, digest in applied if node == each] for each in range(4)]
    assert run.slots[0].incarnation == 2
    assert len(chains[0]) >= 12
    assert all(chain == chains[0][: len(chain)] and len(chain) >= 11 for chain in chains)
