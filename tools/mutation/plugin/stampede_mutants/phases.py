"""Mutants that leave a phase of a block out, each now and then: as after a budget that is said to be used up."""

from functools import partial
from typing import Any, Final

from checker.mutants.mutant import mutant
from scheduler.types import PhaseResult
from validators.execution.run import BlockRun

EVERY: Final = 3
"""A phase is left out in the blocks whose height is a multiple of this."""

IN_LANE: Final = ('chain.policy="eip1559"', "chain.activation.height=1")


def _have_no_result(run: Any) -> None:
    run.result = PhaseResult(waiting_live=0, waiting_dead=0)


_skipping = partial(
    mutant, area="execution", kills=("phases", "timer-delivery", "oracle"), cause="execution", on_all=True
)


def _now_and_then(step: Any, instead: Any = lambda _run: None) -> Any:
    """Return a step of a block's run that is left out in some blocks; `instead` does what no block can be without."""

    def step_or_not(self: Any, *arguments: Any) -> None:
        if self._moment.height % EVERY:
            step(self, *arguments)
        else:
            instead(self)

    return step_or_not


@_skipping((BlockRun, "_promote"), needs=IN_LANE)
def promotion_skipped(step: Any) -> Any:
    """Every third block begins no epoch."""
    return _now_and_then(step)


@_skipping((BlockRun, "_take_transactions"))
def transactions_skipped(step: Any) -> Any:
    """Every third block takes no transactions."""
    return _now_and_then(step)


@_skipping((BlockRun, "_run_timers"))
def timers_skipped(step: Any) -> Any:
    """Every third block has no timer phase."""
    return _now_and_then(step, _have_no_result)


@_skipping((BlockRun, "_serve_mailbox"))
def mailbox_skipped(step: Any) -> Any:
    """Every third block serves no mailbox."""
    return _now_and_then(step)


@_skipping((BlockRun, "_move_prices"))
def prices_skipped(step: Any) -> Any:
    """Every third block leaves the basefees where they were."""
    return _now_and_then(step)


@_skipping((BlockRun, "_book_burns"))
def burns_skipped(step: Any) -> Any:
    """Every third block does not add what it burned to the total."""
    return _now_and_then(step)


@_skipping((BlockRun, "_close_tiers"))
def tiers_skipped(step: Any) -> Any:
    """Every third block leaves the heights with timers as its parent had them."""
    return _now_and_then(step)
