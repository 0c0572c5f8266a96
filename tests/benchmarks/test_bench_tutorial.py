"""The benchmark of the tutorial: it breaks the page's line in a copy, and gives the page's commands."""

import pytest

from benchmarks.bench_tutorial import EXITS, PAGE, SAID, SOURCE, broken_copy, commands_of

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_commands_are_those_of_the_page():
    commands = commands_of(TEXT)

    assert [command[:2] for command in commands] == [["run_cluster.py", name] for name in EXITS]
    assert [*SAID] == [*EXITS]


@pytest.mark.soak
def test_the_copy_has_the_broken_line_and_is_compiled(tmp_path):
    broken_copy(tmp_path, TEXT)

    assert "burned = timer.gas_limit * basefees.cycle" in (tmp_path / SOURCE).read_text(encoding="utf-8")
    assert len([*(tmp_path / "scheduler").glob("__pycache__/settlement.*.pyc")]) == 1
