"""Garbage collection during a run: rarer, because a run makes millions of objects that live and next to no cycles.

With Python's own thresholds a twentieth to a twelfth of a run is spent in walks that find nothing.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

RARE: Final = (50_000, 20, 100)
"""New objects after which the youngest are looked at, then each time how many such walks for the next older."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let the collector be at work less often, and as it was before afterwards."""
    before = gc.get_threshold()
    gc.set_threshold(*RARE)
    try:
        yield
    finally:
        gc.set_threshold(*before)
