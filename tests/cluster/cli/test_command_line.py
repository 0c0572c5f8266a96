"""The front door: what it prints, what it refuses, and what it leaves behind."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checker.record.root import PROJECT_ROOT
from tests.support.commands import run_command
from tests.support.keystones import third_of

SMALL = ("--set", "run.until_height=3")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return a run directory of a short calm run, and what the run printed."""
    runs = tmp_path_factory.mktemp("runs")
    done = run_command("run", "calm", *SMALL, "--json", "--runs", str(runs))
    return Path(json.loads(done.stdout)["directory"]), done


def test_json_is_one_object_and_nothing_else(recorded):
    """Standard output can be piped; nothing is said on standard error."""
    directory, done = recorded

    answer = json.loads(done.stdout)

    assert (done.returncode, done.stderr) == (0, "")
    assert {"scenario", "seed", "verdict", "digest", "checks", "validators", "figures"} <= answer.keys()
    assert (answer["scenario"], answer["seed"], answer["verdict"]) == ("calm", 0, "passed")
    assert directory.is_dir()
    assert directory.name == "calm-0"


def test_a_run_prints_its_story_and_verdict(tmp_path):
    """A person sees replicas, families, verdict, digest and where the record is; all parts where they are asked for."""
    plain, parts = (
        run_command("run", "calm", *SMALL, "--runs", str(tmp_path), *more).stdout for more in ((), ("--checks", "all"))
    )

    for expected in ("4 validators", "with root", "passed  ", "passed: ", "digest", "record"):
        assert expected in plain
        assert expected in parts
    for expected in ("finalized ┃", "cold-replay", "took "):
        assert (expected in plain, expected in parts) == (False, True)


def test_a_run_that_is_not_passed_prints_the_command_that_repeats_it(tmp_path):
    """Exit 3, and the settings stand in the command."""
    setting = "faults.split.enabled=false"
    done = run_command("run", "partition-heal", *SMALL, "--set", setting, "--seed", "5", "--runs", str(tmp_path))

    assert done.returncode == 3
    assert f"run partition-heal --seed 5 --set run.until_height=3 --set {setting}" in done.stdout


def test_a_run_writes_a_directory_that_replays_to_the_same_digest(recorded):
    """The record alone is enough."""
    directory, _ = recorded

    done = run_command("replay", str(directory), "--json")

    answer = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert answer["digest"] == json.loads((directory / "manifest.json").read_text())["digest"]
    assert [check["status"] for check in answer["checks"] if check["name"] == "replay"] == ["passed"]


@pytest.mark.soak
def test_check_determinism_adds_its_check(tmp_path):
    """Two processes, one digest."""
    done = run_command("run", "calm", *SMALL, "--check-determinism", "--json", "--runs", str(tmp_path))

    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert done.returncode == 0, done.stderr
    assert checks["determinism"]["status"] == "passed"


def test_scenarios_are_listed_with_their_titles():
    """Names to type, and the default marked."""
    done = run_command("scenarios")

    assert done.returncode == 0
    assert "outage-storm" in done.stdout
    assert "(default)" in done.stdout
    assert {"name", "title", "faults"} <= json.loads(run_command("scenarios", "--json").stdout)["scenarios"][0].keys()


def test_check_explains_each_fault_in_a_sentence():
    """A sentence has the kind, the target, the start and the end; nothing is run."""
    done = run_command("check", "outage-storm", "--set", "faults.split.enabled=false")

    assert (done.returncode, done.stderr) == (0, "")
    said = " ".join(done.stdout.split())
    assert "split (kind partition, must take effect, switched off): From 40 s to 50 s all links between {0, 1}" in said
    assert "blackout (kind blackout, must take effect): At 62 s validators 0, 1, 2 and 3 lose their power at" in said


def test_check_answers_in_json():
    """One object: each fault with its kind, its span and its sentence."""
    done = run_command("check", "lossy", "--json")

    answer = json.loads(done.stdout)
    (fault,) = answer["faults"]
    assert (answer["scenario"], done.returncode, done.stderr) == ("lossy", 0, "")
    assert (fault["name"], fault["kind"], fault["is_required"]) == ("weather", "links", True)
    assert (fault["start_ms"], fault["stop_ms"]) == (0, 90_000)
    assert "lose 50 % of messages" in fault["sentence"]


