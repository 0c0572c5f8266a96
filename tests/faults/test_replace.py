"""Upgrades as a fault: when each validator is off, what is told of it, and what the swarm draws."""

import json

import pytest

from cluster.authoring.fault_levels import with_faults
from cluster.authoring.upgrades import draw_upgrade
from cluster.scenario.load import load_scenario
from faults import check_plan
from faults.kinds.registry import decode_fault
from faults.plan import byzantine_validators
from network.draw import Draw

UPGRADE = {"kind": "replace", "build": "new", "at_ms": 4_000, "restart_ms": 4_500, "every_ms": 1_000}


def test_validators_follow_one_by_one():
    fault = decode_fault({**UPGRADE, "validators": [2, 0, 1]})

    assert fault.span() == (4_000, 6_500)
    assert [fault.span_at(node) for node in (2, 0, 1)] == [(4_000, 4_500), (5_000, 5_500), (6_000, 6_500)]
    assert [loss.off for loss in fault.losses(4)] == [(2,), (0,), (1,)]


def test_all_validators_are_meant_where_none_is_named():
    assert decode_fault(UPGRADE).resolved((), 4).validators == (0, 1, 2, 3)
    assert decode_fault({**UPGRADE, "validators": [3]}).resolved((), 4).validators == (3,)


def test_it_is_told_in_a_sentence():
    told = decode_fault({**UPGRADE, "validators": [0, 1], "from_height": 20}).describe()

    assert told == (
        "At 4 s validators 0 and 1 stop, one every 1 s, and come back 0.5 s later with build new, whose rules may "
        "differ from height 20 on."
    )


@pytest.mark.parametrize("validators", [4, 7])
def test_a_drawn_upgrade_is_sound_and_goes_back_in_some_seeds(validators):
    drawn = [draw_upgrade(Draw(seed), ["new", "other"], validators, {"new": 20}) for seed in range(60)]

    for each in drawn:
        check_plan({name: decode_fault(fault) for name, fault in each.items()}, validators, engine="simplex")
    assert {tuple(each) for each in drawn} == {("upgrade",), ("upgrade", "back")}
    assert {each["upgrade"]["build"] for each in drawn} == {"new", "other"}
    assert {each["upgrade"]["from_height"] for each in drawn} == {20, 0}
    assert len({json.dumps(each) for each in drawn}) > 50


def test_where_rules_change_a_quorum_follows():
    """With more than f validators on the old build a drawn run could only stand still."""
    for seed in range(80):
        drawn = draw_upgrade(Draw(seed), ["new"], 7, {"new": 20})
        staying = {*range(7)} - {*drawn["upgrade"]["validators"]}

        assert len(staying | {*drawn.get("back", {}).get("validators", ())}) <= 2


def test_the_levels_draw_it_where_a_scenario_names_two_builds():
    two = load_scenario("application/upgrade", ("faults.upgrade.from_height=20",))
    one = load_scenario("application/outage")

    for level in ("light", "swarm"):
        upgrades = [with_faults(two, level, seed).faults["upgrade"] for seed in range(8)]
        assert {fault.from_height for fault in upgrades} == {20}
        assert "upgrade" not in with_faults(one, level, 3).faults
    assert not with_faults(two, "none", 3).faults


def test_a_drawn_upgrade_leaves_a_quorum_beside_byzantine_validators():
    scenario, seen = load_scenario("application/upgrade", ("faults.upgrade.from_height=20",)), 0
    for seed in range(60):
        faults = with_faults(scenario, "swarm", seed).faults
        byzantine = {*byzantine_validators(faults)}
        back = faults["back"].validators if "back" in faults else ()
        behind = {node for node in range(4) if node not in faults["upgrade"].validators or node in back}
        seen += bool(byzantine)

        assert not behind or not byzantine or len(behind | byzantine) <= 1
    assert seen > 5
