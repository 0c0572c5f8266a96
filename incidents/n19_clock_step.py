"""The fault of n19: a validator takes the time that others tell, however far it is from its own clock."""

from typing import Any

from stampede_testbed.plugin.mutants import mutant
from validators.header_rules import HeaderRules


@mutant((HeaderRules, "find_fault"), area="consensus", kills=("block-times", "finality-regained"))
def believes_any_time(find_fault: Any) -> Any:
    """A validator holds the time of a proposed block against that time itself and not against its own clock."""

    def find_believing(self: Any, goal: Any, header: Any) -> Any:
        own_clock = self._wall_us
        self._wall_us = lambda: header.timestamp_ms * 1_000
        fault = find_fault(self, goal, header)
        self._wall_us = own_clock
        return fault

    return find_believing