@pytest.mark.parametrize(
    ("setting", "rule"),
    [
        ("faults.weather.stop_ms=0", "faults.weather.stop_ms: 0 is not after the start at 0"),
        ("faults.weather.between=[[0, 9]]", "faults.weather: unknown validator 9; this cluster has 0 to 3"),
        ("faults.weather.stop_ms=600_000", "faults.weather: ends at 600000, not before run.time_limit_ms"),
        ("chain.cell_basefee=799", "chain.cell_basefee: must be at least chain.min_basefee, which is 800"),
        ("chain.min_basefee=7", "Expected `int` >= 8"),
        ("faults.weather.speed=3", "faults.weather: Object contains unknown field `speed`"),
        (
            'faults.x={kind="slow", validator=0, factor=1, start_ms=1, stop_ms=2}',
            "faults.x.factor: Expected `int` >= 2",
        ),
        ('faults.x={kind="rule", action="burn", stop_ms=2}', "faults.x.action: Invalid enum value 'burn'"),
    ],
)
def test_check_refuses_a_plan_that_cannot_be_meant(setting, rule):
    """Exit 2, one line, the key and the rule."""
    done = run_command("check", "lossy", "--set", setting)

    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert rule in done.stderr


GOVERNANCE = '[workload.w]\nkind = "governance"\nactions = [{ at_ms = 1, %s }]'
STORM = """[workload.w]
kind = "storm"
actors = 1
timers_per_actor = 9
first_slot = 9
spread_slots = 1
ttl_slots = 1
"""
BAD_SCENARIOS = {
    "unknown key": (
        "[network]\nlatncy_ms = 4",
        "field `latncy_ms` (did you mean latency_ms?); the keys are distribution, latency_ms",
    ),
    "unknown section": (
        "[netwrk]",
        "unknown field `netwrk` (did you mean network?); the keys are name, title, requires, ",
    ),
    "unknown key of a fault": (
        '[faults.f]\nkind = "crash"\nvalidatr = 0\nat_ms = 5\nrestart_ms = 9',
        "field `validatr` (did you mean validator?); the keys are kind, enabled, may_be_idle, anchor, at_ms",
    ),
    "wrong type": ('[network]\nlatency_ms = "fast"', "network.latency_ms: Expected `int`, got `str`"),
    "negative time": (
        '[faults.f]\nkind = "crash"\nvalidator = 0\nat_ms = -5\nrestart_ms = 9',
        "faults.f",
    ),
    "unknown validator": (
        '[faults.f]\nkind = "partition"\ngroups = [[0], [7]]\nstart_ms = 1\nstop_ms = 2',
        "faults.f: unknown validator 7; this cluster has 0 to 3",
    ),
    "unknown fault kind": (
        '[faults.f]\nkind = "meteor"',
        "faults.f.kind: Invalid value 'meteor'; the kinds are bit-rot, blackout, byzantine, c",
    ),
    "unknown requirement": ('requires = ["g"]', "requires: no fault or workload is named 'g'"),
    "a timer key beyond its range": (
        "[chain.timers]\ngc_cycles_per_block = 9223372036854775808",
        "gc_cycles_per_block",
    ),
    "a configuration key that is not there": (
        GOVERNANCE % 'do = "configure", set = { pause = true }',
        "workload.w: actions[0].set: pause: no such key; there are max_ttl_blocks",
    ),
    "a configuration value of the wrong type": (
        GOVERNANCE % 'do = "configure", set = { gc_lane_paused = 1 }',
        "workload.w: actions[0].set: Expected `bool`, got `int`",
    ),
    "a mode of a validator that is not there": (
        "[validators.4]\nprune_every = 1",
        "validators.4: there is no validator of this number; they are 0 to 3",
    ),
    "an unknown apply mode": (
        '[validators.1]\napply = "early"',
        "validators.1.apply: Invalid enum value 'early'; it can be finalized or certified",
    ),
    "an unknown key of a mode": (
        "[validators.1]\nretain = 1",
        "field `retain` (did you mean retain_blocks?); the keys are apply, retain_blocks, prune_every",
    ),
    "applying early without anything to take back": (
        '[validators.1]\napply = "certified"\nretain_blocks = 0',
        'validators.1.retain_blocks: must be 1 or more where apply = "certified"',
    ),
    "no lane": (
        GOVERNANCE % 'do = "configure", set = { lane_timer_cycles = 0 }',
        "workload.w: actions[0].set: lane_timer_cycles: must be above zero",
    ),
    "governance of a storm that is not there": (
        GOVERNANCE % 'do = "cancel", workload = "s"',
        "workload.w: actions[0]: no storm is named 's'; there are none",
    ),
    "a cancel flood without a time": (
        STORM + "cancels_per_actor = 1",
        "workload.w: cancel_ms and cancels_per_actor belong together",
    ),
    "another's money where the sender pays": (
        STORM + 'payer = "sender"\nunfunded_actors = 1',
        "workload.w: unfunded_actors means nothing where payer is sender",
    ),
    "one name for a fault and a workload": (
        'requires = ["f"]\n'
        + STORM.replace("workload.w", "workload.f")
        + '[faults.f]\nkind = "crash"\nvalidator = 0\nat_ms = 5\nrestart_ms = 9',
        "requires: both a fault and a workload are named 'f'",
    ),
    "timeouts": ("[consensus]\nleader_timeout_ms = 500", "chain.block_interval_ms"),
    "not TOML": ("= = =", "not a TOML file"),
}


