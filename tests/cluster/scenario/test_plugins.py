"""A package outside the tree: what it brings runs like what is built in, in every process of a run."""

import json
import os
import subprocess
import sys

import pytest

from checker.record.root import PROJECT_ROOT
from tests.support.keystones import third_of
from tests.support.plugins import TOY, toy_path, write_distribution

TOYS = """
name = "toys"
title = "A scenario of another package"
plugins = ["stampede-toy"]

[chain]
policy = "prompt"

[workload.toys]
kind = "countdowns"
actors = 2

[faults.silence]
kind = "mute"
validator = 3
start_ms = 1_000
stop_ms = 3_000

[expect.fired_by]
toys = 3

[run]
until_height = 6
"""


HALVES = """
from typing import ClassVar

from checker.checks.check import Check
from cluster.workloads.submission import Volume, WorkloadKind
from faults.kinds.base import Windowed
from validators.actors.calls import Actor


class Fault(Windowed, tag="half", frozen=True, kw_only=True):
    def describe(self):
        return "It does half."


class Workload(WorkloadKind, tag="half", frozen=True, kw_only=True):
    def volume(self, slots):
        return Volume(1)


class HalfCheck(Check):
    name = "half"


class HalfActor(Actor):
    handlers = ("start", "stop")

    def start(self, payload):
        raise SystemExit(0)


class Policy:
    name = "half"

    def open(self, block):
        return None
"""

HALF = {
    "faults": ("Fault", "fault 'half' of half-faults has no inject"),
    "workloads": ("Workload", "workload 'half' of half-workloads has no genesis and no transactions"),
    "checks": ("HalfCheck", "check 'half' of half-checks has no finish"),
    "actors": ("HalfActor", "actor 'half' of half-actors lists handlers that it does not define: stop"),
    "policies": ("Policy", "policy 'half' of half-policies has no has_ttl and no has_budget"),
}
"""By group a class that lacks something, and the words that refuse it."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The environment of processes that find the toy package, and a second one of other names beside it."""
    folder = tmp_path_factory.mktemp("installed")
    path = toy_path(folder)
    write_distribution(folder, "stampede-copy", {"actors": {"heartbeat": "stampede_toy.actors:Countdown"}})
    write_distribution(folder, "stampede-alias", {"workloads": {"other": "stampede_toy.workloads:Countdowns"}})
    write_distribution(folder, "stampede-number", {"checks": {"number": "stampede_toy.checks:__doc__"}})
    write_distribution(folder, "stampede-twin", {"checks": {"paired-fires": "stampede_toy.checks:PairedFires"}})
    (folder / "halves.py").write_text(HALVES)
    for group, (kind, _) in HALF.items():
        write_distribution(folder, f"half-{group}", {group: {"half": f"halves:{kind}"}})
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


def stampede(tmp_path, installed, *arguments):
    (tmp_path / "toys.toml").write_text(TOYS)
    return subprocess.run(
        [sys.executable, str(PROJECT_ROOT / "run_cluster.py"), *arguments],
        cwd=tmp_path,
        env=installed,
        capture_output=True,
        text=True,
        check=False,
    )


def statuses(done):
    return {check["name"]: check["status"] for check in json.loads(done.stdout)["checks"]}


def test_a_toy_of_each_group_runs_in_run_repeat_and_cold_replay(installed, tmp_path):
    done = stampede(tmp_path, installed, "run", "toys.toml", "--check-determinism", "--json")
    found = statuses(done)

    assert {name: status for name, status in found.items() if status != "passed"} == {"oracle": "inconclusive"}
    assert "does not know the policy prompt" in json.loads(done.stdout)["headline"]
    assert {"cold-replay", "determinism", "faults-effective", "paired-fires", "workloads-effective"} <= set(found)


@pytest.mark.soak
def test_a_record_says_which_plugins_made_it(installed, tmp_path):
    stampede(tmp_path, installed, "run", "toys.toml")
    manifest = json.loads((tmp_path / "runs" / "toys-0" / "manifest.json").read_text())
    again = stampede(tmp_path, installed, "replay", "runs/toys-0", "--json")
    without = stampede(tmp_path, {**installed, "PYTHONPATH": ""}, "replay", "runs/toys-0")

    ((name, version),) = [(plugin["name"], plugin["version"]) for plugin in manifest["plugins"]]
    assert (name, version) == (TOY, "1.0")
    assert statuses(again)["replay"] == "passed"
    assert "no plug-in named stampede-toy is installed" in without.stderr


@pytest.mark.soak
def test_workers_and_their_cold_replays_load_it(installed, tmp_path):
    done = stampede(tmp_path, installed, "sweep", "toys.toml", "--seeds", "1..2", "--jobs", "1", "--json")

    assert list(json.loads(done.stdout)["groups"]) == [
        "inconclusive: oracle: the oracle does not know the policy prompt"
    ]


@pytest.mark.soak
def test_an_actor_that_the_oracle_does_not_know_is_named(installed, tmp_path):
    done = stampede(tmp_path, installed, "run", "toys.toml", "--set", "chain.policy=fifo", "--json")

    assert done.returncode == 3
    assert json.loads(done.stdout)["headline"] == "oracle: the oracle does not know the program countdown"


