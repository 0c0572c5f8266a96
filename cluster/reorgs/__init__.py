"""Reorgs of any depth without a network: a fork of a scenario's chain, led to one state along every road.

Enters: the scenario, its clients, and the engine that executes its blocks. Does not enter: consensus, the bus, faults;
whether validators come to such a fork is the business of runs.
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
