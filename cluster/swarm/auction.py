"""The policy `gba-auction` of a drawn chain: short epochs, so that weights roll over, and every reading of it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from faults.kinds.drawing import Plain
from network.draw import Draw

AUCTION: Final = "gba-auction"

AUCTION_PERCENT: Final = 14
"""Percentage of drawn scenarios without a script whose policy it is."""

_PARAMETERS: Final[Mapping[str, Sequence[Any]]] = {
    "ema_lambda": ((1, 5), (1, 2), (1, 1)),
    "starvation_floor": ((4, 5), (3, 2)),
    "starvation_deferrals": (1, 3),
    "reset_epoch": (0, 0, 3),
    "rescale_epoch": (0, 0, 2),
    "rescale": ((1, 2), (3, 1)),
    # Just what an agent of the workloads uses, and less than that.
    "gba_call_cycles": (10_000, 10_000, 750, 250),
    "max_gba_calls_per_block": (1_000, 20, 5),
    "effective_tip": ("bid", "intro"),
    "budget": ("hard", "literal"),
    "timer_phase": ("after", "before"),
    "tie_break": ("id", "append"),
}

_WEIGHTS: Final = (((1, 2), (2, 1)), ((1, 2), (5, 3)), ((1, 1), (1, 1)))
"""The least and the greatest weight."""


def draw_auction(draw: Draw) -> Plain:
    """Return the activation, the calendar and the parameters of a chain with this policy."""
    weight_min, weight_max = draw.one_of("auction.weights", _WEIGHTS)
    own = {name: draw.one_of(f"auction.{name}", values) for name, values in _PARAMETERS.items()}
    if own["starvation_floor"][0] * weight_max[1] > weight_max[0] * own["starvation_floor"][1]:
        own["starvation_floor"] = weight_max
    height = draw.one_of("auction.activation", (1, 1, 4))
    # After the lane there are timers with fees of their own, which hold.
    previous = draw.one_of("auction.previous", ("fifo", "eip1559", "eip1559")) if height > 1 else "fifo"
    return {
        "activation": {"height": height, "previous": previous},
        "calendar": draw_calendar(draw, (2, 3, 4)),
        "policy_parameters": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in {**own, "weight_min": weight_min, "weight_max": weight_max}.items()
        },
    }


def draw_calendar(draw: Draw, lengths: Sequence[int]) -> Plain:
    """Return the sizes of the tiers, with one of these lengths of an epoch."""
    # The purposes of these draws are as old as the seeds.
    return {
        "ring_size": draw.one_of("lane.ring_size", (2, 4, 4_096)),
        "epoch_length": draw.one_of("lane.epoch_length", lengths),
        "epoch_horizon": draw.one_of("lane.epoch_horizon", (0, 1, 24)),
    }
