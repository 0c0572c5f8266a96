"""The applications of a run's replicas: their homes, the handling of a lost application, and their layers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, cast

from checker.applications import ApplicationFault, FaultKind
from checker.coverage.application_points import ROAD_OF_CALL, STRUCK, ApplicationRule
from cluster.outside.conversation import KeptBlock
from cluster.outside.frames import Value
from cluster.outside.home import ApplicationHome, ApplicationPlan
from cluster.outside.hosting.again import AskedAgain
from cluster.outside.hosting.calls import CallLog, CallRecord, CallStep, RecordedProcess, RecordingProcess
from cluster.outside.hosting.own import OwnLayer
from cluster.outside.layer import OutsideLayer
from cluster.outside.life import ApplicationHost, AskedProcess, Exchange
from cluster.outside.process import ApplicationLostError, ApplicationProcess, Launch
from network.chance import Chance, below
from scheduler import CoveragePoint, Reach
from validators.execution import ExecutionLayer, Genesis, Header, Transaction
from validators.identity import TransactionVerifier
from validators.mempool.pool import TransactionPool
from validators.restored import EMPTY_LOG, RestoredLog
from validators.settings import ValidatorFactory
from validators.storage import Boundary

REPEATED_ONE_IN: Final = 8
"""One block in this many is executed twice, drawn by replica and block."""

LOSSES_MAX: Final = 3
"""This many losses of a replica's application halt the replica."""

RESTART_US: Final = 1_000_000
"""Virtual microseconds after which the machine of a lost application starts again."""

HEIGHTS_KEPT: Final = 4_096
"""Blocks whose heights are kept; older blocks have long been final."""

STDERR_BYTES_KEPT: Final = 1024 * 1024

_OF_DIRECTORIES: Final[Mapping[str, CoveragePoint]] = {
    "copy": ApplicationRule.BRANCH_PROCESS,
    "empty": ApplicationRule.DIRECTORY_EMPTIED,
}
"""The road that an action on directories shows."""


class Ports(NamedTuple):
    """The connections from an application to its machine.

    Attributes:
        reach: Observes a boundary of a replica's calls; raises if the power goes there.
        lose: Stops the machine of a lost application; returns the error to raise in its step.
        note: Counts a coverage point that the application of a replica has reached.
    """

    reach: Callable[[int, Boundary], None]
    lose: Callable[[int, ApplicationLostError, Mapping[str, Value]], BaseException]
    note: Callable[[int, CoveragePoint], None]


