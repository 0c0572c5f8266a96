"""The cost of judging: the processor time of all processes of a judged run beside that of the bare run, and wall time.

The bare run is the same run without a check. A judged run has the online checks, reading back, the end checks, and the
judging process, where the oracle and the cold replay execute the final blocks while the run goes on. The pipeline
writes no page. Wall time is that of two free cores.

Tried and left: online checks in the judging process. They read pools, disks and memory of the running replicas, so a
calm run is judged in more than 1.2 times its own time.

Counting is the time in the functions that name and count coverage points, by a profile, and the noting of each hit.
"""

import cProfile
import gc
import re
import resource
import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, Final, TypeAlias
from unittest.mock import patch

from benchmarks.figures import head_line
from checker.checks.suite import Suite
from cluster.live.progress import LiveProgress
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import load_scenario
from cluster.scenario.model import Scenario
from cluster.swarm.generator import draw_scenario
from cluster.verdict import pipeline
from cluster.verdict.executions import hooks_of
from cluster.verdict.facts import read_back_of
from network.collector import rare_collections
from network.words import counted

Show: TypeAlias = Callable[[str], None]


_SCENARIOS: Final = (("calm", ("run.until_height=40",), range(5)), ("outage-storm", (), range(1)))
SEEDS: Final = range(8)
SHARE_MAX_PERCENT: Final = 30
COUNTING_MAX_PERCENT: Final = 2

_COUNTING_FILES: Final = re.compile(
    r"/checker/coverage/(?!situations)|/(lane|hotstuff|simplex|longest_chain)_cells\.py$"
)
_COUNTING_NAMES: Final = re.compile(r"_?(note_)?cells?(_of_\w+)?")
"""Where the coverage points of rules are counted: whole modules, and functions elsewhere that return cells."""


