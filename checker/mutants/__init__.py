"""Known-bad variants of a validator's code, by name; what the checks are worth is how many of them they catch."""

from collections.abc import Mapping, Sequence
from typing import Final

from checker.mutants.clocks import CLOCKS
from checker.mutants.consensus import CONSENSUS
from checker.mutants.edges import EDGES
from checker.mutants.execution import EXECUTION
from checker.mutants.lane import LANE
from checker.mutants.mutant import Variant, plant
from checker.mutants.network import NETWORK
from checker.mutants.phases import PHASES
from checker.mutants.scheduler import SCHEDULER
from checker.mutants.state import STATE
from checker.mutants.storage import STORAGE
from checker.mutants.trusting import TRUSTING
from checker.mutants.unshared import UNSHARED
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
