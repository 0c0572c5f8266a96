"""The policy `bias-auction` of a drawn chain: bids near each other, short windows of lambda, and every payment rule."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cluster.swarm.life import AGENT_CYCLES, CHEAPEST_AGENT, NEEDS, ceiling_of, cycles_of
from cluster.swarm.policies.policy import QUOTING, draw_calendar, draw_parameters
from faults.kinds.drawing import Plain
from network.draw import Draw

_PARAMETERS: Final[Mapping[str, Sequence[Any]]] = {
    # From a bias that hardly counts to a bias that outgrows the lowest bids within a few blocks.
    "bias_lambda": (20_000, 100_000, 300_000, 1_000_000),
    "reserve": (10, 10, 0, 500),
    "max_fires_per_block": (256, 256, 256, 3),
    "max_fires_per_actor": (32, 2, 1),
    "payment": ("vcg-literal", "vcg-critical", "first-price"),
    "lambda_window_blocks": (3, 4, 6, 0),
    "value_decay": ((1, 1), (1, 4), (5, 1)),
    "target_wait": (1, 2, 100),
    "lambda_min": (1_000, 20_000),
    "lambda_max": (1_000_000, 2_000_000),
    # The first two are the exact cycles that an agent of the workloads uses.
    "gba_call_cycles": (250, 750, 3_000),
}

_GOVERNED_LAMBDAS: Final = (50_000, 600_000)

CHANGES: Final[Mapping[str, Sequence[Any]]] = {
    "system:bias:bias_lambda": _GOVERNED_LAMBDAS,
    "system:bias:reserve": (1, 900),
    "system:bias:max_fires_per_actor": (1, 5),
    "system:bias:payment": ("vcg-literal", "vcg-critical", "first-price"),
    "system:bias:lambda_window_blocks": (0, 2),
    "system:bias:value_decay": ([1, 3], [4, 1]),
    "system:bias:target_wait": (1, 3),
    "system:bias:max_fires_per_block": (2, 256),
    "system:bias:max_triggers_per_block": (1, 1_000),
}
"""Parameters that a council may change by key, and their values."""

BIDS: Final = (0, 12, 40, 700, 4_000, 90_001)
"""Bids of a workload's timers, in units; 0 is no bid."""

GAS_LIMITS: Final = (2_000, 3_000, 4_400)
"""Limits of fires in a narrow lane, in cycles: some do not fit behind other fires."""

NARROW_LANE_CYCLES: Final = 12_000
"""Lanes below this are narrow: fires of a few limits compete for them."""

TIMERS: Final[Mapping[str, Sequence[Any]]] = {"lane_timer_cycles": (9_000, 11_500, 24_500, 47_500, 47_500, 150_000)}
"""Lanes that leave room behind the largest fires: timers without a bid use this room."""

SPARE_CYCLES: Final = (0, 0, 450)
"""Cycles beyond its need of a fire that bids nothing; with more it would never fit beside bidding fires."""

DRAINED_PERCENT: Final = 50
"""Percentage of the storms that are small enough for other timers to fire behind them."""

DRAINED_BLOCKS: Final = 5
"""Blocks that fire all timers of such a storm."""

TIMERS_MIN: Final = 10
"""Timers of each actor of a storm, some of which owners and a council cancel and extend."""

MIN_TTL_SLOTS: Final = 4
"""Lives of timers whose payers run out of funds."""

_UNUSED: Final = ("max_fee", "tips", "tier", "bid", "agent")


def draw_bias(draw: Draw) -> Plain:
    """Return the activation, the calendar and the parameters of a chain with this policy."""
    height = draw.one_of("bias.activation", (1, 1, 4))
    previous = draw.one_of("bias.previous", ("fifo", "fifo-free")) if height > 1 else "fifo"
    own = draw_parameters(draw, "bias", _PARAMETERS)
    # Limits that the loop reaches within a run, with room for a council's changes.
    near: dict[str, int] = {
        "lambda_min": min(own["bias_lambda"], *_GOVERNED_LAMBDAS),
        "lambda_max": max(own["bias_lambda"], *_GOVERNED_LAMBDAS),
    }
    if limit := draw.one_of("bias.near_limit", ("", *near)):
        own[limit] = near[limit]
    return {
        "activation": {"height": height, "previous": previous},
        "calendar": draw_calendar(draw, (3, 4, 3_600)),
        "policy_parameters": own,
    }


