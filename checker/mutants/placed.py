"""The mutants of one run, placed in the steps of the replicas that hold them."""

from collections.abc import Mapping, Sequence
from typing import Final

from checker.mutants.mutant import factory_with, name_of, swaps_of
from checker.mutants.registry import MUTANTS
from checker.observations import IdleMutant


class PlacedMutants:
    """The mutants of one run, each in the steps of its holders, or in place for the whole run if it is the test bed's.

    Args:
        mutants: By name the replicas that hold each mutant.

    Attributes:
        factories: The factory of each replica that holds a mutant.
        of_run: The context of the whole run.
    """

    def __init__(self, mutants: Mapping[str, Sequence[int]]) -> None:
        self._holders: Final = {name: nodes for name, nodes in mutants.items() if nodes or MUTANTS[name].is_of_run}
        own = {name: nodes for name, nodes in self._holders.items() if not MUTANTS[name].is_of_run}
        nodes = sorted({node for holders in own.values() for node in holders})
        steps = {node: swaps_of(MUTANTS[name] for name in own if node in own[name]) for node in nodes}
        self.factories: Final = {node: factory_with(swaps) for node, swaps in steps.items()}
        self.of_run: Final = swaps_of(MUTANTS[name] for name in self._holders if name not in own)
        self._placed: Final = (self.of_run, *steps.values())

    def idle(self) -> tuple[IdleMutant, ...]:
        """Return all mutants if none of their replacements was called, or may have been called; otherwise nothing."""
        if any(swaps.is_called for swaps in self._placed):
            return ()
        found = ((MUTANTS[name], tuple(nodes)) for name, nodes in self._holders.items())
        return tuple(
            IdleMutant(each.name, tuple(name_of(*target) for target in each.targets), () if each.is_of_run else holders)
            for each, holders in found
        )
