"""A fork of an outside application's chain: its blocks are proposed by lives of the application, without consensus.

The application makes the transactions. As in a fork of the project's own chain, the leaders of the abandoned branch
withhold a keyed part of them. The winning branch has later slots.
"""

import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Self

from cluster.outside.blocks import ChainStart, OutsideBlock
from cluster.outside.conversation import Greeting
from cluster.outside.home import ApplicationHome, ApplicationPlan
from cluster.outside.layer import OutsideLayer
from cluster.outside.life import ApplicationLife
from cluster.outside.process import ApplicationLostError, ApplicationProcess, Launch, LaunchError
from cluster.reorgs.fork import BLOCKS_AFTER, WITHHELD_PERCENT, ForkError
from network.chance import Chance, below
from validators.execution import Genesis, InvalidBlockError, ProposalContext
from validators.execution.blocks import Header, encode_header, encode_sealed
from validators.restored import EMPTY_LOG, RestoredLog
from validators.storage import FinalizedEntry

VALIDATORS: Final = 4
START: Final = ChainStart(chain="reorgs", timestamp_ms=1_700_000_000_000, timebase="slot", slot_ms=1_000)
GENESIS: Final = Genesis(
    chain_id=START.chain,
    validators=tuple(bytes([index]) * 20 for index in range(VALIDATORS)),
    timebase="slot",
    slot_ms=START.slot_ms,
    timestamp_ms=START.timestamp_ms,
)

TRANSACTIONS_PER_BLOCK: Final = 8
"""Transactions that arrive in each block interval."""

TRANSACTIONS_MAX: Final = 10_000
"""The most transactions of a fork: they come in a single answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationFork:
    """A chain with two branches above its trunk, and a block above the winning branch that is executed at the end."""

    launch: Launch
    genesis: Header
    trunk: tuple[OutsideBlock, ...]
    abandoned: tuple[OutsideBlock, ...]
    winning: tuple[OutsideBlock, ...]
    after: OutsideBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationReorgs:
    """The forks to build, and the application's stated features."""

    launch: Launch
    greeting: Greeting
    depths: tuple[int, ...]
    pivot: int
    seed: int


def plan_application_reorgs(launch: Launch, depths: Sequence[int], *, pivot: int, seed: int) -> ApplicationReorgs:
    """Return the plan for an application, after asking a process for its features.

    Raises:
        LaunchError: It does not start, or gives no valid answer to `hello`.
    """
    with TemporaryDirectory(prefix="stampede-reorgs-") as folder:
        try:
            with _Planner(launch, Path(folder)) as life:
                greeting = life.greeting
        except ApplicationLostError as error:
            raise LaunchError(f"{shlex.join(launch.command)}: {error}") from None
    return ApplicationReorgs(launch=launch, greeting=greeting, depths=tuple(depths), pivot=pivot, seed=seed)


