"""Hooks into a run: they show its events to checks, recorders and viewers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from cluster.outside.blocks import OutsideBlock
from cluster.runtime.machines import MachineSlot
from cluster.runtime.progress import Progress
from faults.coverage.engine_phases import PhaseStatus
from network.events import Event
from network.types import NodeId
from validators.execution import Executed, ExecutionLayer

AppliedResult: TypeAlias = Executed | OutsideBlock
"""A final block with its result and numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHooks:
    """Hooks into a run; each is called in the order of the log."""

    on_event: Callable[[Event], None] = lambda _event: None
    on_applied: Callable[[int, AppliedResult], None] = lambda _node, _executed: None
    on_progress: Callable[[Progress], None] = lambda _progress: None
    on_reorg: Callable[[MachineSlot, ExecutionLayer], None] | None = None
    on_leave: Callable[[int, NodeId, PhaseStatus], None] = lambda _at_us, _node, _status: None


def of_own_engine(see: Callable[[int, Executed], None]) -> Callable[[int, AppliedResult], None]:
    """Return a hook that sees the results of the project's own engine, and no result of an application."""

    def see_own(node: int, executed: AppliedResult) -> None:
        if isinstance(executed, Executed):
            see(node, executed)

    return see_own
