"""Reorgs of any depth without a network: a fork of a scenario's chain, led to the same state along every road.

Input: the scenario, its clients, and the engine that executes its blocks. Consensus, the bus and faults take no part;
runs show whether validators come to a fork.
"""

from cluster.reorgs.fork import Fork, ForkError, build_fork
from cluster.reorgs.roads import ROADS, RoadResult
from cluster.reorgs.table import DepthResult, ReorgPlan, measure_depths, plan_reorgs

__all__ = [
    "ROADS",
    "DepthResult",
    "Fork",
    "ForkError",
    "ReorgPlan",
    "RoadResult",
    "build_fork",
    "measure_depths",
    "plan_reorgs",
]
