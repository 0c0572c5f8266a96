"""The fault of n17: the rule before a silent change, which differs for calls that run out of gas alone."""

from typing import Any

from scheduler import tally
from stampede_testbed.plugin.mutants import mutant


@mutant((tally, "settle"), area="scheduler", kills=("equal-roots", "oracle"), cause="execution")
def old_refund_of_spent_calls(settle: Any) -> Any:
    """A fire that uses up its gas pays one unit more than by the new rule."""

    def settle_by_the_old_rule(timer: Any, *, ledger: Any, **rest: Any) -> Any:
        settled = settle(timer, ledger=ledger, **rest)
        if settled.outcome.cycles == timer.gas_limit:
            ledger.charge(timer.fee_payer, 1)
            ledger.burn(1)
        return settled

    return settle_by_the_old_rule
