"""Asks for continuations of a failed run, keeps their results in a file, and counts them by what they came to.

A continuation's number in the results file is made of its mode, its turn and its place. So a command that was killed
goes on where it stopped, and the seeds of continuations do not depend on the order in which they are asked for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from checker.record.errors import ReportedError
from checker.record.plugins import code_with
from checker.results import EXIT_CODES
from cluster.campaign.results_db import ResultsFile, SeedResult
from cluster.campaign.tasks import Task, TaskRunner
from cluster.causality.continuations import LABEL, ContinuationTask, FailedRun, is_prefix, with_reseed
from cluster.causality.later_faults import with_later_faults
from cluster.scenario.load import encode_scenario
from cluster.scenario.model import Scenario
from network.chance import Chance
from network.draw import SWARM

Mode: TypeAlias = Literal["chance", "chance and faults"]
"""The draws that are other from a turn on: all chance, or also the faults that start later."""

MODES: Final[tuple[Mode, ...]] = ("chance", "chance and faults")

PLACE_BITS: Final = 10
_EXPLAINED: Final = 1 << 60
MODE_BIT: Final = 61

Ask: TypeAlias = Sequence[tuple[int, int]]
"""Turns, and for each how many continuations there have to be."""


class BrokenContinuationError(ReportedError):
    """A continuation that broke the test bed."""

    exit_code = EXIT_CODES["environment"]


class OtherRunError(ReportedError):
    """A continuation that was not the run up to its turn."""

    exit_code = EXIT_CODES["determinism"]


class Point(NamedTuple):
    """The continuations from a turn on.

    Attributes:
        turn: The first turn with other chance.
        at_us: Its virtual time.
        runs: The continuations.
        same: Those that failed as the run did.
        others: By signature, the continuations that failed otherwise.
    """

    turn: int
    at_us: int
    runs: int
    same: int
    others: dict[str, int]

    @property
    def passed(self) -> int:
        """The continuations that did not fail."""
        return self.runs - self.same - sum(self.others.values())


class Continuations:
    """The continuations of a failed run in one mode.

    Args:
        run: The failed run.
        mode: What is drawn again.
        runner: Runs tasks; `run_continuation` is its function.
        results: Keeps the results.
        on_result: Called with each new result.
    """

    def __init__(
        self,
        run: FailedRun,
        mode: Mode,
        *,
        runner: TaskRunner,
        results: ResultsFile,
        on_result: Callable[[SeedResult], None] = lambda _result: None,
    ) -> None:
        self.run, self._mode, self._runner, self._file, self._on_result = run, mode, runner, results, on_result
        self._base = MODES.index(mode) << MODE_BIT
        fingerprint = code_with(run.scenario.plugins).fingerprint
        self._found = {each.seed: each for each in results.results() if each.fingerprint == fingerprint}
        self._places: dict[str, tuple[str, str]] = {}
        """By signature, the check that failed and the place of the first difference."""

    def points(self, asked: Ask) -> list[Point]:
        """Return the points of these turns; continuations that are lacking are run."""
        self.get([self._number(turn, place) for turn, count in asked for place in range(count)])
        return [self._point(turn, count) for turn, count in asked]

    def seed_of(self, turn: int, place: int) -> int:
        """Return the seed of a continuation from its turn on."""
        return Chance(self.run.seed).draw("continuation", f"{self._mode} {turn}", place)

    def example(self, turn: int, count: int, *, fails: bool) -> int | None:
        """Return the seed of the first continuation that failed as the run did, or of the first that passed."""
        for place in range(count):
            result = self._found[self._number(turn, place)]
            if self.is_same(result) if fails else not result.exit_code:
                return self.seed_of(turn, place)
        return None

    def _number(self, turn: int, place: int) -> int:
        return self._base | turn << PLACE_BITS | place

    def _point(self, turn: int, count: int) -> Point:
        same, others = 0, dict[str, int]()
        for place in range(count):
            result = self._found[self._number(turn, place)]
            if not result.signature:
                continue
            if self.is_same(result):
                same += 1
            else:
                others[result.signature] = others.get(result.signature, 0) + 1
        return Point(turn, self.run.time_of(turn), count, same, others)

    def is_same(self, result: SeedResult) -> bool:
        """Return whether a continuation failed as the run did: one of each signature is explained."""
        if result.failed != self.run.title:
            return False
        if result.signature not in self._places:
            (explained,) = self.get([result.seed | _EXPLAINED])
            # Names of fields that a results file has: the check, and the place of the explanation.
            self._places[result.signature] = explained.failed, explained.directory
        return self._places[result.signature] == (self.run.title, self.run.place)

    def get(self, numbers: Iterable[int]) -> list[SeedResult]:
        """Return the results of continuations by their numbers."""
        wanted = list(numbers)
        lacking = [number for number in dict.fromkeys(wanted) if number not in self._found]
        for _, result in self._runner.results(self._task(number) for number in lacking):
            self._check(result)
            self._file.add(result)
            self._found[result.seed] = result
            self._on_result(result)
        return [self._found[number] for number in wanted]

    def _check(self, result: SeedResult) -> None:
        turn = turn_of(result.seed)
        if result.verdict in {"environment", "usage"}:
            raise BrokenContinuationError(f"a continuation from turn {turn:,} on: {result.headline}")
        if not is_prefix(self.run, result.digest):
            reason = (
                f"a continuation from turn {turn:,} on is not the run up to there: the test bed is not deterministic"
            )
            raise OtherRunError(reason)

    def _task(self, number: int) -> Task:
        turn, place = turn_of(number), number & ((1 << PLACE_BITS) - 1)
        scenario = self._scenario(turn, self.seed_of(turn, place))
        asked = ContinuationTask(encode_scenario(scenario), self.run.seed, self.run.family, is_explained(number))
        return Task(msgspec.msgpack.encode(asked), number, label=LABEL, plugins=scenario.plugins)

    def _scenario(self, turn: int, seed: int) -> Scenario:
        scenario = with_reseed(self.run.scenario, turn, seed)
        if self._mode == "chance":
            return scenario
        return with_later_faults(scenario, self.run.time_of(turn), seed)


def turn_of(number: int) -> int:
    """Return the turn of a continuation by its number in the results file."""
    return (number & (_EXPLAINED - 1)) >> PLACE_BITS


def is_explained(number: int) -> bool:
    """Return whether a continuation of this number is explained."""
    return bool(number & _EXPLAINED)


def modes_of(scenario: Scenario) -> Iterator[Mode]:
    """Yield the modes of a run: only faults that the swarm has drawn can be drawn again."""
    yield "chance"
    if scenario.name == SWARM or scenario.name.startswith(f"{SWARM}-"):
        yield "chance and faults"
