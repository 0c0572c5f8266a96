"""The page on upgrades: what a reader copies runs, and each report that it shows is the report of a run."""

import re
import tomllib

import pytest

from checker.record.root import PROJECT_ROOT
from cluster.live.progress import LiveProgress
from cluster.scenario.load import convert_scenario
from cluster.verdict.pipeline import run_pipeline
from tests.applications.bad_ledger import SILENT
from tests.support.applications import LEDGER
from tests.support.golden_applications import FOLDER
from tests.support.keystones import rest_in_soak
from tests.support.upgrades import next_of

PAGE = (PROJECT_ROOT / "docs" / "upgrade.md").read_text(encoding="utf-8")


def blocks(text, language=""):
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [block for name, block in found if name == language]


WHOLE, *CHANGES = map(tomllib.loads, blocks(PAGE, "toml"))
SHAPES = dict(zip(("whole", "skipped", "late", "back", "mixed"), ({}, *CHANGES), strict=True))
"""By name, what the page adds to its whole scenario."""

BEHIND = re.search(r"^`passed: (3 validators .* 1 left behind .*)`\.$", PAGE, re.MULTILINE).group(1)


def merged(plan, change):
    """Return plain data with the keys of a change."""
    both = {key: merged(plan[key], change[key]) for key in change if isinstance(plan.get(key), dict)}
    return plan | change | both


@pytest.mark.parametrize("shape", rest_in_soak(["whole", "skipped", "late", "back"], ["skipped"]))
def test_what_a_reader_copies_runs(shape, tmp_path):
    height = WHOLE["faults"]["upgrade"]["from_height"]
    builds = {"command": list(LEDGER), "builds": {"new": {"command": next_of("python", tmp_path, height)}}}
    plan = merged(merged(WHOLE, SHAPES[shape]), {"application": {"folder": str(PROJECT_ROOT), **builds}})
    with LiveProgress(title=shape, is_quiet=True) as progress:
        result = run_pipeline(convert_scenario(plan, shape), 0, runs=None, progress=progress, has_page=False)

    assert result.verdict == "passed", result.headline
    assert (result.headline == BEHIND) == (shape in {"skipped", "back"}), result.headline


def test_the_page_mixes_builds():
    scenario = convert_scenario(merged(WHOLE, SHAPES["mixed"]), "mixed")
    assert scenario.validators["2"].application.build == "new"


def test_the_page_shows_lines_of_a_report():
    """Also where the page leaves lines out, those that it has stand in the report's order."""
    (shown,) = (block for block in blocks(PAGE) if "build new" in block)
    said = iter((FOLDER / "two-builds.txt").read_text(encoding="utf-8").splitlines())

    assert [line for line in shown.splitlines() if line not in said] == []


def test_the_page_has_the_answer_of_each_silent_difference():
    section = PAGE.partition("## Five silent differences")[2]
    named = re.findall(r"^\*\*`([a-z-]+)`\*\*", section, re.MULTILINE)
    answers = [(FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()[5:7] for name in named]

    assert sorted([*named, "no-entries"]) == sorted(SILENT)
    assert [block.splitlines() for block in blocks(section)] == answers
