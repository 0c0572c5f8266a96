"""What executing each block came to, validator by validator, and the first block at which they part.

Executions of one block that came to the same are one *side*; a block with two sides is a difference of states, whether
or not the block became final. The oracle is one voice more: it executes the blocks that lead to the place anew.

Places are found by going through the blocks from the first on, not by bisection: a validator that differs at one height
and is right again at the next, because it was restarted in between, is found too, and everything is in memory anyway.

Genesis is looked at like a block. So is an execution that came to no end: it stands on a side of its own, with what it
had come to, and with the state that it began from where that reads otherwise than the block's parent left it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, NamedTuple, final

from checker.checks.observations import name_validators
from checker.oracle.blocks import InvalidBlockError, OracleChain
from checker.oracle.judge import unknown_to_the_oracle
from checker.oracle.records import MalformedError, read_block, read_genesis, write
from scheduler import Timebase
from validators.execution.blocks import Block, Header, encode_block

Changes = Mapping[bytes, bytes | None]
"""State key to encoded value, None for a deleted one."""


COUNTED: Final = (
    *("cycles_used", "cells_used", "lane_cycles", "lane_cells", "gc_cycles", "mailbox_cycles"),
    *("fired", "expired", "insolvent", "waiting_live", "waiting_dead"),
    *("messages_delivered", "messages_reverted", "messages_waiting", "burned", "tips", "lane_burned", "lane_price"),
)
"""What the oracle counts of a block as its summary does."""


class Outcome(NamedTuple):
    """What executing a block came to.

    Attributes:
        transactions: Encoded transactions as they were executed.
        root: The state root, nothing where the execution broke off.
        receipts: Encoded receipts.
        changes: Changed keys with their values.
        operations: Encoded operations in the order of the log.
        counts: What the block's summary counts, as far as the oracle counts it too.
        broken: Why it came to no end; empty where it did.
        begun: Of an execution that broke off, the state that it began from, as it read it.
        misread: The keys of that state that read otherwise than the block's parent left them.
    """

    transactions: tuple[bytes, ...]
    root: bytes
    receipts: tuple[bytes, ...]
    changes: Changes
    operations: tuple[bytes, ...]
    counts: Mapping[str, int] = {}
    broken: str = ""
    begun: Mapping[bytes, bytes] | None = None
    misread: tuple[bytes, ...] = ()


@final
@dataclass(slots=True)
class Side:
    """Those that came to one outcome of a block, in the order in which they did."""

    outcome: Outcome
    validators: list[int]
    has_oracle: bool = False

    @property
    def name(self) -> str:
        """Who stands here, in words."""
        names = [name_validators(self.validators)] if self.validators else []
        return " and ".join([*names, *["the oracle"] * self.has_oracle])


@final
@dataclass(slots=True)
class ObservedBlock:
    """A block as it was proposed, and the sides on which those who executed it stand."""

    block: Block
    sides: list[Side] = field(default_factory=list)

    @property
    def is_broken(self) -> bool:
        """Whether an execution of it came to no end."""
        return any(side.outcome.broken for side in self.sides)


class RefusedLog(NamedTuple):
    """A log that a validator read back from its disk and made no state of."""

    node: int
    operations: tuple[bytes, ...]
    reason: str


@final
class Executions:
    """Every execution of a run, by block; equal outcomes are kept once."""

    def __init__(self) -> None:
        self.blocks: dict[bytes, ObservedBlock] = {}
        self.final: dict[int, dict[bytes, list[int]]] = {}
        self.refused_logs: list[RefusedLog] = []

    def add(self, node: int, digest: bytes, block: Block, outcome: Outcome) -> None:
        """Note what executing a block came to on a validator."""
        sides = self.blocks.setdefault(digest, ObservedBlock(block)).sides
        side = next((side for side in sides if side.outcome == outcome), None)
        if side is None:
            side = Side(outcome, [])
            sides.append(side)
        if node not in side.validators:
            side.validators.append(node)

    def add_final(self, node: int, height: int, digest: bytes) -> None:
        """Note that a block is final for a validator."""
        self.final.setdefault(height, {}).setdefault(digest, []).append(node)

    def sound_height_of(self, operations: Sequence[bytes]) -> int | None:
        """Return the final height whose log some operations since genesis are, None where they are that of none."""
        rest = list(operations)
        for height in sorted(self.final):
            block = self.blocks.get(next(iter(self.final[height])))
            logs = () if block is None else [side.outcome.operations for side in block.sides]
            log = next((log for log in logs if log and rest[: len(log)] == list(log)), None)
            if log is None:
                return None
            del rest[: len(log)]
            if not rest:
                return height
        return None

    def keys(self) -> Iterable[bytes]:
        """Yield every key that any block has written, some more than once."""
        for block in self.blocks.values():
            for side in block.sides:
                yield from side.outcome.changes

    def path_to(self, digest: bytes) -> list[bytes]:
        """Return the digests of the observed blocks that lead to one, oldest first, itself the last."""
        path: list[bytes] = []
        while digest in self.blocks:
            path.append(digest)
            digest = self.blocks[digest].block.header.parent
        path.reverse()
        return path

    def first_fork(self) -> int | None:
        """Return the lowest height at which two blocks are final."""
        return min((height for height, digests in self.final.items() if len(digests) > 1), default=None)

    def suspects(self, named: Iterable[bytes]) -> list[bytes]:
        """Return the blocks at which validators may part, the lowest first: they have two sides, or one that broke off.

        Then come those that a check names, and last a block of the greatest final height: what all do alike may be
        wrong as well.
        """
        suspects = [digest for digest, block in self.blocks.items() if len(block.sides) > 1 or block.is_broken]
        suspects.sort(key=lambda digest: self.blocks[digest].block.header.height)
        suspects += [digest for digest in named if digest in self.blocks]
        return [*suspects, *([next(iter(self.final[max(self.final)]))] if self.final else ())]


class Past(NamedTuple):
    """A block before the place where sides part: all agree on it."""

    digest: bytes
    block: Block
    receipts: tuple[bytes, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """The first block at which sides part.

    Attributes:
        digest: The block's digest.
        block: The block, as it was proposed.
        sides: The sides; the first is the one that is right: the oracle's, else that of most validators.
        refusal: Why the oracle holds the block to be invalid; empty where it does not.
        before: The state before the block.
        now: The present of the block, in the chain's timebase.
        past: The blocks that lead to it, oldest first.
    """

    digest: bytes
    block: Block
    sides: tuple[Side, ...]
    refusal: str
    before: Mapping[bytes, bytes]
    now: int
    past: tuple[Past, ...]

    @property
    def header(self) -> Header:
        """The block's header."""
        return self.block.header

    @property
    def right(self) -> Outcome:
        """What the side that is right came to."""
        return self.sides[0].outcome

    @property
    def wrong(self) -> Outcome:
        """What the first other side came to; the same where only the oracle refuses the block."""
        return self.sides[-1 if len(self.sides) == 1 else 1].outcome


