"""The head table of the page of benchmarks: the figures of its sections, and which have none."""

import sys

from benchmarks import __main__ as bench
from benchmarks.__main__ import ROWS, _head
from benchmarks.figures import head_figures, head_line


def test_figures_come_back_by_row_out_of_whatever_stands_around():
    printed = ["title", head_line("swarm", "4,000 a core", is_missed=True), "  more", head_line("digest", "1.6 %")]
    page = "\n".join(["## A section", "```", *printed, "```", "```", head_line("digest", "2 %"), "```"])

    assert head_figures(page) == {"swarm": "4,000 a core, MISSED", "digest": "1.6 %; 2 %"}


def test_a_row_without_a_figure_says_so():
    lines = _head({"start": "0.07 s, 1.00 s, MISSED"}, {}).splitlines()

    assert sum("| not measured |" in line for line in lines) == len(ROWS) - 1
    assert "| start-up: `--help`, first event of `run calm` | 0.07 s, 1.00 s, MISSED | 0.3 s, 0.8 s |" in "\n".join(
        lines
    )


def test_a_benchmark_that_fails_costs_the_others_nothing(tmp_path, monkeypatch):
    """Its own section stays as it was, and the page names it."""
    page = tmp_path / "page.md"
    ends = {"bench_chain": [0, 3], "bench_engines": [0, 0]}
    rounds = iter(["first", "first", "second", "second"])
    monkeypatch.setattr(bench, "_run", lambda name, *_, limit_s: (next(rounds), ends[name].pop(0)))
    monkeypatch.setattr(sys, "argv", ["benchmarks", *ends, "--out", str(page)])

    assert (bench.main(), bench.main()) == (0, 3)

    head, chain, engines = page.read_text().split("\n## ")
    assert "bench_chain (exit code 3)" in head
    assert ("first" in chain, "second" in engines) == (True, True)


def test_a_benchmark_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(bench, "_command", lambda *_: ["sleep", "60"])

    assert bench._run("bench_chain", (), limit_s=1) == ("", -9)
