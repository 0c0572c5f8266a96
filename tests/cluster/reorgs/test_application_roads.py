"""Forks of an outside application: a sound one comes to one root on every road, a bad one is named by its road."""

import re
import sys
import tempfile
from pathlib import Path

import pytest

from checker.record.root import PROJECT_ROOT
from cluster.outside.new import EXAMPLES
from cluster.outside.process import Launch, LaunchError
from cluster.reorgs.application import plan_application_reorgs
from cluster.reorgs.application_roads import measure_application
from tests.support.applications import bad_command

LEDGER = (sys.executable, str(EXAMPLES / "python" / "ledger.py"))


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Have all directories made here, and hold that nothing is left of them and of the processes that lived there."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert list(tmp_path.glob("stampede-*")) == []
    assert homes_of_processes(tmp_path) == []


def homes_of_processes(folder):
    """Return the environments of living processes that name a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            found += [path] if f"HOME={folder}/".encode() in path.read_bytes() else []
        except OSError:
            continue
    return found


def measured(command, *, depth=2, pivot=4, seed=0):
    """Return the result of one fork of an application."""
    launch = Launch(command=command, folder=PROJECT_ROOT)
    (result,) = measure_application(plan_application_reorgs(launch, [depth], pivot=pivot, seed=seed))
    return result


def reasons_of(result):
    """Return the reasons of the roads that differ, by road."""
    return {each.road: each.reason for each in result.findings if each.status == "differs"}


def test_a_sound_application_comes_to_one_root():
    result = measured(LEDGER, depth=3)

    assert [(each.road, each.status, each.moved) for each in result.findings] == [
        ("fresh", "equal", 4),
        ("drop", "equal", 3),
        ("rewind", "equal", 3),
        ("rewrite", "equal", 3 + 4 + 3),
        ("snapshot", "equal", 4),
        ("restart", "equal", 4),
        ("cold-replay", "equal", 4),
    ]


def test_one_that_goes_forward_has_the_roads_that_it_can():
    result = measured(bad_command("forward"))

    statuses = {each.road: each.status for each in result.findings}
    assert statuses.pop("rewind") == statuses.pop("rewrite") == "not asked"
    assert {*statuses.values()} == {"equal"}
    assert result.status == "equal"


@pytest.mark.parametrize(
    ("bug", "roads", "sentence"),
    [
        (
            "keeps-counter",
            ["rewind", "rewrite", "snapshot"],
            r"height 5: state_root [0-9a-f]{64} where .* [0-9a-f]{64}$",
        ),
        (
            "one-a-height",
            ["drop", "rewind", "rewrite", "snapshot"],
            r"height 6: state_root [0-9a-f]{64} where",
        ),
        (
            "forgets",
            ["restart"],
            r"kept height 4 with root \w+ over a restart; height 7 with",
        ),
        ("time-zone", ["cold-replay"], r"height 1: state_root [0-9a-f]{64} where executing gives [0-9a-f]{64}$"),
    ],
)
def test_a_bug_differs_on_its_roads_alone(bug, roads, sentence):
    reasons = reasons_of(measured(bad_command(bug)))

    assert list(reasons) == roads
    assert re.search(sentence, reasons[roads[0]])


@pytest.mark.parametrize(
    ("bug", "sentence"),
    [
        ("no-rollback", "while the fork was built: height 1: state_root"),
        ("dies", "while the fork was built: request 12, `execute`: it ended with exit status 3"),
    ],
)
def test_a_fork_that_cannot_be_built_is_a_difference(bug, sentence):
    result = measured(bad_command(bug), pivot=6)

    assert result.status == "differs"
    assert sentence in reasons_of(result)["fresh"]


def test_branches_of_empty_blocks_show_nothing():
    result = measured(bad_command("bare"))

    assert result.status == "inconclusive"
    assert result.reason == (
        "both branches have one root at height 6: their blocks are empty, since the application lacks transactions"
    )


def test_the_seed_chooses_what_is_withheld():
    """Another seed has other transactions, and the roads are equal again."""
    assert {measured(LEDGER, depth=1, seed=seed).status for seed in (1, 2)} == {"equal"}


def test_what_is_no_application_is_bad_input():
    launch = Launch(command=bad_command("banner"), folder=PROJECT_ROOT)
    with pytest.raises(LaunchError, match=r"bad_ledger.py banner .*: request 1, `hello`: the line `welcome"):
        plan_application_reorgs(launch, [1], pivot=4, seed=0)
