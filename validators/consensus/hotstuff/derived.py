"""A validator's memory beside the memory rebuilt from its journal, and the sizes of its tallies, for the checks."""

from collections.abc import Mapping

from validators.consensus.hotstuff.journal import Memory
from validators.consensus.hotstuff.screening import VIEWS_AHEAD_MAX
from validators.consensus.hotstuff.tree import BLOCKS_PER_VIEW_MAX
from validators.derived import Derived, DerivedSize, Plain


def derive_memory(memory: Memory, fresh: Memory, *, counted: Mapping[str, int], validators: int, views: int) -> Derived:
    """Return the memory and the memory after a restart; `views` is the number of views with blocks."""
    bounds = {
        "blocks": (BLOCKS_PER_VIEW_MAX * views, "4 for each view from the final one to those ahead"),
        "votes": (2 * (VIEWS_AHEAD_MAX + 2) * validators, "2 n for each view that votes are taken of"),
        "timeouts": (validators, "n"),
        "certifications": (views, "views from the final one to those ahead"),
    }
    sizes = tuple(DerivedSize(what, counted[what], bound, formula) for what, (bound, formula) in bounds.items())
    return Derived(part="consensus memory", kept=_describe(memory), rebuilt=_describe(fresh), sizes=sizes)


def _describe(memory: Memory) -> dict[str, Plain]:
    final_view = 0 if memory.commit is None else memory.commit.view
    entry_view = 0 if memory.entry is None else memory.entry.view
    return {
        # Entries below the final view may have been pruned: nothing rests on them any more.
        "last voted view": max(memory.last_voted, final_view),
        "highest certificate": memory.high.view,
        "its block": memory.high.digest,
        "locked view": max(memory.locked.view, final_view),
        "timeout certificate": max(entry_view, final_view),
        "final view": final_view,
    }
