"""The interface of a policy oracle: a policy restated by the oracle, with the rules of CIP-5 (`fifo`) as defaults.

A policy oracle has the rules for all blocks of its policy, and opens each block. Its file declares the policy's own
tables as `OwnTable`, which `contents.own(TABLE)` reads.
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
        room: Limits of the block, and their use by its transactions so far.
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
    """A policy within a block: the admission of timers, and the timer phase."""

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
        """Return the contradiction of the policy's own tables with other tables, empty if none; under every policy."""
        return ""

    def read_config(self, encoded: bytes) -> tuple[Any, ...] | None:
        """Return the policy's own configuration, None for a policy without configuration; raises MalformedError."""
        if encoded:
            raise MalformedError(f"the policy {self.name} takes no configuration, and genesis has one")
        return None

    def read_option(self, _encoded: bytes) -> tuple[Any, ...] | None:
        """Return further parameters that genesis may state, None where it does not; raises MalformedError."""
        return None

    def option_table(self, _contents: Contents) -> Table[None, Any] | None:
        """Return the table of the further parameters."""
        return None

    def option_of(self, _fields: Sequence[Any]) -> tuple[Any, ...] | None:
        """Return the further parameters of these fields, None if a field breaks its rule."""
        return None

    def option_key_of(self, name: str) -> str:
        """Return the key by which governance knows a field of the further parameters."""
        raise KeyError(name)

    def config_table(self, _contents: Contents) -> Table[None, Any] | None:
        """Return the table that holds the policy's own configuration."""
        return None

    def config_of(self, _fields: Sequence[Any]) -> tuple[Any, ...] | None:
        """Return the configuration of these fields, None if a field breaks its rule."""
        return None

    def key_of(self, name: str) -> str:
        """Return the key by which governance knows a field of the configuration."""
        raise KeyError(name)
