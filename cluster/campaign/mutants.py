"""What the checks are worth: each mutant of the catalogue, planted in swarm seeds until one of its checks finds it.

The standard campaign of a mutant is the swarm with the mutant planted, and with what it needs to show. Seeds are
tried round by round, one of each mutant that is still at large, so that few runs are made for nothing and the outcome
does not depend on how many jobs there are. A mutant counts as caught only by a check that it names: another check's
failure says that something is wrong, and not what.

Each mutant has a results file of its own, so that a killed campaign goes on where it stopped. The files belong to the
code as it is: their directory's name has its fingerprint.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, Self, final

from checker.mutants import Mutant
from cluster.campaign.results_db import ResultsFile, SeedResult
from cluster.campaign.shrink import Shrinker
from cluster.campaign.sweep import Task, Workers, judge_task
from cluster.cli.shrink_command import named_after, write_scenario_file
from cluster.scenario.load import decode_scenario, encode_scenario
from cluster.scenario.model import Scenario
from cluster.swarm.generator import draw_scenario

HOLDERS: Final = 4
"""A mutant that one validator has is given to one of so many in turn, so that the smallest cluster has it too."""

SHRINK_RUNS_MAX: Final = 24
"""Runs for shrinking one mutant's scenario."""

SMALL_FAULTS: Final = 3
SMALL_VALIDATORS: Final = 4
"""A shrunk scenario of at most so many is one that a person can follow."""

CAUGHT_PERCENT_MIN: Final = 95
"""The share of the catalogue below which the campaign fails."""


class Size(NamedTuple):
    """What is left of a scenario that was made smaller."""

    faults: int
    validators: int
    workloads: int


@final
@dataclass(slots=True)
class Hunt:
    """How far the campaign against one mutant has come; `results` are by seed, as far as they count."""

    mutant: Mutant
    results: dict[int, SeedResult] = field(default_factory=dict)
    size: Size | None = None
    explained: str | None = None
    """What the explanation of the first catching seed lacks, nothing where it names all; None where nobody asked."""

    @property
    def caught(self) -> SeedResult | None:
        """The first seed, in their order, in which a check that the mutant names failed."""
        return next((result for _, result in sorted(self.results.items()) if self._is_caught(result)), None)

    @property
    def check(self) -> str:
        """The first failed check that the mutant names; without one, what failed instead."""
        caught = self.caught
        if caught is None:
            others = dict.fromkeys(name for result in self.results.values() for name in result.failed.split())
            return f"only {', '.join(others)}" if others else ""
        return next(name for name in caught.failed.split() if name in self.mutant.kills)

    @property
    def tried(self) -> list[SeedResult]:
        """The seeds up to the one that caught it, all where none did."""
        caught = self.caught
        return [result for seed, result in sorted(self.results.items()) if caught is None or seed <= caught.seed]

    @property
    def seconds(self) -> float:
        """Real seconds of these seeds, one after the other."""
        return sum(result.milliseconds for result in self.tried) / 1_000

    @property
    def is_small(self) -> bool:
        """Whether a shrunk scenario is one that a person can follow."""
        size = self.size
        return size is not None and size.faults <= SMALL_FAULTS and size.validators <= SMALL_VALIDATORS

    def _is_caught(self, result: SeedResult) -> bool:
        return any(name in self.mutant.kills for name in result.failed.split())


def campaign_settings(mutant: Mutant, seed: int) -> list[str]:
    """Return what the standard campaign adds to a swarm seed: what the mutant needs, and the mutant."""
    validators = draw_scenario(seed, mutant.needs).cluster.validators
    holders = list(range(validators)) if mutant.on_all else [seed % HOLDERS]
    return [*mutant.needs, f"mutants.{mutant.name}={holders}"]


def campaign_scenario(mutant: Mutant, seed: int) -> Scenario:
    """Return one seed's scenario of the standard campaign against a mutant."""
    return draw_scenario(seed, campaign_settings(mutant, seed))


