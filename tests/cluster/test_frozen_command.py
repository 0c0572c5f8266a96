"""The command that compares frozen runs: what is refused is one line, and the others go on."""

import pickle

import pytest

from cluster.scenario.messages import ScenarioError
from tests.frozen import __main__ as command


class InOneProcess:
    """Runs what a pool would run."""

    map = staticmethod(map)


def test_a_refused_run_is_said_and_the_others_are_compared(monkeypatch, capsys):
    frozen = command.read_frozen()

    def measure(name, seed):
        if name == "lossy":
            raise ScenarioError("lossy", "is refused")
        return frozen[name]

    monkeypatch.setattr(command, "measure", measure)

    assert command.compare(InOneProcess, ["lossy", "calm"], frozen) == 1
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [
        ["REFUSED", "lossy"],
        ["same", "calm"],
    ]


def test_what_comes_back_from_a_worker_can_be_pickled():
    refused = command.attempt("no-such-scenario", 0)

    assert pickle.loads(pickle.dumps(refused)) == refused
    assert refused.startswith("ScenarioError: no-such-scenario: no such scenario")


def test_a_mistyped_name_is_told_the_nearest_one(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["frozen", "clm"])
    with pytest.raises(SystemExit) as ended:
        command.main()

    assert ended.value.code == 2
    assert "clm: no such run (did you mean calm?)" in capsys.readouterr().err
