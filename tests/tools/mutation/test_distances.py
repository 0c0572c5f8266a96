"""Distances: the border of a failure is found, a row is what its mutant gives, and the page is made of the rows."""

import pytest

from checker.record.root import PROJECT_ROOT
from cluster.causality.asking import Point
from tests.support.mutation import tool_main
from tools.mutation.catalogue import CATALOGUE
from tools.mutation.distances.measure import WITHIN_US, find_border
from tools.mutation.distances.page import page
from tools.mutation.distances.rows import Row, encode_rows, read_rows

ROWS = read_rows()
SHORT = "floor-one-step-short"
TURNS = 1_000
TIMES_US = tuple(20_000 * turn for turn in range(1, TURNS + 1))


def test_the_page_is_made_of_the_rows():
    """`python -m tools.mutation.distances.page > docs/mutant-distances.md` writes it."""
    written = (PROJECT_ROOT / "docs" / "mutant-distances.md").read_text(encoding="utf-8")

    assert written.splitlines() == list(page(list(ROWS.values())))


def test_each_row_is_of_a_mutant_and_in_the_order_of_time(tmp_path):
    measured = [row for row in ROWS.values() if not row.unmeasured]

    assert [name for name in ROWS if name not in CATALOGUE] == []
    assert [row.name for row in measured if not 0 <= row.open_us <= row.baked_us <= row.end_us] == []
    assert [row.name for row in measured if row.is_unavoidable and row.baked_us] == []
    (tmp_path / "rows.json").write_bytes(encode_rows(reversed(ROWS.values())))
    assert read_rows(tmp_path / "rows.json") == ROWS


@pytest.mark.parametrize(("decided", "few"), [(1, 40), (2, 240), (700, 240), (TURNS, 240), (TURNS + 1, 60)])
def test_the_border_is_found_to_a_second(decided, few):
    """Before it every third continuation passes; a point is given up with the first that does."""
    asked = {}

    def points(ask):
        asked.update(ask)
        return [Point(turn, 0, runs, runs if turn >= decided else runs - runs // 3, {}) for turn, runs in ask]

    found = find_border(points, TIMES_US)
    ends_us = (*TIMES_US, TIMES_US[-1])
    assert found.open_turn < decided <= found.decided_turn
    assert (found.open_turn == 0) == (decided == 1)
    assert decided == 1 or ends_us[found.decided_turn - 1] - ends_us[found.open_turn - 1] <= WITHIN_US
    assert sum(asked.values()) <= few
    assert all(runs == 3 for turn, runs in asked.items() if turn < decided)


def test_a_family_has_what_no_chance_avoids_apart():
    """The median and the longest distance of each: of 8 s and 9 s from genesis, and of 1 s and 2 s later."""
    common = {"seed": 0, "family": "timers", "check": "timers/told-timers", "end_us": 9_000_000}
    rows = [
        Row("a", is_unavoidable=True, shown_us=3_000_000, **common),
        Row("b", is_unavoidable=True, **{**common, "end_us": 8_000_000}),
        Row("c", baked_us=8_000_000, open_us=7_500_000, shown_us=7_900_000, **common),
        Row("d", baked_us=7_000_000, open_us=6_500_000, **common),
        Row("e", 0, unmeasured="its run takes too long"),
    ]
    lines = list(page(rows))

    assert "| timers | 4 | 0 | 2 | 8.5 | 9.0 | 2 | 1.5 | 2.0 |" in lines
    assert "| timers | 2 | 0 | 1 | 3.0 | 3.0 | 1 | 0.0 | 0.0 |" in lines
    assert "- `e`: its run takes too long" in lines


@pytest.mark.soak
def test_a_row_is_what_its_mutant_gives():
    assert not ROWS[SHORT].unmeasured
    assert tool_main(["distances", "--only", SHORT, "--check", "--json"]) == 0
