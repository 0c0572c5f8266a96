"""Every execution of each block, validator by validator; equal outcomes of one block form one group.

Genesis is treated like a block. An execution that broke off forms a group of its own, with its outcome up
to there, and with the keys of its first state that differ from the state that the block's parent left.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from checker.checks.observations import name_validators
from checker.oracle.phases import Ledger, compare_phases
from validators.execution.blocks import Block

Changes = Mapping[bytes, bytes | None]
"""State key to encoded value, None for a deleted one."""


COUNTED: Final = (
    *("cycles_used", "cells_used", "lane_cycles", "lane_cells", "gc_cycles", "mailbox_cycles"),
    *("fired", "expired", "insolvent", "waiting_live", "waiting_dead"),
    *("messages_delivered", "messages_reverted", "messages_waiting", "burned", "tips", "lane_burned", "lane_price"),
)
"""Figures of a block that its summary and the oracle both count."""


class Outcome(NamedTuple):
    """The outcome of executing a block.

    Attributes:
        transactions: Encoded transactions as they were executed.
        root: The state root, empty where the execution broke off.
        receipts: Encoded receipts.
        changes: Changed keys with their values.
        operations: Encoded operations in the order of the log.
        counts: The figures of the block's summary that the oracle counts too.
        phases: The ledger of the block's phases; the oracle's has fewer counts.
        broken: The reason why it broke off; empty where it did not.
        begun: For an aborted execution: the state it started from, as it read it.
        misread: The keys of that state whose values differ from those the block's parent left.
    """

    transactions: tuple[bytes, ...]
    root: bytes
    receipts: tuple[bytes, ...]
    changes: Changes
    operations: tuple[bytes, ...]
    counts: Mapping[str, int] = {}
    phases: Ledger = ()
    broken: str = ""
    begun: Mapping[bytes, bytes] | None = None
    misread: tuple[bytes, ...] = ()

    def is_that_of_the_oracle(self, opinion: "Outcome") -> bool:
        """Return whether the oracle came to the same; of the phases' counts it keeps a part."""
        is_same = self._replace(phases=()) == opinion._replace(phases=())
        return is_same and compare_phases(opinion.phases, self.phases) is None


@dataclass(slots=True)
class ExecutionGroup:
    """The validators with one outcome of a block, in the order in which they executed it."""

    outcome: Outcome
    validators: list[int]
    has_oracle: bool = False

    @property
    def name(self) -> str:
        """The validators, and the oracle, in words."""
        names = [name_validators(self.validators)] if self.validators else []
        return " and ".join([*names, *["the oracle"] * self.has_oracle])


@dataclass(slots=True)
class ObservedBlock:
    """A block as it was proposed, and its executions by their outcome."""

    block: Block
    groups: list[ExecutionGroup] = field(default_factory=list)

    @property
    def is_broken(self) -> bool:
        """Return whether an execution of the block broke off."""
        return any(group.outcome.broken for group in self.groups)


class RefusedLog(NamedTuple):
    """A log that a validator read back from its disk and could not open as a state."""

    node: int
    operations: tuple[bytes, ...]
    reason: str


class Executions:
    """Every execution of a run, by block; equal outcomes are kept once."""

    def __init__(self) -> None:
        self.blocks: dict[bytes, ObservedBlock] = {}
        self.final: dict[int, dict[bytes, list[int]]] = {}
        self.refused_logs: list[RefusedLog] = []

    def add(self, node: int, digest: bytes, block: Block, outcome: Outcome) -> None:
        """Note the outcome of a block's execution on a validator."""
        groups = self.blocks.setdefault(digest, ObservedBlock(block)).groups
        group = next((group for group in groups if group.outcome == outcome), None)
        if group is None:
            group = ExecutionGroup(outcome, [])
            groups.append(group)
        if node not in group.validators:
            group.validators.append(node)

    def add_final(self, node: int, height: int, digest: bytes) -> None:
        """Note that a block is final for a validator."""
        self.final.setdefault(height, {}).setdefault(digest, []).append(node)

    def sound_height_of(self, operations: Sequence[bytes]) -> int | None:
        """Return the final height whose log equals these operations since genesis, or None."""
        rest = list(operations)
        for height in sorted(self.final):
            block = self.blocks.get(next(iter(self.final[height])))
            logs = () if block is None else [group.outcome.operations for group in block.groups]
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
            for group in block.groups:
                yield from group.outcome.changes

    def path_to(self, digest: bytes) -> list[bytes]:
        """Return the digests of the observed blocks that lead to one, oldest first, the block itself last."""
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
        """Return the blocks at which validators may diverge, the lowest first: with two groups, a broken one, or named.

        A block that its proposer alone executed has one group and may be named. Last comes a block of the greatest
        final height: an error that all make alike shows nowhere else.
        """
        suspects = [digest for digest, block in self.blocks.items() if len(block.groups) > 1 or block.is_broken]
        suspects += [digest for digest in named if digest in self.blocks]
        suspects.sort(key=lambda digest: self.blocks[digest].block.header.height)
        return [*suspects, *([next(iter(self.final[max(self.final)]))] if self.final else ())]


def as_changes(outcome: Outcome, before: Mapping[bytes, bytes]) -> Outcome:
    """Return an outcome that broke off, with its misread keys as changes of the state that all others began from.

    A misread value wins over the value that it wrote there: a wrong first state comes before its consequences.
    """
    if outcome.begun is None:
        return outcome
    begun = outcome.begun
    others = {key: begun.get(key) for key in {**before, **begun} if begun.get(key) != before.get(key)}
    return outcome._replace(changes={**outcome.changes, **others}, begun=None, misread=tuple(others))
