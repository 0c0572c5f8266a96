"""From a failure to the draw that made it: a lost message that makes a block late."""

import json
import re
import sys
from pathlib import Path

import pytest

from checker.record.root import PROJECT_ROOT
from cluster.cli.main import main
from cluster.scenario.load import load_scenario
from report.page.pack import unpack
from report.page.rows import LOST, MARKED
from tests.support.cluster_runs import judge
from tests.support.pages import text_of

SETTINGS = (
    'expect.arrival={event="finalized", nth=10, of=0, by_ms=10_600}',
    "network.loss_ppm=60_000",
    "run.until_height=10",
)


@pytest.mark.soak
def test_the_lost_message_is_named(tmp_path, capsys):
    """The tenth block is late only in few seeds; in this seed one lost vote of view 10 decides it."""
    record = judge(load_scenario("calm", SETTINGS), seed=1, runs=tmp_path).directory
    assert main(["curve", str(record), "--no-shrink", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)

    curve = told["curves"]["chance"]
    assert curve["baked_in"]
    before, after = ({point["turn"]: point for point in curve["points"]}[turn] for turn in curve["rise"])
    assert after["turn"] == before["turn"] + 1
    assert before["high_ppm"] < after["low_ppm"]
    (draw,) = told["draws"]
    assert (draw["purpose"], draw["subject"], draw["message"], draw["view"]) == ("loss", "2->3", "Notarize", 10)
    assert "which was lost: it always fails where this message is lost, and never where it arrives" in draw["told"]

    page = Path(told["page"]).read_bytes()
    head, arrays = unpack(re.search(rb'id="data-0">([^<]+)', page)[1].decode())
    assert draw["told"] in text_of(page, "verdict")
    assert f"marked message: {draw['told']}" in head["titles"]
    assert list(arrays["message_fate"]).count(MARKED | LOST) == 1


@pytest.mark.soak
def test_the_lost_message_is_named_where_the_state_machine_is_outside(tmp_path, capsys):
    """The draws of links are ours whatever program executes the blocks."""
    settings = (
        f'application.command=["{sys.executable}", "{PROJECT_ROOT}/examples/applications/python/ledger.py"]',
        'expect.arrival={event="finalized", nth=6, of=0, by_ms=6_250}',
        "network.loss_ppm=60_000",
        "run.until_height=6",
        "requires=[]",
        "faults={}",
    )
    record = judge(load_scenario("application/partition", settings), seed=7, runs=tmp_path).directory
    assert main(["curve", str(record), "--no-shrink", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)

    assert told["curves"]["chance"]["baked_in"]
    assert {(draw["purpose"], draw["view"]) for draw in told["draws"]} == {("loss", 1)}
    assert "where this message is lost" in told["draws"][0]["told"]
