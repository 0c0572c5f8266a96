"""Tables and progress in a narrow terminal, and on a pipe."""

from typing import ClassVar

import pytest
from rich.console import Console

from report import campaign as live
from report.campaign import SweepCounts, SweepProgress
from report.console import validator_table
from report.layout import fitting_columns, natural_width
from report.verdict_rows import ValidatorRow
from tools.mutation.report import MutantRow, MutantsProgress, mutants_table

ROW = ValidatorRow(
    node=1,
    height=90,
    finalized_height=90,
    state_root="9402992726731122",
    executed=1_091,
    rolled_back=1,
    undone=0,
    fired=880,
    expired=16_200,
    insolvent=5_400,
    waiting=20_950,
    note="joined from a snapshot at height 30",
)


def drawn(table, width):
    console = Console(width=width, force_terminal=False)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


class TestColumnsThatFit:
    """The columns for which a width has room."""

    COLUMNS: ClassVar = {"name": ["abc"], "figure": ["1"], "remark": ["a long remark"]}

    def test_all_columns_are_shown_where_they_fit(self):
        width = natural_width(self.COLUMNS)

        assert fitting_columns(self.COLUMNS, width, ["remark"]) == ["name", "figure", "remark"]

    def test_columns_go_in_the_stated_order_until_the_rest_fits(self):
        width = natural_width(self.COLUMNS) - 1

        assert fitting_columns(self.COLUMNS, width, ["figure", "remark"]) == ["name", "remark"]

    def test_a_table_is_as_wide_as_its_natural_width(self):
        table = validator_table([ROW], 200)
        columns = {column.header: [str(cell) for cell in column.cells] for column in table.columns}

        assert max(map(len, drawn(table, 200).splitlines())) == natural_width(columns)


class TestEightyColumns:
    """No table of a verdict or a campaign cuts a header or a figure."""

    def test_the_table_of_validators_cuts_nothing(self):
        shown = drawn(validator_table([ROW], 80), 80)

        assert "…" not in shown
        for expected in ("validator", "finalized", "state root", "9402992726", "16,200", "5,400", "20,950"):
            assert expected in shown

    def test_a_note_without_a_column_stands_below_the_table(self):
        assert "1: joined from a snapshot at height 30" in drawn(validator_table([ROW], 80), 80)

    def test_the_matrix_of_mutants_keeps_the_checks_that_killed_them(self):
        row = MutantRow("refund-rounded-down", "", "execution", "execution", "all", True, "oracle", 2, 1.5, None, False)

        shown = drawn(mutants_table([row], 80), 80)

        assert "…" not in shown
        assert "refund-rounded-down" in shown
        assert "oracle" in shown


@pytest.fixture
def clock(monkeypatch):
    """A wall clock that stands where a test puts it, in seconds."""
    now = [0.0]
    monkeypatch.setattr(live.time, "perf_counter", lambda: now[0])
    return now


def test_a_sweep_on_a_pipe_has_fixed_columns_under_one_header(clock, capsys):
    with SweepProgress(title="swarm") as progress:
        clock[0] = 4.5
        progress.show(SweepCounts(2_000, 10, 0, {"passed": 10}), {}, "passed")
        progress.show(SweepCounts(2_000, 11, 0, {"passed": 11}), {}, "liveness")
        clock[0] = 9.0
        progress.show(SweepCounts(2_000, 1_020, 0, {"passed": 1_020}), {}, "failed as expected")

    assert capsys.readouterr().err.splitlines() == [
        "swarm",
        "  real s      done        of   seeds/h  verdicts",
        "     4.5        10     2,000     8,000  10 passed  .",
        "     9.0     1,020     2,000   408,000  1,020 passed  Lx",
    ]


def test_a_campaign_on_a_pipe_has_a_line_for_each_mutant_under_one_header(clock, capsys):
    """However quickly they come."""
    with MutantsProgress(["tip-burned", "order-of-a-set"], is_quiet=False) as progress:
        progress.show("tip-burned: seed 0: survives: finality-regained")
        clock[0] = 1.2
        progress.tell("tip-burned", 2, "killed by oracle")
        progress.tell("order-of-a-set", 1_000, "survived; nothing failed")

    assert capsys.readouterr().err.splitlines() == [
        "  real s  seeds  mutant          result",
        "     1.2      2  tip-burned      killed by oracle",
        "     1.2  1,000  order-of-a-set  survived; nothing failed",
    ]
