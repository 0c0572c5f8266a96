"""A record held against its run: what was sealed again is refused, and what other code made is not called a fault."""

import hashlib
import json
import shutil
from pathlib import Path

import msgspec
import pytest

from checker.record.fingerprint import this_code
from checker.record.run_directory import BLOCKS, BRANCHES, GENESIS, VERDICT, RecordReader
from cluster.cli.main import main
from tests.support.bad_validators import make_slow_hearted
from tests.support.cluster_runs import result_of
from validators.settings import ValidatorFactory

SHORT = ("run.until_height=3", "run.time_limit_ms=6_000")
OTHER = "ab" * 32
SEPARATE = [("explain",), ("replay",), ("diff",)]


@pytest.fixture(scope="module")
def passing(tmp_path_factory):
    return result_of("calm", *SHORT, runs=tmp_path_factory.mktemp("passing")).directory


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    settings = (*SHORT, "mutants.tip-burned=[0, 1, 2, 3]", "chain.policy=eip1559")
    return result_of("calm", *settings, runs=tmp_path_factory.mktemp("failing")).directory


@pytest.fixture(scope="module")
def strange(tmp_path_factory):
    """A record of which the scenario does not tell all: the run is another one here."""
    factories = {1: ValidatorFactory(layer=make_slow_hearted)}
    return result_of("calm", *SHORT, runs=tmp_path_factory.mktemp("strange"), factories=factories).directory


