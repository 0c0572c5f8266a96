"""The consensus engine of drawn scenarios: the one that a scenario has by default."""

from typing import Final

from cluster.scenario.model import ConsensusSection

ENGINE: Final[str] = ConsensusSection().engine
