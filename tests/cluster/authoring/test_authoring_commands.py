"""The commands for those who write scenarios: `new`, `scenarios show`, the schema, and shell completion."""

import json
import os
import shutil
import subprocess
import tomllib

import msgspec
import pytest

from cluster.authoring.schema import scenario_schema
from cluster.cli.main import main
from cluster.scenario.load import convert_scenario, load_scenario


def test_new_writes_a_file_that_can_be_run_and_is_commented(tmp_path, capsys):
    path = tmp_path / "my-outage.toml"

    code = main(["new", "my-outage", "--out", str(path)])

    assert (code, load_scenario(str(path)).name) == (0, "my-outage")
    assert path.read_text().count("# ") > 10
    assert f"# run_cluster.py check {path} " in path.read_text()
    assert f"check {path}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "reason"),
    [("My Outage", "name"), ('a"b', "small letters, digits and hyphens"), ("there", "is there already")],
)
def test_new_refuses_in_one_line(tmp_path, capsys, name, reason):
    (tmp_path / "there.toml").touch()

    assert main(["new", name, "--out", str(tmp_path / "there.toml")]) == 2
    said = capsys.readouterr().err
    assert (len(said.splitlines()), reason in said) == (1, True)


def test_a_scenario_is_shown_with_every_default_and_can_be_read_back(capsys):
    assert main(["scenarios", "show", "lossy", "--set", "run.until_height=7"]) == 0

    printed = capsys.readouterr().out
    shown = tomllib.loads(printed)
    assert printed.startswith("# Links of 200 ms with 150 ms of jitter lose half of all messages")
    assert (shown["run"]["until_height"], shown["network"]["reorder_ppm"]) == (7, 0)
    assert convert_scenario(shown, "shown") == load_scenario("lossy", ("run.until_height=7",))


def test_show_without_a_name_is_refused(capsys):
    assert main(["scenarios", "show"]) == 2
    assert "needs the name of a scenario" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--schema"], ["--json"]])
def test_a_setting_is_refused_where_no_scenario_is_shown(capsys, more):
    assert main(["scenarios", *more, "--set", "run.until_height=7"]) == 2
    assert "scenarios show NAME --set KEY=VALUE" in capsys.readouterr().err


class TestSchema:
    """The JSON schema of scenario files."""

    def test_it_describes_every_kind_of_fault_and_workload(self):
        schema = json.dumps(scenario_schema())

        assert all(f'"{kind}"' in schema for kind in ("swizzle-clog", "boundary-cases", "heartbeats", "simplex"))
        assert "Small letters, digits and hyphens." in schema

    def test_its_patterns_end_as_javascript_ends_them(self):
        assert scenario_schema()["$defs"]["Scenario"]["properties"]["name"]["pattern"] == "^[a-z0-9][a-z0-9-]*$"

    def test_the_command_prints_it(self, capsys):
        assert main(["scenarios", "--schema"]) == 0
        said = capsys.readouterr().out
        assert (said.isascii(), msgspec.json.decode(said)) == (
            True,
            msgspec.json.decode(msgspec.json.encode(scenario_schema())),
        )


class TestCompletion:
    """Scripts for shells, read off the parsers of the commands."""

    def complete(self, capsys, *words):
        assert main(["completion", "bash"]) == 0
        script = f"{capsys.readouterr().out}\nCOMP_WORDS=(stampede {' '.join(words)})\nCOMP_CWORD={len(words)}\n"
        script += '_stampede\nprintf "%s\\n" "${COMPREPLY[@]}"'
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()

    @pytest.mark.parametrize(
        ("words", "wanted"),
        [
            (["expl"], ["explain"]),
            (["run", "partition"], ["partition-heal"]),
            (["run", "--fa"], ["--faults"]),
            (["sweep", "--ju"], ["--junit"]),
        ],
    )
    def test_commands_options_and_scenarios_are_completed(self, capsys, words, wanted):
        assert self.complete(capsys, *words) == wanted

    def run_in(self, shell, tmp_path, capsys, *arguments):
        """Run a shell with its script as the last argument; a machine need not have each of them."""
        program = shutil.which(shell)
        if program is None:
            pytest.skip(f"no {shell} on this machine: its completion is not tried")
        assert main(["completion", shell]) == 0
        script = tmp_path / f"stampede.{shell}"
        script.write_text(capsys.readouterr().out)
        command = [program, *(each.format(script=script) for each in arguments)]
        environment = {**os.environ, "HOME": str(tmp_path), "ZDOTDIR": str(tmp_path)}
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path).stdout

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_each_script_is_one_that_its_shell_reads(self, tmp_path, capsys, shell):
        assert self.run_in(shell, tmp_path, capsys, "-n", "{script}") == ""

    @pytest.mark.parametrize(
        ("typed", "wanted"),
        [("stampede expl", "explain"), ("stampede run outage-s", "outage-storm"), ("stampede completion zs", "zsh")],
    )
    def test_fish_completes_by_its_script(self, tmp_path, capsys, typed, wanted):
        found = self.run_in("fish", tmp_path, capsys, "--no-config", "-c", f'source {{script}}; complete -C "{typed}"')

        assert wanted in found.split()

    def test_zsh_takes_its_script_without_any_configuration(self, tmp_path, capsys):
        """A .zshrc that starts no completion of its own is usual."""
        command = "source {script} && print -r -- $_comps[stampede]"

        assert "_stampede" in self.run_in("zsh", tmp_path, capsys, "-f", "-i", "-c", command)

    def test_each_shell_has_a_script(self, capsys):
        for shell, word in (("zsh", "bashcompinit"), ("fish", "__fish_use_subcommand")):
            assert main(["completion", shell]) == 0
            assert word in capsys.readouterr().out
