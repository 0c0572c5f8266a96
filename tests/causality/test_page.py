"""The page of one case says what its commands print, and its two runs end as it says."""

import os

import pytest

from cluster.scenario.load import load_scenario, with_reseeds
from tests.causality.cases import PLUGIN
from tests.causality.page import CASE, PAGE, page, plan_of
from tests.support.cluster_runs import judge


def test_the_plan_fails_and_its_continuation_passes(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(PLUGIN))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(PLUGIN), os.environ.get("PYTHONPATH", "")]))
    text, turn, seed = plan_of(PAGE.read_text(encoding="utf-8"))
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    plan = load_scenario(str(tmp_path / "plan.toml"))

    ends = [judge(each, seed=CASE.seed).verdict for each in (plan, with_reseeds(plan, [(turn, seed)]))]
    assert ends == ["safety", "passed"]


@pytest.mark.soak
def test_the_page_is_what_the_commands_print():
    assert page() == PAGE.read_text(encoding="utf-8")
