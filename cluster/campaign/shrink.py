"""Shrinks the scenario of a failed run while the run fails in the same way.

The resolved plan is reduced, and the seed stays: fewer faults and workloads, an earlier stop, fewer validators, shorter
faults, smaller numbers, defaults elsewhere. A candidate holds if its signature (`tasks.py`) equals that of the run.
Draws are keyed by name, so the rest of a reduced plan draws as before. Delta debugging removes entries, validators and
sections. Then Hypothesis makes the remaining values smaller (`shrink_candidates.py`, `smallest.py`). Both repeat until
neither finds a smaller plan.

Delta debugging runs a batch of candidates in worker processes, one for each job. It takes the first candidate in order
that holds, so the result does not depend on the number of jobs. Hypothesis asks for a single candidate at a time.
"""

import copy
import hashlib
import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, TypeVar

import msgspec
import tomli_w

from checker.record.places import OwnFile, write_own
from checker.record.program import program_name
from cluster.campaign.fewer_validators import with_validators, without_observers
from cluster.campaign.results_db import SeedResult
from cluster.campaign.shrink_candidates import Plain, candidates_of, resolve, with_choices
from cluster.campaign.smallest import Choices, find_smallest
from cluster.campaign.tasks import Task
from cluster.scenario.defaults import TABLES, without_defaults
from cluster.scenario.fields import NAME_CHARACTERS_MAX
from cluster.scenario.load import convert_scenario, decode_scenario, encode_scenario
from cluster.scenario.model import RunSection, Scenario
from network.words import counted

_Name = TypeVar("_Name")

Reduction: TypeAlias = tuple[str, Plain]
"""A description of a reduction, and the plan after it."""

Reduce: TypeAlias = Callable[[Plain], Iterator[Reduction]]
"""Yields the reductions of one kind."""

RunTasks: TypeAlias = Callable[[Sequence[Task]], Iterator[tuple[Task, SeedResult]]]

RUNS_MAX: Final = 600
"""The number of runs after which shrinking stops with the smallest plan so far."""

VALIDATORS_MIN: Final = 4
"""The smallest cluster that bears a fault."""

COMMENT_CHARACTERS_MAX: Final = 110
TAG_CHARACTERS: Final = 6

NO_ANSWER: Final = "no answer came in"
"""The words of a signature by which an application hung."""

HASTY_MS: Final = 1_000
"""The time for an answer while the plan of a hang is reduced."""

STOPS: Final = 4
"""The number of parts of a run; each end of a part is tried as a stop."""

_SHRUNK: Final = "Shrunk in"

SHRUNK: Final = OwnFile(f"# {_SHRUNK} ".encode(), "plan that shrink wrote")
"""The kind of file that shrinking writes."""

_NEEDED: Final = ("cluster", "mutants", "mutants_from_height", "application")
"""Sections that are never reset to their defaults: the validators, their mutants, and the application they run."""


class Shrunk(NamedTuple):
    """The smallest scenario found, the runs it took, whether it stopped at the limit of runs, and the steps taken."""

    scenario: Scenario
    runs: int
    is_cut_off: bool
    steps: tuple[str, ...]


