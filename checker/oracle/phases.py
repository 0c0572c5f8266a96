"""The phases of a block, in their order, and the counts that each has to have (docs/chain.md).

The list is the oracle's own. So it detects a phase that a validator skips in a block, by a lack of budget or by
mistake, even if the state is right.
"""

from collections.abc import Mapping, Sequence
from typing import Final

PHASES: Final = ("promotion", "transactions", "timers", "mailbox", "prices", "burns", "tiers")
"""Phases of a block unless the policy has its own phases; every block runs all of them, whatever its budgets."""

Ledger = Sequence[tuple[str, Mapping[str, int]]]


def compare_phases(expected: Ledger, ledger: Ledger) -> tuple[str, str] | None:
    """Return both sides of the first difference in a block's ledger, or None if they agree.

    Counts that the oracle does not keep are left out.
    """
    ours, theirs = (", ".join(name for name, _ in each) for each in (expected, ledger))
    if ours != theirs:
        return ours, theirs
    for (name, counts), (_, reported) in zip(expected, ledger, strict=True):
        stated = {key: reported.get(key) for key in counts}
        if stated != dict(counts):
            return f"{name} {dict(counts)}", f"{name} {stated}"
    return None
