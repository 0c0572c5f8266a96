"""The studies of the project: the quick form of each is valid and goes the way of its findings."""

import json
import re

import pytest

from cluster.cli.main import main
from cluster.studies.load import load_study, study_files

ALWAYS = ("packing",)
"""A study whose quick form takes few seconds: `make test` runs it."""


DIFFERENCE = re.compile(r"difference ([+-][^ ]+) \[")


def contradicts(finding, row):
    """Whether a quick form moves the other way; with its few seeds an interval may contain 0."""
    moves = [float(found) for found in DIFFERENCE.findall(row["sentence"])]
    wrong = {"rises": min(moves) <= 0, "falls": max(moves) >= 0, "level": False}[finding.expect]
    return wrong or row["status"] == "does not hold"


@pytest.mark.parametrize(
    "name", [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.soak) for name in study_files()]
)
def test_the_quick_form_goes_the_way_that_the_study_says(name, tmp_path, capsys):
    assert main(["study", name, "--quick", "--json", "--runs", str(tmp_path)]) == 0

    answer, findings = json.loads(capsys.readouterr().out), load_study(name).study.findings
    assert len(findings) == len(answer["findings"])
    pairs = zip(findings, answer["findings"], strict=True)
    assert [row["sentence"] for finding, row in pairs if contradicts(finding, row)] == []


def test_two_studies_are_run_by_every_test_run():
    assert set(ALWAYS) <= set(study_files())
