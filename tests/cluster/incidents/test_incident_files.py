"""Incident files: what a file must say, what is refused, and what the commands print of it."""

from types import SimpleNamespace

import msgspec
import pytest

from checker.record.plugins import plugins_with
from cluster.cli.main import main
from cluster.incidents import figures
from cluster.incidents.incident import SHAPES, incident_files, load_incident, read_incident
from cluster.scenario.load import head_comment
from cluster.scenario.messages import ScenarioError

NAMES = list(incident_files())
SMALL = "n12-zero-cost"


def changed(tmp_path, old, new):
    """Write the small incident with another text, and return its path."""
    text = incident_files()[SMALL].read_text()
    assert text.count(old) == 1, old
    path = tmp_path / "other.toml"
    path.write_text(text.replace(old, new))
    return str(path)


@pytest.mark.parametrize("name", NAMES)
def test_a_stranger_reads_what_went_wrong(name):
    """The source has a page and a date, the head comment a chain and the planted fault, and the scenarios load."""
    incident = load_incident(name).incident
    comment = head_comment(str(incident_files()[name]))

    assert incident.source.page
    assert len(comment.split()) > 50
    assert incident.source.chain.split(",")[0].split()[0] in comment
    assert "planted" in comment.lower()


def test_each_planted_mutant_is_a_file_beside_its_incident():
    """No incident plants a mutant of another one or of the catalogue."""
    planted = {name: list(read_incident(name).planted.get("mutants", {})) for name in NAMES}
    files = {name: incident_files()[name].with_suffix(".py") for name, mutants in planted.items() if mutants}

    assert [name for name, path in files.items() if not path.exists()] == []
    for name, path in files.items():
        for mutant in planted[name]:
            assert f"def {mutant.replace('-', '_')}(" in path.read_text(), name
            assert plugins_with("mutants", mutant) == ("stampede-incidents",)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('page = "https://github.com/MystenLabs/sui/pull/20365"\n', "", "page"),
        ('date = "2024-11-21"', 'date = "yesterday"', "date"),
        ('ratio = ["crashed", "validators"]', 'ratio = ["crashed", "nobody"]', "no measure is named 'nobody'"),
        ('ratio = ["crashed", "validators"]', 'ratio = ["crashed", "down"]', "a number of then and a figure of here"),
        ('shape = "rare path"', 'shape = "bad luck"', "no shape is named"),
        ('fails = ["agreement", "liveness/finality-regained"]', "", "has to be found by a check"),
        ('"liveness/finality-regained"', '"liveness/no-such-part"', "no check is named"),
        ('here = "validators"', 'here = "fired.mostly"', "'mostly' is none of"),
        ('here = "validators"', 'here = "fire.most"', "no column is named"),
        ('here = "validators"', 'here = "scenario.chain.slot"', "no number of the scenario"),
    ],
)
def test_an_incident_without_a_needed_part_is_refused(tmp_path, old, new, reason):
    path = changed(tmp_path, old, new)

    with pytest.raises(ScenarioError, match=reason):
        load_incident(path)


def test_a_number_is_enough_and_a_mistyped_name_is_answered():
    assert load_incident("n12").name == SMALL
    with pytest.raises(ScenarioError, match="no such incident"):
        load_incident("n99")


def test_both_sides_have_the_same_keys():
    """Their chains have one identifier, so that a figure differs by the fault alone."""
    healthy, planted = load_incident(SMALL).sides.values()

    assert healthy.chain_id == planted.chain_id
    assert (healthy.mutants, healthy.workload) == ({}, planted.workload)


def test_an_empty_table_of_the_planted_side_empties_one():
    healthy, planted = load_incident("n15").sides.values()

    assert healthy.network.uplink_shares
    assert planted.network == msgspec.structs.replace(healthy.network, uplink_shares={})


def test_leaders_are_counted_in_whole_rounds(monkeypatch):
    """With four validators a round is four views: here three leaders, then one; the third round has not ended."""
    blocks = [SimpleNamespace(header=SimpleNamespace(view=view)) for view in (1, 2, 4, 8, 9, 10)]
    run = SimpleNamespace(chain=blocks, scenario=SimpleNamespace(cluster=SimpleNamespace(validators=4)))
    monkeypatch.setitem(figures.OWN, "views", lambda _run: 11)

    assert [figures.figure_of(run, f"leaders_{each}") for each in ("most", "least")] == [3, 1]


def test_the_list_has_every_incident_under_its_shape(capsys):
    assert main(["incidents"]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert [line.partition(":")[0] for line in lines if line.partition(":")[0] in SHAPES] == list(SHAPES)
    assert sorted(line.split()[0] for line in lines if line.startswith("  n")) == sorted(NAMES)
    assert main(["incidents", "--json"]) == 0
    assert [each["name"] for each in msgspec.json.decode(capsys.readouterr().out)["incidents"]] == NAMES


def test_the_command_sets_then_beside_here(tmp_path, capsys):
    assert main(["incident", "n12", "--runs", str(tmp_path)]) == 0
    said = capsys.readouterr().out

    assert "kept: validators that crashed over all validators" in said
    assert "as stated: the healthy run passed" in said
    for side in (f"{SMALL}-0", f"{SMALL}-planted-0"):
        assert (
            "validators that crashed (then: in a hundred): then, here" in (tmp_path / side / "report.html").read_text()
        )
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {f"{SMALL}-0", f"{SMALL}-planted-0"}


def in_soak(*values):
    return pytest.param(*values, marks=pytest.mark.soak)


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        in_soak("cost-is-never-nought = [0, 1, 2, 3]", "", "planted: the verdict is passed, expected safety"),
        in_soak('fails = ["agreement", "liveness/finality-regained"]', 'fails = ["oracle"]', "oracle did not fail"),
        in_soak('then = 100\nhere = "holders"', 'then = 80\nhere = "holders"', "the ratio was 0.8 and is 1 here"),
    ],
)
def test_a_surviving_fault_and_a_lost_ratio_are_told(tmp_path, capsys, old, new, wrong):
    path = changed(tmp_path, old, new)

    assert main(["incident", path, "--json", "--runs", str(tmp_path / "runs")]) == 3
    assert wrong in "; ".join(msgspec.json.decode(capsys.readouterr().out)["wrong"])