@dataclass(slots=True)
class ReplicaHost(ApplicationHost):
    """The host of a replica's processes: each call is recorded, and may be the last before a loss of power.

    Attributes:
        node: The replica.
        log: Takes all calls.
        chance: Draws the blocks that are executed twice.
        recorded: The calls of an earlier run, which give the answers; None if the application itself answers.
        faults: Wrong answers so far.
        ports: The machine; None while it does not run.
        pool: The replica's transactions in its present life.
        processes: All of its processes; the last process gets the requests.
    """

    node: int
    log: CallLog
    chance: Chance
    recorded: CallRecord | None
    faults: list[ApplicationFault]
    ports: Ports | None = None
    pool: TransactionPool | None = None
    processes: list[RecordingProcess] = field(default_factory=list)
    _heights: dict[bytes, int] = field(default_factory=dict)
    _is_resumed: bool = False

    def begin(self, launch: Launch, directory: Path, build: str) -> AskedProcess:
        """Start a process in a directory, or take the next process of the record."""
        process: AskedProcess
        if self.recorded is None:
            process = ApplicationProcess(launch, directory)
        else:
            steps, number = self.recorded.steps.get(self.node, []), len(self.processes)
            calls = (step for step in steps if step.what == "call" and step.process == number)
            process = RecordedProcess(launch, calls, self.recorded.contents)
        self.processes.append(RecordingProcess(process, directory, self.log, node=self.node, build=build))
        return self.processes[-1]

    def before_call(self, asked: Exchange) -> None:
        """Note the height of a block; cut the power before a request is written, if the plan says so."""
        fields = asked.fields
        if "header" in fields and "id" in fields:
            self._heights[cast("bytes", fields["id"])] = self.height_of(fields)
            if len(self._heights) > HEIGHTS_KEPT:
                del self._heights[next(iter(self._heights))]
        self._pass("before-call", f"before-{asked.call}")

    def after_call(self, asked: Exchange) -> None:
        """Cut the power after an answer has arrived, if the plan says so."""
        fields = asked.fields
        if asked.call == "hello":
            self._is_resumed = fields["resume"] is True
        if fields.get("of", 1) == cast("int", fields.get("piece", 0)) + 1 or "piece" not in fields:
            self._note_point(ROAD_OF_CALL.get(asked.call))
        self._pass("after-call", f"after-{asked.call}")

    def resume(self, kept: KeptBlock | None, height: int) -> None:
        """Note the road of a process that comes back: at the last block, behind it, or without a block."""
        if self._is_resumed and (kept is None or kept.height <= height):
            is_behind = kept is not None and kept.height < height
            at = ApplicationRule.RESUMED_BEHIND if is_behind else ApplicationRule.RESUMED_AT_LAST
            self._note_point(ApplicationRule.RESUMED_EMPTY if kept is None else at)

    def _pass(self, boundary: Boundary, label: str) -> None:
        """Reach a boundary; note the point of the call if the power goes there."""
        if self.ports is not None:
            try:
                self.ports.reach(self.node, boundary)
            except BaseException:
                self._note_point(STRUCK.get(label))
                raise

    def _note_point(self, point: CoveragePoint | None) -> None:
        if self.ports is not None and point is not None:
            self.ports.note(self.node, point)

    def lose(self, error: ApplicationLostError, fields: Mapping[str, Value]) -> BaseException:
        """Stop the machine of a lost application."""
        return error if self.ports is None else self.ports.lose(self.node, error, fields)

    def height_of(self, fields: Mapping[str, Value]) -> int:
        """Return the height of the block of a request, -1 if it has no known block."""
        header = fields.get("header")
        if isinstance(header, Mapping):
            height = header["height"]
            assert isinstance(height, int), "headers are told so"
            return height
        return self._heights.get(cast("bytes", fields.get("id", b"")), -1)

    def repeats(self, digest: bytes) -> bool:
        """Return whether this replica executes a block twice."""
        is_drawn = (
            below(self.chance.draw("application-repeats", f"{self.node} {digest.hex()}", 0), REPEATED_ONE_IN) == 0
        )
        self._note_point(ApplicationRule.EXECUTED_TWICE if is_drawn else None)
        return is_drawn

    def note_fault(self, kind: FaultKind, height: int, sentence: str, block: bytes = b"") -> None:
        """Note a wrong answer, for the checks; the cold replay reports wrong answers beside the run."""
        if self.node < 0:
            return
        last = self.processes[-1]
        fault = ApplicationFault(kind, self.node, last.requests, last.asked, height, sentence, block, last.build)
        self.faults.append(fault)

    def note(self, what: str, *directories: Path) -> None:
        """Note an action on a directory."""
        self.log.steps_of(self.node).append(CallStep(what, names=tuple(each.name for each in directories)))
        self._note_point(_OF_DIRECTORIES.get(what))

    def forget(self, digest: bytes, *, is_final: bool) -> None:
        """Take a transaction from the replica's pool, permanently if a final block holds it."""
        if self.pool is not None:
            (self.pool.spend if is_final else self.pool.remove)(digest)

    @property
    def stderr(self) -> bytes:
        """The end of the standard error of all processes, in order."""
        return b"".join(process.stderr.whole() for process in self.processes)[-STDERR_BYTES_KEPT:]


