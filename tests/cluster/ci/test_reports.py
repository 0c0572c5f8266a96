"""A sweep's results as a JUnit file and as annotations, and plans that failed once."""

import json
import re
import shlex
import xml.etree.ElementTree as ET

import pytest
import yaml

from checker.record.root import PROJECT_ROOT
from cluster.campaign.results_db import SeedResult
from cluster.ci.failing_plans import plans_in
from cluster.ci.reports import annotation_of, write_junit
from cluster.cli import main as command_line
from cluster.cli.main import main
from tests.support.keystones import rest_in_soak

PASSED = SeedResult(3, 0, "passed", "", "fine", "", 1_500)
FAILED = SeedResult(4, 1, "safety", "s", "roots: 5 % differ\x1b <here>\n& there", "", 250, "runs/x-4")


def test_a_junit_file_has_a_case_a_seed_and_how_to_repeat_it(tmp_path):
    write_junit(tmp_path / "new" / "out.xml", "lossy", [PASSED, FAILED], lambda row: f"run lossy --seed {row.seed}")

    suite = ET.parse(tmp_path / "new" / "out.xml").getroot()
    good, bad = suite.findall("testcase")
    assert (suite.get("tests"), suite.get("failures"), suite.get("time")) == ("2", "1", "1.750")
    assert (good.get("name"), good.find("failure")) == ("seed 3", None)
    assert bad.find("failure").get("message") == r"roots: 5 % differ\x1b <here>\n& there"
    assert "repeat with: run lossy --seed 4" in bad.find("failure").text


def test_an_annotation_is_one_line_with_its_signs_escaped():
    said = annotation_of("lossy", FAILED, "run lossy --seed 4")

    assert said.startswith(r"::error title=lossy%2C seed 4%3A safety::roots: 5 %25 differ\x1b <here>%0A& there")
    assert "%0Arepeat with: run lossy --seed 4" in said
    assert said.isprintable()


def test_a_plan_has_the_seed_of_its_comment(tmp_path):
    (tmp_path / "b.toml").write_text('# it fails\n# run_cluster.py run b.toml --seed 17\nname = "b"\n')
    (tmp_path / "a.toml").write_text('name = "a"\n')

    assert plans_in(tmp_path) == [(tmp_path / "a.toml", 0), (tmp_path / "b.toml", 17)]
    assert plans_in(tmp_path / "nowhere") == []


@pytest.mark.soak
def test_a_sweep_runs_failing_plans_first_and_takes_their_exit_code(tmp_path, capsys):
    plans, runs = tmp_path / "plans", tmp_path / "runs"
    plans.mkdir()
    plan = (PROJECT_ROOT / "scenarios" / "broken-refund.toml").read_text()
    shrunk = re.sub(r"\[expect\]\n.*\n", "", plan)
    (plans / "refund.toml").write_text(f"# run_cluster.py run refund.toml --seed 2\n{shrunk}")
    junit = tmp_path / "out.xml"

    small = ["--set", "run.until_height=3", "--seeds", "0", "--jobs", "1", "--runs", str(runs)]
    code = main(["sweep", "calm", *small, "--failing", str(plans), "--junit", str(junit), "--annotate", "--json"])

    answer = json.loads(capsys.readouterr().out)
    (again,) = answer["failing_plans"]
    assert (code, answer["exit_code"], again["seed"], again["verdict"]) == (1, 0, 2, "safety")
    assert ET.parse(junit).getroot().get("tests") == "1"

    assert main(["sweep", "calm", *small, "--failing", str(plans), "--quiet"]) == 1
    assert "refund.toml seed 2: fails again: " in capsys.readouterr().err


class TestWorkflow:
    """The sample workflow file, whose commands are those of the command line."""

    def commands(self):
        document = yaml.safe_load((PROJECT_ROOT / "docs" / "ci" / "stampede.yml").read_text())
        steps = document["jobs"]["sweep"]["steps"]
        return [step["run"] for step in steps if "run" in step]

    def typed(self):
        return [shlex.split(line)[1:] for line in self.commands() if line.startswith("stampede ")]

    def test_its_commands_are_understood(self):
        assert len(self.typed()) == 3
        for arguments in self.typed():
            options = command_line._parser(arguments).parse_args(arguments)
            assert options.junit.suffix == ".xml"

    @pytest.mark.parametrize("place", rest_in_soak(range(3), [0]))
    def test_its_commands_leave_what_it_keeps(self, place, tmp_path, monkeypatch, capsys):
        """Each with its first seed alone, in an empty folder, as on a machine of its own."""
        monkeypatch.chdir(tmp_path)
        arguments = self.typed()[place]
        arguments[arguments.index("--seeds") + 1] = "0"
        main(["new", "my-outage"])
        capsys.readouterr()

        assert main([*arguments, "--jobs", "1"]) == 0
        assert "1 seed" in capsys.readouterr().out
        (junit,) = (tmp_path / "results").iterdir()
        assert (ET.parse(junit).getroot().get("tests"), (tmp_path / "runs").is_dir()) == ("1", True)

    def test_it_installs_what_it_runs(self):
        assert self.commands()[0] == "pip install ./stampede_testbed-*.whl"


@pytest.mark.parametrize("name", ["file", "missing"])
def test_what_is_no_folder_of_plans_is_refused(tmp_path, capsys, name):
    (tmp_path / "file").touch()

    with pytest.raises(SystemExit):
        main(["sweep", "calm", "--failing", str(tmp_path / name)])
    assert "is no directory" in capsys.readouterr().err
