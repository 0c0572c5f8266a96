"""The consensus engines that a chain can run, by the name that a scenario gives them."""

from collections.abc import Mapping
from typing import Final

from validators.consensus.hotstuff.kind import HOTSTUFF
from validators.consensus.kind import EngineKind
from validators.consensus.longest_chain.kind import LONGEST_CHAIN
from validators.consensus.simplex.kind import SIMPLEX

ENGINES: Final[Mapping[str, EngineKind]] = {kind.name: kind for kind in (SIMPLEX, HOTSTUFF, LONGEST_CHAIN)}
"""Every engine, in the order in which they are listed."""
