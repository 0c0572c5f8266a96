"""An epoch boundary within a storm: heights are promoted while dead timers of other heights wait."""

from typing import Final

from cluster.swarm.prefixes.prefix import Prefix, storm_after_outage
from network.draw import Draw

NAME: Final = "epoch-in-storm"


def epoch_in_storm(draw: Draw, validators: int) -> Prefix:
    """Return the script: an outage, and timers so far ahead that they wait in the tree when the power is back."""
    storm = storm_after_outage(draw, NAME, validators)
    far = {
        "kind": "storm",
        "actors": 2,
        "timers_per_actor": 40,
        "first_slot": draw.between(f"{NAME}.first_slot", 20, 24),
        "spread_slots": 30,
        "ttl_slots": draw.one_of(f"{NAME}.ttl_slots", (3, 100)),
        "start_ms": 1_500,
    }
    sizes = {"ring_size": 2, "epoch_length": draw.between(f"{NAME}.epoch_length", 3, 5), "epoch_horizon": 1}
    chain = {**storm.settings["chain"], "policy": "eip1559", "activation": {"height": 1}, "calendar": sizes}
    return storm._replace(
        arrival={**storm.arrival, "event": "epoch", "after": "storm"},
        workload={**storm.workload, "distant-timers": far},
        settings={"chain": chain},
    )
