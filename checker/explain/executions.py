"""Every execution of each block; validators with equal outcomes of a block form a group.

Genesis counts as a block. An aborted execution forms its own group with its partial outcome. The group also has the
keys at which the execution's first state differs from the state after the parent block.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from checker.observations import name_validators
from checker.oracle.phases import Ledger, compare_phases
from validators.execution.blocks import Block

Changes = Mapping[bytes, bytes | None]
"""Encoded value by state key; None for a deleted value."""


COUNTED: Final = (
    *("cycles_used", "cells_used", "lane_cycles", "lane_cells", "gc_cycles", "mailbox_cycles"),
    *("fired", "expired", "insolvent", "waiting_live", "waiting_dead"),
    *("messages_delivered", "messages_reverted", "messages_waiting", "burned", "tips", "lane_burned", "lane_price"),
)
"""Figures of a block that both its summary and the oracle count."""


class Outcome(NamedTuple):
    """The outcome of executing a block.

    Attributes:
        transactions: Encoded transactions as the validator executed them.
        root: The state root; empty for an aborted execution.
        receipts: Encoded receipts.
        changes: Changed keys with their values.
        operations: Encoded operations in the order of the log.
        counts: The figures of the block's summary that the oracle counts too.
        phases: The ledger of the block's phases; the oracle's has fewer counts.
        broken: The reason for an aborted execution; empty for a complete execution.
        begun: For an aborted execution, its first state as it read it.
        misread: The keys whose values in `begun` differ from the state after the parent block.
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
        """Return whether the oracle has the same outcome; the oracle counts only a part of each phase."""
        is_same = self._replace(phases=()) == opinion._replace(phases=())
        return is_same and compare_phases(opinion.phases, self.phases) is None


@dataclass(slots=True)
class ExecutionGroup:
    """The validators with the same outcome of a block, in the order of their executions."""

    outcome: Outcome
    validators: list[int]
    has_oracle: bool = False

    @property
    def name(self) -> str:
        """The names of the group's validators and oracle."""
        names = [name_validators(self.validators)] if self.validators else []
        return " and ".join([*names, *["the oracle"] * self.has_oracle])


@dataclass(slots=True)
class ObservedBlock:
    """A block as proposed, and its executions by outcome."""

    block: Block
    groups: list[ExecutionGroup] = field(default_factory=list)

    @property
    def is_broken(self) -> bool:
        """Return whether a validator aborted its execution of the block."""
        return any(group.outcome.broken for group in self.groups)


class RefusedLog(NamedTuple):
    """A log that a validator read from its disk and could not open as a state."""

    node: int
    operations: tuple[bytes, ...]
    reason: str


class Executions:
    """Every execution of a run by block; equal outcomes are stored once."""

    def __init__(self) -> None:
        self.blocks: dict[bytes, ObservedBlock] = {}
        self.final: dict[int, dict[bytes, list[int]]] = {}
        self.refused_logs: list[RefusedLog] = []

    def add(self, node: int, digest: bytes, block: Block, outcome: Outcome) -> None:
        """Record the outcome of a block's execution on a validator."""
        groups = self.blocks.setdefault(digest, ObservedBlock(block)).groups
        group = next((group for group in groups if group.outcome == outcome), None)
        if group is None:
            group = ExecutionGroup(outcome, [])
            groups.append(group)
        if node not in group.validators:
            group.validators.append(node)

    def add_final(self, node: int, height: int, digest: bytes) -> None:
        """Record that a validator finalized a block."""
        self.final.setdefault(height, {}).setdefault(digest, []).append(node)

    def sound_height_of(self, operations: Sequence[bytes]) -> int | None:
        """Return the final height whose log since genesis equals these operations, or None."""
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
        """Yield every key that a block has written; a key may come repeatedly."""
        for block in self.blocks.values():
            for group in block.groups:
                yield from group.outcome.changes

    def path_to(self, digest: bytes) -> list[bytes]:
        """Return the digests of a block's observed ancestors, oldest first, and the block's own digest last."""
        path: list[bytes] = []
        while digest in self.blocks:
            path.append(digest)
            digest = self.blocks[digest].block.header.parent
        path.reverse()
        return path

    def first_fork(self) -> int | None:
        """Return the lowest height at which two blocks are final, or None."""
        return min((height for height, digests in self.final.items() if len(digests) > 1), default=None)

    def suspects(self, named: Iterable[bytes]) -> list[bytes]:
        """Return the blocks at which validators may diverge, lowest first: two groups, an aborted execution, or named.

        A block that only its proposer executed has a single group, so a check has to name it. The last suspect is a
        block of the greatest final height: only the oracle can see an error that all validators make.
        """
        suspects = [digest for digest, block in self.blocks.items() if len(block.groups) > 1 or block.is_broken]
        suspects += [digest for digest in named if digest in self.blocks]
        suspects.sort(key=lambda digest: self.blocks[digest].block.header.height)
        return [*suspects, *([next(iter(self.final[max(self.final)]))] if self.final else ())]


def as_changes(outcome: Outcome, before: Mapping[bytes, bytes]) -> Outcome:
    """Return an outcome with the misread keys of an aborted execution as changes to the state before the block.

    A misread value replaces a written value: a wrong first state comes before its consequences.
    """
    if outcome.begun is None:
        return outcome
    begun = outcome.begun
    misread = {key: begun.get(key) for key in {**before, **begun} if begun.get(key) != before.get(key)}
    return outcome._replace(changes={**outcome.changes, **misread}, begun=None, misread=tuple(misread))
