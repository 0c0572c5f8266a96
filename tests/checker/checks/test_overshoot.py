"""The budgets check where the last fire of a block may go over the budget: all the others still may not."""

from types import SimpleNamespace

import pytest

from checker.checks.budgets import Budgets
from scheduler import Guarantees, TimerConfig, TimerFired
from validators.execution.receipts import TimerReceipt
from validators.execution.summary import BlockSummary


def found(cycles, *, overshoots):
    """Return what the check says of a block whose fires used these cycles of a lane of 1,000."""
    fires = [TimerFired(bytes(32), bytes(20), 1, True, used, 0, 0, 0) for used in cycles]
    counts = dict.fromkeys(BlockSummary.__struct_fields__, 0)
    summary = BlockSummary(**counts | {"lane_cycles": sum(cycles), "fired": len(cycles)})
    block = SimpleNamespace(
        height=3,
        receipts=[TimerReceipt(fire) for fire in fires],
        events=lambda: fires,
        summary=summary,
        config=TimerConfig(lane_timer_cycles=1_000),
        lane_cycles_max=1_000,
        guarantees=Guarantees(overshoots=overshoots),
    )
    check = Budgets(SimpleNamespace(rules=SimpleNamespace(block_cycles=10, block_cells=10)))
    check.settle(block)
    return check.finish().status


@pytest.mark.parametrize(
    ("cycles", "overshoots", "status"),
    [
        ((600, 600), False, "failed"),
        ((600, 600), True, "passed"),
        ((600, 400, 600), True, "passed"),
        ((600, 401, 1), True, "failed"),
    ],
)
def test_only_the_last_fire_may_go_over_the_budget(cycles, overshoots, status):
    assert found(cycles, overshoots=overshoots) == status
