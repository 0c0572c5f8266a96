"""Makes a run that went wrong smaller while it goes wrong in the same way.

What is reduced is the resolved plan, not the seed: fewer faults, fewer workloads, fewer validators, an earlier stop,
shorter faults, smaller numbers, and everything else at its default. A candidate counts if its signature (`sweep.py`)
is that of the run; chance is keyed, so what a reduction leaves in place draws as before. What there is several of is
reduced by delta debugging: entries, validators, sections. Then Hypothesis makes all values smaller that are left
(`shrink_candidates.py`, `smallest.py`). Both repeat until neither finds anything more.

Delta debugging judges candidates in worker processes, as many at a time as there are jobs; of those that count the
first in order is taken, so the result does not depend on how many jobs there were. Hypothesis asks for one at a time.
"""

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeAlias, final

import msgspec

from cluster.campaign.fewer_validators import with_validators, without_observers
from cluster.campaign.results_db import SeedResult
from cluster.campaign.shrink_candidates import GONE, Ladder, Plain, ladders_of, with_rungs
from cluster.campaign.smallest import Rungs, find_smallest
from cluster.campaign.sweep import Task
from cluster.scenario.defaults import TABLES, without_defaults
from cluster.scenario.load import convert_scenario, encode_scenario
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import Scenario

Candidate: TypeAlias = tuple[str, Plain]
TaskJudge: TypeAlias = Callable[[Sequence[Task]], Iterator[tuple[Task, SeedResult]]]

RUNS_MAX: Final = 600
"""Runs after which shrinking stops with what it has."""

VALIDATORS_MIN: Final = 4
"""The smallest cluster that bears a fault."""

_NEEDED: Final = ("cluster", "mutants")
"""Sections that are no weather: how many validators there are, and what is wrong with them."""


class Shrunk(NamedTuple):
    """What came of it: the smallest scenario found, the runs it took, and whether it stopped at the limit of runs."""

    scenario: Scenario
    runs: int
    is_cut_off: bool
    steps: tuple[str, ...]


