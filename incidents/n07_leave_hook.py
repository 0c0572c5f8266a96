"""The fault of n07: a hook that runs for the first time long after its activation panics."""

from typing import Any

from scheduler.tally import Tally
from stampede_testbed.plugin.mutants import mutant


@mutant((Tally, "destroy"), area="scheduler", kills=("finality-regained",), on_all=True)
def leaving_panics(_original: Any) -> Any:
    """A validator stops at the first timer that leaves without a fire."""

    def destroy(_self: Any, timer: Any, *_amounts: int) -> None:
        raise AssertionError(f"timer {timer.timer_id.hex()} leaves, and nobody expects it")

    return destroy
