"""The fingerprint of the code: it covers every source and every library of a run, and nothing else."""

import re
import shutil
import subprocess

import pytest

from checker.record import fingerprint
from checker.record.fingerprint import LIBRARIES, PACKAGES, UNKNOWN, Code, commit_of, fingerprint_of, this_code
from checker.record.root import PROJECT_ROOT
from tests.support.cluster_runs import result_of
from tests.support.layers import LAYERS

SHORT = ("run.until_height=3",)


@pytest.fixture
def sources(tmp_path):
    for package in PACKAGES:
        (tmp_path / package / "inner").mkdir(parents=True)
        (tmp_path / package / "inner" / "rules.py").write_text("A = 1\n")
    return tmp_path


def git(directory, *arguments):
    program = shutil.which("git")
    if program is None:
        pytest.skip("there is no git on this machine")
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([program, *identity, *arguments], cwd=directory, check=True, capture_output=True)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_byte_of_any_source_changes_it(package, sources):
    before = fingerprint_of(sources)
    (sources / package / "inner" / "rules.py").write_text("A = 2\n")

    assert fingerprint_of(sources) != before


def test_the_place_of_a_source_changes_it(sources):
    before = fingerprint_of(sources)
    (sources / "checker" / "inner" / "rules.py").rename(sources / "checker" / "inner" / "others.py")

    assert fingerprint_of(sources) != before


def test_tests_documents_and_scenarios_do_not_change_it(sources):
    before = fingerprint_of(sources)
    for name in ("tests/test_a.py", "docs/a.md", "scenarios/a.toml", "checker/notes.txt"):
        (sources / name).parent.mkdir(exist_ok=True)
        (sources / name).write_text("B = 1\n")

    assert fingerprint_of(sources) == before


def test_the_version_of_a_library_changes_it(sources, monkeypatch):
    before = fingerprint_of(sources)
    monkeypatch.setattr(fingerprint, "version", lambda name: "0.0.1")

    assert fingerprint_of(sources) != before


def test_it_covers_all_packages_and_all_that_a_run_installs():
    pins = re.findall(r"^([\w.-]+)==", (PROJECT_ROOT / "requirements" / "run.txt").read_text(), re.MULTILINE)

    assert sorted(PACKAGES) == sorted(LAYERS)
    assert sorted(LIBRARIES) == sorted(pins)


def test_the_commit_is_told_with_whether_files_differ_from_it(sources):
    git(sources, "init")
    git(sources, "add", ".")
    git(sources, "commit", "-m", "first")
    clean = commit_of(sources)
    (sources / "checker" / "inner" / "rules.py").write_text("A = 2\n")

    assert re.fullmatch("[0-9a-f]{40}", clean)
    assert commit_of(sources) == f"{clean}+changes"


def test_a_commit_that_nothing_tells_is_unknown(sources, monkeypatch):
    assert commit_of(sources) == UNKNOWN
    (sources / ".git").write_text("no such thing")
    assert commit_of(sources) == UNKNOWN
    monkeypatch.setenv("PATH", "")
    assert commit_of(PROJECT_ROOT) == UNKNOWN


def test_a_run_knows_nothing_of_it(monkeypatch, tmp_path):
    """The same digest whatever the fingerprint is; the record has it beside."""
    before = result_of("calm", *SHORT, runs=tmp_path / "a")
    other = this_code()._replace(fingerprint="ab" * 32)
    monkeypatch.setattr("checker.record.plugins.this_code", lambda: other)
    after = result_of("calm", *SHORT, runs=tmp_path / "b")

    assert after.digest == before.digest
    assert (after.directory / "events.msgpack").read_bytes() == (before.directory / "events.msgpack").read_bytes()
    assert "ab" * 32 in (after.directory / "manifest.json").read_text()


def test_a_person_sees_a_line():
    code = Code("ab" * 32, "cd" * 20 + "+changes", "3.11.7")

    assert str(code) == "code abababababab, commit cdcdcdcdcdcd+changes, Python 3.11.7"
    assert str(Code()) == "unknown code, commit unknown, Python unknown"
