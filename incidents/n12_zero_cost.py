"""The fault of n12: a validator takes it for granted that a call has a cost."""

from typing import Any

from scheduler.policies import fifo
from stampede_testbed.plugin.mutants import mutant


@mutant((fifo, "max_cost"), area="scheduler", kills=("finality-regained",), on_all=True)
def cost_is_never_nought(max_cost: Any) -> Any:
    """A validator stops at a timer whose gas limit is 0."""

    def cost_above_nought(timer: Any, config: Any, basefees: Any, *rest: Any) -> Any:
        assert timer.gas_limit > 0, f"timer {timer.timer_id.hex()} has the estimated cost 0"
        return max_cost(timer, config, basefees, *rest)

    return cost_above_nought
