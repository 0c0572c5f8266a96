"""The head table of the page of benchmarks: the figures of its sections, and which have none."""

from benchmarks.__main__ import ROWS, _head
from benchmarks.figures import head_figures, head_line


def test_figures_come_back_by_row_out_of_whatever_stands_around():
    printed = ["title", head_line("swarm", "4,000 a core", is_missed=True), "  more", head_line("digest", "1.6 %")]
    page = "\n".join(["## A section", "```", *printed, "```", "```", head_line("digest", "2 %"), "```"])

    assert head_figures(page) == {"swarm": "4,000 a core, MISSED", "digest": "1.6 %; 2 %"}


def test_a_row_without_a_figure_says_so():
    lines = _head({"start": "0.07 s, 1.00 s, MISSED"}).splitlines()

    assert sum("| not measured |" in line for line in lines) == len(ROWS) - 1
    assert "| start-up: `--help`, first event of `run calm` | 0.07 s, 1.00 s, MISSED | 0.3 s, 0.8 s |" in "\n".join(
        lines
    )
