"""A failed run beside the nearest seed that passes."""

import json

import pytest

from cluster.cli.main import main
from cluster.inspect import nearest

SELDOM = """\
name = "seldom"
title = "a link that seldom loses a message"
[workload.pulse]
kind = "heartbeats"
actors = 2
[faults.weather]
kind = "links"
stop_ms = 3_000
loss_ppm = 20_000
[run]
until_height = 3
"""
"""Seeds 0 and 1 lose no message, and are inconclusive for that; 2 and 3 lose some."""


@pytest.fixture
def failed(tmp_path, monkeypatch):
    plan = tmp_path / "seldom.toml"
    plan.write_text(SELDOM)
    monkeypatch.setattr(nearest, "SEEDS", 2)
    assert main(["run", str(plan), "--runs", str(tmp_path / "runs"), "--quiet"]) == 3
    return tmp_path / "runs" / "seldom-0"


@pytest.mark.soak
def test_a_failed_run_stands_beside_the_nearest_seed_that_passes(failed, capsys):
    code = main(["diff", str(failed), "--no-verify", "--jobs", "1", "--json"])

    found = json.loads(capsys.readouterr().out)
    beside = found["nearest"]
    assert (code, beside["seed"], beside["passed"]) == (1, 2, 1)
    assert beside["events"] == found["event"]["index"] > 0
    assert sorted(path.name for path in failed.parent.iterdir() if path.is_dir()) == ["seldom-0", "seldom-2"]
    assert (failed.parent / "diff-seldom-0-seldom-2.html").exists()


@pytest.mark.soak
def test_where_no_seed_passes_that_is_said(failed, monkeypatch, capsys):
    monkeypatch.setattr(nearest, "SEEDS", 1)

    assert main(["diff", str(failed), "--jobs", "1"]) == 3
    assert "none of 1 other seeds passes" in capsys.readouterr().out
