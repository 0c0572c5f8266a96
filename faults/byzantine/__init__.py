"""Adversaries: the behaviours of Byzantine validators, and the port that puts them between a validator and the bus.

Each behaviour is a class that `catalogue` names. The votes and leaders of an engine are restated in that engine's
modules (`simplex`), behind `engine_votes` and `registry`. This package imports no consensus code of correct validators.
"""

from faults.byzantine.adversary import Adversary, Behaviour
from faults.byzantine.port import ByzantinePort

__all__ = ["Adversary", "Behaviour", "ByzantinePort"]
