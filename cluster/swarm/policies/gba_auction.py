"""The policy `gba-auction` of a drawn chain: short epochs, so that weights roll over, and every reading of it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cluster.swarm.life import AGENT_CYCLES, CHEAPEST_AGENT
from cluster.swarm.policies.policy import draw_calendar
from faults.kinds.drawing import Plain
from network.draw import Draw

_PARAMETERS: Final[Mapping[str, Sequence[Any]]] = {
    "ema_lambda": ((1, 5), (1, 2), (1, 1)),
    "starvation_floor": ((4, 5), (3, 2)),
    "starvation_deferrals": (1, 3),
    "reset_epoch": (0, 0, 4),
    # After the first epochs that are scored, and before the last ones.
    "rescale_epoch": (0, 3, 5),
    "rescale": ((1, 2), (3, 1)),
    # The exact cycles that an agent of the workloads uses, and less.
    "gba_call_cycles": (10_000, 10_000, 750, 250),
    "max_gba_calls_per_block": (1_000, 20, 5),
    "effective_tip": ("bid", "intro"),
    "budget": ("hard", "literal"),
    "timer_phase": ("after", "before"),
    "tie_break": ("id", "append"),
}

CHANGES: Final[Mapping[str, Sequence[Any]]] = {
    "system:gba:ema_lambda": ([1, 3], [1, 1]),
    "system:gba:max_gba_calls_per_block": (3, 1_000),
    "system:gba:effective_tip": ("bid", "intro"),
    "system:gba:budget": ("hard", "literal"),
    "system:gba:tie_break": ("id", "append"),
    "system:gba:starvation_deferrals": (1, 2),
    # A weight that exceeded the limit before is cut when it is read.
    "system:gba:weight_max": ([3, 2],),
    "system:gba:reset_epoch": (4, 6),
    "system:gba:rescale_epoch": (3, 5),
}
"""Parameters that a council may change by key, and their values."""

_WEIGHTS: Final = (((1, 2), (2, 1)), ((1, 2), (5, 3)), ((1, 1), (1, 1)))
"""The least and the greatest weight."""


SLICED_CYCLES: Final = 12_000
"""The lane of an auction whose equal slices are whole multiples of these limits."""

SLICED_LIMITS: Final = (1_200, 1_500, 2_000, 3_000)
"""Gas limits of heartbeats in such a lane: a tenth of it, an eighth, a sixth and a quarter."""


def draw_auction(draw: Draw) -> Plain:
    """Return the activation, the calendar and the parameters of a chain with this policy."""
    weight_min, weight_max = draw.one_of("auction.weights", _WEIGHTS)
    own = {name: draw.one_of(f"auction.{name}", values) for name, values in _PARAMETERS.items()}
    if own["starvation_floor"][0] * weight_max[1] > weight_max[0] * own["starvation_floor"][1]:
        own["starvation_floor"] = weight_max
    height = draw.one_of("auction.activation", (1, 4, 4))
    # After the lane, timers still have their own fees, which hold.
    previous = draw.one_of("auction.previous", ("fifo", "eip1559", "eip1559")) if height > 1 else "fifo"
    return {
        "activation": {"height": height, "previous": previous},
        "calendar": draw_calendar(draw, (2, 3, 4)),
        "policy_parameters": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in {**own, "weight_min": weight_min, "weight_max": weight_max}.items()
        },
    }


def fit_to_auction(draw: Draw, name: str, workload: Plain, chain: Plain) -> Plain:
    """Return a workload whose timers the auction admits, and whose agent can answer within its cycles."""
    bidding = dict(workload)
    if name == "competing-heartbeats":
        # Fees that a call states mean nothing here: without an agent of their own all rivals would bid the same.
        bidding["agent"] = "sum"
    if AGENT_CYCLES.get(bidding.get("agent", ""), 0) > chain["policy_parameters"]["gba_call_cycles"]:
        bidding["agent"] = CHEAPEST_AGENT
    if chain["timers"]["lane_timer_cycles"] == SLICED_CYCLES and bidding["kind"] == "heartbeats":
        bidding["gas_limit"] = draw.one_of(f"{name}.slice", SLICED_LIMITS)
    if "payer" in bidding:
        # Only the owner pays under this policy.
        bidding["payer"] = "actor"
    if chain["activation"]["height"] == 1:
        bidding.pop("bid", None)
    return bidding
