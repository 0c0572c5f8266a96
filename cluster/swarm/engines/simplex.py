"""The engine `simplex` of drawn scenarios, in whose words all faults are drawn."""

from typing import Final

from cluster.swarm.engines.engine import DrawnEngine
from validators.consensus.simplex.kind import SIMPLEX

DRAWN_SIMPLEX: Final = DrawnEngine(SIMPLEX.name)
