"""Mutants of what a validator does with clocks: where it asks them, and what it believes of them."""

import sys
from dataclasses import replace
from functools import partial
from typing import Any, Final

from msgspec import structs

from checker.mutants.mutant import mutant
from network.port import Port
from validators import application
from validators.application import Application, ExecutionOver
from validators.execution import engine
from validators.execution.engine import Engine
from validators.header_rules import HeaderRules
from validators.node import Validator

_consensus_mutant = partial(mutant, area="consensus")
_execution_mutant = partial(mutant, area="execution")


def _faults(*faults: str) -> str:
    """Return a setting with faults of clocks, under way from the fourth second on for most of a run."""
    listed = ", ".join(f"f{place}={{start_ms=4_000, stop_ms=16_000, {fault}}}" for place, fault in enumerate(faults))
    return f"faults={{{listed}}}"


BEHIND: Final = _faults(
    'kind="clock-offset", validators=[0], offset_ms=-30_000', 'kind="clock-offset", validators=[1], offset_ms=-4_000'
)
"""Two clocks that are behind: their validators notarize little, and drag the time where they lead."""

JUMPING: Final = (
    "faults={"
    'jump={kind="clock-strobe", validators=[0, 1, 2, 3], offset_ms=-262_000, period_ms=8_000, start_ms=4_000, '
    "stop_ms=16_000},"
    'split={kind="partition", groups=[[0, 1], [2, 3]], start_ms=11_200, stop_ms=12_500}}'
)
"""Four clocks that jump back by minutes at 12 s, in the midst of a view that can only end by timeout."""

AHEAD: Final = _faults('kind="clock-offset", validators=[0], offset_ms=20_000')
"""One clock that is ahead by more than anybody should let pass."""


EARLY_AND_LATE: Final = _faults(
    'kind="clock-offset", validators=[0, 2], offset_ms=450', 'kind="clock-offset", validators=[1, 3], offset_ms=-450'
)
"""Clocks that differ by most of a second."""


@_consensus_mutant((Application, "_report_certification"), kills=("certificates",), on_all=True, needs=(BEHIND,))
def skew_checked_in_certify(report: Any) -> Any:
    """A validator refuses to certify a block that is ahead of its own clock."""

    def report_if_near(self: Any, ref: Any, *, is_sound: bool) -> None:
        limit_ms = self._port.wall_us // 1_000 + self._settings.max_skew_ms
        is_near = self._header_of(ref.digest).timestamp_ms <= limit_ms
        report(self, ref, is_sound=is_sound and is_near)

    return report_if_near


@_execution_mutant((Application, "_execute"), kills=("agreement", "finality-regained"), on_all=True, needs=(BEHIND,))
def skew_checked_in_execution(execute: Any) -> Any:
    """A block that is ahead of the validator's own clock is invalid, final or not."""

    def execute_if_near(self: Any, block: Any, digest: bytes) -> None:
        if block.header.timestamp_ms <= self._port.wall_us // 1_000 + self._settings.max_skew_ms:
            execute(self, block, digest)
            return
        self._follower.begin(digest)
        self._port.work(1, ExecutionOver(digest, "verify", block.header.view, "its timestamp is too far ahead"))

    return execute_if_near


@_consensus_mutant((HeaderRules, "find_fault"), kills=("block-times",), on_all=True, needs=(AHEAD,))
def skew_unchecked(find_fault: Any) -> Any:
    """A validator notarizes a block however far it is ahead of its own clock."""

    def find_fault_at_any_time(self: Any, goal: Any, header: Any) -> Any:
        kept = self._settings
        self._settings = replace(kept, max_skew_ms=sys.maxsize)
        found = find_fault(self, goal, header)
        self._settings = kept
        return found

    return find_fault_at_any_time


@_execution_mutant(
    (Application, "pace"),
    (application, "ProposalContext"),
    (engine, "check_header"),
    kills=("block-times", "oracle"),
    on_all=True,
    needs=(BEHIND,),
)
def time_goes_back(pace: Any, context: Any, check: Any) -> Any:
    """A block need not be later than its parent, and a leader writes what its clock shows."""
    shown_ms = 1

    def pace_by_the_clock(self: Any, view: int) -> None:
        nonlocal shown_ms
        shown_ms = max(self._port.wall_us // 1_000, 1)
        pace(self, view)

    def context_by_the_clock(*, timestamp_ms: int, **rest: Any) -> Any:
        return context(timestamp_ms=shown_ms or timestamp_ms, **rest)

    def check_but_the_time(header: Any, parent: Any, genesis: Any) -> None:
        check(header, structs.replace(parent, timestamp_ms=-1), genesis)

    return pace_by_the_clock, context_by_the_clock, check_but_the_time


@_execution_mutant(
    (Application, "pace"),
    (Application, "_execute"),
    (Engine, "_run"),
    (engine, "Moment"),
    kills=("equal-roots", "agreement"),
    cause="execution",
    needs=('chain.timebase="slot"', EARLY_AND_LATE),
    shows="Timer",
    is_of_timer=True,
)
def slot_of_the_own_clock(pace: Any, execute: Any, run: Any, moment: Any) -> Any:
    """The timers of a block are those due by the validator's own clock, not by the header."""
    shown_ms = shown_slot = 0

    def note(step: Any) -> Any:
        def step_with_the_clock(self: Any, *arguments: Any) -> None:
            nonlocal shown_ms
            shown_ms = self._port.wall_us // 1_000
            step(self, *arguments)

        return step_with_the_clock

    def run_by_the_clock(self: Any, *arguments: Any) -> Any:
        nonlocal shown_slot
        shown_slot = shown_ms // self._rules.genesis.slot_ms
        return run(self, *arguments)

    def moment_by_the_clock(height: int, _slot: int, parent_slot: int, *rest: Any) -> Any:
        return moment(height, max(shown_slot, parent_slot), parent_slot, *rest)

    return note(pace), note(execute), run_by_the_clock, moment_by_the_clock


@_consensus_mutant(
    (Port, "set_timer"), (Validator, "_handle_timer"), kills=("finality-regained",), on_all=True, needs=(JUMPING,)
)
def timeouts_by_the_wall_clock(set_timer: Any, handle: Any) -> Any:
    """A timer fires when the wall clock has come to its deadline, which a jump puts minutes away."""
    deadlines_us: dict[Any, int] = {}

    def set_deadline(self: Any, key: Any, after_us: int) -> None:
        deadlines_us[key] = self.wall_us + after_us
        set_timer(self, key, after_us)

    def handle_if_it_is_time(self: Any, key: Any, application: Any) -> None:
        left_us = deadlines_us.get(key, 0) - self._port.wall_us
        if left_us > 0:
            self._port.set_timer(key, left_us)
        else:
            handle(self, key, application)

    return set_deadline, handle_if_it_is_time
