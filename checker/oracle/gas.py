"""The gas of a call: cycles and cells, with their limits."""

from dataclasses import dataclass


class OutOfGasError(Exception):
    """A limit was reached."""


@dataclass
class Gas:
    """Cycles and cells: the limits, and the amounts used so far."""

    cycles_limit: int
    cells_limit: int
    cycles: int = 0
    cells: int = 0

    def use(self, cycles: int, cells: int = 0) -> None:
        """Charge; raises OutOfGasError past a limit."""
        self.cycles += cycles
        self.cells += cells
        if self.is_exceeded:
            raise OutOfGasError

    @property
    def is_exceeded(self) -> bool:
        """Return whether a limit was passed; used gas is never given back, so this stays true."""
        return self.cycles > self.cycles_limit or self.cells > self.cells_limit
