"""A name that is misspelt is answered with the nearest one that is allowed."""

import pytest

from cluster.cli.main import main
from cluster.scenario.load import convert_scenario, load_scenario
from cluster.scenario.messages import ScenarioError
from faults.nearest import did_you_mean
from tests.support.mutation import tool_main

MISSPELT = {
    "key": ("network.latncy_ms=3", "latency_ms"),
    "section": ("netwrk.latency_ms=3", "network"),
    "key of a fault": ('faults.a={kind="crash", validatr=1}', "validator"),
    "kind of fault": ('faults.a={kind="partitoin"}', "partition"),
    "kind in a list": ('workload.c={kind="governance", actions=[{do="cancle"}]}', "cancel"),
    "key in a list": (
        'workload.c={kind="governance", actions=[{do="extend", at_ms=1, worklod="x"}]}',
        "workload",
    ),
    "kind of workload": ('workload.pulse.kind="heartbeat"', "heartbeats"),
    "kind of observer": ('observers.a={kind="restrt"}', "restart"),
    "region": ('network.regions=["londn", "tokyo", "tokyo", "tokyo"]', "london"),
    "region of a fault": ('faults.a={kind="blackout", regions=["tokio"], at_ms=1, restart_ms=2}', "tokyo"),
    "word": ('chain.policy="eip155"', "eip1559"),
    "channel": ('faults.a={kind="clog", channels=["vote"], start_ms=1, stop_ms=2}', "votes"),
    "message": ('faults.a={kind="rule", action="drop", kinds=["Notarise"], stop_ms=2}', "Notarize"),
    "behaviour": ('faults.a={kind="byzantine", validator=0, behaviour="equivocat"}', "equivocate"),
    "workload": ("workload.puls.enabled=false", "pulse"),
    "required name": ('requires=["puls"]', "pulse"),
    "workload of a count": ("expect.fired_by.puls=1", "pulse"),
    "count": ("expect.counts.fire=1", "fired"),
    "check": ('expect.fails=["agrement"]', "agreement"),
    "mutant": ("mutants.tip-burnt=[0]", "tip-burned"),
}


@pytest.mark.parametrize("what", MISSPELT)
def test_a_misspelt_name_in_a_scenario_gets_the_nearest(what):
    setting, nearest = MISSPELT[what]
    with pytest.raises(ScenarioError) as refusal:
        load_scenario("calm", [setting])

    assert (f"(did you mean {nearest}?)" in str(refusal.value)) == bool(nearest), refusal.value


@pytest.mark.parametrize(
    ("command", "nearest"), [(("run", "calmm"), "calm"), (("check", "losy"), "lossy"), (("faults", "clogg"), "clog")]
)
def test_a_misspelt_name_in_a_command_gets_the_nearest(capsys, command, nearest):
    assert main(command) == 2
    assert f" (did you mean {nearest}?)" in capsys.readouterr().err


def test_a_name_that_is_like_no_other_gets_no_hint():
    assert did_you_mean("weather", ["calm", "storm"]) == ""


def test_a_known_name_gets_no_hint():
    assert did_you_mean("storm", ["calm", "storm", "storms"]) == ""


def test_capitals_hide_no_name():
    assert did_you_mean("notarize", ["Notarize"]) == " (did you mean Notarize?)"


@pytest.mark.parametrize("name", ["calm\n", "calm ", "Calm", ""])
def test_a_name_is_refused_with_anything_after_it(name):
    """It becomes the name of a directory."""
    with pytest.raises(ScenarioError, match="name: must be small letters, digits and hyphens"):
        convert_scenario({"name": name, "title": ""}, "here")


@pytest.mark.parametrize("table", ["faults", "observers", "workload"])
@pytest.mark.parametrize("name", ["up\x1b[2K", ".a", "", "a" * 65])
def test_the_name_of_an_entry_steers_no_terminal(table, name):
    """It stands in tables and summaries."""
    with pytest.raises(ScenarioError) as refused:
        convert_scenario({"name": "x", "title": "", table: {name: {}}}, "here")
    assert str(refused.value).startswith(f"here: {table}: {name!a} is no name; a name has up to 64 letters")


@pytest.mark.parametrize(
    "command",
    [("run", "calm"), ("sweep", "calm"), ("mutants", "--only", "tip-burned"), ("shrink", "runs/nothing")],
)
def test_a_file_where_run_directories_should_go_is_bad_input(tmp_path, capsys, command):
    place = tmp_path / "file"
    place.touch()

    with pytest.raises(SystemExit) as left:
        tool_main([*command, "--runs", str(place)])

    assert left.value.code == 2
    assert "file' is no directory" in capsys.readouterr().err


@pytest.mark.parametrize("value", [10**30, -(10**30), [1, 10**30]])
def test_a_parameter_of_more_than_64_bits_is_bad_input(value):
    """No encoding holds it: it is refused and does not break the test bed."""
    change = {"do": "govern", "at_ms": 1, "set": {"timer_config.max_ttl_blocks": value}}
    council = {"kind": "governance", "actions": [change]}

    with pytest.raises(ScenarioError, match=r"actions\[0\]\.set: .*max_ttl_blocks: a number is at most 2\^63 - 1"):
        convert_scenario({"name": "x", "title": "", "workload": {"council": council}}, "here")
