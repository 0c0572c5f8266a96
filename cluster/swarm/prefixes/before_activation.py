"""The block before a policy is activated, with a backlog that the new policy takes over."""

from typing import Final

from cluster.swarm.prefixes.prefix import ROOMY, ROOMY_TIMERS, Prefix
from network.draw import Draw

NAME: Final = "before-activation"


def before_activation(draw: Draw, _validators: int) -> Prefix:
    """Return the script: a narrow lane, more timers than it serves, and the activation one or two blocks ahead."""
    height = draw.between(f"{NAME}.height", 9, 13)
    backlog = {
        "kind": "storm",
        "actors": 3,
        "timers_per_actor": draw.between(f"{NAME}.timers_per_actor", 20, 40),
        "timers_per_transaction": 30,
        "first_slot": 6,
        "spread_slots": draw.one_of(f"{NAME}.spread_slots", (1, 8)),
        "ttl_slots": draw.one_of(f"{NAME}.ttl_slots", (3, 80)),
        "start_ms": 1_000,
    }
    chain = {
        **ROOMY,
        "policy": "eip1559",
        "activation": {"height": height},
        "timers": ROOMY_TIMERS,
    }
    nth = height - draw.between(f"{NAME}.ahead", 1, 2)
    arrival = {"event": "finalized", "nth": nth, "by_ms": 60_000}
    return Prefix(arrival, {"storm": backlog}, settings={"chain": chain})
