"""The cost of judging: online checks, reading back, end checks and the oracle, as shares of all that a run takes.

The whole pipeline runs without its page. All is processor time. A share is of the run with its checks; the cold
replay has a process of its own and stands beside it.

The largest parts: the oracle executes each block again (5 to 8 %); the write-ahead check reads journals and logs as
they become durable (5 %); settled blocks take 3 to 5 %; reading back rebuilds the state of each log twice. No check
is sampled or left out for this figure.

Counting is the time in the functions that name and count rule cells, by a profile, and the noting of each hit.
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
from checker.checks.check import Check
from checker.checks.oracle import EqualOracle
from checker.checks.suite import Suite
from cluster.live.progress import LiveProgress
from cluster.scenario.load import load_scenario
from cluster.scenario.model import Scenario
from cluster.swarm.generator import draw_scenario
from cluster.verdict import pipeline
from cluster.verdict.facts import read_back_of

Show: TypeAlias = Callable[[str], None]


_SCENARIOS: Final = (("calm", ("run.until_height=40",)), ("outage-storm", ()))
SEEDS: Final = range(8)
_NANOSECONDS_PER_MILLISECOND: Final = 1_000_000
SHARE_MAX_PERCENT: Final = 15
COUNTING_MAX_PERCENT: Final = 2

_COUNTING_FILES: Final = re.compile(
    r"/checker/coverage/(?!situations)|/(lane|hotstuff|simplex|longest_chain)_cells\.py$"
)
_COUNTING_NAMES: Final = re.compile(r"_?(note_)?cells?(_of_\w+)?")
"""Where the coverage points of rules are counted: whole modules, and functions elsewhere that return cells."""


@dataclass(slots=True)
class Figures:
    """Processor time of judged runs by part, in nanoseconds."""

    whole_ns: int = 0
    online_ns: int = 0
    read_back_ns: int = 0
    end_ns: int = 0
    oracle_ns: int = 0
    cold_replay_ns: int = 0

    def add(self, other: "Figures") -> None:
        """Add those of another run."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))

    @property
    def judging_ns(self) -> int:
        """The time of all parts in this process."""
        return self.online_ns + self.read_back_ns + self.end_ns + self.oracle_ns


def run(show: Show = print) -> None:
    """Print the shares for the calm and the storm scenario, and for seeds of the swarm."""
    show("judging, processor time of runs    whole ms  online  read back  end checks  oracle  together   cold replay")
    shares = []
    for name, runs in _runs():
        figures = Figures()
        for scenario, seed in runs:
            figures.add(measure(scenario, seed))
        show(_line(name, figures))
        shares.append(100 * figures.judging_ns / figures.whole_ns)
    text = f"{' / '.join(f'{share:.0f}' for share in shares)} %"
    show(head_line("judging", text, is_missed=max(shares) > SHARE_MAX_PERCENT))
    _show_counting(show)


def _runs() -> Iterator[tuple[str, list[tuple[Scenario, int]]]]:
    """Yield what is measured: its name, and its scenarios with their seeds."""
    for name, settings in _SCENARIOS:
        yield name, [(load_scenario(name, settings), 0)]
    yield f"swarm, {len(SEEDS)} seeds", [(draw_scenario(seed), seed) for seed in SEEDS]


def _line(name: str, figures: Figures) -> str:
    online, read_back, end, oracle, together, cold = (
        100 * part_ns / figures.whole_ns
        for part_ns in (
            figures.online_ns,
            figures.read_back_ns,
            figures.end_ns,
            figures.oracle_ns,
            figures.judging_ns,
            figures.cold_replay_ns,
        )
    )
    missed = f"   MISSED: at most {SHARE_MAX_PERCENT} %" if together > SHARE_MAX_PERCENT else ""
    return (
        f"  {name:<31}{figures.whole_ns // _NANOSECONDS_PER_MILLISECOND:10,d}{online:6.1f} %{read_back:9.1f} %"
        f"{end:10.1f} %{oracle:6.1f} %{together:8.1f} %{cold:12.1f} %{missed}"
    )


def measure(scenario: Scenario, seed: int) -> Figures:
    """Run a scenario as a person does, and return the time of its parts."""
    figures = Figures()
    hooks_of, read_back, finish = pipeline._hooks_of, read_back_of, Suite.finish  # noqa: SLF001 - a step of the pipeline

    def timed_hooks(*run: Any) -> Any:  # noqa: ANN401 - as they are
        return tuple(_timed(hook, figures, "online_ns") for hook in hooks_of(*run))

    def timed_finish(suite: Suite, end: Any, _during: Any) -> Any:  # noqa: ANN401 - as they are
        before_ns = figures.oracle_ns
        started_ns = time.process_time_ns()
        results = finish(suite, end, lambda check: _of_the_oracle(check, figures))
        figures.end_ns += time.process_time_ns() - started_ns - (figures.oracle_ns - before_ns)
        return results

    with (
        patch.object(pipeline, "_hooks_of", timed_hooks),
        patch.object(pipeline, "read_back_of", _timed(read_back, figures, "read_back_ns")),
        patch.object(Suite, "finish", timed_finish),
        LiveProgress(title="", is_quiet=True) as progress,
    ):
        gc.collect()
        children_s, started_ns = _children_s(), time.process_time_ns()
        result = pipeline.run_pipeline(scenario, seed, runs=None, progress=progress)
        figures.whole_ns = time.process_time_ns() - started_ns
        figures.cold_replay_ns = int(1e9 * (_children_s() - children_s))
    # A run that fails early costs little, and would look like a gain.
    assert result.exit_code == 0, result.headline
    return figures


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
        started_ns = time.process_time_ns()
        try:
            return function(*arguments)
        finally:
            setattr(figures, name, getattr(figures, name) + time.process_time_ns() - started_ns)

    return call


@contextmanager
def _of_the_oracle(check: Check, figures: Figures) -> Iterator[None]:
    started_ns = time.process_time_ns()
    yield
    if isinstance(check, EqualOracle):
        figures.oracle_ns += time.process_time_ns() - started_ns


def _children_s() -> float:
    """Return the processor time of all processes that have ended under this one."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


if __name__ == "__main__":
    run()
