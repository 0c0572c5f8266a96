"""The plan of a run with applications: their identity, their parameters, and the transactions of clients.

A process answers `hello`, makes the transactions, and ends; a second process states genesis. A feature that the
scenario needs and the application lacks is refused here, before the run.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from checker.applications import Builds
from checker.record.errors import ReportedError
from cluster.outside.answers import Event, Execution
from cluster.outside.blocks import ChainStart, genesis_header
from cluster.outside.conversation import Greeting
from cluster.outside.home import ApplicationPlan, ScratchHome
from cluster.outside.hosting.builds import launches_of
from cluster.outside.hosting.calls import LINE, PLANNING, CallLog, CallRecord, CallStep
from cluster.outside.hosting.own import own_parameters
from cluster.outside.hosting.replicas import OutsideReplicas
from cluster.outside.life import ApplicationHost, ApplicationLife
from cluster.outside.process import ApplicationLostError, Launch
from cluster.runtime.replicas import section_of
from cluster.scenario.model import Scenario
from cluster.scenario.sections.application import MAIN, ApplicationSection
from cluster.scenario.sections.replicas import SnapshotJoinMode
from cluster.workloads.opaque import ApplicationTransactions, Lines, read_lines
from validators.execution import Genesis, Header

MADE_AT_ONCE: Final = 1_000
"""Transactions of a single call."""


class UnusableApplicationError(ReportedError):
    """An application that cannot run a scenario, which is bad input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedApplications:
    """The applications of a run that has not begun.

    Attributes:
        replicas: The applications of all replicas.
        greetings: By build, the application's answer to `hello`.
        genesis: The header of the genesis block with the application's state root.
        told_at_genesis: The application's events at genesis.
        made: By workload, the transactions that clients submit.
        builds: Its builds.
    """

    replicas: OutsideReplicas
    greetings: Mapping[str, Greeting]
    genesis: Header
    told_at_genesis: Sequence[Event]
    made: Mapping[str, Sequence[bytes]]
    builds: Builds

    @property
    def greeting(self) -> Greeting:
        """The answer of the build that `[application]` names."""
        return self.greetings[MAIN]


def plan_applications(
    scenario: Scenario,
    genesis: Genesis,
    seed: int,
    folder: Path,
    *,
    scratch: Path,
    recorded: CallRecord | None,
    is_resumed: bool,
) -> PlannedApplications:
    """Return the applications of a run.

    Args:
        scenario: The scenario, which has an application.
        genesis: The chain's genesis, as this project's own engine takes it.
        seed: The run's seed.
        folder: Gets the directories of the replicas.
        scratch: Gets the directories of temporary processes.
        recorded: The calls of an earlier run; its answers replace the application's.
        is_resumed: Whether an earlier run has used the folder.

    Raises:
        LaunchError: The command cannot be started.
        UnusableApplicationError: The application breaks the protocol, or lacks what the scenario needs.
    """
    section = scenario.application
    assert section is not None, "the scenario has an application"
    launches = launches_of(section, is_live=recorded is None)
    plans = _plans_of(scenario, section, genesis, launches)
    replicas = OutsideReplicas(
        plans, folder, seed, recorded, launches=launches, is_resumed=is_resumed, is_own=section.is_own
    )
    replicas.log.files.update(section.file_digests() if recorded is None else recorded.files)
    main = replace(plans[0], launch=launches[MAIN], build=MAIN)
    further = [replace(main, launch=each, build=name) for name, each in launches.items() if name != MAIN]
    planning = replicas.host(PLANNING)
    told = _question(scenario, main, planning, scratch / "planning")
    greetings = {MAIN: told.greeting} | _greetings(scenario, further, planning, scratch)
    header = genesis_header(main.start, main.validators, main.parameters, told.genesis)
    replicas.begin_at(header)
    return PlannedApplications(
        replicas=replicas,
        greetings=greetings,
        genesis=header,
        told_at_genesis=told.genesis.events,
        made=told.made | _lines(scenario, replicas.log, recorded),
        builds=_builds_of(scenario, greetings, tuple(each.build for each in plans)),
    )


def _builds_of(scenario: Scenario, greetings: Mapping[str, Greeting], at_first: tuple[str, ...]) -> Builds:
    """Return the builds of a plan."""
    many = greetings if len(greetings) > 1 else {}
    differ_from = dict.fromkeys(greetings, 0)
    for fault in scenario.faults.values():
        for build, height in fault.installs() if fault.enabled else ():
            differ_from[build] = max(differ_from[build], height)
    named = {build: f"{said.name} {said.version} (build {build})" for build, said in many.items()}
    return Builds(named=named, at_first=at_first, differ_from=differ_from)


