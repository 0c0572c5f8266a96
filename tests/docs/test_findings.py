"""The page of findings has every study, says what its file says, and no finding on it has failed."""

import re

import pytest

from cluster.studies.load import load_study, study_files
from tests.findings import FINDINGS, PICTURES, parts_there


def test_every_study_has_its_part_and_no_other_has():
    assert list(parts_there()) == list(study_files())


@pytest.mark.parametrize("name", study_files())
def test_a_part_says_what_the_study_says(name):
    """The answer and each finding, word by word: a changed file needs its part anew, by `python -m tests.findings`."""
    study, part = load_study(name).study, parts_there()[name]

    assert part.startswith(f"## {study.title}\n")
    assert " ".join(study.answer.split()) in part
    assert re.findall(r"^- ([a-z ]+): ", part, re.MULTILINE) == ["holds"] * len(study.findings)
    for finding in study.findings:
        assert f"- holds: {finding.says} ({finding.figure}: " in part
    assert f"](studies/{name}.png)" in part


def test_every_picture_belongs_to_a_part():
    assert sorted(path.stem for path in PICTURES.iterdir()) == sorted(study_files())
    assert "## Not simulated" in FINDINGS.read_text(encoding="utf-8")
