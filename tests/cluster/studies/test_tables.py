"""A study's figures in a terminal, as CSV and as Parquet: nothing is cut, nothing foreign is replaced."""

import csv
import sys
from itertools import product
from pathlib import Path

import pytest

from checker.record.places import ForeignFileError
from cluster.exports.parquet import NoParquetError
from cluster.studies.tables import table_lines, write_csv, write_parquet
from report.page.study_rows import ArmRow
from tests.support.arrow import rows_of, stand_in_for_arrow
from tests.support.studies import made_study, spread

WRITERS = {"csv": write_csv, "parquet": write_parquet}


@pytest.fixture
def _arrow(monkeypatch):
    stand_in_for_arrow(monkeypatch)


of_each_form = pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)


def records_of(path):
    """Return the records of a CSV file."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def expected_records(rows):
    """Return what both files have to hold."""
    return [
        {
            "study": rows.name,
            "figure": figure,
            **dict(zip(("mean", "low", "high"), found or (None,) * 3, strict=True)),
            "seeds": arm.seeds,
            **dict(zip(rows.axes, arm.values, strict=True)),
        }
        for arm, (figure, found) in (
            pair for arm in rows.arms for pair in product([arm], zip(rows.figures, arm.spreads, strict=True))
        )
    ]


class TestConsole:
    """The table in a terminal."""

    def test_it_has_a_line_for_each_arm(self):
        lines = table_lines(made_study())

        assert lines[0] == "| splits | weight | seeds |                share |                 wait |"
        assert lines[2] == "| 2      | actor  |    20 | 0.100 [0.090, 0.110] |             no value |"
        assert (len(lines), lines[-1]) == (9, "")

    def test_figures_that_do_not_fit_stand_in_further_tables(self):
        names = tuple(f"figure {place}" for place in range(7))
        arms = [ArmRow(("1", "2"), 5, [spread(1 + place) for place in range(7)])]
        lines = table_lines(made_study()._replace(figures=names, arms=arms))

        assert max(map(len, lines)) <= 100
        heads = [line for line in lines if "seeds" in line]
        assert [head.count("figure") for head in heads] == [3, 4]
        assert all("splits" in head for head in heads)
        (last,) = lines[-2:-1]
        assert last.split(" | ")[-1] == "7.0 [6.3, 7.7] |"

    def test_long_names_wrap_and_lose_no_letter(self):
        letters = "".join(map(chr, range(0x4E00, 0x4E00 + 120)))
        arms = [ArmRow((letters, "x"), 5, [spread(1.0), None])]
        lines = table_lines(made_study()._replace(arms=arms))

        assert all(letter in "".join(lines) for letter in letters)
        assert max(len(line) + sum(line.count(letter) for letter in letters) for line in lines) <= 100

    def test_commands_of_a_terminal_are_shown_by_their_codes(self):
        lines = table_lines(made_study("\x1b[2J\n"))

        assert "\\x1b[2J\\n" in lines[3]
        assert len(lines) == 9


@pytest.mark.usefixtures("_arrow")
class TestFiles:
    """The two files."""

    @pytest.mark.parametrize("text", ["hello", 'a "quoted", name\nof two lines'])
    def test_both_hold_a_row_for_each_arm_and_figure(self, tmp_path, text):
        rows = made_study(text)
        write_csv(tmp_path / "table.csv", rows)
        write_parquet(tmp_path / "table.parquet", rows)
        wanted = expected_records(rows)

        read = [
            record
            | {"seeds": int(record["seeds"])}
            | {name: float(record[name]) if record[name] else None for name in ("mean", "low", "high")}
            for record in records_of(tmp_path / "table.csv")
        ]
        assert read == wanted == rows_of(tmp_path / "table.parquet")
        assert [list(record) for record in read] == [list(record) for record in wanted]
        assert len(wanted) == 12

    @of_each_form
    def test_an_older_one_is_replaced_and_nothing_else_is_left(self, tmp_path, write):
        place = tmp_path / "table"
        write(place, made_study())
        before = place.read_bytes()
        write(place, made_study()._replace(name="other", axes=("blocks", "weight")))

        assert place.read_bytes() != before
        assert [path.name for path in tmp_path.iterdir() if path.name[0] != "."] == ["table"]

    @of_each_form
    def test_a_foreign_file_stays(self, tmp_path, write):
        place = tmp_path / "table"
        place.write_text("splits,weight\n1,2\n")

        with pytest.raises(ForeignFileError, match="exists and is no "):
            write(place, made_study())
        assert place.read_text() == "splits,weight\n1,2\n"

    @of_each_form
    def test_a_write_that_fails_leaves_the_older_file(self, tmp_path, write, monkeypatch):
        place = tmp_path / "table"
        write(place, made_study())
        before = place.read_bytes(), sorted(tmp_path.iterdir())

        def refuse(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "replace", refuse)
        with pytest.raises(OSError, match="No space left") as raised:
            write(place, made_study("other"))
        assert raised.value.filename == str(place)
        assert (place.read_bytes(), sorted(tmp_path.iterdir())) == before

    @of_each_form
    @pytest.mark.parametrize("name", ["mean", "seeds", "weight"])
    def test_an_axis_never_hides_another_column(self, tmp_path, write, name):
        rows = made_study()._replace(axes=(name, "weight"))

        with pytest.raises(ValueError, match="two columns have the same name"):
            write(tmp_path / "table", rows)
        assert list(tmp_path.iterdir()) == []

    def test_without_the_library_there_is_no_parquet(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyarrow", None)

        with pytest.raises(NoParquetError, match="pyarrow is not installed"):
            write_parquet(tmp_path / "table", made_study())
        assert list(tmp_path.iterdir()) == []


def test_a_figure_and_an_axis_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two columns have the same name"):
        table_lines(made_study()._replace(axes=("share", "weight")))
