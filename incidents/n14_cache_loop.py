"""The fault of n14: the new version never ends with a block that the old version has built."""

from typing import Any, Final

from stampede_testbed.plugin.mutants import mutant
from validators.application import Application

OLD: Final = (9, 10)
"""The validators with the old version, leaders one after the other."""

FOR_EVER_US: Final = 3_600_000_000
"""An hour of virtual work: longer than any run here."""


@mutant((Application, "_execution_cost"), area="execution", kills=("finality-regained",))
def loops_on_blocks_of_the_old(cost_of: Any) -> Any:
    """Executing a block of the old version does not end."""

    def cost_or_loop(self: Any, outcome: Any) -> Any:
        cost = cost_of(self, outcome)
        header = getattr(outcome, "header", None)
        is_old = header is not None and header.proposer in OLD
        return FOR_EVER_US if is_old else cost

    return cost_or_loop
