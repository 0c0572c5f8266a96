"""The reference of scenario keys: the page is what the code prints, and every key has its sentence."""

import re

from checker.record.root import PROJECT_ROOT
from cluster.scenario.reference import page

WITHOUT_A_SENTENCE = "## `[chain.lane]`"
"""The section whose keys are those of docs/state.md."""


def test_the_page_is_what_the_code_prints():
    """Else run: python -m cluster.scenario.reference > docs/reference.md."""
    assert (PROJECT_ROOT / "docs" / "reference.md").read_text(encoding="utf-8").splitlines() == list(page())


def test_every_key_says_what_it_means():
    silent, section = [], ""
    for line in page():
        section = line if line.startswith("## ") else section
        is_key = line.startswith("- `") and section != WITHOUT_A_SENTENCE
        if is_key and not re.search(r"; (required|default `[^`]*`)\. \S", line):
            silent.append(line)

    assert silent == []


def test_every_kind_of_workload_and_observer_is_there():
    kinds = [line for line in page() if line.startswith("### ")]

    assert len(kinds) == len(set(kinds)) >= 16
