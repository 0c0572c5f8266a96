"""Errors that plug-ins raise: each is told with file and line on the console, in `explain` and on the page."""

import json
import os
import subprocess
import sys

import pytest

from checker.record.root import PROJECT_ROOT
from tests.support.keystones import rest_in_soak, third_of
from tests.support.plugins import toy_path, write_distribution

CRACKED = """
from stampede_testbed.plugin.faults import Edge
from stampede_toy.actors import Countdown
from stampede_toy.checks import PairedFires
from stampede_toy.faults import Mute
from stampede_toy.policies import Prompt, PromptInBlock
from stampede_toy.workloads import Countdowns


class BadActor(Countdown):
    def handle_timer(self, payload):
        if self.host.get(b"left") == bytes([8]):
            payload[1]  # actor
        super().handle_timer(payload)


class BadPolicy(Prompt):
    name = "bad-policy"

    def open(self, block):
        return BadBlock(block, super().open(block).context)


class BadBlock(PromptInBlock):
    def run(self, phase):
        if self.block.moment.height == 2:
            raise LookupError("no such lane")  # policy
        return super().run(phase)


class BadWorkload(Countdowns, tag="bad-workload", frozen=True, kw_only=True):
    def transactions(self, site):
        yield from super().transactions(site)
        {}["wages"]  # workload


class BadFault(Mute, tag="bad-fault", frozen=True, kw_only=True):
    def inject(self, context):
        yield Edge(self.start_ms, self.stop_ms, "start", self.begin)

    def begin(self):
        raise ValueError("no link\\nis left")  # fault


class BadSentence(Mute, tag="bad-sentence", frozen=True, kw_only=True):
    def describe(self):
        return self.whom  # sentence


class BadSettle(PairedFires):
    name = "bad-settle"

    def settle(self, block):
        1 // (block.height - 2)  # settle


class BadFinish(PairedFires):
    name = "bad-finish"

    def finish(self):
        raise SystemExit("nothing to say")  # finish
"""

ENTRIES = {
    "actors": {"countdown": "cracked:BadActor"},
    "faults": {
        "mute": "cracked:Mute",
        "bad-fault": "cracked:BadFault",
        "bad-sentence": "cracked:BadSentence",
    },
    "policies": {"bad-policy": "cracked:BadPolicy"},
    "workloads": {"countdowns": "cracked:Countdowns", "bad-workload": "cracked:BadWorkload"},
}

SCENARIO = """
name = "cracks"
title = "A plug-in that raises errors"
plugins = ["cracked"]
oracle = "off"

[workload.toys]
kind = "countdowns"

[faults.silence]
kind = "mute"
validator = 3
start_ms = 1_000
stop_ms = 3_000

[run]
until_height = 3
"""

CHECKS = {"settle": "cracked:BadSettle", "finish": "cracked:BadFinish"}

BREAKS_OFF = {
    "fault": ("faults.silence.kind=bad-fault", "ValueError at {} in begin of plug-in cracked: no link is left"),
    "settle": (
        'plugins=["cracked", "cracked-settle"]',
        "ZeroDivisionError at {} in settle of plug-in cracked-settle: integer division or modulo by zero",
    ),
    "finish": (
        'plugins=["cracked", "cracked-finish"]',
        "SystemExit at {} in finish of plug-in cracked-finish: nothing to say",
    ),
}
"""By kind of error, the setting that meets it and its line: errors that end a run."""

GOES_ON = {
    "actor": ("workload.toys.count=9", "IndexError at {} in handle_timer of plug-in cracked: index out of range", 3),
    "policy": ("chain.policy=bad-policy", "LookupError at {} in run of plug-in cracked: no such lane", 1),
}
"""By kind of error, the setting that meets it, its line and the exit code: errors of validators, whose run goes on."""