def copied(directory, tmp_path, files=None, **manifest):
    """Copy a record with other files and another manifest, sealed again so that all hashes fit."""
    copy = tmp_path / "copy"
    copy.parent.mkdir(exist_ok=True)
    shutil.copytree(directory, copy)
    reported = json.loads((copy / "manifest.json").read_bytes()) | manifest
    for name, content in (files or {}).items():
        (copy / name).write_bytes(content)
        reported["files"][name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (copy / "manifest.json").write_text(json.dumps(reported))
    return copy


def flipped(directory, name):
    content = bytearray((directory / name).read_bytes())
    content[-1] ^= 1
    return {name: bytes(content)}


def as_passed(directory):
    """Return a verdict that says that every check passed."""
    verdict = json.loads((directory / VERDICT).read_bytes())
    verdict |= {"verdict": "passed", "exit_code": 0}
    verdict["checks"] = [check | {"status": "passed", "compared": 1} for check in verdict["checks"]]
    return {VERDICT: json.dumps(verdict).encode()}


def run(capsys, command, *directories):
    code = main([*command.split(), *map(str, directories)])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.soak
def test_a_record_of_other_code_with_the_same_run_is_judged_normally(passing, tmp_path, capsys):
    code, out, _ = run(capsys, "replay --json", copied(passing, tmp_path, fingerprint=OTHER))

    replay = json.loads(out)["checks"][-1]
    assert (code, replay["name"], replay["status"]) == (0, "replay", "passed")
    assert "as recorded, by code abababababab" in replay["summary"]


@pytest.mark.soak
def test_another_run_by_other_code_says_that_the_code_changed_since(strange, tmp_path, capsys):
    """Exit 3, both codes, the first event that differs; by the same code it is the test bed's fault."""
    code, out, _ = run(capsys, "replay --json", copied(strange, tmp_path, fingerprint=OTHER, commit="cd" * 20))
    (check,) = json.loads(out)["checks"]

    assert code == 3
    assert check["summary"].startswith("the code changed since: recorded by code abababababab, commit cdcdcdcdcdcd")
    assert f"this is {this_code()}; event " in check["summary"]
    assert run(capsys, "replay --json", strange)[0] == 5


@pytest.mark.soak
def test_a_run_with_an_older_data_directory_is_not_replayed(tmp_path, capsys):
    """The first one is like any other run; of the second, what was on the disks is not in the record."""
    arguments = f"run calm --json --set run.until_height=3 --data-dir {tmp_path / 'data'} --runs {tmp_path / 'runs'}"
    first, second = (json.loads(run(capsys, arguments)[1])["directory"] for _ in range(2))
    code, out, _ = run(capsys, "replay --json", second)

    assert second.startswith(f"{first}-at-")
    assert run(capsys, "replay", first)[0] == 0
    assert code == 3
    assert json.loads(out)["checks"][-1]["summary"].startswith("the run went on with a data directory")


@pytest.mark.soak
def test_runs_with_two_data_directories_do_not_replace_each_other(tmp_path, capsys):
    """Same plan, seed, code and time of the reopening."""
    arguments = f"run calm --json --set run.until_height=3 --runs {tmp_path / 'runs'} --data-dir {tmp_path}"
    first, other = ([run(capsys, f"{arguments}/{name}")[1] for _ in range(2)][-1] for name in ("first", "other"))
    places = [json.loads(said)["directory"] for said in (first, other)]

    assert places[1].startswith(f"{places[0]}-")
    assert [str(tmp_path / "first") in (Path(place) / "reopened.json").read_text() for place in places] == [True, False]


def test_a_record_of_the_format_before_is_of_unknown_code(strange, tmp_path, capsys):
    copy = copied(strange, tmp_path, format=1)
    reported = json.loads((copy / "manifest.json").read_bytes())
    del reported["fingerprint"], reported["commit"]
    (copy / "manifest.json").write_text(json.dumps(reported))

    code, out, _ = run(capsys, "replay", copy)

    assert code == 3
    assert "the code changed since: recorded by unknown code" in out


def with_checks(directory, change, **reported):
    """Return a verdict with other checks."""
    verdict = json.loads((directory / VERDICT).read_bytes()) | reported
    verdict["checks"] = change(verdict["checks"])
    return {VERDICT: json.dumps(verdict).encode()}


def as_failed(name):
    return lambda checks: [check | {"status": "failed"} if check["name"] == name else check for check in checks]


def without(name):
    return lambda checks: [check for check in checks if check["name"] != name]


@pytest.mark.parametrize("command", ["explain", "replay"])
@pytest.mark.soak
def test_a_passed_run_that_was_sealed_as_failed_is_refused(command, passing, tmp_path, capsys):
    forged = with_checks(passing, as_failed("agreement"), verdict="safety", exit_code=1)
    code, out, err = run(capsys, command, copied(passing, tmp_path, forged, verdict="safety"))

    assert (code, out) == (2, "")
    assert "says of its checks: agreement failed; the run has: agreement passed" in err


@pytest.mark.parametrize("record", ["passing", "failing"])
def test_a_passed_check_that_was_taken_out_is_missed(record, tmp_path, capsys, request):
    directory = request.getfixturevalue(record)
    code, out, err = run(capsys, "explain", copied(directory, tmp_path, with_checks(directory, without("agreement"))))

    assert (code, out) == (2, "")
    assert "says of its checks: nothing else; the run has: agreement passed" in err


def test_an_exit_code_that_the_verdict_does_not_have_is_refused(failing, tmp_path, capsys):
    forged = with_checks(failing, list, exit_code=0)
    code, _, err = run(capsys, "replay", copied(failing, tmp_path, forged))

    assert code == 2
    assert "says another exit code than 1" in err


def test_forged_waits_that_were_sealed_again_are_refused(passing, tmp_path, capsys):
    blocks = sum(1 for _ in RecordReader(passing).blocks())
    forged = {"waits.msgpack": msgspec.msgpack.encode([[[0, 99]]]) * blocks}
    code, _, err = run(capsys, "replay", copied(passing, tmp_path, forged))

    assert code == 2
    assert "waits.msgpack: holds other waits than the recorded run's timers had" in err


@pytest.mark.parametrize(("written_as", "found"), [(2, 2), (1, 0)])
@pytest.mark.soak
def test_only_a_record_of_the_format_before_may_lack_the_executed_blocks(passing, tmp_path, capsys, written_as, found):
    copy = copied(passing, tmp_path, format=written_as)
    reported = json.loads((copy / "manifest.json").read_bytes())
    del reported["files"][BRANCHES]
    (copy / "manifest.json").write_text(json.dumps(reported))

    code, _, err = run(capsys, "replay", copy)

    assert (code, "manifest.json: does not list branches.msgpack" in err) == (found, found == 2)


@pytest.mark.soak
def test_explain_tells_what_the_repeated_run_says_and_not_the_record(failing, tmp_path, capsys):
    forged = with_checks(failing, lambda checks: [check | {"summary": "made up"} for check in checks])
    code, out, _ = run(capsys, "explain", copied(failing, tmp_path, forged))

    assert (code, "made up" in out) == (0, False)


@pytest.mark.soak
def test_a_failed_determinism_that_no_repeat_shows_is_inconclusive(passing, tmp_path, capsys):
    """One run cannot refute it."""
    check = {
        "name": "determinism",
        "status": "failed",
        "exit_class": "determinism",
        "summary": "event 3",
        "compared": 1,
    }
    forged = with_checks(passing, lambda checks: [*checks, check], verdict="determinism", exit_code=5)
    code, out, _ = run(capsys, "explain", copied(passing, tmp_path, forged, verdict="determinism"))

    assert code == 3
    assert "the same run in all of 6 repeats: that it differs from itself is not verified" in out


@pytest.mark.parametrize("command", ["explain", "replay"])
def test_a_failed_run_that_was_sealed_as_passed_is_refused(command, failing, tmp_path, capsys):
    assert RecordReader(failing).manifest.verdict == "safety"
    code, out, err = run(capsys, command, copied(failing, tmp_path, as_passed(failing), verdict="passed"))

    assert (code, out) == (2, "")
    assert "verdict.json: says of its checks: cold-replay passed, oracle passed; the run has: cold-replay failed" in err


def test_a_passed_manifest_beside_another_verdict_is_refused(failing, tmp_path, capsys):
    code, _, err = run(capsys, "replay", copied(failing, tmp_path, verdict="passed"))

    assert code == 2
    assert "manifest.json: says passed, and verdict.json another verdict" in err


def test_a_manifest_of_another_name_than_its_scenarios_is_refused(passing, tmp_path, capsys):
    code, _, err = run(capsys, "explain", copied(passing, tmp_path, scenario="other"))

    assert code == 2
    assert "manifest.json: is not named after scenario.json: calm" in err


def test_figures_that_the_run_does_not_have_are_refused(passing, tmp_path, capsys):
    verdict = json.loads((passing / VERDICT).read_bytes())
    verdict["figures"]["more"] = 1
    code, _, err = run(capsys, "replay", copied(passing, tmp_path, {VERDICT: json.dumps(verdict).encode()}))

    assert code == 2
    assert "holds other figures than the run has" in err


@pytest.mark.soak
def test_explain_repeats_a_run_that_passed(passing, strange, tmp_path, capsys):
    code, out, _ = run(capsys, "explain", passing)
    forged = copied(strange, tmp_path, as_passed(strange), verdict="passed")

    assert (code, "the same digest" in out) == (0, True)
    code, out, _ = run(capsys, "explain", forged)
    assert code == 5
    assert out.startswith("determinism: event ")


@pytest.mark.parametrize("command", ["replay", "explain", "shrink"])
def test_a_scenario_of_other_code_that_this_code_cannot_read_is_no_damage(command, failing, tmp_path, capsys):
    """A key that there is no more: exit 3, one line. By the same code it is bad input."""
    files = {"scenario.json": (failing / "scenario.json").read_bytes().replace(b'"slot_ms"', b'"slot_length"')}
    code, out, err = run(capsys, command, copied(failing, tmp_path, files, fingerprint=OTHER))

    assert (code, out, err.count("\n")) == (3, "", 1)
    assert "the code changed since: recorded by code abababababab" in err
    assert "unknown field `slot_length`" in err
    assert run(capsys, command, copied(failing, tmp_path / "same", files))[0] == 2


@pytest.mark.parametrize("command", ["prove", "verify"])
def test_a_genesis_of_other_code_is_one_line_that_says_so(command, passing, tmp_path, capsys):
    """Of this code's own record it is damage."""
    proof = tmp_path / "burned.json"
    assert run(capsys, "prove", passing, "2", "burned", "--out", proof)[0] == 0

    def answer(record):
        arguments = (record, "2", "burned") if command == "prove" else (proof, "--run", record)
        return run(capsys, command, *arguments)

    files = {GENESIS: b"\x91\x01"}
    code, out, err = answer(copied(passing, tmp_path / "other", files, fingerprint=OTHER))
    own = answer(copied(passing, tmp_path / "own", files))

    assert (code, out, err.count("\n")) == (3, "", 1)
    assert "the code changed since: recorded by code abababababab" in err
    assert (own[0], "genesis.msgpack" in own[2]) == (2, True)


@pytest.mark.parametrize("command", ["replay", "explain", "shrink"])
def test_a_record_whose_plugin_is_gone_names_it(command, failing, tmp_path, capsys):
    """It is bad input here, and not the code that changed."""
    plugins = [{"name": "stampede-gone", "version": "1.0", "files": 1, "fingerprint": OTHER}]
    record = copied(failing, tmp_path, plugins=plugins, fingerprint=OTHER)
    code, out, err = run(capsys, command, record)

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{record}: no plug-in named stampede-gone is installed; those that are:" in err


@pytest.mark.soak
def test_diff_compares_a_record_that_only_other_code_can_read(passing, tmp_path, capsys):
    files = {"scenario.json": (passing / "scenario.json").read_bytes().replace(b'"slot_ms"', b'"slot_length"')}
    code, out, _ = run(capsys, "diff", copied(passing, tmp_path, files, fingerprint=OTHER), passing)

    assert code == 1
    assert out.startswith("A is as recorded, not verified: the code changed since")
    assert "chain.slot_ms: A none, B 1000" in out
    assert "all events are the same" in out


@pytest.mark.soak
def test_explain_of_other_code_says_that_the_code_changed_since(strange, tmp_path, capsys):
    code, out, _ = run(capsys, "explain", copied(strange, tmp_path, fingerprint=OTHER))

    assert code == 3
    assert "the code changed since: recorded by code abababababab" in out


@pytest.mark.soak
def test_diff_refuses_flipped_blocks_that_were_sealed_again(passing, tmp_path, capsys):
    code, out, err = run(capsys, "diff", passing, copied(passing, tmp_path, flipped(passing, BLOCKS)))

    assert (code, out) == (2, "")
    assert "blocks.msgpack: holds other blocks than the recorded run finalized" in err


def test_diff_says_first_that_it_was_not_to_verify(passing, capsys):
    code, out, err = run(capsys, "diff --no-verify", passing, passing)

    assert (code, err) == (0, "")
    assert out.startswith("as recorded, not verified\nthe same run")


@pytest.mark.soak
def test_diff_says_which_record_it_could_not_verify(strange, tmp_path, capsys):
    """The same by other code is inconclusive; the same by this code, which does not repeat it, is the test bed's."""
    copy = copied(strange, tmp_path, fingerprint=OTHER)
    code, out, _ = run(capsys, "diff", copy, copy)

    assert code == 3
    assert out.startswith("A is as recorded, not verified: the code changed since")
    assert run(capsys, "diff", strange, strange)[0] == 5
