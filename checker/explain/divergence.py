"""The first block at which validators diverge from each other, or from the oracle.

Executions of a block with two different outcomes diverge, whether or not the block became final. The oracle counts as
another executor: it executes every block from genesis to the divergence again.

The search walks the blocks in order instead of bisecting: a restarted validator may differ at one height and be right
at the next. All executions are in memory, so the walk is cheap.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple, TypeVar

from checker.checks.mirror import take_changes
from checker.explain.executions import (
    COUNTED,
    ExecutionGroup,
    Executions,
    ObservedBlock,
    Outcome,
    as_changes,
)
from checker.explain.formatting import order_of_key
from checker.explain.reading import timer_of, timer_of_key
from checker.oracle.blocks import OracleChain
from checker.oracle.headers import InvalidBlockError
from checker.oracle.records import MalformedError, read_block, read_genesis, write
from checker.oracle.replay import unknown_to_the_oracle
from scheduler import Timebase, Timer
from validators.execution.blocks import Block, Header, encode_block

_Item = TypeVar("_Item")


class AgreedBlock(NamedTuple):
    """A block before a divergence: all its executions have the same outcome."""

    digest: bytes
    block: Block
    receipts: tuple[bytes, ...]


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """The first block at which groups differ.

    Attributes:
        digest: The block's digest.
        block: The block, as it was proposed.
        groups: The groups; the first group is right: it holds the oracle, or without an oracle the most validators.
        refusal: The oracle's reason to refuse the block; empty if the oracle accepts it.
        before: The state before the block.
        now: The block's height or slot, in the chain's timebase.
        past: The ancestors of the block, oldest first.
    """

    digest: bytes
    block: Block
    groups: tuple[ExecutionGroup, ...]
    refusal: str
    before: Mapping[bytes, bytes]
    now: int
    past: tuple[AgreedBlock, ...]

    @property
    def header(self) -> Header:
        """The block's header."""
        return self.block.header

    @property
    def right(self) -> Outcome:
        """The outcome of the right group."""
        return self.groups[0].outcome

    @property
    def wrong(self) -> Outcome:
        """The outcome of the second group; the right outcome if only the oracle refuses the block."""
        return self.groups[-1 if len(self.groups) == 1 else 1].outcome

    @property
    def wrong_validators(self) -> list[int]:
        """The validators of all groups except the right group, ascending."""
        return sorted({node for group in self.groups[1:] for node in group.validators})

    @cached_property
    def keys(self) -> tuple[bytes, ...]:
        """The keys whose values differ after the two outcomes; keys closest to a cause come first.

        For an aborted execution, compare the keys that it read differently, or, if there are none, the keys it wrote.
        """
        right, wrong = self.right, self.wrong
        keys = dict.fromkeys(wrong.misread or wrong.changes if wrong.broken else [*right.changes, *wrong.changes])
        return tuple(
            sorted((key for key in keys if self.after(right, key) != self.after(wrong, key)), key=order_of_key)
        )

    def in_each(self, read: Callable[[Outcome], _Item]) -> tuple[_Item, ...]:
        """Return the result of a function for the outcome of each group."""
        return tuple(read(group.outcome) for group in self.groups)

    def values(self, key: bytes) -> tuple[bytes | None, ...]:
        """Return the value of a key before the block, then its value in each group's changes."""
        return self.before.get(key), *self.in_each(lambda outcome: outcome.changes.get(key))

    def timer_of_key(self, key: bytes) -> bytes:
        """Return the identifier of the timer that a state entry belongs to; empty for other tables."""
        return timer_of_key(key, self.values(key))

    def timer(self, timer_id: bytes) -> Timer | None:
        """Return the record of a timer before the block, or as a group schedules it in the block."""
        states = (self.before, *self.in_each(lambda outcome: outcome.changes))
        return next((timer for values in states if (timer := timer_of(values, timer_id)) is not None), None)

    def after(self, outcome: Outcome, key: bytes) -> bytes | None:
        """Return the value of a key after an outcome; a key that the outcome does not change keeps its value."""
        return outcome.changes[key] if key in outcome.changes else self.before.get(key)


