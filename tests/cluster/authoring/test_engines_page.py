"""The page of scenarios by engine is as the scenarios load; the table of verdicts is a file that a program writes."""

import pytest

from checker.record.root import PROJECT_ROOT
from cluster.authoring import engines_page
from cluster.authoring.engines_page import VARIANTS, EnginePoint, main, page, table
from cluster.scenario.load import scenario_paths

WORDS_MAX = 800


@pytest.fixture(scope="module")
def made():
    return list(page())


def test_the_page_is_as_the_scenarios_load(made):
    """`python -m cluster.authoring.engines_page > docs/scenarios-by-engine.md` writes it."""
    written = (PROJECT_ROOT / "docs" / "scenarios-by-engine.md").read_text(encoding="utf-8")

    assert written.splitlines() == made
    assert len(written.split()) <= WORDS_MAX


def test_each_engine_loads_or_refuses_every_scenario(made):
    counts = [line.split(" | ")[1:] for line in made if line.startswith(("| simplex", "| hotstuff", "| longest"))]

    assert len(counts) == len(VARIANTS)
    assert {sum(int(each.strip("| ")) for each in row) for row in counts} == {len(scenario_paths())}


def test_the_table_has_each_verdict_and_reason():
    lines = list(
        table({"calm": [EnginePoint("passed"), EnginePoint("", "no votes")], "lossy": [EnginePoint("", "no votes")]})
    )

    assert "| `calm` | passed | (1) |" in lines
    assert "| `lossy` | (1) |" in lines
    assert lines[-1] == "- 1: no votes"


def test_names_run_those_alone_and_write_the_table(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(engines_page, "measure", lambda names, jobs: {name: [EnginePoint("passed")] for name in names})

    assert main(["calm", "--out", str(tmp_path / "dist")]) == 0
    assert "| `calm` | passed |" in (tmp_path / "dist" / "scenarios-by-engine.md").read_text()
    with pytest.raises(SystemExit):
        main(["calm"])
    assert "names of scenarios need --out" in capsys.readouterr().err
