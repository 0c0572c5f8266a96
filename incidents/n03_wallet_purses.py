"""The fault of n03: a block takes the whole bucket of its height, whatever fits its lane."""

from typing import Any

import msgspec

from scheduler.policies import fifo
from scheduler.types import MAX_U63
from stampede_testbed.plugin.mutants import mutant
from validators.execution.run import BlockRun


@mutant((fifo, "_fire"), (BlockRun, "_open_policy"), area="scheduler", kills=("finality-regained",), on_all=True)
def whole_bucket_in_one_block(fire: Any, open_policy: Any) -> Any:
    """A block fires every timer that is due, and no budget ends it."""

    def fire_all(tally: Any, candidates: Any) -> Any:
        bounded = tally.config
        tally.config = msgspec.structs.replace(bounded, lane_timer_cycles=MAX_U63)
        found = fire(tally, candidates)
        tally.config = bounded
        return found

    def open_unbounded(self: Any) -> Any:
        opened = open_policy(self)
        self._lane_cycles_max = MAX_U63
        return opened

    return fire_all, open_unbounded
