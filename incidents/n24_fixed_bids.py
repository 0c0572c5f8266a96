"""The fault of n24: the weight that raises starved actors is not applied."""

from typing import Any

from scheduler.fairness import Weights
from stampede_testbed.plugin.mutants import mutant


@mutant((Weights, "numerator"), area="scheduler", kills=("oracle",), cause="order", on_all=True)
def starved_are_not_raised(_original: Any) -> Any:
    """Every actor has the greatest weight, however often it has fired."""
    return lambda self, _subject: self.high
