"""The policy `fifo-free` of a drawn chain: bounds of a fire's messages that the workloads' programs reach."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cluster.swarm.policies.policy import draw_parameters
from faults.kinds.drawing import Plain
from network.draw import Draw

_PARAMETERS: Final[Mapping[str, Sequence[Any]]] = {
    "deferred_calls_per_fire_max": (2, 2, 1, 6),
    # A renewal tells its merchant with 1,000 cycles, a game its players with 3,000.
    "deferred_call_cycles_max": (100_000, 3_000, 1_000),
}

CHANGES: Final[Mapping[str, Sequence[Any]]] = {
    "system:cip5:deferred_calls_per_fire_max": (0, 1, 3),
    "system:cip5:deferred_call_cycles_max": (300, 3_000, 200_000),
}
"""Parameters that a council may change by key, and their values."""


def draw_free(draw: Draw) -> Plain:
    """Return the parameters of a chain with this policy."""
    return {"policy_parameters": draw_parameters(draw, "free", _PARAMETERS)}


def fit_to_free(_draw: Draw, _name: str, workload: Plain, _chain: Plain) -> Plain:
    """Return a workload unchanged: the bounds of a fire's messages hold below an activation as well (life.py)."""
    return workload
