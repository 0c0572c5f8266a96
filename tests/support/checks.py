"""One check alone in a test: the facts of a small run, events shown to it, and its result at the end."""

from collections.abc import Sequence
from typing import Any

from checker.checks.check import Check
from checker.checks.context import RunContext, RunEnd
from checker.observations import ChainRules
from checker.results import CheckResult
from network.events import Event, EventRouter
from validators.execution import PolicyEntry

RULES = ChainRules(
    genesis_digest=bytes(32),
    genesis_root=bytes(32),
    timebase="slot",
    policies=(PolicyEntry(1, "fifo"),),
    block_cycles=5_000,
    block_cells=5_000,
    mailbox_cycles=1_000,
    slot_ms=1_000,
)


def make_run(**facts: Any) -> RunContext:
    """Return the facts of a run of four honest validators, with other ones in their place."""
    return RunContext(**{"rules": RULES, "validators": 4, "honest": (0, 1, 2, 3), "engine": "simplex", **facts})


def show(check: Check, *events: Event) -> None:
    """Show events to the world and a check, as the suite does."""
    router = EventRouter(check.run.world.handlers, check.handlers)
    for event in events:
        router.route(event)


def finish(check: Check, **end: Any) -> CheckResult:
    """Return a check's result at an end with these facts; a check that compared something has to be asked."""
    check.run.end = RunEnd(**end)
    reason = check.not_asked()
    result = check.finish()
    assert not (reason and result.compared), f"{check.name} compared {result.compared}, and was not asked: {reason}"
    return result


def statuses(results: Sequence[CheckResult]) -> dict[str, str]:
    """Return the status of each result by its name."""
    return {result.name: result.status for result in results}
