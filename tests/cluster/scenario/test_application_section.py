"""`[application]`: the command is found before a run and not for a record, and keys of our own chain are refused."""

import json
import sys
from pathlib import Path

import pytest

from cluster.scenario.defaults import without_defaults
from cluster.scenario.load import convert_scenario, decode_scenario, encode_scenario, load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.scenario.sections.commands import refuse_unnamed_application

HEAD = 'name = "theirs"\ntitle = "somebody else\'s chain"\n'
CALLS = '[workload.calls]\nkind = "application"\ncount = 3\n'
OWN = f"{sys.executable} -m stampede_testbed.application"


@pytest.fixture
def file(tmp_path):
    """A scenario beside the program that it names."""
    program = tmp_path / "ledger"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = tmp_path / "theirs.toml"
    path.write_text(f'{HEAD}[application]\ncommand = ["./ledger", "--fast"]\n{CALLS}')
    return path


def refusal(*of, **more):
    with pytest.raises(ScenarioError) as refused:
        load_scenario(*of, **more)
    assert "\n" not in str(refused.value)
    return str(refused.value)


class TestCommand:
    def test_a_word_with_a_slash_is_of_the_scenarios_folder(self, file):
        application = load_scenario(str(file)).application

        assert application.command == (str(file.parent / "ledger"), "--fast")
        assert application.folder == str(file.parent)

    def test_a_word_without_a_slash_is_looked_up_in_path(self, file, monkeypatch):
        monkeypatch.setenv("PATH", str(file.parent))
        application = load_scenario(str(file), ['application.command=["ledger"]']).application

        assert application.command == (str(file.parent / "ledger"),)
        assert "PATH has no program 'legder'" in refusal(str(file), ['application.command=["legder"]'])

    def test_the_command_line_replaces_the_command_and_the_folder_alone(self, file, tmp_path, monkeypatch):
        here = tmp_path / "here"
        here.mkdir()
        (here / "mine").write_text("#!/bin/sh\n")
        (here / "mine").chmod(0o755)
        monkeypatch.chdir(here)
        settings = ("application.framing=msgpack", "application.parameters.fee=3")
        application = load_scenario(str(file), settings, "./mine 'two words'").application

        assert application.command == (str(here / "mine"), "two words")
        assert application.folder == str(here)
        assert (application.framing, application.parameters) == ("msgpack", {"fee": 3})

    def test_a_scenario_without_the_section_gets_one_from_the_command_line(self):
        assert load_scenario("calm").application is None
        assert load_scenario("calm", (), OWN).application.is_own

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("'", """--application "'": is no command: No closing quotation"""),
            (" ", "--application ' ': names no program"),
            ("a\nb", "--application: must be printable and at most 2,000 characters"),
            ("x" * 2_001, "--application: must be printable and at most 2,000 characters"),
        ],
    )
    def test_a_text_that_is_no_command_is_refused(self, file, text, line):
        assert refusal(str(file), (), text) == line

    def test_a_program_that_is_not_there_is_refused_where_it_is_named(self, file):
        (file.parent / "ledger").unlink()

        missing = f"application.command: there is no program {file.parent / 'ledger'}, or it cannot be run"
        assert refusal(str(file)) == f"{file}: {missing}"
        assert refusal(str(file), (), "./ledger").startswith("--application: application.command: there is no program")

    def test_a_record_needs_no_program(self, file):
        scenario = load_scenario(str(file))
        (file.parent / "ledger").unlink()

        assert decode_scenario(encode_scenario(scenario), "record") == scenario

    def test_a_scenario_of_anybodys_application_is_read_and_not_run(self, file):
        scenario = load_scenario(str(file), ["application.command=[]"])

        assert scenario.application.folder == ""
        with pytest.raises(ScenarioError, match=r"theirs: application\.command: name the application by --application"):
            refuse_unnamed_application(scenario)
        refuse_unnamed_application(load_scenario(str(file)))
        refuse_unnamed_application(load_scenario("calm"))

    def test_the_own_engine_is_known_by_its_module(self, file):
        assert not load_scenario(str(file)).application.is_own
        assert not load_scenario(str(file), (), f"{sys.executable} stampede_testbed.application").application.is_own
        assert load_scenario(str(file), (), OWN).application.is_own


class TestFolder:
    def test_it_is_absolute_and_there(self, file):
        assert "application.folder: must be an absolute path" in refusal(str(file), ["application.folder=here"])
        missing = f"{file}: application.folder: there is no folder /dev/null/here"
        assert refusal(str(file), ["application.folder=/dev/null/here"]) == missing

    def test_a_plan_that_was_written_elsewhere_keeps_it(self, file, tmp_path):
        other = tmp_path / "other"
        other.mkdir()
        text = file.read_text().replace("[workload", f'folder = "{file.parent}"\n[workload', 1)
        (other / "plan.toml").write_text(text)

        assert load_scenario(str(other / "plan.toml")).application == load_scenario(str(file)).application


