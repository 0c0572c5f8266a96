"""Coverage of rules: declarations that hold, a page that is theirs, counts that nothing in a run reads."""

import re

import pytest

from checker.coverage.catalogue import page
from checker.coverage.registry import POINTS, ROOMS, promised_by
from checker.coverage.unpromised import REASONS
from checker.coverage.without_point import WITHOUT_POINT
from checker.record.root import PROJECT_ROOT
from cluster.live.progress import LiveProgress
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import load_scenario, scenario_paths
from cluster.verdict.pipeline import run_pipeline
from scheduler import SWARM, UNPROMISED, RefusalPoint, lifecycle
from scheduler.tally import Tally

SMALL = ("run.until_height=6", 'chain.policy="eip1559"')


def test_every_cell_has_a_name_of_its_own():
    assert len(POINTS) == sum(len(cells) for cells in ROOMS.values())


def test_every_cell_names_a_rule_or_a_page():
    docs = PROJECT_ROOT / "docs"
    rules = (docs / "rules.md").read_text(encoding="utf-8")
    cells = [cell for cell in POINTS.values() if not isinstance(cell, RefusalPoint)]
    unwritten = [cell for cell in cells if f"- **{cell.code}** " not in rules]

    assert [cell.label for cell in unwritten if not (cell.code.endswith(".md") and (docs / cell.code).exists())] == []
    assert len(unwritten) < len(cells) / 2


def test_every_rule_has_a_cell_or_a_reason_to_have_none():
    rules = (PROJECT_ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    codes = re.findall(r"^- \*\*([A-FKQX]-\d+)\*\* ", rules, re.MULTILINE)
    with_cell = {cell.code for cell in POINTS.values() if not isinstance(cell, RefusalPoint)}

    assert len(codes) > 150
    assert [code for code in codes if code not in with_cell and code not in WITHOUT_POINT] == []
    assert [code for code in WITHOUT_POINT if code in with_cell or code not in codes] == []


@pytest.mark.parametrize("code", WITHOUT_POINT)
def test_a_reason_for_no_cell_names_what_there_is(code):
    reason = WITHOUT_POINT[code]

    assert [label for label in re.findall("`([^`]+)`", reason) if label not in POINTS] == []
    for label, other in re.findall(r"`([^`]+)` \(([A-FKQX]-\d+)\)", reason):
        assert POINTS[label].code == other


def test_every_promise_is_the_swarms_or_a_shipped_scenarios():
    subjects = {SWARM, UNPROMISED, *(path.stem for path in scenario_paths())}

    assert [cell.label for cell in POINTS.values() if cell.promised_by not in subjects] == []
    assert len(promised_by()) > 100


def test_only_a_cell_that_nothing_promises_has_a_reason_for_it():
    assert [label for label in REASONS if POINTS[label].promised_by != UNPROMISED] == []


def test_the_page_has_a_line_for_each_cell_and_rule():
    first = [re.match(r"- `?([\w-]+)`?[,:] ", line) for line in page()]

    assert [found[1] for found in first if found][: len(POINTS)] == list(POINTS)
    assert {found[1] for found in first if found} >= set(WITHOUT_POINT)


def test_a_run_counts_its_cells_and_says_so():
    with LiveProgress(title="", is_quiet=True) as progress:
        result = run_pipeline(load_scenario("calm", SMALL), 0, runs=None, progress=progress)
    hits = dict(result.rules)

    assert 0 < hits["due-next"] <= 6
    assert result.as_json("")["rules"] == hits
    assert list(hits) == [label for label in POINTS if label in hits]


def test_counting_changes_no_digest(monkeypatch):
    def digest():
        return Cluster(load_scenario("calm", SMALL), 0).run().trace.digest

    counted = digest()
    monkeypatch.setattr(Tally, "_cells", lambda _self, _waiting: iter(()))
    monkeypatch.setattr(lifecycle, "_cells_of_terms", lambda *_arguments: ())

    assert digest() == counted


@pytest.mark.parametrize("room", ROOMS)
def test_sentences_are_whole(room):
    wrong = [cell.label for cell in ROOMS[room] if not cell.sentence.endswith(".") or not cell.sentence[0].isupper()]

    assert wrong == []
