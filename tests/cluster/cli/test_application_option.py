"""`--application` of `run` and `sweep`, and the names of the scenarios that run anybody's application."""

import shlex
import sys

import pytest

from cluster.cli.commands.campaigns import sweep
from cluster.cli.commands.runs import run
from cluster.cli.main import main
from cluster.cli.options import Parser
from cluster.cli.sweep_subject import subject_of
from cluster.outside.new import EXAMPLES
from cluster.scenario.load import SCENARIO_DIRECTORY, decode_scenario, load_scenario, scenario_files, scenario_paths
from cluster.scenario.messages import ScenarioError

LEDGER = f"{sys.executable} {EXAMPLES / 'python' / 'ledger.py'}"
NEUTRAL = ["application/outage", "application/partition", "application/reorg", "application/upgrade"]


def refused(capsys, *arguments):
    """Return the one line by which a command refuses its arguments."""
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    return said.err


def options_of(command, *arguments):
    parser = Parser()
    command.fill_parser(parser)
    return parser.parse_args(arguments)


class TestNames:
    def test_they_are_found_from_any_folder(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)

        names = [load_scenario(name).name for name in scenario_files() if "/" in name]
        assert [name for name in scenario_files() if "/" in name] == NEUTRAL
        assert names == [name.replace("/", "-") for name in NEUTRAL]

    def test_a_path_that_is_there_comes_first(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "application").mkdir()
        (tmp_path / "application" / "outage").write_text('name = "mine"\ntitle = "mine"\n')

        assert load_scenario("application/outage").name == "mine"

    def test_a_misspelt_one_gets_the_nearest(self):
        with pytest.raises(ScenarioError, match=r"no such scenario \(did you mean application/outage\?\)"):
            load_scenario("application/outgae")
        with pytest.raises(ScenarioError, match=r"^\.\./scenarios/calm: no such scenario file$"):
            load_scenario("../scenarios/calm")

    def test_those_of_our_chain_are_the_others(self):
        own = [path.stem for path in scenario_paths()]

        assert sorted(own) == [name for name in scenario_files() if "/" not in name]
        assert {path.parent for path in scenario_paths()} == {SCENARIO_DIRECTORY}


class TestNeutral:
    @pytest.mark.parametrize("name", NEUTRAL)
    def test_they_fit_anybody(self, name):
        scenario = load_scenario(name, (), LEDGER)

        assert {type(each).__struct_config__.tag for each in scenario.workload.values()} == {"application"}
        assert (scenario.chain.timebase, scenario.cluster.validators) == ("slot", 4)
        # A replica mode may need a feature that an application lacks.
        assert (scenario.validators, scenario.observers) == ({}, {})

    @pytest.mark.parametrize("command", ["run", "sweep"])
    def test_without_an_application_a_command_asks_for_one(self, capsys, command):
        said = refused(capsys, command, "application/outage")

        assert (
            said == "run_cluster.py: application-outage: application.command: name the application by --application\n"
        )


class TestOption:
    @pytest.mark.parametrize("command", ["run", "sweep"])
    def test_a_program_that_is_not_there_is_one_line_before_the_run(self, capsys, command):
        said = refused(capsys, command, "application/reorg", "--application", "./no-ledger --fast")

        assert said.startswith("run_cluster.py: --application: application.command: there is no program ")

    @pytest.mark.parametrize("arguments", [("run", "swarm"), ("sweep", "--swarm")])
    def test_the_swarm_has_no_application(self, capsys, arguments):
        said = refused(capsys, *arguments, "--application", LEDGER)

        assert said.startswith("run_cluster.py: --application: the swarm draws scenarios of the project's own chain")

    def test_the_command_that_repeats_a_run_has_it(self):
        text = "node 'my ledger.mjs'"
        ran = run._repeat_command(options_of(run, "application/outage", "--application", text))
        swept = sweep.command_of(options_of(sweep, "application/outage", "--application", text), 7)

        for line in (ran, swept):
            words = shlex.split(line)
            assert words[words.index("--application") + 1] == text
        assert "--application" not in run._repeat_command(options_of(run, "calm"))

    def test_the_command_that_repeats_a_run_has_its_builds(self):
        builds = ("--build", "new=node 'next ledger.mjs'", "--build", "other=./other")
        ran = run._repeat_command(options_of(run, "application/upgrade", *builds))
        swept = sweep.command_of(options_of(sweep, "application/upgrade", *builds), 7)

        for line in (ran, swept):
            words = shlex.split(line)
            assert [words[at + 1] for at, word in enumerate(words) if word == "--build"] == [*builds[1::2]]


class TestSweep:
    def subject(self, *arguments):
        return subject_of(options_of(sweep, "application/outage", *arguments))

    def test_a_worker_is_given_the_command(self):
        for more in ((), ("--faults", "swarm")):
            encoded = self.subject("--application", LEDGER, *more).encoded_of(7)

            assert decode_scenario(encoded, "task").application.command == tuple(LEDGER.split())

    def test_another_command_or_build_has_results_of_its_own(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        program = tmp_path / "ledger"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        first = self.subject("--application", "./ledger").identity

        assert self.subject("--application", "./ledger").identity == first
        assert self.subject("--application", "./ledger --fast").identity != first
        program.write_text("#!/bin/sh\n# mended\n")
        assert self.subject("--application", "./ledger").identity != first