COMES_TO_NO_RUN = {
    "workload": (
        "run",
        "workload.toys.kind=bad-workload",
        "KeyError at {} in transactions of plug-in cracked: 'wages'",
    ),
    "sentence": (
        "check",
        "faults.silence.kind=bad-sentence",
        "AttributeError at {} in describe of plug-in cracked: 'BadSentence' object has no attribute 'whom'",
    ),
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The environment of processes that find the plug-ins."""
    folder = tmp_path_factory.mktemp("installed")
    path = toy_path(folder)
    (folder / "cracked.py").write_text(CRACKED)
    write_distribution(folder, "cracked", ENTRIES)
    for name, value in CHECKS.items():
        write_distribution(folder, f"cracked-{name}", {"checks": {f"bad-{name}": value}})
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


@pytest.fixture
def stampede(environment, tmp_path):
    """A function that runs a command in a folder with the scenario."""
    (tmp_path / "cracks.toml").write_text(SCENARIO)

    def run(*arguments):
        return subprocess.run(
            [sys.executable, str(PROJECT_ROOT / "run_cluster.py"), *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def line_of(kind, said):
    """Return the line about an error, with its place in the source."""
    (number,) = [number for number, line in enumerate(CRACKED.splitlines(), 1) if line.endswith(f"  # {kind}")]
    return said.format(f"cracked.py:{number}")


def squeezed(text):
    """Return a text without the breaks that a table makes."""
    return "".join(text.split())


@pytest.mark.soak
def test_without_a_crack_the_plugin_passes(stampede):
    assert stampede("run", "cracks.toml").returncode == 0


@pytest.mark.parametrize("kind", third_of(BREAKS_OFF))
def test_an_error_that_ends_a_run_is_told_with_its_place(kind, stampede, tmp_path):
    setting, said = BREAKS_OFF[kind]
    said = line_of(kind, said)
    record = "runs/cracks-0-unfinished"
    done = stampede("run", "cracks.toml", "--set", setting)
    explained = stampede("explain", record)

    assert done.returncode == 2, done.stderr
    assert f": {said}, at virtual time " in done.stderr.splitlines()[-1]
    assert done.stderr.endswith(f"the unfinished record is {tmp_path / record}\n")
    assert (explained.returncode, explained.stdout.partition(", at virtual")[0]) == (3, f"unfinished: {said}")
    assert "\nrepeat with: " in explained.stdout
    assert said.replace("'", "&#39;") in (tmp_path / record / "report.html").read_text()


@pytest.mark.parametrize("kind", rest_in_soak(GOES_ON, ["policy"]))
@pytest.mark.soak
def test_an_error_in_validators_is_told_with_its_place(kind, stampede, tmp_path):
    setting, said, exit_code = GOES_ON[kind]
    said = line_of(kind, said)
    done = stampede("run", "cracks.toml", "--set", setting)
    explained = stampede("explain", "runs/cracks-0")
    verdict = json.loads((tmp_path / "runs/cracks-0/verdict.json").read_text())

    assert done.returncode == exit_code, done.stdout
    assert [check["summary"] for check in verdict["checks"] if check["name"] == "plug-ins"] == [said]
    assert squeezed(said) in squeezed(done.stdout.replace("│", ""))
    assert said in explained.stdout
    assert said.replace("'", "&#39;") in (tmp_path / "runs/cracks-0/report.html").read_text()


@pytest.mark.parametrize("kind", COMES_TO_NO_RUN)
def test_an_error_before_the_run_is_told_with_its_place(kind, stampede):
    command, setting, said = COMES_TO_NO_RUN[kind]
    done = stampede(command, "cracks.toml", "--set", setting)

    assert done.returncode == 2, done.stderr
    assert f": {line_of(kind, said)}; repeat with: " in done.stderr.splitlines()[-1]


@pytest.mark.soak
def test_a_page_that_a_plugin_keeps_from_being_made_says_where(stampede):
    done = stampede("run", "cracks.toml", "--set", "faults.silence.kind=bad-sentence")

    assert done.returncode == 0
    assert f": {line_of('sentence', COMES_TO_NO_RUN['sentence'][-1])}\n" in done.stderr


@pytest.mark.parametrize("kind", rest_in_soak(["fault", "finish", "actor"], ["actor"]))
@pytest.mark.soak
def test_a_worker_of_a_sweep_tells_it_as_well(kind, stampede):
    setting, said, exit_code = GOES_ON[kind] if kind in GOES_ON else (*BREAKS_OFF[kind], 2)
    done = stampede("sweep", "cracks.toml", "--set", setting, "--seeds", "1..2", "--jobs", "2", "--json")

    assert done.returncode == exit_code, done.stderr
    assert line_of(kind, said) in done.stdout
