"""The page of scenarios by engine: it has every scenario, and the reasons that the loader gives."""

from itertools import zip_longest

import pytest

from cluster.authoring.engines_page import VARIANTS, EnginePoint, read_page, refusal_of, write_page
from cluster.scenario.load import scenario_paths

NAMES = [path.stem for path in scenario_paths()]


@pytest.mark.parametrize("variant", range(len(VARIANTS)), ids=[variant.name for variant in VARIANTS])
def test_the_page_has_the_reasons_of_the_loader(variant):
    """A row that is missing or not up to date: run `python -m cluster.authoring.engines_page SCENARIO`."""
    page = read_page()
    wrong = [
        name
        for name, cells in zip_longest(NAMES, map(page.get, NAMES))
        if cells is None or not is_as_loaded(cells[variant], refusal_of(name, VARIANTS[variant]))
    ]
    assert wrong == []


def is_as_loaded(cell, reason):
    return cell.reason == " ".join(reason.split()) if reason else cell.verdict != ""


def test_a_page_is_read_as_it_was_written(tmp_path):
    reason = "faults.late.kinds: hotstuff has no Notarize; it has " + "BlockVote, " * 20 + "Timeout"
    cells = {
        "calm": [EnginePoint("passed"), EnginePoint("", reason)],
        "lossy": [EnginePoint("inconclusive", "too few"), EnginePoint("", reason)],
    }
    page = tmp_path / "page.md"
    page.write_text("\n".join(write_page(cells)))

    assert read_page(page) == cells


def test_no_engine_with_quorums_fails_a_scenario():
    """A scenario may show less on another engine than it promises; what it does show is right on all of them."""
    sound = {"passed", "failed as expected", "inconclusive", "runs", ""}
    wrong = [(name, cell) for name, cells in read_page().items() for cell in cells[:3] if cell.verdict not in sound]
    assert wrong == []
