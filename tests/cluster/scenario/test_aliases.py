"""Old names of scenario keys: taken for one release, with a line that says so."""

import json

import pytest
import tomli_w

from checker.checks import CHECKS
from checker.results import FORMER_NAMES
from cluster.scenario.aliases import ALIASES, rename_setting, report_once, with_new_names
from cluster.scenario.load import convert_scenario, decode_scenario, encode_scenario, load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import Scenario
from cluster.scenario.shape import kinds_of
from faults import kind_of
from validators.consensus.hotstuff.tally import GivenUp

FORMER_MANNERS = {"jammed": "held", "slowed": "delayed"}
FORMER_BEHAVIOURS = {
    "drag-time": "skew-timestamps",
    "exchange-certificate": "mismatched-certificate",
    "misshape": "malformed-votes",
    "odd-encoding": "noncanonical-encoding",
    "thin-certificates": "invalid-certificates",
    "usurp": "propose-ahead",
}
DELAYS = {"held": {}, "delayed": {"delay_ms": 5}}
SPLIT = {"kind": "partition", "groups": [[0, 1], [2, 3]], "start_ms": 0, "stop_ms": 900}
BYZANTINE = {"kind": "byzantine", "validator": 0, "start_ms": 0, "stop_ms": 900}

PLANTED = "scenario key planted is now called mutants; the next release will not know the old name"


@pytest.fixture
def reported(monkeypatch):
    """The lines that are printed, as if this process had printed none before."""
    monkeypatch.setattr("cluster.scenario.aliases._REPORTED", {})


def section_at(path):
    found = Scenario
    for key in path:
        (found,) = kinds_of(found.__annotations__[key])
    return found


def test_every_new_name_is_a_key_and_no_old_one_is():
    for old, new in ALIASES.items():
        if old[:-1] == ("expect", "reports"):
            assert old[-1] not in {*GivenUp}
            assert new[-1] in {*GivenUp}
            continue
        keys = section_at(new[:-1]).__struct_fields__
        assert new[-1] in keys
        assert old[-1] not in section_at(old[:-1]).__struct_fields__


OLD = {"name": "old", "title": "keys of the release before", "planted": {"tip-burned": [1]}}


def test_an_old_key_of_a_file_is_the_new_one(reported, tmp_path, capsys):
    path = tmp_path / "old.toml"
    path.write_text(tomli_w.dumps(OLD))

    assert load_scenario(str(path)).mutants == {"tip-burned": (1,)}
    assert capsys.readouterr().err == f"{PLANTED}\n"


def test_an_old_key_of_a_record_is_taken_without_a_line(reported, capsys):
    """Its user did not write it."""
    assert decode_scenario(json.dumps(OLD).encode(), "scenario.json").mutants == {"tip-burned": (1,)}
    assert capsys.readouterr().err == ""


def test_an_old_key_of_a_setting_is_the_new_one(reported, capsys):
    settings = ["planted.tip-burned=[1]", "expect.roads.hasty=4", "expect.reports.OthersLeft=2"]
    scenario = load_scenario("followers", ["consensus.engine=hotstuff", *settings])

    assert scenario.mutants == {"tip-burned": (1,)}
    assert scenario.expect.replica_modes["hasty"] == 4
    assert scenario.expect.reports == {"PeerTimeouts": 2}
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_old_values_are_the_new_ones(reported, tmp_path, capsys):
    """The kind of a fault from a setting, and the names of checks that must fail from a file."""
    path = tmp_path / "old.toml"
    path.write_text(tomli_w.dumps({"name": "old", "title": "", "expect": {"fails": ["promised-limits", "supply"]}}))
    fault = '{kind="dishonest", validator=0, behaviour="equivocate", start_ms=0, stop_ms=1000}'

    scenario = load_scenario(str(path), [f"faults.dishonest={fault}"])

    assert kind_of(scenario.faults["dishonest"]) == "byzantine"
    assert scenario.expect.fails == ("expected-limits", "supply")
    assert capsys.readouterr().err.splitlines() == [
        "promised-limits is now called expected-limits; the next release will not know the old name",
        "dishonest is now called byzantine; the next release will not know the old name",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [(["heads", "supply", "duties"], ("consensus", "supply")), (["consensus", "kept-votes"], ("consensus",))],
)
def test_checks_that_became_one_are_named_once(reported, tmp_path, old, new):
    path = tmp_path / "old.toml"
    path.write_text(tomli_w.dumps({"name": "old", "title": "", "expect": {"fails": old}}))

    assert load_scenario(str(path)).expect.fails == new


