"""Prices of a validator's work, in virtual time."""

from dataclasses import dataclass
from typing import Final

CYCLES_PER_COST: Final = 1_000
"""`Costs.execute_us` is charged for each thousand cycles begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Virtual time of a validator's work, in whole microseconds (docs/scenarios.md), and a peer's share of it."""

    verify_signature_us: int = 60
    execute_us: int = 20
    block_us: int = 500
    hash_write_us: int = 5
    sync_us: int = 2_000
    decode_kib_us: int = 2
    """For each whole KiB of an arriving message, whatever its kind."""
    serve_block_us: int = 50
    """For each block that a peer requests."""
    transaction_us: int = 20
    """For each transaction of an outside application's block that states no cost."""
    payload_kib_us: int = 2
    """For each started KiB of the transactions of an outside application's block that states no cost."""
    answers_per_second: int = 8
    """Requests of one kind that are answered to each peer in a second."""

    def of_execution(self, cycles: int, writes: int, signatures: int) -> int:
        """Return the virtual microseconds that executing a block takes."""
        begun = -(-cycles // CYCLES_PER_COST)
        return (
            self.block_us
            + begun * self.execute_us
            + writes * self.hash_write_us
            + signatures * self.verify_signature_us
        )
