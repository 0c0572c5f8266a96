"""The fault of n01: a block whose lane is spent returns before a phase that it owes."""

from typing import Any

from stampede_testbed.plugin.mutants import mutant
from validators.execution.run import BlockRun


@mutant((BlockRun, "_serve_mailbox"), area="execution", kills=("phases",), cause="clean-up", on_all=True)
def spent_lane_skips_mailbox(serve_mailbox: Any) -> Any:
    """A block that leaves live timers waiting does not drain its mailbox."""

    def serve_unless_spent(self: Any) -> None:
        if not self.result.waiting_live:
            serve_mailbox(self)

    return serve_unless_spent
