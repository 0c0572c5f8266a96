"""The table of published tests on the page of Simplex: what it names exists, and every row has a name or a reason."""

import re

from checker.record.root import PROJECT_ROOT
from cluster.scenario.load import scenario_files

PAGE = PROJECT_ROOT / "docs" / "simplex.md"
ROWS = 60
"""The least number of rows: 37 of Simplex, the others of the stateful tests."""

NAMED = re.compile(r"`([^`]+)`")


def rows():
    """Return the rows below the heading: the published name, what shows it here, and the difference."""
    section = PAGE.read_text(encoding="utf-8").split("## Published tests\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]


def is_there(name):
    """Whether a name is of a scenario, or of a test's file."""
    return (PROJECT_ROOT / name).is_file() if name.startswith("tests/") else name in scenario_files()


def test_every_scenario_and_test_of_the_table_exists():
    missing = [(row[0], name) for row in rows() for name in NAMED.findall(row[1]) if not is_there(name)]

    assert missing == []


def test_every_published_test_has_a_scenario_or_a_test_or_a_reason():
    assert len(rows()) >= ROWS
    assert len({name for name, *_ in rows()}) == len(rows())
    assert [row for row in rows() if len(row) != 3 or not (NAMED.findall(row[1]) or row[2])] == []
