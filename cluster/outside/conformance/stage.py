"""The stage of the script: lives of the application, each in its own directory, and their blocks."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from checker.timer_book import TimerBook
from cluster.outside.answers import Event, Execution
from cluster.outside.blocks import ChainStart, genesis_header, next_header, receipts_root, sealed_block
from cluster.outside.conversation import InvalidPayload
from cluster.outside.frames import Value
from cluster.outside.life import ApplicationLife, Exchange
from cluster.outside.process import ApplicationProcess, Launch
from validators.execution.blocks import Block, Header, header_digest

CHAIN: Final = "conformance"
TIMEBASE: Final = "slot"
SLOT_MS: Final = 1_000
START_MS: Final = 1_700_000_000_000
VALIDATORS: Final = 4
RETAIN_BLOCKS: Final = 16
START: Final = ChainStart(chain=CHAIN, timestamp_ms=START_MS, timebase=TIMEBASE, slot_ms=SLOT_MS)


class NotConformantError(Exception):
    """The application broke a rule of the protocol: a sentence with what was expected and what was found."""


class Made(NamedTuple):
    """A block with its id and the application's answer."""

    id: bytes
    block: Block
    execution: Execution

    @property
    def header(self) -> Header:
        """Its header."""
        return self.block.header


class Stage:
    """All lives of a script; a context manager, which leaves no process behind.

    Args:
        launch: The way to start the application.
        folder: An empty folder for the directories of the lives.
        parameters: The application's parameters.
    """

    def __init__(self, launch: Launch, folder: Path, parameters: Mapping[str, Value]) -> None:
        self._launch = launch
        self._folder = folder
        self.parameters: Final = parameters
        self._lives: list[ApplicationLife] = []
        self.transactions: list[bytes] = []
        self.is_fifo = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.end()

    @property
    def last(self) -> Exchange | None:
        """The last exchange of the life that answered last."""
        return self._lives[-1].last if self._lives else None

    @property
    def stderr_tail(self) -> str:
        """The end of the standard error of the life that answered last."""
        return self._lives[-1].process.stderr.tail() if self._lives else ""

    def end(self) -> None:
        """Kill every life."""
        for life in self._lives:
            life.process.kill()

    def open(
        self,
        *,
        after: ApplicationLife | None = None,
        copy_of: Path | None = None,
        is_planning: bool = False,
        hash_seed: int = 0,
        timezone: str = "UTC",
    ) -> ApplicationLife:
        """Begin a life and say hello.

        Args:
            after: The life that it resumes.
            copy_of: A directory of which it resumes a copy.
            is_planning: Whether it only makes transactions.
            hash_seed: The hash seed of a Python application.
            timezone: Its time zone.
        """
        if after is None:
            directory = self._folder / f"life-{len(self._lives)}"
            directory.mkdir()
        else:
            directory = after.directory
        if copy_of is not None:
            shutil.copytree(copy_of, directory, dirs_exist_ok=True)
        launch = replace(self._launch, hash_seed=hash_seed, timezone=timezone)
        life = ApplicationLife(ApplicationProcess(launch, directory), directory)
        self._lives.append(life)
        life.greeting = life.talk.hello(
            node=None if is_planning else 0,
            validators=VALIDATORS,
            parameters=self.parameters,
            directory=directory,
            resume=after is not None or copy_of is not None,
            retain_blocks=RETAIN_BLOCKS,
        )
        return life

    def begin(self, *, hash_seed: int = 0, timezone: str = "UTC") -> tuple[ApplicationLife, Made]:
        """Begin a life at genesis, and return it with the genesis block."""
        life = self.open(hash_seed=hash_seed, timezone=timezone)
        made = self.genesis_of(life.talk.genesis(START))
        life.talk.adopted(made.id, made.header)
        return life, made

    def genesis_of(self, execution: Execution) -> Made:
        """Return the genesis block of an answer."""
        header = genesis_header(START, VALIDATORS, self.parameters, execution)
        return Made(header_digest(header), Block(header, ()), execution)

    def draft(self, parent: Made, *, slots: int = 1, view: int = 0) -> Header:
        """Return the header of a block above a parent, `slots` slots later."""
        timestamp_ms = parent.header.timestamp_ms + slots * SLOT_MS
        proposer = parent.header.height % VALIDATORS
        view = view or parent.header.view + 1
        return next_header(parent.header, view=view, proposer=proposer, timestamp_ms=timestamp_ms, slot_ms=SLOT_MS)

    def propose(self, life: ApplicationLife, parent: Made, draft: Header, transactions: Sequence[bytes] = ()) -> Made:
        """Have a life propose a block, and return it; it is not adopted yet."""
        proposal = life.talk.propose(parent.id, draft, transactions)
        execution = proposal.execution
        receipts = receipts_root(execution)
        block = sealed_block(draft, proposal.payload, root=execution.root, receipts=receipts)
        return Made(header_digest(block.header), block, execution)

    def extend(
        self, life: ApplicationLife, parent: Made, blocks: int, *, gaps: Mapping[int, int] | None = None, view: int = 0
    ) -> list[Made]:
        """Have a life propose and adopt successive blocks; `gaps` has slots to wait before some of them, by place."""
        made = [parent]
        for place in range(blocks):
            offered = [self.transactions.pop(0) for _ in range(min(3, len(self.transactions)))]
            draft = self.draft(made[-1], slots=(gaps or {}).get(place, 1), view=view if place == 0 else 0)
            made.append(self.propose(life, made[-1], draft, offered))
            life.talk.adopted(made[-1].id, made[-1].header)
        return made[1:]

    def execute(self, life: ApplicationLife, made: Made, why: str) -> None:
        """Have a life execute a block, and require its earlier answer."""
        outcome = life.talk.execute(made.id, made.header, made.block.transactions)
        place = f"block {made.id.hex()[:8]} of height {made.header.height}, {why}"
        if isinstance(outcome, InvalidPayload):
            raise NotConformantError(f"{place}: called invalid ({outcome.reason}), and was proposed before")
        self._compare(place, made.execution, outcome)

    def _compare(self, place: str, expected: Execution, found: Execution) -> None:
        if found.root != expected.root:
            raise NotConformantError(f"{place}: root {expected.root.hex()} expected, {found.root.hex()} found")
        wanted, given = map(receipts_root, (expected, found))
        if wanted != given:
            raise NotConformantError(f"{place}: other events or receipts: {_first_difference(expected, found)}")
        if found.cost_us != expected.cost_us:
            raise NotConformantError(f"{place}: cost_us {expected.cost_us} expected, {found.cost_us} found")

    def follow_timers(self, chain: Sequence[Made]) -> dict[str, int]:
        """Follow the timers of a chain from genesis on; raise the first broken rule, return the count of each exit."""
        book, counts = TimerBook(is_fifo=self.is_fifo), {"fired": 0, "dead": 0, "cancelled": 0}
        for made in chain:
            exits, faults = book.follow(made.header.slot, made.execution.events)
            if faults:
                raise NotConformantError(f"block of height {made.header.height}, slot {made.header.slot}: {faults[0]}")
            for name, count in exits._asdict().items():
                counts[name] += count
        return counts | {"waiting": len(book.waiting)}


def _first_difference(expected: Execution, found: Execution) -> str:
    if expected.receipts is not None or found.receipts is not None:
        counts = [None if each.receipts is None else len(each.receipts) for each in (expected, found)]
        return f"expected {counts[0]} receipts, found {counts[1]}, or different bytes in them"
    for index, (mine, other) in enumerate(zip(expected.events, found.events, strict=False)):
        if mine != other:
            return f"event {index}: expected {_shown(mine)}, found {_shown(other)}"
    return f"{len(expected.events)} events expected, {len(found.events)} found"


def _shown(event: Event) -> str:
    return str(dict(sorted(event.items())))
