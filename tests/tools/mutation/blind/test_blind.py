"""The bugs that were written blind: their edits fit the code, their rows the tests, and the page is made of the rows.

That the test of each row fails with its bug in place is seen in `make soak`.
"""

import subprocess
import sys

import pytest

from checker.record.root import PROJECT_ROOT
from tools.mutation.blind.catalogue import BUGS, Bug, Edit, EditError, put_in
from tools.mutation.blind.copies import copy_with, make_base
from tools.mutation.blind.measure import first_failure
from tools.mutation.blind.page import main, page
from tools.mutation.blind.rows import Row, read_rows

WORDS_MAX = 800
ROWS = read_rows()


def test_the_page_is_made_of_the_rows():
    """`python -m tools.mutation.blind.page > docs/mutants.md` writes it."""
    written = (PROJECT_ROOT / "docs" / "mutants.md").read_text()

    assert written.splitlines() == list(page(list(ROWS.values())))
    assert len(written.split()) <= WORDS_MAX


def test_the_table_has_each_bug(tmp_path):
    main(["--out", str(tmp_path / "dist")])
    lines = (tmp_path / "dist" / "mutants.md").read_text().splitlines()

    assert [line.split("`")[1] for line in lines[4:]] == list(ROWS)


@pytest.mark.parametrize("bug", BUGS.values(), ids=lambda bug: bug.name)
def test_each_edit_fits_the_code(bug):
    counts = [(PROJECT_ROOT / edit.file).read_text().count(edit.old) for edit in bug.edits]

    assert counts == [1] * len(bug.edits)
    assert all(edit.old != edit.new for edit in bug.edits)


def test_each_test_of_a_row_exists():
    named = sorted({row.test for row in ROWS.values() if row.test})
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *named]
    done = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout[-2_000:]


class TestPuttingIn:
    BUG = Bug("one", "a bug", (Edit("a/b.py", "x > 1", "x >= 1"),))

    def test_the_new_text_takes_the_place_of_the_old(self, tmp_path):
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "b.py").write_text("y = x > 1\n")
        put_in(self.BUG, tmp_path)

        assert (tmp_path / "a" / "b.py").read_text() == "y = x >= 1\n"

    @pytest.mark.parametrize(("source", "count"), [("y = x > 2\n", 0), ("y = x > 1 or x > 1\n", 2), (None, 0)])
    def test_an_edit_whose_text_does_not_stand_once_is_refused(self, source, count, tmp_path):
        if source is not None:
            (tmp_path / "a").mkdir()
            (tmp_path / "a" / "b.py").write_text(source)

        with pytest.raises(EditError, match=rf"bug one: expected .* once in a/b\.py, found it {count} times: 'x > 1'"):
            put_in(self.BUG, tmp_path)


class TestPage:
    def test_a_bug_counts_for_what_sees_it(self):
        names = [bug.name for bug in BUGS.values() if bug.area == "actors"]
        rows = [
            Row(names[0], runs_at="c", seed=5002, check="oracle", tests_at="c", test="t"),
            Row(names[1], runs_at="c", tests_at="c", test="t"),
            Row(names[2], runs_at="c", seed=5000, check="oracle", tests_at="c"),
            Row(names[3], runs_at="c", tests_at="c", inconclusive=5001),
            Row(names[4], tests_at="c"),
        ]
        lines = list(page(rows))

        assert "| actors | 5 | 2 of 4 | 2 | 3 | 1 |" in lines
        assert "| all | 5 | 2 of 4 | 2 | 3 | 1 |" in lines
        assert [line for line in lines if line.startswith("- `")] == [
            f"- `{names[3]}` (actors): {BUGS[names[3]].sentence}"
        ]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return make_base(tmp_path_factory.mktemp("copies") / "base")


def assert_is_seen(name, base):
    row = ROWS[name]
    with copy_with(row.bug, base) as copy:
        assert first_failure(row.bug, copy, row.test) == row.test


@pytest.mark.soak
@pytest.mark.parametrize("name", [row.name for row in ROWS.values() if row.test])
def test_each_bug_is_seen_by_the_test_of_its_row(name, base):
    assert_is_seen(name, base)
