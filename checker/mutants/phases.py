"""Variants that leave a phase of a block out, each now and then: as after a budget that is said to be used up."""

from typing import Any, Final

from checker.mutants.mutant import Swap, Variant, swap
from scheduler.types import PhaseResult
from validators.execution.run import BlockRun

EVERY: Final = 3
"""A phase is left out in the blocks whose height is a multiple of this."""

IN_LANE: Final = ('chain.policy="eip1559"', "chain.activation.height=1")


def _leave_out(method: str, instead: Any = None) -> list[Swap]:
    """Leave one of the steps of a block's run out in some blocks; `instead` does what the others cannot be without."""

    def make(step: Any) -> Any:
        def step_or_not(self: Any, *arguments: Any) -> None:
            if self._moment.height % EVERY:
                step(self, *arguments)
            elif instead is not None:
                instead(self)

        return step_or_not

    return [swap(BlockRun, method, make)]


def _have_no_result(run: Any) -> None:
    counts = {name: 0 for name in PhaseResult.__dataclass_fields__ if name != "events"}
    run._timer_result = PhaseResult(**counts, events=())  # noqa: SLF001 - a variant may do as it likes


def _variant(name: str, what: str, method: str, instead: Any = None, *, needs: tuple[str, ...] = ()) -> Variant:
    return Variant(
        name=name,
        what=what,
        area="execution",
        caught_by=("phases", "timer-delivery", "oracle"),
        swaps=lambda: _leave_out(method, instead),
        cause="execution",
        on_all=True,
        needs=needs,
    )


PHASES: Final = (
    _variant("promotion-skipped", "every third block begins no epoch", "_promote", needs=IN_LANE),
    _variant("transactions-skipped", "every third block takes no transactions", "_take_transactions"),
    _variant("timers-skipped", "every third block has no timer phase", "_run_timers", _have_no_result),
    _variant("mailbox-skipped", "every third block serves no mailbox", "_serve_mailbox"),
    _variant("prices-skipped", "every third block leaves the basefees where they were", "_move_prices"),
    _variant("burns-skipped", "every third block does not add what it burned to the total", "_book_burns"),
    _variant(
        "tiers-skipped", "every third block leaves the heights with timers as its parent had them", "_close_tiers"
    ),
)
"""Variants without a phase."""
