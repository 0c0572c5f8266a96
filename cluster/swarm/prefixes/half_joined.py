"""A joiner that has some pieces of a peer's snapshot and lacks the rest."""

from typing import Final

from cluster.swarm.prefixes.prefix import ROOMY, ROOMY_TIMERS, Prefix
from network.draw import Draw

NAME: Final = "half-joined"


def half_joined(draw: Draw, validators: int) -> Prefix:
    """Return the script: one validator is away until it has to join, by pieces so small that there are several."""
    node = draw.between(f"{NAME}.validator", 0, validators - 1)
    back_ms = draw.between(f"{NAME}.back_ms", 11_000, 14_000)
    pending = {
        "kind": "storm",
        "actors": 3,
        "timers_per_actor": draw.between(f"{NAME}.timers_per_actor", 30, 60),
        "timers_per_transaction": 30,
        "first_slot": draw.one_of(f"{NAME}.first_slot", (12, 30)),
        "spread_slots": 10,
        "ttl_slots": 100,
        "start_ms": 500,
    }
    away = draw.one_of(f"{NAME}.kind", ("crash", "wipe"))
    chunk_bytes = draw.one_of(f"{NAME}.chunk_bytes", (4_000, 12_000))
    return Prefix(
        {
            "event": "snapshot-part",
            "of": node,
            # Larger pieces do not always number more than two.
            "nth": draw.between(f"{NAME}.nth", 1, 3 if chunk_bytes == 4_000 else 2),
            "from_ms": back_ms + 1,
            "by_ms": back_ms + 30_000,
        },
        {"storm": pending},
        {"script-absence": {"kind": away, "validator": node, "at_ms": 2_500, "restart_ms": back_ms}},
        {
            "chain": {**ROOMY, "timers": ROOMY_TIMERS},
            "sync": {"snapshot_gap_blocks": 3, "chunk_bytes": chunk_bytes},
        },
    )
