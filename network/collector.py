"""Garbage collection during a run: rarer, because a run makes millions of objects that live and next to no cycles.

With Python's own thresholds a twentieth to a twelfth of a run is spent in walks that find nothing.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

RARE: Final = (50_000, 20, 100)
"""New objects before a walk of the youngest generation, then walks of each generation before a walk of the next."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Make the collector run less often, and restore its thresholds afterwards."""
    before = gc.get_threshold()
    gc.set_threshold(*RARE)
    try:
        yield
    finally:
        gc.set_threshold(*before)