@final
class Shrinker:
    """Reduces one scenario.

    Args:
        scenario: The resolved scenario of the run that went wrong.
        seed: Its seed.
        signature: What a candidate must show.
        judge: Judges tasks and yields results in any order.
        jobs: How many candidates are judged at a time.
        on_step: Is told of each reduction, with the runs so far.
        on_smaller: Is given the smallest scenario so far, whenever that is another one: shrinking may be killed.
        runs_max: Runs after which it stops with what it has.
        is_thorough: Whether candidates are repeated in another process: what the failure needs to show.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        signature: str,
        *,
        judge: TaskJudge,
        jobs: int,
        on_step: Callable[[str, int], None] = lambda _what, _runs: None,
        on_smaller: Callable[[Scenario, int], None] = lambda _scenario, _runs: None,
        runs_max: int = RUNS_MAX,
        is_thorough: bool = False,
    ) -> None:
        self._plain: Plain = json.loads(encode_scenario(scenario))
        self._seed = seed
        self._signature = signature
        self._judge = judge
        self._jobs = jobs
        self._on_step = on_step
        self._on_smaller = on_smaller
        self._runs_max = runs_max
        self._is_thorough = is_thorough
        self._runs = 0
        self._steps: list[str] = []
        self._tried: dict[bytes, bool] = {}
        self._failed: dict[str, None] = {}

    def shrink(self) -> Shrunk:
        """Reduce as far as it goes."""
        is_smaller = True
        while is_smaller and self._runs < self._runs_max:
            is_smaller = False
            self._failed.clear()
            for reduce in (self._fewer_entries, self._fewer_validators, self._defaults):
                while self._runs < self._runs_max and self._take_first(reduce(self._plain)):
                    is_smaller = True
            is_smaller |= self._take_smaller_values()
        scenario = convert_scenario(self._plain, "the shrunk scenario")
        return Shrunk(scenario, self._runs, self._runs >= self._runs_max, tuple(self._steps))

    def _take_smaller_values(self) -> bool:
        """Have Hypothesis make the values smaller, all of them together; return whether any is."""
        plain, groups = self._plain, ladders_of(self._plain)
        flat = [ladder for group in groups for ladder in group]

        def chosen(rungs: Rungs) -> list[tuple[Ladder, int]]:
            return list(zip(flat, rungs, strict=True))

        best = sum(len(ladder.rungs) - 1 for ladder in flat)

        def holds(rungs: Rungs) -> bool:
            nonlocal best
            smaller = with_rungs(plain, chosen(rungs))
            it_holds = self._runs < self._runs_max and self._shows_it(smaller)
            if it_holds and sum(rungs) < best:
                best = sum(rungs)
                self._on_smaller(convert_scenario(smaller, "the shrunk scenario"), self._runs)
            return it_holds

        smallest = find_smallest([[len(ladder.rungs) for ladder in group] for group in groups], holds)
        for ladder, rung in chosen(smallest):
            if rung < len(ladder.rungs) - 1:
                self._steps.append(describe(ladder, rung))
        is_smaller = any(rung < len(ladder.rungs) - 1 for ladder, rung in chosen(smallest))
        if is_smaller:
            smaller = convert_scenario(with_rungs(plain, chosen(smallest)), "the shrunk scenario")
            self._plain = json.loads(encode_scenario(smaller))
            self._on_step("smaller values", self._runs)
        return is_smaller

    def _shows_it(self, plain: Plain) -> bool:
        """Judge one candidate, unless it was judged before or is no scenario."""
        try:
            encoded = encode_scenario(convert_scenario(plain, "candidate"))
        except ScenarioError:
            return False
        if encoded not in self._tried:
            self._runs += 1
            ((_, result),) = self._judge([Task(encoded, self._seed, is_thorough=self._is_thorough)])
            self._tried[encoded] = result.signature == self._signature
        return self._tried[encoded]

    def _take_first(self, candidates: Iterator[Candidate]) -> bool:
        """Judge candidates in batches; go on from the first of them that counts."""
        fresh = self._unseen(candidates)
        while batch := list(islice(fresh, self._jobs)):
            self._runs += len(batch)
            tasks = [
                Task(encode_scenario(scenario), self._seed, is_thorough=self._is_thorough) for _, _, scenario in batch
            ]
            for task, result in self._judge(tasks):
                self._tried[task.scenario] = result.signature == self._signature
            for task, (what, _, _) in zip(tasks, batch, strict=True):
                if self._tried[task.scenario]:
                    # Resolved: a candidate may have left out whole sections.
                    self._plain = json.loads(task.scenario)
                    self._steps.append(what)
                    self._on_step(what, self._runs)
                    self._on_smaller(convert_scenario(self._plain, "the shrunk scenario"), self._runs)
                    return True
                self._failed[what] = None
            if self._runs >= self._runs_max:
                return False
        return False

    def _unseen(self, candidates: Iterator[Candidate]) -> Iterator[tuple[str, Plain, Scenario]]:
        """Yield candidates that are scenarios, and not one that was judged before or whose like failed in this round.

        What failed is tried again only once everything else has been, or each reduction that holds would cost all those
        that do not a second time.
        """
        for what, plain in candidates:
            if what in self._failed:
                continue
            try:
                scenario = convert_scenario(plain, "candidate")
            except ScenarioError:
                continue
            encoded = encode_scenario(scenario)
            if encoded not in self._tried:
                self._tried[encoded] = False
                yield what, plain, scenario

    # -- passes: each yields candidates, the boldest first ---------------------------------------

    def _fewer_entries(self, plain: Plain) -> Iterator[Candidate]:
        for table in TABLES:
            for removed in halves(list(plain[table])):
                yield f"without {table} {', '.join(removed)}", _without(plain, table, removed)

    def _fewer_validators(self, plain: Plain) -> Iterator[Candidate]:
        for count in range(VALIDATORS_MIN, plain["cluster"]["validators"]):
            yield f"{count} validators", with_validators(plain, count)

    def _defaults(self, plain: Plain) -> Iterator[Candidate]:
        """Put whole sections back to what a scenario has that does not name them."""
        stated = without_defaults(plain)
        sections = [key for key in stated if key not in {*TABLES, *_NEEDED} and isinstance(stated[key], Mapping)]
        for left_out in halves(sections):
            yield (
                f"{', '.join(left_out)} as by default",
                {key: value for key, value in plain.items() if key not in left_out},
            )


def halves(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield what delta debugging tries to remove: everything, halves, quarters, down to single names."""
    size = len(names)
    while size >= 1:
        for start in range(0, len(names), size):
            yield tuple(names[start : start + size])
        size //= 2


def _without(plain: Plain, table: str, removed: Sequence[str]) -> Plain:
    if table == "observers":
        return without_observers(plain, removed)
    smaller = copy.deepcopy(plain)
    for name in removed:
        del smaller[table][name]
    smaller["requires"] = [name for name in smaller["requires"] if name not in removed]
    return smaller


def describe(ladder: Ladder, rung: int) -> str:
    """Return what a step does to a value, in words."""
    place, before, after = ".".join(map(str, ladder.path)), ladder.rungs[-1], ladder.rungs[rung]
    return f"{place} {before} left out" if after is GONE else f"{place} {before} -> {after}"


def as_plain(scenario: Scenario) -> Plain:
    """Return a scenario as plain data without what is as by default: what a person has to read."""
    plain: Plain = msgspec.to_builtins(scenario)
    return without_defaults(plain)