class Shrinker:
    """Reduces a scenario.

    Args:
        scenario: The resolved scenario of the run that went wrong.
        seed: Its seed.
        signature: The signature that a candidate must show.
        run: Runs tasks and yields results in any order.
        jobs: The number of candidates that are run at a time.
        on_step: Called with each reduction and the runs so far.
        on_smaller: Called with each new smallest scenario, because shrinking may be killed.
        runs_max: The number of runs after which it stops.
        is_thorough: Whether candidates are repeated in another process, because the failure shows only there.
        height: The height at which the failure shows, 0 if it has no height.
        first: The faults that are left out together before anything else is tried.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        signature: str,
        *,
        run: RunTasks,
        jobs: int,
        on_step: Callable[[str, int], None] = lambda _what, _runs: None,
        on_smaller: Callable[[Scenario, int], None] = lambda _scenario, _runs: None,
        runs_max: int = RUNS_MAX,
        is_thorough: bool = False,
        height: int = 0,
        first: Sequence[str] = (),
    ) -> None:
        self._plain: Plain = json.loads(encode_scenario(scenario))
        self._stop = scenario.run.until_height
        self._seed = seed
        self._signature = signature
        self._run_tasks = run
        self._jobs = jobs
        self._on_step = on_step
        self._on_smaller = on_smaller
        self._runs_max = runs_max
        self._is_thorough = is_thorough
        self._height = height
        self._first = first
        self._runs = 0
        self._steps: list[str] = []
        self._tried: dict[bytes, bool] = {}
        self._failed: dict[str, None] = {}

    def shrink(self) -> Shrunk:
        """Reduce until nothing gets smaller or the limit of runs is reached; return the smallest scenario."""
        whole = self._plain
        is_hasty = NO_ANSWER in self._signature and self._take_first(_with_timeout(whole, HASTY_MS))
        self._reduce()
        if is_hasty and self._runs < self._runs_max:
            stated_ms = whole["application"]["call_timeout_ms"]
            if not self._take_first(_with_timeout(self._plain, stated_ms)):
                # The smaller plan is slow where the run hung: another failure.
                self._plain, self._steps = whole, []
                self._reduce()
        scenario = convert_scenario(self._plain, "the shrunk scenario")
        return Shrunk(scenario, self._runs, self._runs >= self._runs_max, tuple(self._steps))

    def _reduce(self) -> None:
        """Reduce until nothing gets smaller or the limit of runs is reached."""
        is_smaller = True
        self._take_first(self._without_first(self._plain))
        while is_smaller and self._runs < self._runs_max:
            is_smaller = False
            self._failed.clear()
            # Before the stop: a run that is over at an early height may need a fault to live until the failure.
            is_smaller |= self._take_all(self._fewer_entries)
            # Once a round: later reductions lower the stop as well, and make each run cheap.
            is_smaller |= self._take_first(self._shorter(self._plain))
            # The reduction that makes runs cheapest comes first: messages grow with the square of the validators.
            for reduce in (self._fewer_validators, self._fewer_entries, self._narrower_workloads, self._defaults):
                is_smaller |= self._take_all(self._at_both_stops(reduce))
            # To the end before the next round, because the next round tries every failed reduction again.
            while self._runs < self._runs_max and self._take_smaller_values():
                is_smaller = True

    def _take_all(self, reduce: Reduce) -> bool:
        """Take reductions of a kind until none holds; return whether any did."""
        is_smaller = False
        while self._take_first(reduce(self._plain)):
            is_smaller = True
        return is_smaller

    def _at_both_stops(self, reduce: Reduce) -> Reduce:
        """Return the reductions, each followed by the same reduction with the run's original stop."""

        def with_first_stop(plain: Plain) -> Iterator[Reduction]:
            for step, smaller in reduce(plain):
                yield step, smaller
                if plain["run"]["until_height"] != self._stop:
                    run = {**smaller.get("run", {}), "until_height": self._stop}
                    yield f"{step}, run.until_height {self._stop} again", {**smaller, "run": run}

        return with_first_stop

    def _run(self, candidates: Sequence[bytes]) -> None:
        """Run candidates and note which of them show the failure."""
        self._runs += len(candidates)
        tasks = [Task(encoded, self._seed, is_thorough=self._is_thorough, is_explained=False) for encoded in candidates]
        for task, result in self._run_tasks(tasks):
            self._tried[task.scenario] = result.signature == self._signature

    def _take_first(self, reductions: Iterator[Reduction]) -> bool:
        """Run reductions in batches; go on from the first reduction that holds."""
        fresh = self._unseen(reductions)
        while self._runs < self._runs_max and (batch := list(islice(fresh, self._jobs))):
            self._run([encoded for _, encoded in batch])
            for step, encoded in batch:
                if self._tried[encoded]:
                    # Resolved: a candidate may have left out whole sections.
                    self._plain = json.loads(encoded)
                    self._steps.append(step)
                    self._on_step(step, self._runs)
                    self._on_smaller(decode_scenario(encoded, "the shrunk scenario"), self._runs)
                    return True
                self._failed[step] = None
        return False

    def _unseen(self, reductions: Iterator[Reduction]) -> Iterator[tuple[str, bytes]]:
        """Yield the reductions that are valid scenarios, have not been run, and have not failed in this round.

        A failed reduction is tried again only in the next round. Otherwise each reduction that holds would repeat all
        failed reductions.
        """
        for step, plain in reductions:
            encoded = b"" if step in self._failed else resolve(plain)
            if encoded and encoded not in self._tried:
                self._tried[encoded] = False
                yield step, encoded

    def _take_smaller_values(self) -> bool:
        """Have Hypothesis make the values smaller, all of them together; return whether any is."""
        plain, groups = self._plain, candidates_of(self._plain)
        flat = [candidates for group in groups for candidates in group]
        best = sum(candidates.highest for candidates in flat)

        def holds(choices: Choices) -> bool:
            nonlocal best
            encoded = resolve(with_choices(plain, list(zip(flat, choices, strict=True))))
            it_holds = self._runs < self._runs_max and self._shows_it(encoded)
            if it_holds and sum(choices) < best:
                best = sum(choices)
                self._on_smaller(decode_scenario(encoded, "the shrunk scenario"), self._runs)
            return it_holds

        smallest = find_smallest([[len(candidates.values) for candidates in group] for group in groups], holds)
        chosen = list(zip(flat, smallest, strict=True))
        steps = [candidates.describe(choice) for candidates, choice in chosen if choice < candidates.highest]
        if steps:
            self._steps += steps
            self._plain = json.loads(resolve(with_choices(plain, chosen)))
            self._on_step("smaller values", self._runs)
        return bool(steps)

    def _shows_it(self, encoded: bytes) -> bool:
        """Whether a candidate shows the failure; it is run unless it was run before or is not a scenario."""
        if encoded and encoded not in self._tried:
            self._run([encoded])
        return bool(encoded) and self._tried[encoded]

    def _shorter(self, plain: Plain) -> Iterator[Reduction]:
        """Stop earlier: the heights after the failure cost every candidate time."""
        stop = plain["run"]["until_height"]
        heights = [self._height, *(stop * quarters // STOPS for quarters in range(1, STOPS))]
        for height in sorted({height for height in heights if 0 < height < stop}):
            yield f"run.until_height {stop} -> {height}", {**plain, "run": {**plain["run"], "until_height": height}}

    def _without_first(self, plain: Plain) -> Iterator[Reduction]:
        if self._first:
            yield f"without faults {', '.join(self._first)}", _without(plain, "faults", self._first)

    def _fewer_entries(self, plain: Plain) -> Iterator[Reduction]:
        for table in TABLES:
            for removed in halves(list(plain[table])):
                yield f"without {table} {', '.join(removed)}", _without(plain, table, removed)

    def _narrower_workloads(self, plain: Plain) -> Iterator[Reduction]:
        """Let a workload with many parts use fewer parts; its kind defines the parts."""
        for name, workload in convert_scenario(plain, "the scenario").workload.items():
            for part in workload.narrower():
                smaller = copy.deepcopy(plain)
                smaller["workload"][name] = msgspec.to_builtins(part)
                before, after = plain["workload"][name], smaller["workload"][name]
                changed = ", ".join(f"{key} {value}" for key, value in after.items() if value != before[key])
                yield f"workload {name} with {changed}", smaller

    def _fewer_validators(self, plain: Plain) -> Iterator[Reduction]:
        for count in range(VALIDATORS_MIN, plain["cluster"]["validators"]):
            yield f"{count} validators", with_validators(plain, count)

    def _defaults(self, plain: Plain) -> Iterator[Reduction]:
        """Reset whole sections to their defaults; an earlier stop stays.

        If the stop went back to its default and were made early again, shrinking would not end.
        """
        stated = without_defaults(plain)
        stop = plain["run"]["until_height"]
        early = {"until_height": stop} if stop < RunSection().until_height else {}
        if stated.get("run") == early:
            del stated["run"]
        sections = [key for key in stated if key not in {*TABLES, *_NEEDED} and isinstance(stated[key], Mapping)]
        for left_out in halves(sections):
            smaller = {key: value for key, value in plain.items() if key not in left_out}
            yield f"{', '.join(left_out)} as by default", {"run": early, **smaller}


def _with_timeout(plain: Plain, timeout_ms: int) -> Iterator[Reduction]:
    """Change how long an application may take for an answer, in real time: it costs each run of a hang that much."""
    before = plain["application"]["call_timeout_ms"]
    if timeout_ms != before:
        step = f"application.call_timeout_ms {before} -> {timeout_ms}"
        yield step, {**plain, "application": {**plain["application"], "call_timeout_ms": timeout_ms}}


def halves(names: Sequence[_Name]) -> Iterator[tuple[_Name, ...]]:
    """Yield the groups that delta debugging tries to remove: everything, halves, quarters, down to single names."""
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


def without_expected(scenario: Scenario) -> Scenario:
    """Return a scenario without its expected failures, because a smaller scenario may fail in fewer checks."""
    return msgspec.structs.replace(scenario, expect=msgspec.structs.replace(scenario.expect, fails=()))


def named_after(scenario: Scenario, seed: int, signature: str) -> Scenario:
    """Return a scenario named after its run and the failed check, with the same keys and addresses.

    So its run directory does not replace another.
    """
    check = signature.split(": ")[1].replace("/", "-")
    of_both = hashlib.sha256(f"{scenario.name}-{seed} {signature}".encode()).hexdigest()
    tail = f"-{seed}-{check}-{of_both[:TAG_CHARACTERS]}"
    name = f"{scenario.name[: NAME_CHARACTERS_MAX - len(tail)]}{tail}"
    chain = msgspec.structs.replace(scenario.chain, id=scenario.chain_id)
    return msgspec.structs.replace(scenario, name=name, chain=chain)


def write_scenario_file(path: Path, scenario: Scenario, seed: int, signature: str, *, runs: int) -> None:
    """Write a scenario without its default values, under a comment with the failure; atomically."""
    comment = [
        f"{_SHRUNK} {counted(runs, 'runs')}. With --seed {seed} it shows:",
        f"  {signature[:COMMENT_CHARACTERS_MAX]}",
    ]
    write_own(path, plan_file(path, scenario, seed, comment), SHRUNK)


def plan_file(path: Path, scenario: Scenario, seed: int, comment: Sequence[str]) -> bytes:
    """Return a scenario without its default values, under a comment and the command that runs it from this path."""
    lines = [*comment, f"{program_name()} run {shlex.quote(path.name)} --seed {seed}"]
    plain = without_defaults(msgspec.json.decode(encode_scenario(scenario)))
    return ("".join(f"# {line}\n" for line in lines) + "\n" + tomli_w.dumps(plain)).encode()
