"""Checks that drawn workloads can live: a workload that would die at its first fire, or never begin, is changed.

A workload that cannot live at all is left out: a seed that draws a workload without effect tells nothing about it and
passes. So limits, budgets and prices are compared before the run: a fire's need with the chain's cap, an agent's work
with its budget, a greatest fee with the lane's first price. Later changes to a workload, such as a governor's, are not
looked at.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from faults.kinds.drawing import Plain
from scheduler import MIN_BASEFEE, LaneConfig, TimerConfig
from scheduler.policies.fifo_free import FreeConfig

SCHEDULE_CYCLES: Final = TimerConfig().schedule_cycles
"""The price of scheduling for which `NEEDS` holds."""


class Need(NamedTuple):
    """The cycles and cells that a fire of a program takes where scheduling costs the default."""

    cycles: int
    cells: int


NEEDS: Final[Mapping[str, Need]] = {
    "heartbeats": Need(700, 330),
    "oracle-feeds": Need(900, 317),
    "subscriptions": Need(2_050, 1_272),
    "liquidations": Need(3_650, 328),
    "games": Need(16_700, 15_301),
}
"""The most that a fire takes, by kind, for kinds whose actors schedule themselves again, as the swarm draws them."""

AGENT_CYCLES: Final[Mapping[str, int]] = {"calm": 750, "alarmed": 750, "desperate": 750, "sum": 250, "low": 250}
"""The cycles of each agent that is meant to answer; the other agents fail on purpose."""

CHEAPEST_AGENT: Final = "sum"

FEED_AGENT_CYCLES: Final = 800
"""The cycles of an agent that reads a feed's published value."""

FREE: Final = FreeConfig()

GAME_PLAYERS: Final = 4
GAME_CYCLES: Final = 3_000
"""Players of a game for which no number was drawn, and the cycles of a message to each player."""

GAS_LIMIT: Final = 20_000
"""The gas limit of a workload for which none was drawn."""


def mend(workload: Plain, chain: Plain) -> Plain | None:
    """Return a drawn workload changed so that it can live on its chain; None where it cannot."""
    need = NEEDS.get(workload["kind"])
    timers = chain["timers"]
    if need is not None:
        cycles = cycles_of(workload["kind"], chain)
        gas_limit = min(max(workload.get("gas_limit", GAS_LIMIT), cycles), ceiling_of(chain))
        if gas_limit < cycles or timers["max_cells_per_fire"] < need.cells:
            return None
        workload = {**workload, "gas_limit": gas_limit}
    if workload["kind"] == "games":
        workload = _mend_game(workload, chain)
    return _mend_offer(workload, chain) if "lane" in chain else workload


def _mend_game(games: Plain, chain: Plain) -> Plain:
    """Return games whose ticks send no more than a fire of `fifo-free` may, where the chain has that policy."""
    if "fifo-free" not in (chain.get("policy"), chain.get("activation", {}).get("previous")):
        return games
    # Only the last policy of a chain states parameters.
    own = chain.get("policy_parameters", {}) if chain.get("policy") == "fifo-free" else {}
    most = own.get("deferred_calls_per_fire_max", FREE.deferred_calls_per_fire_max)
    cycles = own.get("deferred_call_cycles_max", FREE.deferred_call_cycles_max)
    absent = min(games.get("absent_players", 0), most - 1)
    bounded = {**games, "players": min(games.get("players", GAME_PLAYERS), most - absent), "absent_players": absent}
    return bounded if cycles >= GAME_CYCLES else {**bounded, "message_cycles": cycles}


def cycles_of(kind: str, chain: Plain) -> int:
    """Return the most cycles that a fire of a kind of workload takes on a drawn chain."""
    return NEEDS[kind].cycles + max(0, int(chain["timers"]["schedule_cycles"]) - SCHEDULE_CYCLES)


def may_be_precise(chain: Plain) -> bool:
    """Return whether a heartbeat takes exactly the cycles of `cycles_of`, with room for them and for its cells."""
    timers, need = chain["timers"], NEEDS["heartbeats"]
    # A queue takes gas for cells as well; a lower price of scheduling takes less than the most.
    has_room = timers["max_cells_per_fire"] >= need.cells and ceiling_of(chain) >= cycles_of("heartbeats", chain)
    return has_room and chain["policy"] != "aptos" and timers["schedule_cycles"] >= SCHEDULE_CYCLES


def _mend_offer(workload: Plain, chain: Plain) -> Plain:
    """Return a workload whose offer the lane admits from its first block on."""
    lane, offer = chain["lane"], dict(workload)
    if AGENT_CYCLES.get(offer.get("agent", ""), 0) > lane["gba_call_cycles"]:
        offer["agent"] = CHEAPEST_AGENT
    if chain["activation"]["height"] == 1:
        if not lane["bid_deprecation_blocks"]:
            offer.pop("bid", None)
        if "max_fee" in offer:
            # A fee equal to the price leaves no room for a tip: the least admitted tip is offered.
            offer["max_fee"] = max(offer["max_fee"], opening_price(chain))
    return offer


def ceiling_of(chain: Plain) -> int:
    """Return the greatest gas limit that a timer of a drawn chain may state, in cycles."""
    timers = chain["timers"]
    caps = (LaneConfig().max_cycles_per_fire_auction_phase,) if "lane" in chain else ()
    return int(min(timers["max_cycles_per_fire"], timers["lane_timer_cycles"], *caps))


def opening_price(chain: Plain) -> int:
    """Return the lane's cycle price in its first block, in units, where this is also the chain's first block."""
    lane: Mapping[str, Any] = chain["lane"]
    if lane.get("settlement") == "intro":
        return int(chain["cycle_basefee"])
    over, under = lane["lane_multiplier"]
    return int((lane["initial_lane_basefee"] or chain["cycle_basefee"]) * over // under)


def may_be_exact(chain: Plain) -> bool:
    """Return whether the cost of a fire in a quiet block follows from the floors of the chain's prices."""
    at_floor = chain["min_basefee"] == MIN_BASEFEE and chain["policy"] not in {"fifo-free", "gba-auction", "aptos"}
    return at_floor and ("lane" not in chain or chain["lane"]["min_lane_basefee"] == MIN_BASEFEE)


def exact_cost(chain: Plain, gas_limit: int) -> int:
    """Return the greatest cost of a fire at default fees without a tip, in units, with all prices at their floors."""
    price = chain["min_basefee"]
    if "lane" in chain and chain["lane"]["settlement"] == "additive":
        over, under = chain["lane"]["lane_multiplier"]
        price += chain["lane"]["min_lane_basefee"] * over // under
    return int(gas_limit * price + chain["timers"]["max_cells_per_fire"] * chain["min_basefee"])