@dataclass(slots=True)
class Figures:
    """Seconds of runs: processor time of the bare run, of the judged run by part, and wall time of both."""

    bare_s: float = 0.0
    bare_wall_s: float = 0.0
    online_s: float = 0.0
    read_back_s: float = 0.0
    end_s: float = 0.0
    beside_s: float = 0.0
    whole_s: float = 0.0
    wall_s: float = 0.0

    def add(self, other: "Figures") -> None:
        """Add the figures of another run."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    @property
    def share_percent(self) -> float:
        """The part of all processor time that the bare run does not take."""
        return 100 * (self.whole_s - self.bare_s) / self.whole_s


def run(show: Show = print) -> None:
    """Print the shares for the calm and the storm scenario, and for seeds of the swarm."""
    show(
        "judging, processor s     bare   online  read back      end   beside    whole  judging   wall s: bare   judged"
    )
    shares = []
    for name, runs in _runs():
        figures = Figures()
        for scenario, seed in runs:
            figures.add(measure(scenario, seed))
        show(_line(name, figures))
        shares.append(figures.share_percent)
    text = f"{' / '.join(f'{share:.0f}' for share in shares)} %"
    show(head_line("judging", text, is_missed=max(shares) > SHARE_MAX_PERCENT))
    _show_counting(show)


def _runs() -> Iterator[tuple[str, list[tuple[Scenario, int]]]]:
    """Yield what is measured: its name, and its scenarios with their seeds."""
    for name, settings, seeds in _SCENARIOS:
        yield f"{name}, {counted(len(seeds), 'seeds')}", [(load_scenario(name, settings), seed) for seed in seeds]
    yield f"swarm, {len(SEEDS)} seeds", [(draw_scenario(seed), seed) for seed in SEEDS]


def _line(name: str, figures: Figures) -> str:
    missed = f"   MISSED: at most {SHARE_MAX_PERCENT} %" if figures.share_percent > SHARE_MAX_PERCENT else ""
    return (
        f"  {name:<20}{figures.bare_s:7.2f}{figures.online_s:9.2f}{figures.read_back_s:11.2f}{figures.end_s:9.2f}"
        f"{figures.beside_s:9.2f}{figures.whole_s:9.2f}{figures.share_percent:7.1f} %{figures.bare_wall_s:12.2f}"
        f"{figures.wall_s:9.2f}{missed}"
    )


def measure(scenario: Scenario, seed: int) -> Figures:
    """Run a scenario bare, and then as a person does, and return the time of its parts."""
    figures = Figures()
    with _clock(figures, "bare_s", "bare_wall_s"), rare_collections():
        Cluster(scenario, seed).run()
    read_back, finish = read_back_of, Suite.finish

    def timed_hooks(*run: Any) -> Any:  # noqa: ANN401 - as they are
        return tuple(_timed(hook, figures, "online_s") for hook in hooks_of(*run))

    with (
        patch.object(pipeline, "hooks_of", timed_hooks),
        patch.object(pipeline, "read_back_of", _timed(read_back, figures, "read_back_s")),
        patch.object(Suite, "finish", _timed(finish, figures, "end_s")),
        LiveProgress(title="", is_quiet=True) as progress,
        _clock(figures, "whole_s", "wall_s"),
    ):
        children_s = _children_s()
        result = pipeline.run_pipeline(scenario, seed, runs=None, progress=progress)
        figures.beside_s = _children_s() - children_s
    # A run that fails early costs little, and would look like a gain.
    assert result.exit_code == 0, result.headline
    return figures


@contextmanager
def _clock(figures: Figures, processor: str, wall: str) -> Iterator[None]:
    """Note the processor time of all processes that end within a context, and its wall time."""
    gc.collect()
    before_s, started_s = time.process_time() + _children_s(), time.perf_counter()
    yield
    setattr(figures, wall, time.perf_counter() - started_s)
    setattr(figures, processor, time.process_time() + _children_s() - before_s)


def _show_counting(show: Show) -> None:
    """Print the share of counting for the same runs."""
    show("counting coverage points, share of a judged run    functions, profiled    points noted in passing   together")
    shares = []
    for name, runs in _runs():
        whole_s = functions_s = passing_s = 0.0
        for scenario, seed in runs:
            profile, hits = _profile(scenario, seed)
            whole_s += sum(own_s for _, _, own_s, *_ in profile.stats.values())
            functions_s += _counting_s(profile)
            passing_s += hits * scenario.replicas * _append_s()
        shares.append(100 * (functions_s + passing_s) / whole_s)
        show(f"  {name:<50}{100 * functions_s / whole_s:19.2f} %{100 * passing_s / whole_s:24.2f} %{shares[-1]:9.2f} %")
    text = f"{' / '.join(f'{share:.1f}' for share in shares)} %"
    show(head_line("counting", text, is_missed=max(shares) > COUNTING_MAX_PERCENT))


def _profile(scenario: Scenario, seed: int) -> tuple[cProfile.Profile, int]:
    """Return the profile of a judged run, and how often its cells were reached."""
    # Processor time: the wait for the cold replay is no part of the run.
    profiler = cProfile.Profile(time.process_time_ns, 1e-9, builtins=False)
    with LiveProgress(title="", is_quiet=True) as progress:
        result = profiler.runcall(pipeline.run_pipeline, scenario, seed, runs=None, progress=progress)
    profiler.create_stats()
    return profiler, sum(hit.hits for hit in result.rules)


def _counting_s(profile: cProfile.Profile) -> float:
    """Return the time of functions that count, with what they call, once for those that call each other."""
    return sum(
        of_caller[3]
        for function, (*_, callers) in profile.stats.items()
        if _counts(function)
        for caller, of_caller in callers.items()
        if not _counts(caller)
    )


def _counts(function: tuple[str, int, str]) -> bool:
    file, _, name = function
    return bool(_COUNTING_FILES.search(file) or (name != "cells" and _COUNTING_NAMES.fullmatch(name)))


def _append_s() -> float:
    """Return the time that one cell takes that is appended to a list."""
    rounds = 10_000
    return min(timeit.repeat("cells.append(Rule.CELL)", _APPENDING, number=rounds, repeat=5)) / rounds


_APPENDING: Final = "import enum; Rule = enum.Enum('Rule', ['CELL']); cells = []"


def _timed(function: Callable[..., Any], figures: Figures, name: str) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:  # noqa: ANN401 - whatever it takes
        started_s = time.process_time()
        try:
            return function(*arguments)
        finally:
            setattr(figures, name, getattr(figures, name) + time.process_time() - started_s)

    return call


def _children_s() -> float:
    """Return the processor time of all processes that have ended under this one."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


if __name__ == "__main__":
    run()
