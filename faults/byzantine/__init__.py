"""Adversaries: the behaviours of Byzantine validators, and the port that puts them between a validator and the bus.

A behaviour enters as a class of its own that `catalogue` names. What only an engine knows, such as its votes and who
leads a view, stands in that engine's modules (`simplex`), restated, behind `engine_votes` and `registry`; code that a
correct validator runs may not enter.
"""

from faults.byzantine.adversary import Adversary, Behaviour
from faults.byzantine.port import ByzantinePort

__all__ = ["Adversary", "Behaviour", "ByzantinePort"]
