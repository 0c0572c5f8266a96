"""The command `check`: what a plan does to quorums, and what its estimate takes a guess at."""

import json

import pytest

from cluster.cli.main import main

SPLIT = 'faults.split={kind="partition", groups=[[0, 1, 2], [3, 4, 5, 6]], start_ms=2_000, stop_ms=22_000}'
NAP = 'faults.nap={kind="pause", validator=0, start_ms=2_000, stop_ms=5_000}'
AWAY = 'faults.away={kind="crash", validator=1, at_ms=4_000, restart_ms=9_000}'
LATER = 'faults.later={kind="crash", validator=2, at_ms=0, restart_ms=500, anchor={event="finalized", by_ms=9_000}}'


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """No line is folded."""
    monkeypatch.setenv("COLUMNS", "1000")


def checked(capsys, *settings, name="calm", how=()):
    assert main(["check", name, *how, *(part for setting in settings for part in ("--set", setting))]) == 0
    return capsys.readouterr().out


def answered(capsys, *settings, name="calm"):
    return json.loads(checked(capsys, *settings, name=name, how=("--json",)))


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("simplex", "Neither side has 5 of 7: no block for 20 s."),
        ("hotstuff", "Neither side has 5 of 7: no block for 20 s."),
        (
            "longest-chain",
            "No quorum is needed: {0, 1, 2} and {3, 4, 5, 6} build apart, and the branch with the most blocks stays.",
        ),
    ],
)
def test_a_partition_is_told_with_what_it_does_to_quorums(capsys, engine, said):
    plan = ("cluster.validators=7", f"consensus.engine={engine}", SPLIT)
    told = f"all links between {{0, 1, 2}} and {{3, 4, 5, 6}} are cut. {said}\n"

    assert told in checked(capsys, *plan)
    assert [fault["quorum"] for fault in answered(capsys, *plan)["faults"]] == [said]


def test_faults_at_once_are_told_together(capsys):
    together = "From 4 s to 5 s 2 of 4 are left, fewer than a quorum of 3: no block in that time."

    assert f"  all together: {together}\n" in checked(capsys, NAP, AWAY)
    assert answered(capsys, NAP, AWAY)["joint"] == [together]


def test_a_fault_that_is_switched_off_takes_no_quorum(capsys):
    assert answered(capsys, NAP, AWAY, "faults.nap.enabled=false")["joint"] == []


def test_an_estimate_says_what_it_takes_a_guess_at(capsys):
    weather = 'faults.weather={kind="links", loss_ppm=9_000, start_ms=1_000, stop_ms=9_000}'
    guesses = ["when later begins", "how many views weather costs", "the effects of its expected failures"]
    plan = (LATER, weather, "expect.fails=['agreement']")

    assert f"\nthe estimate guesses {'; '.join(guesses)}\n" in checked(capsys, *plan)
    assert answered(capsys, *plan)["guesses"] == guesses
    assert "guesses" not in checked(capsys)
