"""The form of a policy oracle: a policy restated by the oracle, with the answers of CIP-5 (`fifo`) to every question.

A policy oracle says what holds for all blocks of its policy, and opens each block. Tables of this policy alone are
declared in its file as `OwnTable` and read by `contents.own(TABLE)`.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from checker.oracle.admission import Admission
from checker.oracle.calls import Present
from checker.oracle.contents import Basefees, Contents, Table
from checker.oracle.gas import Gas
from checker.oracle.phases import PHASES
from checker.oracle.records import MalformedError
from checker.oracle.timers import TimerPhase


class BlockStart(NamedTuple):
    """The start of a block as a policy oracle sees it.

    Attributes:
        activated_at: The first height of the policy on this chain.
        room: Limits of the block, and what its transactions have used of them so far.
        is_in_slots: Whether the present is a slot, and not the height.
        slot_ms: The length of a slot.
        timestamp_ms: The block's own time.
    """

    contents: Contents
    height: int
    activated_at: int
    basefees: Basefees
    room: Gas
    is_in_slots: bool
    slot_ms: int
    timestamp_ms: int


class PolicyInBlock(Admission):
    """A policy within one block: how timers come in, and the timer phase."""

    def __init__(self, start: BlockStart) -> None:
        self.start = start

    def phases(self) -> Sequence[str]:
        """Return the phases that the block has to go through, in order, by their names in the ledger."""
        return PHASES

    def timer_phase(self, present: Present, parent_now: int, proposer: bytes) -> TimerPhase:
        """Return the policy's part in the block, before any phase of it ran."""
        return TimerPhase(self.start.contents, present, parent_now, self.start.basefees, proposer)


class PolicyOracle:
    """A policy as the oracle restates it."""

    name: ClassVar[str]
    reserved: ClassVar[tuple[bytes, ...]] = ()
    """Addresses that the policy keeps for itself, on every chain that names it, at all heights."""
    timebases: ClassVar[tuple[str, ...]] = ("height", "slot")
    """The timebases of chains that may name the policy."""
    follows: ClassVar[tuple[str, ...]] = ()
    """The policies after which it may be activated in the middle of a chain."""

    def open(self, start: BlockStart) -> PolicyInBlock:
        """Return the policy in a block."""
        return PolicyInBlock(start)

    def audit(self, _contents: Contents) -> str:
        """Return how the policy's own tables contradict the others, empty if they do not; under every policy."""
        return ""

    def read_config(self, encoded: bytes) -> tuple[Any, ...] | None:
        """Return the policy's own configuration, None for a policy without one; raises MalformedError."""
        if encoded:
            raise MalformedError(f"the policy {self.name} has a configuration, and there is none")
        return None

    def read_option(self, _encoded: bytes) -> tuple[Any, ...] | None:
        """Return further parameters that genesis may state, None where it does not; raises MalformedError."""
        return None

    def option_table(self, _contents: Contents) -> Table[None, Any] | None:
        """Return the table that holds these."""
        return None

    def option_of(self, _fields: Sequence[Any]) -> tuple[Any, ...] | None:
        """Return these parameters of these fields, None where a field breaks its rule."""
        return None

    def option_key_of(self, name: str) -> str:
        """Return the key by which governance knows a field of these."""
        raise KeyError(name)

    def config_table(self, _contents: Contents) -> Table[None, Any] | None:
        """Return the table that holds the policy's own configuration."""
        return None

    def config_of(self, _fields: Sequence[Any]) -> tuple[Any, ...] | None:
        """Return the configuration of these fields, None where a field breaks its rule."""
        return None

    def key_of(self, name: str) -> str:
        """Return the key by which governance knows a field of the configuration."""
        raise KeyError(name)
