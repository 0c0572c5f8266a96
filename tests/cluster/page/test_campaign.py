"""The page of a sweep: seeds, what went wrong by signature, what was reached, the first failure."""

import pytest

from cluster.campaign.coverage import CoverageTable
from cluster.campaign.results_db import SeedResult
from cluster.campaign.sweep import SweepTally
from cluster.page.campaign import sweep_rows
from faults import FaultPoint
from report.page.render import campaign_page
from tests.support.pages import tags_of, text_of

POINT = FaultPoint("crash", "verifying", "voter", 3)


def result_of(seed, signature="", directory=""):
    bad = bool(signature)
    verdict = "safety" if bad else "passed"
    return SeedResult(
        seed, int(bad), verdict, signature, f"{signature} at {seed}", "ab", 1_500, directory, points=(POINT,)
    )


@pytest.fixture
def rows(tmp_path):
    (tmp_path / "calm-2").mkdir()
    (tmp_path / "calm-2" / "report.html").write_text("")
    results = [result_of(0), result_of(1), result_of(2, "roots <b>differ", str(tmp_path / "calm-2")), result_of(3)]
    tally = SweepTally(4, coverage=CoverageTable((("crash", "verifying", "leader"),)))
    for each in results:
        tally.add(each)
    return sweep_rows(
        tally, results, title="sweep of calm", runs=tmp_path, facts=(), commands_of=lambda each: [f"run {each.seed}"]
    )


def test_each_seed_has_its_square_and_a_kept_run_its_page(rows):
    assert [(cell.seed, cell.group, cell.href) for cell in rows.cells] == [
        (0, -1, ""),
        (1, -1, ""),
        (2, 0, "calm-2/report.html"),
        (3, -1, ""),
    ]


def test_a_group_says_where_it_came_first_and_how_to_repeat_it(rows):
    (group,) = rows.groups

    assert (group.signature, group.seeds, group.first, group.commands) == ("roots <b>differ", 1, 2, ("run 2",))


def test_a_plan_that_was_shrunk_stands_in_its_group(tmp_path):
    results = [result_of(1, "roots differ"), result_of(2, "roots differ")]
    tally = SweepTally(2)
    for each in results:
        tally.add(each)
    rows = sweep_rows(
        tally,
        results,
        title="sweep of calm",
        runs=tmp_path,
        facts=(),
        commands_of=lambda _result: [],
        plan_of=lambda result: '[workload.pulse]\nkind = "<b>"' if result.seed == 2 else "",
    )
    page = campaign_page(rows)

    assert 'the smallest plan that goes wrong like this\n[workload.pulse] kind = "<b>"' in text_of(page, "groups")
    assert "b" not in tags_of(page)


def test_the_first_failure_is_counted_in_seeds_and_seconds(rows):
    assert dict(rows.facts)["first failure"] == "seed 2: 3 seeds and 4.5 s of runs, in the order of seeds"


def test_the_coverage_says_what_was_never_reached(rows):
    table = rows.tables[0]

    assert table.columns == ("kind of fault", "verifying, leader", "verifying, voter")
    assert list(table.rows) == [("crash", "never", "4")]


def test_the_page_is_inert_and_says_the_verdict(rows):
    page = campaign_page(rows)

    assert "b" not in tags_of(page)
    assert "failed: safety 4 seeds: 3 passed, 1 failed: safety" in text_of(page, "verdict")
