"""The applications of a run: on its machines, in its final chain, in its record."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Final

from checker.applications import ApplicationFacts, Need
from checker.record.cold_replay import ColdReplay
from cluster.outside.blocks import OutsideBlock
from cluster.outside.home import ScratchHome
from cluster.outside.hosting.calls import BESIDE, CallRecord
from cluster.outside.hosting.chain import ToldChain, execute_final, replay_cold
from cluster.outside.hosting.planning import PlannedApplications, plan_applications
from cluster.outside.system.sandbox import sandbox_level
from cluster.runtime.genesis import genesis_of, keys_of
from cluster.runtime.hooks import AppliedResult
from cluster.scenario.model import Scenario
from faults import Adversary
from validators.execution import Executed, ExecutedBlock, Genesis
from validators.execution.blocks import Block
from validators.settings import ValidatorFactory

ANOTHER_TIME_ZONE: Final = "Pacific/Chatham"
"""The time zone of processes that have to give the same answers: its offset is no whole hour."""


class RunApplications:
    """The applications of a run.

    Args:
        planned: The applications before their first request.
        genesis: The chain's genesis, as this project's own engine takes it.
        folder: The folder of the directories of processes beside the run.
        is_own: Whether it is this project's own engine behind the protocol.
    """

    def __init__(self, planned: PlannedApplications, genesis: Genesis, folder: Path, *, is_own: bool) -> None:
        self.planned: Final = planned
        self.replicas: Final = planned.replicas
        self._genesis = genesis
        self._folder = folder
        self._is_own = is_own
        self._told = ToldChain(genesis.timebase, planned.told_at_genesis)
        self._beside = planned.replicas.host(BESIDE)
        self._numbers = count()

    @property
    def is_own(self) -> bool:
        """Whether it is this project's own engine behind the protocol."""
        return self._is_own

    @property
    def is_judged_as_own(self) -> bool:
        """Whether this project's oracle and engine know its rules: another build of the engine may have others."""
        return self._is_own and not self.planned.builds.named

    @property
    def description(self) -> str:
        """Its name and version, and its sandbox, for the verdict."""
        said = self.planned.greeting
        held = "answers of the record" if self.replicas.is_recorded else ", ".join(sandbox_level())
        makes = "" if "transactions" in said.features else ", which makes no transactions"
        return f"{' and '.join(self.planned.builds.named.values()) or f'{said.name} {said.version}'}{makes}; {held}"

    @property
    def joins(self) -> bool:
        """Whether replicas can join from snapshots."""
        return {"snapshot", "restore"} <= {*self.planned.greeting.features}

    @property
    def offers(self) -> tuple[Need, ...]:
        """The data of the run that checks may read."""
        return ("trace", "events", "receipts") if self.is_judged_as_own else ("trace", "events")

    @property
    def facts(self) -> ApplicationFacts:
        """The application as the checks know it."""
        said = self.planned.greeting
        return ApplicationFacts(
            said.name,
            said.version,
            said.order,
            said.dead_per_block,
            said.live_per_block,
            said.features,
            self.planned.told_at_genesis,
        )

    @property
    def made(self) -> Mapping[str, Sequence[bytes]]:
        """By workload, the transactions that clients submit."""
        return self.planned.made

    def parts(
        self, factories: Mapping[int, ValidatorFactory], adversaries: Mapping[int, Adversary]
    ) -> dict[int, ValidatorFactory]:
        """Return the parts of all replicas, with their applications in place of the project's own engine."""
        made = {node: self.replicas.parts_of(node, factory) for node, factory in factories.items()}
        # An entry of a block is an encoded transaction: `bytes` leaves it as it is.
        before = {
            node: replace(made[node], layer=each.over(made[node].layer, bytes)) for node, each in adversaries.items()
        }
        return made | before

    def told(self, made: OutsideBlock) -> OutsideBlock:
        """Return a final block with its numbers."""
        return self._told.told(made)

    def execute_again(self, blocks: Iterable[Block], above: int) -> Iterator[OutsideBlock]:
        """Yield the final blocks above a height, as a fresh process executes all blocks from genesis on."""
        with self._home(self.planned.builds.newest, hash_seed=0, timezone="UTC") as home:
            for made in execute_final(home, self._genesis, blocks):
                if made.header.height > above:
                    yield self.told(made)

    def replay_cold(self, record: Path, build: str, hash_seed: int) -> ColdReplay:
        """Replay the final chain of a record by a fresh process of a build, with another hash seed and time zone."""
        with self._home(build, hash_seed=hash_seed, timezone=ANOTHER_TIME_ZONE) as home:
            return replay_cold(home, self._genesis, record)

    def ask_again(self, *, asks_all: bool) -> None:
        """Send the requests of a drawn replica, or of all, to fresh processes, for the checks."""
        self.replicas.kill()
        self.replicas.ask_again(self._folder, asks_all=asks_all)

    @contextmanager
    def _home(self, build: str, *, hash_seed: int, timezone: str) -> Iterator[ScratchHome]:
        place = self._folder / "beside" / f"{next(self._numbers)}"
        home = ScratchHome(self.replicas.plan_of(build, hash_seed=hash_seed, timezone=timezone), place, self._beside)
        home.genesis = self.planned.genesis
        try:
            yield home
        finally:
            home.kill()
            shutil.rmtree(place, ignore_errors=True)


def outdated_in(applications: RunApplications | None) -> Callable[[int, int], bool]:
    """Return the function that says whether a replica's build is outdated at a height."""
    if applications is None:
        return lambda _node, _height: False
    replicas, builds = applications.replicas, applications.planned.builds
    return lambda node, height: builds.is_outdated(replicas.build_of(node), height)


def with_numbers(executed: ExecutedBlock, applications: RunApplications | None) -> AppliedResult:
    """Return a final block with its numbers, from an application's events."""
    if isinstance(executed, OutsideBlock):
        assert applications is not None, "one has executed the block"
        return applications.told(executed)
    assert isinstance(executed, Executed), "there are no other layers"
    return executed


@contextmanager
def applications_of(
    scenario: Scenario, seed: int, data_path: Path | None, recorded: CallRecord | None, *, is_resumed: bool = False
) -> Iterator[RunApplications | None]:
    """Give the applications of a scenario with applications, and leave no process behind.

    Args:
        scenario: The scenario.
        seed: The run's seed.
        data_path: The data directory, where their directories outlive the run; None for a temporary directory.
        recorded: The calls of an earlier run; its answers replace the application's.
        is_resumed: Whether an earlier run has used the data directory.

    Raises:
        LaunchError: The command cannot be started.
        UnusableApplicationError: The application breaks the protocol, or lacks what the scenario needs.
    """
    if scenario.application is None:
        yield None
        return
    genesis = genesis_of(scenario, keys_of(scenario))
    with tempfile.TemporaryDirectory(prefix="stampede-application-") as scratch:
        folder = Path(scratch) if data_path is None else data_path
        planned = plan_applications(
            scenario, genesis, seed, folder, scratch=Path(scratch), recorded=recorded, is_resumed=is_resumed
        )
        try:
            yield RunApplications(planned, genesis, Path(scratch), is_own=scenario.application.is_own)
        finally:
            planned.replicas.kill()
