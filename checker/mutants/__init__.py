"""The mutants: known-bad versions of a validator's code. The checks are worth as much as the mutants that they kill.

One file an area, one decorated function a mutant (docs/extend/mutant.md). Only the mistakes and the settings under
which they show belong here: the campaign that searches for them is in cluster/campaign, and no production code knows of
any mutant.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from checker.mutants import (
    bed,
    bids,
    clocks,
    consensus,
    costly,
    edges,
    execution,
    gba_auction,
    growing,
    guards,
    hotstuff,
    lane,
    longest_chain,
    network,
    phases,
    scheduled,
    scheduler,
    state,
    storage,
    trusting,
    unshared,
)
from checker.mutants.mutant import MissingTargetError, Mutant, Swaps, validator_with
from validators.settings import ValidatorFactory

_FILES: Final = (
    *(scheduler, lane, gba_auction, edges, execution, phases, state),
    *(
        consensus,
        hotstuff,
        longest_chain,
        clocks,
        storage,
        network,
        trusting,
        unshared,
        costly,
        growing,
        guards,
        bed,
        bids,
    ),
    scheduled,
)

MUTANTS: Final = tuple(each for file in _FILES for each in vars(file).values() if isinstance(each, Mutant))
"""Every mutant, in the order of the files and within each as it is written."""

CATALOGUE: Final[Mapping[str, Mutant]] = {mutant.name: mutant for mutant in MUTANTS}
"""Every mutant by its name."""


def factories_of(mutants: Mapping[str, Sequence[int]]) -> dict[int, ValidatorFactory]:
    """Return the factory of each validator that has mutants; `mutants` maps their names to validators."""
    own = {name: nodes for name, nodes in mutants.items() if not CATALOGUE[name].is_of_run}
    nodes = sorted({node for validators in own.values() for node in validators})
    return {node: validator_with([CATALOGUE[name] for name in own if node in own[name]]) for node in nodes}


def swaps_of_run(mutants: Iterable[str]) -> Swaps:
    """Return the context of a whole run: those of its mutants that are the test bed's."""
    return Swaps([swap for name in mutants if CATALOGUE[name].is_of_run for swap in CATALOGUE[name].swaps()])


__all__ = ["CATALOGUE", "MUTANTS", "MissingTargetError", "Mutant", "factories_of", "swaps_of_run"]
