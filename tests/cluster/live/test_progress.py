"""The view of a run: nothing if quiet, the column log off a terminal, pictures on one."""

from io import StringIO

import pytest
from rich.console import Console

from cluster.live import progress as live
from cluster.live.progress import DRAW_SHARE, LiveProgress
from cluster.runtime.progress import Progress
from cluster.scenario.load import load_scenario
from network.events import Event
from validators.events import Entered


@pytest.fixture
def clock(monkeypatch):
    """A wall clock that stands where a test puts it, in seconds, and the processor's, which does nothing else."""
    now = [0.0]
    monkeypatch.setattr(live.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(live.time, "process_time", lambda: now[0])
    return now


def figures(**others):
    return Progress([1, 1, 1, 1], now_us=1_000_000, healed_us=0, target_height=9, **others)


def enter_all(progress):
    for node in range(4):
        progress.observe(Event(1_000_000, node, Entered(2, 1)))


def test_a_quiet_run_says_nothing(clock, capsys):
    with LiveProgress(title="calm seed 0", is_quiet=True) as progress:
        progress.begin(load_scenario("calm", ()))
        clock[0] = 9.0
        progress.show(figures())
        progress.note("judging")

    assert (progress.is_watching, capsys.readouterr().err) == (False, "")


def test_off_a_terminal_the_log_has_the_stages_of_the_run(clock, capsys):
    with LiveProgress(title="calm seed 0") as progress:
        progress.begin(load_scenario("calm", ()))
        enter_all(progress)
        progress.show(figures())
        progress.show(figures())
        progress.note("reading back")
        clock[0] = 2.5
        progress.note("judging")

    assert capsys.readouterr().err.splitlines() == [
        "calm seed 0: one column for each replica, one symbol for each event",
        "symbols: run_cluster.py docs live",
        " virtual s  0 1 2 3",
        "     1.000  v L v v  view 2",
        "     1.000  - - - -  the run goes on to height 9",
        "            after 2.5 s: judging",
    ]


def test_a_long_line_is_not_wrapped(clock, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    with LiveProgress(title="x" * 100) as progress:
        progress.begin(load_scenario("calm", ()))

    assert "x" * 100 in capsys.readouterr().err


def test_nothing_is_said_of_the_time_that_judging_takes(clock):
    out = StringIO()
    with LiveProgress(title="calm", console=Console(file=out, force_terminal=True, width=80, height=24)) as progress:
        progress.begin(load_scenario("calm", ()))
        clock[0] = 9.0
        progress.show(figures())
        running = out.getvalue()
        progress.note("judging")

    assert "left, to height 9" in running
    assert "left, judging" not in out.getvalue()
    assert "judging" in out.getvalue()


def test_a_costly_picture_is_drawn_less_often(clock, monkeypatch):
    drawn = []

    def draw(*_, **__):
        drawn.append(clock[0])
        clock[0] += 0.1
        return "picture"

    monkeypatch.setattr("cluster.live.screen.picture", draw)
    console = Console(file=StringIO(), force_terminal=True, width=80)
    with LiveProgress(title="calm", console=console) as progress:
        progress.begin(load_scenario("calm", ()))
        for _ in range(100):
            progress.show(figures())
            clock[0] += 0.1

    assert drawn[1] - drawn[0] == pytest.approx(DRAW_SHARE * 0.1, abs=0.2)
