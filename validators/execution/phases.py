"""The ledger of a block's phases: each notes the items it found, handled and left, outside the state.

A phase writes its own entry when it is over, so a skipped phase has none. Items found and left are counted in the
tables and not computed from the items handled, so that the counts can disagree.
"""

from typing import Final

import msgspec

PROMOTION: Final = "promotion"
PROLOGUE: Final = "prologue"
TRANSACTIONS: Final = "transactions"
TIMERS: Final = "timers"
MAILBOX: Final = "mailbox"
PRICES: Final = "prices"
BURNS: Final = "burns"
TIERS: Final = "tiers"


class PhaseEntry(msgspec.Struct, frozen=True, array_like=True):
    """A phase of one block by its name, with its counts (the check `phases` of docs/invariants.md)."""

    phase: str
    counts: dict[str, int]