@final
class Voice:
    """The oracle as one that executes along."""

    def __init__(self, genesis: bytes) -> None:
        self._chain: OracleChain | None = None
        self.silence = ""
        try:
            read = read_genesis(genesis)
            self.silence = unknown_to_the_oracle(read)
            if not self.silence:
                self._chain = OracleChain(read, genesis)
        except MalformedError as error:
            self.silence = f"this genesis: {error}"

    def execute(self, encoded: bytes) -> Outcome | str | None:
        """Return what the next block comes to, or why it is invalid; None where the oracle cannot say."""
        if self._chain is None:
            return None
        log = self._chain.contents.log
        start = log.size
        try:
            header, transactions = read_block(encoded)
            result = self._chain.execute(header, transactions)
        except MalformedError as error:
            return f"the block is malformed: {error}"
        except InvalidBlockError as error:
            return f"{error.what}: {error}"
        receipts = tuple(write(receipt) for receipt in result.receipts)
        counts = {name: result.counts[name] for name in COUNTED}
        operations = log.operations(start)
        return Outcome(tuple(transactions), result.state_root, receipts, result.changes, operations, counts)

    def begin(self) -> Outcome | None:
        """Return what genesis comes to; None where the oracle cannot say."""
        if self._chain is None:
            return None
        log = self._chain.contents.log
        return Outcome((), self._chain.header.state_root, (), dict(log.values), log.operations(0))


