"""The pages that are read off the code: they are what the code prints, and every entry has its sentence."""

import re

import pytest

from checker.record.root import PROJECT_ROOT
from cluster.cli.main import COMMANDS
from cluster.reference import commands, events

PAGES = {"commands": commands, "events": events}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_prints(name):
    """Else run: python -m cluster.reference.NAME > docs/NAME.md."""
    written = (PROJECT_ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")

    assert written.splitlines() == list(PAGES[name].page())


@pytest.mark.parametrize("name", PAGES)
def test_every_entry_says_what_it_is(name):
    entries = [line for line in PAGES[name].page() if line.startswith("- ")]

    assert len(entries) > 50
    assert [line for line in entries if not re.search(r": \S", line)] == []


def test_every_command_has_a_section_and_an_example():
    lines = list(commands.page())

    assert [line[4:-1] for line in lines if line.startswith("## `")] == list(COMMANDS)
    assert sum(line.startswith("    run_cluster.py ") for line in lines) == len(COMMANDS)
