"""Adversaries: the behaviours of Byzantine validators, and the port that puts them between a validator and the bus.

A behaviour enters as a class of its own that `catalogue` names. What only an engine knows, such as who leads a view,
stands here, restated; code that a correct validator runs may not enter.
"""

from faults.byzantine.adversary import Adversary, Behaviour
from faults.byzantine.catalogue import BEHAVIOURS
from faults.byzantine.port import ByzantinePort

__all__ = ["BEHAVIOURS", "Adversary", "Behaviour", "ByzantinePort"]
