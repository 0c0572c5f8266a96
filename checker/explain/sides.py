"""What executing each block came to, validator by validator, and the first block at which they part.

Executions of one block that came to the same are one *side*; a block with two sides is a difference of states, whether
or not the block became final. The oracle is one voice more: it executes the blocks that lead to the place anew.

Places are found by going through the blocks from the first on, not by bisection: a validator that differs at one height
and is right again at the next, because it was restarted in between, is found too, and everything is in memory anyway.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, final

from checker.observations import name_validators
from checker.oracle.blocks import InvalidBlockError, OracleChain
from checker.oracle.judge import unknown_to_the_oracle
from checker.oracle.records import MalformedError, read_block, read_genesis, write
from validators.execution.blocks import Block, Header, encode_block

Changes = Mapping[bytes, bytes | None]
"""State key to encoded value, None for a deleted one."""


class Outcome(NamedTuple):
    """What executing a block came to.

    Encoded transactions as they were executed, root, encoded receipts, changed keys, encoded operations in the order of
    the log.
    """

    transactions: tuple[bytes, ...]
    root: bytes
    receipts: tuple[bytes, ...]
    changes: Changes
    operations: tuple[bytes, ...]


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


@final
class Executions:
    """Every execution of a run, by block; equal outcomes are kept once."""

    def __init__(self) -> None:
        self.blocks: dict[bytes, ObservedBlock] = {}
        self.final: dict[int, dict[bytes, list[int]]] = {}

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

    def first_split(self) -> bytes | None:
        """Return the lowest block with two sides, the one seen first among those of one height."""
        split = [digest for digest, block in self.blocks.items() if len(block.sides) > 1]
        return min(split, key=lambda digest: self.blocks[digest].block.header.height, default=None)

    def last_final(self) -> bytes | None:
        """Return a block of the greatest final height."""
        return next(iter(self.final[max(self.final)])) if self.final else None


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
        past: The blocks that lead to it, oldest first.
    """

    digest: bytes
    block: Block
    sides: tuple[Side, ...]
    refusal: str
    before: Mapping[bytes, bytes]
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
        return Outcome(tuple(transactions), result.state_root, receipts, result.changes, log.operations(start))


def find_parting(executions: Executions, genesis: bytes, genesis_values: Mapping[bytes, bytes]) -> Parting | None:
    """Return the first block at which validators part from each other or from the oracle, or None.

    Args:
        executions: What was observed.
        genesis: The encoded genesis.
        genesis_values: The state before the first block.
    """
    target = executions.first_split() or executions.last_final()
    voice = Voice(genesis)
    before = dict(genesis_values)
    past: list[Past] = []
    for digest in executions.path_to(target) if target is not None else ():
        observed = executions.blocks[digest]
        opinion = voice.execute(encode_block(observed.block))
        sides = _ranked(observed, opinion if isinstance(opinion, Outcome) else None)
        refusal = opinion if isinstance(opinion, str) else ""
        if len(sides) > 1 or refusal:
            return Parting(
                digest=digest,
                block=observed.block,
                sides=sides,
                refusal=refusal,
                before=before,
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


def _ranked(observed: ObservedBlock, opinion: Outcome | None) -> tuple[Side, ...]:
    """Return the sides, the oracle's own one among them, the one that is right first."""
    sides = [Side(side.outcome, list(side.validators)) for side in observed.sides]
    if opinion is not None:
        agreeing = next((side for side in sides if side.outcome == opinion), None)
        if agreeing is None:
            agreeing = Side(opinion, [])
            sides.append(agreeing)
        agreeing.has_oracle = True

    def rank(side: Side) -> tuple[bool, int, bool]:
        return not side.has_oracle, -len(side.validators), side.outcome.root != observed.block.header.state_root

    return tuple(sorted(sides, key=rank))


def wrong_validators(sides: Iterable[Side]) -> list[int]:
    """Return the validators that stand on any side but the first, ascending."""
    return sorted(dict.fromkeys(chain.from_iterable(side.validators for side in list(sides)[1:])))