def first_difference(lists: Iterable[Sequence[_Item]]) -> tuple[int, tuple[_Item | None, ...]] | None:
    """Return the first index at which lists differ, and each list's item there; None after a list's end."""
    places = enumerate(zip_longest(*lists))
    return next((place for place in places if any(item != place[1][0] for item in place[1])), None)


class OracleReplay:
    """The oracle, which executes a branch again from genesis."""

    def __init__(self, genesis: bytes) -> None:
        self._chain: OracleChain | None = None
        try:
            read = read_genesis(genesis)
            if not unknown_to_the_oracle(read):
                self._chain = OracleChain(read, genesis)
        except MalformedError:
            pass

    def begin(self) -> Outcome | None:
        """Return the outcome of genesis; None if the oracle cannot compute it."""
        if self._chain is None:
            return None
        log = self._chain.contents.log
        return Outcome((), self._chain.header.state_root, (), dict(log.values), log.operations(0))

    def execute(self, encoded: bytes) -> Outcome | str | None:
        """Return the outcome of the next block, or why it is invalid; None if the oracle cannot compute it."""
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
        return Outcome(
            tuple(transactions), result.state_root, receipts, result.changes, operations, counts, result.phases
        )


def find_divergence(
    executions: Executions, genesis: bytes, timebase: Timebase, named: Iterable[bytes] = ()
) -> Divergence | None:
    """Return the first block at which validators diverge from each other or from the oracle, or None.

    Args:
        executions: The observed executions.
        genesis: The encoded genesis.
        timebase: The unit in which timers count.
        named: Digests of blocks that failed checks name.
    """
    found = (_find_on_the_way(executions, genesis, timebase, target) for target in executions.suspects(named))
    return next((divergence for divergence in found if divergence is not None), None)


def _find_on_the_way(executions: Executions, genesis: bytes, timebase: Timebase, target: bytes) -> Divergence | None:
    """Return the first divergence among a block and its ancestors."""
    oracle = OracleReplay(genesis)
    before: dict[bytes, bytes] = {}
    past: list[AgreedBlock] = []
    for digest in executions.path_to(target):
        observed = executions.blocks[digest]
        header = observed.block.header
        opinion = oracle.begin() if header.height == 0 else oracle.execute(encode_block(observed.block))
        groups = _ranked(observed, opinion if isinstance(opinion, Outcome) else None, before)
        refusal = opinion if isinstance(opinion, str) else ""
        is_refused_by_all = refusal and all(group.outcome.broken for group in groups)
        if (len(groups) > 1 or refusal) and not is_refused_by_all:
            return Divergence(
                digest=digest,
                block=observed.block,
                groups=groups,
                refusal=refusal,
                before=before,
                now=header.slot if timebase == "slot" else header.height,
                past=tuple(past),
            )
        take_changes(before, groups[0].outcome.changes)
        past.append(AgreedBlock(digest, observed.block, groups[0].outcome.receipts))
    return None


def _ranked(
    observed: ObservedBlock, opinion: Outcome | None, before: Mapping[bytes, bytes]
) -> tuple[ExecutionGroup, ...]:
    """Return the groups with the right group first; an oracle that agrees with no validator has its own group."""
    groups = [ExecutionGroup(as_changes(group.outcome, before), list(group.validators)) for group in observed.groups]
    if opinion is not None:
        agreeing = next((group for group in groups if group.outcome.is_that_of_the_oracle(opinion)), None)
        if agreeing is None:
            agreeing = ExecutionGroup(opinion, [])
            groups.append(agreeing)
        agreeing.has_oracle = True

    def rank(group: ExecutionGroup) -> tuple[bool, bool, int, bool]:
        is_claimed = group.outcome.root == observed.block.header.state_root
        return not group.has_oracle, bool(group.outcome.broken), -len(group.validators), not is_claimed

    return tuple(sorted(groups, key=rank))
