"""The phases of a block by policy, in their order, and what each has to have found and done (docs/chain.md).

The list is the oracle's own: a phase that a validator leaves out in some block, for want of a budget or by a slip, is
missing in its ledger whatever the state says.
"""

from collections.abc import Mapping, Sequence
from typing import Final

PHASES: Final = ("promotion", "transactions", "timers", "mailbox", "prices", "burns", "tiers")
"""Of every policy; no budget excuses a block from any of them."""

Ledger = Sequence[tuple[str, Mapping[str, int]]]


def phases_of(policy: str) -> tuple[str, ...]:
    """Return the phases that a block has to go through; raises KeyError for a policy that is not known."""
    return {"fifo": PHASES, "fifo-free": PHASES, "eip1559": PHASES}[policy]


def compare_phases(expected: Ledger, ledger: Ledger) -> tuple[str, str] | None:
    """Return what both sides say where a block's ledger differs first, None where it does not.

    Counts that the oracle does not keep are left out.
    """
    ours, theirs = (", ".join(name for name, _ in each) for each in (expected, ledger))
    if ours != theirs:
        return ours, theirs
    for (name, counts), (_, told) in zip(expected, ledger, strict=True):
        stated = {key: told.get(key) for key in counts}
        if stated != dict(counts):
            return f"{name} {dict(counts)}", f"{name} {stated}"
    return None
