"""The fault of n10: the payload of a call that had to wait is rewritten on its way."""

from typing import Any

import msgspec

from stampede_testbed.plugin.mutants import mutant
from validators.execution.world import ChainWorld


@mutant((ChainWorld, "run_timer"), area="execution", kills=("equal-roots", "oracle"), cause="execution")
def waiting_payload_rewritten(run_timer: Any) -> Any:
    """A timer that was deferred fires with another payload than it was scheduled with."""

    def run_rewritten(self: Any, timer: Any, **rest: Any) -> Any:
        if timer.due <= self.moment.parent_now:
            timer = msgspec.structs.replace(timer, payload=timer.payload[::-1])
        return run_timer(self, timer, **rest)

    return run_rewritten