class OutsideReplicas:
    """The applications of all replicas of a run.

    Args:
        plans: The plan of each replica's application, by number.
        folder: Gets a folder for each, as `application-N`.
        seed: The run's.
        recorded: The calls of an earlier run; its answers replace the application's.
        launches: By name, the way to start each build.
        is_resumed: Whether an earlier run has used the folder.
        is_own: Whether the application is this project's own engine.

    Attributes:
        log: All calls of this run.
        faults: Wrong answers so far, in the order of their time.
        lost: By replica that is lost for good, the last reason with the end of its standard error.
    """

    def __init__(
        self,
        plans: Sequence[ApplicationPlan],
        folder: Path,
        seed: int,
        recorded: CallRecord | None = None,
        *,
        launches: Mapping[str, Launch],
        is_resumed: bool = False,
        is_own: bool = False,
    ) -> None:
        self._launches = launches
        self._is_own = is_own
        self.log: Final = CallLog()
        self.faults: Final[list[ApplicationFault]] = []
        self.lost: Final[dict[int, str]] = {}
        self._folder = folder
        self._recorded = recorded
        self._chance = Chance(seed)
        self._plans = plans
        self._losses: dict[int, list[tuple[str, int]]] = {}
        self._hosts = [self.host(node) for node in range(len(plans))]
        self._homes = [self._home_of(plan, node, has_lived=is_resumed) for node, plan in enumerate(plans)]

    def host(self, node: int) -> ReplicaHost:
        """Return a host whose calls are recorded under a number."""
        return ReplicaHost(node, self.log, self._chance, self._recorded, self.faults)

    def _home_of(self, plan: ApplicationPlan, node: int, *, has_lived: bool) -> ApplicationHome:
        directory = self._folder / f"application-{node}" / "directory"
        return ApplicationHome(plan, directory, self._hosts[node], has_lived=has_lived and directory.exists())

    @property
    def is_recorded(self) -> bool:
        """Whether the answers come from an earlier run."""
        return self._recorded is not None

    def begin_at(self, genesis: Header) -> None:
        """Have every application begin at a genesis block, whose state an application has told."""
        for home in self._homes:
            home.genesis = genesis

    def plan_of(self, build: str, *, hash_seed: int, timezone: str) -> ApplicationPlan:
        """Return the plan of a build, for a process in other surroundings."""
        launch = self.launches_in(hash_seed=hash_seed, timezone=timezone)[build]
        return replace(self._plans[0], launch=launch, build=build)

    def launches_in(self, *, hash_seed: int, timezone: str) -> dict[str, Launch]:
        """Return by build the way to start a process in given surroundings."""
        return {build: replace(each, hash_seed=hash_seed, timezone=timezone) for build, each in self._launches.items()}

    def connect(self, ports: Ports) -> None:
        """Put the applications on the machines of a run that is about to begin."""
        for host in self._hosts:
            host.ports = ports

    def layer_of(
        self, node: int, genesis: Genesis, verify: Callable[[Transaction], bool], log: RestoredLog = EMPTY_LOG
    ) -> ExecutionLayer:
        """Return the layer of the next life of a replica; raises an error of the log."""
        if self._is_own:
            return OwnLayer(self._homes[node], genesis, verify, log)
        return OutsideLayer(self._homes[node], genesis, log)

    def pool_of(
        self, node: int, _next_nonce: Callable[[bytes], int], _verifier: TransactionVerifier, reach: Reach
    ) -> TransactionPool:
        """Return the pool of a replica's next life: opaque transactions by arrival."""
        pool = self._hosts[node].pool = TransactionPool(partial(self._find_fault, node), reach=reach)
        return pool

    def _find_fault(self, node: int, transaction: bytes) -> str:
        life = self._homes[node].life
        asks = life is not None and "check" in life.greeting.features
        return life.talk.check(transaction) if asks and life is not None else ""

    def parts_of(self, node: int, factory: ValidatorFactory) -> ValidatorFactory:
        """Return the parts of a replica, with its application in place of the project's own engine."""
        pool = factory.pool if self._is_own else partial(self.pool_of, node)
        return replace(factory, layer=partial(self.layer_of, node), pool=pool)

    def replace(self, node: int, build: str) -> None:
        """Have a replica run a build from its next life on."""
        home = self._homes[node]
        home.plan = replace(home.plan, launch=self._launches[build], build=build)

    def build_of(self, node: int) -> str:
        """Return the build that a replica runs, or runs from its next life on."""
        return self._homes[node].plan.build

    def stop(self, node: int) -> None:
        """Kill the application of a machine that has lost its power."""
        self._homes[node].kill()

    def empty(self, node: int) -> None:
        """Empty the directory of a machine whose disk is wiped."""
        self._homes[node].empty()

    def note_loss(self, node: int, error: ApplicationLostError, fields: Mapping[str, Value]) -> int:
        """Note that an application was lost over a request; return the height of the request's block.

        The same call at the same height again, or the third loss, is for good.
        """
        height = self._hosts[node].height_of(fields)
        before = self._losses.setdefault(node, [])
        is_same, how = (error.call, height) in before, f"validator {node}, {error}"
        before.append((error.call, height))
        if is_same:
            what = f"the block of height {height}" if height >= 0 else "this call"
            self._hosts[node].note_fault("crashes-on-block", height, f"the application crashes on {what} again: {how}")
        if is_same or len(before) >= LOSSES_MAX:
            self.lost[node] = how
        return height

    def ask_again(self, folder: Path, *, asks_all: bool) -> None:
        """Put the requests of a drawn replica, or of all, to fresh processes; note the first other answer of each."""
        if self._recorded is not None:
            self.log.differing.update(self._recorded.differing)
        else:
            drawn = below(self._chance.draw("application-again", "", 0), len(self._plans))
            for node in range(len(self._plans)) if asks_all else (drawn,):
                place = folder / f"again-{node}"
                place.mkdir()
                again = AskedAgain(self._launches, self.log.contents, place)
                if (found := again.find(self.log.steps_of(node))) is not None:
                    self.log.differing[node] = found
        for node, (request, call, sentence) in self.log.differing.items():
            self.faults.append(ApplicationFault("not-deterministic", node, request, call, -1, sentence))

    def kill(self) -> None:
        """Kill every process."""
        for home in self._homes:
            home.kill()

    def stderr_of(self, node: int) -> bytes:
        """Return the end of the standard error of a replica's processes."""
        return self._hosts[node].stderr
