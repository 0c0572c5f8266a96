"""Prices of actions, in cycles (work) and cells (bytes kept), and the meter that adds them up.

This is the only table of metering constants; docs/chain.md prints it. Calls about timers are priced by TimerConfig.
"""

from typing import Final

TRANSACTION_CYCLES: Final = 1_000
"""Any transaction, before it does anything: decoding, signature, nonce, fees."""
TRANSACTION_BYTE_CELLS: Final = 1
"""Each byte of an encoded transaction; paid whether or not it succeeds."""
CALL_CYCLES: Final = 200
"""Calling a handler, from a transaction, a timer or a message."""
SYSTEM_INSTRUCTION_CYCLES: Final = 200
"""A system instruction, whether or not its sender may give it."""
STORAGE_GET_CYCLES: Final = 50
"""Reading one value of the actor's storage."""
FOREIGN_BYTE_CELLS: Final = 1
"""Each byte of another actor's value that a read-only call reads."""
STORAGE_PUT_CYCLES: Final = 100
"""Writing one value."""
STORAGE_DELETE_CYCLES: Final = 50
"""Deleting one value."""
STORAGE_BYTE_CELLS: Final = 1
"""Each byte of key and value written."""
BALANCE_CYCLES: Final = 50
"""Reading a balance."""
TRANSFER_CYCLES: Final = 100
"""Moving units from the actor to an address."""
EMIT_CYCLES: Final = 50
"""Emitting an event."""
SEND_CYCLES: Final = 200
"""Sending a message, besides the message's own limit."""
EMIT_BYTE_CELLS: Final = 1
"""Each byte of an event's topic and data."""
PAYLOAD_BYTE_CELLS: Final = 1
"""Each byte of a scheduled timer's or a message's payload."""


class OutOfGas(Exception):  # noqa: N818 - named as receipts name it
    """A call used more cycles or cells than its limit; all its cycles count as used."""


class Meter:
    """Cycles and cells used by one call, against its limits.

    Invariant: `cycles` and `cells` never exceed their limits. Once exhausted, a meter stays exhausted: a program that
    swallows OutOfGas gains nothing.
    """

    __slots__ = ("cells", "cells_limit", "cycles", "cycles_limit", "exhausted")

    def __init__(self, cycles_limit: int, cells_limit: int) -> None:
        self.cycles_limit = cycles_limit
        self.cells_limit = cells_limit
        self.cycles = 0
        self.cells = 0
        self.exhausted = False

    def use(self, cycles: int, cells: int = 0) -> None:
        """Count work before it is done.

        Raises:
            OutOfGas: A limit would be passed, or was passed before.
        """
        wanted_cycles = self.cycles + cycles
        wanted_cells = self.cells + cells
        if self.exhausted or wanted_cycles > self.cycles_limit or wanted_cells > self.cells_limit:
            self.exhausted = True
            self.cycles = self.cycles_limit
            raise OutOfGas(f"{wanted_cycles} of {self.cycles_limit} cycles, {wanted_cells} of {self.cells_limit} cells")
        self.cycles = wanted_cycles
        self.cells = wanted_cells


class GasMeter(Meter):
    """A meter whose cells also count against the limit in cycles, at a rate, rounded up (Q-53)."""

    __slots__ = ("_rate",)

    def __init__(self, cycles_limit: int, cells_limit: int, rate: tuple[int, int]) -> None:
        super().__init__(cycles_limit, cells_limit)
        self._rate = rate

    def use(self, cycles: int, cells: int = 0) -> None:
        """Count work before it is done; raises OutOfGas."""
        numerator, denominator = self._rate
        taken = -(-(self.cells + cells) * numerator // denominator)
        is_over = self.cycles + cycles + taken > self.cycles_limit
        super().use(self.cycles_limit + 1 if is_over else cycles, cells)