class TestParameters:
    VALUES = '{a = 1, big = 18_446_744_073_709_551_615, on = true, none = {}, list = ["x", [2]], table = {b = "c"}}'

    def test_they_are_kept_as_they_are(self, file):
        scenario = load_scenario(str(file), [f"application.parameters={self.VALUES}"])

        stated = {"a": 1, "big": 2**64 - 1, "on": True, "none": {}, "list": ["x", [2]], "table": {"b": "c"}}
        assert scenario.application.parameters == stated
        assert decode_scenario(encode_scenario(scenario), "record") == scenario

    @pytest.mark.parametrize(
        ("setting", "reason"),
        [
            ("fee=1.5", "fee: is a number with a fraction"),
            ("a.b={c = [1, 2026-01-01]}", "a.b.c[1]: is a date or time"),
            (
                "big=18_446_744_073_709_551_616",
                "big: is 18446744073709551616; a whole number is from -2^63 to 2^64 - 1",
            ),
            (f"deep={'[' * 32}{']' * 32}", f"deep{'[0]' * 31}: is nested deeper than 32 tables and lists"),
        ],
    )
    def test_what_no_frame_carries_is_refused_with_its_key(self, file, setting, reason):
        assert f"application.parameters.{reason}" in refusal(str(file), [f"application.parameters.{setting}"])


class TestWithoutDefaults:
    def test_a_small_plan_is_the_same_scenario(self, file):
        scenario = load_scenario(str(file), ["application.parameters={none = {}}"])
        small = without_defaults(json.loads(encode_scenario(scenario)))

        assert "call_timeout_ms" not in small["application"]
        assert convert_scenario(small, "small") == scenario

    def test_a_section_that_says_nothing_stays(self, file):
        scenario = load_scenario(str(file), ["application={}"])

        assert convert_scenario(without_defaults(json.loads(encode_scenario(scenario))), "small") == scenario


class TestRules:
    @pytest.mark.parametrize(
        "setting",
        [
            "chain.policy=eip1559",
            "chain.block_cycles=7",
            "chain.min_basefee=70",
            "chain.profile=intro",
            "chain.timers.max_ttl_blocks=7",
            "chain.lane.weight_max=[1, 1]",
            "chain.calendar.ring_size=64",
            "chain.activation.height=7",
            "chain.state_triggers=true",
        ],
    )
    def test_a_key_of_our_chain_is_refused(self, file, setting):
        key = setting.partition("=")[0]
        asked = ["chain.activation.previous=fifo-free", setting] if "activation" in key else [setting]
        line = refusal(str(file), asked)

        keys = "id, timebase, slot_ms, block_interval_ms, max_skew_ms"
        assert line == f"{file}: {key}: an application brings its own rules; of [chain] it has {keys}"

    def test_a_record_of_a_changed_time_is_read_again(self, file):
        settings = ("chain.slot_ms=500", "chain.timebase=height", "chain.block_interval_ms=700", "chain.id=mine")
        scenario = load_scenario(str(file), (*settings, "chain.max_skew_ms=3"))

        assert decode_scenario(encode_scenario(scenario), "record") == scenario

    @pytest.mark.parametrize(
        ("setting", "reason"),
        [
            ('workload.pulse={kind = "heartbeats", actors = 1}', "workload.pulse: heartbeats is of the project's own"),
            ("mutants.order-of-a-set=[0]", "mutants.order-of-a-set: is a mutant of the project's own scheduler"),
            ("run.audit_reorgs=true", "run.audit_reorgs: is about the state"),
            ("expect.counts.fired=1", "expect.counts: counts events of the project's own chain"),
            ("expect.at_most.fired=1", "expect.at_most: counts"),
            ("expect.fired_by.calls=1", "expect.fired_by: counts"),
            ("expect.audited_min=1", "expect.audited_min: counts"),
            ("expect.storm={dead_timers_min=1, actors_min=1, drain_blocks_min=1}", "expect.storm: counts"),
            ("expect.rules.fired-deferred=1", "expect.rules.fired-deferred: is a rule of the project's own chain"),
        ],
    )
    def test_what_counts_on_our_chain_is_refused(self, file, setting, reason):
        assert reason in refusal(str(file), [setting])

    @pytest.mark.parametrize(
        "setting",
        ["expect.rules.nullify-repeated=1", "mutants.offers-not-all=[0]", "expect.rolled_back_min=1", "oracle=off"],
    )
    def test_what_is_of_consensus_is_taken(self, file, setting):
        assert load_scenario(str(file), [setting])

    def test_our_engine_behind_the_protocol_keeps_our_keys(self):
        scenario = load_scenario("lane-triggers", (), OWN)

        assert (scenario.application.is_own, scenario.chain.policy) == (True, "eip1559")

    def test_transactions_of_an_application_need_one(self, tmp_path):
        path = Path(tmp_path / "nobodys.toml")
        path.write_text(HEAD + CALLS)

        reason = "its transactions are for an application: name one in [application] or by --application"
        assert refusal(str(path)) == f"{path}: workload.calls: {reason}"
