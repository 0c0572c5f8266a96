"""Earlier versions against the checkout: which there are, and that a breakdown is told from a refusal."""

import json
import subprocess

import pytest

from checker.record.root import PROJECT_ROOT
from tests.support import earlier
from tests.support.earlier import (
    CHECKOUT,
    PROTOCOL,
    Done,
    NoHistoryError,
    Program,
    ask_engine,
    earlier_commits,
    judge_cluster,
    judge_reopened,
    judge_use,
    run_cluster,
)

TRACEBACK = "Traceback (most recent call last):\n  File\nKeyError: 'n'\n"
LOST = "replay by build new from genesis fails: height 1: request 2, `execute`: it ended with exit status 1"
SENTENCE = "stampede: data: belongs to another run\n"


def git(folder, *arguments):
    named = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", "-C", folder, *named, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A repository, and its commits by what they do."""
    place = tmp_path_factory.mktemp("repository")
    git(place, "init", "-q")
    changes = [
        ("first", "VERSION", "1"),
        ("protocol", PROTOCOL, ""),
        ("more", PROTOCOL, "more"),
        ("two", "VERSION", "2"),
        ("last of two", PROTOCOL, "most"),
        ("three", "VERSION", "3"),
    ]
    commits = {}
    for name, file, text in changes:
        (place / file).parent.mkdir(exist_ok=True)
        (place / file).write_text(text)
        git(place, "add", ".")
        git(place, "commit", "-q", "-m", name)
        commits[name] = git(place, "rev-parse", "HEAD")
    return place, commits


def test_the_first_version_and_the_last_of_each_earlier_one_are_built(repository):
    place, commits = repository
    forward, *backward = earlier_commits(place)

    assert forward == [commits[name] for name in ("protocol", "more", "two", "last of two")]
    assert backward == [
        [commits[name] for name in ("last of two", "two", "more", "protocol")],
        [commits[name] for name in ("more", "protocol")],
    ]


def test_a_checkout_without_history_is_skipped_visibly(repository, tmp_path, monkeypatch):
    place, commits = repository
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{place}", "shallow")
    git(tmp_path, "clone", "-q", f"file://{place}", "begun")
    git(tmp_path / "begun", "checkout", "-q", commits["protocol"])
    (tmp_path / "archive").mkdir()
    folders = {"shallow": "shallow clone", "archive": "no history", "begun": "begins with this version"}

    for folder, reason in (*folders.items(), (place / "stampede_testbed", "not a repository")):
        with pytest.raises(NoHistoryError, match=reason):
            [*earlier_commits(tmp_path / folder)]
    monkeypatch.setattr(earlier, "earlier_commits", lambda: earlier_commits(tmp_path / "shallow"))
    ((is_good, line),) = earlier.run_earlier(1)
    assert is_good is None
    assert "earlier: skipped: " in line


def answer(**fields):
    return json.dumps({"verdict": "passed", "headline": "it", "checks": [], "reopened": "", **fields})


def failed(summary):
    return [{"summary": summary, "status": "failed"}]


BAD = {
    "a traceback": (judge_use, Done(1, "", TRACEBACK)),
    "has not ended": (judge_use, Done(None, "", "")),
    "exit code 0": (judge_use, Done(0, "", "")),
    "exit code 1": (judge_use, Done(1, "", SENTENCE)),
    "exit code 2: stampede": (judge_use, Done(2, "", SENTENCE * 2)),
    "began anew": (judge_reopened, Done(0, answer(), "")),
    "exit code 2": (judge_cluster, Done(2, "", SENTENCE)),
    "inconclusive, and": (judge_cluster, Done(1, answer(verdict="inconclusive"), "")),
    "safety, and": (judge_cluster, Done(1, answer(verdict="safety", checks=failed("height 4: roots differ")), "")),
    "request 2, `execute`": (judge_cluster, Done(1, answer(verdict="safety", checks=failed(LOST)), "")),
    "safety, and no": (judge_cluster, Done(1, answer(verdict="safety", checks=failed("build new differs")), "")),
}


@pytest.mark.parametrize("text", BAD)
def test_a_breakdown_is_no_refusal(text):
    judge, done = BAD[text]
    outcome = judge(done)

    assert not outcome.is_good
    assert text in outcome.text


def test_what_works_or_is_refused_by_a_sentence_is_good():
    outcomes = [
        judge_use(Done(0, "passed\n", "")),
        judge_use(Done(2, "", SENTENCE)),
        judge_use(Done(3, "a line of the run\n", SENTENCE)),
        judge_reopened(Done(0, answer(reopened="data"), "")),
        judge_reopened(Done(2, "", SENTENCE)),
        judge_cluster(Done(0, answer(), "")),
        judge_cluster(Done(1, answer(verdict="safety", headline="Height 3: Build new differs from build main."), "")),
    ]

    assert all(outcome.is_good for outcome in outcomes)


ENGINE = """import runpy, sys
sys.argv[1:] = [{project!r}, {height!r}]
runpy.run_path({engine!r}, run_name="__main__")
"""


def version(folder, height="3", project=str(PROJECT_ROOT)):
    """Return a version whose engine is that of a project with other rules from a height on; its commands break down."""
    package = folder / "fake" / "stampede_testbed"
    package.mkdir(parents=True)
    (package / "__main__.py").write_text("raise KeyError('n')\n")
    engine = str(PROJECT_ROOT / "tests" / "applications" / "next_engine.py")
    (package / "application.py").write_text(ENGINE.format(project=project, height=height, engine=engine))
    return Program("fake", folder / "fake")


MIXED = "mixed, replaced, and back"


@pytest.mark.parametrize(
    ("changes", "call"), [({"project": "nowhere"}, "hello"), pytest.param({"height": "no"}, "", marks=pytest.mark.soak)]
)
def test_an_engine_that_breaks_down_is_reported(changes, call, tmp_path):
    """It ends with a traceback: at its first request, or at the first block, since its height is no number."""
    ((what, outcome),) = run_cluster(CHECKOUT, version(tmp_path, **changes), tmp_path, MIXED)

    assert "build new of fake" in what
    assert not outcome.is_good
    assert f"`{call}" in outcome.text


@pytest.mark.soak
def test_an_engine_with_other_rules_is_a_named_difference(tmp_path):
    ((_, outcome),) = run_cluster(CHECKOUT, version(tmp_path), tmp_path, MIXED)

    assert outcome.is_good, outcome.text
    assert outcome.text.startswith("a named difference: Height 3: ")


def test_a_version_whose_commands_break_down_is_reported(tmp_path):
    ((what, outcome),) = ask_engine(version(tmp_path), CHECKOUT, tmp_path)

    assert what == "application check of fake asks the engine of checkout"
    assert not outcome.is_good
    assert "KeyError: 'n'" in outcome.text
