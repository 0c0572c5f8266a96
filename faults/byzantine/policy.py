"""Timer phases that break the rules, so that a leader can claim their wrong result.

Every validator that executes the block gets other roots, and must not vote for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias, assert_never, cast

import msgspec

from scheduler import BlockContext, BlockPhase, PhaseResult, Policy, PolicyInBlock, Timer
from scheduler.tables import TimerTables

TamperingKind: TypeAlias = Literal["", "due-set", "order", "clean-up"]


class Tampering:
    """The rule that the timer phase of the block in construction breaks; none while `kind` is empty.

    `due-set` fires no due timer, `order` fires due timers in the reverse order, `clean-up` removes no dead timer.
    """

    kind: TamperingKind = ""


def tampered_policies(honest: Mapping[str, type[Policy]], tampering: Tampering) -> dict[str, Callable[[], Policy]]:
    """Return policies that behave like the true policies except for the tampering."""
    return {name: _tampered_policy(policy, tampering) for name, policy in honest.items()}


def _tampered_policy(honest: type[Policy], tampering: Tampering) -> Callable[[], Policy]:
    def open_tampered(block: BlockContext) -> PolicyInBlock:
        opened = honest().open(block)
        run = opened.run

        def run_tampered(phase: BlockPhase) -> PhaseResult:
            opened.block = _tamper(block, tampering)
            return run(phase)

        opened.run = run_tampered  # type: ignore[method-assign]
        return opened

    def make() -> Policy:
        policy = honest()
        policy.open = open_tampered  # type: ignore[method-assign]
        return policy

    return make


def _tamper(block: BlockContext, tampering: Tampering) -> BlockContext:
    """Return the block as the tampered timer phase sees it."""
    if tampering.kind == "due-set":
        return replace(block, config=msgspec.structs.replace(block.config, execution_lane_paused=True))
    if tampering.kind == "clean-up":
        return replace(block, config=msgspec.structs.replace(block.config, gc_lane_paused=True))
    if tampering.kind == "order":
        return replace(block, timers=cast("TimerTables", _Reversed(block.timers)))
    if tampering.kind == "":
        return block
    assert_never(tampering.kind)


class _Reversed:
    """Tables that return the waiting timers in the reverse order, and otherwise behave like the true tables."""

    def __init__(self, tables: TimerTables) -> None:
        self._tables = tables

    def __getattr__(self, name: str) -> object:
        return getattr(self._tables, name)

    def collect(self, upto: int) -> Sequence[Timer]:
        return tuple(reversed(self._tables.collect(upto)))