@pytest.mark.parametrize(
    ("section", "named", "key", "old", "new"),
    [
        ("workload", {"kind": "edge-cases"}, "kind", "edge-cases", "boundary-cases"),
        *(
            ("faults", {**SPLIT, "manner": old, **DELAYS[new]}, "manner", old, new)
            for old, new in FORMER_MANNERS.items()
        ),
        *(("faults", {**BYZANTINE, "behaviour": old}, "behaviour", old, new) for old, new in FORMER_BEHAVIOURS.items()),
    ],
)
def test_an_old_word_of_a_section_is_the_new_one(reported, tmp_path, capsys, section, named, key, old, new):
    """A file is read as if it had the new word, and a line says so."""
    engine = {"propose-ahead": "longest-chain", "mismatched-certificate": "hotstuff"}.get(new, "simplex")
    raw = {"name": "old", "title": "", "consensus": {"engine": engine}, section: {"it": named}}
    path = tmp_path / "old.toml"
    path.write_text(tomli_w.dumps(raw))

    read = json.loads(encode_scenario(load_scenario(str(path))))

    assert read[section]["it"][key] == new
    assert capsys.readouterr().err == f"{old} is now called {new}; the next release will not know the old name\n"


GOVERNED = {"do": "govern", "at_ms": 1_000, "set": {"system:aptos:charge": "others", "system:aptos:expiry": "apart"}}
QUEUE = {
    "chain": {"policy": "aptos", "policy_parameters": {"charge": "others", "expiry": "apart"}},
    "workload": {
        "council": {"kind": "governance", "actions": [{"do": "service", "at_ms": 900, "action": "pause"}, GOVERNED]}
    },
}


def test_old_readings_of_the_queue_are_the_new_ones(reported, tmp_path, capsys):
    """Those of its genesis, and those that governance sets."""
    path = tmp_path / "old.toml"
    path.write_text(tomli_w.dumps({"name": "old", "title": "", **QUEUE}))

    read = json.loads(encode_scenario(load_scenario(str(path))))

    readings = read["chain"]["policy_parameters"]
    assert (readings["charge"], readings["expiry"]) == ("second_price", "own_limit")
    governed = read["workload"]["council"]["actions"][1]["set"]
    assert governed == {"system:aptos:charge": "second_price", "system:aptos:expiry": "own_limit"}
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_new_names_of_checks_are_names_and_old_ones_are_not():
    names = {check.name for check in CHECKS}

    assert set(FORMER_NAMES.values()) <= names
    assert not names & set(FORMER_NAMES)


def test_the_line_is_printed_once(reported, capsys):
    for _ in range(3):
        report_once("a line")

    assert capsys.readouterr().err == "a line\n"


def test_both_names_at_once_are_refused():
    raw = {"name": "both", "title": "", "planted": {}, "mutants": {}}

    with pytest.raises(ScenarioError, match="unknown field `planted`"):
        convert_scenario(raw, "both.toml")


def test_other_keys_stay_as_they_are():
    raw = {"name": "new", "expect": {"counts": {}}}
    said = []

    assert with_new_names(raw, said.append) is raw
    assert rename_setting(["run", "until_height"], said.append) == ["run", "until_height"]
    assert said == []
