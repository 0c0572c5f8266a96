"""A block that is verified when its view has been given up: the cell of each engine that leaves views by a timer."""

import pytest

from checker.coverage.engines import COVERED
from faults.events import Crashed
from network.events import Event
from validators.consensus.hotstuff.rules import HotStuffRule
from validators.consensus.simplex.rules import SimplexRule
from validators.events import BlockExecuted, Reported

CELLS = {"simplex": SimplexRule.VERIFIED_TOO_LATE, "hotstuff": HotStuffRule.VERIFIED_AFTER_EXPIRY}

GIVEN_UP = Reported("TimedOut", 0, 7, "")


def executed(view, mode="verify"):
    return BlockExecuted(1, view, bytes(32), bytes(32), mode)


@pytest.mark.parametrize("engine", CELLS)
@pytest.mark.parametrize(
    ("told", "is_late"),
    [
        ([(1, GIVEN_UP), (1, executed(7))], True),
        ([(1, executed(7)), (1, GIVEN_UP)], False),
        ([(1, GIVEN_UP), (1, executed(8))], False),
        ([(1, GIVEN_UP), (1, executed(7, "finalize"))], False),
        ([(2, GIVEN_UP), (1, executed(7))], False),
        ([(1, GIVEN_UP), (-1, Crashed(1, 0)), (1, executed(7))], False),
    ],
)
def test_a_block_is_late_where_its_validator_gave_up_its_view_before(engine, told, is_late):
    cells = []
    handlers = COVERED[engine].read(cells.append)
    for node, event in told:
        if type(event) in handlers:
            handlers[type(event)](Event(0, node, event), event)

    assert (CELLS[engine] in cells) is is_late