class _Planner:
    """A process that makes transactions, and has said hello; it ends with its `with` block."""

    def __init__(self, launch: Launch, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        self._life = ApplicationLife(ApplicationProcess(launch, directory), directory)

    def __enter__(self) -> ApplicationLife:
        life = self._life
        try:
            life.greeting = life.talk.hello(
                node=None,
                validators=VALIDATORS,
                parameters={},
                directory=life.directory,
                resume=False,
                retain_blocks=BLOCKS_AFTER,
            )
        except BaseException:
            life.process.kill()
            raise
        return life

    def __exit__(self, *_error: object) -> None:
        with suppress(ApplicationLostError):
            self._life.talk.bye()
        self._life.process.close()


class ForkHomes:
    """The homes of a fork's lives; a context manager, which leaves no process behind."""

    def __init__(self, plan: ApplicationReorgs, depth: int, folder: Path) -> None:
        self.plan: Final = plan
        self.depth: Final = depth
        self.folder: Final = folder
        self._homes: list[ApplicationHome] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()

    def end(self) -> None:
        """Kill every life."""
        for home in self._homes:
            home.kill()

    def begin(self, genesis: Header | None, launch: Launch | None = None) -> ApplicationHome:
        """Return a home in an empty directory; with a header of genesis, the home's life has to come to this header."""
        plan = ApplicationPlan(
            launch=launch or self.plan.launch,
            node=0,
            validators=VALIDATORS,
            start=START,
            parameters={},
            retain_blocks=self.depth + BLOCKS_AFTER,
        )
        # In a folder of its own: processes of branches live beside the directory of a home.
        home = ApplicationHome(plan, self.folder / f"home-{len(self._homes)}" / "directory")
        home.genesis = genesis
        self._homes.append(home)
        return home


class RoadDifferenceError(Exception):
    """A block whose execution does not give the roots of its header: its height, and both roots."""


class ForkLife:
    """A home that is led along a road of a fork.

    Args:
        home: An empty home.
        log: The log with which its first life opens.
    """

    def __init__(self, home: ApplicationHome, log: RestoredLog = EMPTY_LOG) -> None:
        self._home = home
        self.layer = OutsideLayer(home, GENESIS, log)

    def follow(self, chain: Iterable[OutsideBlock]) -> None:
        """Execute blocks, each final immediately."""
        for made in chain:
            self.execute([made])
            self.layer.finalize(made.digest)

    def execute(self, branch: Iterable[OutsideBlock]) -> None:
        """Execute blocks."""
        for made in branch:
            try:
                self.layer.execute(made.block)
            except InvalidBlockError as error:
                raise RoadDifferenceError(f"height {made.header.height}: {error}") from None

    def certify(self, branch: Iterable[OutsideBlock]) -> None:
        """Execute blocks that are not yet executed, and apply each immediately if the application can."""
        for made in branch:
            self.execute([made])
            self.layer.certify(made.digest)

    def restart(self, final: Sequence[OutsideBlock]) -> None:
        """Kill the application and open it at a log of final blocks; the application may be behind the log."""
        self._home.kill()
        entries = [
            FinalizedEntry(each.header.height, each.digest, encode_header(each.header), each.log_entry)
            for each in final
        ]
        blocks = {each.digest: encode_sealed(each.block, b"") for each in final}
        self.layer = OutsideLayer(self._home, GENESIS, RestoredLog(entries=entries, find_block=blocks.get))


def build_application_fork(homes: ForkHomes) -> ApplicationFork:
    """Have one life propose the trunk and the winning branch, and another the abandoned branch: neither sees both.

    Raises:
        ForkError: The fork would show nothing.
    """
    plan, depth = homes.plan, homes.depth
    blocks = plan.pivot + 2 * depth + BLOCKS_AFTER + 1
    offered = _transactions(homes, blocks)
    life = ForkLife(homes.begin(None))
    leaders = _ApplicationLeaders(offered, Chance(plan.seed))
    trunk = leaders.extend(life, "trunk", plan.pivot, first=1)
    life.layer.finalize(trunk[-1].digest)
    leaders.leave_out(trunk)
    *winning, after = leaders.extend(life, "winning", depth + BLOCKS_AFTER + 1, first=plan.pivot + depth + 1)
    genesis = life.layer.genesis_header
    other = ForkLife(homes.begin(genesis))
    other.follow(trunk)
    abandoned = leaders.extend(other, "abandoned", depth, first=plan.pivot + 1, withheld_percent=WITHHELD_PERCENT)
    fork = ApplicationFork(
        launch=plan.launch,
        genesis=genesis,
        trunk=tuple(trunk),
        abandoned=tuple(abandoned),
        winning=tuple(winning),
        after=after,
    )
    _refuse_without_difference(fork, has_transactions=bool(offered))
    return fork


def _transactions(homes: ForkHomes, blocks: int) -> Sequence[tuple[int, bytes]]:
    """Return the application's transactions, each with the block interval in which it arrives."""
    plan = homes.plan
    if "transactions" not in plan.greeting.features:
        return ()
    draws = Chance(plan.seed).stream("reorgs.transactions", "chance")
    chance = b"".join(draws.at(index).to_bytes(8, "big") for index in range(4))
    with _Planner(plan.launch, homes.folder / "planner") as life:
        made = life.talk.transactions(min(TRANSACTIONS_PER_BLOCK * blocks, TRANSACTIONS_MAX), chance)
    return [(1 + index * blocks // len(made), transaction) for index, transaction in enumerate(made)]


class _ApplicationLeaders:
    """The leaders of both branches, which get the same transactions at the same times."""

    def __init__(self, offered: Sequence[tuple[int, bytes]], chance: Chance) -> None:
        self._offered = offered
        self._chance = chance

    def leave_out(self, trunk: Sequence[OutsideBlock]) -> None:
        """Offer no transaction of the trunk again."""
        included = dict.fromkeys(each for made in trunk for each in made.block.transactions)
        self._offered = [each for each in self._offered if each[1] not in included]

    def extend(
        self, life: ForkLife, branch: str, blocks: int, *, first: int, withheld_percent: int = 0
    ) -> list[OutsideBlock]:
        """Return new blocks above the final block of a life; the first block is built at block interval `first`."""
        draws = self._chance.stream("reorgs.withheld", branch)
        waiting, made, drawn = self._offered, list[OutsideBlock](), 0
        for view in range(first, first + blocks):
            offered: list[bytes] = []
            for arrives, transaction in waiting:
                if arrives <= view:
                    is_withheld = below(draws.at(drawn), 100) < withheld_percent
                    drawn += 1
                    offered += [] if is_withheld else [transaction]
            context = ProposalContext(
                parent=made[-1].digest if made else life.layer.finalized_digest,
                view=view,
                proposer=view % VALIDATORS,
                timestamp_ms=START.timestamp_ms + view * START.slot_ms,
            )
            made.append(life.layer.propose(context, offered))
            included = dict.fromkeys(made[-1].block.transactions)
            waiting = [each for each in waiting if each[1] not in included]
        return made


def _refuse_without_difference(fork: ApplicationFork, *, has_transactions: bool) -> None:
    for name, branch in (("abandoned", fork.abandoned), ("winning", fork.winning)):
        if has_transactions and not any(made.block.transactions for made in branch):
            raise ForkError(f"no transaction is included on the {name} branch above height {len(fork.trunk)}")
    last = fork.abandoned[-1].header
    if last.state_root == fork.winning[len(fork.abandoned) - 1].header.state_root:
        why = "" if has_transactions else ": their blocks are empty, since the application lacks transactions"
        raise ForkError(f"both branches have one root at height {last.height}{why}")
