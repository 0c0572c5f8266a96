"""The phases of a block, in their order, and the counts that each has to have (docs/chain.md).

The list is the oracle's own: a phase that a validator leaves out in some block, for want of a budget or by mistake, is
missing in its ledger even if the state is right.
"""

from collections.abc import Mapping, Sequence
from typing import Final

PHASES: Final = ("promotion", "transactions", "timers", "mailbox", "prices", "burns", "tiers")
"""Phases of a block unless the policy has others; no budget excuses a block from any of them."""

Ledger = Sequence[tuple[str, Mapping[str, int]]]


def compare_phases(expected: Ledger, ledger: Ledger) -> tuple[str, str] | None:
    """Return both sides of the first difference in a block's ledger, or None where they agree.

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