@pytest.mark.soak
def test_a_policy_with_parameters_and_a_table_passes_every_other_check(installed, tmp_path):
    settings = ("--set", "chain.policy=couples", "--set", "oracle=off")
    done = stampede(tmp_path, installed, "run", "toys.toml", *settings, "--check-determinism", "--json")

    assert done.returncode == 0, done.stdout + done.stderr
    assert statuses(done)["timer-delivery"] == statuses(done)["cold-replay"] == "passed"


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("fires_per_blok=1", "`fires_per_blok` (did you mean fires_per_block?); the keys are fires_per_block"),
        ("fires_per_block=many", "fires_per_block: Expected `int`, got `str`"),
    ],
)
def test_a_wrong_parameter_of_a_policy_is_bad_input(setting, told, installed, tmp_path):
    settings = ("--set", "chain.policy=couples", "--set", f"chain.policy_parameters.{setting}")
    done = stampede(tmp_path, installed, "check", "toys.toml", *settings)

    assert done.returncode == 2
    assert "chain.policy_parameters of couples: " in done.stderr
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.soak
def test_a_parameter_of_a_policy_reaches_genesis(installed, tmp_path):
    settings = ("--set", "chain.policy=couples", "--set", "chain.policy_parameters.fires_per_block=7")
    program = (
        "import sys\n"
        "from cluster.scenario.load import load_scenario\n"
        "chain = load_scenario('toys.toml', [*sys.argv[2::2]]).chain\n"
        "print(chain.policies()[0].config.hex(), chain.policy_parameters)\n"
    )
    (tmp_path / "toys.toml").write_text(TOYS)
    environment = {**installed, "PYTHONPATH": f"{installed['PYTHONPATH']}{os.pathsep}{PROJECT_ROOT}"}
    command = [sys.executable, "-c", program, *settings]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)

    assert done.stdout == "9107 {'fires_per_block': 7}\n"


@pytest.mark.soak
def test_a_run_that_no_oracle_judged_says_so_in_its_headline(installed, tmp_path):
    done = stampede(tmp_path, installed, "run", "toys.toml", "--set", "oracle=off", "--json")
    verdict = json.loads(done.stdout)

    assert (done.returncode, verdict["verdict"]) == (0, "passed")
    assert verdict["headline"].endswith("up to 6; no oracle judged it")
    assert "oracle" not in statuses(done)


@pytest.mark.soak
def test_a_toy_fault_without_effect_cannot_pass(installed, tmp_path):
    done = stampede(tmp_path, installed, "run", "toys.toml", "--set", "faults.silence.kind=harmless", "--json")

    assert (done.returncode, statuses(done)["faults-effective"]) == (3, "inconclusive")


@pytest.mark.soak
def test_a_toy_check_can_fail_and_be_expected_to(installed, tmp_path):
    odd = ("--set", "workload.toys.actors=3", "--json")
    failed = stampede(tmp_path, installed, "run", "toys.toml", *odd)
    expected = stampede(tmp_path, installed, "run", "toys.toml", *odd, "--set", 'expect.fails=["paired-fires"]')

    assert failed.returncode == 1
    assert json.loads(failed.stdout)["headline"].startswith("paired-fires: height 4: 3 timers fired")
    assert statuses(expected)["expected-failures"] == "passed"


@pytest.mark.parametrize(
    ("plugins", "reported"),
    third_of(
        [
            ('["nowhere"]', "no plug-in named nowhere is installed; those that are: half-actors, half-checks,"),
            ('["stampede_toy", "Stampede.Toy"]', "stampede-toy is named twice"),
            (
                '["stampede-toy", "stampede-copy"]',
                "actor 'heartbeat' of stampede-copy has a name taken by the test bed",
            ),
            (
                '["stampede-alias"]',
                "the entry point 'other' of stampede-alias names 'countdowns': both must be the same",
            ),
            ('["stampede-number"]', "is no check: it must be a subclass of Check with a name"),
            ('["stampede-toy", "stampede-twin"]', "two checks are named paired-fires"),
            *((f'["half-{group}"]', reported) for group, (_, reported) in HALF.items()),
            ("[]", "Invalid enum value 'prompt'"),
        ]
    ),
)
def test_a_plugin_that_cannot_be_used_is_bad_input(plugins, reported, installed, tmp_path):
    done = stampede(tmp_path, installed, "check", "toys.toml", "--set", f"plugins={plugins}")

    assert done.returncode == 2
    assert reported in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.soak
def test_a_plugin_that_is_loaded_changes_no_seed_of_the_swarm(installed):
    program = (
        "from cluster.scenario.load import encode_scenario\n"
        "from cluster.scenario.plugins import load_plugins\n"
        "from cluster.swarm.generator import draw_scenario\n"
        "def drawn(): return [encode_scenario(draw_scenario(seed)) for seed in range(20)]\n"
        "before = drawn()\n"
        f"load_plugins(['{TOY}'])\n"
        "assert drawn() == before\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=PROJECT_ROOT, env=installed, check=False)

    assert done.returncode == 0


def test_the_page_on_policies_shows_the_toy_as_it_is():
    code = (PROJECT_ROOT / "tests" / "toy" / "stampede_toy" / "couples.py").read_text()

    assert code in (PROJECT_ROOT / "docs" / "extend" / "policy.md").read_text()