@final
class Campaign:
    """The hunts for some mutants, with their results files; a context manager.

    Args:
        mutants: Which mutants.
        seeds: Which seeds, in which order.
        directory: Where the results files are.
        fingerprint: Of the code that the results belong to; a file of other code is refused.
    """

    def __init__(self, mutants: Sequence[Mutant], seeds: Sequence[int], directory: Path, fingerprint: str) -> None:
        self.hunts: Final = {mutant.name: Hunt(mutant) for mutant in mutants}
        self._seeds = seeds
        self._stack = ExitStack()
        self._files: Final[dict[str, ResultsFile]] = {}
        self._directory = directory
        self._fingerprint = fingerprint

    def __enter__(self) -> Self:
        for name, hunt in self.hunts.items():
            file = ResultsFile(self._directory / f"{name}.sqlite", f"teeth {name} {self._fingerprint}")
            self._files[name] = self._stack.enter_context(file)
            hunt.results = {result.seed: result for result in file.results() if result.seed in self._seeds}
        return self

    def __exit__(self, *failure: object) -> None:
        self._stack.close()

    def run(self, workers: Workers) -> Iterator[tuple[Hunt, SeedResult]]:
        """Hunt until every mutant is caught or has no seed left; yield each result when it is written."""
        names: dict[bytes, str] = {}
        for task, result in workers.judge(self._tasks(names)):
            name = names[task.scenario]
            self._files[name].add(result)
            self.hunts[name].results[result.seed] = result
            yield self.hunts[name], result

    def _tasks(self, names: dict[bytes, str]) -> Iterator[Task]:
        """Yield the next seed of each mutant that is at large, round by round; `names` tells whose each is."""
        for seed in self._seeds:
            for name, hunt in self.hunts.items():
                if seed in hunt.results or hunt.caught is not None:
                    continue
                scenario = encode_scenario(campaign_scenario(hunt.mutant, seed))
                names[scenario] = name
                yield Task(scenario, seed, is_thorough=needs_repeat(hunt.mutant))


def needs_repeat(mutant: Mutant) -> bool:
    """Whether a mutant shows only when its run is repeated in another process."""
    return "determinism" in mutant.kills


def caught_tasks(hunts: Iterable[Hunt], directory: Path) -> list[tuple[Task, Hunt]]:
    """Return the task that caught each mutant, with the file in a directory that its smaller scenario has."""
    return [
        (
            Task(
                encode_scenario(campaign_scenario(hunt.mutant, caught.seed)),
                caught.seed,
                str(directory / f"{hunt.mutant.name}.toml"),
                is_thorough=needs_repeat(hunt.mutant),
            ),
            hunt,
        )
        for hunt in hunts
        if (caught := hunt.caught) is not None
    ]


def shrink_task(task: Task) -> SeedResult:
    """Make the scenario of a task smaller in a bounded number of runs and write it to the file `runs` of the task.

    A worker process does one mutant: that wastes no run, as judging several candidates of one at a time would.
    """
    first = judge_task(task._replace(runs=""))
    scenario = decode_scenario(task.scenario, f"seed {task.seed}")
    shrunk = Shrinker(
        named_after(scenario, task.seed, first.signature),
        task.seed,
        first.signature,
        judge=lambda tasks: ((each, judge_task(each)) for each in tasks),
        jobs=1,
        runs_max=SHRINK_RUNS_MAX,
        is_thorough=task.is_thorough,
    ).shrink()
    write_scenario_file(Path(task.runs), shrunk.scenario, task.seed, first.signature, shrunk.runs)
    return first._replace(headline=f"shrunk in {shrunk.runs} runs to {task.runs}")


def size_of(scenario: Scenario) -> Size:
    """Return how large a scenario is."""
    return Size(len(scenario.faults), scenario.cluster.validators, len(scenario.workload))


def caught_percent(hunts: Mapping[str, Hunt]) -> int:
    """Return how many mutants of a hundred were caught, rounded down."""
    return 100 * sum(hunt.caught is not None for hunt in hunts.values()) // max(len(hunts), 1)
