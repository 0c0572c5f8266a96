"""Mutation testing: the checks are worth as much as the mutants that they kill.

Each mutant runs in one swarm seed after the other until one of the checks that it names fails. The standard campaign of
a mutant is the swarm with the mutant, and with what it needs to show. Seeds are tried round by round, one of each
mutant that survives so far, so that few runs are made for nothing and the outcome does not depend on how many jobs
there are. A mutant is killed only by a check that it names: another check's failure says that something is wrong, and
not what.

Each mutant has a results file of its own, so that a killed campaign goes on where it stopped. The files belong to the
code as it is: their directory's name has its fingerprint.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, Self

from checker.mutants import Mutant
from cluster.campaign.corpus.rounds import is_varied
from cluster.campaign.corpus.variation import vary
from cluster.campaign.results_db import ResultsFile, SeedResult
from cluster.campaign.shrink import Shrinker, named_after, write_scenario_file
from cluster.campaign.shrink_candidates import Plain, resolve
from cluster.campaign.tasks import Task, TaskRunner, run_task
from cluster.scenario.load import decode_scenario, encode_scenario
from cluster.scenario.model import Scenario
from cluster.swarm.generator import draw_scenario
from network.words import counted
from tools.mutation.catalogue import plugins_of

HOLDERS: Final = 4
"""A mutant of one validator is given to one of the first four in turn, so that the smallest cluster has it too."""

SHRINK_RUNS_MAX: Final = 24
"""Runs for shrinking one mutant's scenario."""

SMALL_FAULTS: Final = 3
SMALL_VALIDATORS: Final = 4
"""Faults and validators of the largest shrunk scenario that a person can follow."""

TO_THE_END: Final = "run.stop_at_failure=false"
"""A mutant's run goes on after a failure: only a check that the mutant names kills it, and that may come later."""


class Size(NamedTuple):
    """The size of a scenario that was made smaller."""

    faults: int
    validators: int
    workloads: int


@dataclass(slots=True)
class MutantSearch:
    """The search for a seed that kills one mutant; `results` are by seed, as far as they count."""

    mutant: Mutant
    results: dict[int, SeedResult] = field(default_factory=dict)
    size: Size | None = None
    explained: str | None = None
    """The parts that the kill's explanation lacks, empty if it names all; None where no explanation was asked for."""

    @property
    def kill(self) -> SeedResult | None:
        """The first seed, in their order, in which a check that the mutant names failed."""
        return next((result for _, result in sorted(self.results.items()) if self._killers(result)), None)

    @property
    def check(self) -> str:
        """The first failed check that the mutant names; without one, what failed instead."""
        if self.kill is not None:
            return self._killers(self.kill)[0]
        others = dict.fromkeys(name for result in self.results.values() for name in result.failed.split())
        return f"only {', '.join(others)}" if others else ""

    @property
    def tried(self) -> list[SeedResult]:
        """The seeds up to the one that killed it, all where it survived."""
        kill = self.kill
        return [result for seed, result in sorted(self.results.items()) if kill is None or seed <= kill.seed]

    @property
    def seconds(self) -> float:
        """Real seconds of these seeds, one after the other."""
        return sum(result.milliseconds for result in self.tried) / 1_000

    @property
    def is_small(self) -> bool:
        """Whether a shrunk scenario is one that a person can follow."""
        size = self.size
        return size is not None and size.faults <= SMALL_FAULTS and size.validators <= SMALL_VALIDATORS

    def _killers(self, result: SeedResult) -> list[str]:
        return [name for name in result.failed.split() if name in self.mutant.kills]


def campaign_settings(mutant: Mutant, seed: int) -> list[str]:
    """Return what the standard campaign adds to a swarm seed: what the mutant needs, its plug-in, and the mutant."""
    holders = holders_of(mutant, seed, draw_scenario(seed, mutant.needs).cluster.validators)
    plugins = [f"plugins={json.dumps(names)}"] if (names := plugins_of(mutant)) else []
    return [*mutant.needs, *plugins, TO_THE_END, f"mutants.{mutant.name}={holders}"]


def holders_of(mutant: Mutant, seed: int, validators: int) -> list[int]:
    """Return the numbers of the replicas that are given a mutant."""
    return list(range(validators)) if mutant.on_all else [seed % HOLDERS]


def campaign_scenario(mutant: Mutant, seed: int) -> Scenario:
    """Return one seed's scenario of the standard campaign against a mutant."""
    return draw_scenario(seed, campaign_settings(mutant, seed))