def _plans_of(
    scenario: Scenario, section: ApplicationSection, genesis: Genesis, launches: Mapping[str, Launch]
) -> list[ApplicationPlan]:
    """Return the plan of each replica's application."""
    start = ChainStart(
        chain=genesis.chain_id, timestamp_ms=genesis.timestamp_ms, timebase=genesis.timebase, slot_ms=genesis.slot_ms
    )
    own = own_parameters(genesis, scenario.costs.costs()) if section.is_own else {}
    replicas = (section_of(scenario, node) for node in range(scenario.replicas))
    builds = [MAIN if each is None or each.application is None else each.application.build for each in replicas]
    return [
        ApplicationPlan(
            launch=launches[build],
            build=build,
            node=node,
            validators=scenario.cluster.validators,
            start=start,
            parameters={**section.parameters, **own},
            retain_blocks=_retained(scenario, node),
        )
        for node, build in enumerate(builds)
    ]


class _Told(NamedTuple):
    greeting: Greeting
    made: dict[str, tuple[bytes, ...]]
    genesis: Execution


def _question(scenario: Scenario, plan: ApplicationPlan, host: ApplicationHost, place: Path) -> _Told:
    """Return an application's greeting, its transactions, and its state at genesis."""
    try:
        with ScratchHome(replace(plan, node=None), place / "transactions", host) as life:
            _refuse_missing(scenario, life.greeting)
            made = dict(_made(scenario, life))
            life.talk.bye()
        with ScratchHome(plan, place / "genesis", host) as another:
            return _Told(life.greeting, made, another.talk.genesis(plan.start))
    except ApplicationLostError as error:
        raise UnusableApplicationError(f"the application cannot be used: {error}") from None


def _greetings(
    scenario: Scenario, plans: Sequence[ApplicationPlan], host: ApplicationHost, scratch: Path
) -> dict[str, Greeting]:
    """Return the greeting of each further build by its name."""
    return {plan.build: _greeting_of(scenario, plan, host, scratch / f"build-{plan.build}") for plan in plans}


def _greeting_of(scenario: Scenario, plan: ApplicationPlan, host: ApplicationHost, place: Path) -> Greeting:
    """Return the greeting of a further build."""
    try:
        with ScratchHome(replace(plan, node=None), place, host) as life:
            _refuse_missing(scenario, life.greeting)
            life.talk.bye()
            return life.greeting
    except (ApplicationLostError, UnusableApplicationError) as error:
        raise UnusableApplicationError(f"build {plan.build}: {error}") from None


def _retained(scenario: Scenario, node: int) -> int:
    """Return how many blocks a replica applies before they are final: none unless its mode applies early."""
    section = section_of(scenario, node)
    if section is None or section.apply != "certified":
        return 0
    depth = scenario.finality_depth or 0
    return max(section.retain_blocks, depth + 1)


def _made(scenario: Scenario, life: ApplicationLife) -> Iterator[tuple[str, tuple[bytes, ...]]]:
    """Yield by workload the transactions that the application makes."""
    for name, workload in scenario.workload.items():
        if isinstance(workload, ApplicationTransactions) and workload.enabled:
            yield name, tuple(_transactions(life, workload.count, f"{scenario.chain_id}/{name}"))


def _lines(scenario: Scenario, log: CallLog, recorded: CallRecord | None) -> dict[str, tuple[bytes, ...]]:
    """Return by workload the transactions of files, which a record keeps."""
    made: dict[str, tuple[bytes, ...]] = {}
    for name, workload in scenario.workload.items():
        if isinstance(workload, Lines) and workload.enabled:
            made[name] = read_lines(Path(workload.path)) if recorded is None else recorded.lines(name)
            log.steps_of(PLANNING).extend(
                CallStep(LINE, names=(name,), request=log.place_of(each)) for each in made[name]
            )
    return made


def _transactions(life: ApplicationLife, count: int, subject: str) -> Iterator[bytes]:
    """Yield an application's transactions; none if it makes none."""
    if "transactions" not in life.greeting.features:
        return
    for first in range(0, count, MADE_AT_ONCE):
        chance = hashlib.sha256(f"{subject}/{first}".encode()).digest()
        yield from life.talk.transactions(min(MADE_AT_ONCE, count - first), chance)


def _refuse_missing(scenario: Scenario, greeting: Greeting) -> None:
    """Refuse a mode of a replica whose feature is missing."""
    needed: dict[str, str] = {}
    for node in range(scenario.replicas):
        section = section_of(scenario, node)
        if section is not None and section.apply == "certified":
            needed |= dict.fromkeys(("forks", "early"), f"replica {node} applies blocks before they are final")
        if isinstance(section, SnapshotJoinMode):
            needed |= dict.fromkeys(("snapshot", "restore"), f"replica {node} joins from snapshots")
    for feature, why in needed.items():
        if feature not in greeting.features:
            has = ", ".join(greeting.features) or "none"
            raise UnusableApplicationError(f"the application lacks the feature `{feature}`: {why}; it has {has}")