def find_parting(
    executions: Executions, genesis: bytes, timebase: Timebase, named: Iterable[bytes] = ()
) -> Parting | None:
    """Return the first block at which validators part from each other or from the oracle, or None.

    Args:
        executions: What was observed.
        genesis: The encoded genesis.
        timebase: What timers count.
        named: Digests of blocks that checks name.
    """
    for target in executions.suspects(named):
        parting = _find_parting_to(executions, genesis, timebase, target)
        if parting is not None:
            return parting
    return None


def _find_parting_to(executions: Executions, genesis: bytes, timebase: Timebase, target: bytes) -> Parting | None:
    """Go the way from genesis to one block and return where validators part first."""
    voice = Voice(genesis)
    before: dict[bytes, bytes] = {}
    past: list[Past] = []
    for digest in executions.path_to(target):
        observed = executions.blocks[digest]
        header = observed.block.header
        opinion = voice.begin() if header.height == 0 else voice.execute(encode_block(observed.block))
        sides = _ranked(observed, opinion if isinstance(opinion, Outcome) else None, before)
        refusal = opinion if isinstance(opinion, str) else ""
        is_refused_by_all = refusal and all(side.outcome.broken for side in sides)
        if (len(sides) > 1 or refusal) and not is_refused_by_all:
            return Parting(
                digest=digest,
                block=observed.block,
                sides=sides,
                refusal=refusal,
                before=before,
                now=header.slot if timebase == "slot" else header.height,
                past=tuple(past),
            )
        take_changes(before, sides[0].outcome.changes)
        past.append(Past(digest, observed.block, sides[0].outcome.receipts))
    return None


def take_changes(values: dict[bytes, bytes], changes: Changes) -> None:
    """Bring a state one block further."""
    for key, value in changes.items():
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value


def _ranked(observed: ObservedBlock, opinion: Outcome | None, before: Mapping[bytes, bytes]) -> tuple[Side, ...]:
    """Return the sides, the oracle's own one among them, the one that is right first."""
    sides = [Side(as_changes(side.outcome, before), list(side.validators)) for side in observed.sides]
    if opinion is not None:
        agreeing = next((side for side in sides if side.outcome == opinion), None)
        if agreeing is None:
            agreeing = Side(opinion, [])
            sides.append(agreeing)
        agreeing.has_oracle = True

    def rank(side: Side) -> tuple[bool, bool, int, bool]:
        is_claimed = side.outcome.root == observed.block.header.state_root
        return not side.has_oracle, bool(side.outcome.broken), -len(side.validators), not is_claimed

    return tuple(sorted(sides, key=rank))


def as_changes(outcome: Outcome, before: Mapping[bytes, bytes]) -> Outcome:
    """Return an outcome that broke off with what it read otherwise as changes of the state that all others began from.

    What it wrote itself does not hide it: a state that is not the block's comes before whatever was made of it.
    """
    if outcome.begun is None:
        return outcome
    begun = outcome.begun
    others = {key: begun.get(key) for key in {**before, **begun} if begun.get(key) != before.get(key)}
    return outcome._replace(changes={**outcome.changes, **others}, begun=None, misread=tuple(others))


def wrong_validators(sides: Iterable[Side]) -> list[int]:
    """Return the validators that stand on any side but the first, ascending."""
    return sorted(dict.fromkeys(chain.from_iterable(side.validators for side in list(sides)[1:])))