def campaign_task(mutant: Mutant, seed: int, runs: str = "") -> Task:
    """Return the task of one seed of the standard campaign, under the mutant's name."""
    return Task(encode_scenario(campaign_scenario(mutant, seed)), seed, runs, needs_repeat(mutant), mutant.name)


def varied_task(plans: Mapping[str, Plain], mutant: Mutant, seed: int) -> Task:
    """Return the task of one seed of a campaign with a corpus: odd seeds are varied, all others as in the standard."""
    if not is_varied(seed):
        return campaign_task(mutant, seed)
    plain: Plain = json.loads(vary(plans, seed, (*mutant.needs, TO_THE_END)))
    validators = plain["cluster"]["validators"]
    plain["mutants"] = {mutant.name: holders_of(mutant, seed, validators)}
    plain["plugins"] = plugins_of(mutant)
    return Task(resolve(plain), seed, "", needs_repeat(mutant), mutant.name)


def needs_repeat(mutant: Mutant) -> bool:
    """Whether a mutant shows only when its run is repeated in another process."""
    return "determinism" in mutant.kills


class MutationCampaign:
    """The searches for some mutants, with their results files; a context manager.

    Args:
        mutants: The mutants.
        seeds: The seeds, in the order in which they are tried.
        directory: The directory of the results files.
        fingerprint: The fingerprint of the code that the results belong to; a file of other code is refused.
        make_task: Returns the task of a mutant and a seed.
    """

    def __init__(
        self,
        mutants: Sequence[Mutant],
        seeds: Sequence[int],
        directory: Path,
        fingerprint: str,
        *,
        make_task: Callable[[Mutant, int], Task] = campaign_task,
    ) -> None:
        self._make_task = make_task
        self.searches: Final = {mutant.name: MutantSearch(mutant) for mutant in mutants}
        self._seeds = seeds
        self._stack = ExitStack()
        self._files: Final[dict[str, ResultsFile]] = {}
        self._directory = directory
        self._fingerprint = fingerprint

    def __enter__(self) -> Self:
        for name, search in self.searches.items():
            file = ResultsFile(self._directory / f"{name}.sqlite", f"mutants {name} {self._fingerprint}")
            self._files[name] = self._stack.enter_context(file)
            search.results = {result.seed: result for result in file.results() if result.seed in self._seeds}
        return self

    def __exit__(self, *failure: object) -> None:
        self._stack.close()

    def run(self, workers: TaskRunner) -> Iterator[tuple[MutantSearch, SeedResult]]:
        """Search until every mutant is killed or has no seed left; yield each result when it is written."""
        for task, result in workers.results(self._tasks()):
            self._files[task.label].add(result)
            self.searches[task.label].results[result.seed] = result
            yield self.searches[task.label], result

    def _tasks(self) -> Iterator[Task]:
        """Yield the next seed of each mutant that survives so far, round by round."""
        for seed in self._seeds:
            for search in self.searches.values():
                if seed not in search.results and search.kill is None:
                    yield self._make_task(search.mutant, seed)


def killing_tasks(searches: Iterable[MutantSearch], directory: Path) -> list[Task]:
    """Return the task that killed each mutant, with the file in a directory that its smaller scenario has."""
    return [
        campaign_task(search.mutant, kill.seed, str(directory / f"{search.mutant.name}.toml"))
        for search in searches
        if (kill := search.kill) is not None
    ]


def shrink_task(task: Task) -> SeedResult:
    """Make the scenario of a task smaller in a bounded number of runs and write it to the file `runs` of the task.

    A worker process does one mutant: that wastes no run, as running several candidates of one at a time would.
    """
    first = run_task(task._replace(runs=""))
    scenario = decode_scenario(task.scenario, f"seed {task.seed}")
    shrunk = Shrinker(
        named_after(scenario, task.seed, first.signature),
        task.seed,
        first.signature,
        run=lambda tasks: ((each, run_task(each)) for each in tasks),
        jobs=1,
        runs_max=SHRINK_RUNS_MAX,
        is_thorough=task.is_thorough,
    ).shrink()
    write_scenario_file(Path(task.runs), shrunk.scenario, task.seed, first.signature, runs=shrunk.runs)
    return first._replace(headline=f"shrunk in {counted(shrunk.runs, 'runs')} to {task.runs}")


def size_of(scenario: Scenario) -> Size:
    """Return how large a scenario is."""
    return Size(len(scenario.faults), scenario.cluster.validators, len(scenario.workload))


def killed_percent(searches: Mapping[str, MutantSearch]) -> int:
    """Return the share of the mutants that were killed, in percent, rounded down."""
    return 100 * sum(search.kill is not None for search in searches.values()) // max(len(searches), 1)