def fit_to_bias(draw: Draw, name: str, workload: Plain, chain: Plain) -> Plain:
    """Return a workload that bids in units, itself or by an agent; the lane's fees mean nothing here."""
    if workload["kind"] not in QUOTING:
        return _slim(draw, name, workload, chain)
    fitted = {key: value for key, value in workload.items() if key not in _UNUSED}
    if chain["timers"]["lane_timer_cycles"] < NARROW_LANE_CYCLES:
        fitted["gas_limit"] = draw.one_of(f"{name}.narrow_gas_limit", GAS_LIMITS)
    asking = _ask(fitted, workload.get("agent", ""), chain)
    if asking is not None:
        return asking
    if fitted["kind"] == "storm" and draw.chance(f"{name}.is_drained", DRAINED_PERCENT):
        fits = DRAINED_BLOCKS * max(1, chain["timers"]["lane_timer_cycles"] // fitted["gas_limit"])
        fitted["timers_per_actor"] = min(
            fitted.get("timers_per_actor", fits), max(TIMERS_MIN, fits // fitted["actors"])
        )
    bid = draw.one_of(f"{name}.units", BIDS)
    if bid:
        fitted["bid"] = max(bid, chain["policy_parameters"]["reserve"])
    return _fund(draw, name, fitted, chain) if fitted["kind"] == "storm" else fitted


def _slim(draw: Draw, name: str, workload: Plain, chain: Plain) -> Plain:
    """Return a workload that cannot bid, with little more gas than it needs."""
    if workload["kind"] not in NEEDS:
        return workload
    cycles = cycles_of(workload["kind"], chain) + draw.one_of(f"{name}.spare_cycles", SPARE_CYCLES)
    return {**workload, "gas_limit": min(workload["gas_limit"], cycles)}


def _ask(fitted: Plain, agent: str, chain: Plain) -> Plain | None:
    """Return heartbeats whose agent bids; None if it would fail, or leave too little for the rest of the call."""
    if fitted["kind"] != "heartbeats" or agent not in AGENT_CYCLES:
        return None
    call_cycles = chain["policy_parameters"]["gba_call_cycles"]
    # The call that schedules pays for asking the agent: the call of the first timer, and each fire.
    gas_limit = max(fitted.get("gas_limit", 0), NEEDS["heartbeats"].cycles + 150 + call_cycles)
    if gas_limit > ceiling_of(chain):
        return None
    able = agent if AGENT_CYCLES[agent] <= call_cycles else CHEAPEST_AGENT
    return {**fitted, "agent": able, "gas_limit": gas_limit}


def _fund(draw: Draw, name: str, storm: Plain, chain: Plain) -> Plain:
    """Return a storm whose bids can be locked: an actor without units has its whole order refused."""
    if "bid" not in storm:
        return storm
    if storm["unfunded_actors"] and draw.chance(f"{name}.is_without_bid", 50):
        return {key: value for key, value in storm.items() if key != "bid"}
    storm = {**storm, "unfunded_actors": 0}
    if "cancel_ms" not in storm and draw.chance(f"{name}.is_emptied", 70):
        # Emptied just before the timers are due; they live long enough, and their bids let them fire.
        withdraw_ms = max(storm["first_slot"] * chain["slot_ms"] - 1_200, 1_500)
        storm |= {"withdraw_ms": withdraw_ms, "ttl_slots": max(storm["ttl_slots"], MIN_TTL_SLOTS), "bid": max(BIDS)}
    return storm
