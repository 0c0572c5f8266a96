"""The mutants: known-bad versions of a validator's code. The checks are worth as much as the mutants that they kill.

One file an area, one decorated function a mutant (docs/extend/mutant.md). Only the mistakes and the settings under
which they show belong here: the campaign that searches for them is in cluster/campaign, and no production code knows of
any mutant.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from checker.checks.observations import IdleMutant
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
from checker.mutants.mutant import MissingTargetError, Mutant, factory_with, name_of, swaps_of

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


class PlacedMutants:
    """The mutants of one run, each in the steps of its holders, or in place for the whole run if it is the test bed's.

    Args:
        mutants: By name the replicas that hold each mutant.

    Attributes:
        factories: The factory of each replica that holds a mutant.
        of_run: The context of the whole run.
    """

    def __init__(self, mutants: Mapping[str, Sequence[int]]) -> None:
        self._holders: Final = {name: nodes for name, nodes in mutants.items() if nodes or CATALOGUE[name].is_of_run}
        own = {name: nodes for name, nodes in self._holders.items() if not CATALOGUE[name].is_of_run}
        nodes = sorted({node for holders in own.values() for node in holders})
        steps = {node: swaps_of(CATALOGUE[name] for name in own if node in own[name]) for node in nodes}
        self.factories: Final = {node: factory_with(swaps) for node, swaps in steps.items()}
        self.of_run: Final = swaps_of(CATALOGUE[name] for name in self._holders if name not in own)
        self._placed: Final = (self.of_run, *steps.values())

    def idle(self) -> tuple[IdleMutant, ...]:
        """Return all mutants if none of their replacements has been called; nothing if one was, or may have been."""
        if any(swaps.is_called for swaps in self._placed):
            return ()
        found = ((CATALOGUE[name], tuple(nodes)) for name, nodes in self._holders.items())
        return tuple(
            IdleMutant(each.name, tuple(name_of(*target) for target in each.targets), () if each.is_of_run else holders)
            for each, holders in found
        )


__all__ = ["CATALOGUE", "MUTANTS", "MissingTargetError", "Mutant", "PlacedMutants"]