@pytest.mark.parametrize("what", BAD_SCENARIOS)
def test_a_bad_scenario_is_one_clear_line_and_nothing_is_written(what, tmp_path):
    """Exit 2, the place and what is wrong; no traceback, no run directory."""
    text, expected = BAD_SCENARIOS[what]
    path = tmp_path / "bad.toml"
    header, body = ("", text) if text.startswith("requires") else (text, "")
    path.write_text(f'name = "bad"\ntitle = "bad"\n{body}\n{header}\n')

    done = run_command("run", str(path), "--runs", str(tmp_path / "runs"))

    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "bad.toml" in done.stderr
    assert expected in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("run", "no-such"), "no such scenario; `run_cluster.py scenarios` lists all, or give a path"),
        (("run", "./no-such.toml"), "no such scenario file"),
        (("run", "/"), "/: is a folder, and no plain file"),
        (("run", "calm", "--seed", "-1"), "--seed"),
        (("run", "calm", "--seed", "x"), "--seed"),
        (("run", "calm", "--reseed", "0:7"), "'0:7' is not TURN:SEED, with a turn from 1 on"),
        (
            ("run", "calm", "--reseed", "9:1", "--reseed", "9:2"),
            "run.reseed: names its turns in their order, each once",
        ),
        (("run", "calm", "--reseed", "9:1", "--data-dir", "none"), "--reseed and --data-dir exclude each other"),
        (("run", "calm", "--set", "run"), "must read key=value"),
        (("run", "calm", "--set", "run.until_height=0"), "run.until_height"),
        (
            ("run", "lossy", "--set", "faults.nope.enabled=false"),
            "nothing in faults is named 'nope'; there are weather",
        ),
        (("run", "calm", "--set", "faults.new.kind=crash"), "faults.new: Object missing required field `at_ms`"),
        (("run", "calm", "--set", "title.x=1"), "title is a value, not a section"),
        (("run", "calm", "--set", "cluster.validators=200"), "cluster.validators"),
        (("fly",), "fly"),
        (("replay", "no-such-directory"), "no such run directory"),
        (("replay",), "RUN_DIRECTORY"),
    ],
)
def test_bad_arguments_are_one_clear_line(arguments, expected, tmp_path):
    """Exit 2, no traceback, nothing written."""
    done = run_command(*arguments, cwd=tmp_path)

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert expected in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["scenario.json", "events.msgpack", "blocks.msgpack", "genesis.msgpack", "manifest.json"]
)
def test_a_damaged_run_directory_is_refused_with_the_file(name, recorded, tmp_path):
    """One changed byte in any file is found before anything runs."""
    directory, _ = recorded
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in directory.iterdir():
        content = bytearray(path.read_bytes())
        if path.name == name:
            content[len(content) // 2] ^= 1
        (copy / path.name).write_bytes(content)

    done = run_command("replay", str(copy))

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert name in done.stderr or "manifest" in done.stderr


def test_a_place_that_is_not_ours_is_not_overwritten(tmp_path):
    """Other content in the run directory's place is left alone, and reported before the run."""
    (tmp_path / "calm-0").mkdir()
    (tmp_path / "calm-0" / "precious.txt").write_text("keep")

    done = run_command("run", "calm", "--runs", str(tmp_path))

    assert done.returncode == 2
    assert "holds no run" in done.stderr
    assert (tmp_path / "calm-0" / "precious.txt").read_text() == "keep"


def test_another_python_is_one_clear_line_and_exit_6(tmp_path):
    """The front door parses everywhere and says what it needs."""
    fake = tmp_path / "old.py"
    source = (PROJECT_ROOT / "run_cluster.py").read_text()
    fake.write_text(source.replace("import sys\n", "import sys\nsys.version_info = (3, 9, 1)\n", 1))

    done = subprocess.run([sys.executable, str(fake)], capture_output=True, text=True, check=False)

    assert done.returncode == 6
    assert done.stderr.startswith("stampede needs Python 3.11, 3.12 or 3.13; this is 3.9")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("arguments", [[], ["--help"], ["faults"]])
def test_missing_libraries_are_one_clear_line_and_exit_6(arguments):
    """Without the environment the front door says how to get one."""
    done = subprocess.run(
        [sys.executable, "-S", "-E", str(PROJECT_ROOT / "run_cluster.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )

    assert done.returncode == 6
    assert "'make run' installs it in a clone" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", third_of(["blocks.msgpack", "branches.msgpack", "roots.msgpack"]))
def test_a_record_whose_chain_is_not_its_events_is_refused(name, recorded, tmp_path):
    """Hashes that fit do not make it true: the chain is compared with the fresh run."""
    directory, _ = recorded
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in directory.iterdir():
        (copy / path.name).write_bytes(b"" if path.name == name else path.read_bytes())
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["files"][name] = {"size": 0, "sha256": hashlib.sha256(b"").hexdigest()}
    (copy / "manifest.json").write_text(json.dumps(manifest))

    done = run_command("replay", str(copy))

    assert done.returncode == 2
    assert name in done.stderr


def test_a_plugin_that_is_gone_is_bad_input(monkeypatch, capsys):
    """A record may name one that this machine has not."""
    from checker.record.plugins import PluginError
    from cluster.cli import main
    from cluster.cli.commands.runs import scenarios

    def refuse(_options):
        raise PluginError("no plug-in named gone is installed")

    monkeypatch.setattr(scenarios, "list_scenarios", refuse)

    assert main.main(["scenarios"]) == 2
    assert capsys.readouterr().err.endswith(": no plug-in named gone is installed\n")


@pytest.mark.parametrize("what", [ZeroDivisionError("so it goes"), SystemExit(0)])
def test_what_nobody_foresaw_is_one_line_with_exit_6(what, tmp_path, monkeypatch, capsys):
    """No traceback, and the command that repeats it."""
    from cluster.cli import main
    from cluster.cli.commands.runs import run

    def burst(*arguments, **options):
        raise what

    monkeypatch.setattr(run, "run_pipeline", burst)

    code = main.main(["run", "calm", "--runs", str(tmp_path)])

    said = capsys.readouterr().err
    assert code == 6
    assert f"the test bed broke: {type(what).__name__}: {what}; repeat with: " in said
    assert "run calm --runs" in said


def test_every_command_has_its_line_in_the_help(capsys):
    """A file in the folder of commands is a command, with a help of its own."""
    from cluster.cli import main

    names = {path.stem for path in (PROJECT_ROOT / "cluster/cli/commands").glob("*/*.py")} - {"__init__"}

    assert set(main.COMMANDS) == names
    for name in names:
        with pytest.raises(SystemExit, match="0"):
            main.main([name, "--help"])
        assert f"usage: run_cluster.py {name} " in capsys.readouterr().out


def test_the_help_imports_nothing_that_only_runs_need():
    """All commands with what they need take three quarters of a second, and a shell's completion asks for the help."""
    script = (
        "import sys; from cluster.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print('imported', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
    imported = {name.split(".")[0] for name in done.stdout.split("imported ")[-1].split()}

    assert "cluster" in imported
    assert not imported & {"trio", "rich", "networkx", "msgpack", "nacl", "faults", "validators"}


@pytest.mark.soak
def test_a_run_its_page_and_its_explanation_load_no_mutants():
    """The catalogue is an eighth of a second of each process that ends a run."""
    script = "import sys, cluster.verdict.pipeline, cluster.page.write, report.page.render; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)

    assert "checker.explain" in done.stdout.split()
    assert [name for name in done.stdout.split() if name.startswith(("checker.mutants", "cluster.swarm"))] == []


@pytest.mark.soak
def test_a_run_loads_what_its_end_needs_at_its_end(tmp_path):
    """They were an eighth of the time to its first event."""
    script = (
        "import os, sys; from network.trace import EventChain\n"
        "EventChain.add = EventChain.show = lambda *_: (print(*sys.modules, flush=True), os._exit(0))\n"
        "from cluster.cli.main import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", script, "run", "calm", "--quiet", "--runs", str(tmp_path)]
    done = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()

    later = (
        "checker.oracle.replay",
        "checker.mutants",
        "checker.explain.report",
        "cluster.page.write",
        "cluster.swarm.generator",
    )
    assert "checker.checks.oracle" in loaded
    assert not set(later) & set(loaded)
