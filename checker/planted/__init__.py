"""Known-bad variants of a validator's code, by name; what the checks are worth is how many of them they catch."""

from collections.abc import Mapping, Sequence
from typing import Final

from checker.planted.clocks import CLOCKS
from checker.planted.consensus import CONSENSUS
from checker.planted.edges import EDGES
from checker.planted.execution import EXECUTION
from checker.planted.lane import LANE
from checker.planted.network import NETWORK
from checker.planted.phases import PHASES
from checker.planted.scheduler import SCHEDULER
from checker.planted.state import STATE
from checker.planted.storage import STORAGE
from checker.planted.trusting import TRUSTING
from checker.planted.unshared import UNSHARED
from checker.planted.variant import Variant, plant
from validators.settings import ValidatorFactory

VARIANTS: Final = (
    *SCHEDULER,
    *LANE,
    *EDGES,
    *EXECUTION,
    *PHASES,
    *STATE,
    *CONSENSUS,
    *CLOCKS,
    *STORAGE,
    *NETWORK,
    *TRUSTING,
    *UNSHARED,
)
"""Every variant, by area."""

CATALOGUE: Final[Mapping[str, Variant]] = {variant.name: variant for variant in VARIANTS}
"""Every variant by its name."""


def factories_of(planted: Mapping[str, Sequence[int]]) -> dict[int, ValidatorFactory]:
    """Return the factory of each validator that has variants; `planted` maps their names to validators."""
    nodes = sorted({node for validators in planted.values() for node in validators})
    return {node: plant([CATALOGUE[name] for name, held_by in planted.items() if node in held_by]) for node in nodes}


__all__ = ["CATALOGUE", "VARIANTS", "Variant", "factories_of"]
