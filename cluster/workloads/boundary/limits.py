"""Cases of the workload `boundary-cases` at exact limits: one cycle decides, or a block moves a height between tiers.

Each case tries several neighbouring values, because the exact limit depends on prices and weights that are not known in
advance.
"""

from collections.abc import Iterable
from typing import Final

from cluster.workloads.boundary.scripts import Attempt, Bench, Case, crowd_cycles, timer
from scheduler.aptos_records import AptosConfig
from validators.actors.metering import CALL_CYCLES, STORAGE_PUT_CYCLES

WEIGHED_LIMITS: Final = (*[600] * 16, *[70] * 8, *[9] * 8, *[1] * 10)
"""Gas limits, in cycles, that fill nearly any slice of a lane to its last cycle, in any order."""

NOTE_BYTES: Final = 7
NOTE_CELLS: Final = len(b"fired") + NOTE_BYTES
"""The cells of a fire that notes a payload of this length."""

LADDER_DELAYS: Final = (2, 4, 7)
"""Delays of the ladders: each height has other prices."""


def _remainders(bench: Bench) -> Iterable[Attempt]:
    """Timers of one actor that fill its slice to the last cycle: a cycle given to another actor would show."""
    for delay in (2, 3, 5):
        steps = (timer(b"w%d" % place, delay, gas=gas, ttl=20) for place, gas in enumerate(WEIGHED_LIMITS))
        yield bench.run(*steps, cycles_limit=crowd_cycles(bench, len(WEIGHED_LIMITS)))


AGAIN_DELAYS: Final = range(6, 20)
"""Delays of timers whose heights are beyond a short ring."""


def _again(bench: Bench) -> Iterable[Attempt]:
    """Heights that were beyond the ring, and are emptied and refilled in one block within its range."""
    far = [timer(b"f%d" % delay, delay, gas=2_000, ttl=20, terms=[100_000, 3]) for delay in AGAIN_DELAYS]
    yield bench.run(*far)
    for _ in range(2):
        near = [timer(b"f%d" % (delay + 5), delay, gas=2_000, ttl=20, terms=[100_000, 3]) for delay in range(3, 9)]
        cancels = [("cancel", b"f%d" % delay) for delay in AGAIN_DELAYS]
        again = [timer(b"n%d" % delay, delay, gas=2_000, ttl=20, terms=[100_000, 3]) for delay in range(9, 16)]
        yield bench.run(*cancels, *near, *again, pause_ms=4 * bench.site.slot_ms, cycles_limit=crowd_cycles(bench, 40))


def _ladder(bench: Bench) -> Iterable[Attempt]:
    """Fires whose gas pays for their cycles and a varying part of their cells: their gas is rounded up (Q-53)."""
    own = bench.site.queue or AptosConfig()
    least = own.base_gas + CALL_CYCLES + STORAGE_PUT_CYCLES
    for delay in LADDER_DELAYS:
        rungs = (timer(b"r", delay, bytes(NOTE_BYTES), gas=least + more) for more in range(NOTE_CELLS + 1))
        yield bench.run(*rungs, cycles_limit=crowd_cycles(bench, NOTE_CELLS + 1))


LIMIT_CASES: Final[tuple[Case, ...]] = (_remainders, _again, _ladder)
"""Groups of transactions at exact limits."""
