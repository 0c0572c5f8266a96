"""The mutants of one run, placed in the steps of the replicas that hold them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from checker.mutants.mutant import Gated, Swap, Swaps, factory_with, name_of, original, swaps_of
from checker.mutants.registry import MUTANTS
from checker.observations import IdleMutant
from scheduler.types import Moment
from validators.execution.run import BlockRun


class PlacedMutants:
    """The mutants of one run, each in the steps of its holders, or in place for the whole run if it is the test bed's.

    Args:
        mutants: By name the replicas that hold each mutant.
        from_height: By name the first height with a mutant: it is in place while its replica executes a block of this
            height or above, and as long as the block that the replica executed last was such a block.

    Attributes:
        factories: The factory of each replica that holds a mutant.
        of_run: The context of the whole run.
    """

    def __init__(self, mutants: Mapping[str, Sequence[int]], from_height: Mapping[str, int]) -> None:
        self._holders: Final = {name: nodes for name, nodes in mutants.items() if nodes or MUTANTS[name].is_of_run}
        own = {name: nodes for name, nodes in self._holders.items() if not MUTANTS[name].is_of_run}
        nodes = sorted({node for holders in own.values() for node in holders})
        steps = {node: _swaps_with([name for name in own if node in own[name]], from_height) for node in nodes}
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


def _swaps_with(names: Sequence[str], from_height: Mapping[str, int]) -> Swaps:
    """Return the context of a replica that holds mutants, some of them from a height on."""
    if not any(name in from_height for name in names):
        return swaps_of(MUTANTS[name] for name in names)
    last_height = 0

    def open_run(run: BlockRun, *given: Any, moment: Moment, **named: Any) -> None:
        nonlocal last_height
        last_height = moment.height
        opened(run, *given, moment=moment, **named)

    def gated(name: str) -> list[Swap]:
        first, swaps = from_height.get(name, 0), MUTANTS[name].swaps()
        return [(owner, of, Gated(each, lambda: last_height >= first)) for owner, of, each in swaps] if first else swaps

    opened = original(BlockRun, "__init__")
    return Swaps([swap for name in names for swap in gated(name)], notes=[(BlockRun, "__init__", open_run)])
