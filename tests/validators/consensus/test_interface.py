"""The seam of consensus engines: a registry by name, and a foreign engine behind it."""

from typing import get_args, get_type_hints

import msgspec
import pytest

from checker.checks.rules.registry import RULES
from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import ConsensusSection
from faults import Byzantine, PlanError, check_plan
from tests.support.cluster_runs import judge
from tests.support.sequencer import SEQUENCER, SEQUENCER_RULES
from validators.consensus.registry import ENGINES

CRASH = 'faults={down={kind="crash", validator=0, at_ms=4_500, restart_ms=6_000}}'


def test_a_scenario_can_name_every_engine_and_no_other():
    assert get_args(get_type_hints(ConsensusSection)["engine"]) == tuple(ENGINES)


def test_the_checks_have_rules_for_every_engine():
    assert tuple(RULES) == tuple(ENGINES)


def test_an_unknown_engine_is_refused_with_the_allowed_names():
    with pytest.raises(ScenarioError, match=r"consensus.engine: .*'raft'; it can be simplex.*hotstuff"):
        load_scenario("calm", ('consensus.engine="raft"',))


@pytest.fixture
def sequencer(monkeypatch):
    """Return the result of the page's engine, with its rules in the registry, over a crash and a restart."""
    monkeypatch.setitem(ENGINES, "sequencer", SEQUENCER)
    monkeypatch.setitem(RULES, "sequencer", SEQUENCER_RULES)
    scenario = load_scenario("calm", ("run.until_height=12", CRASH))
    scenario = msgspec.structs.replace(
        scenario, consensus=msgspec.structs.replace(scenario.consensus, engine="sequencer")
    )
    return judge(scenario)


def test_the_example_of_the_page_passes_every_check_that_applies(sequencer):
    """Another engine runs in validators that know nothing of it, over a crash and a restart."""
    found = {check.name: check.status for check in sequencer.checks}

    assert dict.fromkeys(found.values()) == {"passed": None}, sequencer.headline
    assert {"agreement", "equal-roots", "write-ahead", "journals", "leaders", "finality-regained"} <= set(found)
    assert sequencer.chain[-1].header.height >= 12


def test_the_verdict_names_the_checks_that_do_not_apply_to_the_engine(sequencer):
    of_another = {name: reason for name, reason in sequencer.not_asked.items() if "it judges the engine" in reason}

    assert of_another == {
        **dict.fromkeys(("no-double-vote", "certificates", "undisturbed-views"), "it judges the engine simplex"),
        "quorum-certificates": "it judges the engine hotstuff",
    }
    assert not {check.name for check in sequencer.checks} & set(of_another)


def test_an_adversary_that_the_engine_does_not_have_is_refused():
    fault = Byzantine(validator=1, behaviour="double-vote", start_ms=2_000, stop_ms=5_000)

    with pytest.raises(PlanError, match=r"faults.it.behaviour: an adversary in sequencer knows no behaviour"):
        check_plan({"it": fault}, 4, engine="sequencer")
    check_plan({"it": fault}, 4, engine="simplex")
