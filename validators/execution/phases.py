"""The ledger of a block's phases: each notes what it found, what it did and what it left, outside the state.

A phase writes its own entry when it is over, so that one that was skipped has none; what it found and left is counted
in the tables and not taken from what it says it did, so that the counts can disagree.
"""

from typing import Final

import msgspec

PROMOTION: Final = "promotion"
TRANSACTIONS: Final = "transactions"
TIMERS: Final = "timers"
MAILBOX: Final = "mailbox"
PRICES: Final = "prices"
BURNS: Final = "burns"
TIERS: Final = "tiers"


class PhaseEntry(msgspec.Struct, frozen=True, array_like=True):
    """A phase of one block by its name, with its counts (docs/invariants.md, phases)."""

    phase: str
    counts: dict[str, int]
